/* SPDX-License-Identifier: Apache-2.0 */
/* place_question - what is preferred for an ask, and what gputopo is asked. */
#include "arrange.h"
#include "place_inside.h"
#include "topofit/packing.h"

static bool spreads_fractions(const struct placing *placing)
{
    return decide_spreads_devices(placing->problem->policy, placing->problem->request) &&
           !ask_is_whole(placing->problem->request, placing->wanted);
}

/* What large partitions lose on a divided device by the ask. */
static unsigned loss_on(const struct placing *placing, unsigned position)
{
    struct arrange_question question = {
        .request = placing->problem->request,
        .device = &placing->problem->node->devices[position],
        .taken = placing->problem->use->devices[position].partitions,
        .asks = placing->own[position].asks,
    };
    struct arrangement before = {.after = question.taken}, after;

    if (question.asks != 0 && !arrange_best(&question, &before))
        return ARRANGE_LOSS_MAX;
    question.asks |= UINT32_C(1) << placing->ask;
    if (!arrange_best(&question, &after))
        return ARRANGE_LOSS_MAX;
    return arrange_loss(question.device->partitions, before.after, after.after);
}

#define LOAD_MAX 1000

/* Divided devices come first, those where the least is lost. return whether there are any. */
static bool prefer_partitions(struct placing *placing)
{
    bool any = false;

    for (device_mask left = placing->fit.candidates; left != 0; left &= left - 1) {
        unsigned i = mask_first(left);

        if (placing->problem->node->devices[i].partitions == NULL)
            continue;
        placing->preference[i] = (uint16_t)(LOAD_MAX + 1 + ARRANGE_LOSS_MAX - loss_on(placing, i));
        any = true;
    }
    return any;
}

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

void place_question(struct placing *placing, struct topology_question *out)
{
    const struct problem *problem = placing->problem;
    device_mask candidates = placing->fit.candidates;
    device_mask reuse = draft_reusable(problem, placing->plan, placing->ask) & candidates;
    bool enough = mask_count(reuse) >= placing->wanted->count;
    bool spreads = spreads_fractions(placing);

    packing_preferences(problem->node, problem->use,
                        decide_spreads_devices(problem->policy, problem->request),
                        &problem->request->weights, placing->preference);
    *out = (struct topology_question){
        .graph = problem->node->graph,
        .candidates = enough ? reuse : candidates,
        .required = enough ? 0 : reuse,
        /* Who spreads fractions wants idle devices: keeping those for later groups is no aim. */
        .idle = spreads && placing->wanted->count > 1 ? 0 : idle_devices(problem, placing->plan),
        .count = placing->wanted->count,
        .preference = placing->preference,
        .preference_first = spreads,
        .hurried = problem->policy->care == DECIDE_HURRIED ||
                   problem->effort->topology_steps >= DECIDE_CALL_STEPS_MAX,
    };
    if (problem->is_divided && !spreads)
        out->preference_first = prefer_partitions(placing);
}

device_mask place_choose_preferred(const struct topology_question *question)
{
    device_mask within = question->within != 0 ? question->within : question->candidates;
    device_mask set = question->required;

    while (mask_count(set) < question->count) {
        device_mask left = within & ~set;
        unsigned best = mask_first(left);

        for (left &= left - 1; left != 0; left &= left - 1) {
            if (question->preference[mask_first(left)] > question->preference[best])
                best = mask_first(left);
        }
        set |= mask_of(best);
    }
    return set;
}
