/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes that should be an AdmissionReview; each is judged under every policy. A pod that is let
 * in asks for what it asked for before, and a second look at it changes nothing.
 */
#include "topofit/admission_json.h"
#include "topofit/class.h"
#include "topofit/dialect.h"
#include "topofit/extender.h"
#include "topofit/json_patch.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char gpu[] = "nvidia.com/gpu";
static char *const asked_about[] = {gpu};

static const struct admit_policy policies[] = {
    {.scheduler_name = "topofit-scheduler",
     .runtime_class_name = "",
     .guarded_classes = "",
     .takes_over = TAKES_OVER_DEFAULT,
     .privileged = PRIVILEGED_DENY,
     .delivery = DELIVERY_NONE,
     .core_policy = CORE_POLICY_DEFAULT},
    {.scheduler_name = "topofit-scheduler",
     .runtime_class_name = "nvidia",
     .guarded_classes = "nvidia",
     .resources = asked_about,
     .resource_count = 1,
     .takes_over = TAKES_OVER_ANY,
     .privileged = PRIVILEGED_WARN,
     .delivery = DELIVERY_DOWNWARD_API,
     .core_policy = CORE_POLICY_FORCE},
    {.scheduler_name = "",
     .runtime_class_name = "",
     .guarded_classes = "nvidia",
     .takes_over = TAKES_OVER_DEFAULT,
     .privileged = PRIVILEGED_IGNORE,
     .delivery = DELIVERY_NONE,
     .core_policy = CORE_POLICY_DISABLE},
};

static void read_request(const json_t *pod, const struct class_table *classes,
                         struct request *request)
{
    AUTO(kube_pod_clear) struct kube_pod kube = {0};
    struct error err = {0};

    assert(admission_json_read_pod(pod, &kube, &err) == 0);
    dialect_request(&kube, classes, request);
}

static void check_edited(const json_t *pod, const struct class_table *classes,
                         const struct admit_policy *policy, const struct admit_verdict *verdict)
{
    AUTO(request_clear) struct request before = {0}, after = {0};
    AUTO(admit_verdict_clear) struct admit_verdict again = {0};
    json_auto_t *patch = json_patch_between(pod, verdict->pod);
    struct error err = {0};

    assert(json_array_size(patch) > 0);
    read_request(pod, classes, &before);
    read_request(verdict->pod, classes, &after);
    assert(request_equal(&before, &after));
    assert(admit(verdict->pod, classes, policy, NULL, &again, &err) == 0);
    assert(again.end == ADMIT_UNCHANGED);
}

static void judge(const json_t *pod, const struct class_table *classes,
                  const struct admit_policy *policy)
{
    AUTO(admit_verdict_clear) struct admit_verdict verdict = {0};
    struct error err = {0};

    if (admit(pod, classes, policy, NULL, &verdict, &err) < 0)
        return;
    assert((verdict.end == ADMIT_REFUSED) == (verdict.message != NULL));
    assert((verdict.end == ADMIT_PATCHED) == (verdict.pod != NULL));
    if (verdict.end == ADMIT_PATCHED)
        check_edited(pod, classes, policy, &verdict);
}

static void answer(const char *bytes, size_t length, const struct class_table *classes,
                   const struct admit_policy *policy)
{
    struct extender extender = {.classes = classes, .options = {.admit = *policy}};
    AUTO(buf_clear) struct buf out = buf_with_max(64u << 20);
    struct error err = {0};

    if (extender_admit(&extender, bytes, length, (struct moment){0}, &out, &err) == 0) {
        json_auto_t *document = json_loadb(out.data, out.length, 0, NULL);

        assert(json_is_object(json_object_get(document, "response")));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct class_table classes;
    AUTO(admission_review_clear) struct admission_review review = {0};
    struct error err = {0};

    if (classes.count == 0)
        classes_builtin(&classes);
    if (admission_json_read((const char *)bytes, size, &review, &err) < 0)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        if (review.pod != NULL)
            judge(review.pod, &classes, &policies[i]);
        answer((const char *)bytes, size, &classes, &policies[i]);
    }
    return 0;
}
