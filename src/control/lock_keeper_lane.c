/* SPDX-License-Identifier: Apache-2.0 */
/* lock_keeper_lane - what a node needs next: a lock taken, one taken away, a look at a holder. */
#include "lock_keeper_inside.h"

#include "least.h"
#include "topofit/annotation_budget.h"
#include "topofit/kube_path.h"
#include "topofit/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITE_MIN_MS 100u   /* shortest time of a write that is worth to be sent */
#define TAKE_MIN_MS 300u    /* with less than that left there is no lock taken: a Binding follows */
#define ATTEMPT_MIN_MS 500u /* shortest time given to a request, the deadline permitting */
#define RELEASE_MS 5000u    /* time given to one that nobody waits for */
#define IDLE_LOOK_MS 5000u  /* the same, where nobody waits */
#define LOOK_AGAIN_MS 250u  /* at the holder, in memory */
#define DSMLU_MS 120000u    /* source: HAMi pkg/device/cambricon */
#define TIME_TEXT_BYTES 24

_Static_assert(sizeof BIND_PHASE_KEY BIND_PHASE_ALLOCATING BIND_TIME_KEY + TIME_TEXT_BYTES <=
                   ANNOTATIONS_LOCK_BYTES_MAX,
               "what a lock adds to a Binding is more than its share");

/* --- who may write --------------------------------------------------------------------------- */

/* As long as a Binding would have: see binder.c. */
static uint64_t write_limit_ms(const struct lock_keeper *keeper)
{
    return (keeper->permitted_until_ms - keeper->now_ms) / 2;
}

bool lock_is_permitted(const struct lock_keeper *keeper)
{
    return keeper->now_ms < keeper->permitted_until_ms && write_limit_ms(keeper) >= WRITE_MIN_MS;
}

static const char *why_no_more(const struct lock_keeper *keeper, const struct turn *turn)
{
    if (keeper->is_stopping)
        return "topofit is stopping";
    if (turn->is_outdated || !lock_is_permitted(keeper))
        return "this topofit is not the leader any more";
    return NULL;
}

/* --- what stands in the way ------------------------------------------------------------------ */

static struct turn *find_turn(const struct lane *lane, enum turn_state state)
{
    struct turn *turn = lane->turns;

    while (turn != NULL && turn->state != state)
        turn = turn->next;
    return turn;
}

struct turn *lock_lane_head(const struct lane *lane)
{
    return find_turn(lane, TURN_WAITS);
}

/* The lock is that of a Binding of ours, of which it is not known yet what became of it. */
static bool is_in_doubt(const struct claim *claim)
{
    return claim != NULL && claim->owner != NULL && claim->owner->state == TURN_SETTLES;
}

/*
 * A lock that names the same pod is as good as ours, but not at once: it may be that of a pod of
 * the same name before, and its plugin, which looks at names, be about to take it away.
 */
static bool is_ours_to_replace(const struct lock_keeper *keeper, struct lane *lane,
                               const struct shown_lock *shown, const struct turn *head)
{
    const struct claim *claim = lock_claim_shown(lane, head->job->lock);

    if (claim != NULL && claim->owner == NULL)
        return true;
    if (is_in_doubt(claim))
        return strcmp(claim->owner->job->uid, head->job->uid) == 0;
    if (!lock_names(shown->text, head->job->namespace, head->job->name))
        return false;
    if (keeper->now_ms < shown->seen_ms + LOCK_OVER_MS)
        lane->due_ms = least(lane->due_ms, shown->seen_ms + LOCK_OVER_MS);
    return keeper->now_ms >= shown->seen_ms + LOCK_OVER_MS;
}

/* When a lock that stands there unchanged means nothing any more, whoever holds it. */
static uint64_t aged_ms(const struct lock_keeper *keeper, enum node_lock kind,
                        const struct shown_lock *shown)
{
    uint64_t timeout_ms = keeper->options.timeout_ms;

    return shown->seen_ms + (kind == NODE_LOCK_BARE ? least(timeout_ms, DSMLU_MS) : timeout_ms);
}

static uint64_t idle_ms(const struct shown_lock *shown)
{
    return shown->seen_ms + LOCK_IDLE_MS;
}

