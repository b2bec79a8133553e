/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster - what we know now: nodes, pods and who holds what.
 *
 * The pods are the truth. The ledger, keyed by pod UID, is what their records say and what is
 * reserved for Bindings on their way; a list of pods rebuilds it at any time.
 *
 * Threads: all functions may be called from any thread. One mutex inside, held for memory work
 * only, never across I/O or decide. Readers take a snapshot and need no lock afterwards.
 *
 * Invariants (checked by asserts and test/property): a pod has at most one holding; the use of a
 * node is the sum of the grants of its holdings; a reservation never takes a device beyond its
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
#include "topofit/quota.h"
#include "topofit/snapshot.h"

struct cluster;

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
    bool has_allocation; /* false: bound without a readable record */
    bool init_done;
    struct charge *charges; /* of its namespace's quota */
    size_t charge_count;
    unsigned unattributed; /* devices it is taken to hold that no record names */
};

struct cluster *cluster_new(const struct hash_key *key);
void cluster_free(struct cluster *cluster);

/* --- nodes and pods, as the API server tells them -------------------------------------------- */

/*
 * Swap what a node has in common with others (label words, products, its graph) for what they
 * share. Putting a node does so, too; in a list that comes in it need not be there for each node.
 * Only before the node is put.
 */
void cluster_share_words(struct cluster *cluster, struct node *node);

/* Add or replace a node; takes over the reference. */
void cluster_put_node(struct cluster *cluster, struct node *steal_node);
void cluster_remove_node(struct cluster *cluster, const char *name);

/*
 * Add or replace a pod; takes over the reference. One that is bound and not finished holds what its
 * record says, whatever was reserved. A new uid under the same name is another pod.
 */
void cluster_put_pod(struct cluster *cluster, struct pod *steal_pod);

/* A pod is gone, and what it held. A namesake of another uid (NULL: any) stays: an old event. */
void cluster_remove_pod(struct cluster *cluster, const char *namespace, const char *name,
                        const char *uid);

/*
 * Replace everything by a complete list: what is missing from it is gone. Takes over the
 * references; `pods` and `nodes` themselves stay the caller's.
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
 * Take the mix as given (a reference is taken over) instead of learning it from the pods that
 * come.
 */
void cluster_set_pod_mix(struct cluster *cluster, struct pod_mix *steal_mix);

/* Where the mix of the pictures comes from. */
struct mix_origin {
    bool is_given; /* then nothing is learned */
    uint64_t pods; /* that came and are not forgotten yet */
};
struct mix_origin cluster_mix_origin(struct cluster *cluster);

/* Has a node (a pod's record) about to be put a problem that is new? To tell people once. */
bool cluster_is_new_node_problem(struct cluster *cluster, const struct node *node);
bool cluster_is_new_record_problem(struct cluster *cluster, const struct pod *pod);

/* --- reading --------------------------------------------------------------------------------- */

/* What is in use on a node as given, known or not. except: uid of a pod to leave out, or NULL. */
void cluster_sum_use(struct cluster *cluster, const struct node *node, const char *except,
                     struct node_use *out);

/* Who is nominated to a node as given, known or not; a reference, or NULL for nobody. */
struct nominees *cluster_nominees(struct cluster *cluster, const struct node *node);

/*
 * What time it is, before a picture is taken to rank nodes by: pods grow old there.
 *
 * unix_ms  since 1970; may jump.
 */
void cluster_tell_time(struct cluster *cluster, uint64_t unix_ms);

/* The present picture; release with snapshot_unref. */
struct snapshot *cluster_snapshot(struct cluster *cluster);

/*
 * Nodes are asked about in this order, which is not that of the picture: later pictures may have
 * it, so that looking up goes along memory. Followed ever more seldom if it is another each time.
 *
 * positions  [count] in the snapshot; NAME_NOWHERE is left out.
 */
void cluster_follow_order(struct cluster *cluster, const struct snapshot *snapshot,
                          const uint32_t *positions, size_t count);

/* A pod by name or by uid with a reference for the caller, or NULL. */
struct pod *cluster_find_pod(struct cluster *cluster, const char *namespace, const char *name);
struct pod *cluster_find_pod_by_uid(struct cluster *cluster, const char *uid);

/*
 * The last change that could let a waiting pod fit (less in use, another inventory): its version,
 * to compare with that of a snapshot; 0 when there was none.
 *
 * node  receives a copy of the name of its node, of any other when that is gone, or NULL when there
 *       is none; what it held before is freed. NULL: not asked for. May be NULL.
 */
uint64_t cluster_freed(struct cluster *cluster, char **node);

/* A device that came to be claimed by records which cannot all be true. All owned. */
struct conflict {
    char *node, *node_uid, *device;
};
void conflict_clear(struct conflict *conflict);

/*
 * Take the next conflict that nobody was told of; the caller clears it. return false when there is
 * none. Few are kept: cluster_conflicts_seen() counts all there ever were.
 */
bool cluster_next_conflict(struct cluster *cluster, struct conflict *out);
uint64_t cluster_conflicts_seen(struct cluster *cluster);

/* A pod, and whether the ledger holds for it what it says. One reference each. */
struct pod_picture {
    struct pod *pod;
    bool booked_right;
};

/* All pods (nodes) as the watch told them, in no order, to compare with what the server says. */
struct pod_picture *cluster_picture_pods(struct cluster *cluster, size_t *count);
struct node **cluster_picture_nodes(struct cluster *cluster, size_t *count);

