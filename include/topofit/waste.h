/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waste - how much of what is idle on a node will probably never be of use.
 *
 * Two things strand idle parts of devices: holes that no pod of the mix fits into, and hosts whose
 * CPU is gone before their devices are. Each is weighed by what usually comes, in thousandths of a
 * device. A model is what follows from a mix for one kind of device; it is dear to compute, so the
 * caller keeps models (waste_memo.h). Pure: no I/O, no clock, no allocation.
 *
 * source  docs/concepts/packing.md
 */
#ifndef TOPOFIT_WASTE_H
#define TOPOFIT_WASTE_H

#include <stdbool.h>
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

/* Compute the model of such devices: about half a millisecond. */
void waste_model_init(struct waste_model *model, const struct pod_mix *mix,
                      const struct device *device);

/* Is it that of such devices? They are of a kind when class, memory and cores are equal. */
bool waste_model_is_of(const struct waste_model *model, const struct device *device);

/*
 * The waste of what is left on a node. Only differences mean something: what is left may be worth
 * more than its size, where it is just what is wanted.
 *
 * models  [device_count] that of each of the node's devices.
 */
double waste_milli(const struct waste_model *const *models, const struct leftover *leftover);

#endif
