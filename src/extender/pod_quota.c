/* SPDX-License-Identifier: Apache-2.0 */
/* pod_quota - what its namespace's quota means for a pod that is decided on. */
#include "pod_quota.h"

void pod_quota_ask(struct cluster *cluster, const struct pod *pod, struct pod_quota *out,
                   struct decide_policy *policy)
{
    const char *namespace;

    out->answer = QUOTA_KEPT;
    out->room.count = 0;
    policy->quota = NULL;
    if (pod->request.ask_count == 0 || pod->request.problem != NULL)
        return;
    /* A manifest that people ask about may leave it to the API server. */
    namespace = pod->namespace[0] != '\0' ? pod->namespace : "default";
    out->answer =
        cluster_ask_quota(cluster, namespace, pod->uid, &pod->request, &out->room, &out->shortage);
    if (out->answer != QUOTA_KEPT)
        policy->quota = &out->room;
}

bool pod_quota_refuses(const struct pod_quota *quota)
{
    return quota->answer == QUOTA_EXCEEDED || quota->answer == QUOTA_TOO_BIG;
}

struct verdict pod_quota_verdict(const struct pod_quota *quota)
{
    return (struct verdict){.reason = quota->answer == QUOTA_TOO_BIG ? REASON_QUOTA_TOO_SMALL
                                                                     : REASON_QUOTA,
                            .quota = quota->shortage};
}
