/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_inside - the parts of a simulation: jobs as pods, books of the machines, placers.
 *
 * For the files simulate*.c only.
 */
#ifndef TOPOFIT_SIMULATE_INSIDE_H
#define TOPOFIT_SIMULATE_INSIDE_H

#include "topofit/fragments.h"
#include "topofit/pod.h"
#include "topofit/simulate.h"

#define SIMULATE_NAMESPACE "simulation"
#define NOWHERE SIZE_MAX

/* --- jobs as pods (simulate_pod.c) ----------------------------------------------------------- */

/* Writes jobs as a user would write pods. */
struct pod_writer {
    const struct device_class *class;
    uint64_t device_memory_mib; /* of every device; 0: they are not alike */
};
struct pod_writer pod_writer_of(const struct simulation *simulation);

/* The pod of the job at a position, as JSON. */
void write_pod(const struct pod_writer *writer, const struct job *job, size_t position,
               struct buf *out);

/* The same, as the daemon reads it. errors: ERR_INVALID with the line of the job. */
int read_job_pod(const struct pod_writer *writer, const struct class_table *classes,
                 const struct job *job, size_t position, struct pod **out, struct error *err);

/* --- books (simulate_books.c) ---------------------------------------------------------------- */

struct sim_job {
    const struct job *job;
    size_t position; /* in the workload */
    struct pod *pod; /* one reference */
    size_t kind;     /* jobs of a kind ask for exactly the same */
    size_t machine;  /* NOWHERE while it waits and when it has left */
    device_mask set;
    uint64_t placed_ms;
    struct sim_job *next; /* on the same machine */
};

struct sim_machine {
    const struct simulate_machine *given;
    struct node_use use;
    uint64_t cpu_left, memory_left;
    struct sim_job *jobs;
    double used_milli, idle_milli, fragments_milli;
};

struct books {
    struct sim_machine *machines;
    size_t count;
    const struct typical_jobs *typical;
    double capacity_milli; /* of all usable devices */
    double used_milli, idle_milli, fragments_milli;
};

void books_open(const struct simulation *simulation, const struct typical_jobs *typical,
                struct books *out);
void books_clear(struct books *books);

/* Has the machine the CPU and the memory, and, for a job with GPUs, any GPUs at all? */
bool books_has_room(const struct books *books, size_t machine, const struct job *job);

/* The devices that could serve a job with GPUs; 0 when they are too few. */
device_mask books_candidates(const struct books *books, size_t machine, const struct sim_job *job);

/* Would the books allow it? */
bool books_allow(const struct books *books, const struct sim_job *job, size_t machine,
                 device_mask set);

/* Write a job in, out. */
void books_add(struct books *books, struct sim_job *job, size_t machine, device_mask set);
void books_remove(struct books *books, struct sim_job *job);

/* --- who leaves next (simulate_leaving.c) ---------------------------------------------------- */

struct leaving {
    struct sim_job **jobs; /* a heap */
    size_t count;
};

/* jobs: how many there can be. */
void leaving_open(struct leaving *leaving, size_t jobs);
void leaving_clear(struct leaving *leaving);
void leaving_push(struct leaving *leaving, struct sim_job *job);
/* When the next one leaves; JOB_STAYS when nobody does. */
uint64_t leaving_next_ms(const struct leaving *leaving);
/* The next one; there must be one. */
struct sim_job *leaving_pop(struct leaving *leaving);

/* --- placers --------------------------------------------------------------------------------- */

struct placement {
    size_t machine; /* NOWHERE: no machine can take it */
    device_mask set;
};

struct placer {
    void *ctx;
    /* Choose among machines that have room, in the order of their names. */
    int (*place)(void *ctx, const struct sim_job *job, const size_t *machines, size_t count,
                 struct placement *out, struct error *err);
    /* A job has left. */
    void (*leave)(void *ctx, const struct sim_job *job);
    void (*free)(void *ctx);
};

/* simulate_topofit.c. now: of the simulation. refused: counts bind calls that failed. */
struct placer topofit_placer(struct extender *extender, const struct simulation *simulation,
                             const uint64_t *now_ms, size_t *refused);

/* simulate_baseline.c */
struct placer baseline_placer(const struct books *books, enum simulate_way way);

/* --- quality (simulate_quality.c) ------------------------------------------------------------ */

struct quality_judge;
struct quality_judge *quality_judge_new(void);
void quality_judge_free(struct quality_judge *judge);

/* Note the set of a placed job; one GPU, and machines without links, do not count. */
void quality_judge_note(struct quality_judge *judge, struct peer_graph *graph, device_mask set);
void quality_judge_report(const struct quality_judge *judge, struct simulate_report *out);

/* The value below which a share of the sorted values lies (nearest rank); 0 for none. */
double percentile(const double *sorted, size_t count, double share);
void sort_numbers(double *numbers, size_t count);

#endif
