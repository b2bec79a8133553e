/* SPDX-License-Identifier: Apache-2.0 */
/* spend - what a plan in the making takes of its namespace's quota, and what that allows. */
#include "spend.h"

#include <assert.h>
#include <string.h>

struct amounts {
    uint64_t of[QUOTA_KINDS];
};

/* What some asks take of a divided device, as far as it is known where their partitions go. */
static struct amounts sum_partitions(const struct problem *problem, const struct plan *plan,
                                     uint32_t asks, unsigned position)
{
    const struct device *device = &problem->node->devices[position];
    const struct partition_table *table = device->partitions;
    struct amounts sum = {{0}};

    for (; asks != 0; asks &= asks - 1) {
        const struct planned_partition *planned =
            plan_partition(plan, (size_t)__builtin_ctz(asks), position);

        if (planned == NULL)
            continue;
        sum.of[QUOTA_MEMORY] += table->profiles[planned->profile].memory_mib;
        sum.of[QUOTA_CORES] += partition_cores(table, planned->profile, device->cores);
    }
    return sum;
}

static struct amounts sum_device(const struct problem *problem, const struct plan *plan,
                                 size_t phase, unsigned position)
{
    uint32_t asks = draft_asks_on(problem, plan, position) & problem->phases[phase];
    struct own_use own;

    if (problem->node->devices[position].partitions != NULL)
        return sum_partitions(problem, plan, asks, position);
    own = draft_own_in_phase(problem, phase, asks, position);
    return (struct amounts){{[QUOTA_MEMORY] = own.memory_mib, [QUOTA_CORES] = own.cores}};
}

/* What the asks placed take in a phase, over all devices of a class. */
static struct amounts sum_phase(const struct problem *problem, const struct plan *plan,
                                size_t phase, const struct device_class *class)
{
    struct amounts sum = {{0}};

    for (unsigned i = 0; i < problem->node->device_count; i++) {
        struct amounts one;

        if (problem->node->devices[i].class != class)
            continue;
        one = sum_device(problem, plan, phase, i);
        for (unsigned kind = 0; kind < QUOTA_KINDS; kind++)
            sum.of[kind] += one.of[kind];
    }
    return sum;
}

static bool is_over(const struct quota_line *line, const struct amounts *sum,
                    struct quota_shortage *over)
{
    for (unsigned kind = 0; kind < QUOTA_KINDS; kind++) {
        if (sum->of[kind] <= quota_left(line, (enum quota_kind)kind))
            continue;
        *over = (struct quota_shortage){.class = line->class,
                                        .kind = (enum quota_kind)kind,
                                        .wanted = sum->of[kind],
                                        .used = line->used[kind],
                                        .limit = line->limits[kind]};
        return true;
    }
    return false;
}

bool spend_allows(const struct problem *problem, const struct plan *plan,
                  struct quota_shortage *over)
{
    const struct quota_room *room = problem->policy->quota;

    for (size_t l = 0; l < room->count; l++) {
        for (size_t p = 0; p < problem->phase_count; p++) {
            struct amounts sum = sum_phase(problem, plan, p, room->lines[l].class);

            if (is_over(&room->lines[l], &sum, over))
                return false;
        }
    }
    return true;
}

/* --- one ask --------------------------------------------------------------------------------- */

/* What the ask may take beside the asks placed, at any time that it runs. */
static struct amounts left_for(const struct problem *problem, const struct plan *plan, size_t ask,
                               const struct quota_line *line)
{
    struct amounts left;

    for (unsigned kind = 0; kind < QUOTA_KINDS; kind++)
        left.of[kind] = quota_left(line, (enum quota_kind)kind);
    for (size_t p = 0; p < problem->phase_count; p++) {
        struct amounts sum;

        if ((problem->phases[p] >> ask & 1) == 0)
            continue;
        sum = sum_phase(problem, plan, p, line->class);
        for (unsigned kind = 0; kind < QUOTA_KINDS; kind++) {
            uint64_t beside = quota_left(line, (enum quota_kind)kind);

            beside = beside == QUOTA_NO_LIMIT ? beside
                     : beside > sum.of[kind]  ? beside - sum.of[kind]
                                              : 0;
            left.of[kind] = beside < left.of[kind] ? beside : left.of[kind];
        }
    }
    return left;
}

static struct amounts cost_of(const struct problem *problem, size_t ask, unsigned position)
{
    const struct ask *wanted = &problem->request->asks[ask];
    const struct device *device = &problem->node->devices[position];

    if (device->partitions != NULL)
        return (struct amounts){{0}}; /* not known before it is known which partition */
    return (struct amounts){
        {[QUOTA_MEMORY] = ask_memory_mib(problem->request, wanted, device->memory_mib),
         [QUOTA_CORES] = ask_cores(problem->request, wanted, device->cores)}};
}

static bool is_cheaper(const struct amounts *x, const struct amounts *y)
{
    if (x->of[QUOTA_MEMORY] != y->of[QUOTA_MEMORY])
        return x->of[QUOTA_MEMORY] < y->of[QUOTA_MEMORY];
    return x->of[QUOTA_CORES] < y->of[QUOTA_CORES];
}

/* The candidates, the cheapest first, the first one on ties. return how many. */
static unsigned sort_by_cost(const struct problem *problem, size_t ask, device_mask candidates,
                             uint8_t order[DEVICE_MAX], struct amounts costs[DEVICE_MAX])
{
    unsigned count = 0;

    for (; candidates != 0; candidates &= candidates - 1) {
        unsigned position = mask_first(candidates), at = count++;
        struct amounts cost = cost_of(problem, ask, position);

        for (; at > 0 && is_cheaper(&cost, &costs[at - 1]); at--) {
            order[at] = order[at - 1];
            costs[at] = costs[at - 1];
        }
        order[at] = (uint8_t)position;
        costs[at] = cost;
    }
    return count;
}

/* Is it affordable to take `count` devices, the last of which stands at `end` - 1? */
static bool can_pay(const struct amounts *costs, unsigned end, unsigned count,
                    const struct amounts *left)
{
    struct amounts sum = {{0}};

    for (unsigned i = end - count; i < end; i++) {
        sum.of[QUOTA_MEMORY] += costs[i].of[QUOTA_MEMORY];
        sum.of[QUOTA_CORES] += costs[i].of[QUOTA_CORES];
    }
    return sum.of[QUOTA_MEMORY] <= left->of[QUOTA_MEMORY] &&
           sum.of[QUOTA_CORES] <= left->of[QUOTA_CORES];
}

bool spend_narrow(const struct problem *problem, const struct plan *plan, size_t ask,
                  device_mask candidates, device_mask *out)
{
    const struct ask *wanted = &problem->request->asks[ask];
    const struct quota_line *line = quota_room_line(problem->policy->quota, wanted->class);
    struct amounts costs[DEVICE_MAX], left;
    uint8_t order[DEVICE_MAX];
    bool found;
    unsigned end;

    *out = candidates;
    if (line == NULL)
        return true;
    left = left_for(problem, plan, ask, line);
    end = sort_by_cost(problem, ask, candidates, order, costs);
    while (end > wanted->count && !can_pay(costs, end, wanted->count, &left))
        end--;
    found = can_pay(costs, end, wanted->count, &left);
    for (*out = 0; end > 0; end--)
        *out |= mask_of(order[end - 1]);
    return found;
}

void spend_refuse(const struct quota_shortage *over, struct verdict *verdict)
{
    verdict->reason = over->wanted > over->limit ? REASON_QUOTA_TOO_SMALL : REASON_QUOTA;
    verdict->quota = *over;
}
