/* SPDX-License-Identifier: Apache-2.0 */
/* binder - writes Bindings and finds out what became of them. */
#include "topofit/binder.h"

#include "binder_inside.h"
#include "least.h"
#include "topofit/backoff.h"
#include "topofit/buf.h"
#include "topofit/kube_json.h"
#include "topofit/kube_path.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS_MAX 16         /* Bindings sent for one job */
#define ATTEMPT_MIN_MS 500u     /* shortest time given to a request, the deadline permitting */
#define POST_MIN_MS 100u        /* shortest time of a Binding that is worth to be sent */
#define SETTLE_TIMEOUT_MS 5000u /* of a look at a pod whose job is unclear */

static const struct backoff_limits RETRY_LIMITS = {50, 1000, 10000};

struct binder *binder_new(size_t jobs_max, uint64_t seed)
{
    struct binder *binder = xcalloc(1, sizeof *binder);

    assert(jobs_max > 0);
    binder->attempts = xcalloc(2 * jobs_max, sizeof *binder->attempts);
    binder->jobs_max = jobs_max;
    binder->permitted_until_ms = UINT64_MAX;
    binder->jitter.state = seed;
    binder->path = buf_with_max(API_PATH_BYTES_MAX);
    return binder;
}

size_t binder_in_flight(const struct binder *binder)
{
    return binder->attempt_count;
}

size_t binder_settling(const struct binder *binder)
{
    return binder->settling_count;
}

const struct binder_counters *binder_counters(const struct binder *binder)
{
    return &binder->counters;
}

/* --- the end of a job ------------------------------------------------------------------------ */

static void count_outcome(struct binder *binder, const struct attempt *attempt,
                          enum bind_outcome outcome)
{
    uint64_t *const counts[] = {
        [BIND_BOUND] = &binder->counters.bound,
        [BIND_FAILED] = &binder->counters.failed,
        [BIND_UNCLEAR] = &binder->counters.unclear,
    };

    if (!attempt->is_settling) {
        (*counts[outcome])++;
        return;
    }
    binder->settling_count--;
    binder->counters.settled += outcome != BIND_UNCLEAR;
}

/* The attempt is gone afterwards: its place is taken by those behind it. */
void binder_finish(struct binder *binder, struct attempt *attempt, enum bind_outcome outcome,
                   const char *text)
{
    size_t index = (size_t)(attempt - binder->attempts);
    struct bind_job *job = attempt->job;
    struct buf body = attempt->body;
    bool is_settling = attempt->is_settling;
    char copy[ERROR_TEXT_MAX];

    snprintf(copy, sizeof copy, "%s", text);
    count_outcome(binder, attempt, outcome);
    binder->attempt_count--;
    memmove(attempt, attempt + 1, (binder->attempt_count - index) * sizeof *attempt);
    if (!is_settling)
        job->done(job->ctx, outcome, copy);
    if (job->settled != NULL && (is_settling || outcome == BIND_UNCLEAR))
        job->settled(job->ctx, outcome);
    bind_job_free(job);
    buf_clear(&body);
}

/*
 * The caller stops waiting, we do not: look at the pod until it is known what became of it. Where
 * too many are looked at already, the watch has to tell.
 */
static void settle(struct binder *binder, struct attempt *attempt, const char *text,
                   uint64_t now_ms)
{
    char copy[ERROR_TEXT_MAX];

    snprintf(copy, sizeof copy, "%s", text);
    if (binder->settling_count == binder->jobs_max) {
        binder_finish(binder, attempt, BIND_UNCLEAR, copy);
        return;
    }
    count_outcome(binder, attempt, BIND_UNCLEAR);
    binder->settling_count++;
    attempt->in_doubt = true; /* also of a Binding whose answer is still awaited */
    attempt->is_settling = true;
    attempt->step = GET_WANTED;
    attempt->send_at_ms = now_ms + backoff_next_ms(&attempt->backoff, now_ms);
    attempt->job->done(attempt->job->ctx, BIND_UNCLEAR, copy);
}

