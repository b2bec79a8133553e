/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputopo_memo - choices of interned graphs, remembered from call to call.
 *
 * Fixed size, direct mapped; safe to share between threads: a slot in use by another thread counts
 * as a miss, so readers never stall each other.
 */
#ifndef TOPOFIT_GPUTOPO_MEMO_H
#define TOPOFIT_GPUTOPO_MEMO_H

#include "topofit/gputopo.h"

/* NULL for 0 slots, or without memory. */
struct gputopo_memo *gputopo_memo_new(unsigned slots);
void gputopo_memo_free(struct gputopo_memo *memo); /* NULL is fine */

#endif
