/* SPDX-License-Identifier: Apache-2.0 */
/* preempt - whom kube-scheduler should evict on the nodes it proposes (concepts/preemption.md). */
#include "topofit/preempt.h"

#include "pod_quota.h"
#include "tenants.h"
#include "topofit/dialect.h"
#include "topofit/extender.h"
#include "topofit/mem.h"
#include "topofit/preemption_json.h"

#include <stdlib.h>
#include <string.h>

#define CALL_TRIALS_MAX 40000 /* sets of victims tried in one call, over all nodes */

/* A pod that is evicted. */
struct victim {
    char *uid;
    struct standing standing;
};

/* What is answered for one node. */
struct answered_node {
    const char *node; /* borrowed from the question */
    struct victim *victims;
    size_t count, capacity;
    uint32_t pdb_violations;
};

struct preemption {
    struct extender *extender;
    struct preemption_args args;
    struct pod *pod;
    struct holding_view own; /* what the pod holds already, when `holds` */
    bool holds;
    struct snapshot *snapshot;
    unsigned trials;
    struct decide_effort effort;
    struct pod_quota quota;
    struct decide_policy policy; /* points to both */
    struct answered_node *nodes; /* [args.proposal_count] */
    size_t node_count;           /* kept so far */
};

static void clear_victims(struct answered_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        free(node->victims[i].uid);
    free(node->victims);
    *node = (struct answered_node){0};
}

static void preemption_clear(struct preemption *preemption)
{
    for (size_t i = 0; i < preemption->node_count; i++)
        clear_victims(&preemption->nodes[i]);
    free(preemption->nodes);
    preemption_args_clear(&preemption->args);
    pod_unref(preemption->pod);
    holding_view_clear(&preemption->own);
    snapshot_unref(preemption->snapshot);
}

static void add_victim(struct answered_node *node, const char *uid, const struct standing *standing)
{
    node->victims = mem_grow(node->victims, node->count, &node->capacity, sizeof *node->victims);
    node->victims[node->count++] = (struct victim){xstrdup(uid), *standing};
}

/* --- what is proposed for one node ----------------------------------------------------------- */

/*
 * Sort the victims proposed: tenants go into `out`, others straight into the answer, since they
 * free something that we know nothing of. return false when one of them is no pod on that node of
 * lower priority, as far as we know: then nothing can be said of the node.
 */
static bool read_proposal(const struct preemption *preemption, const struct proposal *proposal,
                          const struct tenants *tenants, struct tenant_set *out,
                          struct answered_node *others)
{
    for (size_t i = 0; i < proposal->victim_count; i++) {
        const struct proposed_victim *victim = &proposal->victims[i];
        AUTO(pod_unref_pointer)
        struct pod *pod = cluster_find_pod_by_uid(preemption->extender->cluster, victim->uid);
        const char *node = pod != NULL ? pod->node : victim->node;
        struct standing standing = {.priority = victim->priority};
        size_t tenant;

        if (pod != NULL)
            standing = (struct standing){pod->priority, pod->started_s};
        if (node == NULL || strcmp(node, proposal->node) != 0 ||
            standing.priority >= preemption->pod->priority)
            return false;
        if (tenants_find(tenants, victim->uid, &tenant))
            tenant_set_add(out, tenant);
        else
            add_victim(others, victim->uid, &standing);
    }
    return true;
}

/* CPU and memory that is free when the victims without devices are gone. */
static struct host_amounts free_host(const struct preemption *preemption,
                                     const struct node_state *state,
                                     const struct answered_node *others)
{
    struct host_amounts used = state->rank.host_used;

    for (size_t i = 0; i < others->count; i++) {
        AUTO(pod_unref_pointer)
        struct pod *pod =
            cluster_find_pod_by_uid(preemption->extender->cluster, others->victims[i].uid);

        if (pod != NULL)
            used = host_subtract(used, pod->host);
    }
    return host_subtract(state->node->host, used);
}

/* --- whom to evict --------------------------------------------------------------------------- */

static struct tenant_set everybody(const struct tenants *tenants)
{
    struct tenant_set set = {{0}};

    for (size_t t = 0; t < tenants->count; t++)
        tenant_set_add(&set, t);
    return set;
}

/*
 * return false when no eviction helps. When the devices are no obstacle, those proposed are
 * evicted for something else: all of them stay.
 */
