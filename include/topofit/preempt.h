/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preempt - whom to evict from one node so that a pod fits there: amounts, links, isolation, host.
 *
 * Pure: no I/O, no clock, no allocation. A set of victims is judged by decide_node()'s own rules
 * on what is left in use without them, so that filter keeps the node once they are gone.
 *
 * source: docs/concepts/preemption.md
 */
#ifndef TOPOFIT_PREEMPT_H
#define TOPOFIT_PREEMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/holds.h"
#include "topofit/host.h"

#define PREEMPT_TENANTS_MAX 256 /* pods with devices on one node that may be chosen among */
#define PREEMPT_TRIALS_MAX 2000 /* sets tried for one node */

/* A pod with devices on the node. */
struct tenant {
    const struct placed_grant *grants;
    size_t grant_count;
    unsigned unattributed;    /* devices it holds that nobody can name */
    struct host_amounts host; /* CPU and memory that it takes */
    int priority;
    const struct charge *charges; /* of the quota of the pod's namespace; none if in another */
    size_t charge_count;
    bool is_alike;   /* it has the pod's traits: quotas with scopes count both or neither */
    bool may_go;     /* can be evicted for the pod */
    bool is_leaving; /* is being deleted: evicting it costs nothing */
};

struct preempt_question {
    const struct node *node;
    const struct request *request;      /* with asks and no problem */
    const struct decide_policy *policy; /* its quota: while all tenants are there */
    struct gputopo_memo *memo;
    struct host_amounts host_free;   /* while all tenants are there */
    struct host_amounts host_wanted; /* by the pod; what is 0 is not looked at */
    const struct held_devices *held; /* for nominated pods, against this one; NULL: nothing */
    /*
     * All who hold devices of the node, by priority, the lowest first. The order among equals is
     * the last tie-break: who stands earlier goes first.
     */
    const struct tenant *tenants;
    size_t tenant_count; /* at most PREEMPT_TENANTS_MAX */
};

/* Some of the tenants, by position. */
struct tenant_set {
    uint64_t words[PREEMPT_TENANTS_MAX / 64];
};

bool tenant_set_has(const struct tenant_set *set, size_t tenant);
void tenant_set_add(struct tenant_set *set, size_t tenant);

/*
 * Does the pod fit once the tenants of a set are gone? They need not be allowed to go. _devices:
 * as far as devices are concerned, _host: CPU and memory.
 */
bool preempt_fits_devices(const struct preempt_question *question, const struct tenant_set *gone);
bool preempt_fits_host(const struct preempt_question *question, const struct tenant_set *gone);

/*
 * Choose among the tenants that are in `among` and may go the best set whose going makes the pod
 * fit: the set
 *   1. whose highest priority is lowest,
 *   2. whose sum of priorities is lowest, each raised by 2^31 so that one more victim counts,
 *   3. of the fewest,
 *   4. of the first in the order of tenants.
 * Tenants that are leaving count in none of these. No tenant in the set can be spared.
 *
 * Exact as long as `trials` sets suffice (and without leaving tenants); when they do not, the best
 * found by then: never worse than sparing one tenant after the other, the most important ones
 * first.
 *
 * trials  sets that may be tried, about; those tried are taken off.
 * out     written when there is such a set; empty when the pod fits as it is.
 * return  false when evicting all of them does not help.
 */
bool preempt_choose(const struct preempt_question *question, const struct tenant_set *among,
                    unsigned *trials, struct tenant_set *out);

#endif
