/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing - how full devices and nodes are, and whether full or empty is preferred.
 *
 * Pure: no I/O, no clock, no allocation.
 */
#ifndef TOPOFIT_PACKING_H
#define TOPOFIT_PACKING_H

#include <stdint.h>

#include "topofit/grant.h"
#include "topofit/node.h"

enum packing_policy {
    PACKING_BINPACK = 0, /* fill what is in use first */
    PACKING_SPREAD,      /* use what is idle first */
};

/*
 * How full a device is: the greater of its memory and its core share, in 0..1000. A device
 * without memory and cores counts as full.
 */
uint16_t packing_device_load_per_mille(const struct device *device, const struct device_use *use);

/* How welcome a load is under a policy, 0..1000, higher is better. */
uint16_t packing_preference(uint16_t load_per_mille, enum packing_policy policy);

/* Preference of each device under a policy, 0..1000, higher is better. out has device_count. */
void packing_preferences(const struct node *node, const struct node_use *use,
                         enum packing_policy policy, uint16_t *out);

/* Mean load of the devices in a mask, in 0..1000; 0 for an empty mask. */
uint16_t packing_node_load_per_mille(const struct node *node, const struct node_use *use,
                                     device_mask devices);

#endif
