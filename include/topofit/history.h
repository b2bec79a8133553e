/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history - the last decision about each pod: why nodes were refused, with the numbers.
 *
 * Bounded: HISTORY_PODS_MAX pods and HISTORY_BYTES_MAX, as the allocator counts, the oldest
 * forgotten first; HISTORY_NODES_MAX refused nodes each, fewer where others were kept. Of a pod
 * whose request has a problem only who it is and the problem are kept. Also remembers the pod as
 * the scheduler sent it, because a bind call carries only names and may come before the watch has
 * shown the pod. Safe from any thread; one mutex inside, held for memory work only.
 */
#ifndef TOPOFIT_HISTORY_H
#define TOPOFIT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/buf.h"
#include "topofit/map.h"
#include "topofit/outcome.h"
#include "topofit/pod.h"

#define HISTORY_PODS_MAX 4096
#define HISTORY_NODES_MAX 128
#define HISTORY_NODES_KEPT_MAX 24     /* when some other node was kept: then hardly anybody asks */
#define HISTORY_BYTES_MAX (64u << 20) /* all that is nobody else's as well */

struct refusal {
    size_t name_start;       /* of the node, in decision.names */
    struct outcome *outcome; /* one reference */
};

/* What filter answered for a pod last. */
struct decision {
    struct pod *pod; /* as sent by the scheduler */
    uint64_t unix_ms, monotonic_ms;
    uint64_t version; /* of the snapshot it was made on */
    unsigned considered, kept;
    unsigned by_reason[REASON_COUNT]; /* nodes; all of them, the kept ones under REASON_OK */
    struct refusal *refusals;         /* of the first nodes refused: see above */
    size_t refusal_count, refusal_capacity;
    struct buf names;  /* of the nodes refused, each with a NUL */
    unsigned attempts; /* filter calls for this pod so far */
    size_t bytes;      /* that it takes; set when it is put */
};

struct history;
struct history *history_new(const struct hash_key *key);
void history_free(struct history *history);

/* Replace what is remembered of decision->pod; takes over the contents. */
void history_put(struct history *history, struct decision *steal_decision);

/*
 * A copy of the last decision on a pod, by name or by uid. return false when there is none; the
 * caller clears out. By name, all are looked through.
 */
bool history_find(struct history *history, const char *namespace, const char *name,
                  struct decision *out);
bool history_find_by_uid(struct history *history, const char *uid, struct decision *out);

/* The pod as the scheduler sent it last, by uid, with a reference; or NULL. */
struct pod *history_find_pod_by_uid(struct history *history, const char *uid);

/* A pod that fitted nowhere when it was last asked about. */
struct waiting_pod {
    struct pod *pod;       /* one reference */
    uint64_t monotonic_ms; /* when it was asked about */
};

/* Those that were asked about on a snapshot older than `version`. All the caller's. */
struct waiting_pod *history_waiting(struct history *history, uint64_t version, size_t *count);

void decision_clear(struct decision *decision);

/*
 * Note that a node was refused; what is more than HISTORY_NODES_MAX is left out.
 *
 * name     length bytes, no NUL needed.
 * outcome  a reference is taken.
 */
void decision_add_refusal(struct decision *decision, const char *name, size_t length,
                          struct outcome *outcome);

/* The name of the node of a refusal. Borrowed. */
const char *decision_refused_node(const struct decision *decision, size_t i);

#endif
