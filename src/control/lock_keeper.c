/* SPDX-License-Identifier: Apache-2.0 */
/* lock_keeper - locks a node around a Binding. */
#include "lock_keeper_inside.h"

#include "least.h"
#include "topofit/kube_path.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BODY_MAX_BYTES 2048

static const struct backoff_limits RETRY_LIMITS = {50, 1000, 10000};

const char *lock_end_word(enum lock_end end)
{
    static const char *const words[] = {
#define X(id, word) [LOCK_END_##id] = word,
        LOCK_ENDS(X)
#undef X
    };

    return words[end];
}

/* --- life ------------------------------------------------------------------------------------ */

struct lock_keeper *lock_keeper_new(const struct lock_keeper_options *options)
{
    struct lock_keeper *keeper = xcalloc(1, sizeof *keeper);
    const struct hash_key *key = &keeper->options.key;

    keeper->options = *options;
    keeper->jitter.state = options->seed;
    version_book_init(&keeper->versions, key);
    version_book_init(&keeper->arriving, key);
    keeper->lanes = map_new(key);
    keeper->listed = map_new(key);
    keeper->permitted_until_ms = UINT64_MAX;
    keeper->path = buf_with_max(API_PATH_BYTES_MAX);
    keeper->body = buf_with_max(BODY_MAX_BYTES);
    return keeper;
}

static void free_lane(void *value)
{
    struct lane *lane = value;

    for (size_t i = 0; i < NODE_LOCK_KINDS; i++)
        free(lane->shown[i].text);
    while (lane->claims != NULL)
        lock_claim_drop(lane, lane->claims);
    free(lane->node);
    free(lane);
}

/* A turn that fails touches its lane in the index: no lane is freed before all have. */
static void fail_turns(struct lane *lane)
{
    while (lane->turns != NULL) {
        assert(lane->turns->state == TURN_WAITS); /* else the binder is still there */
        lock_turn_fail(lane->turns, "topofit is stopping");
    }
}

void lock_keeper_free(struct lock_keeper *keeper)
{
    struct map_cursor at = {0};

    if (keeper == NULL)
        return;
    while (map_next(keeper->lanes, &at))
        fail_turns(at.value);
    lane_index_clear(&keeper->index);
    map_free(keeper->lanes, free_lane);
    lock_keeper_nodes(keeper).begin(keeper); /* drops a list that was arriving */
    map_free(keeper->listed, NULL);
    version_book_clear(&keeper->versions);
    buf_clear(&keeper->path);
    buf_clear(&keeper->body);
    free(keeper);
}

struct lane *lock_lane(struct lock_keeper *keeper, const char *node)
{
    struct lane *lane = map_get(keeper->lanes, node);

    if (lane != NULL)
        return lane;
    lane = xcalloc(1, sizeof *lane);
    lane->node = xstrdup(node);
    backoff_init(&lane->backoff, &RETRY_LIMITS, jitter_between(&keeper->jitter, 0, UINT64_MAX));
    map_put(keeper->lanes, node, lane);
    return lane;
}

void lock_touch_all(struct lock_keeper *keeper)
{
    struct map_cursor at = {0};

    while (map_next(keeper->lanes, &at))
        lane_index_touch(&keeper->index, at.value);
}

bool lock_lane_drop(struct lock_keeper *keeper, struct lane *lane)
{
    for (size_t i = 0; i < NODE_LOCK_KINDS; i++) {
        if (lane->shown[i].text != NULL)
            return false;
    }
    if (lane->turns != NULL || lane->step != LANE_RESTS || lane->claims != NULL)
        return false;
    map_remove(keeper->lanes, lane->node);
    lane_index_drop(&keeper->index, lane);
    free_lane(lane);
    return true;
}

/* --- locks ----------------------------------------------------------------------------------- */

/* Whether the lock is kept, or has to go, now that its job has ended. */
static void end_claim(const struct turn *turn, bool was_in_vain)
{
    struct claim *claim = lock_claim_of(turn->lane, turn);

    if (!was_in_vain)
        lock_claim_drop(turn->lane, claim);
    else if (claim != NULL)
        claim->owner = NULL;
}

void lock_free(struct lock_keeper *keeper, struct lane *lane, struct shown_lock *shown,
               enum lock_end end)
{
    shown->is_free = true;
    keeper->counters.broken[end]++;
    snprintf(keeper->last_broken, sizeof keeper->last_broken,
             "node %.80s: the lock \"%.300s\" means nothing any more (%s)", lane->node, shown->text,
             lock_end_word(end));
}

/* --- turns ----------------------------------------------------------------------------------- */

static void remove_turn(struct turn *turn)
{
    struct turn **place = &turn->lane->turns;

    while (*place != turn)
        place = &(*place)->next;
    *place = turn->next;
    lane_index_touch(&turn->keeper->index, turn->lane);
    turn->keeper->waiting -= turn->state == TURN_WAITS;
    free(turn);
}

