/* SPDX-License-Identifier: Apache-2.0 */
/* quota_admission - may a pod be placed within its namespace's quota at all? */
#include "topofit/quota_admission.h"

#include <stdio.h>

#define SHORTAGE_MAX 400

enum quota_answer quota_admission(struct cluster *cluster, const char *namespace,
                                  const struct request *request, char *text, size_t size)
{
    struct quota_shortage shortage;
    char described[SHORTAGE_MAX];
    struct quota_room room;
    enum quota_answer answer;

    if (request->ask_count == 0 || request->problem != NULL)
        return QUOTA_KEPT;
    answer = cluster_ask_quota(cluster, namespace, NULL, request, &room, &shortage);
    if (answer == QUOTA_KEPT || answer == QUOTA_DEPENDS)
        return answer;
    quota_shortage_describe(&shortage, described, sizeof described);
    snprintf(text, size, "exceeding resource quota: %s; %s", described,
             answer == QUOTA_TOO_BIG
                 ? "ask for less (memory and cores count on each device) or raise the quota"
                 : "delete pods of the namespace, ask for less or raise the quota");
    return answer;
}
