/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controller_inside - the machines that a controller is made of, and what they have in common. For
 * the controller's two files only.
 */
#ifndef TOPOFIT_CONTROLLER_INSIDE_H
#define TOPOFIT_CONTROLLER_INSIDE_H

#include "topofit/buf.h"
#include "topofit/controller.h"
#include "topofit/orphan_finder.h"
#include "sink_pair.h"

enum machine {
    NODE_REFLECTOR = 0,
    POD_REFLECTOR,
    QUOTA_REFLECTOR,
    LOCK_KEEPER, /* before the binder, which it hands jobs to */
    BINDER,
    LEASE,
    EVENT_QUEUE,
    WAKER,
    RECONCILER,
    MACHINES,
};

/* A request in flight. */
struct call {
    struct call *next;
    uint64_t id;    /* ours */
    uint64_t inner; /* the machine's; 0 for reflectors, which have one at a time */
    enum machine machine;
    int status;
    unsigned retry_after_s;
    struct buf body; /* of machines that want it whole */
};

struct controller {
    struct reflector *nodes, *pods;
    struct reflector *quotas; /* NULL: not looked at */
    struct lock_keeper *locks;
    struct sink_pair node_sinks; /* the lock keeper only reads, so it goes first */
    struct binder *binder;
    size_t binds_max;
    struct lease *lease;        /* NULL: no election */
    uint64_t margin_ms;         /* others wait so long beyond our term */
    uint64_t network_ms;        /* of which the network may hold a Binding so long */
    struct event_queue *events; /* NULL: none are written */
    struct waker *waker;        /* NULL: nobody is woken */
    struct reconciler *reconciler;
    struct orphan_finder *orphans;
    struct call *calls;
    uint64_t last_id;
    uint64_t term;          /* number of the term that was seen last; 0: never led */
    uint64_t lists_at_term; /* complete lists of pods when it began */
    uint64_t began_ms;      /* 0: not yet */
    bool stopping;
    uint64_t stop_by_ms; /* for events, and for Bindings in doubt */
};

/*
 * A reflector says what it wants in words of its own, and is driven apart. The others have these.
 */
struct driver {
    bool (*next)(struct controller *c, struct moment now, struct api_request *out);
    uint64_t (*due_ms)(const struct controller *c);
    void (*on_answer)(struct controller *c, uint64_t id, const struct api_answer *answer,
                      uint64_t now_ms);
    void (*on_loss)(struct controller *c, uint64_t id, bool was_sent, const char *why,
                    uint64_t now_ms);
};

/* By machine. on_answer NULL: it reads what arrives by itself. next NULL: a reflector. */
extern const struct driver controller_drivers[MACHINES];

#endif
