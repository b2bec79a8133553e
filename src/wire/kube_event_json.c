/* SPDX-License-Identifier: Apache-2.0 */
/* kube_event_json - watch events, and the Status that stands in for an object when a call fails. */
#include "kube_reading.h"
#include "topofit/mem.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

struct event_reading {
    struct kube_reading reading; /* first: ctx of the object's shape */
    enum kube_kind kind;
    struct kube_event event;
    bool has_type, has_object;
};

void kube_event_clear(struct kube_event *event)
{
    kube_object_clear(&event->object);
    *event = (struct kube_event){0};
}

static void clear_event_reading(struct event_reading *reading)
{
    kube_reading_clear(&reading->reading);
    kube_event_clear(&reading->event);
}

/* --- Status ---------------------------------------------------------------------------------- */

enum { TEXT_REASON, TEXT_MESSAGE, TEXT_CAUSE };

static const struct {
    size_t offset, size;
} texts[] = {
    [TEXT_REASON] = {offsetof(struct kube_status, reason),
                     sizeof(((struct kube_status *)0)->reason)},
    [TEXT_MESSAGE] = {offsetof(struct kube_status, message),
                      sizeof(((struct kube_status *)0)->message)},
    [TEXT_CAUSE] = {offsetof(struct kube_status, cause), sizeof(((struct kube_status *)0)->cause)},
};

static int take_text(void *ctx, const struct json_value *value, struct error *err)
{
    struct event_reading *reading = ctx;
    char *out = (char *)&reading->event.status + texts[value->slot].offset;
    size_t room = texts[value->slot].size - 1;
    size_t length = value->length < room ? value->length : room;

    (void)err;
    memcpy(out, value->text, length);
    out[length] = '\0';
    return 0;
}

static int take_number(void *ctx, const struct json_value *value, struct error *err)
{
    struct event_reading *reading = ctx;
    long long number = 0;

    if (json_value_int(value, 0, INT_MAX, &number, err) < 0)
        return -(int)err->code;
    *(int *)((char *)&reading->event.status + value->slot) = (int)number;
    return 0;
}

/* "status" of a Status is a word, where that of a pod is an object. */
static int ignore(void *ctx, const struct json_value *value, struct error *err)
{
    (void)ctx, (void)value, (void)err;
    return 0;
}

#define NUMBER(member) .on_value = take_number, .slot = offsetof(struct kube_status, member)
#define TEXT(which) .on_value = take_text, .slot = (which)

static const struct json_field cause_shape[] = {{.key = "reason", TEXT(TEXT_CAUSE)}, {0}};
static const struct json_field causes_shape[] = {{.key = JSON_ELEMENT, .shape = cause_shape}, {0}};

static const struct json_field details_shape[] = {
    {.key = "causes", .shape = causes_shape},
    {.key = "retryAfterSeconds", NUMBER(retry_after_seconds)},
    {0},
};

static const struct json_field status_shape[] = {
    {.key = "reason", TEXT(TEXT_REASON)},
    {.key = "message", TEXT(TEXT_MESSAGE), .accepts_nul = true},
    {.key = "code", NUMBER(code)},
    {.key = "details", .shape = details_shape},
    {0},
};

int kube_json_read_status(const char *bytes, size_t length, struct kube_status *out,
                          struct error *err)
{
    struct event_reading reading = {0};

    if (json_read(status_shape, &reading, bytes, length, err) < 0)
        return -(int)err->code;
    *out = reading.event.status;
    return 0;
}

/* --- events ---------------------------------------------------------------------------------- */

static enum kube_event_type type_of(const struct json_value *value)
{
    static const struct {
        const char *word;
        enum kube_event_type type;
    } types[] = {
        {"ADDED", KUBE_ADDED},       {"MODIFIED", KUBE_MODIFIED}, {"DELETED", KUBE_DELETED},
        {"BOOKMARK", KUBE_BOOKMARK}, {"ERROR", KUBE_ERROR},
    };

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (strlen(types[i].word) == value->length &&
            memcmp(types[i].word, value->text, value->length) == 0)
            return types[i].type;
    }
    return KUBE_EVENT_OTHER;
}

static int take_type(void *ctx, const struct json_value *value, struct error *err)
{
    struct event_reading *reading = ctx;

    if (value->type != JSON_STRING_TEXT)
        return error_set(err, ERR_INVALID, "\"type\": a string was expected");
    reading->event.type = type_of(value);
    reading->has_type = true;
    return 0;
}

static int begin_object(void *ctx, const char *key, struct error *err)
{
    struct event_reading *reading = ctx;

    (void)key, (void)err;
    kube_object_clear(&reading->event.object);
    kube_reading_begin_object(&reading->reading, &reading->event.object, reading->kind);
    reading->has_object = true;
    return 0;
}