void binder_finish_failed(struct binder *binder, struct attempt *attempt, const char *format, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    binder_finish(binder, attempt, BIND_FAILED, text);
}

static bool is_in_doubt(const struct attempt *attempt)
{
    return attempt->in_doubt || attempt->is_unexplained || attempt->step == POST_SENT;
}

static void describe_end(const struct attempt *attempt, const char *why, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s%s",
             is_in_doubt(attempt) ? "it is not known whether the pod is bound: " : "",
             attempt->problem, attempt->problem[0] != '\0' ? "; " : "", why);
}

/* No more time or attempts. Without any doubt the pod is not bound by us. */
static void give_up(struct binder *binder, struct attempt *attempt, const char *why,
                    uint64_t now_ms)
{
    char text[ERROR_TEXT_MAX];

    describe_end(attempt, why, text, sizeof text);
    if (is_in_doubt(attempt))
        settle(binder, attempt, text, now_ms);
    else
        binder_finish(binder, attempt, BIND_FAILED, text);
}

void binder_free(struct binder *binder)
{
    if (binder == NULL)
        return;
    while (binder->attempt_count > 0) {
        struct attempt *attempt = &binder->attempts[0];
        char text[ERROR_TEXT_MAX];

        describe_end(attempt, "topofit is stopping", text, sizeof text);
        binder_finish(binder, attempt, is_in_doubt(attempt) ? BIND_UNCLEAR : BIND_FAILED, text);
    }
    buf_clear(&binder->path);
    free(binder->attempts);
    free(binder);
}

/* --- submitting ------------------------------------------------------------------------------ */

int binder_check_names(const struct bind_job *job, struct error *err)
{
    if (!kube_path_is_name(job->namespace) || !kube_path_is_name(job->name))
        return error_set(err, ERR_INVALID, "not the name of a pod: \"%.80s/%.80s\"", job->namespace,
                         job->name);
    if (!kube_path_is_name(job->node))
        return error_set(err, ERR_INVALID, "not the name of a node: \"%.80s\"", job->node);
    if (job->uid[0] == '\0')
        return error_set(err, ERR_INVALID, "pod %s/%s: no uid", job->namespace, job->name);
    return 0;
}

/*
 * The same pod is to be bound again while an earlier job of it is being settled: the new job
 * carries on with its doubt, so that there is one answer.
 */
static void take_over_doubt(struct binder *binder, struct attempt *attempt)
{
    for (size_t i = 0; i < binder->attempt_count; i++) {
        struct attempt *earlier = &binder->attempts[i];

        if (!earlier->is_settling || strcmp(earlier->job->uid, attempt->job->uid) != 0)
            continue;
        attempt->in_doubt = true;
        attempt->late_ms = earlier->late_ms;
        binder_finish(binder, earlier, BIND_UNCLEAR, "");
        return;
    }
}

int binder_submit(struct binder *binder, struct bind_job *steal_job, uint64_t now_ms,
                  struct error *err)
{
    struct attempt attempt = {.job = steal_job, .send_at_ms = now_ms};

    assert(steal_job->done != NULL);
    assert(steal_job->record_key == NULL ||
           bind_job_annotation(steal_job, steal_job->record_key) != NULL);
    if (binder->attempt_count - binder->settling_count == binder->jobs_max)
        return error_set(err, ERR_BUSY, "%zu Bindings are in flight already", binder->jobs_max);
    if (binder_check_names(steal_job, err) < 0)
        return error_pass(err);
    attempt.body = buf_with_max(BINDER_BODY_MAX_BYTES);
    kube_json_write_binding(&attempt.body, steal_job);
    if (attempt.body.overflowed) {
        buf_clear(&attempt.body);
        return error_set(err, ERR_LIMIT, "pod %s/%s: the annotations are longer than %u bytes",
                         steal_job->namespace, steal_job->name, BINDER_BODY_MAX_BYTES);
    }
    backoff_init(&attempt.backoff, &RETRY_LIMITS, jitter_between(&binder->jitter, 0, UINT64_MAX));
    take_over_doubt(binder, &attempt);
    binder->attempts[binder->attempt_count++] = attempt;
    return 0;
}

