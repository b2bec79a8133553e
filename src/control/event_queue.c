/* SPDX-License-Identifier: Apache-2.0 */
/* event_queue - Events on their way to the API server. */
#include "topofit/event_queue.h"

#include "event_queue_inside.h"
#include "least.h"
#include "topofit/kube_path.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 5000u
#define TEXT_MAX_BYTES 512 /* of reason, action, uid */
#define KEY_MAX_BYTES 4096
#define BODY_MAX_BYTES 16384 /* a note may be written with six bytes for each of its own */
#define TOKEN 1000u          /* what a request takes out of the bucket */
#define NANOSECONDS_IN_MS 1000000u

static const struct backoff_limits RETRY_LIMITS = {1000, 60000, UINT64_MAX};

struct event_queue *event_queue_new(const struct event_queue_options *options)
{
    struct event_queue *queue = xcalloc(1, sizeof *queue);

    assert(options->burst > 0 && options->per_second > 0);
    queue->controller = xstrdup(options->controller);
    queue->instance = xstrdup(options->instance);
    queue->bucket = queue->bucket_max = (uint64_t)options->burst * TOKEN;
    queue->per_second = options->per_second;
    queue->jitter.state = options->seed;
    queue->due_ms = UINT64_MAX;
    queue->series = map_new(&options->key);
    queue->key = buf_with_max(KEY_MAX_BYTES);
    queue->note = buf_with_max(EVENT_NOTE_MAX_BYTES);
    queue->path = buf_with_max(API_PATH_BYTES_MAX);
    queue->body = buf_with_max(BODY_MAX_BYTES);
    return queue;
}

static void free_series(void *series)
{
    event_series_free(series);
}

void event_queue_free(struct event_queue *queue)
{
    if (queue == NULL)
        return;
    map_free(queue->series, free_series);
    buf_clear(&queue->key);
    buf_clear(&queue->note);
    buf_clear(&queue->path);
    buf_clear(&queue->body);
    free(queue->controller);
    free(queue->instance);
    free(queue);
}

const struct event_queue_counters *event_queue_counters(const struct event_queue *queue)
{
    return &queue->counters;
}

const char *event_queue_problem(const struct event_queue *queue)
{
    return queue->problem;
}

bool event_queue_is_idle(const struct event_queue *queue)
{
    return queue->counters.waiting == 0;
}

/* --- a series takes its steps ---------------------------------------------------------------- */

void event_queue_step(struct event_queue *queue, struct event_series *series, enum series_step to,
                      uint64_t due_ms)
{
    queue->counters.waiting -= series->step != SERIES_RESTING;
    queue->counters.waiting += to != SERIES_RESTING;
    series->step = to;
    series->due_ms = due_ms;
    if (due_ms < queue->due_ms)
        queue->due_ms = due_ms;
}

void event_queue_rest(struct event_queue *queue, struct event_series *series)
{
    event_queue_step(queue, series, SERIES_RESTING, event_series_rest_until_ms(series));
}

static void want_write(struct event_queue *queue, struct event_series *series, uint64_t due_ms)
{
    series->tries = 0;
    backoff_init(&series->backoff, &RETRY_LIMITS, jitter_between(&queue->jitter, 0, UINT64_MAX));
    event_queue_step(queue, series, SERIES_WAITING, due_ms);
}

void event_queue_forget(struct event_queue *queue, struct event_series *series)
{
    uint64_t untold = event_series_untold_in_all(series);

    queue->counters.dropped += untold;
    queue->counters.untold -= untold;
    event_queue_step(queue, series, SERIES_RESTING, UINT64_MAX);
    map_remove(queue->series, series->key);
    event_series_free(series);
    if (--queue->counters.keys == 0)
        queue->due_ms = UINT64_MAX;
}

/* A rest is over: there is something to tell, or the series has ended and is forgotten. */
static void wake(struct event_queue *queue, struct event_series *series, uint64_t now_ms)
{
    if (event_series_untold(series) > 0 || event_series_turn_to_next(series, now_ms))
        want_write(queue, series, now_ms);
    else
        event_queue_forget(queue, series);
}

