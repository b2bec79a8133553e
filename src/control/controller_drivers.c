/* SPDX-License-Identifier: Apache-2.0 */
/* controller_drivers - what the machines of a controller have in common, machine by machine. */
#include "controller_inside.h"

static bool next_lock(struct controller *c, struct moment now, struct api_request *out)
{
    return lock_keeper_next_request(c->locks, now, out);
}

static uint64_t locks_due_ms(const struct controller *c)
{
    return lock_keeper_next_due_ms(c->locks);
}

static void on_lock(struct controller *c, uint64_t id, const struct api_answer *answer,
                    uint64_t now_ms)
{
    lock_keeper_on_answer(c->locks, id, answer, now_ms);
}

static void on_lost_lock(struct controller *c, uint64_t id, bool was_sent, const char *why,
                         uint64_t now_ms)
{
    lock_keeper_on_loss(c->locks, id, was_sent, why, now_ms);
}

static bool next_binding(struct controller *c, struct moment now, struct api_request *out)
{
    return binder_next_request(c->binder, now.monotonic_ms, out);
}

static uint64_t binder_due_ms(const struct controller *c)
{
    return binder_next_due_ms(c->binder);
}

static void on_binding(struct controller *c, uint64_t id, const struct api_answer *answer,
                       uint64_t now_ms)
{
    binder_on_answer(c->binder, id, answer, now_ms);
}

static void on_lost_binding(struct controller *c, uint64_t id, bool was_sent, const char *why,
                            uint64_t now_ms)
{
    binder_on_loss(c->binder, id, was_sent, why, now_ms);
}

static bool next_lease(struct controller *c, struct moment now, struct api_request *out)
{
    return c->lease != NULL && lease_next_request(c->lease, now, out);
}

static uint64_t lease_due_ms(const struct controller *c)
{
    return c->lease != NULL ? lease_next_due_ms(c->lease) : UINT64_MAX;
}

static void on_lease(struct controller *c, uint64_t id, const struct api_answer *answer,
                     uint64_t now_ms)
{
    lease_on_answer(c->lease, id, answer, now_ms);
}

static void on_lost_lease(struct controller *c, uint64_t id, bool was_sent, const char *why,
                          uint64_t now_ms)
{
    lease_on_loss(c->lease, id, was_sent, why, now_ms);
}

static bool next_event(struct controller *c, struct moment now, struct api_request *out)
{
    return c->events != NULL && event_queue_next_request(c->events, now, out);
}

static uint64_t events_due_ms(const struct controller *c)
{
    return c->events != NULL ? event_queue_next_due_ms(c->events) : UINT64_MAX;
}

static void on_event(struct controller *c, uint64_t id, const struct api_answer *answer,
                     uint64_t now_ms)
{
    event_queue_on_answer(c->events, id, answer, now_ms);
}

static void on_lost_event(struct controller *c, uint64_t id, bool was_sent, const char *why,
                          uint64_t now_ms)
{
    event_queue_on_loss(c->events, id, was_sent, why, now_ms);
}

static bool next_wake(struct controller *c, struct moment now, struct api_request *out)
{
    return c->waker != NULL && !c->stopping && waker_next_request(c->waker, now, out);
}

static uint64_t wake_due_ms(const struct controller *c)
{
    return c->waker != NULL && !c->stopping ? waker_next_due_ms(c->waker) : UINT64_MAX;
}

static void on_wake(struct controller *c, uint64_t id, const struct api_answer *answer,
                    uint64_t now_ms)
{
    waker_on_answer(c->waker, id, answer, now_ms);
}

static void on_lost_wake(struct controller *c, uint64_t id, bool was_sent, const char *why,
                         uint64_t now_ms)
{
    waker_on_loss(c->waker, id, was_sent, why, now_ms);
}

static bool next_comparison(struct controller *c, struct moment now, struct api_request *out)
{
    return !c->stopping && reconciler_next_request(c->reconciler, now, out);
}

static uint64_t comparison_due_ms(const struct controller *c)
{
    return c->stopping ? UINT64_MAX : reconciler_next_due_ms(c->reconciler);
}

/* In the order in which they are served. on_answer NULL: it reads what arrives by itself. */
const struct driver controller_drivers[MACHINES] = {
    [LOCK_KEEPER] = {next_lock, locks_due_ms, on_lock, on_lost_lock},
    [BINDER] = {next_binding, binder_due_ms, on_binding, on_lost_binding},
    [LEASE] = {next_lease, lease_due_ms, on_lease, on_lost_lease},
    [EVENT_QUEUE] = {next_event, events_due_ms, on_event, on_lost_event},
    [WAKER] = {next_wake, wake_due_ms, on_wake, on_lost_wake},
    [RECONCILER] = {next_comparison, comparison_due_ms, NULL, NULL},
};
