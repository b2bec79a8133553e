/* SPDX-License-Identifier: Apache-2.0 */
/* holds - devices kept free for pods that kube-scheduler has nominated to a node. */
#include "topofit/holds.h"

#include "draft.h"

#include <string.h>

int nominees_compare(const struct pod *a, const struct pod *b)
{
    int order;

    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    order = strcmp(a->namespace, b->namespace);
    if (order == 0)
        order = strcmp(a->name, b->name);
    return order != 0 ? order : strcmp(a->uid, b->uid);
}

bool holds_against(const struct nominee *nominee, const struct pod *pod, const char *node)
{
    const struct pod *holder = nominee->pod;

    if (strcmp(holder->uid, pod->uid) == 0)
        return false;
    if (holder->priority == pod->priority && pod->nominated != NULL &&
        strcmp(pod->nominated, node) == 0)
        return nominees_compare(holder, pod) < 0;
    return holder->priority >= pod->priority;
}

/* --- what a plan takes ----------------------------------------------------------------------- */

static enum isolation_mode mode_on(const struct request *request, uint32_t asks)
{
    enum isolation_mode mode = ISOLATION_NONE;

    /* A whole device beats a fraction, as in grant.c. */
    for (; asks != 0 && mode != ISOLATION_SHARED; asks &= asks - 1)
        mode = ask_isolation_mode(request, &request->asks[__builtin_ctz(asks)]);
    return mode;
}

/* As allocation_grants() says of its record. */
static struct grant grant_on(const struct problem *problem, const struct plan *plan, unsigned i)
{
    struct own_use own = draft_own_beside(problem, plan, NULL, i);
    bool is_divided = problem->node->devices[i].partitions != NULL;
    bool matches = own.asks != 0 && problem->rules[__builtin_ctz(own.asks)] != NULL &&
                   problem->rules[__builtin_ctz(own.asks)]->match_service;

    return (struct grant){
        .id = problem->node->devices[i].id,
        .memory_mib = own.memory_mib,
        .cores = own.cores < UINT16_MAX ? (uint16_t)own.cores : UINT16_MAX,
        .slots = own.slots,
        .mode = is_divided ? ISOLATION_PARTITIONED : mode_on(problem->request, own.asks),
        .service = matches ? problem->request->service : SERVICE_ANY,
        .application = matches ? problem->request->application : APPLICATION_ANY,
        .partitions = plan_partitions_on(plan, problem->node, i),
        .is_planned = true,
    };
}

static void hold_plan(struct problem *problem, const struct plan *plan, struct held_devices *held)
{
    draft_prepare(problem);
    for (unsigned i = 0; i < problem->node->device_count; i++) {
        struct grant grant = grant_on(problem, plan, i);

        if (grant.slots == 0 || held->count == HELD_GRANTS_MAX)
            continue;
        held->grants[held->count++] = (struct placed_grant){(int)i, grant};
        node_use_add_at(&held->later, problem->node, (int)i, &grant);
    }
}

/* --- holding --------------------------------------------------------------------------------- */

static struct decide_policy without_quota(const struct decide_policy *policy)
{
    struct decide_policy own = *policy;

    own.quota = NULL;
    return own;
}

/* Place one nominee beside those before it. */
static void hold(const struct site *site, const struct nominee *nominee,
                 const struct decide_policy *policy, struct gputopo_memo *memo,
                 struct held_devices *held)
{
    /* The quota is that of another namespace; the nominee was found to fit its own. */
    const struct decide_policy own_policy = without_quota(policy);
    struct node_use use;
    struct problem problem = {.node = site->node,
                              .use = &use,
                              .request = &nominee->pod->request,
                              .policy = &own_policy,
                              .rule = decide_topology_rule(policy, &nominee->pod->request),
                              .memo = memo};
    struct verdict verdict;
    struct plan plan;

    node_use_copy(&nominee->use, &use);
    node_use_join(&use, &held->later);
    decide_node(site->node, &use, problem.request, &own_policy, memo, &plan, &verdict);
    if (verdict.reason == REASON_OK)
        hold_plan(&problem, &plan, held);
}

bool holds_plan(const struct site *site, const struct pod *pod, const struct decide_policy *policy,
                struct gputopo_memo *memo, struct held_devices *out)
{
    bool is_first = true;

    out->count = 0;
    for (size_t i = 0; i < site->nominee_count; i++) {
        const struct nominee *nominee = &site->nominees[i];

        if (!holds_against(nominee, pod, site->node->name))
            continue;
        if (is_first) {
            out->priority = nominee->pod->priority;
            node_use_copy(&nominee->use, &out->later);
        }
        is_first = false;
        hold(site, nominee, policy, memo, out);
    }
    return out->count > 0;
}

void holds_decide(const struct site *site, const struct pod *pod,
                  const struct decide_policy *policy, struct gputopo_memo *memo, struct plan *plan,
                  struct verdict *verdict)
{
    struct held_devices held;

    decide_node(site->node, site->use, &pod->request, policy, memo, plan, verdict);
    if (site->nominee_count == 0 || verdict->reason != REASON_OK ||
        !holds_plan(site, pod, policy, memo, &held))
        return;
    node_use_join(&held.later, site->use);
    decide_node(site->node, &held.later, &pod->request, policy, memo, plan, verdict);
    if (verdict->reason != REASON_OK)
        verdict->reason = REASON_NOMINATED;
}