/* --- events come in -------------------------------------------------------------------------- */

/* What the API server would refuse, or what could fill the memory, is no event. */
static bool is_acceptable(const struct cluster_event *event)
{
    const struct event_subject *subject = &event->regarding;
    const char *bounded[] = {event->reason, event->action, subject->uid};

    for (size_t i = 0; i < ARRAY_LEN(bounded); i++) {
        if (strlen(bounded[i]) > TEXT_MAX_BYTES)
            return false;
    }
    return event->reason[0] != '\0' && event->action[0] != '\0' &&
           kube_path_is_name(subject->name) && kube_path_is_name(event_json_namespace(subject));
}

/* source  client-go tools/events/event_recorder.go: the key has everything but the note. */
static const char *key_of(struct event_queue *queue, const struct cluster_event *event)
{
    const struct event_subject *subject = &event->regarding;

    buf_reset(&queue->key);
    buf_addf(&queue->key, "%d\n%d\n%s\n%s\n%s\n%s\n%s", event->is_warning, (int)subject->kind,
             event_json_namespace(subject), subject->name, subject->uid, event->action,
             event->reason);
    return buf_text(&queue->key);
}

/* Forget the series that has been at rest longest. return false when none is. */
static bool make_room(struct event_queue *queue)
{
    struct event_series *oldest = NULL;
    struct map_cursor at = {0};

    if (queue->counters.keys < EVENT_QUEUE_MAX)
        return true;
    if (queue->counters.waiting == EVENT_QUEUE_MAX)
        return false;
    while (map_next(queue->series, &at)) {
        struct event_series *series = at.value;

        if (series->step == SERIES_RESTING && (oldest == NULL || series->seen_ms < oldest->seen_ms))
            oldest = series;
    }
    event_queue_forget(queue, oldest);
    return true;
}

static struct event_series *find_or_make(struct event_queue *queue,
                                         const struct cluster_event *event, uint64_t now_ms)
{
    const char *key = key_of(queue, event);
    struct event_series *series = map_get(queue->series, key);

    if (series != NULL || !make_room(queue))
        return series;
    series = event_series_new(key, event);
    map_put(queue->series, key, series);
    queue->counters.keys++;
    want_write(queue, series, now_ms);
    return series;
}

void event_queue_add(struct event_queue *queue, const struct cluster_event *event,
                     struct moment now)
{
    struct event_series *series = NULL;

    queue->counters.added++;
    if (is_acceptable(event) && now.monotonic_ms >= queue->forbidden_until_ms)
        series = find_or_make(queue, event, now.monotonic_ms);
    if (series == NULL) {
        queue->counters.dropped++;
        return;
    }
    buf_reset(&queue->note);
    buf_add_utf8(&queue->note, event->note, EVENT_NOTE_MAX_BYTES);
    event_series_add(series, buf_text(&queue->note), now);
    queue->counters.untold++;
    if (series->step == SERIES_RESTING)
        event_queue_rest(queue, series);
}

/* --- requests go out ------------------------------------------------------------------------- */

static void fill_bucket(struct event_queue *queue, uint64_t now_ms)
{
    uint64_t room = queue->bucket_max - queue->bucket;
    uint64_t elapsed_ms = now_ms - queue->filled_ms;

    /* Tokens are thousandths of requests, so a millisecond brings per_second of them. */
    if (elapsed_ms > room / queue->per_second)
        queue->bucket = queue->bucket_max;
    else
        queue->bucket += elapsed_ms * queue->per_second;
    queue->filled_ms = now_ms;
}

static uint64_t bucket_ready_ms(const struct event_queue *queue)
{
    uint64_t missing = queue->bucket < TOKEN ? TOKEN - queue->bucket : 0;

    return queue->filled_ms + (missing + queue->per_second - 1) / queue->per_second;
}

