/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan - the answer of decide for one pod on one node: a set per ask, or a verdict why not.
 *
 * A plan holds positions, not names: it is only meaningful together with the node and the request
 * it was made for. plan_allocation() turns it into the record that is written to the pod.
 */
#ifndef TOPOFIT_PLAN_H
#define TOPOFIT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/grant.h"
#include "topofit/node.h"
#include "topofit/quota.h"
#include "topofit/reason.h"
#include "topofit/request.h"

/* A partition for an ask on a divided device. */
struct planned_partition {
    uint8_t ask, position, profile, start;
    uint32_t slices; /* as in struct partition_use */
};

#define PLAN_PARTITIONS_MAX 32 /* of one pod on one node; more are refused */

struct plan {
    device_mask sets[REQUEST_ASKS_MAX]; /* per ask of the request */
    enum tier tier;          /* worst tier inside a set; TIER_UNKNOWN with topology off */
    bool degraded;           /* the search hit a limit: perhaps not the best set */
    uint8_t quality_0_100;   /* link quality relative to the best this node could ever give */
    uint8_t broken;          /* idle devices of which it takes a fraction */
    uint16_t load_per_mille; /* of the node's devices of the classes asked for, after placing */
    uint32_t groups_lost;    /* gputopo_groups_lost() by its whole devices; 0 with topology off */
    unsigned partition_count;
    struct planned_partition partitions[PLAN_PARTITIONS_MAX]; /* [partition_count] */
};

/* All that a plan's partitions take of a device. */
struct partition_use plan_partitions_on(const struct plan *plan, const struct node *node,
                                        unsigned position);

/* Copy what is there of a plan. */
void plan_copy(const struct plan *from, struct plan *out);

/* The partition that a plan has for an ask on a device, or NULL. */
const struct planned_partition *plan_partition(const struct plan *plan, size_t ask,
                                               unsigned position);

/*
 * Why a node is refused, with the numbers that the constant reason text leaves out.
 * `devices[r]` counts the devices of the class asked for that have r as their first obstacle;
 * devices of other classes are in none of the counts.
 */
struct verdict {
    enum reason reason;               /* REASON_OK when the node is kept */
    const struct device_class *class; /* of the ask that failed; NULL: of none in particular */
    unsigned wanted;                  /* devices of the ask that failed */
    unsigned usable;                  /* devices that could have served it */
    bool wanted_whole;                /* whole devices, not fractions */
    unsigned unattributed;     /* devices of the node taken without a record that tells which */
    uint64_t wanted_mib;       /* memory wanted on each, 0 = the whole device */
    uint64_t largest_free_mib; /* most free on one of the devices refused for their memory */
    bool cut_short; /* the containers may fit together in a way that was not looked for */
    struct quota_shortage quota; /* for the quota reasons */
    enum tier best_tier;         /* for the topology reasons: the best set's tier */
    enum tier allowed_tier;      /* ... and the worst that was allowed */
    uint8_t devices[REASON_COUNT];
};

/* The record of a plan. out is initialised here; the caller clears it. */
void plan_allocation(const struct plan *plan, const struct node *node,
                     const struct request *request, struct allocation *out);

/*
 * One line for people: "2 GPUs wanted, 1 usable: 1 InsufficientMemory, 2 Unhealthy; largest free
 * 4000 MiB". Written to text[size], cut to fit.
 */
void verdict_describe(const struct verdict *verdict, const struct node *node, char *text,
                      size_t size);

#endif
