/* SPDX-License-Identifier: Apache-2.0 */
/* lease_json - a coordination.k8s.io/v1 Lease as bytes, and as a record. */
#include "topofit/lease_json.h"

#include "kube_reading.h"
#include "topofit/mem.h"

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
    *record = (struct lease_record){0};
}

static void clear_reading(struct lease_reading *reading)
{
    kube_reading_clear(&reading->reading);
    lease_record_clear(&reading->record);
}

/* --- reading --------------------------------------------------------------------------------- */

static int take_text(void *ctx, const struct json_value *value, struct error *err)
{
    struct lease_reading *reading = ctx;

    return json_value_copy(value, (char **)((char *)&reading->record + value->slot), err);
}

static int take_number(void *ctx, const struct json_value *value, struct error *err)
{
    struct lease_reading *reading = ctx;
    long long *out = (long long *)((char *)&reading->record + value->slot);

    return json_value_int(value, LLONG_MIN, LLONG_MAX, out, err);
}

#define TEXT(member) .on_value = take_text, .slot = offsetof(struct lease_record, member)
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

static int check_lengths(const struct lease_record *record, struct error *err)
{
    const char *const texts[] = {record->meta.name,    record->meta.namespace,
                                 record->meta.uid,     record->meta.resource_version,
                                 record->holder,       record->wanted_by,
                                 record->acquire_time, record->renew_time};

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

int lease_json_read(const char *bytes, size_t length, struct lease_record *out, struct error *err)
{
    AUTO(clear_reading) struct lease_reading reading = {0};
    struct lease_record *record = &reading.record;
    const char *wanted_by;

    lease_record_init(record);
    reading.reading.meta = &record->meta;
    reading.reading.truncated = &reading.truncated;
    if (json_read(lease_shape, &reading, bytes, length, err) < 0)
        return -(int)err->code;
    wanted_by = kube_pairs_get(&record->meta.annotations, LEASE_WANTED_BY);
    free(record->wanted_by);
    record->wanted_by = xstrdup(wanted_by != NULL ? wanted_by : "");
    if (check(&reading, err) < 0)
        return -(int)err->code;
    lease_record_clear(out);
    *out = *record;
    *record = (struct lease_record){0};
    return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_text(struct buf *out, const char *opening, const char *text)
{
    if (text[0] == '\0')
        return;
    buf_add_text(out, opening);
    buf_add_json_string(out, text);
}

static void write_pair(struct buf *out, const char *key, const char *value, bool *is_first)
{
    if (!*is_first)
        buf_add_byte(out, ',');
    *is_first = false;
    buf_add_json_string(out, key);
    buf_add_byte(out, ':');
    buf_add_json_string(out, value);
}

/* wanted_by takes the place of the annotation; NULL: these are labels. */
static void write_pairs(struct buf *out, const char *name, const struct kube_pairs *pairs,
                        const char *wanted_by)
{
    bool is_first = true;

    buf_addf(out, ",\"%s\":{", name);
    for (size_t i = 0; i < pairs->count; i++) {
        if (wanted_by == NULL || strcmp(pairs->items[i].key, LEASE_WANTED_BY) != 0)
            write_pair(out, pairs->items[i].key, pairs->items[i].value, &is_first);
    }
    if (wanted_by != NULL && wanted_by[0] != '\0')
        write_pair(out, LEASE_WANTED_BY, wanted_by, &is_first);
    buf_add_byte(out, '}');
}

struct lease_view lease_record_view(const struct lease_record *record)
{
    return (struct lease_view){
        .name = record->meta.name,
        .namespace = record->meta.namespace,
        .uid = record->meta.uid,
        .resource_version = record->meta.resource_version,
        .labels = &record->meta.labels,
        .annotations = &record->meta.annotations,
        .holder = record->holder,
        .wanted_by = record->wanted_by,
        .duration_s = record->duration_s,
        .acquire_time = record->acquire_time,
        .renew_time = record->renew_time,
        .transitions = record->transitions,
    };
}

void lease_json_write(struct buf *out, const struct lease_view *lease)
{
    buf_add_text(out, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\"");
    buf_add_text(out, ",\"metadata\":{\"name\":");
    buf_add_json_string(out, lease->name);
    write_text(out, ",\"namespace\":", lease->namespace);
    write_text(out, ",\"uid\":", lease->uid);
    write_text(out, ",\"resourceVersion\":", lease->resource_version);
    write_pairs(out, "labels", lease->labels, NULL);
    write_pairs(out, "annotations", lease->annotations, lease->wanted_by);
    buf_add_text(out, "},\"spec\":{\"holderIdentity\":");
    buf_add_json_string(out, lease->holder);
    if (lease->duration_s != 0)
        buf_addf(out, ",\"leaseDurationSeconds\":%lld", lease->duration_s);
    write_text(out, ",\"acquireTime\":", lease->acquire_time);
    write_text(out, ",\"renewTime\":", lease->renew_time);
    buf_addf(out, ",\"leaseTransitions\":%lld}}", lease->transitions);
}