static bool choose(const struct preempt_question *question, const struct tenants *tenants,
                   const struct tenant_set *proposed, unsigned *trials, struct tenant_set *out)
{
    const struct tenant_set nobody = {{0}}, all = everybody(tenants);

    if (preempt_fits_devices(question, &nobody)) {
        *out = *proposed;
        return true;
    }
    return preempt_choose(question, proposed, trials, out) ||
           preempt_choose(question, &all, trials, out);
}

/* The most important one first: kube-scheduler reads the highest priority off the first. */
static int compare_victims(const void *a, const void *b)
{
    const struct victim *x = a, *y = b;
    int order = compare_standing(&y->standing, &x->standing);

    return order != 0 ? order : strcmp(x->uid, y->uid);
}

static void finish(const struct proposal *proposal, struct answered_node *node)
{
    /* kube-scheduler knows the budgets and found that so many have to suffer. */
    node->pdb_violations =
        proposal->pdb_violations < node->count ? proposal->pdb_violations : (uint32_t)node->count;
    if (node->count > 0)
        qsort(node->victims, node->count, sizeof *node->victims, compare_victims);
}

/* One node while it is decided on. */
struct judgement {
    struct tenants tenants;
    struct tenant_set proposed;
    struct held_devices held;
    struct preempt_question question;
};

static void judgement_clear(struct judgement *judgement)
{
    tenants_clear(&judgement->tenants);
}

/* A node that we know, and on which an earlier Binding of the pod elsewhere allows it. */
static const struct node_state *find_node(const struct preemption *preemption, const char *name)
{
    bool unsettled = preemption->holds && preemption->own.state != HOLDING_BOUND;

    if (unsettled && strcmp(preemption->own.node, name) != 0)
        return NULL;
    return snapshot_find(preemption->snapshot, name);
}

/* others: victims without devices, out of the proposal. */
static void pose_question(const struct preemption *preemption, const struct node_state *state,
                          const struct answered_node *others, struct judgement *judgement)
{
    const struct extender *extender = preemption->extender;
    const struct site site = node_state_site(state);
    struct preempt_question *question = &judgement->question;

    *question = (struct preempt_question){.node = state->node,
                                          .request = &preemption->pod->request,
                                          .policy = &preemption->policy,
                                          .memo = extender->memo,
                                          .host_free = free_host(preemption, state, others),
                                          .host_wanted = preemption->pod->host,
                                          .tenants = judgement->tenants.items,
                                          .tenant_count = judgement->tenants.count};
    if (holds_plan(&site, preemption->pod, question->policy, question->memo, &judgement->held))
        question->held = &judgement->held;
    /* kube-scheduler has found that its proposal suffices: who says otherwise counts wrong. */
    if (state->node->host.cpu_milli == 0 || !preempt_fits_host(question, &judgement->proposed))
        question->host_wanted = (struct host_amounts){0};
}

static void add_chosen(const struct tenants *tenants, const struct tenant_set *chosen,
                       struct answered_node *out)
{
    for (size_t t = 0; t < tenants->count; t++) {
        if (tenant_set_has(chosen, t))
            add_victim(out, tenants->uids[t], &tenants->standings[t]);
    }
}

/* The end of one node's proposal; PREEMPT_DROPPED when it is not in the answer. */
static enum preempt_end judge_node(struct preemption *preemption, const struct proposal *proposal,
                                   unsigned *trials, struct answered_node *out)
{
    AUTO(judgement_clear) struct judgement judgement = {0};
    const struct node_state *state = find_node(preemption, proposal->node);
    struct tenant_set chosen = {{0}};

    out->node = proposal->node;
    if (state == NULL)
        return PREEMPT_DROPPED;
    tenants_gather(preemption->extender->cluster, state, preemption->pod, &judgement.tenants);
    if (!read_proposal(preemption, proposal, &judgement.tenants, &judgement.proposed, out))
        return PREEMPT_DROPPED;
    pose_question(preemption, state, out, &judgement);
    if (!choose(&judgement.question, &judgement.tenants, &judgement.proposed, trials, &chosen))
        return PREEMPT_DROPPED;
    add_chosen(&judgement.tenants, &chosen, out);
    /* An empty list is an error up to Kubernetes 1.37, unless it was sent. */
    if (out->count == 0 && proposal->victim_count > 0)
        return PREEMPT_DROPPED;
    finish(proposal, out);
    return memcmp(&chosen, &judgement.proposed, sizeof chosen) == 0 ? PREEMPT_KEPT
                                                                    : PREEMPT_CHANGED;
}

/* --- the call -------------------------------------------------------------------------------- */

