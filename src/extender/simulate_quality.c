/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_quality - how well connected the sets were that jobs got.
 *
 * The best set is looked for here, by bandwidth alone, and not asked of gputopo: a judge of its
 * own.
 */
#include "simulate_inside.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 1000000

/* The best that an empty node offers, per size; looked for once. */
struct known_graph {
    struct peer_graph *graph;      /* one reference */
    uint32_t best[DEVICE_MAX + 1]; /* GB/s of the slowest pair */
    bool is_known[DEVICE_MAX + 1];
};

struct quality_judge {
    struct known_graph **graphs;
    size_t graph_count, graph_capacity;
    struct shares {
        double *items;
        size_t count, capacity;
    } by_size[DEVICE_MAX + 1];
};

struct quality_judge *quality_judge_new(void)
{
    return xcalloc(1, sizeof(struct quality_judge));
}

void quality_judge_free(struct quality_judge *judge)
{
    if (judge == NULL)
        return;
    for (size_t i = 0; i < judge->graph_count; i++) {
        peers_unref(judge->graphs[i]->graph);
        free(judge->graphs[i]);
    }
    for (unsigned size = 0; size <= DEVICE_MAX; size++)
        free(judge->by_size[size].items);
    free(judge->graphs);
    free(judge);
}

/* --- the best set ---------------------------------------------------------------------------- */

/* Are there `need` devices in `open`, each joined to each? Gives up, with no, after so many steps.
 */
static bool has_group(const device_mask *near, device_mask open, unsigned need, unsigned *steps)
{
    if (need == 0)
        return true;
    while (mask_count(open) >= need) {
        unsigned device = mask_first(open);

        if (++*steps > STEPS_MAX)
            return false;
        open &= open - 1;
        if (has_group(near, open & near[device], need - 1, steps))
            return true;
    }
    return false;
}

static bool has_set_of(const struct peer_graph *graph, unsigned size, uint32_t gbps)
{
    device_mask near[DEVICE_MAX] = {0};
    unsigned steps = 0;

    for (unsigned a = 0; a < graph->n; a++) {
        for (unsigned b = 0; b < graph->n; b++) {
            if (a != b && peers_link(graph, a, b)->gbps >= gbps)
                near[a] |= mask_of(b);
        }
    }
    return has_group(near, mask_below(graph->n), size, &steps);
}

static uint32_t slowest_pair(const struct peer_graph *graph, device_mask set)
{
    uint32_t slowest = UINT32_MAX;

    for (device_mask left = set; left != 0; left &= left - 1) {
        for (device_mask others = left & (left - 1); others != 0; others &= others - 1) {
            uint32_t gbps = peers_link(graph, mask_first(left), mask_first(others))->gbps;

            slowest = gbps < slowest ? gbps : slowest;
        }
    }
    return slowest;
}

/* The fastest pair that is slower than `below`; 0 when there is none. */
static uint32_t next_slower(const struct peer_graph *graph, uint32_t below)
{
    uint32_t next = 0;

    for (unsigned a = 0; a < graph->n; a++) {
        for (unsigned b = 0; b < a; b++) {
            uint32_t gbps = peers_link(graph, a, b)->gbps;

            next = gbps < below && gbps > next ? gbps : next;
        }
    }
    return next;
}

static uint32_t look_for_best(const struct peer_graph *graph, unsigned size)
{
    uint32_t gbps = next_slower(graph, UINT32_MAX);

    while (gbps > 0 && !has_set_of(graph, size, gbps))
        gbps = next_slower(graph, gbps);
    return gbps;
}

static struct known_graph *find_graph(struct quality_judge *judge, struct peer_graph *graph)
{
    struct known_graph *known;

    for (size_t i = 0; i < judge->graph_count; i++) {
        if (judge->graphs[i]->graph == graph)
            return judge->graphs[i];
    }
    known = xcalloc(1, sizeof *known);
    known->graph = peers_ref(graph);
    judge->graphs =
        mem_grow(judge->graphs, judge->graph_count, &judge->graph_capacity, sizeof(*judge->graphs));
    judge->graphs[judge->graph_count++] = known;
    return known;
}

static uint32_t best_of(struct quality_judge *judge, struct peer_graph *graph, unsigned size)
{
    struct known_graph *known = find_graph(judge, graph);

    if (!known->is_known[size]) {
        known->best[size] = look_for_best(graph, size);
        known->is_known[size] = true;
    }
    return known->best[size];
}

/* --- notes ----------------------------------------------------------------------------------- */

void quality_judge_note(struct quality_judge *judge, struct peer_graph *graph, device_mask set)
{
    unsigned size = mask_count(set);
    struct shares *shares = &judge->by_size[size];
    uint32_t best, got;

    if (size < 2 || !graph->has_links || (best = best_of(judge, graph, size)) == 0)
        return;
    got = slowest_pair(graph, set);
    shares->items =
        mem_grow(shares->items, shares->count, &shares->capacity, sizeof *shares->items);
    shares->items[shares->count++] = got >= best ? 1 : (double)got / (double)best;
}

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

void sort_numbers(double *numbers, size_t count)
{
    if (count > 0)
        qsort(numbers, count, sizeof *numbers, compare_doubles);
}

double percentile(const double *sorted, size_t count, double share)
{
    size_t rank = (size_t)(share * (double)count);

    if (count == 0)
        return 0;
    if ((double)rank < share * (double)count)
        rank++;
    return sorted[rank > 0 ? rank - 1 : 0];
}

/* numbers: sorted here. */
static struct simulate_quality summary(double *numbers, size_t count)
{
    struct simulate_quality quality = {
        .jobs = count, .mean = -1, .p10 = -1, .p50 = -1, .least = -1};
    double sum = 0;

    if (count == 0)
        return quality;
    sort_numbers(numbers, count);
    for (size_t i = 0; i < count; i++) {
        sum += numbers[i];
        quality.best += numbers[i] >= 1;
    }
    quality.mean = sum / (double)count;
    quality.p10 = percentile(numbers, count, 0.1);
    quality.p50 = percentile(numbers, count, 0.5);
    quality.least = numbers[0];
    return quality;
}

void quality_judge_report(const struct quality_judge *judge, struct simulate_report *out)
{
    struct shares all = {0};

    for (unsigned size = 0; size <= DEVICE_MAX; size++) {
        const struct shares *shares = &judge->by_size[size];

        out->by_size[size] = summary(shares->items, shares->count);
        if (shares->count == 0)
            continue;
        all.items = xreallocarray(all.items, all.count + shares->count, sizeof *all.items);
        memcpy(all.items + all.count, shares->items, shares->count * sizeof *all.items);
        all.count += shares->count;
    }
    out->quality = summary(all.items, all.count);
    free(all.items);
}
