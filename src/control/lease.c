/* SPDX-License-Identifier: Apache-2.0 */
/* lease - which of several topofits may bind. */
#include "topofit/lease.h"

#include "lease_inside.h"
#include "least.h"
#include "topofit/kube_path.h"
#include "topofit/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_MAX_TENTHS 22u /* of the retry period, between two rounds of who does not lead */
#define LONG_PAUSE_ROUNDS 5u

/* --- options --------------------------------------------------------------------------------- */

static int check_times(const struct lease_options *options, struct error *err)
{
    if (options->retry_ms == 0)
        return error_set(err, ERR_INVALID, "the retry period must be longer than nothing");
    if (options->duration_ms > LEASE_DURATION_MAX_MS)
        return error_set(err, ERR_INVALID, "the duration (%" PRIu64 " ms) exceeds %u ms",
                         options->duration_ms, LEASE_DURATION_MAX_MS);
    if (options->duration_ms < options->renew_deadline_ms + LEASE_MARGIN_MIN_MS)
        return error_set(err, ERR_INVALID,
                         "the duration (%" PRIu64
                         " ms) must be longer than the renew deadline (%" PRIu64
                         " ms) by %u ms, better by some seconds",
                         options->duration_ms, options->renew_deadline_ms, LEASE_MARGIN_MIN_MS);
    if (options->retry_ms >= options->renew_deadline_ms ||
        options->renew_deadline_ms * 10 <= options->retry_ms * 12)
        return error_set(err, ERR_INVALID,
                         "the renew deadline (%" PRIu64
                         " ms) must be longer than 1.2 times the retry period (%" PRIu64 " ms)",
                         options->renew_deadline_ms, options->retry_ms);
    return 0;
}

uint64_t lease_margin_ms(const struct lease_options *options)
{
    return options->duration_ms - options->renew_deadline_ms;
}

int lease_check_options(const struct lease_options *options, struct error *err)
{
    if (!kube_path_is_name(options->namespace) || !kube_path_is_name(options->name))
        return error_set(err, ERR_INVALID, "not the name of a Lease: \"%.80s/%.80s\"",
                         options->namespace, options->name);
    if (options->identity[0] == '\0' || strlen(options->identity) > LEASE_IDENTITY_MAX)
        return error_set(err, ERR_INVALID, "the identity must have 1 to %d bytes",
                         LEASE_IDENTITY_MAX);
    return check_times(options, err);
}

struct lease *lease_new(const struct lease_options *options)
{
    struct lease *lease = xcalloc(1, sizeof *lease);
    struct error err = {0};
    int checked = lease_check_options(options, &err);

    assert(checked == 0);
    (void)checked;
    lease->namespace = xstrdup(options->namespace);
    lease->name = xstrdup(options->name);
    lease->identity = xstrdup(options->identity);
    lease->duration_ms = options->duration_ms;
    lease->renew_deadline_ms = options->renew_deadline_ms;
    lease->retry_ms = options->retry_ms;
    /* A renewal that hangs, and the look after it, leave time for one more renewal. */
    lease->timeout_ms = most(1, least(2 * options->retry_ms, options->renew_deadline_ms / 3));
    lease->jitter.state = options->seed;
    lease->path = buf_with_max(API_PATH_BYTES_MAX);
    lease->body = buf_with_max(LEASE_JSON_MAX_BYTES);
    lease_record_init(&lease->record);
    lease->next = CALL_LOOK;
    lease->is_pausing = true;
    return lease;
}

void lease_free(struct lease *lease)
{
    if (lease == NULL)
        return;
    lease_record_clear(&lease->record);
    buf_clear(&lease->path);
    buf_clear(&lease->body);
    free(lease->namespace);
    free(lease->name);
    free(lease->identity);
    free(lease);
}

/* --- the term -------------------------------------------------------------------------------- */

bool lease_names_us(const struct lease *lease)
{
    return !lease->is_absent && strcmp(lease->record.holder, lease->identity) == 0;
}

void lease_gain(struct lease *lease, uint64_t until_ms, uint64_t now_ms)
{
    if (until_ms <= now_ms || until_ms <= lease->held_until_ms || lease->is_resigning)
        return;
    if (lease->held_until_ms == 0) {
        lease->term++;
        lease->counters.acquired++;
        lease->yield_until_ms = 0;
        /* Whoever asked us will be back: not to be handed over in between. */
        if (now_ms < lease->wanted_until_ms)
            lease_note_work(lease, now_ms);
    }
    lease->held_until_ms = until_ms;
}

void lease_lose(struct lease *lease)
{
    if (lease->held_until_ms == 0)
        return;
    lease->held_until_ms = 0;
    lease->counters.lost++;
}

/* First of all, whatever happens: whoever slept may have slept beyond the end. */
static void end_term(struct lease *lease, uint64_t now_ms)
{
    if (lease->held_until_ms <= now_ms)
        lease_lose(lease);
}

