/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate - a list of jobs that come and go, placed in made-up time: by topofit, and by others.
 *
 * No I/O and no clock: the same input gives the same report. topofit places jobs as the daemon
 * does: the bodies of kube-scheduler's filter, prioritize and bind calls go through the extender,
 * and what a job got is read from its pod's record. What kube-scheduler would do itself (counting
 * CPU and memory, trying again when something has left) is done here, the same for all ways of
 * placing, and every placement is checked against books of our own.
 * docs/reference/simulate.md says what is modelled and what is not.
 */
#ifndef TOPOFIT_SIMULATE_H
#define TOPOFIT_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/buf.h"
#include "topofit/error.h"
#include "topofit/extender.h"
#include "topofit/grant.h"
#include "topofit/arrivals.h"

/* Ways of placing. */
enum simulate_way {
    SIMULATE_TOPOFIT = 0,
    SIMULATE_FIRST_FIT,   /* the first node by name, its first devices that can serve */
    SIMULATE_BEST_EFFORT, /* the first node by name, devices as NVIDIA's device plugin chooses */
};
#define SIMULATE_WAYS 3

/* "topofit", "first-fit", "best-effort". Static storage. */
const char *simulate_way_name(enum simulate_way way);

/* A node, and what there is on it for the jobs. */
struct simulate_machine {
    struct node *node;              /* one reference */
    struct node_use use;            /* by pods that were there before, and stay */
    uint64_t cpu_milli, memory_mib; /* free at the start; MACHINE_UNLIMITED: not counted */
};

struct simulation {
    struct simulate_machine *machines; /* ordered by name */
    size_t machine_count;
    struct arrivals arrivals;
    const struct class_table *classes; /* borrowed */
};
void simulation_clear(struct simulation *simulation);

/* How far it is; may be NULL. */
struct simulate_progress {
    void *ctx;
    void (*on_progress)(void *ctx, enum simulate_way way, size_t arrived, size_t jobs);
};

/*
 * How well connected the sets of jobs of more than one GPU were: the slowest pair's bandwidth, as
 * a share of the best that a set of that size could have on the same node when it is empty.
 */
struct simulate_quality {
    size_t jobs; /* placed, on nodes whose links are known */
    size_t best; /* of them with a share of 1 */
    double mean, p10, p50, least;
};

/* Shares are 0..1, and negative where they cannot be told. */
struct simulate_report {
    enum simulate_way way;
    size_t jobs, placed, never;   /* never: still waiting when nothing happens any more */
    size_t first_never;           /* position in the workload */
    double alloc_mean;            /* of the GPUs over the time from the first arrival to the last */
    double alloc_peak, alloc_end; /* alloc_end: when the last job had arrived */
    double alloc_full;            /* nothing leaves: when as much had arrived as there is */
    double fragments_mean, fragments_end;                   /* of what was idle at that time */
    double wait_mean_s, wait_p50_s, wait_p95_s, wait_max_s; /* of placed jobs */
    struct simulate_quality quality;                        /* all sizes */
    struct simulate_quality by_size[DEVICE_MAX + 1];
    size_t illegal; /* placements that the books do not allow: a bug */
    size_t refused; /* bind calls that failed: a bug */
};

/*
 * Run the whole workload in one way.
 *
 * extender  for SIMULATE_TOPOFIT: of a cluster that holds the nodes, synced; else NULL. Its jobs
 *           are pods of the namespace "simulation".
 * errors    ERR_INVALID for a job that cannot be read as a pod, with its line.
 */
int simulate_run(const struct simulation *simulation, enum simulate_way way,
                 struct extender *extender, const struct simulate_progress *progress,
                 struct simulate_report *out, struct error *err);

/*
 * How many jobs no machine could take even if nothing else ran on any.
 *
 * first   receives the position of the first in the workload.
 * errors  as simulate_run.
 */
int simulate_count_hopeless(const struct simulation *simulation, size_t *count, size_t *first,
                            struct error *err);

/* --- showing, in the order given ------------------------------------------------------------- */

enum simulate_format { SIMULATE_TABLE = 0, SIMULATE_JSON, SIMULATE_CSV };

void simulate_write(const struct simulate_report *reports, size_t count,
                    enum simulate_format format, struct buf *out);

#endif
