/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload - what kinds of pods this cluster runs, and how often each.
 *
 * The measure of what a placement wastes: idle parts of devices that the typical pod cannot use are
 * worth nothing. Immutable once built, reference counted atomically; any thread may read it.
 *
 * source  docs/concepts/packing.md
 */
#ifndef TOPOFIT_WORKLOAD_H
#define TOPOFIT_WORKLOAD_H

#include <stddef.h>

#include "topofit/host.h"
#include "topofit/request.h"

/* One kind of pod with devices. */
struct workload_task {
    struct host_amounts host;
    struct ask ask; /* of how many devices, and what of each */
    bool is_whole;  /* takes them whole */
    struct word_list use_products, avoid_products;
    double share; /* of all tasks; they add up to 1 */
};

struct workload {
    unsigned references;
    size_t count;
    struct workload_task tasks[]; /* the most frequent first */
};

/*
 * What a pod is as a task: its greatest ask of those that run together.
 *
 * out     initialised here, with a share of 0; the caller clears it.
 * return  false when the pod asks for no device, or for something that cannot be read.
 */
bool workload_task_of(const struct request *request, struct host_amounts host,
                      struct workload_task *out);
void workload_task_clear(struct workload_task *task);

/* A workload of no tasks with room for `capacity`; one reference. */
struct workload *workload_new(size_t capacity);

/* Append a task; takes over its contents. */
void workload_add(struct workload *workload, struct workload_task *steal_task);

struct workload *workload_ref(struct workload *workload);
void workload_unref(struct workload *workload); /* NULL is fine */

#endif
