/* SPDX-License-Identifier: Apache-2.0 */
/* api_object - one version of an object of the API model: its parts and its JSON. */
#include "support/api_model_inside.h"

#include "topofit/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- life ------------------------------------------------------------------------------------ */

struct api_object *api_object_new(enum api_kind kind, const char *namespace, const char *name)
{
    struct api_object *object = xcalloc(1, sizeof *object);

    object->kind = kind;
    object->references = 1;
    object->namespace = xstrdup(namespace);
    object->name = xstrdup(name);
    object->uid = xstrdup("");
    object->node_name = xstrdup("");
    object->phase = xstrdup("");
    object->scheduler_name = xstrdup("");
    object->meta = xstrdup("");
    object->rest = xstrdup("");
    object->spec = xstrdup("");
    object->status = xstrdup("");
    return object;
}

static char *copy_text(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

struct api_object *api_object_copy(const struct api_object *object)
{
    struct api_object *copy = xmalloc(sizeof *copy);

    *copy = *object;
    copy->references = 1;
    copy->json = NULL;
    copy->namespace = xstrdup(object->namespace);
    copy->name = xstrdup(object->name);
    copy->uid = xstrdup(object->uid);
    copy->node_name = xstrdup(object->node_name);
    copy->phase = xstrdup(object->phase);
    copy->scheduler_name = xstrdup(object->scheduler_name);
    copy->gates = copy_text(object->gates);
    copy->labels = copy_text(object->labels);
    copy->meta = xstrdup(object->meta);
    copy->spec = xstrdup(object->spec);
    copy->status = xstrdup(object->status);
    copy->conditions = copy_text(object->conditions);
    copy->rest = xstrdup(object->rest);
    copy->annotations = xcalloc(object->annotation_count + 1, sizeof *copy->annotations);
    for (size_t i = 0; i < object->annotation_count; i++)
        copy->annotations[i] = (struct api_pair){xstrdup(object->annotations[i].key),
                                                 xstrdup(object->annotations[i].value)};
    return copy;
}

struct api_object *api_object_ref(const struct api_object *object)
{
    struct api_object *counted = (struct api_object *)object; /* counting changes no version */

    counted->references++;
    return counted;
}

static void forget_annotations(struct api_object *object)
{
    for (size_t i = 0; i < object->annotation_count; i++) {
        free(object->annotations[i].key);
        free(object->annotations[i].value);
    }
    free(object->annotations);
    object->annotations = NULL;
    object->annotation_count = 0;
}

void api_object_unref(struct api_object *object)
{
    if (object == NULL || --object->references > 0)
        return;
    forget_annotations(object);
    free(object->namespace);
    free(object->name);
    free(object->uid);
    free(object->node_name);
    free(object->phase);
    free(object->scheduler_name);
    free(object->gates);
    free(object->labels);
    free(object->meta);
    free(object->spec);
    free(object->status);
    free(object->conditions);
    free(object->rest);
    free(object->json);
    free(object);
}

/* --- parts ----------------------------------------------------------------------------------- */

void api_object_set(char **place, const char *text)
{
    char *copy = copy_text(text);

    free(*place);
    *place = copy;
}

const char *api_object_annotation(const struct api_object *object, const char *key)
{
    for (size_t i = 0; i < object->annotation_count; i++) {
        if (strcmp(object->annotations[i].key, key) == 0)
            return object->annotations[i].value;
    }
    return NULL;
}

static void drop_annotation(struct api_object *object, size_t at)
{
    free(object->annotations[at].key);
    free(object->annotations[at].value);
    object->annotation_count--;
    memmove(&object->annotations[at], &object->annotations[at + 1],
            (object->annotation_count - at) * sizeof *object->annotations);
}

/* Maps of Kubernetes come out sorted. A value of NULL removes the key. */
void api_object_annotate(struct api_object *object, const char *key, const char *value)
{
    size_t at = 0;

    while (at < object->annotation_count && strcmp(object->annotations[at].key, key) < 0)
        at++;
    if (at < object->annotation_count && strcmp(object->annotations[at].key, key) == 0) {
        if (value != NULL)
            api_object_set(&object->annotations[at].value, value);
        else
            drop_annotation(object, at);
        return;
    }
    if (value == NULL)
        return;
    object->annotations = xreallocarray(object->annotations, object->annotation_count + 2,
                                        sizeof *object->annotations);
    memmove(&object->annotations[at + 1], &object->annotations[at],
            (object->annotation_count - at) * sizeof *object->annotations);
    object->annotations[at] = (struct api_pair){xstrdup(key), xstrdup(value)};
    object->annotation_count++;
}

/* --- from JSON ------------------------------------------------------------------------------- */

static bool is_among(const char *key, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcmp(key, *names) == 0)
            return true;
    }
    return false;
}

