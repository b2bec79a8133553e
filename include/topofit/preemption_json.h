/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preemption_json - the bodies of kube-scheduler's preempt call (extender/v1).
 *
 * No I/O. Keys are read as in extender_json. The question names victims in one of two forms: whole
 * pods (NodeNameToVictims) or uids (NodeNameToMetaVictims); the answer is always in the second.
 * source: kube-scheduler extender/v1/types.go and pkg/scheduler/extender.go
 */
#ifndef TOPOFIT_PREEMPTION_JSON_H
#define TOPOFIT_PREEMPTION_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/buf.h"
#include "topofit/error.h"
#include "topofit/extender_json.h"

#define EXTENDER_VICTIMS_MAX 200000 /* of one call, over all nodes */

/* A pod that kube-scheduler proposes to evict. */
struct proposed_victim {
    char *uid; /* "" when it was not given */
    /* Only when whole pods were sent, else NULL and 0. */
    char *node; /* the pod's spec.nodeName */
    int priority;
};

/* What is proposed for one node. No victims at all is a proposal too (Kubernetes 1.38). */
struct proposal {
    char *node;
    struct proposed_victim *victims;
    size_t victim_count, victim_capacity;
    uint32_t pdb_violations; /* NumPDBViolations */
};

/* ExtenderPreemptionArgs. kube-scheduler sends exactly one of the two forms. */
struct preemption_args {
    bool has_pod;
    struct kube_pod pod;
    bool has_victims;      /* NodeNameToVictims was there */
    bool has_meta_victims; /* NodeNameToMetaVictims was there */
    struct proposal
        *proposals; /* in the order of the body; a name that comes twice is there twice */
    size_t proposal_count, proposal_capacity;
};
void preemption_args_clear(struct preemption_args *args);

/*
 * out     zeroed or initialised; what it held is freed on success.
 * errors  as extender_json_read_args(); ERR_LIMIT also for more than EXTENDER_VICTIMS_MAX victims
 *         and for a longer uid than EXTENDER_NAME_MAX.
 */
int preemption_json_read_args(const char *bytes, size_t length, struct preemption_args *out,
                              struct error *err);

/* What is answered for one node. All borrowed. */
struct victim_list {
    const char *node;
    const char *const *uids; /* the highest priority first: kube-scheduler reads it off the first */
    size_t count;
    uint32_t pdb_violations;
};

/* ExtenderPreemptionResult; "{}" inside for no node. */
void preemption_json_write_result(struct buf *out, const struct victim_list *nodes, size_t count);

#endif
