/* SPDX-License-Identifier: Apache-2.0 */
/* gputopo - the question is narrowed, searched or remembered, and held against the rule here. */
#include "topofit/gputopo.h"

#include "gputopo_inside.h"

#include <assert.h>

/* Steps where there are more than GPUTOPO_EXACT_MAX candidates: all, and for one question. */
#define TIER_STEPS_MAX (1 << 14)
#define TIER_STEPS_SHARE (1 << 11)
#define SET_STEPS_MAX (1 << 14)
#define TIE_STEPS_MAX (1 << 18)
#define TIE_STEPS_SHARE (1 << 10)
#define HURRIED_PART 64 /* of all of these where there is hurry */
static_assert(TIER_STEPS_MAX + SET_STEPS_MAX + TIE_STEPS_MAX <= GPUTOPO_STEPS_MAX, "steps");

/* part: of the limit there is one of so many parts. */
static struct gputopo_budget budget(bool is_exact, unsigned part, uint64_t limit, uint64_t share)
{
    limit /= part;
    share /= part;
    if (is_exact)
        limit = share = UINT64_MAX;
    return (struct gputopo_budget){.limit = limit, .left = limit, .share = share};
}

static uint32_t steps_of(const struct gputopo_work *work)
{
    return (uint32_t)(work->tiers.limit - work->tiers.left + work->sets.limit - work->sets.left +
                      work->ties.limit - work->ties.left);
}

static struct gputopo_work work_for(const struct topology_question *question)
{
    bool is_exact = mask_count(question->candidates) <= GPUTOPO_EXACT_MAX;
    unsigned part = question->hurried ? HURRIED_PART : 1;

    return (struct gputopo_work){.tiers = budget(is_exact, part, TIER_STEPS_MAX, TIER_STEPS_SHARE),
                                 .sets = budget(is_exact, part, SET_STEPS_MAX, SET_STEPS_MAX),
                                 .ties = budget(is_exact, part, TIE_STEPS_MAX, TIE_STEPS_SHARE)};
}

static void describe(const struct gputopo_field *field, device_mask set,
                     const struct gputopo_work *work, struct topology_choice *out)
{
    *out = (struct topology_choice){
        .set = gputopo_field_positions(field, set),
        .tier = gputopo_field_tier(field, set),
        .degraded = work->degraded || work->sets.ran_out || work->ties.ran_out,
        .bottleneck_gbps = gputopo_field_bottleneck_gbps(field, set),
        .total_gbps = gputopo_gbps_of(gputopo_field_worth(field, set)),
        .score_0_100 = gputopo_field_score(field, set),
        .steps = steps_of(work),
    };
}

static void find(const struct topology_question *question, const struct topology_rule *rule,
                 struct topology_choice *out)
{
    struct gputopo_work work = work_for(question);
    struct gputopo_field field;
    device_mask set;

    gputopo_field_fill(&field, question, rule->source);
    if (question->tier_only) {
        set = gputopo_search_tier(&field, question->count, &work);
    } else if (question->count == 1) {
        set = gputopo_single(&field, question, rule, &work);
    } else {
        gputopo_field_sort_twins(&field, question, rule->source);
        set = gputopo_search(&field, question->count, &work);
    }
    describe(&field, set, &work, out);
}

static bool is_allowed(const struct topology_rule *rule, enum tier tier)
{
    if (rule->mode != TOPOLOGY_HARD)
        return true;
    if (tier == TIER_UNKNOWN && rule->unknown == UNKNOWN_REJECT)
        return false;
    return tier <= rule->max_tier;
}

static device_mask open_for(const struct topology_question *question)
{
    return question->within == 0 ? question->candidates : question->within & question->candidates;
}

void gputopo_choose(const struct topology_question *question, const struct topology_rule *rule,
                    struct gputopo_memo *memo, struct topology_choice *out)
{
    device_mask open = open_for(question);

    assert(question->count >= 1);
    assert((question->candidates & ~mask_below(question->graph->n)) == 0);
    assert((question->required & ~question->candidates) == 0);

    if (mask_count(open) < question->count || (question->required & ~open) != 0 ||
        mask_count(question->required) > question->count) {
        *out = (struct topology_choice){.tier = TIER_UNKNOWN};
        return;
    }
    if (memo == NULL || !memo->find(memo, question, rule, out)) {
        find(question, rule, out);
        if (memo != NULL)
            memo->store(memo, question, rule, out);
    }
    out->satisfied = is_allowed(rule, out->tier);
}

/* --- several places --------------------------------------------------------------------------- */

#define AMONG_MAX 128 /* sets compared at once */

static device_mask to_local(const struct gputopo_field *field, device_mask positions)
{
    device_mask local = 0;

    for (unsigned a = 0; a < field->n; a++)
        local |= (device_mask)mask_has(positions, field->position[a]) << a;
    return local;
}

/* Of sets of two or more devices that are known, the best one. */
static void choose_known(const struct topology_question *question, const device_mask *sets,
                         unsigned count, const struct topology_rule *rule,
                         struct topology_choice *out)
{
    struct gputopo_work work = work_for(question);
    device_mask local[AMONG_MAX];
    struct gputopo_field field;

    gputopo_field_fill(&field, question, rule->source);
    for (unsigned i = 0; i < count; i++)
        local[i] = to_local(&field, sets[i]);
    describe(&field, gputopo_best_of(&field, local, count, &work), &work, out);
    out->satisfied = is_allowed(rule, out->tier);
}

