/* SPDX-License-Identifier: Apache-2.0 */
/* api_write - POST, PUT and PATCH of the API model: leases, events, node annotations. */
#include "support/api_model_inside.h"

#include "topofit/mem.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_STANDARD 2000
#define NOTE_MAX_LENGTH 1024

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));

    return text != NULL ? text : "";
}

static const json_t *meta_of(const json_t *json)
{
    return json_object_get(json, "metadata");
}

/* --- refusals -------------------------------------------------------------------------------- */

/* "leases.coordination.k8s.io" */
static char *full_name(enum api_kind kind)
{
    const struct api_resource *resource = &api_resources[kind];

    return xasprintf("%s%s%s", resource->plural, resource->group[0] != '\0' ? "." : "",
                     resource->group);
}

static bool refuse_conflict(const struct api_target *target, const char *reason, const char *name,
                            const char *text, struct model_answer *out)
{
    const struct api_resource *resource = &api_resources[target->kind];
    AUTO_FREE char *full = full_name(target->kind);
    struct api_refusal refusal = {.code = 409,
                                  .reason = reason,
                                  .name = name,
                                  .group = resource->group,
                                  .kind = resource->plural};

    if (strcmp(reason, "AlreadyExists") == 0)
        api_refuse(out, &refusal, "%s \"%s\" already exists", full, name);
    else
        api_refuse(out, &refusal, "Operation cannot be fulfilled on %s \"%s\": %s", full, name,
                   text);
    return false;
}

static bool refuse_modified(const struct api_target *target, struct model_answer *out)
{
    return refuse_conflict(target, "Conflict", target->name,
                           "the object has been modified; please apply your changes to the latest "
                           "version and try again",
                           out);
}

static bool refuse_uid(const struct api_target *target, const char *wanted, const char *is,
                       struct model_answer *out)
{
    AUTO_FREE char *text =
        xasprintf("StorageError: invalid object, Code: 4, Key: /registry/%s/%s/%s, "
                  "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                  "precondition: %s, UID in object meta: %s",
                  api_resources[target->kind].plural, target->namespace, target->name, wanted, is);

    return refuse_conflict(target, "Conflict", target->name, text, out);
}

/* A field that is not as it should be. */
struct flaw {
    const char *field, *reason, *message;
};

static bool refuse_flaw(enum api_kind kind, const char *name, const struct flaw *flaw,
                        struct model_answer *out)
{
    const struct api_resource *resource = &api_resources[kind];
    /* The checks of events are older than their group. */
    bool has_group = kind != API_EVENT && resource->group[0] != '\0';
    struct api_refusal refusal = {.code = 422,
                                  .reason = "Invalid",
                                  .name = name,
                                  .group = has_group ? resource->group : NULL,
                                  .kind = resource->kind,
                                  .cause_reason = flaw->reason,
                                  .cause_message = flaw->message,
                                  .cause_field = flaw->field};

    api_refuse(out, &refusal, "%s%s%s \"%s\" is invalid: %s: %s", resource->kind,
               has_group ? "." : "", has_group ? resource->group : "", name, flaw->field,
               flaw->message);
    return false;
}

static bool refuse_unversioned(const struct api_target *target, struct model_answer *out)
{
    const struct api_resource *resource = &api_resources[target->kind];
    AUTO_FREE char *full = full_name(target->kind);
    struct api_refusal refusal = {.code = 422,
                                  .reason = "Invalid",
                                  .name = target->name,
                                  .group = resource->group,
                                  .kind = resource->plural,
                                  .cause_reason = "FieldValueInvalid",
                                  .cause_message = "Invalid value: 0: must be specified for an "
                                                   "update",
                                  .cause_field = "metadata.resourceVersion"};

    api_refuse(out, &refusal,
               "%s \"%s\" is invalid: metadata.resourceVersion: Invalid value: 0: must be "
               "specified for an update",
               full, target->name);
    return false;
}

/* --- bodies ---------------------------------------------------------------------------------- */

static json_t *read_body(const struct api_target *target, struct model_answer *out)
{
    const struct model_request *request = target->request;
    json_error_t why;
    json_t *json = NULL;

    if (request->body_length > 0)
        json = json_loadb(request->body, request->body_length, 0, &why);
    if (json_is_object(json))
        return json;
    json_decref(json);
    api_refuse_bad(out,
                   "the object provided is unrecognized (must be of type %s): couldn't get "
                   "version/kind; json parse error",
                   api_resources[target->kind].kind);
    return NULL;
}

/* "2026-11-30T00:00:00.000000Z": exactly six digits of a second. */
static bool is_micro_time(const char *text)
{
    static const char shape[] = "0000-00-00T00:00:00.000000";
    size_t i;

    for (i = 0; shape[i] != '\0'; i++) {
        if (shape[i] == '0' ? !isdigit((unsigned char)text[i]) : shape[i] != text[i])
            return false;
    }
    return strcmp(text + i, "Z") == 0 || text[i] == '+' || text[i] == '-';
}

