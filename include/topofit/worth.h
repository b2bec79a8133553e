/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worth - how good it is to put a pod on a node, by each criterion and as one number to compare.
 *
 * Pure: no I/O, no clock, no allocation. The policies are rows of a table: which criteria count,
 * and in which order.
 *
 * source  docs/concepts/scoring.md
 */
#ifndef TOPOFIT_WORTH_H
#define TOPOFIT_WORTH_H

#include "topofit/decide.h"
#include "topofit/rank_facts.h"
#include "topofit/waste.h"

enum criterion {
    CRITERION_TIER = 0,      /* the worst tier inside the pod's sets */
    CRITERION_QUALITY,       /* of its links, against the best this node could ever give */
    CRITERION_LINKED_EIGHTS, /* of idle devices joined by the interconnect, that go apart */
    CRITERION_LINKED_FOURS,  /* the same of 4, then of 2 */
    CRITERION_GROUPS,        /* of 8, 4 and 2, each then on one NUMA node as well */
    CRITERION_SETTLED,       /* how long the pod has run that has run longest there */
    CRITERION_WASTE,         /* of what is left: how much of it will never be of use */
    CRITERION_BROKEN,        /* is an idle device taken in part? */
    CRITERION_FULL,          /* how little is left of devices and CPU */
    CRITERION_EMPTY,         /* how little of the devices is in use */
};
#define CRITERION_COUNT 10

/* "tier", "links", ... for people. Static storage. */
const char *criterion_name(enum criterion criterion);

/* The criteria of a policy, in the order they count. Static storage. */
const enum criterion *worth_order(enum packing_policy policy, unsigned *count);

/* A value for each criterion; more is better. */
struct worth {
    uint32_t of[CRITERION_COUNT];
    uint32_t taken_milli; /* of devices, by the plan */
};

/* A plan on a node as it is now. */
struct worth_question {
    const struct node *node;
    const struct node_use *use;
    struct rank_facts rank;
    const struct request *request;
    struct host_amounts host; /* what the pod takes of the node besides */
    const struct plan *plan;
};

/* models: of the node's devices (waste_milli); NULL when the mix of pods is not known. */
void worth_of(const struct worth_question *question, const struct waste_model *const *models,
              struct worth *out);

/* Charge a worth for what it costs others, as so much waste. */
void worth_charge(struct worth *worth, double waste_milli);

/*
 * One number, never 0: it is greater when the first criterion in which two worths differ says so.
 * Only worths of the same pod and policy can be compared.
 */
uint64_t worth_merit(const struct worth *worth, enum packing_policy policy);

/* What a merit was made of: the criteria of the policy have their values, all others 0. */
void worth_of_merit(uint64_t merit, enum packing_policy policy, struct worth *out);

/*
 * A criterion as it was measured, for people; less is better, but for links: the tier; links in
 * percent; groups as gputopo_groups_lost() or gputopo_linked_fours() gives them; waste in
 * thousandths of a device; 1 when an idle device is broken; what is left in thousandths of a
 * device; what is in use in thousandths of all devices.
 */
double worth_value(const struct worth *worth, enum criterion criterion);

/*
 * The merit of a node for a pod without devices: it should stay away from hosts whose devices wait
 * for pods. 0 when the pod asks for nothing or the node does not say what its host has: then there
 * is nothing to tell nodes apart by.
 */
uint64_t worth_merit_without_devices(const struct node *node, const struct node_use *use,
                                     struct host_amounts host_used, struct host_amounts pod);

/*
 * How good in itself, 1..10, for prioritize in graded mode: by tier, then links; a pod that needs
 * no links, or where nobody looks at them, by how full, or spreading how empty, its node becomes.
 */
int worth_grade_1_10(const struct worth *worth, const struct request *request,
                     enum packing_policy policy, bool looks_at_links);
int worth_grade_without_devices_1_10(const struct node *node, const struct node_use *use);

#endif