/* The members of an object but those named, each with a comma before it. */
static char *members_text(const json_t *json, const char *const *without)
{
    struct buf out = buf_with_max(API_BYTES_MAX);
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)json, key, value)
    {
        AUTO_FREE char *text = NULL;

        if (is_among(key, without))
            continue;
        text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        assert(text != NULL);
        buf_add_byte(&out, ',');
        buf_add_json_string(&out, key);
        buf_add_byte(&out, ':');
        buf_add_text(&out, text);
    }
    return buf_steal(&out);
}

static void take_text(char **place, const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));

    api_object_set(place, text != NULL ? text : "");
}

/* An array or object as it is; NULL when it is absent or empty. */
static void take_dump(char **place, const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    bool has_any = json_array_size(value) > 0 || json_object_size(value) > 0;

    free(*place);
    *place = has_any ? json_dumps(value, JSON_COMPACT) : NULL;
}

static void take_meta(struct api_object *object, const json_t *meta)
{
    static const char *const own[] = {"name",
                                      "namespace",
                                      "uid",
                                      "resourceVersion",
                                      "creationTimestamp",
                                      "deletionTimestamp",
                                      "deletionGracePeriodSeconds",
                                      "labels",
                                      "annotations",
                                      "managedFields",
                                      NULL};
    const char *key;
    json_t *value;

    forget_annotations(object);
    json_object_foreach(json_object_get(meta, "annotations"), key, value)
    {
        if (json_is_string(value))
            api_object_annotate(object, key, json_string_value(value));
    }
    take_dump(&object->labels, meta, "labels");
    free(object->meta);
    object->meta = members_text(meta, own);
}

static void take_pod(struct api_object *object, const json_t *json)
{
    static const char *const own_spec[] = {"nodeName", "schedulingGates", "schedulerName", NULL};
    static const char *const own_status[] = {"phase", "conditions", NULL};
    const json_t *spec = json_object_get(json, "spec");
    const json_t *status = json_object_get(json, "status");

    take_text(&object->node_name, spec, "nodeName");
    take_text(&object->scheduler_name, spec, "schedulerName");
    if (object->scheduler_name[0] == '\0')
        api_object_set(&object->scheduler_name, "default-scheduler");
    take_dump(&object->gates, spec, "schedulingGates");
    take_text(&object->phase, status, "phase");
    if (object->phase[0] == '\0')
        api_object_set(&object->phase, "Pending");
    take_dump(&object->conditions, status, "conditions");
    free(object->spec);
    object->spec = members_text(spec, own_spec);
    free(object->status);
    object->status = members_text(status, own_status);
}

void api_object_take_json(struct api_object *object, const json_t *json)
{
    static const char *const own[] = {"kind", "apiVersion", "metadata", NULL};

    take_meta(object, json_object_get(json, "metadata"));
    if (object->kind == API_POD) {
        take_pod(object, json);
        return;
    }
    free(object->rest);
    object->rest = members_text(json, own);
}