/* --- sending --------------------------------------------------------------------------------- */

static bool is_waiting(const struct attempt *attempt)
{
    return attempt->step == POST_WANTED || attempt->step == GET_WANTED;
}

/* Half of what is left, so that a lost answer leaves time to ask what became of it. */
static uint64_t timeout_ms(const struct attempt *attempt, uint64_t now_ms)
{
    uint64_t left_ms = attempt->job->deadline_ms - now_ms;
    uint64_t half_ms = left_ms / 2 > ATTEMPT_MIN_MS ? left_ms / 2 : ATTEMPT_MIN_MS;

    return attempt->is_settling ? SETTLE_TIMEOUT_MS : least(half_ms, left_ms);
}

void binder_permit(struct binder *binder, uint64_t until_ms)
{
    binder->permitted_until_ms = until_ms;
    for (size_t i = 0; until_ms == 0 && i < binder->attempt_count; i++)
        binder->attempts[i].is_outdated = true;
}

/* Written at the end of its limit, and executed at the end of the server's, it is in time yet. */
static uint64_t post_limit_ms(const struct binder *binder, uint64_t now_ms)
{
    return (binder->permitted_until_ms - now_ms) / 2;
}

static bool is_permitted(const struct binder *binder, const struct attempt *attempt,
                         uint64_t now_ms)
{
    return !attempt->is_outdated && now_ms < binder->permitted_until_ms &&
           post_limit_ms(binder, now_ms) >= POST_MIN_MS;
}

/* From when on a Binding that is sent now, with that limit, is not executed any more. */
static uint64_t late_ms(uint64_t limit_ms, uint64_t now_ms)
{
    uint64_t wait_ms = 2 * (2 * limit_ms + API_NETWORK_MS);

    return now_ms + (wait_ms > BINDER_LATE_MS ? wait_ms : BINDER_LATE_MS);
}

static void start_post(struct binder *binder, struct attempt *attempt, uint64_t now_ms,
                       struct api_request *out)
{
    out->method = "POST";
    out->body = buf_text(&attempt->body);
    out->body_length = attempt->body.length;
    out->timeout_ms = least(out->timeout_ms, post_limit_ms(binder, now_ms));
    out->body_by_ms = now_ms + out->timeout_ms;
    kube_path_binding(&binder->path, attempt->job->namespace, attempt->job->name, out->timeout_ms);
    attempt->step = POST_SENT;
    attempt->posts++;
    attempt->late_ms = late_ms(out->timeout_ms, now_ms);
    binder->counters.posts++;
}

static void start_get(struct binder *binder, struct attempt *attempt, struct api_request *out)
{
    out->method = "GET";
    kube_path_pod(&binder->path, attempt->job->namespace, attempt->job->name);
    attempt->step = GET_SENT;
    binder->counters.gets++;
}

static void start(struct binder *binder, struct attempt *attempt, uint64_t now_ms,
                  struct api_request *out)
{
    attempt->id = ++binder->last_id;
    *out = (struct api_request){
        .id = attempt->id,
        .timeout_ms = timeout_ms(attempt, now_ms),
        .fresh_connection = attempt->last_was_lost,
    };
    if (attempt->step == POST_WANTED)
        start_post(binder, attempt, now_ms, out);
    else
        start_get(binder, attempt, out);
    out->path = buf_text(&binder->path);
    attempt->last_was_lost = false;
}

/* Why a job ends now, or NULL. */
static const char *why_over(const struct binder *binder, const struct attempt *attempt,
                            uint64_t now_ms)
{
    if (attempt->is_settling)
        return NULL;
    if (attempt->job->deadline_ms <= now_ms)
        return "no answer from the API server in time";
    if (attempt->step == POST_WANTED && !is_permitted(binder, attempt, now_ms))
        return "this topofit is not the leader any more";
    return NULL;
}

static void end_jobs(struct binder *binder, uint64_t now_ms)
{
    for (size_t i = 0; i < binder->attempt_count;) {
        struct attempt *attempt = &binder->attempts[i];
        const char *why = why_over(binder, attempt, now_ms);

        if (why != NULL)
            give_up(binder, attempt, why, now_ms);
        else
            i++; /* one that gave up is settling now, or gone: look at the place again */
    }
}

