/* SPDX-License-Identifier: Apache-2.0 */
/* gputopo_field - the candidates of a question, their pairs, and what a set of them is worth. */
#include "gputopo_inside.h"

#include <assert.h>
#include <string.h>

/*
 * Closeness of a pair by its tier, for sums. source: TensorFusion's peer affinity, which users
 * know from its scores (docs/concepts/topology.md#score).
 */
static const uint8_t closeness[TIER_COUNT] = {10, 6, 2, 0};
/* The same where only NUMA nodes are known, so that one NUMA node is as close as it gets. */
static const uint8_t closeness_numa_only[TIER_COUNT] = {10, 10, 2, 0};
#define CLOSENESS_MAX 10

#define SCORE_BAND 25  /* points between tiers */
#define SCORE_INNER 24 /* points inside a band */
#define TIGHT_LOSS 5   /* percent lost for each device left over in a broken domain */
#define TIGHT_LOSS_MAX 50

uint64_t gputopo_worth(const struct peer_graph *graph, enum topology_source source, unsigned a,
                       unsigned b)
{
    uint64_t gbps, same_numa;

    if (a == b)
        return 0;
    gbps = source == SOURCE_NUMA ? 0 : peers_link(graph, a, b)->gbps;
    same_numa = source != SOURCE_VENDOR && graph->numa[a] >= 0 && graph->numa[a] == graph->numa[b];
    return gbps << 26 | (uint64_t)closeness[peers_tier(graph, source, a, b)] << 11 | same_numa;
}

/* Fill everything that follows from field->position. */
static void fill_ordered(struct gputopo_field *field, const struct topology_question *question,
                         enum topology_source source)
{
    const struct peer_graph *graph = question->graph;

    field->idle = field->required = 0;
    field->has_links = graph->has_links && source != SOURCE_NUMA;
    for (unsigned a = 0; a < field->n; a++) {
        unsigned position = field->position[a];

        field->idle |= (device_mask)mask_has(question->idle, position) << a;
        field->required |= (device_mask)mask_has(question->required, position) << a;
        field->preference[a] = question->preference ? question->preference[position] : 0;
        field->later_twins[a] = 0;
        for (unsigned b = 0; b <= a; b++) {
            unsigned other = field->position[b];

            field->tier[a][b] = field->tier[b][a] =
                (uint8_t)peers_tier(graph, source, position, other);
            field->worth[a][b] = field->worth[b][a] = gputopo_worth(graph, source, position, other);
        }
    }
    field->within = mask_below(field->n);
    for (unsigned a = 0; question->within != 0 && a < field->n; a++) {
        if (!mask_has(question->within, field->position[a]))
            field->within &= ~mask_of(a);
    }
}

void gputopo_field_fill(struct gputopo_field *field, const struct topology_question *question,
                        enum topology_source source)
{
    field->n = 0;
    for (device_mask left = question->candidates; left != 0; left &= left - 1)
        field->position[field->n++] = mask_first(left);
    fill_ordered(field, question, source);
}

/* Same links to everybody else: the worth of a pair tells its bandwidth, tier and NUMA node. */
static bool are_twins(const struct gputopo_field *field, unsigned a, unsigned b)
{
    if (mask_has(field->idle, a) != mask_has(field->idle, b))
        return false;
    for (unsigned x = 0; x < field->n; x++) {
        if (x != a && x != b && field->worth[a][x] != field->worth[b][x])
            return false;
    }
    return true;
}

/* Put `device` into a run of twins: higher preference first, then lower position. */
static void insert_twin(const struct gputopo_field *field, unsigned device, unsigned *order,
                        unsigned first, unsigned end)
{
    while (end > first && field->preference[order[end - 1]] < field->preference[device]) {
        order[end] = order[end - 1];
        end--;
    }
    order[end] = device;
}

void gputopo_field_sort_twins(struct gputopo_field *field, const struct topology_question *question,
                              enum topology_source source)
{
    device_mask left = mask_below(field->n), later_twins[DEVICE_MAX];
    unsigned order[DEVICE_MAX], position[DEVICE_MAX], count = 0;

    while (left != 0) {
        unsigned first = count, leader = mask_first(left);

        order[count++] = leader;
        left &= left - 1;
        for (device_mask others = left; others != 0; others &= others - 1) {
            unsigned other = mask_first(others);

            if (!are_twins(field, leader, other))
                continue;
            insert_twin(field, other, order, first, count++);
            left &= ~mask_of(other);
        }
        for (unsigned i = first; i < count; i++)
            later_twins[i] = mask_below(count) & ~mask_below(i + 1);
    }
    for (unsigned i = 0; i < count; i++)
        position[i] = field->position[order[i]];
    memcpy(field->position, position, count * sizeof(*position));
    fill_ordered(field, question, source);
    memcpy(field->later_twins, later_twins, count * sizeof(*later_twins));
}

