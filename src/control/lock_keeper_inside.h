/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_keeper_inside - the queue of one node and what is known of its locks. For the files of the
 * lock keeper only: lock_keeper.c has the jobs and their ends, lock_keeper_lane.c says what a node
 * needs next, lock_keeper_answer.c judges what was answered, lock_keeper_watch.c what the watches
 * show, lock_keeper_claims.c has the list of our own locks.
 */
#ifndef TOPOFIT_LOCK_KEEPER_INSIDE_H
#define TOPOFIT_LOCK_KEEPER_INSIDE_H

#include "lane_index.h"
#include "topofit/backoff.h"
#include "topofit/buf.h"
#include "topofit/lock_keeper.h"
#include "topofit/node_lock.h"
#include "version_book.h"

struct lane;

enum turn_state {
    TURN_WAITS = 0, /* for the lock */
    TURN_BINDS,     /* the binder has the job */
    TURN_SETTLES,   /* the job is done and unclear: the lock stays until it is found out */
};

/* One job, from its submission until it is known what became of it. */
struct turn {
    struct turn *next;
    struct lock_keeper *keeper;
    struct lane *lane;
    struct bind_job *job; /* ours while it waits, then the binder's, which frees it last */
    enum turn_state state;
    bool is_outdated; /* planned before a time in which others could bind */
    uint64_t since_ms;
    /* The job's own; in their place are ours. */
    void (*done)(void *ctx, enum bind_outcome outcome, const char *text);
    void (*settled)(void *ctx, enum bind_outcome outcome);
    void *ctx;
};

/* How the pod is doing that a lock names. */
enum holder {
    HOLDER_ALLOCATING = 0, /* its node's plugin has still to serve it; also: nobody is named */
    HOLDER_UNBOUND,
    HOLDER_OVER, /* it needs the lock no more; `end` says why */
};
struct holder_view {
    enum holder holder;
    enum lock_end end; /* of HOLDER_OVER and HOLDER_UNBOUND */
};

/* A lock on the node, as the watch shows it. */
struct shown_lock {
    char *text;       /* NULL: there is none */
    uint64_t seen_ms; /* first; 0: not looked at yet */
    struct holder_view view;
    uint64_t view_ms; /* since when it is so; 0: not looked at yet */
    uint64_t number;  /* which of the lane's locks it is */
    bool is_free;     /* known to mean nothing: it may be replaced */
};

/*
 * A lock that we wrote, or may have written. No two of a node have the same kind and text. There
 * may be several: of two kinds, and, while answers are lost, of one kind on one version.
 */
enum claim_state {
    CLAIM_TRIED = 0, /* sent on `version`; whether the server did it is not known */
    CLAIM_HELD,      /* the server had it at `version` */
};
struct claim {
    struct claim *next;
    enum claim_state state;
    enum node_lock kind;
    char *text;
    uint64_t version;
    const struct turn *owner; /* NULL: it was written in vain, and has to go */
};

enum lane_step { LANE_RESTS = 0, LANE_TAKES, LANE_RELEASES, LANE_LOOKS };

/* What is remembered of one node: it has jobs, or a lock. */
struct lane {
    char *node;
    struct turn *turns; /* in the order of their submission */
    struct shown_lock shown[NODE_LOCK_KINDS];
    struct claim *claims; /* one for each turn at most, and those without an owner */
    enum lane_step step;
    uint64_t id; /* of the request in flight */
    enum node_lock sent_kind;
    uint64_t sent_version;
    uint64_t sent_number;     /* LANE_LOOKS: of which lock */
    bool is_in_doubt;         /* of a lock sent it is not known whether the server wrote it */
    uint64_t shows;           /* locks that were shown so far */
    uint64_t refused_version; /* a write on it was refused: the watch has to show another one */
    uint64_t send_at_ms;      /* not before, after a failure */
    uint64_t look_at_ms;      /* at the holder, again */
    uint64_t ask_at_ms;       /* the API server about the holder: not before */
    uint64_t hold_until_ms;   /* a Binding of ours that nobody looks after any more may be late */
    uint64_t due_ms;          /* when to ask again */
    struct lane_marks marks;
    struct backoff backoff;
    char problem[160]; /* the last thing that went wrong; "" when all is well */
};

