/* SPDX-License-Identifier: Apache-2.0 */
/* lease_json - a coordination.k8s.io/v1 Lease as bytes, and as a record. */
#include "topofit/lease_json.h"

#include "kube_reading.h"
#include "topofit/mem.h"

#include <jansson.h>

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct lease_reading {
    struct kube_reading reading; /* first: ctx of the shape of metadata */
    struct lease_record record;
    bool truncated;
};

void lease_record_init(struct lease_record *record)
{
    *record = (struct lease_record){
        .meta = {.name = xstrdup(""),
                 .namespace = xstrdup(""),
                 .uid = xstrdup(""),
                 .resource_version = xstrdup("")},
        .holder = xstrdup(""),
        .wanted_by = xstrdup(""),
        .acquire_time = xstrdup(""),
        .renew_time = xstrdup(""),
    };
}

void lease_record_clear(struct lease_record *record)
{
    free(record->meta.name);
    free(record->meta.namespace);
    free(record->meta.uid);
    free(record->meta.resource_version);
    kube_pairs_clear(&record->meta.labels);
    kube_pairs_clear(&record->meta.annotations);
    free(record->holder);
    free(record->wanted_by);
    free(record->acquire_time);
    free(record->renew_time);
    json_decref(record->object);
    *record = (struct lease_record){0};
}

static void clear_reading(struct lease_reading *reading)
{
    kube_reading_clear(&reading->reading);
    lease_record_clear(&reading->record);
}

/* --- reading --------------------------------------------------------------------------------- */

/* Others' text, bounded, as one that prints: a NUL would make another text of it. */
static int take_text(void *ctx, const struct json_value *value, struct error *err)
{
    struct lease_reading *reading = ctx;
    char **out = (char **)((char *)&reading->record + value->slot);
    size_t length = value->length < LEASE_TEXT_MAX ? value->length : LEASE_TEXT_MAX;
    struct buf text = buf_with_max(LEASE_TEXT_MAX);
    AUTO_FREE char *raw = NULL;

    if (value->type != JSON_STRING_TEXT && value->type != JSON_NULL_VALUE)
        return error_set(err, ERR_INVALID, "\"%s\": a string was expected", value->key);
    raw = xcalloc(1, length + 1);
    for (size_t i = 0; i < length; i++)
        raw[i] = value->text[i] != '\0' ? value->text[i] : '?';
    buf_add_utf8(&text, raw, LEASE_TEXT_MAX);
    free(*out);
    *out = buf_steal(&text);
    return 0;
}

static int take_number(void *ctx, const struct json_value *value, struct error *err)
{
    struct lease_reading *reading = ctx;
    long long *out = (long long *)((char *)&reading->record + value->slot);

    return json_value_int(value, LLONG_MIN, LLONG_MAX, out, err);
}

#define TEXT(member) \
    .on_value = take_text, .slot = offsetof(struct lease_record, member), .accepts_nul = true
#define NUMBER(member) .on_value = take_number, .slot = offsetof(struct lease_record, member)

static const struct json_field spec_shape[] = {
    {.key = "holderIdentity", TEXT(holder)},
    {.key = "leaseDurationSeconds", NUMBER(duration_s)},
    {.key = "acquireTime", TEXT(acquire_time)},
    {.key = "renewTime", TEXT(renew_time)},
    {.key = "leaseTransitions", NUMBER(transitions)},
    {0},
};

static const struct json_field lease_shape[] = {
    {.key = "kind", .on_value = kube_reading_take_kind},
    {.key = "metadata", .shape = kube_meta_shape},
    {.key = "spec", .shape = spec_shape},
    {0},
};

/* What the server gives is never so long. */
static int check_lengths(const struct lease_record *record, struct error *err)
{
    const char *const texts[] = {record->meta.name, record->meta.namespace, record->meta.uid,
                                 record->meta.resource_version};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (strlen(texts[i]) > LEASE_TEXT_MAX)
            return error_set(err, ERR_LIMIT, "\"%.32s...\" is longer than %d bytes", texts[i],
                             LEASE_TEXT_MAX);
    }
    return 0;
}

static int check(const struct lease_reading *reading, struct error *err)
{
    const char *kind = reading->reading.kind;

    if (kind != NULL && strcmp(kind, "Lease") != 0)
        return error_set(err, ERR_INVALID, "a Lease was expected, not a \"%.64s\"", kind);
    if (reading->record.meta.name[0] == '\0')
        return error_set(err, ERR_INVALID, "a Lease without a name");
    if (reading->record.meta.resource_version[0] == '\0')
        return error_set(err, ERR_INVALID, "a Lease without a resourceVersion");
    return check_lengths(&reading->record, err);
}

