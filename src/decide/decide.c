/* SPDX-License-Identifier: Apache-2.0 */
/* decide - a plan for one pod on one node, or the reason why not. */
#include "topofit/decide.h"

#include "combine.h"
#include "arrange.h"
#include "draft.h"
#include "place.h"
#include "spend.h"

#include <assert.h>
#include <string.h>

struct decide_policy decide_policy_default(void)
{
    return (struct decide_policy){
        .topology = {.mode = TOPOLOGY_SOFT,
                     .source = SOURCE_AUTO,
                     .max_tier = TIER_NUMA,
                     .unknown = UNKNOWN_AS_WORST,
                     .least_damage = true},
        .packing = PACKING_PACK,
        .device_order = DEVICES_AUTO,
        .scores = RANK_WINNER,
    };
}

enum packing_policy decide_packing(const struct decide_policy *policy,
                                   const struct request *request)
{
    return request->has_packing ? request->packing : policy->packing;
}

bool decide_spreads_devices(const struct decide_policy *policy, const struct request *request)
{
    if (request->has_device_order)
        return request->devices_spread;
    if (policy->device_order == DEVICES_AUTO || request->has_packing)
        return decide_packing(policy, request) == PACKING_SPREAD;
    return policy->device_order == DEVICES_SPREAD;
}

struct topology_rule decide_topology_rule(const struct decide_policy *policy,
                                          const struct request *request)
{
    const struct topology_demand *demand = &request->topology;
    struct topology_rule rule = policy->topology;

    if (rule.mode == TOPOLOGY_OFF)
        return rule;
    if (demand->has_mode)
        rule.mode = demand->mode;
    if (demand->has_max_tier)
        rule.max_tier = demand->max_tier;
    if (demand->has_source)
        rule.source = demand->source;
    return rule;
}

/* --- the node -------------------------------------------------------------------------------- */

static void add_plan(const struct problem *problem, const struct plan *plan, struct node_use *use)
{
    for (unsigned i = 0; i < problem->node->device_count; i++) {
        struct own_use own = draft_own_beside(problem, plan, NULL, i);

        use->devices[i].memory_mib += own.memory_mib;
        use->devices[i].cores += own.cores;
        use->devices[i].slots = (uint16_t)(use->devices[i].slots + own.slots);
        if (problem->node->devices[i].partitions != NULL)
            use->devices[i].partitions = partition_add(use->devices[i].partitions,
                                                       plan_partitions_on(plan, problem->node, i));
    }
}

/* Load of the devices of the classes asked for, with the plan in place. */
static uint16_t load_after(const struct problem *problem, const struct plan *plan)
{
    struct node_use after;
    device_mask counted = 0;

    node_use_copy(problem->use, &after);
    add_plan(problem, plan, &after);
    for (unsigned i = 0; i < problem->node->device_count; i++) {
        for (size_t a = 0; a < problem->request->ask_count; a++) {
            if (problem->request->asks[a].class == problem->node->devices[i].class)
                counted |= mask_of(i);
        }
    }
    return packing_node_load_per_mille(problem->node, &after, counted);
}

/* Idle devices of which a fraction is taken: whole-device pods lose them. */
static uint8_t count_broken(const struct problem *problem, const struct plan *plan)
{
    device_mask broken = 0;

    for (size_t a = 0; a < problem->request->ask_count; a++) {
        if (!ask_is_whole(problem->request, &problem->request->asks[a]))
            broken |= plan->sets[a];
    }
    for (unsigned i = 0; i < problem->node->device_count; i++) {
        if (problem->use->devices[i].slots > 0)
            broken &= ~mask_of(i);
    }
    return (uint8_t)mask_count(broken);
}

/* Does a device wait for pods? Those that nobody may join form no group that could be lost. */
static bool is_waiting(const struct device *device, const struct device_use *use)
{
    return use->slots == 0 && device->healthy && !device->cordoned && !use->conflicted;
}

/* Fractions are taken where devices are in use already; which idle one they break hardly matters.
 */
static uint32_t count_lost_groups(const struct problem *problem, const struct plan *plan)
{
    device_mask idle = 0, whole = 0;

    if (problem->rule.mode == TOPOLOGY_OFF)
        return 0;
    for (size_t a = 0; a < problem->request->ask_count; a++) {
        if (ask_is_whole(problem->request, &problem->request->asks[a]))
            whole |= plan->sets[a];
    }
    for (unsigned i = 0; i < problem->node->device_count; i++) {
        if (is_waiting(&problem->node->devices[i], &problem->use->devices[i]))
            idle |= mask_of(i);
    }
    return gputopo_groups_lost(problem->node->graph, problem->rule.source, idle, idle & ~whole);
}

