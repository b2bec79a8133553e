/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draft - a plan in the making: which asks run together, and what those placed so far take.
 *
 * Inside of decide; nobody else includes this. An ask is placed when its set in the plan is not
 * empty. Groups of asks are masks with one bit per ask.
 */
#ifndef TOPOFIT_DECIDE_DRAFT_H
#define TOPOFIT_DECIDE_DRAFT_H

#include "topofit/decide.h"
#include "topofit/gpufit.h"

/* Everything that stays the same while one pod is planned on one node. */
struct problem {
    const struct node *node;
    const struct node_use *use;
    const struct request *request;
    const struct decide_policy *policy;
    struct topology_rule rule;
    struct gputopo_memo *memo;
    struct decide_effort *effort;
    const struct set_rule *rules[REQUEST_ASKS_MAX]; /* of each ask's class; NULL: none */
    bool is_divided;                                /* one of the node's devices is */
    size_t order[REQUEST_ASKS_MAX]; /* in which the asks are placed: hard ones first */
    /* The asks that run in each phase which an ask belongs to; the other phases hold less. */
    uint32_t phases[REQUEST_ASKS_MAX];
    size_t phase_count;
};

/* Fill what follows from the node and the request: rules, order and phases. */
void draft_prepare(struct problem *problem);

/* plan: what is placed already, or NULL for nothing. */
struct fit_question draft_question(const struct problem *problem, const struct plan *plan,
                                   size_t ask);

/* The asks placed on a device. */
uint32_t draft_asks_on(const struct problem *problem, const struct plan *plan, unsigned position);

/* What `asks` take of a device in one of problem->phases. */
struct own_use draft_own_in_phase(const struct problem *problem, size_t phase, uint32_t asks,
                                  unsigned position);

/* What of a device is taken while the ask runs (NULL: at any time) by the pod's placed asks. */
struct own_use draft_own_beside(const struct problem *problem, const struct plan *plan,
                                const size_t *ask, unsigned position);

/* Devices of placed asks that never run at the same time as this one. */
device_mask draft_reusable(const struct problem *problem, const struct plan *plan, size_t ask);

#endif
