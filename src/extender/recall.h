/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recall - decisions remembered for the next pod that asks alike. For the extender only.
 *
 * Pods come in kinds: a job's pods differ in their names only. What is decided for one of a kind on
 * a node is true of the next as long as the node has not changed, and of every node in like state.
 * A kind is everything of a request and a policy that decide looks at, so nothing remembered is
 * ever only about right.
 *
 * Bounded: RECALL_KINDS_MAX kinds and RECALL_BYTES_MAX, the least recently used forgotten first,
 * and each remembers about as many outcomes as there are nodes. What kinds have grown by counts
 * when the next new one comes, and one is always kept. Safe from any thread; the locks inside are
 * held for memory work, never while deciding.
 */
#ifndef TOPOFIT_RECALL_H
#define TOPOFIT_RECALL_H

#include "considered.h"
#include "topofit/extender.h"
#include "topofit/rank.h"
#include "topofit/snapshot.h"

#define RECALL_KINDS_MAX 64
#define RECALL_BYTES_MAX (16u << 20)
#define RECALL_KEY_BYTES_MAX 16384 /* of a request; what says more is decided each time */

/*
 * The nodes that filter kept last, or that prioritize was asked about: kube-scheduler names them in
 * its next prioritize call, in that order. Owned; zeroed: nothing is known.
 */
struct expected_nodes {
    struct name_table *names; /* one reference */
    uint32_t *positions;      /* [count] in names */
    size_t count;
};
void expected_nodes_clear(struct expected_nodes *expected);

/* Take what is expected, once; and give it (back). No recall: nothing is expected. */
struct expected_nodes recall_take_expected(struct recall *recall);
void recall_expect(struct recall *recall, struct expected_nodes *steal_expected);

/* One kind of pod, and what is known about nodes for it. Counted: it outlives being forgotten. */
struct kind;

/*
 * The kind of a request, with a reference for the caller.
 *
 * helps   what evictions could cure is answered as such (node_fate).
 * return  NULL when nothing can be remembered: the request says too much, or there is no recall.
 */
struct kind *recall_kind(struct recall *recall, const struct request *request,
                         const struct decide_policy *policy, bool helps);
void kind_unref(struct kind *kind);

/*
 * What is known about nodes of a snapshot.
 *
 * positions  [count] in the snapshot, or NAME_NOWHERE.
 * out        [count] what was decided on exactly that state, or NULL; borrowed from the kind.
 * return     how many are NULL.
 */
size_t kind_recall(struct kind *kind, const struct snapshot *snapshot, const uint32_t *positions,
                   size_t count, const struct node_answer **out);

/*
 * What was decided on a like state, or NULL; it is remembered for this state, too. Never for
 * requests that name devices: then no two nodes are alike.
 */
const struct considered *kind_recall_alike(struct kind *kind, const struct snapshot *snapshot,
                                           uint32_t position);

/*
 * Remember what was decided on a state.
 *
 * return  the same, borrowed from the kind from now on; what another thread has remembered of that
 *         state meanwhile is kept, too. NULL when there is no room: then it stays the caller's.
 */
const struct considered *kind_learn(struct kind *kind, const struct snapshot *snapshot,
                                    uint32_t position, struct considered *steal_considered);

/* --- merits ---------------------------------------------------------------------------------- */

#define RECALL_HOSTS_MAX \
    4 /* of a kind: pods that ask alike for devices differ in CPU and memory \
       */

/*
 * What is known of how good nodes are for pods of the kind that take `host` besides devices: of
 * each node in exactly that state, `rank` included, and under the snapshot's mix.
 *
 * out      [count] merit and grade are filled in where known; a refused node has merit 0. Names
 *          are left alone.
 * known    [count] whether they are.
 * limits   receives those of the last such call, or zeros.
 * return   how many merits are not known.
 */
size_t kind_recall_merits(struct kind *kind, const struct snapshot *snapshot,
                          struct host_amounts host, const uint32_t *positions, size_t count,
                          struct ranked_node *out, bool *known, struct rank_limits *limits);

/* Remember those that were not known. */
void kind_learn_merits(struct kind *kind, const struct snapshot *snapshot, struct host_amounts host,
                       const uint32_t *positions, size_t count, const struct ranked_node *nodes,
                       const bool *known);

/* Remember the limits for the next call. */
void kind_learn_limits(struct kind *kind, const struct snapshot *snapshot, struct host_amounts host,
                       const struct rank_limits *limits);

#endif
