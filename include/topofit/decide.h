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
#include "topofit/quota.h"
#include "topofit/rank.h"

/* Devices tried at most in one search for a combination of a pod's asks on one node. */
#define DECIDE_TRIALS_MAX 20000

/*
 * ... and for all nodes of one call together: else a pod of hard amounts, which anybody may make,
 * would hold up every other pod for as long as there are nodes. A tenth of a second or so.
 */
#define DECIDE_CALL_TRIALS_MAX 2000000

/* Steps of topology among more than 16 devices, for all nodes of one call: a second or less. */
#define DECIDE_CALL_STEPS_MAX 1000000

/* What is left of that to a call. One thread at a time. */
struct decide_effort {
    unsigned trials_left;
    uint64_t topology_steps; /* so far, whether choices were remembered or not */
    bool is_hurried;         /* they are more than that: some choice had a fraction of the steps */
    bool cut_short;          /* a search for the last node ended because there was none left */
};

/* How much of an answer is wanted. */
enum decide_care {
    DECIDE_PLAN = 0,
    DECIDE_VERDICT, /* only whether there is a plan: reason REASON_OK or another */
    DECIDE_HURRIED, /* the same, with a fraction of the steps of topology: a no is not certain */
};

/* What the configuration says about deciding. A reload makes a new one; each call has its own. */
struct decide_policy {
    struct topology_rule topology; /* mode TOPOLOGY_OFF switches gputopo off */
    enum packing_policy packing;   /* unless the pod states its own */
    enum device_order device_order;
    enum rank_scores scores; /* of prioritize */
    /* Of the call, for all its nodes; what is spent is taken from it. NULL: each node has its own.
     */
    struct decide_effort *effort;
    /* Of the pod's namespace, and what others use of it. NULL: nothing limits the pod. */
    const struct quota_room *quota;
    enum decide_care care;
};

/* The defaults that docs/reference/configuration.md documents. */
struct decide_policy decide_policy_default(void);

/* The rule for one pod: what it demands, else the policy. Off in the policy stays off. */
struct topology_rule decide_topology_rule(const struct decide_policy *policy,
                                          const struct request *request);

/* The policy for one pod: what it asks for, else the configured one. */
enum packing_policy decide_packing(const struct decide_policy *policy,
                                   const struct request *request);

/* Are idle devices of a node chosen first: as the pod states it, or else as the policy says? */
bool decide_spreads_devices(const struct decide_policy *policy, const struct request *request);

/*
 * Plan one pod on one node.
 *
 * One ask: exact. The node is kept when there is a set that amounts and topology allow (as far as
 * gputopo is exact).
 *
 * Several asks are placed one after the other, hard ones first. When one finds no place that way,
 * a search with backtracking follows, which is exact unless it has tried DECIDE_TRIALS_MAX devices
 * or all that the effort has left (the verdict then says that it was cut short), or
 * use->unattributed is not 0 (then only one order of the asks is tried); and each ask is chosen
 * anew beside the others, for links and packing. What is best over all asks together is not
 * searched for.
 *
 * A refusal is curable exactly when the pod would be kept on the node without other pods, within
 * the same limits. Where only the pod's own asks are in each other's way it is REASON_CONTAINERS.
 *
 * With a quota, one ask is placed wherever a set of its candidates keeps both the quota and,
 * unless the topology is demanded, whatever links it has; demanded links are looked for in the best
 * set of all and among the cheaper devices. Several asks are placed one after the other: another
 * combination that would cost less is not searched for. What is planned never exceeds the quota.
 *
 * request  with asks and no problem.
 * use      of this node; use->device_count == node->device_count.
 * policy   without effort left in it the asks are only placed in order.
 * memo     of gputopo, or NULL.
 * plan     written only when the node is kept, and wanted.
 * verdict  always written; reason REASON_OK when the node is kept.
 */
void decide_node(const struct node *node, const struct node_use *use, const struct request *request,
                 const struct decide_policy *policy, struct gputopo_memo *memo, struct plan *plan,
                 struct verdict *verdict);

/* What is in use once a plan is carried out. Modes and the like stay as they are: for counting. */
void decide_use_after(const struct node *node, const struct node_use *use,
                      const struct request *request, const struct plan *plan, struct node_use *out);

#endif
