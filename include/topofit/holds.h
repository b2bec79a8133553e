/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holds - devices kept free for pods that kube-scheduler has nominated to a node.
 *
 * A nominated pod has had others evicted, and waits until they are gone. What it is to get is held
 * against pods of equal or lower priority meanwhile: it is planned first, on what is in use
 * without those who leave for it, and others see its devices as taken. Nothing is booked: each
 * decision works the holds out anew, from the nominated pods that the node's state names.
 *
 * Pure: no I/O, no clock, no allocation.
 * source: docs/concepts/preemption.md#holds
 */
#ifndef TOPOFIT_HOLDS_H
#define TOPOFIT_HOLDS_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/decide.h"
#include "topofit/pod.h"

/* A pod nominated to a node, with neither a node nor a booking yet. */
struct nominee {
    struct pod *pod;     /* has asks that can be read */
    struct node_use use; /* of the node without pods of lower priority being deleted */
};

/* A node as a decision sees it. All borrowed. */
struct site {
    const struct node *node;
    const struct node_use *use;
    const struct nominee *nominees; /* in the order of nominees_compare() */
    size_t nominee_count;
};

/* Who comes first: the higher priority, then namespace, name and uid. As strcmp(). */
int nominees_compare(const struct pod *a, const struct pod *b);

/*
 * Does a nominee's hold stand against a pod: is its priority higher, or equal? Never against
 * itself; of two nominees of equal priority only the first in order holds against the other.
 */
bool holds_against(const struct nominee *nominee, const struct pod *pod, const char *node);

#define HELD_GRANTS_MAX 256 /* devices held on a node, over all nominees; more are not held */

/* What is held against one pod. */
struct held_devices {
    struct placed_grant grants[HELD_GRANTS_MAX];
    size_t count;
    int priority;          /* the highest of those who hold */
    struct node_use later; /* of the node: who leaves is gone, who is nominated is there */
};

/*
 * Plan the nominees that hold against a pod, the first one first. One that has no place even then
 * holds nothing.
 *
 * return  whether anything is held; `out` is written then.
 */
bool holds_plan(const struct site *site, const struct pod *pod, const struct decide_policy *policy,
                struct gputopo_memo *memo, struct held_devices *out);

/*
 * decide_node() for a pod beside those who hold against it: it must fit now, and later. Where only
 * the holds stand in the way the reason is REASON_NOMINATED.
 *
 * pod  with asks and no problem.
 */
void holds_decide(const struct site *site, const struct pod *pod,
                  const struct decide_policy *policy, struct gputopo_memo *memo, struct plan *plan,
                  struct verdict *verdict);

#endif
