/* SPDX-License-Identifier: Apache-2.0 */
/* kube_template_json - the pod that a Deployment, a Job or the like would make. */
#include "kube_reading.h"
#include "topofit/mem.h"

/* The pod has the workload's name and namespace, and all else from the template. */
static const struct json_field template_shape[] = {
    {.key = "metadata", .shape = kube_words_shape},
    {.key = "spec", .shape = kube_pod_spec_shape},
    {0},
};

static const struct json_field job_spec_shape[] = {
    {.key = "template", .shape = template_shape},
    {0},
};

static const struct json_field job_shape[] = {
    {.key = "spec", .shape = job_spec_shape},
    {0},
};

static const struct json_field spec_shape[] = {
    {.key = "template", .shape = template_shape},
    {.key = "jobTemplate", .shape = job_shape}, /* of a CronJob */
    {0},
};

static const struct json_field workload_shape[] = {
    {.key = "metadata", .shape = kube_name_shape},
    {.key = "spec", .shape = spec_shape},
    {0},
};

int kube_json_read_template(const char *bytes, size_t length, struct kube_object *out,
                            struct error *err)
{
    AUTO(kube_object_clear) struct kube_object object = {0};
    AUTO(kube_reading_clear) struct kube_reading reading = {0};

    kube_reading_begin_object(&reading, &object, KUBE_POD);
    if (json_read(workload_shape, &reading, bytes, length, err) < 0)
        return -(int)err->code;
    kube_reading_end(&reading);
    if (kube_reading_check(&reading, err) < 0)
        return -(int)err->code;
    object.is_template = true;
    kube_object_clear(out);
    *out = object;
    object = (struct kube_object){0};
    return 0;
}
