/* SPDX-License-Identifier: Apache-2.0 */
/* api_call - a request to the API server and its answer. */
#include "topofit/api_call.h"

#include "topofit/kube_refusal.h"

bool api_answer_is_ok(const struct api_answer *answer)
{
    return answer->status / 100 == 2;
}

static enum api_fate fate_of(const struct api_answer *answer, bool is_servers_own)
{
    if (answer->status == 401 || answer->status == 429)
        return API_TURNED_AWAY;
    return answer->status / 100 == 4 && is_servers_own ? API_REFUSED : API_IN_DOUBT;
}

void api_answer_judge(const struct api_answer *answer, struct api_refusal *out)
{
    unsigned of_body_s;

    *out = (struct api_refusal){.retry_after_s = answer->retry_after_s};
    kube_refusal_read(answer->body, answer->body_length, &out->status);
    of_body_s = (unsigned)out->status.retry_after_seconds;
    if (of_body_s > out->retry_after_s)
        out->retry_after_s = of_body_s;
    out->is_servers_own = out->status.code == answer->status;
    out->fate = fate_of(answer, out->is_servers_own);
}