static int end_object(void *ctx, struct error *err)
{
    struct event_reading *reading = ctx;

    (void)err;
    kube_reading_end(&reading->reading);
    return 0;
}

/* What "object" holds depends on "type", which may come later: one shape for all it can be. */
static const struct json_field pod_or_status_shape[] = {
    {.key = "kind", .on_value = kube_reading_take_kind},
    {.key = "metadata", .shape = kube_meta_shape},
    {.key = "spec", .shape = kube_pod_spec_shape},
    {.key = "status", .shape = kube_pod_status_shape, .on_value = ignore},
    {.key = "reason", TEXT(TEXT_REASON)},
    {.key = "message", TEXT(TEXT_MESSAGE), .accepts_nul = true},
    {.key = "code", NUMBER(code)},
    {.key = "details", .shape = details_shape},
    {0},
};

static const struct json_field node_or_status_shape[] = {
    {.key = "kind", .on_value = kube_reading_take_kind},
    {.key = "metadata", .shape = kube_meta_shape},
    {.key = "spec", .shape = kube_node_spec_shape},
    {.key = "status", .shape = kube_node_status_shape, .on_value = ignore},
    {.key = "reason", TEXT(TEXT_REASON)},
    {.key = "message", TEXT(TEXT_MESSAGE), .accepts_nul = true},
    {.key = "code", NUMBER(code)},
    {.key = "details", .shape = details_shape},
    {0},
};

static const struct json_field quota_or_status_shape[] = {
    {.key = "kind", .on_value = kube_reading_take_kind},
    {.key = "metadata", .shape = kube_meta_shape},
    {.key = "spec", .shape = kube_quota_spec_shape},
    {.key = "reason", TEXT(TEXT_REASON)},
    {.key = "message", TEXT(TEXT_MESSAGE), .accepts_nul = true},
    {.key = "code", NUMBER(code)},
    {.key = "details", .shape = details_shape},
    {0},
};

#define OBJECT(of) .key = "object", .shape = of, .on_begin = begin_object, .on_end = end_object

static const struct json_field pod_event_shape[] = {
    {.key = "type", .on_value = take_type},
    {OBJECT(pod_or_status_shape)},
    {0},
};

static const struct json_field node_event_shape[] = {
    {.key = "type", .on_value = take_type},
    {OBJECT(node_or_status_shape)},
    {0},
};

static const struct json_field quota_event_shape[] = {
    {.key = "type", .on_value = take_type},
    {OBJECT(quota_or_status_shape)},
    {0},
};

static const struct json_field *const event_shapes[KUBE_KINDS] = {
    [KUBE_NODE] = node_event_shape, [KUBE_POD] = pod_event_shape, [KUBE_QUOTA] = quota_event_shape};

static int check_bookmark(struct event_reading *reading, struct error *err)
{
    const struct kube_meta *meta = kube_object_meta(&reading->event.object);
    const char *end = kube_pairs_get(&meta->annotations, "k8s.io/initial-events-end");

    if (meta->resource_version[0] == '\0')
        return error_set(err, ERR_INVALID, "a BOOKMARK without a resourceVersion");
    reading->event.initial_events_end = end != NULL && strcmp(end, "true") == 0;
    return 0;
}

static int check_event(struct event_reading *reading, struct error *err)
{
    if (!reading->has_type || !reading->has_object)
        return error_set(err, ERR_INVALID, "an event has a type and an object");
    switch (reading->event.type) {
    case KUBE_ADDED:
    case KUBE_MODIFIED:
    case KUBE_DELETED:
        return kube_reading_check(&reading->reading, err);
    case KUBE_BOOKMARK:
        return check_bookmark(reading, err);
    case KUBE_ERROR:
    case KUBE_EVENT_OTHER:
        break;
    }
    return 0;
}

int kube_json_read_event(enum kube_kind kind, const char *bytes, size_t length,
                         struct kube_event *out, struct error *err)
{
    AUTO(clear_event_reading) struct event_reading reading = {.kind = kind};

    if (!json_read_plain(event_shapes[kind], &reading, bytes, length)) {
        clear_event_reading(&reading);
        reading = (struct event_reading){.kind = kind};
        if (json_read(event_shapes[kind], &reading, bytes, length, err) < 0)
            return -(int)err->code;
    }
    if (check_event(&reading, err) < 0)
        return -(int)err->code;
    kube_event_clear(out);
    *out = reading.event;
    reading.event = (struct kube_event){0};
    return 0;
}
