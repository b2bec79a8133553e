/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank - one order over the kept nodes, and its scores for kube-scheduler.
 *
 * Pure: no I/O, no clock. kube-scheduler breaks ties at random, so exactly one node gets the
 * highest score.
 */
#ifndef TOPOFIT_RANK_H
#define TOPOFIT_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/peers.h"

#define RANK_SCORE_MAX 10 /* source: kube-scheduler extender/v1 MaxExtenderPriority */

struct ranked_node {
    const char *name; /* borrowed */
    bool kept;        /* has a plan; others score 0 */
    enum tier tier;
    uint8_t quality_0_100;
    uint8_t broken;             /* idle devices a fraction breaks; 0 where that is welcome */
    uint16_t packing_per_mille; /* packing_preference() of its load */
    int score_0_10;             /* written by rank_nodes */
};

/*
 * Score nodes 0..10: the best kept node alone gets 10, the other kept nodes 1..9 by their place in
 * the order, refused nodes 0. A better node never scores below a worse one, and nodes that differ
 * in nothing but their name score alike (but for the one winner).
 *
 * order  [count] the nodes; sorted in place, best first: worst tier, then link quality, then
 *        broken idle devices, then packing, then name.
 */
void rank_nodes(struct ranked_node **order, size_t count);

#endif
