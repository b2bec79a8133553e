/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragments - how much of the idle GPUs typical jobs cannot use.
 *
 * Pure but for memory. The typical jobs are the most frequent kinds of a arrivals, up to 95 % of
 * it. For one of them, all idle GPU of a machine is a fragment when the machine cannot take it;
 * else the idle shares of the devices that cannot. Over all kinds the mean counts, weighted by
 * their frequency.
 * source: Weng et al., "Beware of Fragmentation", USENIX ATC 2023, section 3
 */
#ifndef TOPOFIT_FRAGMENTS_H
#define TOPOFIT_FRAGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "topofit/grant.h"
#include "topofit/request.h"
#include "topofit/arrivals.h"

/* A job and what it asks for, as the dialects read it. */
struct typical_job {
    const struct job *job;         /* borrowed, as the request */
    const struct request *request; /* at most one ask */
    size_t count;                  /* how often it comes */
    double share;                  /* of all that count */
};

struct typical_jobs {
    struct typical_job *items; /* the most frequent first */
    size_t count;
    const struct device_class *class; /* of all jobs: other devices do not count; NULL: no GPUs */
};

/*
 * The typical jobs of a workload. Alike are jobs of the same CPU, GPUs, share and products.
 *
 * requests  [arrivals->count] of its jobs; borrowed as long as the result lives.
 * out       the caller clears it.
 */
void typical_jobs_learn(const struct arrivals *arrivals, const struct request *const *requests,
                        struct typical_jobs *out);
void typical_jobs_clear(struct typical_jobs *typical);

/* Does the device count: could the jobs, by its class, be on it? */
bool typical_jobs_concern(const struct typical_jobs *typical, const struct device *device);

/* Idle share of one device, in thousandths. Unusable devices have none. */
double fragments_idle_milli(const struct device *device, const struct device_use *use);

/*
 * Thousandths of a device that are idle on a machine and of no use to typical jobs.
 *
 * cpu_left  CPU that nobody has taken, in thousandths; MACHINE_UNLIMITED: enough.
 */
double fragments_of(const struct typical_jobs *typical, const struct node *node,
                    const struct node_use *use, uint64_t cpu_left);

#endif
