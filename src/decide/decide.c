/* SPDX-License-Identifier: Apache-2.0 */
/* decide - a plan for one pod on one node, or the reason why not. */
#include "topofit/decide.h"

#include "topofit/gpufit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ORDER_TRIES_MAX 4 /* orders in which the containers of a pod are placed */

/* Everything that stays the same while one pod is planned on one node. */
struct problem {
    const struct node *node;
    const struct node_use *use;
    const struct request *request;
    const struct decide_policy *policy;
    struct topology_rule rule;
    struct gputopo_memo *memo;
};

struct decide_policy decide_policy_default(void)
{
    return (struct decide_policy){
        .topology = {.mode = TOPOLOGY_SOFT,
                     .source = SOURCE_AUTO,
                     .max_tier = TIER_NUMA,
                     .unknown = UNKNOWN_AS_WORST,
                     .least_damage = true},
        .device_packing = PACKING_BINPACK,
        .node_packing = PACKING_BINPACK,
    };
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

/* --- the order of the asks ------------------------------------------------------------------- */

static enum container_kind kind_of(const struct request *request, size_t ask)
{
    return request->containers[request->asks[ask].container].kind;
}

static bool runs_in(const struct request *request, size_t ask, size_t phase)
{
    return container_runs_in(kind_of(request, ask), request->asks[ask].container, phase);
}

/* Devices wanted in one phase, over all asks. */
static unsigned phase_total(const struct request *request, size_t phase)
{
    unsigned total = 0;

    for (size_t a = 0; a < request->ask_count; a++) {
        if (runs_in(request, a, phase))
            total += request->asks[a].count;
    }
    return total;
}

/* The phase that an ask is planned with: its own for an init container, else the main one. */
static size_t home_phase(const struct request *request, size_t ask)
{
    return kind_of(request, ask) == CONTAINER_INIT ? request->asks[ask].container : PHASE_MAIN;
}

/*
 * Is ask a harder to place than b? The phase with most devices goes first, since the others can
 * reuse its devices; then whole devices, much memory, many devices.
 */
static bool is_harder(const struct request *request, size_t a, size_t b)
{
    const struct ask *x = &request->asks[a], *y = &request->asks[b];
    unsigned x_total = phase_total(request, home_phase(request, a));
    unsigned y_total = phase_total(request, home_phase(request, b));
    bool x_main = home_phase(request, a) == PHASE_MAIN;
    bool y_main = home_phase(request, b) == PHASE_MAIN;

    if (x_total != y_total)
        return x_total > y_total;
    if (x_main != y_main)
        return x_main;
    if (ask_is_whole(request, x) != ask_is_whole(request, y))
        return ask_is_whole(request, x);
    if (x->count != y->count)
        return x->count > y->count;
    if (x->memory != y->memory)
        return x->memory > y->memory;
    return a < b;
}

static void order_asks(const struct request *request, size_t order[REQUEST_ASKS_MAX])
{
    for (size_t i = 0; i < request->ask_count; i++) {
        size_t at = i;

        while (at > 0 && is_harder(request, i, order[at - 1])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

/* --- what the pod itself takes --------------------------------------------------------------- */

/* What the pod's placed asks take of a device in one phase. */
static struct own_use own_in_phase(const struct problem *problem, const struct plan *plan,
                                   size_t phase, unsigned position)
{
    const struct request *request = problem->request;
    const struct device *device = &problem->node->devices[position];
    struct own_use own = {0};

    for (size_t a = 0; a < request->ask_count; a++) {
        if (!mask_has(plan->sets[a], position) || !runs_in(request, a, phase))
            continue;
        own.memory_mib += ask_memory_mib(request, &request->asks[a], device->memory_mib);
        own.cores += ask_cores(request, &request->asks[a], device->cores);
        own.slots++;
    }
    return own;
}

static void raise_own(struct own_use *own, const struct own_use *to)
{
    if (to->memory_mib > own->memory_mib)
        own->memory_mib = to->memory_mib;
    if (to->cores > own->cores)
        own->cores = to->cores;
    if (to->slots > own->slots)
        own->slots = to->slots;
}

/* What of a device is taken while the ask runs (NULL: at any time) by the pod's placed asks. */
static struct own_use own_beside(const struct problem *problem, const struct plan *plan,
                                 const size_t *ask, unsigned position)
{
    const struct request *request = problem->request;
    struct own_use own = {0};

    for (size_t c = 0; c <= request->container_count; c++) {
        size_t phase = c == request->container_count ? PHASE_MAIN : c;
        struct own_use sum;

        if (phase != PHASE_MAIN && request->containers[c].kind != CONTAINER_INIT)
            continue;
        if (ask != NULL && !runs_in(request, *ask, phase))
            continue;
        sum = own_in_phase(problem, plan, phase, position);
        raise_own(&own, &sum);
    }
    return own;
}

/* Devices of placed asks that never run at the same time as this one. */
static device_mask reusable(const struct problem *problem, const struct plan *plan, size_t ask)
{
    const struct request *request = problem->request;
    device_mask mask = 0;

    for (size_t a = 0; a < request->ask_count; a++) {
        bool together = false;

        for (size_t c = 0; c <= request->container_count && !together; c++) {
            size_t phase = c == request->container_count ? PHASE_MAIN : c;

            together = runs_in(request, a, phase) && runs_in(request, ask, phase);
        }
        if (!together)
            mask |= plan->sets[a];
    }
    return mask;
}

/* --- one ask --------------------------------------------------------------------------------- */

static device_mask idle_devices(const struct problem *problem, const struct plan *plan)
{
    device_mask idle = 0;

    for (unsigned i = 0; i < problem->node->device_count; i++) {
        if (problem->use->devices[i].slots == 0)
            idle |= mask_of(i);
    }
    for (size_t a = 0; a < problem->request->ask_count; a++)
        idle &= ~plan->sets[a];
    return idle;
}

/* Without topology: what is required, then the preferred devices, the first ones on ties. */
static device_mask choose_preferred(const struct topology_question *question)
{
    device_mask set = question->required;

    while (mask_count(set) < question->count) {
        device_mask left = question->candidates & ~set;
        unsigned best = mask_first(left);

        for (left &= left - 1; left != 0; left &= left - 1) {
            if (question->preference[mask_first(left)] > question->preference[best])
                best = mask_first(left);
        }
        set |= mask_of(best);
    }
    return set;
}

static void ask_question(const struct problem *problem, const struct plan *plan, size_t ask,
                         device_mask candidates, struct topology_question *out)
{
    const struct ask *wanted = &problem->request->asks[ask];
    device_mask reuse = reusable(problem, plan, ask) & candidates;
    bool enough = mask_count(reuse) >= wanted->count;
    bool spreads = problem->policy->device_packing == PACKING_SPREAD &&
                   !ask_is_whole(problem->request, wanted);

    *out = (struct topology_question){
        .graph = problem->node->graph,
        .candidates = enough ? reuse : candidates,
        .required = enough ? 0 : reuse,
        /* Who spreads fractions wants idle devices: keeping those for later groups is no aim. */
        .idle = spreads && wanted->count > 1 ? 0 : idle_devices(problem, plan),
        .count = wanted->count,
        .preference_first = spreads,
    };
}

/*
 * An ask cannot be placed now. The verdict stays as it is when evicting pods could free a set that
 * meets the demand; else it says that the node never can, so that nobody is evicted for nothing.
 */
static void judge_topology(const struct problem *problem, size_t ask, device_mask hopeful,
                           struct verdict *verdict)
{
    const struct topology_question question = {.graph = problem->node->graph,
                                               .candidates = hopeful,
                                               .count = problem->request->asks[ask].count};
    struct topology_choice best;

    gputopo_choose(&question, &problem->rule, problem->memo, &best);
    if (best.satisfied)
        return;
    verdict->reason = best.tier == TIER_UNKNOWN ? REASON_TOPOLOGY_UNKNOWN : REASON_TOPOLOGY_NEVER;
    verdict->best_tier = best.tier;
    verdict->allowed_tier = problem->rule.max_tier;
}

/* The best set under the rule; 0 and the verdict's reason when the rule allows none. */
static device_mask choose_by_topology(const struct problem *problem,
                                      const struct topology_question *question, struct plan *plan,
                                      struct verdict *verdict)
{
    struct topology_choice choice;
    uint8_t quality;

    gputopo_choose(question, &problem->rule, problem->memo, &choice);
    if (!choice.satisfied) {
        verdict->reason = REASON_TOPOLOGY;
        verdict->best_tier = choice.tier;
        verdict->allowed_tier = problem->rule.max_tier;
        return 0;
    }
    quality =
        gputopo_quality(question->graph, &problem->rule, &choice, question->count, problem->memo);
    if (choice.tier > plan->tier)
        plan->tier = choice.tier;
    if (quality < plan->quality_0_100)
        plan->quality_0_100 = quality;
    plan->degraded = plan->degraded || choice.degraded;
    return choice.set;
}

/* Place one ask; verdict->reason tells whether it went. return the set. */
static device_mask place(const struct problem *problem, size_t ask, struct plan *plan,
                         struct verdict *verdict)
{
    struct own_use own[DEVICE_MAX];
    uint16_t preference[DEVICE_MAX] = {0};
    struct topology_question question;
    struct fit fit;
    device_mask set = 0;

    for (unsigned i = 0; i < problem->node->device_count; i++)
        own[i] = own_beside(problem, plan, &ask, i);
    fit = gpufit_candidates(problem->node, problem->use, problem->request,
                            &problem->request->asks[ask], own, verdict);
    if (verdict->reason == REASON_OK) {
        packing_preferences(problem->node, problem->use, problem->policy->device_packing,
                            preference);
        ask_question(problem, plan, ask, fit.candidates, &question);
        question.preference = preference;
        set = problem->rule.mode == TOPOLOGY_OFF
                  ? choose_preferred(&question)
                  : choose_by_topology(problem, &question, plan, verdict);
    }
    if (problem->rule.mode == TOPOLOGY_HARD && reason_is_curable(verdict->reason))
        judge_topology(problem, ask, fit.hopeful, verdict);
    return set;
}

/* --- the node -------------------------------------------------------------------------------- */

/* Load of the devices of the classes asked for, with the plan in place. */
static uint16_t load_after(const struct problem *problem, const struct plan *plan)
{
    struct node_use after = *problem->use;
    device_mask counted = 0;

    for (unsigned i = 0; i < problem->node->device_count; i++) {
        struct own_use own = own_beside(problem, plan, NULL, i);

        after.devices[i].memory_mib += own.memory_mib;
        after.devices[i].cores += own.cores;
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

/* Place all asks in an order. return where in the order one failed; the count when none did. */
static size_t place_all(const struct problem *problem, const size_t *order, struct plan *draft,
                        struct verdict *verdict)
{
    size_t count = problem->request->ask_count;

    *draft = (struct plan){.tier = TIER_INTERCONNECT, .quality_0_100 = 100};
    if (problem->rule.mode == TOPOLOGY_OFF)
        draft->tier = TIER_UNKNOWN;
    for (size_t i = 0; i < count; i++) {
        draft->sets[order[i]] = place(problem, order[i], draft, verdict);
        if (verdict->reason != REASON_OK)
            return i;
        assert(draft->sets[order[i]] != 0);
    }
    return count;
}

/* An ask that found no place behind others goes before them in the next try. */
static void put_first(size_t *order, size_t at)
{
    size_t ask = order[at];

    for (; at > 0; at--)
        order[at] = order[at - 1];
    order[0] = ask;
}

void decide_node(const struct node *node, const struct node_use *use, const struct request *request,
                 const struct decide_policy *policy, struct gputopo_memo *memo, struct plan *plan,
                 struct verdict *verdict)
{
    const struct problem problem = {
        .node = node,
        .use = use,
        .request = request,
        .policy = policy,
        .rule = decide_topology_rule(policy, request),
        .memo = memo,
    };
    size_t order[REQUEST_ASKS_MAX];
    struct plan draft;
    size_t failed;

    assert(request->ask_count > 0 && request->problem == NULL);
    assert(use->device_count == node->device_count);
    order_asks(request, order);
    failed = place_all(&problem, order, &draft, verdict);
    for (unsigned tries = 1; failed < request->ask_count && tries < ORDER_TRIES_MAX; tries++) {
        struct verdict again;

        put_first(order, failed);
        failed = place_all(&problem, order, &draft, &again);
        if (failed == request->ask_count)
            *verdict = again;
    }
    if (failed < request->ask_count)
        return;
    draft.load_per_mille = load_after(&problem, &draft);
    draft.broken = count_broken(&problem, &draft);
    *plan = draft;
}
