/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waste - how much of what is idle on a node will probably never be of use.
 *
 * Two things strand idle parts of devices: holes that no pod of the mix fits into, and hosts whose
 * CPU is gone before their devices are. Each is weighed by what usually comes, in thousandths of a
 * device. A model is what follows from a mix for one kind of device; models are the caller's
 * memory. Pure: no I/O, no clock, no allocation.
 *
 * source  docs/concepts/packing.md
 */
#ifndef TOPOFIT_WASTE_H
#define TOPOFIT_WASTE_H

#include <stdint.h>

#include "topofit/leftover.h"
#include "topofit/pod_mix.h"

/* Sizes are rounded up to a hundredth of a device where they are weighed against each other. */
#define WASTE_CELLS 100

/* For devices of one class and size. */
struct waste_model {
    const struct device_class *class;
    uint64_t memory_mib;
    uint16_t cores;
    float worth_milli[WASTE_CELLS + 1]; /* of a hole of so many hundredths; a whole device: 1000 */
    double cpu_per_device; /* CPU-milli that the mix takes with each device-milli; 0: none */
};

#define WASTE_MODELS_MAX 8 /* kinds of devices remembered at once */

/* What follows from a mix; filled as kinds of devices are met. Zero it, and set mix. */
struct waste_models {
    const struct pod_mix *mix; /* borrowed */
    unsigned count, next;
    struct waste_model items[WASTE_MODELS_MAX];
};

/*
 * Remembers models from call to call: one costs about a millisecond. Fixed size; safe to share
 * between threads: whoever finds it in use goes without. NULL works everywhere.
 */
struct waste_memo;
struct waste_memo *waste_memo_new(void);
void waste_memo_free(struct waste_memo *memo);

/* The models of a mix as far as they are known; keep those that came to be known since. */
void waste_memo_load(struct waste_memo *memo, const struct pod_mix *mix, struct waste_models *out);
void waste_memo_store(struct waste_memo *memo, const struct waste_models *models);

/*
 * The waste of what is left on a node. Only differences mean something: what is left may be worth
 * more than its size, where it is just what is wanted.
 */
double waste_milli(struct waste_models *models, const struct leftover *leftover);

#endif