static char *claim_of(const struct lease_record *record)
{
    const char *wanted_by = kube_pairs_get(&record->meta.annotations, LEASE_WANTED_BY);
    struct buf text = buf_with_max(LEASE_TEXT_MAX);

    buf_add_utf8(&text, wanted_by != NULL ? wanted_by : "", LEASE_TEXT_MAX);
    return buf_steal(&text);
}

static int keep_object(struct lease_record *record, const char *bytes, size_t length,
                       struct error *err)
{
    json_error_t problem;

    record->object = json_loadb(bytes, length, JSON_ALLOW_NUL, &problem);
    if (record->object == NULL)
        return error_set(err, ERR_INVALID, "%s", problem.text);
    return 0;
}

int lease_json_read(const char *bytes, size_t length, struct lease_record *out, struct error *err)
{
    AUTO(clear_reading) struct lease_reading reading = {0};
    struct lease_record *record = &reading.record;

    lease_record_init(record);
    reading.reading.meta = &record->meta;
    reading.reading.truncated = &reading.truncated;
    if (json_read(lease_shape, &reading, bytes, length, err) < 0)
        return -(int)err->code;
    free(record->wanted_by);
    record->wanted_by = claim_of(record);
    if (check(&reading, err) < 0 || keep_object(record, bytes, length, err) < 0)
        return -(int)err->code;
    lease_record_clear(out);
    *out = *record;
    *record = (struct lease_record){0};
    return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

struct lease_view lease_record_view(const struct lease_record *record)
{
    return (struct lease_view){
        .object = record->object,
        .name = record->meta.name,
        .namespace = record->meta.namespace,
        .uid = record->meta.uid,
        .resource_version = record->meta.resource_version,
        .holder = record->holder,
        .wanted_by = record->wanted_by,
        .duration_s = record->duration_s,
        .acquire_time = record->acquire_time,
        .renew_time = record->renew_time,
        .transitions = record->transitions,
    };
}

static json_t *text_value(const char *text)
{
    AUTO(buf_clear) struct buf valid = buf_with_max(SIZE_MAX / 2);

    buf_add_utf8(&valid, text, SIZE_MAX / 2);
    return json_string(buf_text(&valid));
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text[0] != '\0')
        json_object_set_new(object, key, text_value(text));
}

/* The object of that name; a new one in the place of anything else. Borrowed. */
static json_t *member(json_t *object, const char *key)
{
    if (!json_is_object(json_object_get(object, key)))
        json_object_set_new(object, key, json_object());
    return json_object_get(object, key);
}

static void set_claim(json_t *meta, const char *wanted_by)
{
    if (wanted_by[0] != '\0')
        json_object_set_new(member(meta, "annotations"), LEASE_WANTED_BY, text_value(wanted_by));
    else
        json_object_del(json_object_get(meta, "annotations"), LEASE_WANTED_BY);
}

static void set_spec(json_t *spec, const struct lease_view *lease)
{
    if (lease->holder == NULL)
        return;
    json_object_set_new(spec, "holderIdentity", text_value(lease->holder));
    if (lease->duration_s != 0)
        json_object_set_new(spec, "leaseDurationSeconds", json_integer(lease->duration_s));
    set_text(spec, "acquireTime", lease->acquire_time);
    set_text(spec, "renewTime", lease->renew_time);
    json_object_set_new(spec, "leaseTransitions", json_integer(lease->transitions));
}

void lease_json_write(struct buf *out, const struct lease_view *lease)
{
    json_t *object = json_is_object(lease->object) ? json_deep_copy(lease->object) : json_object();
    json_t *meta;
    AUTO_FREE char *text = NULL;

    json_object_set_new(object, "apiVersion", json_string("coordination.k8s.io/v1"));
    json_object_set_new(object, "kind", json_string("Lease"));
    meta = member(object, "metadata");
    json_object_set_new(meta, "name", text_value(lease->name));
    set_text(meta, "namespace", lease->namespace);
    set_text(meta, "uid", lease->uid);
    set_text(meta, "resourceVersion", lease->resource_version);
    set_claim(meta, lease->wanted_by);
    set_spec(member(object, "spec"), lease);
    text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    assert(text != NULL);
    buf_add_text(out, text);
}
