/* SPDX-License-Identifier: Apache-2.0 */
/* call - what filter and prioritize have in common. */
#include "call.h"

#include "refusal_text.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

#define JUMPS_FEW 64 /* not worth another order */
#define WORDS_MAX 400
#define POD_NAME_MAX 253 /* source: RFC 1123 names, as the API server checks them */

/* --- the question ---------------------------------------------------------------------------- */

static void find_trouble(struct extender *extender, const struct extender_args *args,
                         struct error *out)
{
    if (!args->has_pod)
        error_set(out, ERR_INVALID, "the request has no Pod");
    else if (strlen(args->pod.meta.name) > POD_NAME_MAX ||
             strlen(args->pod.meta.namespace) > POD_NAME_MAX ||
             strlen(args->pod.meta.uid) > POD_NAME_MAX)
        error_set(out, ERR_INVALID, "a name of the Pod is longer than %d bytes", POD_NAME_MAX);
    else if (args->has_names == args->has_nodes)
        error_set(out, ERR_INVALID, "the request must have exactly one of NodeNames and Nodes");
    else if (!cluster_is_synced(extender->cluster))
        error_set(out, ERR_BUSY, "topofit has not listed the cluster's nodes and pods yet");
}

/* Nodes asked about in another order than that of the picture are found more slowly. */
static void follow_order(struct cluster *cluster, const struct call *call)
{
    bool is_about_most = call->count * 2 > call->snapshot->count;
    size_t jumps = call->args.jumps;

    if (is_about_most && jumps > JUMPS_FEW && jumps * 8 > call->count)
        cluster_follow_order(cluster, call->snapshot, call->positions, call->count);
}

static void find_positions(struct cluster *cluster, struct call *call)
{
    call->positions = steal_ptr(&call->args.positions);
    if (call->positions != NULL) {
        follow_order(cluster, call);
        return;
    }
    call->positions = xreallocarray(NULL, call->count + 1, sizeof *call->positions);
    for (size_t i = 0; i < call->count; i++) {
        struct name_slice name = extender_args_name(&call->args, i);

        call->positions[i] = name_table_find(call->snapshot->names, name.text, name.length);
    }
}

static struct likely_names likely_names(const struct snapshot *snapshot,
                                        const struct expected_nodes *expected)
{
    struct likely_names likely = name_table_likely(snapshot->names);

    if (expected != NULL && expected->names == snapshot->names && likely.list.count > 0) {
        likely.order = expected->positions;
        likely.order_count = expected->count;
    }
    return likely;
}

int call_open(struct extender *extender, const char *bytes, size_t length, struct moment now,
              const struct expected_nodes *expected, struct call *out, struct error *err)
{
    struct likely_names likely;

    cluster_tell_time(extender->cluster, now.unix_ms);
    *out = (struct call){.snapshot = cluster_snapshot(extender->cluster)};
    extender_args_init(&out->args);
    likely = likely_names(out->snapshot, expected);
    if (extender_json_read_args(bytes, length, &likely, &out->args, err) < 0)
        return -(int)err->code;
    find_trouble(extender, &out->args, &out->trouble);
    out->count = extender_args_count(&out->args);
    if (out->trouble.code != ERR_NONE)
        return 0;
    out->pod = dialect_pod(&out->args.pod, extender->classes);
    out->holds = cluster_find_holding(extender->cluster, out->pod->uid, &out->own);
    out->effort.trials_left = DECIDE_CALL_TRIALS_MAX;
    out->policy = extender->options.policy;
    out->policy.effort = &out->effort;
    pod_quota_ask(extender->cluster, out->pod, &out->quota, &out->policy);
    find_positions(extender->cluster, out);
    return 0;
}

void call_clear(struct call *call)
{
    for (size_t i = 0; i < call->owned_count; i++)
        considered_free(call->owned[i]);
    free(call->owned);
    free(call->answers);
    free(call->positions);
    kind_unref(call->kind);
    extender_args_clear(&call->args);
    pod_unref(call->pod);
    holding_view_clear(&call->own);
    snapshot_unref(call->snapshot);
    *call = (struct call){0};
}