/* When a lock whose holder looks so may be asked about; UINT64_MAX: not yet. */
static uint64_t ripe_ms(const struct lane *lane, const struct shown_lock *shown)
{
    if (shown->view.holder == HOLDER_OVER)
        return shown->view_ms + LOCK_OVER_MS;
    if (shown->view.holder == HOLDER_UNBOUND)
        return most(shown->seen_ms + LOCK_UNBOUND_MS, lane->hold_until_ms);
    return UINT64_MAX;
}

/* May the API server be asked about the holder? due_ms is set where it may be later. */
static bool may_ask(const struct lock_keeper *keeper, struct lane *lane,
                    const struct shown_lock *shown)
{
    uint64_t ask_ms = most(ripe_ms(lane, shown), lane->ask_at_ms);

    if (keeper->now_ms < ask_ms)
        lane->due_ms = least(lane->due_ms, ask_ms);
    return keeper->now_ms >= ask_ms;
}

static void view(struct lock_keeper *keeper, struct lane *lane, struct shown_lock *shown)
{
    struct holder_view now = lock_judge_watched(keeper, lane, shown->text);

    if (shown->view_ms == 0 || now.holder != shown->view.holder)
        shown->view_ms = keeper->now_ms;
    shown->view = now;
    lane->look_at_ms = keeper->now_ms + LOOK_AGAIN_MS;
}

/* --- requests -------------------------------------------------------------------------------- */

static void send(struct lock_keeper *keeper, struct lane *lane, enum lane_step step,
                 struct api_request *out)
{
    lane->step = step;
    lane->id = out->id = ++keeper->last_id;
    lane_index_sent(&keeper->index, lane);
    out->path = buf_text(&keeper->path);
    out->body = keeper->body.length > 0 ? buf_text(&keeper->body) : NULL;
    out->body_length = keeper->body.length;
}

/* Write the lock, or null, on exactly that version of the node. */
static void write_patch(struct lock_keeper *keeper, struct lane *lane, enum node_lock kind,
                        const char *text, uint64_t limit_ms, struct api_request *out)
{
    *out = (struct api_request){.method = "PATCH",
                                .content_type = "application/merge-patch+json",
                                .timeout_ms = limit_ms,
                                .body_by_ms = keeper->now_ms + limit_ms};
    kube_path_node_in_time(&keeper->path, lane->node, limit_ms);
    buf_reset(&keeper->body);
    lane->sent_kind = kind;
    lane->sent_version = version_book_get(&keeper->versions, lane->node);
    buf_addf(&keeper->body, "{\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\",\"annotations\":{",
             lane->sent_version);
    buf_add_json_string(&keeper->body, node_lock_key(kind));
    buf_add_byte(&keeper->body, ':');
    if (text != NULL)
        buf_add_json_string(&keeper->body, text);
    else
        buf_add_text(&keeper->body, "null");
    buf_add_text(&keeper->body, "}}}");
}

/* head NULL: nobody waits. */
static uint64_t limit_ms(const struct lock_keeper *keeper, const struct turn *head)
{
    uint64_t left_ms = head != NULL ? head->job->deadline_ms - keeper->now_ms : 2 * RELEASE_MS;

    return least(left_ms / 2 > ATTEMPT_MIN_MS ? left_ms / 2 : ATTEMPT_MIN_MS, left_ms);
}

static bool is_known(const struct lane *lane, enum node_lock kind, const char *text)
{
    const char *shown = lane->shown[kind].text;

    return (shown != NULL && strcmp(shown, text) == 0) || lock_claim_with(lane, kind, text) != NULL;
}

/*
 * Another lock than any before, also for a pod that had one in the same second: to write what is
 * there already would change nothing, and so be no proof that nobody else has changed it.
 */
static char *new_text(const struct lane *lane, const struct bind_job *job, uint64_t unix_ms)
{
    char text[NODE_LOCK_TEXT_BYTES];

    do {
        node_lock_write(job->lock, unix_ms, job->namespace, job->name, text);
        unix_ms += 1000;
    } while (is_known(lane, job->lock, text));
    return xstrdup(text);
}

/* Sent again for the same job, on the same version, it is the same lock: one of both is executed.
 */
