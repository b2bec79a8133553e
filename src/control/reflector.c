/* SPDX-License-Identifier: Apache-2.0 */
/* reflector - keeps a copy of all objects of one kind equal to the API server's. */
#include "reflector_inside.h"
#include "topofit/api_call.h"
#include "topofit/kube_path.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_LIMIT 500         /* objects on a page of a list */
#define LIST_PAGES_MAX 2000u   /* a million objects */
#define LIST_MAX_MS 600000u    /* from the first page to the last, however it drips */
#define ANSWER_WAIT_MS 60000u  /* for a status, and between bytes of a list */
#define STREAM_SILENCE_MS 500u /* of a server that does not know streamed lists */
#define STREAM_MAX_MS 30000u
#define WATCH_SILENCE_MS 150000u /* bookmarks come about once a minute */
#define WATCH_SHORT_MS 1000u     /* a watch without events that ends sooner is a failure */
#define WATCH_OVERTIME_MS 30000u /* beyond the time the server was given */
#define WATCH_MIN_S 300u
#define WATCH_MAX_S 600u
#define STREAMS_BROKEN_MAX 2u       /* then pages are tried */
#define NO_ANSWER_WAIT_MAX_MS 1000u /* to ask whether a server is back costs it nothing */

static const struct backoff_limits RETRY_LIMITS = {800, 30000, 120000};

const char *reflector_resource(const struct reflector *r)
{
    return kube_path_resource(r->options.kind);
}

struct reflector *reflector_new(const struct reflector_options *options)
{
    struct reflector *r = xcalloc(1, sizeof *r);

    r->options = *options;
    r->jitter.state = options->seed;
    backoff_init(&r->backoff, &RETRY_LIMITS, jitter_between(&r->jitter, 0, UINT64_MAX));
    watch_stream_init(&r->stream, EVENT_MAX_BYTES);
    r->refusal = buf_with_max(API_REFUSAL_BYTES_MAX);
    r->path = buf_with_max(API_LIST_PATH_BYTES_MAX);
    r->stage = options->streams_lists ? STREAMING : LISTING;
    r->is_unproven = true;
    snprintf(r->problem, sizeof r->problem, "%s: not listed yet", reflector_resource(r));
    return r;
}

void reflector_free(struct reflector *r)
{
    if (r == NULL)
        return;
    kube_list_reader_free(r->reader);
    watch_stream_clear(&r->stream);
    buf_clear(&r->refusal);
    buf_clear(&r->path);
    free(r->version);
    free(r->list_version);
    free(r->continue_token);
    free(r);
}

/* --- how an exchange goes on ----------------------------------------------------------------- */

static void replace_text(char **place, const char *text)
{
    free(*place);
    *place = text != NULL ? xstrdup(text) : NULL;
}

/* A list whose pages expired is asked for as a whole; whoever cannot stream it, cannot. */
static bool may_stream(const struct reflector *r)
{
    return r->options.streams_lists && !r->streams_refused && !r->one_page &&
           r->streams_broken < STREAMS_BROKEN_MAX;
}

void reflector_go_on(struct reflector *r, enum way way, uint64_t send_at_ms)
{
    r->stage = WATCHING;
    if (way == LIST_ANEW) {
        r->stage = may_stream(r) ? STREAMING : LISTING;
        replace_text(&r->continue_token, NULL);
        replace_text(&r->list_version, NULL);
    }
    kube_list_reader_free(r->reader);
    r->reader = NULL;
    r->send_at_ms = send_at_ms;
    r->exchange = r->exchange == IDLE ? IDLE : CANCELLING;
}

void reflector_list_in_pages(struct reflector *r, uint64_t now_ms)
{
    r->streams_broken = STREAMS_BROKEN_MAX;
    reflector_go_on(r, LIST_ANEW, now_ms);
}

void reflector_prove(struct reflector *r)
{
    r->is_unproven = false;
    r->problem[0] = '\0';
}

__attribute__((format(printf, 4, 5))) void reflector_fail(struct reflector *r, enum way way,
                                                          uint64_t now_ms, const char *format, ...)
{
    uint64_t wait_ms = backoff_next_ms(&r->backoff, now_ms);
    uint64_t asked_ms = r->retry_after_s * UINT64_C(1000);
    va_list arguments;

    if (asked_ms > RETRY_LIMITS.longest_ms)
        asked_ms = RETRY_LIMITS.longest_ms;
    if (r->status == 0 && wait_ms > NO_ANSWER_WAIT_MAX_MS)
        wait_ms = NO_ANSWER_WAIT_MAX_MS;
    va_start(arguments, format);
    vsnprintf(r->problem, sizeof r->problem, format, arguments);
    va_end(arguments);
    r->is_unproven = true;
    r->counters.errors++;
    if (r->stage == STREAMING)
        r->streams_broken++;
    if (r->stage == WATCHING && way == LIST_ANEW)
        r->counters.relists++;
    reflector_go_on(r, way, now_ms + (wait_ms > asked_ms ? wait_ms : asked_ms));
}

