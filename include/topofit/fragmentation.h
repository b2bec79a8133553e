/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragmentation - how much of what is idle on a node is of no use to the pods that usually come.
 *
 * Pure: no I/O, no clock, no allocation.
 *
 * source  Weng et al., "Beware of Fragmentation", USENIX ATC 2023: its fragmentation measure, with
 *         the fractions, products and unattributed devices of this program.
 * docs/concepts/packing.md
 */
#ifndef TOPOFIT_FRAGMENTATION_H
#define TOPOFIT_FRAGMENTATION_H

#include "topofit/grant.h"
#include "topofit/host.h"
#include "topofit/node.h"
#include "topofit/pod_mix.h"

/* What is left on a node. */
struct leftover {
    const struct node *node;
    uint16_t idle_milli[DEVICE_MAX]; /* of each device, in thousandths; 0 where none is given out */
    uint32_t total_milli;
    uint32_t unattributed; /* devices, wherever they are */
    uint64_t cpu_milli;    /* UINT64_MAX when the node does not say what it has */
};

void leftover_of(const struct node *node, const struct node_use *use, struct host_amounts host_used,
                 struct leftover *out);

/*
 * The idle thousandths of devices that a task drawn from the mix could not use, on average:
 * all of them when it does not fit, else the remainders that are too small for it.
 */
double fragmentation_milli(const struct leftover *leftover, const struct pod_mix *mix);

#endif