/* --- one node -------------------------------------------------------------------------------- */

static bool is_own_node(const struct call *call, size_t i)
{
    struct name_slice name = extender_args_name(&call->args, i);

    return strlen(call->own.node) == name.length &&
           memcmp(call->own.node, name.text, name.length) == 0;
}

/*
 * Is the end of an earlier Binding of the pod not known? It may have been executed, so only its own
 * node will do; there, what it reserved is meant for the pod.
 */
static bool holds_unsettled(const struct call *call)
{
    return call->holds && call->own.state != HOLDING_BOUND;
}

/* What is in use as the ledger has it for a node that differs from ours, or without a pod. */
static void sum_use(struct extender *extender, struct called_node *called, const char *except)
{
    cluster_sum_use(extender->cluster, called->node, except, &called->own_use);
    called->use = &called->own_use;
}

void call_node(struct extender *extender, const struct call *call, size_t i,
               struct called_node *out)
{
    const struct node_state *state = NULL;
    struct node *given = NULL;

    out->name = "";
    out->node = NULL;
    out->nominees = NULL;
    out->rank = (struct rank_facts){0};
    if (call->positions[i] != NAME_NOWHERE)
        state = snapshot_state(call->snapshot, call->positions[i]);
    if (call->args.has_nodes)
        given = dialect_node(&call->args.nodes[i], extender->classes);
    if (state != NULL)
        out->rank = state->rank;
    if (state != NULL && (given == NULL || node_equal(given, state->node))) {
        out->name = state->node->name;
        out->node = node_ref(state->node);
        out->use = &state->use;
        out->nominees = nominees_ref(state->nominees);
        node_unref(given);
    } else if (given != NULL) {
        /* A simulator's node, or one newer than ours: what it says counts. */
        out->name = call->args.nodes[i].meta.name;
        out->node = given;
        sum_use(extender, out, NULL);
        out->nominees = cluster_nominees(extender->cluster, given);
    }
    if (out->node != NULL && holds_unsettled(call) && is_own_node(call, i)) {
        sum_use(extender, out, call->pod->uid);
        nominees_unref(steal_ptr(&out->nominees)); /* it has its booking */
    }
}

void called_node_clear(struct called_node *called)
{
    node_unref(called->node);
    called->node = NULL;
    nominees_unref(called->nominees);
    called->nominees = NULL;
}

static enum node_fate fate_of(const struct extender *extender, enum reason reason)
{
    if (reason == REASON_OK)
        return NODE_KEPT;
    return extender->options.answer_failed_nodes && reason_is_curable(reason) ? NODE_REFUSED_FOR_NOW
                                                                              : NODE_REFUSED;
}

static struct considered *decide(struct extender *extender, const struct call *call,
                                 struct node *node, const struct node_use *use,
                                 const struct nominees *nominees)
{
    const struct site site = {.node = node,
                              .use = use,
                              .nominees = nominees != NULL ? nominees->items : NULL,
                              .nominee_count = nominees != NULL ? nominees->count : 0};
    const struct request *request = &call->pod->request;
    AUTO_FREE char *text = NULL;
    struct verdict verdict;
    struct plan plan;

    holds_decide(&site, call->pod, &call->policy, extender->memo, &plan, &verdict);
    if (verdict.reason == REASON_OK)
        return considered_new(outcome_kept(&plan), NODE_KEPT, NULL);
    text = refusal_text(request, node, &verdict);
    return considered_new(outcome_refused(&verdict, node, NULL), fate_of(extender, verdict.reason),
                          text);
}

/* A refusal that says nothing of the node. */
static struct considered *refuse(struct extender *extender, const struct call *call,
                                 enum reason reason)
{
    const struct request *request = &call->pod->request;
    const struct verdict verdict = {.reason = reason};
    const char *words = reason == REASON_BAD_REQUEST ? request->problem : reason_text(reason);
    AUTO_FREE char *text = refusal_text(request, NULL, &verdict);

