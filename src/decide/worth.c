/* SPDX-License-Identifier: Apache-2.0 */
/* worth - how good it is to put a pod on a node, by each criterion and as one number to compare. */
#include "topofit/worth.h"

#include "topofit/fragmentation.h"

#include <assert.h>
#include <math.h>

/*
 * A device is worth as much as so many CPU-milli when what is left is weighed.
 * source: the best-fit scores of the packing benchmark, 8 devices against 128 CPUs
 */
#define CPU_MILLI_OF_DEVICE_MILLI 16

/* How much each criterion can tell apart; together they fit into one number. */
static const struct {
    const char *name;
    unsigned bits;
} criteria[CRITERION_COUNT] = {
    [CRITERION_TIER] = {"tier", 2},
    [CRITERION_QUALITY] = {"links", 7},
    [CRITERION_FRAGMENTATION] = {"fragmentation", 7},
    [CRITERION_BROKEN] = {"broken", 6},
    [CRITERION_GROUPS] = {"groups", TOPOLOGY_GROUPS_LOST_BITS},
    [CRITERION_FULL] = {"full", 17},
    [CRITERION_EMPTY] = {"empty", 10},
};

static const struct {
    unsigned count;
    enum criterion order[CRITERION_COUNT];
} policies[PACKING_POLICY_COUNT] = {
    [PACKING_PACK] = {6,
                      {CRITERION_TIER, CRITERION_QUALITY, CRITERION_FRAGMENTATION, CRITERION_BROKEN,
                       CRITERION_GROUPS, CRITERION_FULL}},
    [PACKING_SPREAD] = {3, {CRITERION_TIER, CRITERION_QUALITY, CRITERION_EMPTY}},
    [PACKING_TOPOLOGY_FIRST] = {6,
                                {CRITERION_TIER, CRITERION_QUALITY, CRITERION_GROUPS,
                                 CRITERION_FRAGMENTATION, CRITERION_BROKEN, CRITERION_FULL}},
};

const char *criterion_name(enum criterion criterion)
{
    return criteria[criterion].name;
}

static uint32_t most_of(enum criterion criterion)
{
    return (UINT32_C(1) << criteria[criterion].bits) - 1;
}

/* The less the better. */
static uint32_t less_of(enum criterion criterion, uint64_t value)
{
    uint32_t most = most_of(criterion);

    return value < most ? most - (uint32_t)value : 0;
}

/* --- criteria --------------------------------------------------------------------------------- */

static uint64_t weigh_leftover(const struct leftover *leftover)
{
    uint64_t cpu = leftover->cpu_milli == UINT64_MAX ? 0 : leftover->cpu_milli;

    return leftover->total_milli + cpu / CPU_MILLI_OF_DEVICE_MILLI;
}

/*
 * 50 when it makes no difference, towards 100 the more useless rest it uses up, towards 0 the more
 * it makes. Whole numbers on purpose: small differences are noise, and leave the word to the next
 * criterion (docs/concepts/packing.md#why-whole-numbers).
 */
static uint32_t fragmentation_score_0_100(double before_milli, double after_milli)
{
    return (uint32_t)(100 / (1 + exp((after_milli - before_milli) / 1000)));
}

static uint32_t judge_fragmentation(const struct worth_question *question,
                                    const struct leftover *after)
{
    struct leftover before;

    if (question->mix == NULL)
        return fragmentation_score_0_100(0, 0);
    leftover_of(question->node, question->use, question->host_used, &before);
    return fragmentation_score_0_100(fragmentation_milli(&before, question->mix),
                                     fragmentation_milli(after, question->mix));
}

void worth_of(const struct worth_question *question, struct worth *out)
{
    const struct plan *plan = question->plan;
    struct node_use use_after;
    struct leftover after;

    decide_use_after(question->node, question->use, question->request, plan, &use_after);
    leftover_of(question->node, &use_after, host_add(question->host_used, question->host), &after);
    *out = (struct worth){.of = {
                              [CRITERION_TIER] = less_of(CRITERION_TIER, plan->tier),
                              [CRITERION_QUALITY] = plan->quality_0_100,
                              [CRITERION_FRAGMENTATION] = judge_fragmentation(question, &after),
                              [CRITERION_BROKEN] = less_of(CRITERION_BROKEN, plan->broken),
                              [CRITERION_GROUPS] = less_of(CRITERION_GROUPS, plan->groups_lost),
                              [CRITERION_FULL] = less_of(CRITERION_FULL, weigh_leftover(&after)),
                              [CRITERION_EMPTY] = less_of(CRITERION_EMPTY, plan->load_per_mille),
                          }};
}

/* --- comparing -------------------------------------------------------------------------------- */

uint64_t worth_merit(const struct worth *worth, enum packing_policy policy)
{
    uint64_t merit = 1; /* above the others: a kept node's merit is never 0 */

    for (unsigned i = 0; i < policies[policy].count; i++) {
        enum criterion criterion = policies[policy].order[i];

        assert(worth->of[criterion] <= most_of(criterion));
        merit = merit << criteria[criterion].bits | worth->of[criterion];
    }
    return merit;
}

uint64_t worth_merit_without_devices(const struct node *node, const struct node_use *use,
                                     struct host_amounts host_used, struct host_amounts pod)
{
    struct leftover leftover;
    uint64_t merit = 1;

    if (node->host.cpu_milli == 0 || pod.cpu_milli == 0)
        return 0;
    leftover_of(node, use, host_add(host_used, pod), &leftover);
    merit = merit << criteria[CRITERION_FULL].bits | less_of(CRITERION_FULL, leftover.total_milli);
    return merit << criteria[CRITERION_FULL].bits |
           less_of(CRITERION_FULL, weigh_leftover(&leftover));
}

#define GRADE_MAX 10

/* Grades of tiers, and what the worst links cost inside one. */
static const struct {
    int best, span;
} grades[TIER_COUNT] = {{10, 3}, {6, 2}, {3, 1}, {1, 0}};

static int grade_of_load(unsigned load_per_mille)
{
    return 1 + (int)(load_per_mille * (GRADE_MAX - 1) / 1000);
}

int worth_grade_without_devices_1_10(const struct node *node, const struct node_use *use)
{
    if (node->device_count == 0)
        return GRADE_MAX;
    return grade_of_load(packing_node_load_per_mille(node, use, mask_below(node->device_count)));
}

int worth_grade_1_10(const struct worth *worth, const struct request *request,
                     enum packing_policy policy)
{
    uint32_t load_per_mille = most_of(CRITERION_EMPTY) - worth->of[CRITERION_EMPTY];
    uint32_t tier = most_of(CRITERION_TIER) - worth->of[CRITERION_TIER];
    bool is_set = false;

    for (size_t i = 0; i < request->ask_count; i++)
        is_set = is_set || request->asks[i].count > 1;
    if (is_set)
        return grades[tier].best -
               (int)((100 - worth->of[CRITERION_QUALITY]) * (unsigned)grades[tier].span / 100);
    if (policy == PACKING_SPREAD)
        load_per_mille = 1000 - load_per_mille;
    return grade_of_load(load_per_mille);
}