static bool check_time(const struct api_target *target, const json_t *json, const char *key,
                       struct model_answer *out)
{
    const char *kind = api_resources[target->kind].kind;
    const json_t *value = json_object_get(json, key);

    if (value == NULL || json_is_null(value) ||
        (json_is_string(value) && is_micro_time(json_string_value(value))))
        return true;
    api_refuse_bad(out,
                   "%s in version \"v1\" cannot be handled as a %s: parsing time \"%s\" as "
                   "\"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\"",
                   kind, kind, text_of(json, key));
    return false;
}

static bool check_lease(const struct api_target *target, const json_t *json, const char *name,
                        struct model_answer *out)
{
    static const struct flaw no_duration = {"spec.leaseDurationSeconds", "FieldValueInvalid",
                                            "Invalid value: 0: must be greater than 0"};
    const json_t *spec = json_object_get(json, "spec");
    const json_t *duration = json_object_get(spec, "leaseDurationSeconds");

    if (!check_time(target, spec, "renewTime", out) ||
        !check_time(target, spec, "acquireTime", out))
        return false;
    if (json_is_integer(duration) && json_integer_value(duration) <= 0)
        return refuse_flaw(API_LEASE, name, &no_duration, out);
    return true;
}

static bool check_event(const struct api_target *target, const json_t *json, const char *name,
                        struct model_answer *out)
{
    const char *type = text_of(json, "type");
    AUTO_FREE char *odd = xasprintf("Invalid value: \"\": has invalid value: %s", type);
    const struct flaw odd_type = {"type", "FieldValueInvalid", odd};
    static const struct flaw no_time = {"eventTime", "FieldValueRequired", "Required value"};
    static const struct flaw no_controller = {"reportingController", "FieldValueRequired",
                                              "Required value"};
    static const struct flaw no_instance = {"reportingInstance", "FieldValueRequired",
                                            "Required value"};
    static const struct flaw no_action = {"action", "FieldValueRequired", "Required value"};
    static const struct flaw no_reason = {"reason", "FieldValueRequired", "Required value"};
    static const struct flaw long_note = {"message", "FieldValueInvalid",
                                          "Invalid value: \"\": can have at most 1024 characters"};
    const struct {
        bool is_wrong;
        const struct flaw *flaw;
    } checks[] = {
        {text_of(json, "eventTime")[0] == '\0', &no_time},
        {text_of(json, "reportingController")[0] == '\0', &no_controller},
        {text_of(json, "reportingInstance")[0] == '\0', &no_instance},
        {text_of(json, "action")[0] == '\0', &no_action},
        {text_of(json, "reason")[0] == '\0', &no_reason},
        {strlen(text_of(json, "note")) > NOTE_MAX_LENGTH, &long_note},
        {strcmp(type, "Normal") != 0 && strcmp(type, "Warning") != 0, &odd_type},
    };

    if (!check_time(target, json, "eventTime", out) ||
        !check_time(target, json_object_get(json, "series"), "lastObservedTime", out))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        if (checks[i].is_wrong)
            return refuse_flaw(API_EVENT, name, checks[i].flaw, out);
    }
    return true;
}

static bool check_content(const struct api_target *target, const json_t *json, const char *name,
                          struct model_answer *out)
{
    static const struct flaw no_name = {"metadata.name", "FieldValueRequired",
                                        "Required value: name or generateName is required"};

    if (name[0] == '\0')
        return refuse_flaw(target->kind, "", &no_name, out);
    if (target->kind == API_LEASE)
        return check_lease(target, json, name, out);
    return target->kind != API_EVENT || check_event(target, json, name, out);
}

static bool check_namespace(const struct api_target *target, const json_t *json,
                            struct model_answer *out)
{
    const char *namespace = text_of(meta_of(json), "namespace");

    if (namespace[0] == '\0' || strcmp(namespace, target->namespace) == 0)
        return true;
    api_refuse_bad(out, "the namespace of the provided object does not match the namespace sent "
                        "on the request");
    return false;
}

/* --- POST ------------------------------------------------------------------------------------ */

/* Events do not last: the oldest goes when there are too many. */
static void expire_events(struct api_model *model)
{
    size_t most = model->options.events_max > 0 ? model->options.events_max : EVENTS_STANDARD;
    const struct api_store *store = &model->stores[API_EVENT];
    size_t oldest = 0;

    if (store->count <= most)
        return;
    for (size_t i = 1; i < store->count; i++) {
        if (store->live[i]->version < store->live[oldest]->version)
            oldest = i;
    }
    api_store_remove(model, store->live[oldest]);
}

static const struct api_object *create(struct api_model *model, const struct api_target *target,
                                       const json_t *json, const char *name)
{
    struct api_object *object = api_object_new(target->kind, target->namespace, name);

    api_object_take_json(object, json);
    return api_store_add(model, object);
}

static void post_body(struct api_model *model, const struct api_target *target, const json_t *json,
                      struct model_answer *out)
{
    const struct api_refusal fault = {.code = 500};
    const char *name = text_of(meta_of(json), "name");

