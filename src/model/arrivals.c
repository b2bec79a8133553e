/* SPDX-License-Identifier: Apache-2.0 */
/* arrivals - jobs that arrive, and machines to put them on. */
#include "topofit/arrivals.h"

#include "topofit/mem.h"

#include <stdlib.h>

struct job *arrivals_add(struct arrivals *arrivals)
{
    struct job *job;

    arrivals->jobs =
        mem_grow(arrivals->jobs, arrivals->count, &arrivals->capacity, sizeof *arrivals->jobs);
    job = &arrivals->jobs[arrivals->count++];
    *job = (struct job){.name = xstrdup(""),
                        .duration_ms = JOB_STAYS,
                        .class = xstrdup(""),
                        .products = xstrdup(""),
                        .topology = xstrdup(""),
                        .max_tier = xstrdup(""),
                        .policy = xstrdup("")};
    return job;
}

static int compare_arrivals(const void *a, const void *b)
{
    const struct job *x = a, *y = b;

    if (x->arrival_ms != y->arrival_ms)
        return x->arrival_ms < y->arrival_ms ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

void arrivals_sort(struct arrivals *arrivals)
{
    if (arrivals->count > 0)
        qsort(arrivals->jobs, arrivals->count, sizeof *arrivals->jobs, compare_arrivals);
}

void arrivals_clear(struct arrivals *arrivals)
{
    for (size_t i = 0; i < arrivals->count; i++) {
        free(arrivals->jobs[i].name);
        free(arrivals->jobs[i].class);
        free(arrivals->jobs[i].products);
        free(arrivals->jobs[i].topology);
        free(arrivals->jobs[i].max_tier);
        free(arrivals->jobs[i].policy);
    }
    free(arrivals->jobs);
    *arrivals = (struct arrivals){0};
}

struct machine *machine_list_add(struct machine_list *list)
{
    struct machine *machine;

    list->machines = mem_grow(list->machines, list->count, &list->capacity, sizeof *list->machines);
    machine = &list->machines[list->count++];
    *machine = (struct machine){.name = xstrdup(""),
                                .count = 1,
                                .cpu_milli = MACHINE_UNLIMITED,
                                .memory_mib = MACHINE_UNLIMITED,
                                .gpu_memory_mib = MACHINE_GPU_MEMORY_MIB,
                                .class = xstrdup(""),
                                .model = xstrdup(""),
                                .topology = xstrdup("")};
    return machine;
}

void machine_list_clear(struct machine_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->machines[i].name);
        free(list->machines[i].class);
        free(list->machines[i].model);
        free(list->machines[i].topology);
    }
    free(list->machines);
    *list = (struct machine_list){0};
}
