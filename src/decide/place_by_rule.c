/* SPDX-License-Identifier: Apache-2.0 */
/* place_by_rule - the set of an ask where its class has a rule which sets there may be. */
#include "place_inside.h"

/* Those of equal key, without what is no candidate of the question. return how many. */
static unsigned take_alike(const struct set_places *places, unsigned from,
                           const struct topology_question *question, unsigned *end,
                           struct topology_place *out)
{
    unsigned count = 0;

    for (*end = from; *end < places->count && places->keys[*end] == places->keys[from]; ++*end) {
        struct topology_place place = places->items[*end];

        place.within &= question->candidates;
        if (mask_count(place.within) >= question->count &&
            ((place.required | question->required) & ~place.within) == 0)
            out[count++] = place;
    }
    return count;
}

static unsigned preference_of(const struct topology_question *question, device_mask set)
{
    unsigned sum = 0;

    for (; set != 0; set &= set - 1)
        sum += question->preference[mask_first(set)];
    return sum;
}

/* Without topology: of the preferred devices in each place the most preferred ones. */
static void choose_preferred_among(const struct topology_question *question,
                                   const struct topology_place *places, unsigned count,
                                   struct topology_choice *out)
{
    *out = (struct topology_choice){.satisfied = true};
    for (unsigned i = 0; i < count; i++) {
        struct topology_question here = *question;
        device_mask set;

        here.within = places[i].within;
        here.required |= places[i].required;
        if (mask_count(here.required) > here.count)
            continue;
        set = place_choose_preferred(&here);
        if (out->set == 0 || preference_of(question, set) > preference_of(question, out->set))
            out->set = set;
    }
    out->satisfied = out->set != 0;
}

/* The best set of the first places that hold an allowed one; out->satisfied says whether. */
static void choose_in_order(const struct placing *placing, const struct set_places *places,
                            const struct topology_question *question, struct topology_choice *out)
{
    struct topology_place alike[SET_PLACES_MAX];
    unsigned end;

    *out = (struct topology_choice){.tier = TIER_UNKNOWN};
    for (unsigned from = 0; from < places->count && !out->satisfied; from = end) {
        unsigned count = take_alike(places, from, question, &end, alike);
        struct topology_choice choice;

        if (count == 0)
            continue;
        if (placing->problem->rule.mode == TOPOLOGY_OFF)
            choose_preferred_among(question, alike, count, &choice);
        else
            gputopo_choose_among(question, alike, count, &placing->problem->rule,
                                 placing->problem->memo, &choice);
        place_note_effort(placing->problem, question, &choice);
        /* One of unknown links is a set, too: it could be, and is not known to be allowed. */
        if (choice.satisfied || choice.tier < out->tier || (out->set == 0 && choice.set != 0))
            *out = choice;
    }
}

device_mask place_by_rule(const struct placing *placing, const struct topology_question *question)
{
    struct topology_question anywhere = *question;
    struct set_places places;
    struct topology_choice choice;

    place_list(placing, placing->fit.candidates, &places);
    choose_in_order(placing, &places, question, &choice);
    if (!choice.satisfied) {
        /* Not where the pod has others at other times, then. */
        anywhere.candidates = placing->fit.candidates;
        anywhere.required = 0;
        choose_in_order(placing, &places, &anywhere, &choice);
    }
    placing->plan->degraded = placing->plan->degraded || choice.degraded || places.cut_short;
    if (!choice.satisfied) {
        place_note_refusal(placing->problem, &choice,
                           choice.set != 0 ? REASON_TOPOLOGY : REASON_SETS, placing->verdict);
        return 0;
    }
    if (placing->problem->rule.mode != TOPOLOGY_OFF &&
        placing->problem->policy->care == DECIDE_PLAN)
        place_note_choice(placing->problem, &choice, question->count, placing->plan);
    return choice.set;
}

void place_judge_by_rule(struct placing *placing)
{
    static const struct node_use nobody;
    const struct problem *problem = placing->problem;
    const struct topology_question question = {.graph = problem->node->graph,
                                               .candidates = placing->fit.hopeful,
                                               .count = placing->wanted->count,
                                               .preference = placing->preference};
    struct problem alone = *problem;
    struct placing later = *placing;
    struct topology_choice best;
    struct set_places places;

    alone.use = &nobody;
    later.problem = &alone;
    later.question.use = &nobody;
    place_list(&later, placing->fit.hopeful, &places);
    choose_in_order(&later, &places, &question, &best);
    if (best.satisfied || best.degraded || places.cut_short)
        return;
    place_note_refusal(problem, &best, best.set != 0 ? place_never(&best) : REASON_SET_NEVER,
                       placing->verdict);
}
