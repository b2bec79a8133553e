/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpufit - which devices of a node could serve an ask, and why the others could not.
 *
 * Pure: no I/O, no clock, no allocation. Knows amounts, health and tenants, and nothing of how
 * devices are connected (that is gputopo's inside).
 */
#ifndef TOPOFIT_GPUFIT_H
#define TOPOFIT_GPUFIT_H

#include "topofit/grant.h"
#include "topofit/node.h"
#include "topofit/plan.h"
#include "topofit/request.h"
#include "topofit/set_rule.h"

/* What the pod itself would hold on a device, beside the ask in question (other containers). */
struct own_use {
    uint64_t memory_mib;
    uint32_t cores;
    uint16_t slots;
    bool exclusive; /* one of its containers has all cores */
    uint32_t asks;  /* of the request, that it has there at any time; a bit each */
};

/* One ask on one node. */
struct fit_question {
    const struct node *node;
    const struct node_use *use; /* of the other pods */
    const struct request *request;
    const struct ask *ask;       /* of the request */
    const struct set_rule *rule; /* of the ask's class on the node; NULL: none */
    unsigned own_handles; /* what the pod's other asks split, where the rule limits handles */
};

/*
 * The first obstacle for one more tenant on one device, or REASON_OK.
 *
 * position  of the device in the node.
 * own       what the pod's other containers take of that device, or NULL for nothing.
 */
enum reason gpufit_device(const struct fit_question *question, unsigned position,
                          const struct own_use *own);

/* The same, for a device where gpufit_device() found nothing incurable: only tenants matter. */
enum reason gpufit_room(const struct fit_question *question, unsigned position,
                        const struct own_use *own);

/* Slices that a device of so much memory is split into by slices of a size; 0 when it is whole. */
unsigned gpufit_split(uint64_t memory_mib, uint64_t slice_mib);

/* Handles that one more tenant on a device takes. */
unsigned gpufit_handles_added(const struct fit_question *question, unsigned position,
                              const struct own_use *own);

/* Handles that the rule has left for the ask. Only where it limits them. */
unsigned gpufit_handles_left(const struct fit_question *question);

/* Devices of a node by what stands in their way. */
struct fit {
    device_mask candidates; /* nothing: they could serve the ask */
    device_mask hopeful;    /* nothing, or only what evicting pods could cure */
};

/*
 * The devices that could serve an ask.
 *
 * own      [node->device_count] or NULL.
 * out      numbers for the record, whatever the answer; out->reason is REASON_OK when there are
 *          enough, else the obstacle that stands in the way of most devices, a curable one only
 *          if evicting pods could free enough devices. REASON_CONTAINERS when only what `own` says
 *          stands in the way.
 */
struct fit gpufit_candidates(const struct fit_question *question, const struct own_use *own,
                             struct verdict *out);

#endif