/* A watch that did something may be replaced at once; otherwise that could become a hot loop. */
static bool watch_was_useful(const struct reflector *r, uint64_t now_ms)
{
    return r->watch_events > 0 || now_ms - r->sent_ms >= WATCH_SHORT_MS;
}

/* The watch position is too old. */
void reflector_lose_position(struct reflector *r, uint64_t now_ms, const char *message)
{
    if (!watch_was_useful(r, now_ms)) {
        reflector_fail(r, LIST_ANEW, now_ms, "watch of %s: %s", reflector_resource(r), message);
        return;
    }
    r->counters.relists++;
    reflector_go_on(r, LIST_ANEW, now_ms);
}

void reflector_relist(struct reflector *r, uint64_t now_ms)
{
    /* A wait that a failure or the server asked for is kept. */
    bool waits = r->exchange == IDLE && r->send_at_ms > now_ms;

    if (r->stage == WATCHING)
        r->counters.relists++;
    reflector_go_on(r, LIST_ANEW, waits ? r->send_at_ms : now_ms);
}

uint64_t reflector_lists_done(const struct reflector *r)
{
    return r->lists_done;
}

static bool is_watching(const struct reflector *r)
{
    return r->stage == WATCHING && r->exchange == READING;
}

const char *reflector_position(const struct reflector *r)
{
    return is_watching(r) ? r->version : NULL;
}

/* --- sending --------------------------------------------------------------------------------- */

static void begin_list(struct reflector *r, uint64_t now_ms)
{
    r->options.sink.begin(r->options.sink.ctx);
    r->list_began_ms = now_ms;
    r->pages = 0;
}

static void start_list(struct reflector *r, uint64_t now_ms)
{
    if (r->continue_token == NULL)
        begin_list(r, now_ms);
    r->pages++;
    kube_list_reader_free(r->reader);
    r->reader = kube_list_reader_new(r->options.kind, reflector_take_item, r);
    kube_path_list(&r->path, r->options.kind, r->options.selector, r->one_page ? 0 : PAGE_LIMIT,
                   r->continue_token);
}

static void start_watch(struct reflector *r, uint64_t now_ms)
{
    unsigned timeout_s = (unsigned)jitter_between(&r->jitter, WATCH_MIN_S, WATCH_MAX_S);

    watch_stream_reset(&r->stream);
    r->end_by_ms = now_ms + timeout_s * UINT64_C(1000) + WATCH_OVERTIME_MS;
    if (r->stage == WATCHING) {
        kube_path_watch(&r->path, r->options.kind, r->options.selector, r->version, timeout_s);
        return;
    }
    begin_list(r, now_ms);
    kube_path_streamed_list(&r->path, r->options.kind, r->options.selector, timeout_s);
}

static void start(struct reflector *r, uint64_t now_ms, struct reflector_wish *out)
{
    r->sent_ms = r->heard_ms = now_ms;
    r->body_bytes = r->watch_events = 0;
    r->status = 0;
    r->retry_after_s = 0;
    buf_reset(&r->refusal);
    if (r->stage == LISTING)
        start_list(r, now_ms);
    else
        start_watch(r, now_ms);
    if (r->path.overflowed) {
        reflector_fail(r, LIST_ANEW, now_ms, "%s: the position is longer than %u bytes",
                       reflector_resource(r), API_LIST_PATH_BYTES_MAX);
        out->wait_until_ms = r->send_at_ms;
        return;
    }
    r->exchange = SENT;
    out->action = REFLECTOR_SEND;
    out->path = buf_text(&r->path);
    out->fresh_connection = r->last_was_lost;
    r->last_was_lost = false;
}

static uint64_t patience_ms(const struct reflector *r)
{
    if (r->stage == STREAMING && r->exchange == READING)
        return STREAM_SILENCE_MS;
    return is_watching(r) ? WATCH_SILENCE_MS : ANSWER_WAIT_MS;
}

/* A watch may open and say at once that its position is lost: not every 200 is the end of it. */
static bool is_on_probation(const struct reflector *r)
{
    return is_watching(r) && r->is_unproven;
}

/* The first objects come without a pause, and their end is marked. */
static bool is_no_streamed_list(const struct reflector *r, uint64_t now_ms)
{
    return r->stage == STREAMING && r->exchange == READING &&
           (now_ms - r->heard_ms >= STREAM_SILENCE_MS || now_ms - r->sent_ms >= STREAM_MAX_MS);
}

