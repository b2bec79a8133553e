/* SPDX-License-Identifier: Apache-2.0 */
/* place - one ask on a node: its candidates, the rule of its class, and the best set. */
#include "place.h"

#include "place_inside.h"
#include "spend.h"

#include <string.h>

static device_mask choose(struct placing *placing)
{
    struct topology_question question;

    place_question(placing, &question);
    if (placing->rule != NULL)
        return place_by_rule(placing, &question);
    if (placing->problem->rule.mode == TOPOLOGY_OFF)
        return place_choose_preferred(&question);
    return place_by_topology(placing->problem, &question, placing->plan, placing->verdict);
}

/* The best set, if it keeps the quota; else the best of devices of which any set does. */
static device_mask choose_within_quota(struct placing *placing)
{
    const struct problem *problem = placing->problem;
    struct quota_shortage over;
    struct plan before, draft;
    device_mask set;

    plan_copy(placing->plan, &before);
    set = choose(placing);
    plan_copy(placing->plan, &draft);
    draft.sets[placing->ask] = set;
    if (set == 0 || spend_allows(problem, &draft, &over))
        return set;
    plan_copy(&before, placing->plan);
    if (spend_narrow(problem, &before, placing->ask, placing->fit.candidates, &set)) {
        placing->fit.candidates = set;
        return choose(placing);
    }
    draft.sets[placing->ask] = set;
    spend_allows(problem, &draft, &over);
    spend_refuse(&over, placing->verdict);
    return 0;
}

/* Is the number not one of the rule's? Fewer devices than that is the plainer thing to say. */
static bool is_wrong_count(const struct placing *placing)
{
    enum reason reason = placing->verdict->reason;

    return placing->rule != NULL && reason != REASON_NO_INVENTORY && reason != REASON_NO_CLASS &&
           reason != REASON_TOO_FEW_DEVICES &&
           !set_rule_allows_count(placing->rule, placing->wanted->count);
}

/* What the pod's other asks take of each device. Most pods have but one. */
static void list_own(struct placing *placing)
{
    const struct problem *problem = placing->problem;
    unsigned n = problem->node->device_count;

    memset(placing->own, 0, n * sizeof *placing->own);
    for (unsigned i = 0; problem->request->ask_count > 1 && i < n; i++)
        placing->own[i] = draft_own_beside(problem, placing->plan, &placing->ask, i);
}

device_mask place_ask(const struct problem *problem, size_t ask, struct plan *plan,
                      struct verdict *verdict)
{
    struct placing placing;
    device_mask set = 0;

    placing.problem = problem;
    placing.ask = ask;
    placing.wanted = &problem->request->asks[ask];
    placing.rule = problem->rules[ask];
    placing.plan = plan;
    placing.verdict = verdict;
    placing.question = draft_question(problem, plan, ask);
    memset(placing.preference, 0, problem->node->device_count * sizeof *placing.preference);
    list_own(&placing);
    placing.fit = gpufit_candidates(&placing.question, placing.own, verdict);
    if (is_wrong_count(&placing)) {
        verdict->reason = REASON_COUNTS;
        return 0;
    }
    if (verdict->reason == REASON_OK)
        set = problem->policy->quota == NULL ? choose(&placing) : choose_within_quota(&placing);
    if (!reason_is_curable(verdict->reason) || problem->policy->care != DECIDE_PLAN)
        return set;
    if (placing.rule != NULL)
        place_judge_by_rule(&placing);
    else if (problem->rule.mode == TOPOLOGY_HARD)
        place_judge_topology(&placing);
    return set;
}