    return considered_new(outcome_refused(&verdict, NULL, words), fate_of(extender, reason), text);
}

static struct considered *refuse_for_quota(const struct extender *extender, const struct call *call)
{
    const struct verdict verdict = pod_quota_verdict(&call->quota);
    AUTO_FREE char *text = refusal_text(&call->pod->request, NULL, &verdict);
    char words[WORDS_MAX];

    quota_shortage_describe(&verdict.quota, words, sizeof words);
    return considered_new(outcome_refused(&verdict, NULL, words), fate_of(extender, verdict.reason),
                          text);
}

/* Until the call is cleared. */
static const struct node_answer *own(struct call *call, struct considered *steal_considered)
{
    call->owned =
        mem_grow(call->owned, call->owned_count, &call->owned_capacity, sizeof(*call->owned));
    call->owned[call->owned_count++] = steal_considered;
    return &steal_considered->answer;
}

static const struct node_answer *consider_by_itself(struct extender *extender, struct call *call,
                                                    size_t i)
{
    AUTO(called_node_clear) struct called_node called;

    call_node(extender, call, i, &called);
    if (called.node == NULL)
        return own(call, refuse(extender, call, REASON_NODE_UNKNOWN));
    return own(call, decide(extender, call, called.node, called.use, called.nominees));
}

static const struct node_answer *consider_known(struct extender *extender, struct call *call,
                                                uint32_t position)
{
    const struct node_state *state = snapshot_state(call->snapshot, position);
    const struct considered *known = kind_recall_alike(call->kind, call->snapshot, position);
    struct considered *fresh;

    if (known != NULL)
        return &known->answer;
    fresh = decide(extender, call, state->node, &state->use, NULL);
    /* What was cut short says how far this call came, not what is so. */
    if (call->effort.is_hurried ||
        (fresh->reason != REASON_OK && fresh->outcome->verdict.cut_short))
        return own(call, fresh);
    known = kind_learn(call->kind, call->snapshot, position, fresh);
    return known != NULL ? &known->answer : own(call, fresh);
}

/* --- all nodes ------------------------------------------------------------------------------- */

/* What is not recalled. */
static const struct node_answer *consider_anew(struct extender *extender, struct call *call,
                                               size_t i)
{
    uint32_t position = call->positions[i];

    if (position == NAME_NOWHERE) {
        if (call->unknown == NULL)
            call->unknown = own(call, refuse(extender, call, REASON_NODE_UNKNOWN));
        return call->unknown;
    }
    if (snapshot_version(call->snapshot, position) == VERSION_NOT_SHARED)
        return consider_by_itself(extender, call, i);
    return consider_known(extender, call, position);
}

const struct node_answer *call_consider_one(struct extender *extender, struct call *call, size_t i)
{
    const struct node_answer *answer;

    kind_recall(call->kind, call->snapshot, &call->positions[i], 1, &answer);
    return answer != NULL ? answer : consider_anew(extender, call, i);
}

static void consider_recalling(struct extender *extender, struct call *call)
{
    size_t missing =
        kind_recall(call->kind, call->snapshot, call->positions, call->count, call->answers);

    for (size_t i = 0; missing > 0 && i < call->count; i++) {
        if (call->answers[i] != NULL)
            continue;
        missing--;
        call->answers[i] = consider_anew(extender, call, i);
    }
}

static void answer_all(struct call *call, const struct node_answer *answer)
{
    for (size_t i = 0; i < call->count; i++)
        call->answers[i] = answer;
}

/* An earlier Binding of the pod is not settled: only its node will do. */
static void consider_unsettled(struct extender *extender, struct call *call)
{
    answer_all(call, own(call, refuse(extender, call, REASON_UNSETTLED)));
    for (size_t i = 0; i < call->count; i++) {
        if (!is_own_node(call, i))
            continue;
        call->answers[i] = call->pod->request.problem == NULL
                               ? consider_by_itself(extender, call, i)
                               : own(call, refuse(extender, call, REASON_BAD_REQUEST));
    }
}