/* The best set of each place first, then the best of these: some at a time. */
static void choose_of_places(const struct topology_question *question,
                             const struct topology_place *places, unsigned count,
                             const struct topology_rule *rule, struct gputopo_memo *memo,
                             struct topology_choice *out)
{
    device_mask sets[AMONG_MAX];
    bool degraded = false;
    unsigned n = 0;

    for (unsigned i = 0; i < count; i++) {
        struct topology_question here = *question;

        here.within = places[i].within;
        here.required |= places[i].required;
        gputopo_choose(&here, rule, memo, out);
        degraded = degraded || out->degraded;
        if (mask_count(out->set) == question->count)
            sets[n++] = out->set;
        if (n == AMONG_MAX || (n > 1 && i + 1 == count)) {
            choose_known(question, sets, n, rule, out);
            sets[0] = out->set;
            n = 1;
        }
    }
    if (n == 1)
        choose_known(question, sets, 1, rule, out);
    out->degraded = out->degraded || degraded;
}

/* For one device all places without a required one are one place. */
static bool may_join(const struct topology_question *question, const struct topology_place *places,
                     unsigned count, device_mask *within)
{
    *within = 0;
    for (unsigned i = 0; i < count; i++) {
        if (places[i].required != 0)
            return false;
        *within |= places[i].within;
    }
    return question->count == 1;
}

void gputopo_choose_among(const struct topology_question *question,
                          const struct topology_place *places, unsigned count,
                          const struct topology_rule *rule, struct gputopo_memo *memo,
                          struct topology_choice *out)
{
    struct topology_question here = *question;

    assert(count >= 1);
    if (count == 1) {
        here.within = places[0].within;
        here.required |= places[0].required;
        gputopo_choose(&here, rule, memo, out);
    } else if (may_join(question, places, count, &here.within)) {
        gputopo_choose(&here, rule, memo, out);
    } else {
        choose_of_places(question, places, count, rule, memo, out);
    }
}

#define LOST_BITS 3 /* for each kind of group */
#define LOST_MAX ((1u << LOST_BITS) - 1)
static_assert(TOPOLOGY_GROUPS_LOST_BITS == GPUTOPO_GROUP_KINDS * LOST_BITS, "bits for each kind");

static void count_groups(const struct peer_graph *graph, enum topology_source source,
                         device_mask devices, unsigned out[GPUTOPO_GROUP_KINDS])
{
    const struct topology_question question = {
        .graph = graph, .candidates = devices, .idle = devices, .count = 1};
    struct gputopo_budget ties =
        budget(mask_count(devices) <= GPUTOPO_EXACT_MAX, 1, TIE_STEPS_MAX, TIE_STEPS_SHARE);
    struct gputopo_groups groups;
    struct gputopo_field field;

    gputopo_field_fill(&field, &question, source);
    gputopo_groups_init(&groups, &field, &ties);
    for (unsigned kind = 0; kind < GPUTOPO_GROUP_KINDS; kind++)
        out[kind] = gputopo_groups_count(&groups, kind, mask_below(field.n), &ties);
}

uint32_t gputopo_groups_lost(const struct peer_graph *graph, enum topology_source source,
                             device_mask before, device_mask after)
{
    unsigned had[GPUTOPO_GROUP_KINDS], has[GPUTOPO_GROUP_KINDS];
    uint32_t lost = 0;

    if (before == after)
        return 0;
    count_groups(graph, source, before, had);
    count_groups(graph, source, after, has);
    for (unsigned kind = 0; kind < GPUTOPO_GROUP_KINDS; kind++) {
        unsigned fewer = had[kind] > has[kind] ? had[kind] - has[kind] : 0;

        lost = lost << LOST_BITS | (fewer < LOST_MAX ? fewer : LOST_MAX);
    }
    return lost;
}

/* From the greatest groups down, tier 0 and tier 1 take turns. */
static uint32_t lost_of(uint32_t groups_lost, unsigned kind)
{
    return groups_lost >> (GPUTOPO_GROUP_KINDS - 1 - kind) * LOST_BITS & LOST_MAX;
}

uint32_t gputopo_linked_eights(uint32_t groups_lost)
{
    return lost_of(groups_lost, 0);
}

uint32_t gputopo_linked_fours(uint32_t groups_lost)
{
    return lost_of(groups_lost, 2) << LOST_BITS | lost_of(groups_lost, 4);
}

uint8_t gputopo_quality(const struct peer_graph *graph, const struct topology_rule *rule,
                        const struct topology_choice *choice, unsigned count,
                        struct gputopo_memo *memo)
{
    device_mask all = mask_below(graph->n);
    struct topology_question question = {
        .graph = graph, .candidates = all, .idle = all, .count = count};
    struct topology_choice best;
    unsigned share;

    if (mask_count(choice->set) != count)
        return 0;
    if (count == 1)
        return 100;
    gputopo_choose(&question, rule, memo, &best);
    if (choice->tier != best.tier)
        return choice->tier < best.tier ? 100 : 0;
    if (best.bottleneck_gbps == 0)
        return 100;
    share = 100u * choice->bottleneck_gbps / best.bottleneck_gbps;
    return (uint8_t)(share < 100 ? share : 100);
}
