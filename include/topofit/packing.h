/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing - how full devices and nodes are, and what is preferred.
 *
 * Pure: no I/O, no clock, no allocation.
 */
#ifndef TOPOFIT_PACKING_H
#define TOPOFIT_PACKING_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/grant.h"
#include "topofit/node.h"
#include "topofit/packing_policy.h"
#include "topofit/request.h"

/* Which devices of a node are taken first. */
enum device_order {
    DEVICES_AUTO = 0, /* as the policy goes: spread spreads, the others fill */
    DEVICES_BINPACK,  /* those in use */
    DEVICES_SPREAD,   /* those that are idle */
};

/*
 * How full a device is: the greater of its memory and its core share, in 0..1000. A device
 * without memory and cores counts as full.
 */
uint16_t packing_device_load_per_mille(const struct device *device, const struct device_use *use);

/*
 * How welcome each device is, 0..1000, higher is better: the fuller or, spreading, the emptier.
 *
 * weights  what tenants, cores and memory count in how full a device is; all 0: as
 *          packing_device_load_per_mille() has it.
 */
void packing_preferences(const struct node *node, const struct node_use *use, bool spreads,
                         const struct device_weights *weights, uint16_t out[DEVICE_MAX]);

/* Mean load of the devices in a mask, in 0..1000; 0 for an empty mask. */
uint16_t packing_node_load_per_mille(const struct node *node, const struct node_use *use,
                                     device_mask devices);

#endif
