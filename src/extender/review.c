/* SPDX-License-Identifier: Apache-2.0 */
/* review - the webhook's question: from request bytes to answer bytes. */
#include "topofit/admission_json.h"
#include "topofit/extender.h"
#include "topofit/json_patch.h"
#include "topofit/mem.h"
#include "topofit/quota_admission.h"

static void report(const struct extender *extender, const struct admission_review *review,
                   const struct admit_verdict *verdict)
{
    const struct admission_report report = {.verdict = verdict,
                                            .namespace = review->namespace,
                                            .name = review->name,
                                            .dry_run = review->dry_run};

    if (extender->observer.on_admitted != NULL)
        extender->observer.on_admitted(extender->observer.ctx, &report);
}

static void answer(const struct admission_review *review, const struct admit_verdict *verdict,
                   struct buf *out)
{
    json_auto_t *patch =
        verdict->pod != NULL ? json_patch_between(review->pod, verdict->pod) : NULL;
    const struct admission_answer answer = {.allowed = verdict->end != ADMIT_REFUSED,
                                            .code = verdict->code,
                                            .reason = verdict->reason,
                                            .message = verdict->message,
                                            .patch = patch,
                                            .warnings = verdict->warnings};

    admission_json_write(review, &answer, out);
}

/* The namespace of a review; the pod need not state it. */
struct counted {
    struct cluster *cluster;
    const char *namespace;
};

static bool is_beyond_quota(void *ctx, const struct request *request, char *text, size_t size)
{
    const struct counted *counted = ctx;
    enum quota_answer answer =
        quota_admission(counted->cluster, counted->namespace, request, text, size);

    return answer == QUOTA_EXCEEDED || answer == QUOTA_TOO_BIG;
}

static int judge(const struct extender *extender, const struct admission_review *review,
                 struct admit_verdict *out, struct error *err)
{
    struct counted counted = {extender->cluster, review->namespace};
    const struct admit_quota quota = {&counted, is_beyond_quota};

    return admit(review->pod, extender->classes, &extender->options.admit,
                 extender->cluster != NULL ? &quota : NULL, out, err);
}

int extender_admit(struct extender *extender, const char *bytes, size_t length, struct moment now,
                   struct buf *out, struct error *err)
{
    AUTO(admission_review_clear) struct admission_review review = {0};
    AUTO(admit_verdict_clear) struct admit_verdict verdict = {0};

    (void)now;
    if (admission_json_read(bytes, length, &review, err) < 0)
        return error_pass(err);
    if (review.pod != NULL && judge(extender, &review, &verdict, err) < 0)
        return error_pass(err);
    if (review.pod != NULL)
        report(extender, &review, &verdict);
    answer(&review, &verdict, out);
    return 0;
}
