/* SPDX-License-Identifier: Apache-2.0 */
/* event_queue - Events on their way to the API server. */
#include "topofit/event_queue.h"

#include "event_series.h"
#include "topofit/error.h"
#include "topofit/jitter.h"
#include "topofit/kube_path.h"
#include "topofit/map.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 5000u
#define TRIES_MAX 12 /* requests for one write; source: client-go, maxTriesPerEvent */
#define FORBIDDEN_MS 60000u
#define RETRY_AFTER_MAX_S 300u /* a proxy may ask for a day */
#define TEXT_MAX_BYTES 512     /* of reason, action, uid */
#define KEY_MAX_BYTES 4096
#define PATH_MAX_BYTES 2048
#define BODY_MAX_BYTES 16384 /* a note may be written with six bytes for each of its own */
#define TOKEN 1000u          /* what a request takes out of the bucket */
#define NANOSECONDS_IN_MS 1000000u

static const struct backoff_limits RETRY_LIMITS = {1000, 60000, UINT64_MAX};

struct event_queue {
    char *controller, *instance;
    struct map *series; /* by key */
    struct event_series *in_flight[EVENT_IN_FLIGHT_MAX];
    size_t in_flight_count;
    uint64_t due_ms;             /* no series at rest or waiting is due before */
    uint64_t held_until_ms;      /* nothing is sent before: the server asked for it */
    uint64_t forbidden_until_ms; /* nothing is taken in before */
    uint64_t bucket, bucket_max, per_second, filled_ms;
    uint64_t last_id, last_stamp;
    struct jitter jitter;
    struct buf key, note, path, body;
    char problem[ERROR_TEXT_MAX];
    struct event_queue_counters counters;
};

struct event_queue *event_queue_new(const struct event_queue_options *options)
{
    struct event_queue *queue = xcalloc(1, sizeof *queue);
    struct hash_key key;

