/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank - scores of the kept nodes for kube-scheduler.
 *
 * Pure: no I/O, no clock, no allocation. kube-scheduler breaks ties at random, so exactly one node
 * gets the highest score.
 */
#ifndef TOPOFIT_RANK_H
#define TOPOFIT_RANK_H

#include <stddef.h>
#include <stdint.h>

#define RANK_SCORE_MAX 10 /* source: kube-scheduler extender/v1 MaxExtenderPriority */

enum rank_scores {
    RANK_WINNER = 0, /* the best node alone gets 10 */
    RANK_GRADED,     /* each its grade: other plugins of the scheduler have a say */
};

struct ranked_node {
    const char *name; /* borrowed */
    uint64_t merit;   /* more is better; 0: not kept */
    int grade_1_10;   /* how good in itself; for RANK_GRADED */
    int score_0_10;   /* written by rank_nodes */
};

#define RANK_STEPS 8 /* from the score of the second best to that of the last */

/* The merits below which a score sinks, step by step; descending. Zeroed: nothing known. */
struct rank_limits {
    uint64_t merits[RANK_STEPS];
};

/*
 * Score nodes 0..10; refused ones get 0.
 *
 * RANK_WINNER: the best node gets 10, of equally good ones the first by name. The others get 9..1
 * by how many are better. A better node never scores below a worse one, and equally good ones score
 * alike, but for the winner.
 *
 * limits   those of an earlier call, which are tried before any are searched for: a cluster changes
 *          little from call to call. Receives those of this one. The scores do not depend on it.
 * scratch  [count]; its contents are lost.
 */
void rank_nodes(struct ranked_node *nodes, size_t count, enum rank_scores scores,
                struct rank_limits *limits, uint64_t *scratch);

/* For sorting: the best first; equally good ones by name. */
int rank_compare(const struct ranked_node *a, const struct ranked_node *b);

#endif
