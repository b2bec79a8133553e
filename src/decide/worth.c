/* SPDX-License-Identifier: Apache-2.0 */
/* worth - how good it is to put a pod on a node, by each criterion and as one number to compare. */
#include "topofit/worth.h"

#include "topofit/leftover.h"

#include <assert.h>

/*
 * A device is worth as much as so many CPU-milli when what is left is weighed.
 * source: the best-fit scores of the packing benchmark, 8 devices against 128 CPUs
 */
#define CPU_MILLI_OF_DEVICE_MILLI 16

#define WASTE_BITS 23
#define LEFTOVER_STEP 32 /* device-milli; finer differences of how full do not count */
#define DEVICE_MILLI_BITS 16
static_assert(DEVICE_MAX * WHOLE_DEVICE_MILLI < 1 << DEVICE_MILLI_BITS, "bits for all devices");

/* How much each criterion can tell apart; those of a policy fit into one number with a 1 before. */
static const struct {
    const char *name;
    unsigned bits;
} criteria[CRITERION_COUNT] = {
    [CRITERION_TIER] = {"tier", 2},
    [CRITERION_QUALITY] = {"links", 7},
    [CRITERION_LINKED_EIGHTS] = {"eights", TOPOLOGY_LINKED_EIGHTS_BITS},
    [CRITERION_LINKED_FOURS] = {"fours, pairs", TOPOLOGY_LINKED_FOURS_BITS},
    [CRITERION_GROUPS] = {"groups", TOPOLOGY_GROUPS_LOST_BITS},
    [CRITERION_SETTLED] = {"settled", 3},
    [CRITERION_WASTE] = {"waste", WASTE_BITS},
    [CRITERION_BROKEN] = {"broken", 1},
    [CRITERION_FULL] = {"full", 12},
    [CRITERION_EMPTY] = {"empty", 10},
};

static const struct {
    unsigned count;
    enum criterion order[CRITERION_COUNT];
} policies[PACKING_POLICY_COUNT] = {
    [PACKING_PACK] = {8,
                      {CRITERION_TIER, CRITERION_QUALITY, CRITERION_LINKED_EIGHTS,
                       CRITERION_SETTLED, CRITERION_LINKED_FOURS, CRITERION_WASTE, CRITERION_BROKEN,
                       CRITERION_FULL}},
    [PACKING_SPREAD] = {3, {CRITERION_TIER, CRITERION_QUALITY, CRITERION_EMPTY}},
    [PACKING_TOPOLOGY_FIRST] = {6,
                                {CRITERION_TIER, CRITERION_QUALITY, CRITERION_GROUPS,
                                 CRITERION_WASTE, CRITERION_BROKEN, CRITERION_FULL}},
};

const char *criterion_name(enum criterion criterion)
{
    return criteria[criterion].name;
}

