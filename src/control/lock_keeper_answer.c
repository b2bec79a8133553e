/* SPDX-License-Identifier: Apache-2.0 */
/* lock_keeper_answer - what the API server's answers say about a lock. */
#include "lock_keeper_inside.h"

#include "least.h"
#include "topofit/kube_json.h"
#include "topofit/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LOOK_FAILED_MS 2000u /* a holder that is doing well after all is asked about no sooner */

/* Whose request it was; whatever comes of it, the lane is to be looked at. */
static struct lane *take_lane(struct lock_keeper *keeper, uint64_t id)
{
    struct lane *lane = lane_index_answered(&keeper->index, id);

    if (lane != NULL)
        lane_index_touch(&keeper->index, lane);
    return lane;
}

__attribute__((format(printf, 3, 4))) static void
note_problem(struct lock_keeper *keeper, struct lane *lane, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(lane->problem, sizeof lane->problem, format, arguments);
    va_end(arguments);
    keeper->counters.errors++;
    snprintf(keeper->problem, sizeof keeper->problem, "locks on nodes: %.80s: %s", lane->node,
             lane->problem);
}

static void note_success(struct lock_keeper *keeper, struct lane *lane)
{
    lane->problem[0] = '\0';
    lane->send_at_ms = 0;
    keeper->problem[0] = '\0';
}

/* When to try again. */
static uint64_t after_a_while_ms(struct lane *lane, uint64_t retry_after_s, uint64_t now_ms)
{
    uint64_t wait_ms = backoff_next_ms(&lane->backoff, now_ms);

    if (retry_after_s > API_RETRY_AFTER_MAX_S)
        retry_after_s = API_RETRY_AFTER_MAX_S;
    if (retry_after_s * 1000 > wait_ms)
        wait_ms = retry_after_s * 1000;
    return now_ms + wait_ms;
}

/*
 * The write is known not to have been executed, nor will be. It was the head's: of the claims with
 * an owner only that is not held yet.
 */
static void forget_try(struct lane *lane)
{
    struct claim *claim = lane->claims;

    while (claim != NULL && (claim->owner == NULL || claim->state != CLAIM_TRIED ||
                             claim->version != lane->sent_version))
        claim = claim->next;
    lock_claim_drop(lane, claim);
}

/* --- a lock was written, or taken away ------------------------------------------------------- */

/* The node as it is now: what the watch is about to show. */
static bool take_body(struct lock_keeper *keeper, const struct api_answer *answer)
{
    AUTO(kube_object_clear) struct kube_object object = {0};
    struct error err = {0};

    kube_object_init(&object, KUBE_NODE);
    if (kube_json_read_object(KUBE_NODE, answer->body, answer->body_length, &object, &err) < 0)
        return false;
    /* The watch may have been faster, and have shown what came after it. */
    if (lock_version_of(&object.node) > version_book_get(&keeper->versions, object.node.meta.name))
        lock_take_node(keeper, &object.node);
    return true;
}

static void take_success(struct lock_keeper *keeper, struct lane *lane, enum lane_step step,
                         const struct api_answer *answer, uint64_t now_ms)
{
    if (step == LANE_TAKES)
        keeper->counters.taken++;
    else
        keeper->counters.released++;
    note_success(keeper, lane);
    if (take_body(keeper, answer)) /* the lane may be gone */
        return;
    /* It is done, and only the watch can tell now at which version. */
    lane->refused_version = lane->sent_version;
    lane->send_at_ms = after_a_while_ms(lane, 0, now_ms);
}

static void take_conflict(struct lock_keeper *keeper, struct lane *lane, bool was_in_doubt)
{
    keeper->counters.conflicts++;
    lane->refused_version = lane->sent_version;
    if (!was_in_doubt)
        forget_try(lane);
}

static void fail_head(struct lane *lane, const char *text)
{
    struct turn *head = lock_lane_head(lane);

    if (head != NULL)
        lock_turn_fail(head, "%s", text);
}

