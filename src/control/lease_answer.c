/* SPDX-License-Identifier: Apache-2.0 */
/* lease_answer - what the answers say about the Lease, and what follows from it. */
#include "lease_inside.h"
#include "topofit/mem.h"

#include <stdio.h>
#include <string.h>

/* A claim that is not taken up within so many retry periods is everybody's. */
#define CLAIM_ROUNDS 2u

#define REFUSALS_PASSING 3u /* refusals in a row that may still pass by themselves */

/* --- what to do ------------------------------------------------------------------------------ */

static bool is_held_by_nobody(const struct lease *lease)
{
    return lease->record.holder[0] == '\0';
}

static bool is_claimed_by_another(const struct lease *lease)
{
    return lease->record.wanted_by[0] != '\0' &&
           strcmp(lease->record.wanted_by, lease->identity) != 0;
}

/* How long the record is to be left alone after it changed. */
static uint64_t respected_ms(const struct lease *lease)
{
    long long duration_s = lease->record.duration_s;

    if (is_held_by_nobody(lease))
        return is_claimed_by_another(lease) ? CLAIM_ROUNDS * lease->retry_ms : 0;
    if (duration_s <= 0)
        return lease->duration_ms;
    return duration_s > LEASE_DURATION_MAX_MS / 1000 ? LEASE_DURATION_MAX_MS
                                                     : (uint64_t)duration_s * 1000;
}

/* The record is another's, or nobody's. */
static bool may_take(const struct lease *lease, uint64_t now_ms)
{
    if (is_held_by_nobody(lease) && is_claimed_by_another(lease) && now_ms < lease->yield_until_ms)
        return false;
    return lease->observed_ms + respected_ms(lease) <= now_ms;
}

static bool may_ask(const struct lease *lease, uint64_t now_ms)
{
    return now_ms < lease->wanted_until_ms && !is_held_by_nobody(lease) &&
           lease->record.wanted_by[0] == '\0' &&
           (lease->want_write_ms == 0 || lease->want_write_ms + lease->retry_ms <= now_ms);
}

static bool is_idle(const struct lease *lease, uint64_t now_ms)
{
    return lease->worked_until_ms <= now_ms;
}

/* We stop believing now, and write it down next: until it is written nobody leads. */
static void hand_over(struct lease *lease, uint64_t now_ms)
{
    if (lease->held_until_ms > 0)
        lease->counters.handed_over++;
    lease_lose(lease);
    lease->yield_until_ms = now_ms + lease->duration_ms;
    /* Until a new write succeeds the release may be executed at any time. */
    lease->doubt_time[0] = '\0';
}

static void decide_ours(struct lease *lease, uint64_t now_ms)
{
    if (is_claimed_by_another(lease) && is_idle(lease, now_ms))
        hand_over(lease, now_ms);
    lease_go_on(lease, now_ms < lease->yield_until_ms ? CALL_RELEASE : CALL_HOLD, now_ms);
}

static void decide_end(struct lease *lease, uint64_t now_ms)
{
    if (lease->in_doubt)
        lease_go_on(lease, CALL_LOOK, now_ms);
    else if (lease_names_us(lease))
        lease_go_on(lease, CALL_RELEASE, now_ms);
    else
        lease->is_resigned = true;
}

void lease_decide(struct lease *lease, uint64_t now_ms)
{
    if (lease->is_resigning) {
        decide_end(lease, now_ms);
    } else if (lease->is_absent) {
        lease_go_on(lease, CALL_CREATE, now_ms);
    } else if (lease_names_us(lease)) {
        decide_ours(lease, now_ms);
    } else if (may_take(lease, now_ms)) {
        lease_go_on(lease, CALL_HOLD, now_ms);
    } else if (may_ask(lease, now_ms)) {
        lease->want_write_ms = now_ms;
        lease_go_on(lease, CALL_WANT, now_ms);
    } else {
        lease_pause(lease, CALL_LOOK, now_ms);
    }
}

/* --- what was found or written --------------------------------------------------------------- */

static void keep_record(struct lease *lease, struct lease_record *steal_record)
{
    lease_record_clear(&lease->record);
    lease->record = *steal_record;
    lease->is_absent = false;
    *steal_record = (struct lease_record){0};
}

