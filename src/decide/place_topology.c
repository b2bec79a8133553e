/* SPDX-License-Identifier: Apache-2.0 */
/* place_topology - the set of an ask by its links alone, and what a refusal means. */
#include "place_inside.h"

void place_note_choice(const struct problem *problem, const struct topology_choice *choice,
                       unsigned count, struct plan *plan)
{
    uint8_t quality =
        gputopo_quality(problem->node->graph, &problem->rule, choice, count, problem->memo);

    if (choice->tier > plan->tier)
        plan->tier = choice->tier;
    if (quality < plan->quality_0_100)
        plan->quality_0_100 = quality;
}

void place_note_refusal(const struct problem *problem, const struct topology_choice *best,
                        enum reason reason, struct verdict *verdict)
{
    verdict->reason = reason;
    verdict->best_tier = best->tier;
    verdict->allowed_tier = problem->rule.max_tier;
}

/* Whether there is a set is all that matters: neither another ask nor a quota asks which. */
static bool will_any_do(const struct problem *problem)
{
    return problem->policy->care != DECIDE_PLAN && problem->request->ask_count == 1 &&
           problem->policy->quota == NULL && !problem->is_divided;
}

void place_note_effort(const struct problem *problem, const struct topology_question *question,
                       const struct topology_choice *choice)
{
    struct decide_effort *effort = problem->effort;

    if (mask_count(question->candidates) <= GPUTOPO_EXACT_MAX)
        return;
    effort->topology_steps += choice->steps;
    effort->is_hurried = effort->is_hurried || question->hurried;
}

device_mask place_by_topology(const struct problem *problem,
                              const struct topology_question *question, struct plan *plan,
                              struct verdict *verdict)
{
    struct topology_question asked = *question;
    struct topology_choice choice;

    asked.tier_only = will_any_do(problem);
    gputopo_choose(&asked, &problem->rule, problem->memo, &choice);
    place_note_effort(problem, &asked, &choice);
    plan->degraded = plan->degraded || choice.degraded;
    if (!choice.satisfied) {
        place_note_refusal(problem, &choice, REASON_TOPOLOGY, verdict);
        return 0;
    }
    if (problem->policy->care == DECIDE_PLAN)
        place_note_choice(problem, &choice, question->count, plan);
    return choice.set;
}

enum reason place_never(const struct topology_choice *best)
{
    return best->tier == TIER_UNKNOWN ? REASON_TOPOLOGY_UNKNOWN : REASON_TOPOLOGY_NEVER;
}

void place_judge_topology(const struct placing *placing)
{
    const struct problem *problem = placing->problem;
    const struct topology_question question = {.graph = problem->node->graph,
                                               .candidates = placing->fit.hopeful,
                                               .count = placing->wanted->count};
    struct topology_choice best;

    gputopo_choose(&question, &problem->rule, problem->memo, &best);
    if (!best.satisfied && !best.degraded)
        place_note_refusal(problem, &best, place_never(&best), placing->verdict);
}

void place_note_links(const struct problem *problem, size_t ask, device_mask set, struct plan *plan)
{
    const struct topology_question question = {.graph = problem->node->graph,
                                               .candidates = set,
                                               .count = problem->request->asks[ask].count};
    struct verdict verdict;

    if (problem->rule.mode != TOPOLOGY_OFF)
        place_by_topology(problem, &question, plan, &verdict);
}
