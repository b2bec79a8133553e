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

#include "topofit/leftover.h"
#include "topofit/pod_mix.h"

/* For devices of one class and size. */
struct waste_model {
    const struct device_class *class;
    uint64_t memory_mib;
    uint16_t cores;
    float hole_milli[WHOLE_DEVICE_MILLI + 1]; /* of a device with so much idle, wasted in the end */
    double cpu_per_device; /* CPU-milli that the mix takes with each device-milli; 0: none */
};

#define WASTE_MODELS_MAX 8 /* kinds of devices remembered at once */

/* What follows from a mix; filled as kinds of devices are met. Zero it, and set mix. */
struct waste_models {
    const struct pod_mix *mix; /* borrowed */
    unsigned count, next;
    struct waste_model items[WASTE_MODELS_MAX];
};

/* The expected waste of what is left on a node. */
double waste_milli(struct waste_models *models, const struct leftover *leftover);

#endif
