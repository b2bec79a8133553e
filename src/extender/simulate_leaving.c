/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_leaving - who leaves next: a heap by time, then by position in the workload. */
#include "simulate_inside.h"

#include "topofit/mem.h"

#include <stdlib.h>

void leaving_open(struct leaving *leaving, size_t jobs)
{
    *leaving = (struct leaving){.jobs = xcalloc(jobs, sizeof(*leaving->jobs))};
}

void leaving_clear(struct leaving *leaving)
{
    free(leaving->jobs);
    *leaving = (struct leaving){0};
}

static uint64_t leaves_ms(const struct sim_job *job)
{
    uint64_t duration_ms = job->job->duration_ms;

    return duration_ms > UINT64_MAX - job->placed_ms ? JOB_STAYS : job->placed_ms + duration_ms;
}

static bool leaves_before(const struct sim_job *a, const struct sim_job *b)
{
    uint64_t x = leaves_ms(a), y = leaves_ms(b);

    return x != y ? x < y : a->position < b->position;
}

static void swap(struct leaving *leaving, size_t a, size_t b)
{
    struct sim_job *job = leaving->jobs[a];

    leaving->jobs[a] = leaving->jobs[b];
    leaving->jobs[b] = job;
}

void leaving_push(struct leaving *leaving, struct sim_job *job)
{
    size_t at = leaving->count++;

    leaving->jobs[at] = job;
    for (; at > 0 && leaves_before(leaving->jobs[at], leaving->jobs[(at - 1) / 2]);
         at = (at - 1) / 2)
        swap(leaving, at, (at - 1) / 2);
}

uint64_t leaving_next_ms(const struct leaving *leaving)
{
    return leaving->count > 0 ? leaves_ms(leaving->jobs[0]) : JOB_STAYS;
}

struct sim_job *leaving_pop(struct leaving *leaving)
{
    struct sim_job *first = leaving->jobs[0];
    size_t at = 0;

    leaving->jobs[0] = leaving->jobs[--leaving->count];
    for (;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < leaving->count && leaves_before(leaving->jobs[child], leaving->jobs[least]))
                least = child;
        }
        if (least == at)
            return first;
        swap(leaving, at, least);
        at = least;
    }
}
