/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenants - who holds devices of a node, for preempt. For the extender only.
 */
#ifndef TOPOFIT_TENANTS_H
#define TOPOFIT_TENANTS_H

#include "topofit/cluster.h"
#include "topofit/preempt.h"

/* How much a pod matters; kube-scheduler's own order. source: scheduler util.MoreImportantPod */
struct standing {
    int priority;
    uint64_t started_s; /* as of struct pod */
};

/* Negative when x matters less than y: a lower priority, then a later start. */
int compare_standing(const struct standing *x, const struct standing *y);

struct tenants {
    struct tenant *items; /* in the order that preempt_question asks for; those three [count] */
    char **uids;          /* the last one may stand for several pods, and is "" then */
    struct standing *standings;
    size_t count;
    struct placed_grant *grants; /* of all of them, their ids borrowed from `views` */
    struct holding_view *views;
    size_t view_count;
};

/*
 * Everybody on a node but the pod itself. Pods of lower priority than its own may go; bookings
 * whose pod is not known to be bound may not.
 */
void tenants_gather(struct cluster *cluster, const struct node_state *state, const struct pod *pod,
                    struct tenants *out);
void tenants_clear(struct tenants *tenants);

/* The position of a pod that may go. return false when it is not among them. */
bool tenants_find(const struct tenants *tenants, const char *uid, size_t *position);

#endif
