/* SPDX-License-Identifier: Apache-2.0 */
/* place_beside - an ask beside the pod's other asks: devices they share, and handles. */
#include "place_inside.h"

#include <string.h>

device_mask place_shared_devices(const struct problem *problem, const struct plan *plan, size_t ask)
{
    const struct request *request = problem->request;
    device_mask shared = 0;

    for (size_t a = 0; a < request->ask_count; a++) {
        if (a != ask && request->asks[a].class == request->asks[ask].class)
            shared |= plan->sets[a];
    }
    return shared;
}

device_mask place_beside(const struct problem *problem, const struct plan *plan, size_t ask,
                         device_mask candidates)
{
    device_mask shared;

    if (problem->rules[ask] == NULL || !problem->rules[ask]->same_devices)
        return candidates;
    shared = place_shared_devices(problem, plan, ask);
    return mask_count(shared) >= problem->request->asks[ask].count ? candidates & shared
                                                                   : candidates;
}

static bool takes_all_cores(const struct problem *problem, size_t ask)
{
    const struct ask *wanted = &problem->request->asks[ask];

    for (unsigned i = 0; i < problem->node->device_count; i++) {
        const struct device *device = &problem->node->devices[i];

        if (device->class == wanted->class)
            return ask_cores(problem->request, wanted, device->cores) == device->cores;
    }
    return false;
}

struct set_question place_set_question(const struct problem *problem, size_t ask,
                                       device_mask candidates)
{
    const struct ask *wanted = &problem->request->asks[ask];

    return (struct set_question){.node = problem->node,
                                 .class = wanted->class,
                                 .rule = problem->rules[ask],
                                 .candidates = candidates,
                                 .count = wanted->count,
                                 .is_whole = takes_all_cores(problem, ask)};
}

/* Are there handles for a set? Without the set the ask is in no set of the plan. */
static bool has_handles(const struct problem *problem, const struct plan *plan, size_t ask,
                        device_mask set)
{
    struct plan without;
    struct fit_question question;
    unsigned added = 0;

    memcpy(without.sets, plan->sets, sizeof without.sets);
    without.sets[ask] = 0;
    question = draft_question(problem, &without, ask);
    for (device_mask left = set; left != 0; left &= left - 1) {
        unsigned i = mask_first(left);
        struct own_use own = draft_own_beside(problem, &without, &ask, i);

        added += gpufit_handles_added(&question, i, &own);
    }
    return added <= gpufit_handles_left(&question);
}

bool place_allows(const struct problem *problem, const struct plan *plan, size_t ask,
                  device_mask set)
{
    const struct set_rule *rule = problem->rules[ask];
    struct set_question question;

    if (rule == NULL)
        return true;
    question = place_set_question(problem, ask, set);
    if (!set_is_allowed(&question, set))
        return false;
    if (rule->same_devices) {
        device_mask shared = place_shared_devices(problem, plan, ask);

        if (shared != 0 && (shared & ~set) != 0 && (set & ~shared) != 0)
            return false;
    }
    return rule->handles_max == 0 || has_handles(problem, plan, ask, set);
}
