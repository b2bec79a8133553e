/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputopo_groups - how many good groups the free rest can still form.
 *
 * On most machines closeness is transitive (sockets, quads, one switch), and a part of m devices
 * holds m / size groups. Where it is not (rings, cubes, bridges), the groups are packed by search:
 * each device in turn either starts a group or stays out. Every call of that search is a step.
 */
#include "gputopo_inside.h"

static void init_near(struct gputopo_group_graph *graph, const struct gputopo_field *field,
                      enum tier tier)
{
    for (unsigned a = 0; a < field->n; a++) {
        graph->near[a] = 0;
        for (unsigned b = 0; b < field->n; b++) {
            if (a != b && field->tier[a][b] <= tier)
                graph->near[a] |= mask_of(b) & field->idle;
        }
    }
}

/* Parts whose members are all near each other; false when the pool does not fall into such. */
static bool find_parts(struct gputopo_group_graph *graph, device_mask pool)
{
    graph->part_count = 0;
    while (pool != 0) {
        unsigned first = mask_first(pool);
        device_mask part = graph->near[first] | mask_of(first);

        for (device_mask left = part; left != 0; left &= left - 1) {
            unsigned device = mask_first(left);

            if ((graph->near[device] | mask_of(device)) != part)
                return false;
        }
        graph->parts[graph->part_count++] = part;
        pool &= ~part;
    }
    return true;
}

/* Devices that are in some group of that size, and those of which it cannot be told. */
static device_mask members(const struct gputopo_group_graph *graph, device_mask pool, unsigned size,
                           struct gputopo_budget *budget)
{
    device_mask group, all = 0;

    for (device_mask left = pool; left != 0; left &= left - 1) {
        unsigned device = mask_first(left);
        struct gputopo_budget loan = gputopo_lend(budget);
        enum gputopo_answer answer;

        if (mask_has(all, device))
            continue;
        answer =
            gputopo_clique_find(graph->near, graph->near[device] & pool, size - 1, &loan, &group);
        gputopo_settle(budget, &loan);
        if (answer != GPUTOPO_NONE)
            all |= mask_of(device);
        if (answer == GPUTOPO_FOUND)
            all |= group;
    }
    return all;
}

void gputopo_groups_init(struct gputopo_groups *groups, const struct gputopo_field *field,
                         struct gputopo_budget *budget)
{
    for (unsigned tier = TIER_INTERCONNECT; tier <= TIER_NUMA; tier++) {
        struct gputopo_group_graph *graph = &groups->graphs[tier];

        init_near(graph, field, tier);
        graph->is_transitive = find_parts(graph, field->idle);
        if (graph->is_transitive)
            continue;
        graph->in_four = members(graph, field->idle, 4, budget);
        graph->in_eight = members(graph, graph->in_four, 8, budget);
    }
}

/* --- packing groups where closeness is not transitive ------------------------------------------
 */

struct packing {
    const device_mask *near;
    unsigned size;
    struct gputopo_budget *budget;
};

static unsigned pack(const struct packing *packing, device_mask free);

/* Most groups when the one under construction still needs `need` of `open`; 0 when it cannot. */
static unsigned complete(const struct packing *packing, device_mask free, device_mask open,
                         unsigned need)
{
    unsigned most = 0, limit = 1 + (mask_count(free) - need) / packing->size;

    if (need == 0)
        return 1 + pack(packing, free);
    while (mask_count(open) >= need && most < limit && gputopo_spend(packing->budget, 1)) {
        unsigned device = mask_first(open), count;

        open &= open - 1;
        count = complete(packing, free & ~mask_of(device), open & packing->near[device], need - 1);
        most = count > most ? count : most;
    }
    return most;
}

/*
 * Drop devices with too few neighbours for a group, and take out the one with the fewest of the
 * others: the fewest ways to try, and the most to be learned from leaving it out.
 *
 * return  DEVICE_MAX when nobody is left.
 */
static unsigned take_hardest(const struct packing *packing, device_mask *free)
{
    unsigned hardest = DEVICE_MAX, fewest = DEVICE_MAX;

    for (device_mask left = *free; left != 0; left &= left - 1) {
        unsigned device = mask_first(left);
        unsigned neighbours = mask_count(packing->near[device] & *free);

        if (neighbours + 1 < packing->size) {
            *free &= ~mask_of(device);
        } else if (neighbours < fewest) {
            fewest = neighbours;
            hardest = device;
        }
    }
    if (hardest < DEVICE_MAX)
        *free &= ~mask_of(hardest);
    return hardest;
}

static unsigned pack(const struct packing *packing, device_mask free)
{
    unsigned most = 0;

    while (mask_count(free) / packing->size > most && gputopo_spend(packing->budget, 1)) {
        unsigned device = take_hardest(packing, &free), count;

        if (device == DEVICE_MAX || (mask_count(free) + 1) / packing->size <= most)
            break;
        count = complete(packing, free, free & packing->near[device], packing->size - 1);
        most = count > most ? count : most;
    }
    return most;
}

/* --- counting -----------------------------------------------------------------------------------
 */

static unsigned count_parts(const struct gputopo_group_graph *graph, device_mask rest,
                            unsigned size)
{
    unsigned count = 0;

    for (unsigned i = 0; i < graph->part_count; i++)
        count += mask_count(graph->parts[i] & rest) / size;
    return count;
}

static unsigned pack_groups(const struct gputopo_group_graph *graph, device_mask rest,
                            unsigned size, struct gputopo_budget *budget)
{
    struct packing packing = {.near = graph->near, .size = size, .budget = budget};

    return pack(&packing, rest & (size == 8 ? graph->in_eight : graph->in_four));
}

unsigned gputopo_groups_count(const struct gputopo_groups *groups, unsigned kind, device_mask rest,
                              struct gputopo_budget *budget)
{
    static const struct {
        unsigned size;
        enum tier tier;
    } kinds[GPUTOPO_GROUP_KINDS] = {{8, TIER_INTERCONNECT}, {8, TIER_NUMA},
                                    {4, TIER_INTERCONNECT}, {4, TIER_NUMA},
                                    {2, TIER_INTERCONNECT}, {2, TIER_NUMA}};
    const struct gputopo_group_graph *graph = &groups->graphs[kinds[kind].tier];
    unsigned size = kinds[kind].size, count;
    struct gputopo_budget loan = gputopo_lend(budget);

    if (graph->is_transitive)
        return count_parts(graph, rest, size);
    if (size == 2)
        count = gputopo_matching_size(graph->near, rest, &loan);
    else
        count = pack_groups(graph, rest, size, &loan);
    gputopo_settle(budget, &loan);
    budget->ran_out |= loan.ran_out;
    return count;
}
