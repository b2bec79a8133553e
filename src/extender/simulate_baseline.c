/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_baseline - what people have without topofit: the first node that has room, and on it
 * the first devices, or those that NVIDIA's device plugin would choose.
 */
#include "simulate_inside.h"

#include "topofit/best_effort.h"
#include "topofit/map.h"
#include "topofit/mem.h"

#include <stdlib.h>

#define REMEMBERED 4096

/* A choice made before: full nodes come back to the same few patterns. */
struct choice {
    const struct peer_graph *graph; /* NULL: nothing yet */
    device_mask free, set;
    unsigned size;
};

struct baseline {
    const struct books *books;
    enum simulate_way way;
    struct choice choices[REMEMBERED];
};

static device_mask choose_best_effort(struct baseline *baseline, const struct peer_graph *graph,
                                      device_mask free_devices, unsigned size)
{
    const uint64_t key[] = {(uint64_t)(uintptr_t)graph, free_devices, size};
    struct choice *choice =
        &baseline->choices[hash_bytes(&(struct hash_key){{1, 2}}, key, sizeof key) % REMEMBERED];
    struct pair_points points;

    if (choice->graph == graph && choice->free == free_devices && choice->size == size)
        return choice->set;
    best_effort_points(graph, &points);
    *choice = (struct choice){.graph = graph,
                              .free = free_devices,
                              .size = size,
                              .set = best_effort_choose(&points, free_devices, size)};
    return choice->set;
}

static device_mask choose(struct baseline *baseline, size_t machine, device_mask candidates,
                          unsigned size)
{
    const struct node *node = baseline->books->machines[machine].given->node;

    if (baseline->way == SIMULATE_BEST_EFFORT)
        return choose_best_effort(baseline, node->graph, candidates, size);
    return mask_lowest(candidates, size);
}

static int place(void *ctx, const struct sim_job *job, const size_t *machines, size_t count,
                 struct placement *out, struct error *err)
{
    struct baseline *baseline = ctx;

    (void)err;
    *out = (struct placement){.machine = NOWHERE};
    for (size_t i = 0; i < count; i++) {
        device_mask candidates;

        if (job->job->gpus == 0) {
            out->machine = machines[i];
            return 0;
        }
        candidates = books_candidates(baseline->books, machines[i], job);
        if (candidates == 0)
            continue;
        out->machine = machines[i];
        out->set = choose(baseline, machines[i], candidates, job->job->gpus);
        return 0;
    }
    return 0;
}

/* The books are all it knows. */
static void leave(void *ctx, const struct sim_job *job)
{
    (void)ctx;
    (void)job;
}

struct placer baseline_placer(const struct books *books, enum simulate_way way)
{
    struct baseline *baseline = xcalloc(1, sizeof *baseline);

    baseline->books = books;
    baseline->way = way;
    return (struct placer){.ctx = baseline, .place = place, .leave = leave, .free = free};
}
