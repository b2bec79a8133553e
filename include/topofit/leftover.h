/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leftover - what is left on a node for other pods.
 *
 * Pure: no I/O, no clock, no allocation.
 */
#ifndef TOPOFIT_LEFTOVER_H
#define TOPOFIT_LEFTOVER_H

#include "topofit/grant.h"
#include "topofit/host.h"
#include "topofit/node.h"

#define WHOLE_DEVICE_MILLI 1000

struct leftover {
    const struct node *node;
    uint16_t idle_milli[DEVICE_MAX]; /* of each device, in thousandths; 0 where none is given out */
    uint32_t total_milli;
    uint32_t closed_milli; /* idle on devices that take no further tenant: of use to nobody */
    uint64_t cpu_milli;    /* UINT64_MAX when the node does not say what it has */
};

void leftover_of(const struct node *node, const struct node_use *use, struct host_amounts host_used,
                 struct leftover *out);

#endif
