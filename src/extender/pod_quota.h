/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_quota - what its namespace's quota means for a pod that is decided on. For the use-cases.
 */
#ifndef TOPOFIT_POD_QUOTA_H
#define TOPOFIT_POD_QUOTA_H

#include "topofit/cluster.h"
#include "topofit/decide.h"

struct pod_quota {
    enum quota_answer answer;
    struct quota_room room;
    struct quota_shortage shortage; /* when no node will do */
};

/*
 * Ask for a pod as it is now, and let a policy know where it matters: the policy borrows out->room,
 * which stays where it is. A pod that no limit can touch is decided on as if there were none.
 */
void pod_quota_ask(struct cluster *cluster, const struct pod *pod, struct pod_quota *out,
                   struct decide_policy *policy);

/* Will no node do, whatever its devices? */
bool pod_quota_refuses(const struct pod_quota *quota);

/* The verdict on all nodes then. */
struct verdict pod_quota_verdict(const struct pod_quota *quota);

#endif
