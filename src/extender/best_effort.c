/* SPDX-License-Identifier: Apache-2.0 */
/* best_effort - the devices that NVIDIA's device plugin would choose. */
#include "topofit/best_effort.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

/* --- points ---------------------------------------------------------------------------------- */

/* source: go-gpuallocator, gpuallocator/device.go and besteffort_policy.go, calculateGPUPairScore
 */
static const struct {
    const char *word;
    uint16_t points;
} classes[] = {{"PSB", 60},  {"PIX", 50}, {"PXB", 40}, {"PHB", 30},
               {"NODE", 20}, {"SYS", 10}, {"SOC", 10}};

#define POINTS_NVLINK 100
#define POINTS_SAME_NUMA 20
#define POINTS_CROSS 10
#define NVLINKS_MAX 18

static uint16_t numa_points(const struct peer_graph *graph, unsigned a, unsigned b)
{
    return graph->numa[a] != NUMA_UNKNOWN && graph->numa[a] == graph->numa[b] ? POINTS_SAME_NUMA
                                                                              : POINTS_CROSS;
}

/* "NV12" -> 12; 1 for the links of other vendors, 0 for what is no such link. */
static unsigned count_nvlinks(const struct link *link)
{
    unsigned long count;

    if (link->name[0] == '\0' || link->tier != TIER_INTERCONNECT)
        return 0;
    if (strncmp(link->name, "NV", 2) != 0)
        return 1;
    count = strtoul(link->name + 2, NULL, 10);
    return count < NVLINKS_MAX ? (unsigned)count : NVLINKS_MAX;
}

static uint16_t points_of(const struct peer_graph *graph, unsigned a, unsigned b)
{
    const struct link *link = peers_link(graph, a, b);
    unsigned nvlinks = count_nvlinks(link);

    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        if (strcmp(link->name, classes[i].word) == 0)
            return classes[i].points;
    }
    return (uint16_t)(nvlinks * POINTS_NVLINK + numa_points(graph, a, b));
}

void best_effort_points(const struct peer_graph *graph, struct pair_points *out)
{
    *out = (struct pair_points){0};
    for (unsigned a = 0; a < graph->n; a++) {
        for (unsigned b = 0; b < graph->n; b++) {
            if (a != b)
                out->of[a][b] = points_of(graph, a, b);
        }
    }
}

/* --- splits ---------------------------------------------------------------------------------- */

/* What is left to be split, and whether the one set that is too small was formed already. */
struct rest {
    device_mask devices; /* positions among the free ones */
    bool has_short;
};

/* One split being looked for. Positions are those among the free devices, so that masks are small.
 */
struct split {
    const struct pair_points *points;
    unsigned position[BEST_EFFORT_DEVICES_MAX]; /* of a free device on the node */
    unsigned size;
    unsigned short_size; /* of the set that is too small; 0 when the division has no rest */
    uint32_t *worth;     /* [2 << free devices] what a rest is worth plus 1; 0 = not known yet */
};

/* The best set that a rest begins with, and what the rest is worth. */
struct best {
    uint32_t worth;
    device_mask set;
    bool is_short, found;
};

static uint32_t worth_of_rest(const struct split *split, struct rest rest);

/* What a device adds to a set. */
static uint32_t points_with(const struct split *split, device_mask set, unsigned device)
{
    uint32_t points = 0;

    for (; set != 0; set &= set - 1)
        points += split->points->of[split->position[mask_first(set)]][split->position[device]];
    return points;
}

static void weigh(const struct split *split, struct rest rest, device_mask set, uint32_t points,
                  bool is_short, struct best *best)
{
    struct rest after = {rest.devices & ~set, rest.has_short || is_short};
    uint32_t worth = points + worth_of_rest(split, after);

    /* In the order of the library, the first of the best counts. */
    if (best->found && worth <= best->worth)
        return;
    *best = (struct best){worth, set, is_short, true};
}

/*
 * Every set that begins with `set`, in the order of the library: by positions, and the set that is
 * too small behind those that go on with a device (its empty places come last there).
 */
static void extend(const struct split *split, struct rest rest, device_mask set, uint32_t points,
                   struct best *best)
{
    unsigned last = 63 - (unsigned)__builtin_clzll(set);
    unsigned count = mask_count(set);

    if (count == split->size) {
        weigh(split, rest, set, points, false, best);
        return;
    }
    for (device_mask left = rest.devices & ~mask_below(last + 1); left != 0; left &= left - 1) {
        unsigned device = mask_first(left);

        extend(split, rest, set | mask_of(device), points + points_with(split, set, device), best);
    }
    if (!rest.has_short && count == split->short_size)
        weigh(split, rest, set, points, true, best);
}

static struct best best_start(const struct split *split, struct rest rest)
{
    struct best best = {0};

    extend(split, rest, rest.devices & -rest.devices, 0, &best);
    return best;
}

static uint32_t worth_of_rest(const struct split *split, struct rest rest)
{
    uint32_t *known = &split->worth[rest.devices * 2 + rest.has_short];

    if (rest.devices == 0)
        return 0;
    if (*known == 0)
        *known = best_start(split, rest).worth + 1;
    return *known - 1;
}

/* The set with the most points of the best split; the first on ties. */
static device_mask best_set(const struct split *split, struct rest rest)
{
    device_mask set = 0;
    uint32_t most = 0;

    while (rest.devices != 0) {
        struct best start = best_start(split, rest);
        struct rest after = {rest.devices & ~start.set, rest.has_short || start.is_short};
        uint32_t points = start.worth - worth_of_rest(split, after);

        if (!start.is_short && (set == 0 || points > most)) {
            set = start.set;
            most = points;
        }
        rest = after;
    }
    return set;
}

device_mask best_effort_choose(const struct pair_points *points, device_mask free, unsigned size)
{
    unsigned count = mask_count(free), i = 0;
    struct split split = {.points = points, .size = size};
    device_mask set, chosen = 0;

    if (size == 0 || count < size)
        return 0;
    if (size == 1 || count > BEST_EFFORT_DEVICES_MAX)
        return mask_lowest(free, size);
    for (device_mask left = free; left != 0; left &= left - 1)
        split.position[i++] = mask_first(left);
    split.short_size = count % size;
    split.worth = xcalloc((size_t)2 << count, sizeof *split.worth);
    set = best_set(&split, (struct rest){mask_below(count), split.short_size == 0});
    mem_free_pointer(&split.worth);
    for (; set != 0; set &= set - 1)
        chosen |= mask_of(split.position[mask_first(set)]);
    return chosen;
}