/*
 * Any change counts, also one of the annotations alone: that renewals are told from each other by
 * the server's version and not by their times is worth the few waits that begin anew.
 */
static void take_look(struct lease *lease, struct lease_record *steal_record, uint64_t now_ms)
{
    if (strcmp(lease->record.meta.resource_version, steal_record->meta.resource_version) != 0)
        lease->observed_ms = now_ms;
    keep_record(lease, steal_record);
    lease->in_doubt = false;
    if (!lease_names_us(lease))
        lease_lose(lease);
    else if (lease->doubt_time[0] != '\0' &&
             strcmp(lease->record.renew_time, lease->doubt_time) == 0)
        lease_gain(lease, lease->doubt_sent_ms + lease->renew_deadline_ms, now_ms);
    lease_decide(lease, now_ms);
}

static void note_problem(struct lease *lease, const char *what, const char *why)
{
    lease->counters.errors++;
    snprintf(lease->problem, sizeof lease->problem, "Lease %s/%s: %s%s", lease->namespace,
             lease->name, what, why);
}

static void take_hold(struct lease *lease, struct lease_record *steal_record, uint64_t now_ms)
{
    keep_record(lease, steal_record);
    lease->observed_ms = now_ms;
    lease->in_doubt = false;
    if (lease_names_us(lease))
        lease_gain(lease, lease->sent_at_ms + lease->renew_deadline_ms, now_ms);
    else
        lease_lose(lease);
    if (lease->held_until_ms > 0) {
        lease_pause(lease, CALL_HOLD, now_ms);
        return;
    }
    if (lease_names_us(lease) || lease->is_resigning) {
        lease_decide(lease, now_ms);
        return;
    }
    note_problem(lease, "the API server took our name and keeps another: ",
                 lease->record.holder[0] != '\0' ? lease->record.holder : "none");
    lease_pause(lease, CALL_LOOK, now_ms);
}

/* It was written on the version we knew: the holder had not renewed, and its time goes on. */
static void take_want(struct lease *lease, struct lease_record *steal_record, uint64_t now_ms)
{
    keep_record(lease, steal_record);
    if (lease->is_resigning)
        lease_decide(lease, now_ms);
    else
        lease_pause(lease, CALL_LOOK, now_ms);
}

static void take_release(struct lease *lease, struct lease_record *steal_record, uint64_t now_ms)
{
    keep_record(lease, steal_record);
    lease->observed_ms = now_ms;
    if (lease->is_resigning)
        lease_decide(lease, now_ms);
    else
        lease_pause(lease, CALL_LOOK, now_ms);
}

/* There is nothing to elect by: servers in memory, for tests, know no Leases. */
static void note_unsupported(struct lease *lease)
{
    lease->is_unsupported = true;
    note_problem(lease, "this API server keeps no Leases, so there is no election: ",
                 "let only one topofit run");
}

/* Somebody deleted it, or there never was one. Whoever holds it still believes in it. */
static void take_absence(struct lease *lease, uint64_t now_ms)
{
    bool is_anothers = !is_held_by_nobody(lease) && !lease_names_us(lease);

    lease->problem[0] = '\0';
    lease->in_doubt = false;
    if (lease->was_made_unreadable) {
        note_unsupported(lease);
        lease_pause_long(lease, now_ms);
        return;
    }
    if (is_anothers && !lease->is_resigning && !may_take(lease, now_ms)) {
        lease_pause(lease, CALL_LOOK, now_ms);
        return;
    }
    lease_record_clear(&lease->record);
    lease_record_init(&lease->record);
    lease->is_absent = true;
    lease_decide(lease, now_ms);
}

/* --- what went wrong ------------------------------------------------------------------------- */

static bool makes_us_the_holder(enum call call)
{
    return call == CALL_CREATE || call == CALL_HOLD;
}

static void note_doubt(struct lease *lease)
{
    lease->in_doubt = true;
    lease->doubt_sent_ms = lease->sent_at_ms;
    snprintf(lease->doubt_time, sizeof lease->doubt_time, "%s", lease->written_time);
}