void call_find_kind(struct extender *extender, struct call *call)
{
    const struct extender_options *options = &extender->options;

    /* What is left of a quota changes with every pod of the namespace. */
    if (call->kind != NULL || call->args.has_nodes || call->policy.quota != NULL ||
        holds_unsettled(call) || call->pod->request.problem != NULL)
        return;
    call->kind = recall_kind(extender->recall, &call->pod->request, &options->policy,
                             options->answer_failed_nodes);
}

void call_consider(struct extender *extender, struct call *call)
{
    call->answers = xreallocarray(NULL, call->count + 1, sizeof(*call->answers));
    if (holds_unsettled(call)) {
        consider_unsettled(extender, call);
        return;
    }
    if (call->pod->request.problem != NULL) {
        answer_all(call, own(call, refuse(extender, call, REASON_BAD_REQUEST)));
        return;
    }
    /* Nodes that were sent along may have devices of sizes that nobody has seen. */
    if (pod_quota_refuses(&call->quota) && !call->args.has_nodes) {
        answer_all(call, own(call, refuse_for_quota(extender, call)));
        return;
    }
    call_find_kind(extender, call);
    if (call->kind != NULL) {
        consider_recalling(extender, call);
        return;
    }
    for (size_t i = 0; i < call->count; i++)
        call->answers[i] = consider_by_itself(extender, call, i);
}

/* --- ranking ---------------------------------------------------------------------------------- */

void ranking_begin(struct ranking *ranking, const struct extender *extender,
                   const struct snapshot *snapshot, const struct pod *pod)
{
    const struct decide_policy *policy = &extender->options.policy;

    memset(ranking, 0, sizeof *ranking);
    ranking->pod = pod;
    ranking->packing = decide_packing(policy, &pod->request);
    ranking->looks_at_links = decide_topology_rule(policy, &pod->request).mode != TOPOLOGY_OFF;
    ranking->models = waste_memo_models(extender->waste_memo, snapshot->mix);
    scarcity_of(snapshot->mix, &snapshot->supply, &ranking->scarcity);
}

void ranking_end(struct ranking *ranking)
{
    waste_models_unref(steal_ptr(&ranking->models));
}

/* What the plan costs others who insist on a product: devices of one node may be of several. */
static double scarcity_cost(const struct ranking *ranking, const struct node *node,
                            const struct plan *plan, uint32_t taken_milli)
{
    device_mask devices = 0;
    double cost = 0;

    if (ranking->scarcity.count == 0)
        return 0;
    for (size_t i = 0; i < ranking->pod->request.ask_count; i++)
        devices |= plan->sets[i];
    for (device_mask left = devices; left != 0; left &= left - 1)
        cost += scarcity_cost_milli(&ranking->scarcity, node->devices[mask_first(left)].product,
                                    taken_milli);
    return cost / mask_count(devices);
}

struct ranked_node ranking_judge(struct ranking *ranking, const struct called_node *called,
                                 const struct plan *plan)
{
    const struct request *request = &ranking->pod->request;
    const struct worth_question question = {.node = called->node,
                                            .use = called->use,
                                            .rank = called->rank,
                                            .request = request,
                                            .host = ranking->pod->host,
                                            .plan = plan};
    const struct waste_model *const *models = NULL;
    struct worth worth;

    if (ranking->models != NULL) {
        waste_models_of_node(ranking->models, called->node, &ranking->node_models);
        models = ranking->node_models.of;
    }
    worth_of(&question, models, &worth);
    worth_charge(&worth, scarcity_cost(ranking, called->node, plan, worth.taken_milli));
    return (struct ranked_node){
        .name = called->name,
        .merit = worth_merit(&worth, ranking->packing),
        .grade_1_10 = worth_grade_1_10(&worth, request, ranking->packing, ranking->looks_at_links)};
}
