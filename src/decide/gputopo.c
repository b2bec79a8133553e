/* SPDX-License-Identifier: Apache-2.0 */
/* gputopo - the question is narrowed, searched or remembered, and held against the rule here. */
#include "topofit/gputopo.h"

#include "gputopo_inside.h"

#include <assert.h>

static void find(const struct topology_question *question, const struct topology_rule *rule,
                 struct topology_choice *out)
{
    struct gputopo_budget budget = {.steps_left = GPUTOPO_STEPS_MAX};
    struct gputopo_field field;
    device_mask set;
    uint64_t worth;

    if (mask_count(question->candidates) <= GPUTOPO_EXACT_MAX)
        budget.steps_left = UINT64_MAX;
    gputopo_field_fill(&field, question, rule->source);
    if (question->count == 1) {
        set = gputopo_single(&field, question, rule, &budget);
    } else {
        gputopo_field_sort_twins(&field, question, rule->source);
        set = gputopo_search(&field, question->count, &budget);
    }
    worth = gputopo_field_worth(&field, set);
    *out = (struct topology_choice){
        .set = gputopo_field_positions(&field, set),
        .tier = gputopo_field_tier(&field, set),
        .degraded = budget.degraded,
        .bottleneck_gbps = gputopo_field_bottleneck_gbps(&field, set),
        .total_gbps = gputopo_gbps_of(worth),
        .score_0_100 = gputopo_field_score(&field, set),
    };
}

static bool is_allowed(const struct topology_rule *rule, enum tier tier)
{
    if (rule->mode != TOPOLOGY_HARD)
        return true;
    if (tier == TIER_UNKNOWN && rule->unknown == UNKNOWN_REJECT)
        return false;
    return tier <= rule->max_tier;
}

void gputopo_choose(const struct topology_question *question, const struct topology_rule *rule,
                    struct gputopo_memo *memo, struct topology_choice *out)
{
    assert(question->count >= 1);
    assert((question->candidates & ~mask_below(question->graph->n)) == 0);
    assert((question->required & ~question->candidates) == 0);

    if (mask_count(question->candidates) < question->count ||
        mask_count(question->required) > question->count) {
        *out = (struct topology_choice){.tier = TIER_UNKNOWN};
        return;
    }
    if (!gputopo_memo_find(memo, question, rule, out)) {
        find(question, rule, out);
        gputopo_memo_store(memo, question, rule, out);
    }
    out->satisfied = is_allowed(rule, out->tier);
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