/* --- all asks -------------------------------------------------------------------------------- */

/* Partitions are arranged at the end: their array is not touched before. */
static void empty_plan(const struct problem *problem, struct plan *out)
{
    memset(out, 0, offsetof(struct plan, partitions));
    out->tier = problem->rule.mode == TOPOLOGY_OFF ? TIER_UNKNOWN : TIER_INTERCONNECT;
    out->quality_0_100 = 100;
}

/* Place one ask after the other, the hard ones first. */
static void place_in_order(const struct problem *problem, struct plan *draft,
                           struct verdict *verdict)
{
    empty_plan(problem, draft);
    for (size_t i = 0; i < problem->request->ask_count; i++) {
        size_t ask = problem->order[i];

        draft->sets[ask] = place_ask(problem, ask, draft, verdict);
        if (verdict->reason != REASON_OK)
            return;
        assert(draft->sets[ask] != 0);
    }
}

/* A combination that fits is no more than that: each ask chooses anew beside the others. */
static void choose_anew(const struct problem *problem, struct plan *draft)
{
    struct plan better;

    empty_plan(problem, &better);
    memcpy(better.sets, draft->sets, sizeof better.sets);
    for (size_t i = 0; i < problem->request->ask_count; i++) {
        size_t ask = problem->order[i];
        device_mask old = better.sets[ask], set;
        struct verdict verdict;

        better.sets[ask] = 0;
        set = place_ask(problem, ask, &better, &verdict);
        if (set == 0)
            place_note_links(problem, ask, old, &better);
        better.sets[ask] = set != 0 ? set : old;
    }
    plan_copy(&better, draft);
}

/* Arrange the partitions of one device. return false when they have no place, or no room here. */
static bool arrange_device(const struct problem *problem, unsigned position, struct plan *plan)
{
    const struct arrange_question question = {
        .request = problem->request,
        .device = &problem->node->devices[position],
        .taken = problem->use->devices[position].partitions,
        .asks = draft_asks_on(problem, plan, position),
    };
    struct arrangement best;

    if (question.asks == 0)
        return true;
    if (!arrange_best(&question, &best) || plan->partition_count + best.count > PLAN_PARTITIONS_MAX)
        return false;
    plan->degraded = plan->degraded || best.cut_short;
    for (unsigned i = 0; i < best.count; i++) {
        best.items[i].position = (uint8_t)position;
        plan->partitions[plan->partition_count++] = best.items[i];
    }
    return true;
}

/* Where the partitions go, once it is known which are on which device. */
static void arrange_partitions(const struct problem *problem, struct plan *plan,
                               struct verdict *verdict)
{
    struct quota_shortage over;

    plan->partition_count = 0;
    for (unsigned i = 0; problem->is_divided && i < problem->node->device_count; i++) {
        if (problem->node->devices[i].partitions == NULL || arrange_device(problem, i, plan))
            continue;
        problem->effort->cut_short = true;
        verdict->reason = REASON_CONTAINERS;
        return;
    }
    /* Only now it is known how large the partitions are. */
    if (problem->is_divided && problem->policy->quota != NULL &&
        !spend_allows(problem, plan, &over))
        spend_refuse(&over, verdict);
}

/* Find sets for all asks. The verdict is that of the first ask without a place in the order. */
static void place_all(const struct problem *problem, struct plan *draft, struct verdict *verdict)
{
    struct quota_shortage over;
    struct plan combination;

    place_in_order(problem, draft, verdict);
    if (verdict->reason == REASON_OK || problem->request->ask_count == 1)
        return;
    if (!combine(problem, &combination))
        return;
    choose_anew(problem, &combination);
    if (problem->policy->quota != NULL && !spend_allows(problem, &combination, &over)) {
        spend_refuse(&over, verdict);
        return;
    }
    plan_copy(&combination, draft);
    verdict->reason = REASON_OK;
}

/* --- why not --------------------------------------------------------------------------------- */

/*
 * The asks by themselves: the verdict of the first that nothing could cure, else of the first that
 * finds no place. return false when each has a place alone.
 */
