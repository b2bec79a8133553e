/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector - keeps a copy of all objects of one kind equal to the API server's.
 *
 * A state machine without I/O: list, then watch from there; when the position is lost, list again.
 * A list is asked for as a stream (watch-list) where the server can do that, else in pages.
 * It is told what arrived and what time it is (monotonic ms, never going back), and says what it
 * wants done next. At most one request of it is in flight. Resource versions are opaque.
 *
 * The objects go to a sink. What a list brings is committed only when its last page is complete;
 * until then the copy stays as it was, however old. Not thread-safe.
 *
 * source  client-go tools/cache/reflector.go; docs/architecture.md#the-watch-loop
 */
#ifndef TOPOFIT_REFLECTOR_H
#define TOPOFIT_REFLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/error.h"
#include "topofit/kube_json.h"

/*
 * Where the objects go. An object is the callee's to read or to move things out of, and is cleared
 * afterwards. Calls come from within reflector_next (begin alone) and reflector_on_*; they must not
 * call the reflector back.
 */
struct reflector_sink {
    void *ctx;
    void (*begin)(void *ctx); /* a list begins: forget an uncommitted one before it */
    void (*item)(void *ctx, struct kube_object *object);
    void (*commit)(void *ctx); /* the list is complete: it replaces everything */
    void (*upsert)(void *ctx, struct kube_object *object);
    void (*remove)(void *ctx, struct kube_object *object); /* compare the uid before removing */
};

struct reflector_options {
    enum kube_kind kind;
    const char *selector; /* field selector or NULL; borrowed for the reflector's life */
    bool streams_lists;   /* ask for streamed lists; a server that refuses is asked for pages */
    struct reflector_sink sink;
    uint64_t seed;
};

/* For metrics and people. */
struct reflector_counters {
    uint64_t lists;   /* complete lists */
    uint64_t events;  /* objects added, changed or removed by a watch */
    uint64_t relists; /* lists begun because the position was lost */
    uint64_t errors;  /* failures that were followed by a wait */
    uint64_t stalls;  /* requests given up because no byte came */
};

struct reflector;
struct reflector *reflector_new(const struct reflector_options *options);
void reflector_free(struct reflector *reflector);

/*
 * Forget the position: list again, at once or when the wait after a failure is over, and drop a
 * list that is under way. So the next one that is complete was asked for after this call.
 */
void reflector_relist(struct reflector *reflector, uint64_t now_ms);

/* How many lists were complete so far. 0: there is no copy yet. */
uint64_t reflector_lists_done(const struct reflector *reflector);

/*
 * The version that the copy stands at while a watch is open, so that it is current; else NULL.
 * Borrowed.
 */
const char *reflector_position(const struct reflector *reflector);

/* For people: why the copy is not current, "" when all is well. Borrowed until the next call. */
const char *reflector_problem(const struct reflector *reflector);

/* What is to be done next. */
enum reflector_action {
    REFLECTOR_WAIT = 0, /* nothing, until something arrives or it is wait_until_ms */
    REFLECTOR_SEND,     /* send a GET; the reflector considers it in flight from now on */
    REFLECTOR_CANCEL,   /* drop the request in flight; nothing of it may be passed on any more */
};
struct reflector_wish {
    enum reflector_action action;
    const char *path;       /* SEND; borrowed until the next call of reflector_next */
    bool fresh_connection;  /* SEND: the last one was lost, do not reuse its connection */
    uint64_t wait_until_ms; /* WAIT */
};

/* Ask until the answer is WAIT: after the start, after everything that arrived, and when due. */
void reflector_next(struct reflector *reflector, uint64_t now_ms, struct reflector_wish *out);

/*
 * What arrived for the request in flight, in this order: once the status (not 1xx), bytes of the
 * body in pieces of any size, once the end. Ignored when no request is in flight.
 *
 * retry_after_s  of the header; 0 when absent.
 * failure        why the answer is not complete (on_begin may then be missing); NULL for a clean
 *                end. Its text is for people.
 */
void reflector_on_begin(struct reflector *reflector, int status, unsigned retry_after_s,
                        uint64_t now_ms);
void reflector_on_bytes(struct reflector *reflector, const char *bytes, size_t length,
                        uint64_t now_ms);
void reflector_on_end(struct reflector *reflector, const struct error *failure, uint64_t now_ms);

/* Borrowed; changes with every call. */
const struct reflector_counters *reflector_counters(const struct reflector *reflector);

#endif
