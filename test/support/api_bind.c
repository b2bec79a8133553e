/* SPDX-License-Identifier: Apache-2.0 */
/* api_bind - Bindings in the API model: one write of node, annotations, labels and condition. */
#include "support/api_model_inside.h"

#include "topofit/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));

    return text != NULL ? text : "";
}

static json_t *read_binding(const struct api_target *target, struct model_answer *out)
{
    const struct model_request *request = target->request;
    json_error_t why;
    json_t *json = NULL;

    if (request->body_length > 0)
        json = json_loadb(request->body, request->body_length, 0, &why);
    if (!json_is_object(json)) {
        api_refuse_bad(out, "the object provided is unrecognized (must be of type Binding): "
                            "couldn't get version/kind; json parse error");
    } else if (json_object_get(json, "kind") != NULL &&
               strcmp(text_of(json, "kind"), "Binding") != 0) {
        api_refuse_bad(out,
                       "%s in version \"v1\" cannot be handled as a Binding: converting (v1.%s) "
                       "to (core.Binding): unknown conversion",
                       text_of(json, "kind"), text_of(json, "kind"));
    } else {
        return json;
    }
    json_decref(json);
    return NULL;
}

/* What can be said without looking at the pod. */
static bool check_binding(const struct api_target *target, const json_t *binding,
                          struct model_answer *out)
{
    const struct api_refusal fault = {.code = 500};
    const json_t *meta = json_object_get(binding, "metadata");
    const char *namespace = text_of(meta, "namespace");
    const char *node_kind = text_of(json_object_get(binding, "target"), "kind");

    if (namespace[0] != '\0' && strcmp(namespace, target->namespace) != 0)
        api_refuse_bad(out, "the namespace of the provided object does not match the namespace "
                            "sent on the request");
    else if (strcmp(text_of(meta, "name"), target->name) != 0)
        api_refuse_bad(out, "name in URL does not match name in Binding object");
    else if (node_kind[0] != '\0' && strcmp(node_kind, "Node") != 0)
        api_refuse(out, &fault,
                   "target.kind: Unsupported value: \"%s\": supported values: \"Node\", "
                   "\"<empty>\"",
                   node_kind);
    else if (text_of(json_object_get(binding, "target"), "name")[0] == '\0')
        api_refuse(out, &fault, "target.name: Required value");
    else
        return true;
    return false;
}

static bool refuse_precondition(const struct api_object *pod, const char *what, const char *wanted,
                                const char *is, struct model_answer *out)
{
    const struct api_refusal refusal = {
        .code = 409, .reason = "Conflict", .name = pod->name, .kind = "pods"};

    api_refuse(out, &refusal,
               "Operation cannot be fulfilled on pods \"%s\": StorageError: invalid object, Code: "
               "4, Key: /registry/pods/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: "
               "Precondition failed: %s in precondition: %s, %s in object meta: %s",
               pod->name, pod->namespace, pod->name, what, wanted, what, is);
    return false;
}

static bool check_preconditions(const struct api_object *pod, const json_t *meta,
                                struct model_answer *out)
{
    const char *uid = text_of(meta, "uid"), *version = text_of(meta, "resourceVersion");
    AUTO_FREE char *is_version = xasprintf("%" PRIu64, pod->version);

    if (uid[0] != '\0' && strcmp(uid, pod->uid) != 0)
        return refuse_precondition(pod, "UID", uid, pod->uid, out);
    if (version[0] != '\0' && strcmp(version, is_version) != 0)
        return refuse_precondition(pod, "ResourceVersion", version, is_version, out);
    return true;
}

static bool check_pod(const struct api_object *pod, struct model_answer *out)
{
    const struct api_refusal refusal = {
        .code = 409, .reason = "Conflict", .name = pod->name, .kind = "pods/binding"};
    AUTO_FREE char *why = NULL;

    if (pod->deleting)
        why = xasprintf("pod %s is being deleted, cannot be assigned to a host", pod->name);
    else if (pod->node_name[0] != '\0')
        why = xasprintf("pod %s is already assigned to node \"%s\"", pod->name, pod->node_name);
    else if (pod->gates != NULL)
        why = xasprintf("pod %s has non-empty .spec.schedulingGates", pod->name);
    if (why == NULL)
        return true;
    api_refuse(out, &refusal, "Operation cannot be fulfilled on pods/binding \"%s\": %s", pod->name,
               why);
    return false;
}

static void execute(struct api_model *model, const struct api_object *pod, const json_t *binding)
{
    const json_t *meta = json_object_get(binding, "metadata");
    struct api_object *bound = api_object_copy(pod);
    char now[24];
    const char *key;
    json_t *value;

    api_object_set(&bound->node_name, text_of(json_object_get(binding, "target"), "name"));
    json_object_foreach(json_object_get(meta, "annotations"), key, value)
    {
        if (json_is_string(value))
            api_object_annotate(bound, key, json_string_value(value));
    }
    api_object_add_labels(bound, json_object_get(meta, "labels"));
    api_time_text(model, now);
    free(bound->conditions);
    bound->conditions = xasprintf("[{\"type\":\"PodScheduled\",\"status\":\"True\","
                                  "\"lastProbeTime\":null,\"lastTransitionTime\":\"%s\"}]",
                                  now);
    api_store_update(model, bound);
}

static void bind_with(struct api_model *model, const struct api_target *target,
                      const json_t *binding, struct model_answer *out)
{
    const struct api_refusal success = {.code = 201};
    const struct api_object *pod;

    if (!check_binding(target, binding, out))
        return;
    pod = api_model_find(model, API_POD, target->namespace, target->name);
    if (pod == NULL) {
        api_refuse_missing(out, API_POD, target->name);
        return;
    }
    if (!check_preconditions(pod, json_object_get(binding, "metadata"), out) ||
        !check_pod(pod, out))
        return;
    if (target->query->dry_run == NULL)
        execute(model, pod, binding);
    out->status = 201;
    api_status_write(&out->body, &success, NULL);
}

void api_bind(struct api_model *model, const struct api_target *target, struct model_answer *out)
{
    json_t *binding = read_binding(target, out);

    if (binding != NULL)
        bind_with(model, target, binding, out);
    json_decref(binding);
}