static void tell(const struct extender *extender, const size_t ends[PREEMPT_END_COUNT])
{
    const struct observer *observer = &extender->observer;

    for (unsigned end = 0; observer->on_preempted != NULL && end < PREEMPT_END_COUNT; end++) {
        if (ends[end] > 0)
            observer->on_preempted(observer->ctx, (enum preempt_end)end, ends[end]);
    }
}

static void judge_all(struct preemption *preemption)
{
    size_t count = preemption->args.proposal_count, ends[PREEMPT_END_COUNT] = {0};

    for (size_t i = 0; i < count; i++) {
        struct answered_node *node = &preemption->nodes[preemption->node_count];
        unsigned share = preemption->trials / (unsigned)(count - i);
        unsigned trials = share < PREEMPT_TRIALS_MAX ? share : PREEMPT_TRIALS_MAX, given = trials;
        enum preempt_end end =
            judge_node(preemption, &preemption->args.proposals[i], &trials, node);

        preemption->trials -= given - trials;
        ends[end]++;
        if (end == PREEMPT_DROPPED)
            clear_victims(node);
        else
            preemption->node_count++;
    }
    tell(preemption->extender, ends);
}

/* A pod without devices: what kube-scheduler proposes is none of our business. */
static void keep_all(struct preemption *preemption)
{
    for (size_t i = 0; i < preemption->args.proposal_count; i++) {
        const struct proposal *proposal = &preemption->args.proposals[i];
        struct answered_node *node = &preemption->nodes[preemption->node_count++];
        const struct standing equal = {0};

        *node = (struct answered_node){.node = proposal->node,
                                       .pdb_violations = proposal->pdb_violations};
        for (size_t v = 0; v < proposal->victim_count; v++)
            add_victim(node, proposal->victims[v].uid, &equal);
    }
}

static void write(const struct preemption *preemption, struct buf *out)
{
    struct victim_list *lists = xcalloc(preemption->node_count, sizeof *lists);
    const char **uids = NULL;
    size_t count = 0, capacity = 0;

    for (size_t i = 0; i < preemption->node_count; i++) {
        for (size_t v = 0; v < preemption->nodes[i].count; v++) {
            uids = mem_grow(uids, count, &capacity, sizeof *uids);
            uids[count++] = preemption->nodes[i].victims[v].uid;
        }
    }
    count = 0;
    for (size_t i = 0; i < preemption->node_count; i++) {
        const struct answered_node *node = &preemption->nodes[i];

        lists[i] = (struct victim_list){node->node, uids != NULL ? uids + count : NULL, node->count,
                                        node->pdb_violations};
        count += node->count;
    }
    preemption_json_write_result(out, lists, preemption->node_count);
    free(uids);
    free(lists);
}

static int check(const struct preemption *preemption, struct error *err)
{
    const struct preemption_args *args = &preemption->args;

    if (!args->has_pod)
        return error_set(err, ERR_INVALID, "the request has no Pod");
    if (args->has_victims == args->has_meta_victims)
        return error_set(err, ERR_INVALID,
                         "the request must have exactly one of NodeNameToVictims and "
                         "NodeNameToMetaVictims");
    if (!cluster_is_synced(preemption->extender->cluster))
        return error_set(err, ERR_BUSY, "topofit has not listed the cluster's nodes and pods yet");
    return 0;
}

int extender_preempt(struct extender *extender, const char *bytes, size_t length, struct moment now,
                     struct buf *out, struct error *err)
{
    AUTO(preemption_clear)
    struct preemption preemption = {.extender = extender,
                                    .trials = CALL_TRIALS_MAX,
                                    .effort.trials_left = DECIDE_CALL_TRIALS_MAX,
                                    .policy = extender->options.policy};

    (void)now;
    preemption.policy.effort = &preemption.effort;
    if (preemption_json_read_args(bytes, length, &preemption.args, err) < 0 ||
        check(&preemption, err) < 0)
        return -(int)err->code;
    preemption.pod = dialect_pod(&preemption.args.pod, extender->classes);
    preemption.holds =
        cluster_find_holding(extender->cluster, preemption.pod->uid, &preemption.own);
    pod_quota_ask(extender->cluster, preemption.pod, &preemption.quota, &preemption.policy);
    preemption.snapshot = cluster_snapshot(extender->cluster);
    preemption.nodes = xcalloc(preemption.args.proposal_count + 1, sizeof *preemption.nodes);
    if (!request_wants_devices(&preemption.pod->request))
        keep_all(&preemption);
    else if (preemption.pod->request.problem == NULL)
        judge_all(&preemption);
    write(&preemption, out);
    return 0;
}
