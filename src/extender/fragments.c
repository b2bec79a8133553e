/* SPDX-License-Identifier: Apache-2.0 */
/* fragments - how much of the idle GPUs typical jobs cannot use. */
#include "topofit/fragments.h"

#include "topofit/gpufit.h"
#include "topofit/map.h"
#include "topofit/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COVERED 0.95        /* of the jobs; the rest is too rare to be typical. source: as above */
#define CPU_LEAST_MILLI 100 /* what a job counts as that asks for no CPU. source: as above */
#define DEVICE_MILLI 1000.0

/* --- typical jobs ---------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a > b ? -1 : a < b;
}

/* The most frequent first; the larger first on ties, so that the cut does not depend on order. */
static int compare_typical(const void *a, const void *b)
{
    const struct typical_job *x = a, *y = b;
    int order = compare_numbers(x->count, y->count);

    if (order == 0)
        order = compare_numbers(x->job->cpu_milli, y->job->cpu_milli);
    if (order == 0)
        order = compare_numbers(x->job->share == SHARE_WHOLE, y->job->share == SHARE_WHOLE);
    if (order == 0)
        order = compare_numbers(x->job->amount, y->job->amount);
    if (order == 0)
        order = compare_numbers(x->job->gpus, y->job->gpus);
    if (order == 0)
        order = compare_numbers(x->job->share, y->job->share);
    return order != 0 ? order : -strcmp(x->job->products, y->job->products);
}

/* Cut behind the first kinds that make up enough of all. */
static void cut(struct typical_jobs *typical, size_t total)
{
    size_t covered = 0, kinds = 0;

    while (kinds < typical->count && (double)covered < COVERED * (double)total)
        covered += typical->items[kinds++].count;
    typical->count = kinds;
    for (size_t i = 0; i < kinds; i++)
        typical->items[i].share = (double)typical->items[i].count / (double)covered;
}

void typical_jobs_learn(const struct arrivals *arrivals, const struct request *const *requests,
                        struct typical_jobs *out)
{
    struct map *kinds = map_new(&(struct hash_key){{0, 0}});
    size_t capacity = 0;

    *out = (struct typical_jobs){0};
    for (size_t i = 0; i < arrivals->count; i++) {
        if (out->class == NULL && requests[i]->ask_count > 0)
            out->class = requests[i]->asks[0].class;
    }
    for (size_t i = 0; i < arrivals->count; i++) {
        const struct job *job = &arrivals->jobs[i];
        AUTO_FREE char *key =
            xasprintf("%" PRIu64 "/%u/%d/%" PRIu64 "/%s", job->cpu_milli, job->gpus,
                      (int)job->share, job->share == SHARE_WHOLE ? 0 : job->amount, job->products);
        size_t number = (size_t)(uintptr_t)map_get(kinds, key);

        if (number == 0) {
            out->items = mem_grow(out->items, out->count, &capacity, sizeof *out->items);
            out->items[out->count++] = (struct typical_job){.job = job, .request = requests[i]};
            number = out->count;                            /* plus 1: values are never NULL */
            map_put(kinds, key, (void *)(uintptr_t)number); /* NOLINT: a number, not an address */
        }
        out->items[number - 1].count++;
    }
    map_free(kinds, NULL);
    if (out->count > 0)
        qsort(out->items, out->count, sizeof *out->items, compare_typical);
    cut(out, arrivals->count);
}

void typical_jobs_clear(struct typical_jobs *typical)
{
    free(typical->items);
    *typical = (struct typical_jobs){0};
}

bool typical_jobs_concern(const struct typical_jobs *typical, const struct device *device)
{
    return typical->class == NULL || device->class == typical->class;
}

/* --- machines -------------------------------------------------------------------------------- */

static double idle_share(uint64_t used, uint64_t size)
{
    return used >= size ? 0 : (double)(size - used) / (double)size;
}

double fragments_idle_milli(const struct device *device, const struct device_use *use)
{
    double memory = idle_share(use->memory_mib, device->memory_mib);
    double cores = device->cores > 0 ? idle_share(use->cores, device->cores) : 1;

    if (!device->healthy || device->cordoned || use->conflicted || use->exclusive)
        return 0;
    return DEVICE_MILLI * (memory < cores ? memory : cores);
}

/* What of the idle shares is of no use to one kind of job. */
static double useless_to(const struct typical_job *typical, const struct node *node,
                         const struct node_use *use, uint64_t cpu_left, const double *idle)
{
    uint64_t cpu = typical->job->cpu_milli > 0 ? typical->job->cpu_milli : CPU_LEAST_MILLI;
    double all = 0, unfit = 0;
    unsigned fitting = 0;

    for (unsigned i = 0; i < node->device_count; i++)
        all += idle[i];
    if (typical->request->ask_count == 0 || cpu_left < cpu)
        return all;
    for (unsigned i = 0; i < node->device_count; i++) {
        const struct fit_question question = {.node = node,
                                              .use = use,
                                              .request = typical->request,
                                              .ask = &typical->request->asks[0]};

        if (gpufit_device(&question, i, NULL) == REASON_OK)
            fitting++;
        else
            unfit += idle[i];
    }
    return fitting >= typical->job->gpus ? unfit : all;
}

double fragments_of(const struct typical_jobs *typical, const struct node *node,
                    const struct node_use *use, uint64_t cpu_left)
{
    double idle[DEVICE_MAX];
    double sum = 0;

    for (unsigned i = 0; i < node->device_count; i++)
        idle[i] = typical_jobs_concern(typical, &node->devices[i])
                      ? fragments_idle_milli(&node->devices[i], &use->devices[i])
                      : 0;
    for (size_t k = 0; k < typical->count; k++)
        sum += typical->items[k].share * useless_to(&typical->items[k], node, use, cpu_left, idle);
    return sum;
}
