/* SPDX-License-Identifier: Apache-2.0 */
/* admission_json - AdmissionReview: what the API server asks a webhook, and the answer. */
#include "topofit/admission_json.h"

#include "topofit/base64.h"
#include "topofit/kube_json.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

#define NAMELESS "pod"

static const char *const versions[] = {"admission.k8s.io/v1", "admission.k8s.io/v1beta1"};

/* A text, or "" for what is missing or no text. */
static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

/* --- the question ---------------------------------------------------------------------------- */

static int read_version(const json_t *document, const char **out, struct error *err)
{
    const char *version = text_of(document, "apiVersion");

    if (strcmp(text_of(document, "kind"), "AdmissionReview") != 0)
        return error_set(err, ERR_INVALID, "kind is \"%.60s\": AdmissionReview is expected",
                         text_of(document, "kind"));
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        if (strcmp(version, versions[i]) == 0) {
            *out = versions[i];
            return 0;
        }
    }
    return error_set(err, ERR_INVALID, "apiVersion is \"%.60s\": %s or %s is expected", version,
                     versions[0], versions[1]);
}

/* Is a pod made, and not something below one, as its binding? */
static bool creates_pod(const json_t *request)
{
    const json_t *resource = json_object_get(request, "resource");

    return strcmp(text_of(request, "operation"), "CREATE") == 0 &&
           strcmp(text_of(resource, "group"), "") == 0 &&
           strcmp(text_of(resource, "resource"), "pods") == 0 &&
           strcmp(text_of(request, "subResource"), "") == 0;
}

static const char *name_of(const json_t *pod)
{
    const json_t *meta = json_object_get(pod, "metadata");
    const char *name = text_of(meta, "name");

    return name[0] != '\0' ? name : text_of(meta, "generateName");
}

static int read_request(const json_t *request, struct admission_review *out, struct error *err)
{
    if (!json_is_object(request))
        return error_set(err, ERR_INVALID, "\"request\" is missing");
    out->uid = text_of(request, "uid");
    if (out->uid[0] == '\0')
        return error_set(err, ERR_INVALID, "\"uid\" of the request is missing");
    out->operation = text_of(request, "operation");
    out->namespace = text_of(request, "namespace");
    out->dry_run = json_is_true(json_object_get(request, "dryRun"));
    out->name = "";
    if (!creates_pod(request))
        return 0;
    out->pod = json_object_get(request, "object");
    if (!json_is_object(out->pod))
        return error_set(err, ERR_INVALID, "\"object\" of the request is missing");
    out->name = name_of(out->pod);
    return 0;
}

int admission_json_read(const char *bytes, size_t length, struct admission_review *out,
                        struct error *err)
{
    AUTO(admission_review_clear) struct admission_review review = {0};
    json_error_t json_error;

    if (length > ADMISSION_BYTES_MAX)
        return error_set(err, ERR_LIMIT, "a review of more than %u bytes", ADMISSION_BYTES_MAX);
    review.document = json_loadb(bytes, length, JSON_ALLOW_NUL, &json_error);
    if (review.document == NULL)
        return error_set(err, ERR_INVALID, "line %d, column %d: %s", json_error.line,
                         json_error.column, json_error.text);
    if (read_version(review.document, &review.api_version, err) < 0 ||
        read_request(json_object_get(review.document, "request"), &review, err) < 0)
        return error_pass(err);
    *out = review;
    review = (struct admission_review){0};
    return 0;
}

void admission_review_clear(struct admission_review *review)
{
    json_decref(review->document);
    *review = (struct admission_review){0};
}

/* The tree with a name in it: that of a pod, or one in its place. */
static json_t *with_name(const json_t *pod)
{
    const json_t *meta = json_object_get(pod, "metadata");
    const char *name = name_of(pod);
    json_t *named_meta = json_is_object(meta) ? json_copy((json_t *)meta) : json_object();
    json_t *named = json_copy((json_t *)pod);

    json_object_set_new(named_meta, "name", json_string(name[0] != '\0' ? name : NAMELESS));
    json_object_set_new(named, "metadata", named_meta);
    return named;
}

int admission_json_read_pod(const json_t *pod, struct kube_pod *out, struct error *err)
{
    AUTO(kube_object_clear) struct kube_object object = {0};
    json_auto_t *named = with_name(pod);
    AUTO_FREE char *bytes = json_dumps(named, JSON_COMPACT);

    if (bytes == NULL)
        return error_set(err, ERR_INVALID, "the pod is nested too deeply");
    if (kube_json_read_object(KUBE_POD, bytes, strlen(bytes), &object, err) < 0)
        return error_wrap(err, "the pod");
    kube_pod_clear(out);
    *out = object.pod;
    object.pod = (struct kube_pod){0};
    return 0;
}

/* --- the answer ------------------------------------------------------------------------------ */

static void write_refusal(const struct admission_answer *answer, struct buf *out)
{
    buf_addf(out, ",\"allowed\":false,\"status\":{\"status\":\"Failure\",\"code\":%u,\"reason\":",
             answer->code);
    buf_add_json_string(out, answer->reason);
    buf_add_text(out, ",\"message\":");
    buf_add_json_string(out, answer->message);
    buf_add_byte(out, '}');
}

static void write_patch(const json_t *patch, struct buf *out)
{
    AUTO_FREE char *text = json_dumps(patch, JSON_COMPACT);
    AUTO_FREE char *coded = base64_encode(text, strlen(text));

    buf_addf(out, ",\"patchType\":\"JSONPatch\",\"patch\":\"");
    buf_add_text(out, coded);
    buf_add_byte(out, '"');
}

static void write_warnings(const json_t *warnings, struct buf *out)
{
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        buf_add_text(out, i == 0 ? ",\"warnings\":[" : ",");
        buf_add_json_string(out, json_string_value(json_array_get(warnings, i)));
    }
    if (json_array_size(warnings) > 0)
        buf_add_byte(out, ']');
}

void admission_json_write(const struct admission_review *review,
                          const struct admission_answer *answer, struct buf *out)
{
    buf_addf(out, "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"%s\",\"response\":{\"uid\":",
             review->api_version);
    buf_add_json_string(out, review->uid);
    if (answer->allowed)
        buf_add_text(out, ",\"allowed\":true");
    else
        write_refusal(answer, out);
    if (answer->allowed && json_array_size(answer->patch) > 0)
        write_patch(answer->patch, out);
    write_warnings(answer->warnings, out);
    buf_add_text(out, "}}");
}