const enum criterion *worth_order(enum packing_policy policy, unsigned *count)
{
    *count = policies[policy].count;
    return policies[policy].order;
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
 * Steps of the waste that a plan makes or uses up, around the middle of the range; in the last
 * places how little is left, so that equal waste goes where it is fuller.
 */
#define STEPS_PER_MILLI 25
#define NO_DIFFERENCE (1 << (WASTE_BITS - 1))

static uint32_t waste_steps(double steps)
{
    double value = NO_DIFFERENCE + steps;

    if (value < 0)
        return 0;
    return value < most_of(CRITERION_WASTE) ? (uint32_t)value : most_of(CRITERION_WASTE);
}

/* What is shut in on devices without a place for another tenant is lost whatever comes. */
static uint32_t judge_waste(const struct waste_model *const *models, const struct leftover *before,
                            const struct leftover *after)
{
    double less_waste = (double)before->closed_milli - after->closed_milli;

    if (models == NULL)
        return waste_steps(less_waste * STEPS_PER_MILLI);
    less_waste += waste_milli(models, before) - waste_milli(models, after);
    return waste_steps(less_waste * STEPS_PER_MILLI -
                       (double)weigh_leftover(after) / LEFTOVER_STEP);
}

/*
 * What has run long is likely to run long still, so its node does not come free as a whole soon:
 * what wants whole devices is better put there than on a node that does. Fractions find their
 * place by waste.
 */
static uint32_t judge_settled(const struct worth_question *question)
{
    const struct request *request = question->request;
    bool takes_whole = false;

    for (size_t i = 0; i < request->ask_count; i++)
        takes_whole = takes_whole || ask_is_whole(request, &request->asks[i]);
    return takes_whole ? question->rank.settled_0_7 : 0;
}

void worth_of(const struct worth_question *question, const struct waste_model *const *models,
              struct worth *out)
{
    const struct plan *plan = question->plan;
    struct leftover before, after;
    struct node_use use_after;

    decide_use_after(question->node, question->use, question->request, plan, &use_after);
    leftover_of(question->node, question->use, question->rank.host_used, &before);
    leftover_of(question->node, &use_after, host_add(question->rank.host_used, question->host),
                &after);
    *out = (struct worth){
        .of =
            {
                [CRITERION_TIER] = less_of(CRITERION_TIER, plan->tier),
                [CRITERION_QUALITY] = plan->quality_0_100,
                [CRITERION_WASTE] = judge_waste(models, &before, &after),
                [CRITERION_LINKED_EIGHTS] =
                    less_of(CRITERION_LINKED_EIGHTS, gputopo_linked_eights(plan->groups_lost)),
                [CRITERION_LINKED_FOURS] =
                    less_of(CRITERION_LINKED_FOURS, gputopo_linked_fours(plan->groups_lost)),
                [CRITERION_SETTLED] = judge_settled(question),
                [CRITERION_GROUPS] = less_of(CRITERION_GROUPS, plan->groups_lost),
                [CRITERION_BROKEN] = less_of(CRITERION_BROKEN, plan->broken),
                [CRITERION_FULL] = less_of(CRITERION_FULL, weigh_leftover(&after) / LEFTOVER_STEP),
                [CRITERION_EMPTY] = less_of(CRITERION_EMPTY, plan->load_per_mille),
            },
        .taken_milli = before.total_milli - after.total_milli,
    };
}

void worth_charge(struct worth *worth, double waste_milli)
{
    double steps = (double)worth->of[CRITERION_WASTE] - NO_DIFFERENCE;

    worth->of[CRITERION_WASTE] = waste_steps(steps - waste_milli * STEPS_PER_MILLI);
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

void worth_of_merit(uint64_t merit, enum packing_policy policy, struct worth *out)
{
    *out = (struct worth){0};
    for (unsigned i = policies[policy].count; i > 0; i--) {
        enum criterion criterion = policies[policy].order[i - 1];

        out->of[criterion] = (uint32_t)(merit & most_of(criterion));
        merit >>= criteria[criterion].bits;
    }
}

double worth_value(const struct worth *worth, enum criterion criterion)
{
    double less = (double)most_of(criterion) - worth->of[criterion];

    switch (criterion) {
    case CRITERION_TIER:
    case CRITERION_LINKED_EIGHTS:
    case CRITERION_LINKED_FOURS:
    case CRITERION_GROUPS:
    case CRITERION_BROKEN:
    case CRITERION_EMPTY:
        return less;
    case CRITERION_QUALITY:
    case CRITERION_SETTLED:
        return worth->of[criterion];
    case CRITERION_WASTE:
        return ((double)NO_DIFFERENCE - worth->of[criterion]) / STEPS_PER_MILLI;
    case CRITERION_FULL:
        return less * LEFTOVER_STEP;
    }
    return 0;
}

uint64_t worth_merit_without_devices(const struct node *node, const struct node_use *use,
                                     struct host_amounts host_used, struct host_amounts pod)
{
    const uint32_t most_devices_milli = DEVICE_MAX * WHOLE_DEVICE_MILLI;
    struct leftover leftover;
    uint64_t merit = 1;

    if (node->host.cpu_milli == 0 || pod.cpu_milli == 0)
        return 0;
    leftover_of(node, use, host_add(host_used, pod), &leftover);
    merit = merit << DEVICE_MILLI_BITS |
            (most_devices_milli - leftover.total_milli); /* the least of devices first */
    return merit << criteria[CRITERION_FULL].bits |
           less_of(CRITERION_FULL, weigh_leftover(&leftover) / LEFTOVER_STEP);
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
                     enum packing_policy policy, bool looks_at_links)
{
    uint32_t load_per_mille = most_of(CRITERION_EMPTY) - worth->of[CRITERION_EMPTY];
    uint32_t tier = most_of(CRITERION_TIER) - worth->of[CRITERION_TIER];
    bool is_set = false;

    for (size_t i = 0; i < request->ask_count; i++)
        is_set = is_set || request->asks[i].count > 1;
    if (is_set && looks_at_links)
        return grades[tier].best -
               (int)((100 - worth->of[CRITERION_QUALITY]) * (unsigned)grades[tier].span / 100);
    if (policy == PACKING_SPREAD)
        load_per_mille = 1000 - load_per_mille;
    return grade_of_load(load_per_mille);
}