static bool judge_alone(const struct problem *problem, struct verdict *out)
{
    bool found = false;

    for (size_t i = 0; i < problem->request->ask_count; i++) {
        struct plan nothing;
        struct verdict verdict;

        empty_plan(problem, &nothing);
        place_ask(problem, problem->order[i], &nothing, &verdict);
        if (verdict.reason == REASON_OK || (found && reason_is_curable(verdict.reason)))
            continue;
        *out = verdict;
        found = true;
        if (!reason_is_curable(verdict.reason))
            break;
    }
    return found;
}

/* Without the other pods. What an administrator must cure first stays. */
static struct node_use use_without_pods(const struct node_use *use)
{
    struct node_use empty = {.device_count = use->device_count};

    for (unsigned i = 0; i < use->device_count; i++)
        empty.devices[i].conflicted = use->devices[i].conflicted;
    return empty;
}

static bool is_in_use(const struct node_use *use)
{
    bool in_use = use->unattributed > 0;

    for (unsigned i = 0; i < use->device_count; i++)
        in_use = in_use || use->devices[i].slots > 0;
    return in_use;
}

/* The curable obstacle of most devices; there are enough devices, so else it is their links. */
static enum reason curable_reason(const struct verdict *verdict)
{
    enum reason most = REASON_TOPOLOGY;
    unsigned count = 0;

    if (reason_is_curable(verdict->reason))
        return verdict->reason;
    for (unsigned r = 0; r < REASON_COUNT; r++) {
        if (reason_is_curable((enum reason)r) && verdict->devices[r] > count) {
            most = (enum reason)r;
            count = verdict->devices[r];
        }
    }
    return most;
}

/*
 * A pod of several asks is refused. The verdict says what stands in the way of the ask that failed
 * behind others; make it true of the pod. draft is what was placed, and is spent here.
 */
static void judge_together(const struct problem *problem, struct plan *draft,
                           struct verdict *verdict)
{
    const struct node_use empty = use_without_pods(problem->use);
    struct problem emptied = *problem;
    struct verdict hope;

    if (judge_alone(problem, verdict) && !reason_is_curable(verdict->reason))
        return;
    emptied.use = &empty;
    hope = *verdict;
    if (is_in_use(problem->use))
        place_all(&emptied, draft, &hope);
    if (hope.reason == REASON_OK) {
        verdict->reason = curable_reason(verdict);
        return;
    }
    *verdict = hope;
    /* Alone each ask has its links: what is missing beside the others, the others take. */
    if (hope.reason == REASON_TOPOLOGY_NEVER || hope.reason == REASON_TOPOLOGY_UNKNOWN ||
        hope.reason == REASON_SET_NEVER || (hope.reason == REASON_TOPOLOGY && !draft->degraded))
        verdict->reason = REASON_CONTAINERS;
}

void decide_node(const struct node *node, const struct node_use *use, const struct request *request,
                 const struct decide_policy *policy, struct gputopo_memo *memo, struct plan *plan,
                 struct verdict *verdict)
{
    struct decide_effort own = {.trials_left = DECIDE_CALL_TRIALS_MAX};
    struct decide_effort *effort = policy->effort != NULL ? policy->effort : &own;
    struct problem problem = {
        .node = node,
        .use = use,
        .request = request,
        .policy = policy,
        .rule = decide_topology_rule(policy, request),
        .memo = memo,
        .effort = effort,
    };
    struct plan draft;
    bool is_placed;

    assert(request->ask_count > 0 && request->problem == NULL);
    assert(use->device_count == node->device_count);
    effort->cut_short = false;
    draft_prepare(&problem);
    place_all(&problem, &draft, verdict);
    is_placed = verdict->reason == REASON_OK;
    if (is_placed)
        arrange_partitions(&problem, &draft, verdict);
    if (verdict->reason != REASON_OK) {
        if (!is_placed && request->ask_count > 1 && policy->care == DECIDE_PLAN)
            judge_together(&problem, &draft, verdict);
        verdict->cut_short = effort->cut_short;
        return;
    }
    if (policy->care != DECIDE_PLAN)
        return;
    draft.load_per_mille = load_after(&problem, &draft);
    draft.broken = count_broken(&problem, &draft);
    draft.groups_lost = count_lost_groups(&problem, &draft);
    plan_copy(&draft, plan);
}

void decide_use_after(const struct node *node, const struct node_use *use,
                      const struct request *request, const struct plan *plan, struct node_use *out)
{
    struct problem problem = {.node = node, .use = use, .request = request};

    draft_prepare(&problem);
    node_use_copy(use, out);
    add_plan(&problem, plan, out);
}
