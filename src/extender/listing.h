/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing - the nodes of a call in order of merit. For the extender only.
 *
 * prioritize answers with its scores; filter, where it is to answer with the best node alone,
 * with the first.
 */
#ifndef TOPOFIT_LISTING_H
#define TOPOFIT_LISTING_H

#include "call.h"

/* The nodes of a call as rank sees them. */
struct listing {
    struct ranking *ranking;   /* begun when it is needed first */
    struct ranked_node *nodes; /* [count] in the order of the call; no name: it does not fit */
    bool *known;               /* [count] recalled */
    struct rank_limits limits;
    uint64_t *scratch; /* [count] */
};

/* Judge and rank them. A call whose nodes were considered already is not considered again. */
void listing_make(struct extender *extender, struct call *call, struct listing *out);
void listing_clear(struct listing *listing);

#endif
