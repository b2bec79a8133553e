/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrivals - what a simulation is run on: jobs that arrive, and machines to put them on.
 *
 * Plain data, as people write it; which file and line it came from is kept for complaints.
 */
#ifndef TOPOFIT_ARRIVALS_H
#define TOPOFIT_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_STAYS UINT64_MAX         /* a duration: it never leaves */
#define MACHINE_UNLIMITED UINT64_MAX /* CPU or memory that nobody counts */
#define MACHINE_GPU_MEMORY_MIB 1000  /* of a GPU of which nothing is told: 1 MiB = 1/1000 */
#define ARRIVALS_CLASS "nvidia"      /* of what does not say */
#define MACHINES_MAX 20000           /* source: EXTENDER_NODES_MAX, nodes of one call */

/* How much of each of its GPUs a job wants. */
enum job_share { SHARE_WHOLE = 0, SHARE_MILLI, SHARE_MIB, SHARE_PERCENT };

struct job {
    char *name;
    unsigned line;
    uint64_t arrival_ms;
    uint64_t duration_ms; /* from when it is placed; JOB_STAYS */
    uint64_t cpu_milli, memory_mib;
    unsigned gpus; /* 0 = none */
    char *class;   /* of device, or "" = ARRIVALS_CLASS */
    enum job_share share;
    uint64_t amount; /* thousandths, MiB or percent of each GPU; unused for SHARE_WHOLE */
    char *products;  /* comma list of words, "" = any */
    char *topology;  /* "hard", "soft", "off", or "" = as configured */
    char *max_tier;  /* "0".."2", or "" = as configured */
    char *policy;    /* name of a packing_policy, or "" = as configured */
};

struct arrivals {
    struct job *jobs;
    size_t count, capacity;
};

/* Append a job with all strings "" that stays and arrives at 0. Valid until the next is added. */
struct job *arrivals_add(struct arrivals *arrivals);

/* Order by arrival; those that arrive together stay in the order of the file. */
void arrivals_sort(struct arrivals *arrivals);
void arrivals_clear(struct arrivals *arrivals);

/* One row of a list of machines: `count` of them, alike. */
struct machine {
    char *name;
    unsigned line;
    unsigned count;
    bool numbered; /* the row says how many: their names get numbers */
    uint64_t cpu_milli, memory_mib;
    unsigned gpus;
    bool has_gpus; /* the row says how many; else the matrix does */
    uint64_t gpu_memory_mib;
    char *class;    /* of device, or "" = ARRIVALS_CLASS */
    char *model;    /* "" = not told */
    char *topology; /* path of the matrix, "" = nothing is known of the links */
};

struct machine_list {
    struct machine *machines;
    size_t count, capacity;
    bool has_gpu_memory; /* the list tells the memory of GPUs */
};

struct machine *machine_list_add(struct machine_list *list);
void machine_list_clear(struct machine_list *list);

#endif