/* Give up a request that is silent, or that the server should have ended. */
static void watch_the_clock(struct reflector *r, uint64_t now_ms)
{
    uint64_t patience = patience_ms(r);
    /* A watch that never said a byte may stand at a version the server never had: list. */
    bool position_holds = r->stage == WATCHING && (r->exchange == SENT || r->body_bytes > 0);

    if (r->stage != WATCHING && now_ms - r->list_began_ms >= LIST_MAX_MS) {
        r->last_was_lost = true;
        reflector_fail(r, LIST_ANEW, now_ms, "list of %s: not complete after %u s",
                       reflector_resource(r), LIST_MAX_MS / 1000);
    } else if (is_no_streamed_list(r, now_ms)) {
        reflector_list_in_pages(r, now_ms);
    } else if (now_ms - r->heard_ms >= patience) {
        r->counters.stalls++;
        r->last_was_lost = true;
        reflector_fail(r, position_holds ? WATCH_ON : LIST_ANEW, now_ms,
                       "%s of %s: no byte for %u s", r->stage == WATCHING ? "watch" : "list",
                       reflector_resource(r), (unsigned)(patience / 1000));
    } else if (r->stage == WATCHING && now_ms >= r->end_by_ms) {
        reflector_go_on(r, WATCH_ON, now_ms);
    } else if (is_on_probation(r) && watch_was_useful(r, now_ms)) {
        reflector_prove(r);
    }
}

static uint64_t next_due_ms(const struct reflector *r)
{
    uint64_t due_ms = r->heard_ms + patience_ms(r);

    if (r->exchange == IDLE)
        return r->send_at_ms;
    if (r->stage == STREAMING && r->exchange == READING && r->sent_ms + STREAM_MAX_MS < due_ms)
        return r->sent_ms + STREAM_MAX_MS;
    if (is_on_probation(r))
        return r->sent_ms + WATCH_SHORT_MS;
    if (r->stage != WATCHING && r->list_began_ms + LIST_MAX_MS < due_ms)
        return r->list_began_ms + LIST_MAX_MS;
    return r->stage == WATCHING && r->end_by_ms < due_ms ? r->end_by_ms : due_ms;
}

void reflector_next(struct reflector *r, uint64_t now_ms, struct reflector_wish *out)
{
    *out = (struct reflector_wish){.action = REFLECTOR_WAIT};
    if (r->exchange != IDLE && r->exchange != CANCELLING)
        watch_the_clock(r, now_ms);
    if (r->exchange == CANCELLING) {
        r->exchange = IDLE;
        out->action = REFLECTOR_CANCEL;
    } else if (r->exchange == IDLE && now_ms >= r->send_at_ms) {
        start(r, now_ms, out);
    } else {
        out->wait_until_ms = next_due_ms(r);
    }
}

/* --- what arrives ---------------------------------------------------------------------------- */

void reflector_on_begin(struct reflector *r, int status, unsigned retry_after_s, uint64_t now_ms)
{
    if (r->exchange != SENT)
        return;
    r->heard_ms = now_ms;
    r->status = status;
    r->retry_after_s = retry_after_s;
    r->exchange = status == 200 ? READING : REFUSED;
}

void reflector_on_bytes(struct reflector *r, const char *bytes, size_t length, uint64_t now_ms)
{
    if (r->exchange != READING && r->exchange != REFUSED)
        return;
    r->heard_ms = now_ms;
    r->body_bytes += length;
    if (r->exchange == REFUSED)
        buf_add(&r->refusal, bytes, length);
    else if (r->stage == LISTING)
        reflector_read_list(r, bytes, length, now_ms);
    else
        reflector_read_watch(r, bytes, length, now_ms);
}

/* --- how an answer ends ---------------------------------------------------------------------- */

void reflector_commit_list(struct reflector *r, char *steal_version)
{
    r->options.sink.commit(r->options.sink.ctx);
    r->lists_done++;
    r->counters.lists++;
    free(r->version);
    r->version = steal_version;
    r->one_page = false;
    r->streams_broken = 0;
    reflector_prove(r);
}