static const struct claim *claim_for(struct lane *lane, const struct turn *head, uint64_t version,
                                     uint64_t unix_ms)
{
    struct claim *claim = lock_claim_of(lane, head);

    if (claim != NULL && claim->version == version)
        return claim;
    if (claim != NULL)
        claim->owner = NULL; /* a list was behind the watch */
    return lock_claim_add(lane, &(struct claim){.kind = head->job->lock,
                                                .version = version,
                                                .owner = head,
                                                .text = new_text(lane, head->job, unix_ms)});
}

static void take(struct lock_keeper *keeper, struct lane *lane, const struct turn *head,
                 struct moment now, struct api_request *out)
{
    uint64_t version = version_book_get(&keeper->versions, lane->node);
    const struct claim *claim = claim_for(lane, head, version, now.unix_ms);

    write_patch(keeper, lane, head->job->lock, claim->text,
                least(limit_ms(keeper, head), write_limit_ms(keeper)), out);
    send(keeper, lane, LANE_TAKES, out);
}

static void release(struct lock_keeper *keeper, struct lane *lane, enum node_lock kind,
                    struct api_request *out)
{
    write_patch(keeper, lane, kind, NULL, RELEASE_MS, out);
    send(keeper, lane, LANE_RELEASES, out);
}

static void look(struct lock_keeper *keeper, struct lane *lane, const struct turn *head,
                 enum node_lock kind, struct api_request *out)
{
    const struct shown_lock *shown = &lane->shown[kind];
    struct lock_holder holder = node_lock_holder(shown->text);
    AUTO_FREE char *namespace = xasprintf("%.*s", (int)holder.namespace_length, holder.namespace);

    *out = (struct api_request){.method = "GET", .timeout_ms = limit_ms(keeper, head)};
    kube_path_pod(&keeper->path, namespace, holder.name);
    buf_reset(&keeper->body);
    lane->sent_kind = kind;
    lane->sent_number = shown->number;
    keeper->counters.looks++;
    send(keeper, lane, LANE_LOOKS, out);
}

/* --- turns ----------------------------------------------------------------------------------- */

/* The lock is ours: now the Binding. */
static void bind(struct lock_keeper *keeper, struct turn *turn, struct moment now)
{
    char seconds[TIME_TEXT_BYTES];
    struct error err = {0};

    snprintf(seconds, sizeof seconds, "%" PRIu64, now.unix_ms / 1000);
    bind_job_add_annotation(turn->job, BIND_PHASE_KEY, BIND_PHASE_ALLOCATING);
    bind_job_add_annotation(turn->job, BIND_TIME_KEY, seconds);
    if (binder_submit(keeper->options.binder, turn->job, now.monotonic_ms, &err) < 0) {
        lock_turn_fail(turn, "%s", err.text);
        return;
    }
    turn->state = TURN_BINDS;
    keeper->waiting--;
}

static const char *holder_words(const struct shown_lock *shown)
{
    static const char *const words[] = {
        [HOLDER_ALLOCATING] = "to which the node's device plugin has not given its devices yet",
        [HOLDER_UNBOUND] = "which is not bound yet",
        [HOLDER_OVER] = "which does not need it any more",
    };

    return words[shown->view.holder];
}

/* The time is up: for whom or what did it wait? */
static void fail_late(struct lock_keeper *keeper, struct turn *turn)
{
    const struct lane *lane = turn->lane;
    const struct shown_lock *shown = &lane->shown[turn->job->lock];
    const struct lock_holder holder =
        shown->text != NULL ? node_lock_holder(shown->text) : (struct lock_holder){0};
    uint64_t waited_ms = keeper->now_ms - turn->since_ms;
    const struct turn *before = lane->turns;

    if (holder.name != NULL)
        lock_turn_fail(
            turn, "node %.80s is locked for pod %.*s/%.100s, %s; waited %" PRIu64 " ms%s%s",
            lane->node, (int)least(holder.namespace_length, 63), holder.namespace, holder.name,
            holder_words(shown), waited_ms, lane->problem[0] != '\0' ? "; " : "", lane->problem);
    else if (shown->text != NULL)
        lock_turn_fail(turn,
                       "node %.80s is locked for nobody by name: \"%.80s\"; waited %" PRIu64 " ms",
                       lane->node, shown->text, waited_ms);
    else if (before != turn)
        lock_turn_fail(turn, "pod %.63s/%.100s is being bound to node %.80s; waited %" PRIu64 " ms",
                       before->job->namespace, before->job->name, lane->node, waited_ms);
    else if (version_book_get(&keeper->versions, lane->node) == 0)
        lock_turn_fail(turn, "node %.80s is not known, or its resourceVersion is no number",
                       lane->node);
    else
        lock_turn_fail(turn, "node %.80s could not be locked in %" PRIu64 " ms%s%s", lane->node,
                       waited_ms, lane->problem[0] != '\0' ? ": " : "", lane->problem);
}

