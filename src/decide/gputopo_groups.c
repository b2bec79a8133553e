/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputopo_groups - how many good groups the free rest can still form.
 *
 * On most machines closeness is transitive (sockets, quads, one switch), and a part of m devices
 * holds m / size groups. Where it is not (rings, cubes, bridges), the groups are packed by search:
 * each device in turn either starts a group or stays out.
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

/* Devices that are in some group of that size. */
static device_mask members(const struct gputopo_group_graph *graph, device_mask pool, unsigned size,
                           struct gputopo_budget *budget)
{
    device_mask group, all = 0;

    for (device_mask left = pool; left != 0; left &= left - 1) {
        unsigned device = mask_first(left);

        if (mask_has(all, device))
            continue;
        if (gputopo_clique_find(graph->near, graph->near[device] & pool, size - 1, budget, &group))
            all |= group | mask_of(device);
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
    while (mask_count(open) >= need && most < limit) {
        unsigned device = mask_first(open), count;

        open &= open - 1;
        count = complete(packing, free & ~mask_of(device), open & packing->near[device], need - 1);
        most = count > most ? count : most;
    }
    return most;
}

static unsigned pack(const struct packing *packing, device_mask free)
{
    unsigned most = 0;

    while (mask_count(free) / packing->size > most && gputopo_spend(packing->budget)) {
        unsigned device = mask_first(free), count;

        free &= free - 1;
        count = complete(packing, free, free & packing->near[device], packing->size - 1);
        most = count > most ? count : most;
    }
    return most;
}

static unsigned pack_size(const struct gputopo_group_graph *graph, device_mask free, unsigned size,
                          struct gputopo_budget *budget)
{
    struct packing packing = {.near = graph->near, .size = size, .budget = budget};

    return pack(&packing, free);
}

/* --- counting -----------------------------------------------------------------------------------
 */

/* Bits of the answer: one byte a count, the most telling on top. */
static uint64_t place(unsigned eights, unsigned fours, unsigned twos, unsigned tier)
{
    uint64_t count = (uint64_t)eights << 32 | (uint64_t)fours << 16 | twos;

    return tier == TIER_INTERCONNECT ? count << 8 : count;
}

static uint64_t count_parts(const struct gputopo_group_graph *graph, device_mask rest,
                            unsigned tier)
{
    unsigned eights = 0, fours = 0, twos = 0;

    for (unsigned i = 0; i < graph->part_count; i++) {
        unsigned devices = mask_count(graph->parts[i] & rest);

        eights += devices / 8;
        fours += devices / 4;
        twos += devices / 2;
    }
    return place(eights, fours, twos, tier);
}

uint64_t gputopo_groups_count(const struct gputopo_groups *groups, device_mask rest,
                              struct gputopo_budget *budget)
{
    uint64_t count = 0;

    for (unsigned tier = TIER_INTERCONNECT; tier <= TIER_NUMA; tier++) {
        const struct gputopo_group_graph *graph = &groups->graphs[tier];

        if (graph->is_transitive)
            count += count_parts(graph, rest, tier);
        else
            count += place(pack_size(graph, rest & graph->in_eight, 8, budget),
                           pack_size(graph, rest & graph->in_four, 4, budget),
                           gputopo_matching_size(graph->near, rest), tier);
    }
    return count;
}