static void end_page(struct reflector *r, uint64_t now_ms)
{
    AUTO(kube_list_meta_clear) struct kube_list_meta meta = {0};
    struct error err = {0};

    if (kube_list_reader_finish(r->reader, &meta, &err) < 0) {
        reflector_fail(r, LIST_ANEW, now_ms, "list of %s: %s", reflector_resource(r), err.text);
        return;
    }
    if (r->list_version == NULL)
        r->list_version = steal_ptr(&meta.resource_version);
    if (meta.continue_token[0] == '\0') {
        reflector_commit_list(r, steal_ptr(&r->list_version));
        reflector_go_on(r, WATCH_ON, now_ms);
    } else if (r->pages >= LIST_PAGES_MAX ||
               (r->continue_token != NULL && strcmp(r->continue_token, meta.continue_token) == 0)) {
        reflector_fail(r, LIST_ANEW, now_ms, "list of %s: the pages do not end",
                       reflector_resource(r));
    } else {
        replace_text(&r->continue_token, meta.continue_token);
        r->send_at_ms = now_ms;
    }
}

static void end_watch(struct reflector *r, uint64_t now_ms)
{
    if (r->stage == STREAMING)
        reflector_fail(r, LIST_ANEW, now_ms, "list of %s: the stream ended before its last object",
                       reflector_resource(r));
    else if (watch_was_useful(r, now_ms))
        reflector_go_on(r, WATCH_ON, now_ms);
    else
        reflector_fail(r, WATCH_ON, now_ms, "watch of %s: ended at once, without an event",
                       reflector_resource(r));
}

/* What the people who run this can do about a status. */
static const char *advice(int status)
{
    if (status == 401)
        return "; the API server does not accept our credentials: check the token or certificate";
    if (status == 403)
        return "; give our account the verbs list and watch on this resource (ClusterRole)";
    if (status == 404)
        return "; is this the address of a Kubernetes API server?";
    return "";
}

/* The server was set back, to a backup say, and has not come as far yet as we had. */
static bool is_ahead_of_server(const struct kube_status *status)
{
    return strstr(status->message, "Too large resource version") != NULL;
}

/* Is the position still good after a refusal? */
static bool keeps_position(const struct reflector *r, const struct kube_status *status)
{
    bool is_overload_or_rights =
        r->status >= 500 || r->status == 429 || r->status == 401 || r->status == 403;

    return r->stage == WATCHING && is_overload_or_rights && !is_ahead_of_server(status);
}

/*
 * Servers that cannot stream lists say so: 422, or 400 where they do not know the words. That is no
 * failure: there are pages.
 */
static bool take_stream_refusal(struct reflector *r, uint64_t now_ms)
{
    if (r->stage != STREAMING || (r->status != 422 && r->status != 400))
        return false;
    r->streams_refused = true;
    reflector_go_on(r, LIST_ANEW, now_ms);
    return true;
}

static void end_refused(struct reflector *r, uint64_t now_ms)
{
    bool is_watch = r->stage == WATCHING;
    const struct api_answer answer = {r->status, r->retry_after_s, buf_text(&r->refusal),
                                      r->refusal.length};
    struct api_refusal refusal;

    api_answer_judge(&answer, &refusal);
    r->retry_after_s = refusal.retry_after_s;
    if (take_stream_refusal(r, now_ms))
        return;
    if (r->status == 410 && is_watch) {
        reflector_lose_position(r, now_ms, refusal.status.message);
    } else if (r->status == 410 && r->continue_token != NULL) {
        r->one_page = true;
        reflector_go_on(r, LIST_ANEW, now_ms);
    } else {
        reflector_fail(r, keeps_position(r, &refusal.status) ? WATCH_ON : LIST_ANEW, now_ms,
                       "%s of %s: HTTP %d: %s%s", is_watch ? "watch" : "list",
                       reflector_resource(r), r->status, refusal.status.message, advice(r->status));
    }
}

static void end_broken(struct reflector *r, enum exchange was, const char *why, uint64_t now_ms)
{
    bool is_watch = r->stage == WATCHING;

    r->last_was_lost = true;
    if (is_watch && was == READING && watch_was_useful(r, now_ms))
        reflector_go_on(r, WATCH_ON, now_ms);
    else
        reflector_fail(r, is_watch ? WATCH_ON : LIST_ANEW, now_ms, "%s of %s: %s",
                       is_watch ? "watch" : "list", reflector_resource(r), why);
}

void reflector_on_end(struct reflector *r, const struct error *failure, uint64_t now_ms)
{
    enum exchange was = r->exchange;

    r->exchange = IDLE;
    if (was == IDLE || was == CANCELLING)
        return;
    if (failure != NULL || was == SENT)
        end_broken(r, was, failure != NULL ? failure->text : "no answer", now_ms);
    else if (was == REFUSED)
        end_refused(r, now_ms);
    else if (r->stage == LISTING)
        end_page(r, now_ms);
    else
        end_watch(r, now_ms);
}

const char *reflector_problem(const struct reflector *r)
{
    return r->problem;
}

const struct reflector_counters *reflector_counters(const struct reflector *r)
{
    return &r->counters;
}
