/* SPDX-License-Identifier: Apache-2.0 */
/* event_queue_answer - what the API server's answers say about an Event. */
#include "event_queue_inside.h"
#include "least.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define TRIES_MAX 12 /* requests for one write; source: client-go, maxTriesPerEvent */
#define FORBIDDEN_MS 60000u
#define RETRY_AFTER_MAX_S 300u /* a proxy may ask for a day */

/* --- answers come in ------------------------------------------------------------------------- */

/* What follows from a refusal. */
enum verdict {
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

static enum verdict judge(const struct event_series *series, const struct api_refusal *refusal)
{
    const struct kube_status *status = &refusal->status;

    if (!refusal->is_servers_own) /* a proxy: what the server would say is not known */
        return EVENT_TRY_AGAIN;
    switch (status->code) {
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
    queue->problem[0] = '\0';
    queue->lacks_rights = false;
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
    event_queue_rest(queue, series);
}

static void try_again(struct event_queue *queue, struct event_series *series, uint64_t now_ms)
{
    if (series->tries >= TRIES_MAX) {
        event_queue_forget(queue, series);
        return;
    }
    /* One that surely is not there needs no name, and may still tell a newer note. */
    if (!series->is_created && !series->in_doubt)
        event_series_unname(series);
    event_queue_step(queue, series, SERIES_WAITING,
                     now_ms + backoff_next_ms(&series->backoff, now_ms));
}

static void make_anew(struct event_queue *queue, struct event_series *series, uint64_t now_ms)
{
    series->is_created = false;
    event_series_unname(series);
    event_queue_step(queue, series, SERIES_WAITING, now_ms);
}

/* An Event in doubt that is there already is ours: the answer to its first POST was lost. */
static void take_name_met(struct event_queue *queue, struct event_series *series, uint64_t now_ms)
{
    if (series->in_doubt) {
        take_success(queue, series, now_ms);
    } else if (series->was_renamed) {
        event_queue_forget(queue, series);
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
    event_queue_forget(queue, series);
    while (map_next(queue->series, &at)) {
        struct event_series *other = at.value;

        if (other->step != SERIES_IN_FLIGHT)
            event_queue_forget(queue, other);
    }
}

/*
 * What keeps Events from being written. The first that did so is told until one is written, and not
 * which Event it was: people want to know of a cause, once. Only a want of rights says more.
 */
static void note_problem(struct event_queue *queue, const char *what, const char *why)
{
    if (queue->problem[0] == '\0')
        snprintf(queue->problem, sizeof queue->problem, "Events cannot be written: %s%s", what,
                 why);
}

static void note_missing_rights(struct event_queue *queue, const char *why)
{
    if (!queue->lacks_rights)
        snprintf(queue->problem, sizeof queue->problem,
                 "Events cannot be written: HTTP 403: %s; give our account the verbs create and "
                 "patch on events in events.k8s.io",
                 why);
    queue->lacks_rights = true;
}

static void note_refusal(struct event_queue *queue, int http_status,
                         const struct kube_status *status, enum verdict verdict)
{
    char what[32];

    queue->counters.errors++;
    snprintf(what, sizeof what, "HTTP %d: ", http_status);
    if (verdict == EVENT_FORBIDDEN)
        note_missing_rights(queue, status->message);
    else if (verdict == EVENT_TRY_AGAIN)
        note_problem(queue, what, status->message);
}

/* The server has more to do than it can: everything waits, not this Event alone. */
static void hold(struct event_queue *queue, unsigned retry_after_s, uint64_t now_ms)
{
    uint64_t wait_s = least(retry_after_s, RETRY_AFTER_MAX_S);

    queue->held_until_ms = most(queue->held_until_ms, now_ms + wait_s * 1000);
}

static void take_failure(struct event_queue *queue, struct event_series *series,
                         const struct api_refusal *refusal, uint64_t now_ms)
{
    hold(queue, refusal->retry_after_s, now_ms);
    if (!series->is_created && refusal->fate == API_IN_DOUBT)
        series->in_doubt = true;
    try_again(queue, series, now_ms);
}

static void take_refusal(struct event_queue *queue, struct event_series *series,
                         const struct api_answer *answer, uint64_t now_ms)
{
    struct api_refusal refusal;
    enum verdict verdict;

    api_answer_judge(answer, &refusal);
    verdict = judge(series, &refusal);
    note_refusal(queue, answer->status, &refusal.status, verdict);
    switch (verdict) {
    case EVENT_TRY_AGAIN:
        take_failure(queue, series, &refusal, now_ms);
        break;
    case EVENT_ANEW:
        make_anew(queue, series, now_ms);
        break;
    case EVENT_NAME_MET:
        take_name_met(queue, series, now_ms);
        break;
    case EVENT_REFUSED:
        event_queue_forget(queue, series);
        break;
    case EVENT_FORBIDDEN:
        take_forbidden(queue, series, now_ms);
        break;
    }
}

void event_queue_on_answer(struct event_queue *queue, uint64_t id, const struct api_answer *answer,
                           uint64_t now_ms)
{
    struct event_series *series = take_from_flight(queue, id);

    if (series == NULL)
        return;
    if (api_answer_is_ok(answer))
        take_success(queue, series, now_ms);
    else
        take_refusal(queue, series, answer, now_ms);
}

void event_queue_on_loss(struct event_queue *queue, uint64_t id, bool was_sent, const char *why,
                         uint64_t now_ms)
{
    struct event_series *series = take_from_flight(queue, id);

    if (series == NULL)
        return;
    queue->counters.errors++;
    note_problem(queue, "", why);
    series->last_was_lost = true;
    if (was_sent && !series->is_created)
        series->in_doubt = true;
    try_again(queue, series, now_ms);
}