/*
 * Who holds devices since a Binding of ours succeeded, though no such pod is known: the watch is
 * about to show it, or has shown its end already. Free the array and every uid in it.
 */
char **cluster_picture_orphans(struct cluster *cluster, size_t *count);

/* Copies of all holdings on a node (NULL: of all nodes), ordered by namespace and name. */
struct holding_view *cluster_holdings(struct cluster *cluster, const char *node, size_t *count);
void holding_views_free(struct holding_view *views, size_t count);

/* How many there are, by state. */
void cluster_count_holdings(struct cluster *cluster, size_t counts[HOLDING_BOUND + 1]);

/* The holding of one pod; the caller clears out. return false when it holds nothing. */
bool cluster_find_holding(struct cluster *cluster, const char *uid, struct holding_view *out);
void holding_view_clear(struct holding_view *view);

/* All pods, each with a reference for the caller, ordered by namespace and name. */
struct pod **cluster_pods(struct cluster *cluster, size_t *count);

/* --- quotas ---------------------------------------------------------------------------------- */

/*
 * Add or replace a quota, remove one (of that uid; NULL: any), or replace all of them by a complete
 * list. Takes over the objects; the array stays the caller's. Holdings stay as they are: a limit
 * below what is used keeps new pods out.
 */
void cluster_put_quota(struct cluster *cluster, struct quota *steal_quota);
void cluster_remove_quota(struct cluster *cluster, const char *namespace, const char *name,
                          const char *uid);
void cluster_replace_quotas(struct cluster *cluster, struct quota **quotas, size_t count);

/* Has a quota about to be put remarks that are new? To tell people once. */
bool cluster_has_new_remarks(struct cluster *cluster, const struct quota *quota);

/* What the limits of its namespace mean for a pod that has no devices yet. */
enum quota_answer {
    QUOTA_KEPT = 0, /* kept on any node, or there are no limits */
    QUOTA_DEPENDS,  /* on how big the node's devices are */
    QUOTA_EXCEEDED, /* on any node; others of the namespace would have to go */
    QUOTA_TOO_BIG,  /* the pod alone is more than the limit, on any node */
};

/*
 * Compare a pod with the limits of its namespace: exactly as far as it asks for MiB, else by the
 * largest and the smallest device of the class in the cluster.
 *
 * room      written always: what is limited, and used by others. The pod's own booking is no use.
 * shortage  written with QUOTA_EXCEEDED and QUOTA_TOO_BIG.
 */
enum quota_answer cluster_ask_quota(struct cluster *cluster, const char *namespace, const char *uid,
                                    const struct request *request, struct quota_room *room,
                                    struct quota_shortage *shortage);

/* One limit of a namespace, for people. All owned. */
struct quota_view {
    char *namespace;
    const struct device_class *class; /* borrowed */
    enum quota_kind kind;
    uint64_t limit, used;
    char *quota; /* name of the object that sets it */
    bool
        is_scoped; /* it counts some pods only; others with the same resource may stand beside it */
};

/* The limits in force, ordered by namespace, resource and object. */
struct quota_view *cluster_quotas(struct cluster *cluster, size_t *count);
void quota_views_free(struct quota_view *views, size_t count);

/* What there is to remark about quotas, ordered by namespace and name. All owned. */
struct quota_remark {
    char *namespace, *quota, *text;
};
struct quota_remark *cluster_quota_remarks(struct cluster *cluster, size_t *count);
void quota_remarks_free(struct quota_remark *remarks, size_t count);

/* --- reserving ------------------------------------------------------------------------------- */

/*
 * Book a plan's record for a pod before its Binding is sent.
 *
 * expected  the node_state the plan was made on: if it has changed since, nothing is booked.
 * token     receives the name of this Binding, unique in the process and never 0.
 * errors    ERR_CONFLICT when the node changed, or what its namespace's quota leaves (decide
 *           again), ERR_BUSY when the pod already holds something, ERR_NOT_FOUND when the node is
 *           gone.
 */
int cluster_reserve(struct cluster *cluster, struct pod *pod, const struct allocation *allocation,
                    const struct node_state *expected, uint64_t *token, struct error *err);

/*
 * The Binding of what is HOLDING_UNKNOWN is sent again. return the token of the new one, or 0 when
 * the pod holds nothing unknown, or not alone: another topofit, which led meanwhile and knew
 * nothing of it, may have given its devices to others.
 */
uint64_t cluster_resume(struct cluster *cluster, const char *uid);

/*
 * What became of the Binding with that token: nothing changes when the holding does not stand for
 * it any more (the watch was faster, the pod is gone), nor for 0. A resumed one stands for two.
 *
 * confirm       the pod is bound by it: HOLDING_BOUND from either other state
 * release       it is not, nor will be: give back, unless the other one is still in doubt
 * mark_unknown  nobody knows yet
 * abandon       nobody will find out, or the one sent after it answers for both
 */
void cluster_confirm(struct cluster *cluster, const char *uid, uint64_t token);
void cluster_release(struct cluster *cluster, const char *uid, uint64_t token);
void cluster_mark_unknown(struct cluster *cluster, const char *uid, uint64_t token);
void cluster_abandon(struct cluster *cluster, const char *uid, uint64_t token);

/* Abort the process if an invariant is broken. For tests. */
void cluster_check(struct cluster *cluster);

#endif
