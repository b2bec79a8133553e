/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_queue - Events on their way to the API server: what people read in `kubectl describe`.
 *
 * A state machine without I/O, as the binder. Events are second to everything else: they have a
 * budget of their own, at most EVENT_IN_FLIGHT_MAX requests at once, and what does not fit into the
 * queue is dropped and counted. Memory is bounded by EVENT_QUEUE_MAX keys. Not thread-safe.
 *
 * A key is everything but the note. What repeats becomes a series: the first occurrence is created,
 * the second makes it a series at once, later ones are counted, and the count is written every half
 * hour and when nothing has happened for six minutes. Then the key is forgotten; the next
 * occurrence is a first one. There is at most one request of a key in flight.
 *
 * The API server lets nobody change the note of an Event, but a refusal whose text has changed must
 * become visible. So an occurrence with another note leads to an Event of its own, though no sooner
 * than 30 s after the last one of its key; what happens until then is counted, and the newest note
 * is told. If that is the old note again, it was one series all along. As long as an Event was not
 * sent, the newest note replaces the one it has.
 *
 * The account needs the verbs create and patch on events in the API group events.k8s.io, in all
 * namespaces. Without them everything is dropped for a minute before it is tried again.
 *
 * source  client-go tools/events/event_broadcaster.go; facts of the API: event_json.h
 */
#ifndef TOPOFIT_EVENT_QUEUE_H
#define TOPOFIT_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/api_call.h"
#include "topofit/event_json.h"
#include "topofit/map.h"
#include "topofit/moment.h"

#define EVENT_IN_FLIGHT_MAX 4
#define EVENT_QUEUE_MAX 1000 /* keys remembered: waiting, in flight or in a series */

struct event_queue_options {    /* strings are copied */
    const char *controller;     /* "topofit.io/extender": a qualified name */
    const char *instance;       /* this process, at most 128 bytes are used */
    unsigned burst, per_second; /* requests; a token bucket; neither is 0 */
    struct hash_key key;        /* of its map: a secret */
    uint64_t seed;              /* of the waits and the names, which everybody sees */
};

struct event_queue;

struct event_queue *event_queue_new(const struct event_queue_options *options);

/* What was not told is lost. */
void event_queue_free(struct event_queue *queue);

/*
 * Something happened. Strings are copied. When there is no room, the key that was quiet for longest
 * is forgotten; when all of them still have something to tell, the event is dropped. So is one that
 * cannot be told: no reason or action, a subject whose name is none.
 */
void event_queue_add(struct event_queue *queue, const struct cluster_event *event,
                     struct moment now);

/*
 * The next request to send; it counts as in flight from now on. `now` never goes back on the
 * monotonic clock, here and below.
 *
 * return  false when there is none at present.
 */
bool event_queue_next_request(struct event_queue *queue, struct moment now,
                              struct api_request *out);

/* When to ask again if no answer comes before; UINT64_MAX when there is nothing to do. */
uint64_t event_queue_next_due_ms(const struct event_queue *queue);

/* A complete answer. Ids that are not in flight are ignored, here and below. */
void event_queue_on_answer(struct event_queue *queue, uint64_t id, const struct api_answer *answer,
                           uint64_t now_ms);

/*
 * No complete answer.
 *
 * was_sent  false only when the request is known not to have reached the server.
 * why       for people.
 */
void event_queue_on_loss(struct event_queue *queue, uint64_t id, bool was_sent, const char *why,
                         uint64_t now_ms);

/* Nothing is waiting or in flight (counts of series that were not written yet do not matter). */
bool event_queue_is_idle(const struct event_queue *queue);

/* added = written + folded + dropped + untold. */
struct event_queue_counters {
    uint64_t added, written; /* events told to the queue; requests that succeeded */
    uint64_t folded;         /* counted into a series without a request of their own */
    /* No room, tries used up, forbidden, or refused for good. kube_loop's status adds to it, and
     * not to `added`, what was dropped before it came here: see kube_loop_add_event. */
    uint64_t dropped;
    uint64_t untold;    /* in memory: what waits, and what later writes will count */
    uint64_t errors;    /* requests lost or refused */
    uint64_t forbidden; /* of these, for want of rights; each costs a minute of events */
    size_t keys;        /* remembered: never more than EVENT_QUEUE_MAX */
    size_t waiting;     /* of these, with a request wanted or in flight */
};

/* Borrowed; changes with every call. */
const struct event_queue_counters *event_queue_counters(const struct event_queue *queue);

/*
 * Why Events cannot be written at present, for the log; "" since the last one that was. What is
 * wrong with one Event alone is not told, only counted. Borrowed until the next call.
 */
const char *event_queue_problem(const struct event_queue *queue);

#endif