/* End those that cannot go on. */
static void end_turns(struct lock_keeper *keeper, struct lane *lane)
{
    struct turn *turn = lane->turns;

    while (turn != NULL) {
        struct turn *next = turn->next;
        const char *why = why_no_more(keeper, turn);

        if (turn->state == TURN_WAITS && turn->job->deadline_ms <= keeper->now_ms)
            fail_late(keeper, turn);
        else if (turn->state == TURN_WAITS && why != NULL)
            lock_turn_fail(turn, "%s", why);
        turn = next;
    }
}

/*
 * May the head write its lock now? Where it may not, `wants_look` says whether the API server is to
 * be asked about the holder, and due_ms when to ask again.
 */
static bool is_free(struct lock_keeper *keeper, struct lane *lane, const struct turn *head,
                    bool *wants_look)
{
    struct shown_lock *shown = &lane->shown[head->job->lock];

    *wants_look = false;
    if (shown->text == NULL || shown->is_free || is_ours_to_replace(keeper, lane, shown, head))
        return true;
    if (is_in_doubt(lock_claim_shown(lane, head->job->lock)))
        return false;
    if (keeper->now_ms >= aged_ms(keeper, head->job->lock, shown)) {
        lock_free(keeper, lane, shown, LOCK_END_AGED);
        return true;
    }
    if (lane->look_at_ms <= keeper->now_ms)
        view(keeper, lane, shown);
    *wants_look = may_ask(keeper, lane, shown);
    lane->due_ms =
        least(lane->due_ms, least(lane->look_at_ms, aged_ms(keeper, head->job->lock, shown)));
    return false;
}

static bool can_write(struct lock_keeper *keeper, struct lane *lane)
{
    uint64_t version = version_book_get(&keeper->versions, lane->node);

    if (version == 0 || version == lane->refused_version)
        return false; /* the watch will tell */
    if (keeper->now_ms < lane->send_at_ms)
        lane->due_ms = least(lane->due_ms, lane->send_at_ms);
    return keeper->now_ms >= lane->send_at_ms;
}

/* For the first that waits. return true when a request is to be sent. */
static bool serve_head(struct lock_keeper *keeper, struct lane *lane, struct moment now,
                       struct api_request *out)
{
    struct turn *head = lock_lane_head(lane);
    bool wants_look;

    if (head == NULL || find_turn(lane, TURN_BINDS) != NULL)
        return false;
    if (!is_free(keeper, lane, head, &wants_look)) {
        if (wants_look)
            look(keeper, lane, head, head->job->lock, out);
        return wants_look;
    }
    if (!can_write(keeper, lane) || head->job->deadline_ms - keeper->now_ms < TAKE_MIN_MS)
        return false;
    take(keeper, lane, head, now, out);
    return true;
}

/* The lock is the first one's, by the answer or by the watch, whichever came first. */
static void bind_head(struct lock_keeper *keeper, const struct lane *lane, struct moment now)
{
    struct turn *head = lock_lane_head(lane);
    const struct claim *claim = head != NULL ? lock_claim_of(lane, head) : NULL;

    if (claim != NULL && claim->state == CLAIM_HELD)
        bind(keeper, head, now);
}

/* A lock of ours that has to go is shown, and nobody is about to replace it. */
static bool has_to_release(const struct lane *lane, enum node_lock kind)
{
    const struct claim *claim = lock_claim_shown(lane, kind);

    return claim != NULL && claim->owner == NULL;
}

/*
 * The pod is on this node all the same, by a Binding that was not this job's: the plugin has use
 * for the lock that names it.
 */