/* Unique in this process, and hardly ever met by another one. */
static void name_event(struct event_queue *queue, struct event_series *series, uint64_t unix_ms)
{
    uint64_t stamp =
        unix_ms * NANOSECONDS_IN_MS + jitter_between(&queue->jitter, 0, NANOSECONDS_IN_MS - 1);

    if (stamp <= queue->last_stamp)
        stamp = queue->last_stamp + 1;
    queue->last_stamp = stamp;
    event_json_name(series->name, stamp, series->event_name);
}

static void start_post(struct event_queue *queue, struct event_series *series, uint64_t unix_ms,
                       struct api_request *out)
{
    const struct event_reporter reporter = {queue->controller, queue->instance};
    struct cluster_event event = event_series_event(series);

    if (series->event_name[0] == '\0')
        name_event(queue, series, unix_ms);
    out->method = "POST";
    kube_path_events(&queue->path, series->namespace, NULL);
    event_json_write(&queue->body, &event, series->event_name, &reporter, &series->sent);
}

static void start_patch(struct event_queue *queue, struct event_series *series,
                        struct api_request *out)
{
    out->method = "PATCH";
    out->content_type = EVENT_SERIES_PATCH_TYPE;
    kube_path_events(&queue->path, series->namespace, series->event_name);
    event_json_write_series(&queue->body, &series->sent);
}

static void start(struct event_queue *queue, struct event_series *series, struct moment now,
                  struct api_request *out)
{
    *out = (struct api_request){
        .id = ++queue->last_id,
        .timeout_ms = TIMEOUT_MS,
        .fresh_connection = series->last_was_lost,
    };
    /* An Event in doubt is sent as it was, so that its being there already tells what is there. */
    if (!series->in_doubt)
        series->sent = series->present.times;
    buf_reset(&queue->body);
    if (series->is_created)
        start_patch(queue, series, out);
    else
        start_post(queue, series, now.unix_ms, out);
    assert(!queue->body.overflowed && !queue->path.overflowed);
    out->path = buf_text(&queue->path);
    out->body = buf_text(&queue->body);
    out->body_length = queue->body.length;
    series->id = out->id;
    series->tries++;
    series->last_was_lost = false;
    event_queue_step(queue, series, SERIES_IN_FLIGHT, UINT64_MAX);
    queue->in_flight[queue->in_flight_count++] = series;
    queue->bucket -= TOKEN;
}

/* Wake what has rested enough. return the series that waits longest, or NULL when none is due. */
static struct event_series *look_through(struct event_queue *queue, uint64_t now_ms)
{
    struct event_series *first = NULL;
    struct map_cursor at = {0};

    while (map_next(queue->series, &at)) {
        struct event_series *series = at.value;

        if (series->step == SERIES_RESTING && series->due_ms <= now_ms)
            wake(queue, series, now_ms); /* it may be gone now */
    }
    queue->due_ms = UINT64_MAX;
    at = (struct map_cursor){0};
    while (map_next(queue->series, &at)) {
        struct event_series *series = at.value;

        if (series->step == SERIES_IN_FLIGHT || series->due_ms >= queue->due_ms)
            continue;
        queue->due_ms = series->due_ms;
        first = series;
    }
    return queue->due_ms <= now_ms ? first : NULL;
}

bool event_queue_next_request(struct event_queue *queue, struct moment now, struct api_request *out)
{
    struct event_series *series;

    fill_bucket(queue, now.monotonic_ms);
    if (now.monotonic_ms < event_queue_next_due_ms(queue))
        return false;
    series = look_through(queue, now.monotonic_ms);
    if (series == NULL)
        return false;
    start(queue, series, now, out);
    return true;
}

uint64_t event_queue_next_due_ms(const struct event_queue *queue)
{
    if (queue->in_flight_count == EVENT_IN_FLIGHT_MAX || queue->due_ms == UINT64_MAX)
        return UINT64_MAX;
    return most(most(queue->due_ms, queue->held_until_ms), bucket_ready_ms(queue));
}
