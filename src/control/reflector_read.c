/* SPDX-License-Identifier: Apache-2.0 */
/* reflector - keeps a copy of all objects of one kind: reading what arrives. */
#include "reflector_inside.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_MAX_BYTES (512u << 20) /* a page beyond this is no list of ours */

void reflector_take_item(void *ctx, struct kube_object *object)
{
    struct reflector *r = ctx;

    /* One without a name could never be changed or removed again. */
    if (kube_object_meta(object)->name[0] != '\0')
        r->options.sink.item(r->options.sink.ctx, object);
}

void reflector_read_list(struct reflector *r, const char *bytes, size_t length, uint64_t now_ms)
{
    struct error err = {0};

    if (r->body_bytes > PAGE_MAX_BYTES) {
        reflector_fail(r, LIST_ANEW, now_ms, "list of %s: a page is longer than %u MiB",
                       reflector_resource(r), PAGE_MAX_BYTES >> 20);
    } else if (kube_list_reader_feed(r->reader, bytes, length, &err) < 0) {
        reflector_fail(r, LIST_ANEW, now_ms, "list of %s: %s", reflector_resource(r), err.text);
    }
}

static void take_error(struct reflector *r, const struct kube_status *status, uint64_t now_ms)
{
    bool is_gone = status->code == 410 || strcmp(status->reason, "Expired") == 0 ||
                   strcmp(status->reason, "Gone") == 0;

    if (is_gone) {
        reflector_lose_position(r, now_ms, status->message);
        return;
    }
    if (status->retry_after_seconds > 0)
        r->retry_after_s = (unsigned)status->retry_after_seconds;
    reflector_fail(r, status->code == 429 && r->stage == WATCHING ? WATCH_ON : LIST_ANEW, now_ms,
                   "watch of %s: %d %s: %s", reflector_resource(r), status->code, status->reason,
                   status->message);
}

/* The copy is complete, and the stream goes on as a watch. */
static void end_streamed_list(struct reflector *r, const char *version)
{
    reflector_commit_list(r, xstrdup(version));
    r->stage = WATCHING;
}

static void take_listed_object(struct reflector *r, struct kube_event *event, uint64_t now_ms)
{
    const struct kube_meta *meta = kube_object_meta(&event->object);

    if (event->type == KUBE_BOOKMARK && event->initial_events_end && meta->resource_version[0])
        end_streamed_list(r, meta->resource_version);
    else if (event->type == KUBE_DELETED)
        reflector_list_in_pages(r, now_ms);
    else if (event->type != KUBE_BOOKMARK)
        reflector_take_item(r, &event->object);
}

static void take_object(struct reflector *r, struct kube_event *event)
{
    const struct reflector_sink *sink = &r->options.sink;
    const struct kube_meta *meta = kube_object_meta(&event->object);
    /* Taken before the sink, which may move the strings away. */
    AUTO_FREE char *version = xstrdup(meta->resource_version);

    if (event->type != KUBE_BOOKMARK) {
        r->counters.events++;
        (event->type == KUBE_DELETED ? sink->remove : sink->upsert)(sink->ctx, &event->object);
    }
    r->watch_events++;
    reflector_prove(r);
    if (version[0] != '\0') {
        free(r->version);
        r->version = steal_ptr(&version);
    }
}

static void take_event(struct reflector *r, struct kube_event *event, uint64_t now_ms)
{
    switch (event->type) {
    case KUBE_ADDED:
    case KUBE_MODIFIED:
    case KUBE_DELETED:
        if (kube_object_meta(&event->object)->name[0] == '\0') {
            reflector_fail(r, LIST_ANEW, now_ms, "watch of %s: an event without a name",
                           reflector_resource(r));
            return;
        }
        __attribute__((fallthrough));
    case KUBE_BOOKMARK:
        if (r->stage == STREAMING)
            take_listed_object(r, event, now_ms);
        else
            take_object(r, event);
        break;
    case KUBE_ERROR:
        take_error(r, &event->status, now_ms);
        return;
    case KUBE_EVENT_OTHER:
        return;
    }
}

static void read_event(struct reflector *r, const char *line, size_t length, uint64_t now_ms)
{
    AUTO(kube_event_clear) struct kube_event event = {0};
    struct error err = {0};

    if (kube_json_read_event(r->options.kind, line, length, &event, &err) < 0) {
        reflector_fail(r, LIST_ANEW, now_ms, "watch of %s: an unreadable event: %s",
                       reflector_resource(r), err.text);
        return;
    }
    take_event(r, &event, now_ms);
}

void reflector_read_watch(struct reflector *r, const char *bytes, size_t length, uint64_t now_ms)
{
    enum watch_step step = WATCH_NEEDS_BYTES;
    const char *line;
    size_t line_length;

    while (r->exchange == READING && (step = watch_stream_next(&r->stream, &bytes, &length, &line,
                                                               &line_length)) == WATCH_LINE)
        read_event(r, line, line_length, now_ms);
    if (step == WATCH_TOO_LONG) {
        reflector_fail(r, LIST_ANEW, now_ms, "watch of %s: an event is longer than %u MiB",
                       reflector_resource(r), EVENT_MAX_BYTES >> 20);
    }
}