bool binder_next_request(struct binder *binder, uint64_t now_ms, struct api_request *out)
{
    end_jobs(binder, now_ms);
    for (size_t i = 0; i < binder->attempt_count; i++) {
        struct attempt *attempt = &binder->attempts[i];

        if (is_waiting(attempt) && attempt->send_at_ms <= now_ms) {
            start(binder, attempt, now_ms, out);
            return true;
        }
    }
    return false;
}

uint64_t binder_next_due_ms(const struct binder *binder)
{
    uint64_t due_ms = UINT64_MAX;

    for (size_t i = 0; i < binder->attempt_count; i++) {
        const struct attempt *attempt = &binder->attempts[i];

        if (!attempt->is_settling && attempt->job->deadline_ms < due_ms)
            due_ms = attempt->job->deadline_ms;
        if (is_waiting(attempt) && attempt->send_at_ms < due_ms)
            due_ms = attempt->send_at_ms;
    }
    return due_ms;
}

/* --- going on -------------------------------------------------------------------------------- */

void binder_note_problem(struct attempt *attempt, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(attempt->problem, sizeof attempt->problem, format, arguments);
    va_end(arguments);
}

/* Wait, then take `step`: unless that was the last attempt. */
void binder_try_again(struct binder *binder, struct attempt *attempt, enum step step,
                      uint64_t retry_after_s, uint64_t now_ms)
{
    uint64_t wait_ms = backoff_next_ms(&attempt->backoff, now_ms);

    if (step == POST_WANTED && attempt->posts >= ATTEMPTS_MAX) {
        attempt->step = step;
        give_up(binder, attempt, "too many attempts", now_ms);
        return;
    }
    /* A server (or a proxy) may ask for a day; what it holds up is a booking. */
    if (retry_after_s > API_RETRY_AFTER_MAX_S)
        retry_after_s = API_RETRY_AFTER_MAX_S;
    if (retry_after_s * 1000 > wait_ms)
        wait_ms = retry_after_s * 1000;
    attempt->step = step;
    attempt->send_at_ms = now_ms + wait_ms;
}

/* Find out how things stand, at once the first time. */
void binder_look(struct binder *binder, struct attempt *attempt, uint64_t now_ms)
{
    if (attempt->step == GET_SENT) {
        binder_try_again(binder, attempt, GET_WANTED, 0, now_ms);
        return;
    }
    attempt->step = GET_WANTED;
    attempt->send_at_ms = now_ms;
}

static struct attempt *find(struct binder *binder, uint64_t id)
{
    for (size_t i = 0; i < binder->attempt_count; i++) {
        if (binder->attempts[i].id == id && !is_waiting(&binder->attempts[i]))
            return &binder->attempts[i];
    }
    return NULL;
}

/* --- what arrives ---------------------------------------------------------------------------- */

void binder_on_answer(struct binder *binder, uint64_t id, const struct api_answer *answer,
                      uint64_t now_ms)
{
    struct attempt *attempt = find(binder, id);

    if (attempt == NULL)
        return;
    if (attempt->step == POST_SENT)
        binder_take_post_answer(binder, attempt, answer, now_ms);
    else
        binder_take_get_answer(binder, attempt, answer, now_ms);
}

void binder_on_loss(struct binder *binder, uint64_t id, bool was_sent, const char *why,
                    uint64_t now_ms)
{
    struct attempt *attempt = find(binder, id);

    if (attempt == NULL)
        return;
    binder->counters.lost++;
    attempt->last_was_lost = true;
    binder_note_problem(attempt, "%s", why);
    if (attempt->step == GET_SENT) {
        binder_try_again(binder, attempt, GET_WANTED, 0, now_ms);
    } else if (was_sent || attempt->in_doubt) {
        attempt->in_doubt |= was_sent;
        binder_look(binder, attempt, now_ms);
    } else {
        binder_try_again(binder, attempt, POST_WANTED, 0, now_ms);
    }
}