void api_object_add_labels(struct api_object *object, const json_t *labels)
{
    json_t *all;

    if (json_object_size(labels) == 0)
        return;
    all = object->labels != NULL ? json_loads(object->labels, 0, NULL) : json_object();
    json_object_update(all, (json_t *)labels);
    free(object->labels);
    object->labels = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(all);
}

/* --- to JSON --------------------------------------------------------------------------------- */

static void add_member(struct buf *out, const char *key, const char *text)
{
    buf_addf(out, ",\"%s\":", key);
    buf_add_json_string(out, text);
}

static void add_annotations(struct buf *out, const struct api_object *object)
{
    if (object->annotation_count == 0)
        return;
    buf_add_text(out, ",\"annotations\":");
    for (size_t i = 0; i < object->annotation_count; i++) {
        buf_add_byte(out, i == 0 ? '{' : ',');
        buf_add_json_string(out, object->annotations[i].key);
        buf_add_byte(out, ':');
        buf_add_json_string(out, object->annotations[i].value);
    }
    buf_add_byte(out, '}');
}

static void add_meta(struct buf *out, struct api_object *object)
{
    buf_add_text(out, "\"metadata\":{\"name\":");
    buf_add_json_string(out, object->name);
    if (object->namespace[0] != '\0')
        add_member(out, "namespace", object->namespace);
    add_member(out, "uid", object->uid);
    buf_add_text(out, ",\"resourceVersion\":\"");
    object->version_at = out->length;
    buf_addf(out, "%" PRIu64, object->version);
    object->version_length = out->length - object->version_at;
    buf_addf(out, "\",\"creationTimestamp\":\"%s\"", object->created);
    if (object->deleting)
        buf_addf(out, ",\"deletionTimestamp\":\"%s\",\"deletionGracePeriodSeconds\":%u",
                 object->deleted, object->grace_s);
    if (object->labels != NULL)
        buf_addf(out, ",\"labels\":%s", object->labels);
    add_annotations(out, object);
    buf_add_text(out, object->meta);
    buf_add_byte(out, '}');
}

static void add_pod(struct buf *out, const struct api_object *object)
{
    buf_add_text(out, ",\"spec\":{\"schedulerName\":");
    buf_add_json_string(out, object->scheduler_name);
    buf_add_text(out, object->spec);
    if (object->node_name[0] != '\0')
        add_member(out, "nodeName", object->node_name);
    if (object->gates != NULL) {
        buf_add_text(out, ",\"schedulingGates\":");
        buf_add_text(out, object->gates);
    }
    buf_add_text(out, "},\"status\":{\"phase\":");
    buf_add_json_string(out, object->phase);
    if (object->conditions != NULL) {
        buf_add_text(out, ",\"conditions\":");
        buf_add_text(out, object->conditions);
    }
    buf_add_text(out, object->status);
    buf_add_byte(out, '}');
}

void api_object_render(struct api_object *object, struct buf *scratch)
{
    const struct api_resource *resource = &api_resources[object->kind];

    buf_reset(scratch);
    buf_addf(scratch, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", resource->kind,
             resource->group_version);
    add_meta(scratch, object);
    if (object->kind == API_POD)
        add_pod(scratch, object);
    else
        buf_add_text(scratch, object->rest);
    buf_add_byte(scratch, '}');
    assert(!scratch->overflowed);
    free(object->json);
    object->length = scratch->length;
    object->json = xstrndup(scratch->data, scratch->length);
}

/* Both rendered; is there no difference but the version? */
bool api_object_is_same(const struct api_object *a, const struct api_object *b)
{
    size_t tail_a = a->version_at + a->version_length, tail_b = b->version_at + b->version_length;

    return a->version_at == b->version_at && memcmp(a->json, b->json, a->version_at) == 0 &&
           strcmp(a->json + tail_a, b->json + tail_b) == 0;
}

void api_object_add_json_at(const struct api_object *object, uint64_t version, struct buf *out)
{
    buf_add(out, object->json, object->version_at);
    buf_addf(out, "%" PRIu64, version);
    buf_add_text(out, object->json + object->version_at + object->version_length);
}