uint64_t lease_held_until_ms(const struct lease *lease)
{
    return lease->held_until_ms;
}

bool lease_is_undecided(const struct lease *lease)
{
    return !lease->has_paused;
}

bool lease_is_unsupported(const struct lease *lease)
{
    return lease->is_unsupported;
}

uint64_t lease_term(const struct lease *lease)
{
    return lease->term;
}

/* --- when ------------------------------------------------------------------------------------ */

void lease_go_on(struct lease *lease, enum call call, uint64_t now_ms)
{
    lease->next = call;
    lease->next_at_ms = now_ms;
}

/* Counted from when the round began: what hung has waited already. */
static void pause_for(struct lease *lease, enum call call, uint64_t wait_ms, uint64_t now_ms)
{
    lease_go_on(lease, call, most(now_ms, lease->round_ms + wait_ms));
    lease->is_pausing = lease->has_paused = true;
    lease->has_looked = false;
}

void lease_pause(struct lease *lease, enum call call, uint64_t now_ms)
{
    uint64_t retry_ms = lease->retry_ms;
    bool is_wanted = now_ms < lease->wanted_until_ms;

    if (lease->held_until_ms > 0 || lease->is_resigning)
        pause_for(lease, call, retry_ms, now_ms);
    else if (is_wanted && lease->problem[0] == '\0')
        pause_for(lease, call, retry_ms / 2 + 1, now_ms); /* somebody waits for it */
    else
        pause_for(lease, call,
                  jitter_between(&lease->jitter, retry_ms, retry_ms * PAUSE_MAX_TENTHS / 10),
                  now_ms);
}

void lease_pause_asked(struct lease *lease, uint64_t asked_ms, uint64_t now_ms)
{
    /* A proxy may ask for a day. */
    uint64_t wait_ms = least(asked_ms, LONG_PAUSE_ROUNDS * lease->retry_ms);

    lease_pause(lease, CALL_LOOK, now_ms);
    if (lease->held_until_ms == 0 && !lease->is_resigning)
        lease->next_at_ms = most(lease->next_at_ms, now_ms + wait_ms);
}

void lease_pause_long(struct lease *lease, uint64_t now_ms)
{
    if (lease->held_until_ms > 0 || lease->is_resigning)
        lease_pause(lease, CALL_LOOK, now_ms);
    else
        pause_for(lease, CALL_LOOK, LONG_PAUSE_ROUNDS * lease->retry_ms, now_ms);
}

void lease_look_again(struct lease *lease, uint64_t now_ms)
{
    if (lease->has_looked) {
        lease_pause(lease, CALL_LOOK, now_ms);
        return;
    }
    lease->has_looked = true;
    lease_go_on(lease, CALL_LOOK, now_ms);
}

uint64_t lease_next_due_ms(const struct lease *lease)
{
    uint64_t due_ms = UINT64_MAX;

    if (lease->is_resigned)
        return due_ms;
    if (lease->is_resigning)
        due_ms = lease->resign_by_ms;
    if (lease->held_until_ms > 0)
        due_ms = least(due_ms, lease->held_until_ms);
    if (lease->sent == CALL_NONE)
        due_ms = least(due_ms, lease->next_at_ms);
    return due_ms;
}

/* --- sending --------------------------------------------------------------------------------- */

/*
 * The three digits that a millisecond leaves free tell our writes apart, even when somebody sets
 * the clock back: a lost write is recognised by its time.
 */
static void write_time(struct lease *lease, uint64_t unix_ms)
{
    char *text = lease->written_time;
    size_t end;

    moment_write(unix_ms, 6, text);
    end = strlen(text) - strlen("000Z");
    snprintf(text + end, MOMENT_TEXT_BYTES - end, "%03uZ", lease->writes++ % 1000);
}

static void name_holder(const struct lease *lease, enum call call, struct lease_view *view)
{
    view->duration_s = (long long)((lease->duration_ms + 999) / 1000);
    view->wanted_by = ""; /* served, or turned down */
    if (lease_names_us(lease))
        return;
    view->holder = lease->identity;
    view->acquire_time = lease->written_time;
    if (call != CALL_CREATE && view->transitions < INT_MAX)
        view->transitions++;
}

static void name_nobody(const struct lease *lease, struct lease_view *view)
{
    view->holder = "";
    view->duration_s = 1; /* the least that the API server takes */
    view->acquire_time = lease->written_time;
}

static void write_body(struct lease *lease, enum call call, uint64_t unix_ms)
{
    struct lease_view view = lease_record_view(&lease->record);

    view.name = lease->name;
    view.namespace = lease->namespace;
    if (call == CALL_WANT) {
        view.holder = NULL; /* it stays, however long it is */
        view.wanted_by = lease->identity;
    } else {
        write_time(lease, unix_ms);
        view.renew_time = lease->written_time;
        if (call == CALL_RELEASE)
            name_nobody(lease, &view);
        else
            name_holder(lease, call, &view);
    }
    buf_reset(&lease->body);
    lease_json_write(&lease->body, &view);
    assert(!lease->body.overflowed);
}

