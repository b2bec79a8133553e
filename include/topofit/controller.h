/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controller - everything of one topofit that talks to the API server over time, as one machine.
 *
 * Puts together the reflectors of nodes and pods, the lock keeper, the binder, the lease, the event
 * queue, the wake-ups and the reconciler, and lets a Binding be sent only by a leader that has
 * listed the pods since it became one. No I/O: it says which requests it wants sent or dropped, and
 * is told what arrived. On sockets in production, in a simulation in tests. Not thread-safe.
 *
 * source  docs/architecture.md#the-watch-loop
 */
#ifndef TOPOFIT_CONTROLLER_H
#define TOPOFIT_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/api_call.h"
#include "topofit/bind_job.h"
#include "topofit/binder.h"
#include "topofit/error.h"
#include "topofit/event_queue.h"
#include "topofit/intake.h"
#include "topofit/lease.h"
#include "topofit/lock_keeper.h"
#include "topofit/map.h"
#include "topofit/moment.h"
#include "topofit/reconciler.h"
#include "topofit/reflector.h"
#include "topofit/waker.h"

struct controller_options {
    struct intake *intake;   /* where lists and watches go; borrowed */
    struct cluster *cluster; /* borrowed, as history */
    struct history *history;
    size_t binds_max; /* Bindings in flight at once, those that wait for a lock included */
    uint64_t node_lock_timeout_ms; /* see lock_keeper.h; 0: as HAMi, five minutes */
    bool streams_lists;            /* see reflector.h */
    bool reads_quotas;             /* keep a copy of the ResourceQuotas as well */
    uint64_t reconcile_interval_ms;
    bool wakes; /* tell kube-scheduler of freed capacity; see waker.h */
    /* The seeds of these two, and the key of the events, are chosen here. */
    const struct lease_options *lease;        /* NULL: no election, this topofit always leads */
    const struct event_queue_options *events; /* NULL: none are written */
    struct hash_key key;                      /* of all maps: a secret */
    uint64_t seed;
};

/*
 * For so long the network may hold up the bytes of a request that has a time limit; what it holds
 * longer must be thrown away. Others take over right after that.
 */
uint64_t controller_network_ms(const struct controller_options *options);

struct controller;
struct controller *controller_new(const struct controller_options *options);

/* Jobs in flight end as with binder_free(). NULL is fine. */
void controller_free(struct controller *controller);

/* What is to be done next. */
enum controller_action {
    CONTROLLER_WAIT = 0, /* nothing, until something arrives or it is wait_until_ms */
    CONTROLLER_SEND,     /* send `request`: it is in flight from now on */
    CONTROLLER_CANCEL,   /* drop request.id: nothing of it may be passed on any more */
};
struct controller_wish {
    enum controller_action action;
    struct api_request request; /* its id names it below; timeout_ms 0: we mind the time */
    uint64_t wait_until_ms;
};

/* Ask until the answer is WAIT: after the start, after everything that happened, and when due. */
void controller_next(struct controller *controller, struct moment now, struct controller_wish *out);

/*
 * What arrived for a request, in this order: at most once the status (not 1xx), bytes of the body
 * in pieces of any size, once the end. Ids that are not in flight are ignored.
 *
 * failure   why the answer is not complete; NULL for a clean end. Its text is for people.
 * was_sent  with a failure: false only when nothing of the request reached the server.
 */
void controller_on_begin(struct controller *controller, uint64_t id, int status,
                         unsigned retry_after_s, uint64_t now_ms);
void controller_on_bytes(struct controller *controller, uint64_t id, const char *bytes,
                         size_t length, uint64_t now_ms);
void controller_on_end(struct controller *controller, uint64_t id, const struct error *failure,
                       bool was_sent, uint64_t now_ms);

/*
 * Take over a job; see binder_submit(). Also refused (ERR_BUSY) when we may not bind, or the job
 * was planned in another term: somebody else may have given its devices away in between.
 */
int controller_submit_bind(struct controller *controller, struct bind_job *steal_job,
                           uint64_t now_ms, struct error *err);

/* Somebody wants us to bind, though we may not: ask for the lease. */
void controller_want_lead(struct controller *controller, uint64_t now_ms);

void controller_add_event(struct controller *controller, const struct cluster_event *event,
                          struct moment now);

/* Compare with the server soon, whatever the interval. */
void controller_reconcile(struct controller *controller);

/*
 * Come to an end: no more jobs, no more watches; what is in flight is seen through, events are
 * written, and the lease is given up last. Over when controller_is_stopped().
 */
void controller_stop(struct controller *controller);
bool controller_is_stopped(const struct controller *controller, uint64_t now_ms);

/* How the copy of one kind of objects is doing. */
struct copy_status {
    struct reflector_counters counters;
    bool watching;                /* a watch is open: the copy is current */
    char problem[ERROR_TEXT_MAX]; /* why it is not; "" when all is well */
};

struct controller_status {
    struct copy_status nodes, pods;
    struct copy_status quotas; /* zeroed when they are not looked at */
    struct binder_counters binds;
    size_t binds_in_flight, binds_settling; /* see binder_in_flight(); with those that wait */
    struct lock_keeper_counters locks;
    size_t locks_waiting; /* Bindings that wait for a lock */
    struct lease_counters lease;
    struct event_queue_counters events;
    struct waker_counters wakes;
    struct reconciler_counters reconciles;
    bool elects; /* there is an election */
    bool leads;  /* we hold the lease, or there is no election */
    bool stopping;
    bool may_bind;    /* we lead and have listed the pods since */
    uint64_t term;    /* number of our present or last lead; 0: without an election */
    char holder[256]; /* who leads, "" when nobody is known to */
    char lease_problem[ERROR_TEXT_MAX];
    char lock_problem[ERROR_TEXT_MAX];
    char last_broken_lock[ERROR_TEXT_MAX]; /* the last of others that was replaced */
    char wake_problem[ERROR_TEXT_MAX];
    char event_problem[ERROR_TEXT_MAX];
};
void controller_read_status(const struct controller *controller, uint64_t now_ms,
                            struct controller_status *out);

/* How the last comparison with the server went. Borrowed; changes with every call. */
const struct reconciler_report *controller_report(const struct controller *controller);
bool controller_is_comparing(const struct controller *controller);

#endif
