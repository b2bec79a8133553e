/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide - a plan for one pod on one node, or the reason why not.
 *
 * Pure: no I/O, no clock, no allocation, no error. The only place that knows both gpufit (which
 * devices could serve) and gputopo (which go together best). With topology off gputopo is not
 * asked, and the answer is gpufit's alone.
 */
#ifndef TOPOFIT_DECIDE_H
#define TOPOFIT_DECIDE_H

#include "topofit/gputopo.h"
#include "topofit/packing.h"
#include "topofit/plan.h"

/* What the configuration says about deciding; const after start. */
struct decide_policy {
    struct topology_rule topology; /* mode TOPOLOGY_OFF switches gputopo off */
    enum packing_policy device_packing;
    enum packing_policy node_packing;
};

/* The defaults that docs/reference/configuration.md documents. */
struct decide_policy decide_policy_default(void);

/* The rule for one pod: what it demands, else the policy. Off in the policy stays off. */
struct topology_rule decide_topology_rule(const struct decide_policy *policy,
                                          const struct request *request);

/*
 * Plan one pod on one node.
 *
 * request  with asks and no problem.
 * use      of this node; use->device_count == node->device_count.
 * memo     of gputopo, or NULL.
 * plan     written only when the node is kept.
 * verdict  always written; reason REASON_OK when the node is kept.
 */
void decide_node(const struct node *node, const struct node_use *use, const struct request *request,
                 const struct decide_policy *policy, struct gputopo_memo *memo, struct plan *plan,
                 struct verdict *verdict);

#endif
