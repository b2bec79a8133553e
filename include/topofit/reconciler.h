/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reconciler - holds our memory against what the API server has, from time to time.
 *
 * It takes a picture of the cluster and asks the server for the list as it was at the very version
 * at which our watch stands. So every difference is a mistake: an event that was lost or taken
 * wrongly, never one that is still on its way. The ledger is held against the pods as well. What is
 * found is counted, told once, and repaired: the reflector is to list again. Quotas are left out:
 * nothing is kept of them that their next event, or the list after a lost watch, does not replace.
 *
 * A state machine without I/O; it reads answers as a stream. Not thread-safe; the thread that feeds
 * the reflectors owns it, so that picture and version belong together.
 */
#ifndef TOPOFIT_RECONCILER_H
#define TOPOFIT_RECONCILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/api_call.h"
#include "topofit/cluster.h"
#include "topofit/device_class.h"
#include "topofit/map.h"
#include "topofit/moment.h"
#include "topofit/reflector.h"

#define RECONCILER_DIFFERENCES_MAX 50 /* that are told one by one */

struct reconciler_options {
    struct cluster *cluster;           /* borrowed, as the three below */
    const struct class_table *classes; /* of the intake */
    struct reflector *nodes, *pods;
    const char *pod_selector; /* of the reflector; borrowed */
    uint64_t interval_ms; /* between two comparisons, a little more by chance; 0: only when asked */
    struct hash_key key;  /* of its map: a secret */
    uint64_t seed;
};

struct reconciler_counters {
    uint64_t comparisons; /* that were completed */
    uint64_t differences; /* found by them */
    uint64_t failures;    /* comparisons that could not be completed */
};

/* How the last comparison went. */
struct reconciler_report {
    uint64_t number;              /* of the comparison; 0: there was none yet */
    uint64_t unix_ms;             /* when it began */
    char problem[ERROR_TEXT_MAX]; /* why it could not be completed, or "" */
    size_t nodes, pods;           /* compared */
    size_t difference_count;
    char differences[RECONCILER_DIFFERENCES_MAX][160]; /* the first of them, for people */
};

struct reconciler;
struct reconciler *reconciler_new(const struct reconciler_options *options);
void reconciler_free(struct reconciler *reconciler);

/* Compare as soon as both watches are open. */
void reconciler_ask(struct reconciler *reconciler);

/*
 * As those of the binder; an answer is read as it arrives. Ask for the next request also after
 * whatever opened a watch: there is no due time while one is closed.
 */
bool reconciler_next_request(struct reconciler *reconciler, struct moment now,
                             struct api_request *out);
uint64_t reconciler_next_due_ms(const struct reconciler *reconciler);
void reconciler_on_begin(struct reconciler *reconciler, uint64_t id, int status);
void reconciler_on_bytes(struct reconciler *reconciler, uint64_t id, const char *bytes,
                         size_t length);
void reconciler_on_end(struct reconciler *reconciler, uint64_t id, const struct error *failure,
                       uint64_t now_ms);

/* Borrowed; they change with every call. */
const struct reconciler_counters *reconciler_counters(const struct reconciler *reconciler);
const struct reconciler_report *reconciler_report(const struct reconciler *reconciler);

/* Is a comparison under way? */
bool reconciler_is_running(const struct reconciler *reconciler);

#endif
