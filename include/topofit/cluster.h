/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster - what we know now: nodes, pods and who holds what.
 *
 * The pods are the truth. The ledger is derived from their records and from reservations that are
 * on their way into a record; it is keyed by pod UID and can be rebuilt from a list at any time.
 *
 * Threads: every function here is safe to call from any thread. One mutex inside, held for memory
 * work only, never across I/O or decide. Readers take a snapshot and need no lock afterwards.
 *
 * Invariants (checked by asserts and test/property): a pod has at most one holding; the use of a
 * node equals the sum of the grants of its holdings; a reservation never takes a device beyond its
 * memory, cores or slots, nor mixes isolation modes on it.
 */
#ifndef TOPOFIT_CLUSTER_H
#define TOPOFIT_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/error.h"
#include "topofit/grant.h"
#include "topofit/map.h"
#include "topofit/node.h"
#include "topofit/pod.h"

struct cluster;

/* A node with what is in use on it. Immutable, shared by snapshots. */
struct node_state {
    unsigned references;
    uint64_t version; /* changes whenever node or use change; unique in the process */
    struct node *node;
    struct node_use use;
};

/* An immutable picture of all nodes, ordered by name. */
struct snapshot {
    unsigned references;
    size_t count;
    struct node_state *states[];
};

enum holding_state {
    HOLDING_RESERVED = 0, /* a Binding is on its way */
    HOLDING_UNKNOWN,      /* the Binding's answer is unclear: kept until the pod tells */
    HOLDING_BOUND,        /* the pod says so */
};

/* A copy of one holding, for people. */
struct holding_view {
    char *namespace, *name, *uid, *node;
    enum holding_state state;
    struct allocation allocation;
    bool has_allocation; /* false: bound without a readable record, counted as unattributed */
    bool init_done;
    unsigned unattributed; /* devices it is taken to hold without a record */
};

struct cluster *cluster_new(const struct hash_key *key);
void cluster_free(struct cluster *cluster);

/* --- nodes and pods, as the API server tells them (control/reflector, embedded mode) --------- */

/* Add or replace a node; takes over the reference. Shares equal labels, products and graphs. */
void cluster_put_node(struct cluster *cluster, struct node *steal_node);
void cluster_remove_node(struct cluster *cluster, const char *name);

/*
 * Add or replace a pod; takes over the reference. A pod that is bound and not finished holds what
 * its record says; the watch confirms a reservation this way. A new uid under the same name is a
 * deletion and an addition.
 */
void cluster_put_pod(struct cluster *cluster, struct pod *steal_pod);

/*
 * A pod is gone, and with it what it held.
 *
 * uid  when not NULL and not the known pod's, the known pod stays: an old event of a namesake.
 */
void cluster_remove_pod(struct cluster *cluster, const char *namespace, const char *name,
                        const char *uid);

/*
 * Replace everything by a complete list, as after a relist: what is missing from it is gone.
 * Takes over the references; `pods` and `nodes` themselves stay the caller's.
 *
 * A list of pods is announced before it is asked for: a pod bound since then may be missing from
 * it, and keeps its holding until the watch or the next list tells.
 */
void cluster_replace_nodes(struct cluster *cluster, struct node **nodes, size_t count);
void cluster_announce_pod_list(struct cluster *cluster);
void cluster_replace_pods(struct cluster *cluster, struct pod **pods, size_t count);

/* Both lists were complete at least once. */
bool cluster_is_synced(struct cluster *cluster);

/*
 * Is the problem of a node (the record of a pod) about to be put a new one? For telling people
 * once, not with every heartbeat. false when there is none.
 */
bool cluster_is_new_node_problem(struct cluster *cluster, const struct node *node);
bool cluster_is_new_record_problem(struct cluster *cluster, const struct pod *pod);

/* --- reading ------------------------------------------------------------------------------- */

/*
 * What is in use on a node as given, which may differ from the one we know or be unknown to us.
 *
 * except  uid of a pod whose holding does not count, or NULL.
 */
void cluster_sum_use(struct cluster *cluster, const struct node *node, const char *except,
                     struct node_use *out);

/* The present picture; release with snapshot_unref. */
struct snapshot *cluster_snapshot(struct cluster *cluster);
void snapshot_unref(struct snapshot *snapshot);
void snapshot_unref_pointer(struct snapshot **snapshot);

/* The state of a node, or NULL. Borrowed from the snapshot. */
const struct node_state *snapshot_find(const struct snapshot *snapshot, const char *name);

/* A pod by name or by uid with a reference for the caller, or NULL. */
struct pod *cluster_find_pod(struct cluster *cluster, const char *namespace, const char *name);
struct pod *cluster_find_pod_by_uid(struct cluster *cluster, const char *uid);

/* Copies of all holdings on a node (NULL: of all nodes), ordered by namespace and name. */
struct holding_view *cluster_holdings(struct cluster *cluster, const char *node, size_t *count);
void holding_views_free(struct holding_view *views, size_t count);

/* How many holdings there are, by state. */
void cluster_count_holdings(struct cluster *cluster, size_t counts[HOLDING_BOUND + 1]);

/* The holding of one pod. return false when it holds nothing; the caller clears out. */
bool cluster_find_holding(struct cluster *cluster, const char *uid, struct holding_view *out);
void holding_view_clear(struct holding_view *view);

/* All pods, each with a reference for the caller, ordered by namespace and name. */
struct pod **cluster_pods(struct cluster *cluster, size_t *count);

/* --- reserving (extender/bind, control/binder) ---------------------------------------------- */

/*
 * Book a plan's record for a pod before its Binding is sent.
 *
 * expected  the node_state the plan was made on: if it has changed since, nothing is booked.
 * errors    ERR_CONFLICT when the node changed (decide again), ERR_BUSY when the pod already holds
 *           something, ERR_NOT_FOUND when the node is gone.
 */
int cluster_reserve(struct cluster *cluster, const struct pod *pod,
                    const struct allocation *allocation, const struct node_state *expected,
                    struct error *err);

/*
 * What became of a Binding. Only a holding in the state that it left behind changes: what the watch
 * has confirmed already stays.
 *
 * confirm       the pod is bound
 * release       it is not: give back what is held in state `from`
 * mark_unknown  reserved, but nobody knows
 * resume        unknown, and its Binding is sent again. return false when it is not unknown
 */
void cluster_confirm(struct cluster *cluster, const char *uid);
void cluster_release(struct cluster *cluster, const char *uid, enum holding_state from);
void cluster_mark_unknown(struct cluster *cluster, const char *uid);
bool cluster_resume(struct cluster *cluster, const char *uid);

/* Abort the process if an invariant is broken. For tests and debug endpoints. */
void cluster_check(struct cluster *cluster);

#endif