static void start(struct lease *lease, struct moment now, struct api_request *out)
{
    static const char *const methods[] = {[CALL_LOOK] = "GET",
                                          [CALL_CREATE] = "POST",
                                          [CALL_HOLD] = "PUT",
                                          [CALL_WANT] = "PUT",
                                          [CALL_RELEASE] = "PUT"};

    if (lease->is_pausing)
        lease->round_ms = now.monotonic_ms;
    lease->is_pausing = false;
    assert(lease->next != CALL_RELEASE || lease->held_until_ms == 0); /* first stop believing */
    lease->sent = lease->next;
    lease->sent_at_ms = now.monotonic_ms;
    *out = (struct api_request){
        .id = ++lease->last_id,
        .method = methods[lease->sent],
        .timeout_ms = lease->timeout_ms,
        .fresh_connection = lease->last_was_lost,
    };
    lease->last_was_lost = false;
    if (lease->sent == CALL_CREATE)
        kube_path_leases(&lease->path, lease->namespace);
    else
        kube_path_lease(&lease->path, lease->namespace, lease->name);
    out->path = buf_text(&lease->path);
    if (lease->sent == CALL_LOOK)
        return;
    write_body(lease, lease->sent, now.unix_ms);
    out->body = buf_text(&lease->body);
    out->body_length = lease->body.length;
}

bool lease_next_request(struct lease *lease, struct moment now, struct api_request *out)
{
    end_term(lease, now.monotonic_ms);
    if (lease->is_resigning && lease->resign_by_ms <= now.monotonic_ms)
        lease->is_resigned = true;
    if (lease->is_resigned || lease->sent != CALL_NONE || lease->next_at_ms > now.monotonic_ms)
        return false;
    start(lease, now, out);
    return true;
}

/* --- what arrives ---------------------------------------------------------------------------- */

/* Is it about the request in flight? It is not in flight any more then. */
static bool take_back(struct lease *lease, uint64_t id, uint64_t now_ms, enum call *out_sent)
{
    end_term(lease, now_ms);
    if (lease->sent == CALL_NONE || lease->last_id != id)
        return false;
    *out_sent = lease->sent;
    lease->sent = CALL_NONE;
    return !lease->is_resigned;
}

void lease_on_answer(struct lease *lease, uint64_t id, const struct api_answer *answer,
                     uint64_t now_ms)
{
    enum call sent;

    if (take_back(lease, id, now_ms, &sent))
        lease_take_answer(lease, sent, answer, now_ms);
}

void lease_on_loss(struct lease *lease, uint64_t id, bool was_sent, const char *why,
                   uint64_t now_ms)
{
    enum call sent;

    if (!take_back(lease, id, now_ms, &sent))
        return;
    lease->last_was_lost = true;
    lease_take_loss(lease, sent, was_sent, why, now_ms);
}

/* --- what others ask for --------------------------------------------------------------------- */

void lease_want(struct lease *lease, uint64_t now_ms)
{
    if (lease->held_until_ms > now_ms || lease->is_resigning)
        return;
    lease->wanted_until_ms = now_ms + LEASE_WANT_MS;
    if (lease->next != CALL_LOOK || lease->sent != CALL_NONE || lease->next_at_ms <= now_ms)
        return;
    /* A look ahead of its time, but no more often than the looks of a holder. */
    lease->next_at_ms = least(lease->next_at_ms, most(now_ms, lease->want_look_ms));
    lease->want_look_ms = most(lease->want_look_ms, lease->next_at_ms + lease->retry_ms);
}

void lease_note_work(struct lease *lease, uint64_t now_ms)
{
    lease->worked_until_ms = now_ms + LEASE_WORK_MS;
}

void lease_resign(struct lease *lease, uint64_t now_ms)
{
    if (lease->is_resigning)
        return;
    end_term(lease, now_ms);
    lease_lose(lease);
    lease->is_resigning = true;
    lease->resign_by_ms = now_ms + 2 * lease->timeout_ms;
    if (lease->sent == CALL_NONE || lease->sent == CALL_LOOK)
        lease_decide(lease, now_ms);
}

bool lease_is_resigned(const struct lease *lease)
{
    return lease->is_resigned;
}

/* --- looking at it --------------------------------------------------------------------------- */

const struct lease_counters *lease_counters(const struct lease *lease)
{
    return &lease->counters;
}

const char *lease_holder(const struct lease *lease)
{
    return lease_names_us(lease) && lease->held_until_ms == 0 ? "" : lease->record.holder;
}

const char *lease_problem(const struct lease *lease)
{
    return lease->problem;
}
