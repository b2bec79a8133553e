/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_keeper - locks a node around a Binding, for device plugins that are told so whom they serve.
 *
 * A job waits in the queue of its node until the watch shows no lock there, or one that means
 * nothing any more. Then the lock is written, on exactly the version of the node that the watch
 * shows, and the Binding is handed to the binder. The plugin takes the lock away when it has handed
 * out the devices. One node never waits for another.
 *
 * A state machine without I/O: it is told what the watch of the nodes shows (a sink), what was
 * answered and what time it is (monotonic ms, never going back), and says which requests it wants
 * sent; at most one for each node is in flight. Not thread-safe.
 *
 * The promise: a Binding is sent only while the server is known to hold a lock of ours that names
 * its pod. What we have locked is unlocked again when the pod is known not to be bound, and left
 * alone as long as that is not known. A lock that others wrote is replaced (or, where nobody waits,
 * taken away) only when the API server says that its pod needs it no more, or when it has been
 * there unchanged for timeout_ms. source  docs/concepts/node-lock.md
 */
#ifndef TOPOFIT_LOCK_KEEPER_H
#define TOPOFIT_LOCK_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/api_call.h"
#include "topofit/bind_job.h"
#include "topofit/binder.h"
#include "topofit/cluster.h"
#include "topofit/error.h"
#include "topofit/map.h"
#include "topofit/moment.h"
#include "topofit/reflector.h"

/* A lock whose pod is not bound: its Binding may be on its way, if another scheduler wrote it. */
#define LOCK_UNBOUND_MS 10000u
/* Where nobody waits, one that means nothing is taken away when it has stood there for so long. */
#define LOCK_IDLE_MS 60000u
/* One whose pod has ended, or has its devices: the plugin may be about to take it away. */
#define LOCK_OVER_MS 2000u

struct lock_keeper_options {
    struct cluster *cluster; /* the pods as the watch shows them; borrowed */
    struct binder *binder;   /* who gets the jobs; borrowed */
    uint64_t timeout_ms;     /* after which a lock that did not change means nothing */
    struct hash_key key;     /* of its maps: a secret */
    uint64_t seed;
};

/* Why the lock of another pod meant nothing any more. X(identifier, word) */
#define LOCK_ENDS(X) \
    X(GONE, "gone")           /* there is no such pod */ \
    X(ENDED, "ended")         /* it has succeeded or failed */ \
    X(ELSEWHERE, "elsewhere") /* it is bound to another node */ \
    X(SERVED, "served")       /* it has its devices, or did not get them */ \
    X(UNBOUND, "unbound")     /* nobody has bound it */ \
    X(AGED, "aged")           /* it has stood there for too long */

enum lock_end {
#define X(id, word) LOCK_END_##id,
    LOCK_ENDS(X)
#undef X
        LOCK_END_COUNT
};
const char *lock_end_word(enum lock_end end);

/* For metrics and people. */
struct lock_keeper_counters {
    uint64_t taken;                  /* locks written, those that replace another one included */
    uint64_t released;               /* taken away by us */
    uint64_t conflicts;              /* the node had changed: written again on its newer version */
    uint64_t looks;                  /* GETs of pods that a lock names */
    uint64_t errors;                 /* requests lost or refused otherwise */
    uint64_t broken[LOCK_END_COUNT]; /* locks of others that meant nothing any more */
};

struct lock_keeper;
struct lock_keeper *lock_keeper_new(const struct lock_keeper_options *options);

/* Jobs that wait end as BIND_FAILED; those that the binder has are its own, so free it before. */
void lock_keeper_free(struct lock_keeper *keeper);

/* Where the reflector of nodes puts its objects, besides whoever else wants them. */
struct reflector_sink lock_keeper_nodes(struct lock_keeper *keeper);

/*
 * Take over a job with a lock. Its deadline counts for the wait in the queue too.
 *
 * errors  ERR_INVALID for names that cannot be. The job then stays the caller's.
 */
int lock_keeper_submit(struct lock_keeper *keeper, struct bind_job *steal_job, uint64_t now_ms,
                       struct error *err);

/* As binder_permit(): without permission no lock is written, and who waits ends. */
void lock_keeper_permit(struct lock_keeper *keeper, uint64_t until_ms);

/* No more locks: who waits ends, and what was locked in vain is unlocked. */
void lock_keeper_stop(struct lock_keeper *keeper);

/* As those of the binder. May hand jobs to it: ask the binder afterwards. */
bool lock_keeper_next_request(struct lock_keeper *keeper, struct moment now,
                              struct api_request *out);
uint64_t lock_keeper_next_due_ms(const struct lock_keeper *keeper);
void lock_keeper_on_answer(struct lock_keeper *keeper, uint64_t id, const struct api_answer *answer,
                           uint64_t now_ms);
void lock_keeper_on_loss(struct lock_keeper *keeper, uint64_t id, bool was_sent, const char *why,
                         uint64_t now_ms);

/* Jobs that the binder does not have yet. */
size_t lock_keeper_waiting(const struct lock_keeper *keeper);

/* Is nothing of ours in flight, and no lock of ours left that has to go? */
bool lock_keeper_is_idle(const struct lock_keeper *keeper);

/* Borrowed; changes with every call. */
const struct lock_keeper_counters *lock_keeper_counters(const struct lock_keeper *keeper);

/*
 * What is wrong, "" when all is well; and the last lock of another that was replaced, "" when none
 * was. Borrowed until the next call.
 */
const char *lock_keeper_problem(const struct lock_keeper *keeper);
const char *lock_keeper_last_broken(const struct lock_keeper *keeper);

/* For tests: how many nodes more is remembered of than a version. */
size_t lock_keeper_lanes(const struct lock_keeper *keeper);

#endif