static void leave_what_is_of_use(const struct lock_keeper *keeper, struct lane *lane)
{
    struct claim *claim = lock_claim_shown(lane, NODE_LOCK_NAMED);

    if (has_to_release(lane, NODE_LOCK_NAMED) &&
        lock_judge_watched(keeper, lane, claim->text).holder == HOLDER_ALLOCATING)
        lock_claim_drop(lane, claim);
}

static void note_time(struct lock_keeper *keeper, struct lane *lane)
{
    for (enum node_lock kind = NODE_LOCK_NONE + 1; kind < NODE_LOCK_KINDS; kind++) {
        if (lane->shown[kind].text != NULL && lane->shown[kind].seen_ms == 0)
            lane->shown[kind].seen_ms = keeper->now_ms;
    }
}

/* A lock of ours that has to go, or another that is known to mean nothing. */
static bool release_one(struct lock_keeper *keeper, struct lane *lane, struct api_request *out)
{
    enum node_lock kind = NODE_LOCK_NONE + 1;

    while (kind < NODE_LOCK_KINDS && !has_to_release(lane, kind) &&
           (lane->shown[kind].text == NULL || !lane->shown[kind].is_free))
        kind++;
    if (kind == NODE_LOCK_KINDS || !can_write(keeper, lane))
        return false;
    release(keeper, lane, kind, out);
    return true;
}

/*
 * Nobody waits. Somebody may come, and other schedulers wait for longer: what nobody will take away
 * is taken away, after a good while. return true when a request is to be sent.
 */
static bool tidy_up(struct lock_keeper *keeper, struct lane *lane, enum node_lock kind,
                    struct api_request *out)
{
    struct shown_lock *shown = &lane->shown[kind];

    if (shown->text == NULL || shown->is_free || is_in_doubt(lock_claim_shown(lane, kind)))
        return false;
    if (keeper->now_ms < idle_ms(shown)) {
        lane->due_ms = least(lane->due_ms, idle_ms(shown));
        return false;
    }
    if (keeper->now_ms >= aged_ms(keeper, kind, shown)) {
        lock_free(keeper, lane, shown, LOCK_END_AGED);
        return false;
    }
    if (lane->look_at_ms <= keeper->now_ms) {
        view(keeper, lane, shown);
        lane->look_at_ms = keeper->now_ms + IDLE_LOOK_MS;
    }
    lane->due_ms = least(lane->due_ms, least(lane->look_at_ms, aged_ms(keeper, kind, shown)));
    if (!may_ask(keeper, lane, shown))
        return false;
    look(keeper, lane, NULL, kind, out);
    return true;
}

/* Nobody waits for the node. */
static bool serve_nobody(struct lock_keeper *keeper, struct lane *lane, struct api_request *out)
{
    bool sends = false;

    if (lock_lane_head(lane) != NULL || find_turn(lane, TURN_BINDS) != NULL)
        return false;
    for (enum node_lock kind = NODE_LOCK_NONE + 1; kind < NODE_LOCK_KINDS && !sends; kind++)
        sends =
            !keeper->is_stopping && lock_is_permitted(keeper) && tidy_up(keeper, lane, kind, out);
    return sends || release_one(keeper, lane, out);
}

static void note_deadlines(struct lane *lane)
{
    for (const struct turn *turn = lane->turns; turn != NULL; turn = turn->next) {
        if (turn->state == TURN_WAITS)
            lane->due_ms = least(lane->due_ms, turn->job->deadline_ms);
    }
}

bool lock_lane_next(struct lock_keeper *keeper, struct lane *lane, struct moment now,
                    struct api_request *out)
{
    bool sends = false;

    note_time(keeper, lane);
    lock_settle_claims(lane, version_book_get(&keeper->versions, lane->node));
    end_turns(keeper, lane);
    bind_head(keeper, lane, now);
    lane->due_ms = UINT64_MAX;
    leave_what_is_of_use(keeper, lane);
    if (lane->step == LANE_RESTS)
        sends = serve_head(keeper, lane, now, out);
    if (lane->step == LANE_RESTS)
        sends = serve_nobody(keeper, lane, out);
    note_deadlines(lane);
    return sends;
}
