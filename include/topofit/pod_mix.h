/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_mix - what kinds of pods this cluster runs, and how often each.
 *
 * The measure of what a placement wastes: idle parts of devices that the typical pod cannot use are
 * worth nothing. Immutable once built, reference counted atomically; any thread may read it.
 *
 * source  docs/concepts/packing.md
 */
#ifndef TOPOFIT_POD_MIX_H
#define TOPOFIT_POD_MIX_H

#include <stddef.h>
#include <stdint.h>

#include "topofit/host.h"
#include "topofit/request.h"

/* One kind of pod with devices. */
struct mix_task {
    struct host_amounts host;
    struct ask ask; /* of how many devices, and what of each */
    bool is_whole;  /* takes them whole */
    struct word_list use_products, avoid_products;
    double share; /* of all tasks; they add up to 1 */
};

struct pod_mix {
    unsigned references;
    size_t count;
    struct mix_task tasks[]; /* the most frequent first */
};

/*
 * What a pod is as a task: its greatest ask of those that run together.
 *
 * out     initialised here, with a share of 0; the caller clears it.
 * return  false when the pod asks for no device, or for something that cannot be read.
 */
bool mix_task_of(const struct request *request, struct host_amounts host, struct mix_task *out);
void mix_task_clear(struct mix_task *task);

/* A mix of no tasks with room for `capacity`; one reference. */
struct pod_mix *pod_mix_new(size_t capacity);

/* Append a task; takes over its contents. */
void pod_mix_add(struct pod_mix *mix, struct mix_task *steal_task);

/* How much memory it takes. */
size_t pod_mix_bytes(const struct pod_mix *mix);

struct pod_mix *pod_mix_ref(struct pod_mix *mix);
void pod_mix_unref(struct pod_mix *mix); /* NULL is fine */

#endif
