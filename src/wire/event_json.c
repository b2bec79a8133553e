/* SPDX-License-Identifier: Apache-2.0 */
/* event_json - the Events that we write. */
#include "topofit/event_json.h"

#include "topofit/mem.h"
#include "topofit/moment.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STAMP_MAX_LENGTH 16 /* hexadecimal digits of 64 bits */
#define MICRO_DIGITS 6

const char *event_json_namespace(const struct event_subject *regarding)
{
    switch (regarding->kind) {
    case KUBE_NODE:
        return "default";
    case KUBE_POD:
    case KUBE_QUOTA:
        return regarding->namespace;
    }
    return "";
}

void event_json_name(const char *subject, uint64_t stamp, char name[EVENT_NAME_BYTES])
{
    size_t length = strnlen(subject, EVENT_NAME_BYTES - 1 - STAMP_MAX_LENGTH - 1);

    /* What stands before a dot must not end in one or in a hyphen; a cut may have left it so. */
    while (length > 0 && (subject[length - 1] == '.' || subject[length - 1] == '-'))
        length--;
    snprintf(name, EVENT_NAME_BYTES, "%.*s.%" PRIx64, (int)length, subject, stamp);
}

static void write_text(struct buf *out, const char *opening, const char *text)
{
    buf_add_text(out, opening);
    buf_add_json_string(out, text);
}

static void write_cut(struct buf *out, const char *opening, const char *text, size_t max_bytes)
{
    AUTO(buf_clear) struct buf cut = buf_with_max(max_bytes);

    buf_add_utf8(&cut, text, max_bytes);
    write_text(out, opening, buf_text(&cut));
}

static void write_time(struct buf *out, const char *opening, uint64_t unix_ms)
{
    char text[MOMENT_TEXT_BYTES];

    moment_write(unix_ms, MICRO_DIGITS, text);
    write_text(out, opening, text);
}

static void write_regarding(struct buf *out, const struct event_subject *regarding)
{
    bool has_namespace = regarding->kind != KUBE_NODE;

    buf_add_text(out, ",\"regarding\":{\"apiVersion\":\"v1\"");
    write_text(out, ",\"kind\":", kube_kind_name(regarding->kind));
    write_text(out, ",\"name\":", regarding->name);
    if (has_namespace)
        write_text(out, ",\"namespace\":", regarding->namespace);
    write_text(out, ",\"uid\":", regarding->uid);
    buf_add_byte(out, '}');
}

static void write_series(struct buf *out, const struct event_times *times)
{
    /* The API knows 32 bits, with a sign. */
    uint64_t count = times->count < INT32_MAX ? times->count : INT32_MAX;

    buf_addf(out, "\"series\":{\"count\":%" PRIu64, count);
    write_time(out, ",\"lastObservedTime\":", times->last_unix_ms);
    buf_add_byte(out, '}');
}

void event_json_write(struct buf *out, const struct cluster_event *event, const char *name,
                      const struct event_reporter *reporter, const struct event_times *times)
{
    buf_add_text(out, "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{");
    write_text(out, "\"name\":", name);
    write_text(out, ",\"namespace\":", event_json_namespace(&event->regarding));
    write_time(out, "},\"eventTime\":", times->first_unix_ms);
    write_text(out, ",\"reportingController\":", reporter->controller);
    write_cut(out, ",\"reportingInstance\":", reporter->instance, EVENT_WORD_MAX_BYTES);
    write_cut(out, ",\"action\":", event->action, EVENT_WORD_MAX_BYTES);
    write_cut(out, ",\"reason\":", event->reason, EVENT_WORD_MAX_BYTES);
    write_text(out, ",\"type\":", event->is_warning ? "Warning" : "Normal");
    write_regarding(out, &event->regarding);
    write_cut(out, ",\"note\":", event->note, EVENT_NOTE_MAX_BYTES);
    if (times->count > 1) {
        buf_add_byte(out, ',');
        write_series(out, times);
    }
    buf_add_byte(out, '}');
}

void event_json_write_series(struct buf *out, const struct event_times *times)
{
    assert(times->count >= 2);
    buf_add_byte(out, '{');
    write_series(out, times);
    buf_add_byte(out, '}');
}