    assert(options->burst > 0 && options->per_second > 0);
    queue->controller = xstrdup(options->controller);
    queue->instance = xstrdup(options->instance);
    queue->bucket = queue->bucket_max = (uint64_t)options->burst * TOKEN;
    queue->per_second = options->per_second;
    queue->jitter.state = options->seed;
    queue->due_ms = UINT64_MAX;
    for (size_t i = 0; i < ARRAY_LEN(key.word); i++)
        key.word[i] = jitter_between(&queue->jitter, 0, UINT64_MAX);
    queue->series = map_new(&key);
    queue->key = buf_with_max(KEY_MAX_BYTES);
    queue->note = buf_with_max(EVENT_NOTE_MAX_BYTES);
    queue->path = buf_with_max(PATH_MAX_BYTES);
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

static void step(struct event_queue *queue, struct event_series *series, enum series_step to,
                 uint64_t due_ms)
{
    queue->counters.waiting -= series->step != SERIES_RESTING;
    queue->counters.waiting += to != SERIES_RESTING;
    series->step = to;
    series->due_ms = due_ms;
    if (due_ms < queue->due_ms)
        queue->due_ms = due_ms;
}

static void rest(struct event_queue *queue, struct event_series *series)
{
    step(queue, series, SERIES_RESTING, event_series_rest_until_ms(series));
}

static void want_write(struct event_queue *queue, struct event_series *series, uint64_t due_ms)
{
    series->tries = 0;
    backoff_init(&series->backoff, &RETRY_LIMITS, jitter_between(&queue->jitter, 0, UINT64_MAX));
    step(queue, series, SERIES_WAITING, due_ms);
}

/* The series is gone afterwards. What it did not tell is lost. */
static void forget(struct event_queue *queue, struct event_series *series)
{
    uint64_t untold = event_series_untold_in_all(series);

    queue->counters.dropped += untold;
    queue->counters.untold -= untold;
    step(queue, series, SERIES_RESTING, UINT64_MAX);
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
        forget(queue, series);
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
    forget(queue, oldest);
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
        rest(queue, series);
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
    step(queue, series, SERIES_IN_FLIGHT, UINT64_MAX);
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

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t event_queue_next_due_ms(const struct event_queue *queue)
{
    if (queue->in_flight_count == EVENT_IN_FLIGHT_MAX || queue->due_ms == UINT64_MAX)
        return UINT64_MAX;
    return most(most(queue->due_ms, queue->held_until_ms), bucket_ready_ms(queue));
}

/* --- answers come in ------------------------------------------------------------------------- */

enum verdict {
    EVENT_WRITTEN,
    EVENT_TRY_AGAIN,
    EVENT_ANEW,     /* the Event to be counted is gone: make it anew */
    EVENT_NAME_MET, /* there is an Event of that name */
    EVENT_REFUSED,  /* this one, for good */
    EVENT_FORBIDDEN /* every one, until our rights change */
};

static enum verdict judge_forbidden(const struct kube_status *status)
{
    return strcmp(status->cause, "NamespaceTerminating") == 0 ? EVENT_REFUSED : EVENT_FORBIDDEN;
}

static enum verdict judge_conflict(const struct event_series *series,
                                   const struct kube_status *status)
{
    bool is_met = !series->is_created && strcmp(status->reason, "AlreadyExists") == 0;

    return is_met ? EVENT_NAME_MET : EVENT_TRY_AGAIN;
}

static enum verdict judge(const struct event_series *series, const struct api_answer *answer,
                          const struct kube_status *status)
{
    if (api_answer_is_ok(answer))
        return EVENT_WRITTEN;
    if (status->code != answer->status) /* a proxy: what the server would say is not known */
        return EVENT_TRY_AGAIN;
    switch (answer->status) {
    case 403:
        return judge_forbidden(status);
    case 404:
        return series->is_created ? EVENT_ANEW : EVENT_REFUSED;
    case 409:
        return judge_conflict(series, status);
    case 400:
    case 405:
    case 413:
    case 415:
    case 422:
        return EVENT_REFUSED;
    default:
        return EVENT_TRY_AGAIN;
    }
}

static struct event_series *take_from_flight(struct event_queue *queue, uint64_t id)
{
    for (size_t i = 0; i < queue->in_flight_count; i++) {
        struct event_series *series = queue->in_flight[i];

        if (series->id != id)
            continue;
        queue->in_flight[i] = queue->in_flight[--queue->in_flight_count];
        return series;
    }
    return NULL;
}

static void take_success(struct event_queue *queue, struct event_series *series, uint64_t now_ms)
{
    uint64_t told = series->sent.count - series->told;

    assert(told > 0);
    queue->counters.written++;
    queue->counters.folded += told - 1;
    queue->counters.untold -= told;
    series->told = series->sent.count;
    series->written_ms = now_ms;
    if (!series->is_created)
        series->created_ms = now_ms;
    series->is_created = true;
    series->in_doubt = false;
    series->was_renamed = false;
    rest(queue, series);
}

static void try_again(struct event_queue *queue, struct event_series *series, uint64_t now_ms)
{
    if (series->tries >= TRIES_MAX) {
        forget(queue, series);
        return;
    }
    /* One that surely is not there needs no name, and may still tell a newer note. */
    if (!series->is_created && !series->in_doubt)
        event_series_unname(series);
    step(queue, series, SERIES_WAITING, now_ms + backoff_next_ms(&series->backoff, now_ms));
}

static void make_anew(struct event_queue *queue, struct event_series *series, uint64_t now_ms)
{
    series->is_created = false;
    event_series_unname(series);
    step(queue, series, SERIES_WAITING, now_ms);
}

/* An Event in doubt that is there already is ours: the answer to its first POST was lost. */
static void take_name_met(struct event_queue *queue, struct event_series *series, uint64_t now_ms)
{
    if (series->in_doubt) {
        take_success(queue, series, now_ms);
    } else if (series->was_renamed) {
        forget(queue, series);
    } else {
        series->was_renamed = true;
        make_anew(queue, series, now_ms);
    }
}

/* Nothing but what is in flight is kept: a request would only be refused as well. */
static void take_forbidden(struct event_queue *queue, struct event_series *series, uint64_t now_ms)
{
    struct map_cursor at = {0};

    queue->counters.forbidden++;
    queue->forbidden_until_ms = now_ms + FORBIDDEN_MS;
    queue->held_until_ms = most(queue->held_until_ms, queue->forbidden_until_ms);
    forget(queue, series);
    while (map_next(queue->series, &at)) {
        struct event_series *other = at.value;

        if (other->step != SERIES_IN_FLIGHT)
            forget(queue, other);
    }
}

static void note_refusal(struct event_queue *queue, const struct event_series *series,
                         const struct api_answer *answer, const struct kube_status *status)
{
    queue->counters.errors++;
    snprintf(queue->problem, sizeof queue->problem, "Event %s of %s/%s: HTTP %d: %s%s",
             series->reason, series->namespace, series->name, answer->status, status->message,
             answer->status == 403 && judge_forbidden(status) == EVENT_FORBIDDEN
                 ? "; give our account the verbs create and patch on events in events.k8s.io"
                 : "");
}

/* The server has more to do than it can: everything waits, not this Event alone. */
static void hold(struct event_queue *queue, const struct api_answer *answer,
                 const struct kube_status *status, uint64_t now_ms)
{
    uint64_t wait_s = most(answer->retry_after_s, (uint64_t)status->retry_after_seconds);

    if (wait_s > RETRY_AFTER_MAX_S)
        wait_s = RETRY_AFTER_MAX_S;
    queue->held_until_ms = most(queue->held_until_ms, now_ms + wait_s * 1000);
}

static void take_failure(struct event_queue *queue, struct event_series *series,
                         const struct api_answer *answer, const struct kube_status *status,
                         uint64_t now_ms)
{
    bool was_refused_early = answer->status == 401 || answer->status == 429;
    bool is_certain = answer->status / 100 == 4 && status->code == answer->status;

    hold(queue, answer, status, now_ms);
    if (!series->is_created && !is_certain && !was_refused_early)
        series->in_doubt = true;
    try_again(queue, series, now_ms);
}

void event_queue_on_answer(struct event_queue *queue, uint64_t id, const struct api_answer *answer,
                           uint64_t now_ms)
{
    struct event_series *series = take_from_flight(queue, id);
    struct kube_status status = {0};
    enum verdict verdict;

    if (series == NULL)
        return;
    if (!api_answer_is_ok(answer)) {
        api_answer_read_status(answer, &status);
        note_refusal(queue, series, answer, &status);
    }
    verdict = judge(series, answer, &status);
    switch (verdict) {
    case EVENT_WRITTEN:
        take_success(queue, series, now_ms);
        break;
    case EVENT_TRY_AGAIN:
        take_failure(queue, series, answer, &status, now_ms);
        break;
    case EVENT_ANEW:
        make_anew(queue, series, now_ms);
        break;
    case EVENT_NAME_MET:
        take_name_met(queue, series, now_ms);
        break;
    case EVENT_REFUSED:
        forget(queue, series);
        break;
    case EVENT_FORBIDDEN:
        take_forbidden(queue, series, now_ms);
        break;
    }
}

void event_queue_on_loss(struct event_queue *queue, uint64_t id, bool was_sent, const char *why,
                         uint64_t now_ms)
{
    struct event_series *series = take_from_flight(queue, id);

    if (series == NULL)
        return;
    queue->counters.errors++;
    snprintf(queue->problem, sizeof queue->problem, "Event %s of %s/%s: %s", series->reason,
             series->namespace, series->name, why);
    series->last_was_lost = true;
    if (was_sent && !series->is_created)
        series->in_doubt = true;
    try_again(queue, series, now_ms);
}