struct lock_keeper {
    struct lock_keeper_options options;
    struct map *lanes; /* by node */
    struct lane_index index;
    struct version_book versions, arriving;
    struct jitter jitter;
    uint64_t last_id;
    uint64_t permitted_until_ms;
    uint64_t now_ms; /* of the last call that told it */
    bool is_stopping;
    bool was_permitted; /* when lanes were looked at last */
    size_t waiting;
    struct buf path, body;
    struct lock_keeper_counters counters;
    char problem[ERROR_TEXT_MAX];
    char last_broken[ERROR_TEXT_MAX];
    /* Of the list that is arriving: which lanes it has shown. */
    struct map *listed;
};

/* --- lock_keeper.c --------------------------------------------------------------------------- */

/* The lane of a node, made when there is none. */
struct lane *lock_lane(struct lock_keeper *keeper, const char *node);

/* All lanes have to be looked at. */
void lock_touch_all(struct lock_keeper *keeper);

/* Forget a lane of which there is nothing to remember. return true when it is gone. */
bool lock_lane_drop(struct lock_keeper *keeper, struct lane *lane);

/* A job that waits has failed; the turn is gone afterwards. */
void lock_turn_fail(struct turn *turn, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A lock means nothing any more: it may be replaced. */
void lock_free(struct lock_keeper *keeper, struct lane *lane, struct shown_lock *shown,
               enum lock_end end);

/* The first that waits, or NULL. */
struct turn *lock_lane_head(const struct lane *lane);

/* --- lock_keeper_claims.c -------------------------------------------------------------------- */

/* claim: its text is taken over. return the lane's own. */
struct claim *lock_claim_add(struct lane *lane, const struct claim *claim);

/* claim: of that lane, or NULL; it is gone afterwards. */
void lock_claim_drop(struct lane *lane, struct claim *claim);

/* The claim of a turn; of that text (NULL: none); that is shown on the node. NULL: there is none.
 */
struct claim *lock_claim_of(const struct lane *lane, const struct turn *turn);
struct claim *lock_claim_with(const struct lane *lane, enum node_lock kind, const char *text);
struct claim *lock_claim_shown(const struct lane *lane, enum node_lock kind);

/*
 * The node stands at `version`. A lock that was sent on an earlier one is there now, or it never
 * will be: the version it was sent on has passed.
 */
void lock_settle_claims(struct lane *lane, uint64_t version);

/* --- lock_keeper_lane.c ---------------------------------------------------------------------- */

/* May locks be written now? */
bool lock_is_permitted(const struct lock_keeper *keeper);

/* Take what is due for a node. return false when it is nothing to be sent; due_ms is set then. */
bool lock_lane_next(struct lock_keeper *keeper, struct lane *lane, struct moment now,
                    struct api_request *out);

/* --- lock_keeper_watch.c --------------------------------------------------------------------- */

/* A node as the API server has it, from whatever source. */
void lock_take_node(struct lock_keeper *keeper, const struct kube_node *node);

/* The resourceVersion of a node as a number; 0 when it is none. */
uint64_t lock_version_of(const struct kube_node *node);

/* There is no such node. */
void lock_forget_node(struct lock_keeper *keeper, const char *node);

/* How the pod that holds a lock on a node is doing, by the watch; or by the pod itself. */
struct holder_view lock_judge_watched(const struct lock_keeper *keeper, const struct lane *lane,
                                      const char *text);
struct holder_view lock_judge_pod(const struct lane *lane, const struct kube_pod *pod);

/* Does the lock name that pod? */
bool lock_names(const char *text, const char *namespace, const char *name);

#endif