    if (!check_namespace(target, json, out) || !check_content(target, json, name, out))
        return;
    if (text_of(meta_of(json), "resourceVersion")[0] != '\0')
        api_refuse(out, &fault, "resourceVersion should not be set on objects to be created");
    else if (api_model_find(model, target->kind, target->namespace, name) != NULL)
        refuse_conflict(target, "AlreadyExists", name, NULL, out);
    else
        model_answer_object(out, 201, create(model, target, json, name));
    if (out->status == 201 && target->kind == API_EVENT)
        expire_events(model);
}

void api_post(struct api_model *model, const struct api_target *target, struct model_answer *out)
{
    json_t *json = read_body(target, out);

    if (json != NULL)
        post_body(model, target, json, out);
    json_decref(json);
}

/* --- PUT ------------------------------------------------------------------------------------- */

static void put_absent(struct api_model *model, const struct api_target *target, const json_t *json,
                       struct model_answer *out)
{
    const char *uid = text_of(meta_of(json), "uid");

    if (target->kind != API_LEASE || model->options.refuses_lease_creation_by_put)
        api_refuse_missing(out, target->kind, target->name);
    else if (uid[0] != '\0')
        refuse_uid(target, uid, "", out);
    else
        model_answer_object(out, 201, create(model, target, json, target->name));
}

static bool check_version(const struct api_target *target, const struct api_object *object,
                          const json_t *json, struct model_answer *out)
{
    const char *version = text_of(meta_of(json), "resourceVersion");
    AUTO_FREE char *is = xasprintf("%" PRIu64, object->version);

    return version[0] == '\0' || strcmp(version, is) == 0 || refuse_modified(target, out);
}

static void put_body(struct api_model *model, const struct api_target *target, const json_t *json,
                     struct model_answer *out)
{
    const struct api_object *object =
        api_model_find(model, target->kind, target->namespace, target->name);
    const char *name = text_of(meta_of(json), "name"), *uid = text_of(meta_of(json), "uid");
    struct api_object *next;

    if (strcmp(name, target->name) != 0) {
        api_refuse_bad(out, "the name of the object (%s) does not match the name on the URL (%s)",
                       name, target->name);
        return;
    }
    if (!check_namespace(target, json, out) || !check_content(target, json, name, out))
        return;
    if (object == NULL) {
        put_absent(model, target, json, out);
        return;
    }
    if (uid[0] != '\0' && strcmp(uid, object->uid) != 0) {
        refuse_uid(target, uid, object->uid, out);
        return;
    }
    if (text_of(meta_of(json), "resourceVersion")[0] == '\0') {
        refuse_unversioned(target, out);
        return;
    }
    if (!check_version(target, object, json, out))
        return;
    next = api_object_copy(object);
    api_object_take_json(next, json);
    model_answer_object(out, 200, api_store_update(model, next));
}

void api_put(struct api_model *model, const struct api_target *target, struct model_answer *out)
{
    json_t *json = read_body(target, out);

    if (json != NULL)
        put_body(model, target, json, out);
    json_decref(json);
}

/* --- PATCH ----------------------------------------------------------------------------------- */

/* source: RFC 7386 */
static void merge(json_t *into, const json_t *patch)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)patch, key, value)
    {
        json_t *there = json_object_get(into, key);

        if (json_is_null(value)) {
            json_object_del(into, key);
        } else if (!json_is_object(value)) {
            json_object_set(into, key, value);
        } else {
            if (!json_is_object(there)) {
                json_object_set_new(into, key, json_object());
                there = json_object_get(into, key);
            }
            merge(there, value);
        }
    }
}

static void patch_object(struct api_model *model, const struct api_target *target,
                         const struct api_object *object, const json_t *patch,
                         struct model_answer *out)
{
    json_t *json = json_loadb(object->json, object->length, 0, NULL);
    struct api_object *next;

    merge(json, patch);
    if (check_version(target, object, json, out) &&
        check_content(target, json, object->name, out)) {
        next = api_object_copy(object);
        api_object_take_json(next, json);
        /* What no patch of an object may change. */
        api_object_set(&next->node_name, object->node_name);
        api_object_set(&next->phase, object->phase);
        model_answer_object(out, 200, api_store_update(model, next));
    }
    json_decref(json);
}

void api_patch(struct api_model *model, const struct api_target *target, struct model_answer *out)
{
    const struct model_request *request = target->request;
    const struct api_refusal wrong_type = {
        .code = 415, .reason = "UnsupportedMediaType", .has_details = true};
    const struct api_object *object =
        api_model_find(model, target->kind, target->namespace, target->name);
    json_t *patch;

    if (request->content_type != NULL && strstr(request->content_type, "merge-patch") == NULL) {
        api_refuse(out, &wrong_type, "415: Unsupported Media Type");
        return;
    }
    if (object == NULL) {
        api_refuse_missing(out, target->kind, target->name);
        return;
    }
    patch = json_loadb(request->body != NULL ? request->body : "", request->body_length, 0, NULL);
    if (json_is_object(patch))
        patch_object(model, target, object, patch, out);
    else
        api_refuse_bad(out, "invalid JSON patch");
    json_decref(patch);
}