static void go_on_without_answer(struct lease *lease, enum call sent, bool was_sent,
                                 uint64_t now_ms)
{
    if (was_sent && makes_us_the_holder(sent))
        note_doubt(lease);
    if (sent == CALL_LOOK)
        lease_pause(lease, CALL_LOOK, now_ms);
    else
        lease_look_again(lease, now_ms);
}

void lease_take_loss(struct lease *lease, enum call sent, bool was_sent, const char *why,
                     uint64_t now_ms)
{
    note_problem(lease, "no answer: ", why);
    go_on_without_answer(lease, sent, was_sent, now_ms);
}

static void note_refusal(struct lease *lease, enum call sent, int http_status,
                         const struct kube_status *status)
{
    AUTO_FREE char *what = NULL;

    if (http_status == 403)
        what = xasprintf("not allowed (403): give our account the verbs get, create and update on "
                         "leases (coordination.k8s.io) in namespace %s: ",
                         lease->namespace);
    else if (http_status == 404 && sent == CALL_CREATE)
        what = xasprintf("cannot be made (404), is there a namespace %s? ", lease->namespace);
    else
        what = xasprintf("HTTP %d: ", http_status);
    note_problem(lease, what, status->message);
}

/*
 * May pass by itself: the token is renewed, the server less busy. A server that has just started
 * knows no roles for a moment and allows nothing.
 */
static bool is_passing(const struct lease *lease, int http_status)
{
    return http_status == 401 || http_status == 408 || http_status == 429 ||
           http_status / 100 != 4 || (http_status == 403 && lease->refusals <= REFUSALS_PASSING);
}

/* A server that has Leases refuses to make one like this only where the namespace is missing. */
static bool is_no_place_for_leases(int http_status, const struct api_refusal *refusal)
{
    if (!refusal->is_servers_own)
        return false;
    return http_status == 405 || http_status == 501 ||
           (http_status == 404 && strstr(refusal->status.message, "namespace") == NULL);
}

static void take_refusal(struct lease *lease, enum call sent, const struct api_answer *answer,
                         uint64_t now_ms)
{
    struct api_refusal refusal;
    bool is_gone;

    api_answer_judge(answer, &refusal);
    is_gone = answer->status == 404 && refusal.is_servers_own && sent != CALL_CREATE;
    if (is_gone && sent == CALL_LOOK) {
        take_absence(lease, now_ms);
        return;
    }
    if (sent != CALL_LOOK && (answer->status == 409 || is_gone)) {
        lease->problem[0] = '\0';
        if (sent == CALL_WANT)
            lease->want_write_ms = 0;    /* none was made */
        lease_look_again(lease, now_ms); /* somebody was faster */
        return;
    }
    note_refusal(lease, sent, answer->status, &refusal.status);
    if (sent == CALL_CREATE && is_no_place_for_leases(answer->status, &refusal))
        note_unsupported(lease);
    if (makes_us_the_holder(sent) && refusal.fate == API_IN_DOUBT)
        note_doubt(lease);
    lease->refusals++;
    if (is_passing(lease, answer->status))
        lease_pause_asked(lease, refusal.retry_after_s * UINT64_C(1000), now_ms);
    else
        lease_pause_long(lease, now_ms);
}

/* --- any answer ------------------------------------------------------------------------------ */

void lease_take_answer(struct lease *lease, enum call sent, const struct api_answer *answer,
                       uint64_t now_ms)
{
    static void (*const takers[])(struct lease *, struct lease_record *, uint64_t) = {
        [CALL_LOOK] = take_look, [CALL_CREATE] = take_hold,     [CALL_HOLD] = take_hold,
        [CALL_WANT] = take_want, [CALL_RELEASE] = take_release,
    };
    AUTO(lease_record_clear) struct lease_record record = {0};
    struct error err = {0};

    if (!api_answer_is_ok(answer)) {
        take_refusal(lease, sent, answer, now_ms);
    } else if (lease_json_read(answer->body, answer->body_length, &record, &err) < 0) {
        note_problem(lease, "the answer could not be read: ", err.text);
        lease->was_made_unreadable = sent == CALL_CREATE;
        go_on_without_answer(lease, sent, true, now_ms);
    } else {
        lease->problem[0] = '\0';
        lease->refusals = 0;
        lease->is_unsupported = lease->was_made_unreadable = false;
        takers[sent](lease, &record, now_ms);
    }
}