void lock_turn_fail(struct turn *turn, const char *format, ...)
{
    struct bind_job *job = turn->job;
    const struct turn ended = *turn;
    char text[ERROR_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    end_claim(turn, true);
    remove_turn(turn);
    ended.done(ended.ctx, BIND_FAILED, text);
    bind_job_free(job);
}

static void on_done(void *ctx, enum bind_outcome outcome, const char *text)
{
    struct turn *turn = ctx;
    const struct turn ended = *turn;

    if (outcome == BIND_UNCLEAR) {
        turn->state = TURN_SETTLES;
        lane_index_touch(&turn->keeper->index, turn->lane);
    } else {
        end_claim(turn, outcome == BIND_FAILED);
        remove_turn(turn);
    }
    ended.done(ended.ctx, outcome, text);
}

/* Nobody finds out any more: the Binding may be executed yet, and its lock is not touched before.
 */
static void on_settled(void *ctx, enum bind_outcome outcome)
{
    struct turn *turn = ctx;
    const struct turn ended = *turn;

    if (outcome == BIND_UNCLEAR && lock_claim_of(turn->lane, turn) != NULL)
        turn->lane->hold_until_ms = turn->keeper->now_ms + BINDER_LATE_MS;
    end_claim(turn, outcome == BIND_FAILED);
    remove_turn(turn);
    if (ended.settled != NULL)
        ended.settled(ended.ctx, outcome);
}

static void add_turn(struct lane *lane, struct turn *turn)
{
    struct turn **place = &lane->turns;

    while (*place != NULL)
        place = &(*place)->next;
    *place = turn;
    turn->lane = lane;
    lane_index_touch(&turn->keeper->index, lane);
}

int lock_keeper_submit(struct lock_keeper *keeper, struct bind_job *steal_job, uint64_t now_ms,
                       struct error *err)
{
    struct turn *turn;

    assert(steal_job->lock != NODE_LOCK_NONE && steal_job->done != NULL);
    if (binder_check_names(steal_job, err) < 0)
        return error_pass(err);
    keeper->now_ms = now_ms;
    turn = xcalloc(1, sizeof *turn);
    *turn = (struct turn){.keeper = keeper,
                          .job = steal_job,
                          .since_ms = now_ms,
                          .done = steal_job->done,
                          .settled = steal_job->settled,
                          .ctx = steal_job->ctx};
    steal_job->done = on_done;
    steal_job->settled = on_settled;
    steal_job->ctx = turn;
    add_turn(lock_lane(keeper, steal_job->node), turn);
    keeper->waiting++;
    return 0;
}

void lock_keeper_permit(struct lock_keeper *keeper, uint64_t until_ms)
{
    struct map_cursor at = {0};

    keeper->permitted_until_ms = until_ms;
    while (until_ms == 0 && keeper->waiting > 0 && map_next(keeper->lanes, &at)) {
        struct lane *lane = at.value;

        lane_index_touch(&keeper->index, lane);
        for (struct turn *turn = lane->turns; turn != NULL; turn = turn->next)
            turn->is_outdated = true;
    }
}

void lock_keeper_stop(struct lock_keeper *keeper)
{
    keeper->is_stopping = true;
    lock_touch_all(keeper);
}

/* --- what is wanted -------------------------------------------------------------------------- */

bool lock_keeper_next_request(struct lock_keeper *keeper, struct moment now,
                              struct api_request *out)
{
    struct lane *lane;
    bool sends = false;

    keeper->now_ms = now.monotonic_ms;
    if (lock_is_permitted(keeper) != keeper->was_permitted)
        lock_touch_all(keeper);
    keeper->was_permitted = lock_is_permitted(keeper);
    while (!sends && (lane = lane_index_take(&keeper->index, keeper->now_ms)) != NULL) {
        sends = lock_lane_next(keeper, lane, now, out);
        if (!lock_lane_drop(keeper, lane)) /* not again within this call, whatever it says */
            lane_index_wait(&keeper->index, lane, most(lane->due_ms, keeper->now_ms + 1));
    }
    return sends;
}

uint64_t lock_keeper_next_due_ms(const struct lock_keeper *keeper)
{
    return lane_index_due_ms(&keeper->index);
}

/* --- for others ------------------------------------------------------------------------------ */

size_t lock_keeper_waiting(const struct lock_keeper *keeper)
{
    return keeper->waiting;
}

bool lock_keeper_is_idle(const struct lock_keeper *keeper)
{
    struct map_cursor at = {0};

    while (map_next(keeper->lanes, &at)) {
        const struct lane *lane = at.value;

        if (lane->turns != NULL || lane->step != LANE_RESTS || lane->claims != NULL)
            return false;
    }
    return true;
}

const struct lock_keeper_counters *lock_keeper_counters(const struct lock_keeper *keeper)
{
    return &keeper->counters;
}

const char *lock_keeper_problem(const struct lock_keeper *keeper)
{
    return keeper->problem;
}

const char *lock_keeper_last_broken(const struct lock_keeper *keeper)
{
    return keeper->last_broken;
}

size_t lock_keeper_lanes(const struct lock_keeper *keeper)
{
    return map_count(keeper->lanes);
}