uint64_t gputopo_field_worth(const struct gputopo_field *field, device_mask set)
{
    uint64_t worth = 0;

    while (set != 0) {
        const uint64_t *row = field->worth[mask_first(set)];

        set &= set - 1;
        for (device_mask others = set; others != 0; others &= others - 1)
            worth += row[mask_first(others)];
    }
    return worth;
}

enum tier gputopo_field_tier(const struct gputopo_field *field, device_mask set)
{
    uint8_t worst = TIER_INTERCONNECT;

    for (device_mask left = set; left != 0; left &= left - 1) {
        const uint8_t *row = field->tier[mask_first(left)];

        for (device_mask others = left & (left - 1); others != 0; others &= others - 1) {
            if (row[mask_first(others)] > worst)
                worst = row[mask_first(others)];
        }
    }
    return worst;
}

uint16_t gputopo_field_bottleneck_gbps(const struct gputopo_field *field, device_mask set)
{
    uint32_t slowest = UINT16_MAX;

    if (mask_count(set) < 2)
        return 0;
    for (device_mask left = set; left != 0; left &= left - 1) {
        const uint64_t *row = field->worth[mask_first(left)];

        for (device_mask others = left & (left - 1); others != 0; others &= others - 1) {
            uint32_t gbps = gputopo_gbps_of(row[mask_first(others)]);

            slowest = gbps < slowest ? gbps : slowest;
        }
    }
    return (uint16_t)slowest;
}

device_mask gputopo_field_positions(const struct gputopo_field *field, device_mask set)
{
    device_mask positions = 0;

    for (; set != 0; set &= set - 1)
        positions |= mask_of(field->position[mask_first(set)]);
    return positions;
}

/* --- score ------------------------------------------------------------------------------------ */

/* Everything that `device` reaches over pairs of a tier or better, itself included. */
static device_mask reach(const struct gputopo_field *field, unsigned device, enum tier tier)
{
    device_mask reached = mask_of(device), todo = reached;

    while (todo != 0) {
        unsigned at = mask_first(todo);

        todo &= todo - 1;
        for (unsigned other = 0; other < field->n; other++) {
            if (field->tier[at][other] <= tier && !mask_has(reached, other)) {
                reached |= mask_of(other);
                todo |= mask_of(other);
            }
        }
    }
    return reached;
}

/*
 * Percent for a set inside one domain (an interconnect, or a NUMA node where nothing else is
 * known) whose members are all equally close: 100 when it takes all of it, less when it breaks a
 * bigger one. -1 when there is no such domain.
 */
static int tightness(const struct gputopo_field *field, device_mask set, enum tier tier)
{
    device_mask domain;
    unsigned loss;

    if (tier != TIER_INTERCONNECT && (tier != TIER_NUMA || field->has_links))
        return -1;
    domain = reach(field, mask_first(set), tier);
    if (gputopo_field_tier(field, domain) > tier)
        return -1;
    loss = TIGHT_LOSS * (mask_count(domain) - mask_count(set));
    return 100 - (int)(loss < TIGHT_LOSS_MAX ? loss : TIGHT_LOSS_MAX);
}

/* Percent of the closeness that the pairs of a set could have, rounded. */
static int mean_closeness(const struct gputopo_field *field, device_mask set)
{
    const uint8_t *by_tier = field->has_links ? closeness : closeness_numa_only;
    unsigned sum = 0, most = 0;

    for (device_mask left = set; left != 0; left &= left - 1) {
        const uint8_t *row = field->tier[mask_first(left)];

        for (device_mask others = left & (left - 1); others != 0; others &= others - 1) {
            sum += by_tier[row[mask_first(others)]];
            most += CLOSENESS_MAX;
        }
    }
    return most == 0 ? 100 : (int)((sum * 100 + most / 2) / most);
}

uint8_t gputopo_field_score(const struct gputopo_field *field, device_mask set)
{
    enum tier tier = gputopo_field_tier(field, set);
    int inner = mask_count(set) == 1 ? 100 : tightness(field, set, tier);

    if (inner < 0)
        inner = mean_closeness(field, set);
    return (uint8_t)(SCORE_BAND * (TIER_UNKNOWN - tier) + (unsigned)inner * SCORE_INNER / 100);
}