static void take_refusal(struct lock_keeper *keeper, struct lane *lane, enum lane_step step,
                         const struct api_answer *answer, uint64_t now_ms)
{
    struct api_refusal refusal;
    char text[sizeof lane->problem + 64];

    api_answer_judge(answer, &refusal);
    if (answer->status == 404 && refusal.is_servers_own) {
        snprintf(text, sizeof text, "there is no node %.80s", lane->node);
        while (lock_lane_head(lane) != NULL)
            fail_head(lane, text);
        lock_forget_node(keeper, lane->node);
        return;
    }
    note_problem(keeper, lane, "HTTP %d: %.100s%s", answer->status, refusal.status.message,
                 answer->status == 403 ? "; give our account the verb patch on nodes" : "");
    lane->send_at_ms = after_a_while_ms(lane, refusal.retry_after_s, now_ms);
    if (refusal.fate == API_IN_DOUBT) {
        lane->is_in_doubt = step == LANE_TAKES;
    } else if (refusal.fate == API_REFUSED && step == LANE_TAKES) {
        snprintf(text, sizeof text, "the node could not be locked: %s", lane->problem);
        fail_head(lane, text);
    }
}

/* --- the pod that a lock names --------------------------------------------------------------- */

static void take_view(struct lock_keeper *keeper, struct lane *lane, struct holder_view view,
                      uint64_t now_ms)
{
    struct shown_lock *shown = &lane->shown[lane->sent_kind];

    note_success(keeper, lane);
    if (shown->number != lane->sent_number || shown->is_free)
        return; /* another lock by now, or none */
    /* What the watch shows is behind. */
    lane->ask_at_ms = now_ms + LOOK_FAILED_MS;
    if (view.holder == HOLDER_ALLOCATING)
        return;
    if (view.holder == HOLDER_UNBOUND &&
        now_ms < most(shown->seen_ms + LOCK_UNBOUND_MS, lane->hold_until_ms))
        return;
    lock_free(keeper, lane, shown, view.end);
}

static void take_pod(struct lock_keeper *keeper, struct lane *lane, const struct api_answer *answer,
                     uint64_t now_ms)
{
    AUTO(kube_object_clear) struct kube_object object = {0};
    struct api_refusal refusal = {.retry_after_s = answer->retry_after_s};
    struct error err = {0};

    if (answer->status == 200) {
        kube_object_init(&object, KUBE_POD);
        if (kube_json_read_object(KUBE_POD, answer->body, answer->body_length, &object, &err) ==
            0) {
            take_view(keeper, lane, lock_judge_pod(lane, &object.pod), now_ms);
            return;
        }
        note_problem(keeper, lane, "the pod it is locked for could not be read: %.80s", err.text);
    } else {
        api_answer_judge(answer, &refusal);
        if (answer->status == 404 && refusal.is_servers_own) {
            take_view(keeper, lane, (struct holder_view){HOLDER_OVER, LOCK_END_GONE}, now_ms);
            return;
        }
        note_problem(keeper, lane, "looking at the pod it is locked for: HTTP %d: %.80s",
                     answer->status, refusal.status.message);
    }
    lane->ask_at_ms = after_a_while_ms(lane, refusal.retry_after_s, now_ms);
}

/* --- what arrives ---------------------------------------------------------------------------- */

void lock_keeper_on_answer(struct lock_keeper *keeper, uint64_t id, const struct api_answer *answer,
                           uint64_t now_ms)
{
    struct lane *lane = take_lane(keeper, id);
    enum lane_step step;
    bool was_in_doubt;

    if (lane == NULL)
        return;
    keeper->now_ms = now_ms;
    step = lane->step;
    was_in_doubt = lane->is_in_doubt;
    lane->step = LANE_RESTS;
    if (step == LANE_LOOKS) {
        take_pod(keeper, lane, answer, now_ms);
        return;
    }
    lane->is_in_doubt = false;
    if (api_answer_is_ok(answer))
        take_success(keeper, lane, step, answer, now_ms);
    else if (answer->status == 409)
        take_conflict(keeper, lane, was_in_doubt);
    else
        take_refusal(keeper, lane, step, answer, now_ms);
}

void lock_keeper_on_loss(struct lock_keeper *keeper, uint64_t id, bool was_sent, const char *why,
                         uint64_t now_ms)
{
    struct lane *lane = take_lane(keeper, id);

    if (lane == NULL)
        return;
    keeper->now_ms = now_ms;
    lane->is_in_doubt |= was_sent && lane->step == LANE_TAKES;
    *(lane->step == LANE_LOOKS ? &lane->ask_at_ms : &lane->send_at_ms) =
        after_a_while_ms(lane, 0, now_ms);
    lane->step = LANE_RESTS;
    note_problem(keeper, lane, "%.120s", why);
}
