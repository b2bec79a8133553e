/* SPDX-License-Identifier: Apache-2.0 */
/* draft - a plan in the making: which asks run together, and what those placed so far take. */
#include "draft.h"

#include <assert.h>

static_assert(REQUEST_ASKS_MAX <= 32, "a bit per ask");

/* --- phases ---------------------------------------------------------------------------------- */

/* The phase that an ask is planned with: its own for an init container, else the main one. */
static size_t home_phase(const struct request *request, size_t ask)
{
    unsigned container = request->asks[ask].container;

    return request->containers[container].kind == CONTAINER_INIT ? container : PHASE_MAIN;
}

static uint32_t asks_in_phase(const struct request *request, size_t phase)
{
    uint32_t asks = 0;

    for (size_t a = 0; a < request->ask_count; a++) {
        unsigned container = request->asks[a].container;

        if (container_runs_in(request->containers[container].kind, container, phase))
            asks |= UINT32_C(1) << a;
    }
    return asks;
}

static void fill_phases(struct problem *problem)
{
    const struct request *request = problem->request;

    problem->phase_count = 0;
    for (size_t a = 0; a < request->ask_count; a++) {
        uint32_t asks = asks_in_phase(request, home_phase(request, a));
        bool known = false;

        for (size_t p = 0; p < problem->phase_count && !known; p++)
            known = problem->phases[p] == asks;
        if (!known)
            problem->phases[problem->phase_count++] = asks;
    }
}

/* --- the order of the asks ------------------------------------------------------------------- */

/* How hard an ask is to place. */
struct weight {
    unsigned total; /* devices wanted in its phase, over all asks: other phases can reuse them */
    bool is_main;
    unsigned count;
    uint64_t memory_mib; /* on the node's largest device of the class */
};

static uint64_t largest_mib(const struct node *node, const struct device_class *class)
{
    uint64_t largest = 0;

    for (unsigned i = 0; i < node->device_count; i++) {
        if (node->devices[i].class == class && node->devices[i].memory_mib > largest)
            largest = node->devices[i].memory_mib;
    }
    return largest;
}

static struct weight weigh(const struct problem *problem, size_t ask)
{
    const struct request *request = problem->request;
    const struct ask *wanted = &request->asks[ask];
    size_t home = home_phase(request, ask);
    struct weight weight = {
        .is_main = home == PHASE_MAIN,
        .count = wanted->count,
        .memory_mib = ask_memory_mib(request, wanted, largest_mib(problem->node, wanted->class)),
    };

    for (uint32_t left = asks_in_phase(request, home); left != 0; left &= left - 1)
        weight.total += request->asks[__builtin_ctz(left)].count;
    return weight;
}

static bool is_harder(const struct weight *x, const struct weight *y)
{
    if (x->total != y->total)
        return x->total > y->total;
    if (x->is_main != y->is_main)
        return x->is_main;
    if (x->count != y->count)
        return x->count > y->count;
    return x->memory_mib > y->memory_mib;
}

static void order_asks(struct problem *problem)
{
    struct weight weights[REQUEST_ASKS_MAX];

    for (size_t i = 0; i < problem->request->ask_count; i++) {
        size_t at = i;

        weights[i] = weigh(problem, i);
        while (at > 0 && is_harder(&weights[i], &weights[problem->order[at - 1]])) {
            problem->order[at] = problem->order[at - 1];
            at--;
        }
        problem->order[at] = i;
    }
}

static void find_rules(struct problem *problem)
{
    for (size_t a = 0; a < problem->request->ask_count; a++) {
        const struct device_class *class = problem->request->asks[a].class;
        bool has_rules = class != NULL && class->sets.count > 0;

        problem->rules[a] = has_rules ? set_rule_for(class, problem->node) : NULL;
    }
    problem->is_divided = false;
    for (unsigned i = 0; i < problem->node->device_count; i++)
        problem->is_divided |= problem->node->devices[i].partitions != NULL;
}

void draft_prepare(struct problem *problem)
{
    problem->order[0] = 0;
    find_rules(problem);
    fill_phases(problem);
    if (problem->request->ask_count > 1)
        order_asks(problem);
}

/* Handles of devices that nobody but the pod splits. */
static unsigned own_handles(const struct problem *problem, const struct plan *plan, size_t ask)
{
    const struct request *request = problem->request;
    unsigned handles = 0;

    for (unsigned i = 0; i < problem->node->device_count; i++) {
        const struct device *device = &problem->node->devices[i];
        uint32_t asks = draft_asks_on(problem, plan, i);

        if (asks == 0 || problem->use->devices[i].slots > 0 ||
            device->class != request->asks[ask].class)
            continue;
        handles += gpufit_split(
            device->memory_mib,
            ask_memory_mib(request, &request->asks[__builtin_ctz(asks)], device->memory_mib));
    }
    return handles;
}

struct fit_question draft_question(const struct problem *problem, const struct plan *plan,
                                   size_t ask)
{
    const struct set_rule *rule = problem->rules[ask];
    struct fit_question question = {.node = problem->node,
                                    .use = problem->use,
                                    .request = problem->request,
                                    .ask = &problem->request->asks[ask],
                                    .rule = rule};

    if (plan != NULL && rule != NULL && rule->handles_max > 0)
        question.own_handles = own_handles(problem, plan, ask);
    return question;
}

/* --- what the pod itself takes --------------------------------------------------------------- */

uint32_t draft_asks_on(const struct problem *problem, const struct plan *plan, unsigned position)
{
    uint32_t asks = 0;

    for (size_t a = 0; a < problem->request->ask_count; a++) {
        if (mask_has(plan->sets[a], position))
            asks |= UINT32_C(1) << a;
    }
    return asks;
}

struct own_use draft_own_in_phase(const struct problem *problem, size_t phase, uint32_t asks,
                                  unsigned position)
{
    const struct request *request = problem->request;
    const struct device *device = &problem->node->devices[position];
    struct own_use own = {0};

    for (uint32_t left = problem->phases[phase] & asks; left != 0; left &= left - 1) {
        const struct ask *ask = &request->asks[__builtin_ctz(left)];
        uint16_t cores = ask_cores(request, ask, device->cores);

        own.memory_mib += ask_memory_mib(request, ask, device->memory_mib);
        own.cores += cores;
        own.slots++;
        own.exclusive = own.exclusive || cores == device->cores;
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
    own->exclusive = own->exclusive || to->exclusive;
}

struct own_use draft_own_beside(const struct problem *problem, const struct plan *plan,
                                const size_t *ask, unsigned position)
{
    uint32_t asks = draft_asks_on(problem, plan, position);
    struct own_use own = {.asks = asks};

    for (size_t p = 0; asks != 0 && p < problem->phase_count; p++) {
        struct own_use sum;

        if (ask != NULL && (problem->phases[p] >> *ask & 1) == 0)
            continue;
        sum = draft_own_in_phase(problem, p, asks, position);
        raise_own(&own, &sum);
    }
    return own;
}

device_mask draft_reusable(const struct problem *problem, const struct plan *plan, size_t ask)
{
    uint32_t beside = 0;
    device_mask mask = 0;

    for (size_t p = 0; p < problem->phase_count; p++) {
        if ((problem->phases[p] >> ask & 1) != 0)
            beside |= problem->phases[p];
    }
    for (size_t a = 0; a < problem->request->ask_count; a++) {
        if ((beside >> a & 1) == 0)
            mask |= plan->sets[a];
    }
    return mask;
}
