/* SPDX-License-Identifier: Apache-2.0 */
/* api_call - a request to the API server and its answer. */
#include "topofit/api_call.h"

#include "topofit/kube_refusal.h"

void api_answer_read_status(const struct api_answer *answer, struct kube_status *out)
{
    kube_refusal_read(answer->body, answer->body_length, out);
}

bool api_answer_is_ok(const struct api_answer *answer)
{
    return answer->status / 100 == 2;
}
