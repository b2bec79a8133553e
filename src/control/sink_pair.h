/* SPDX-License-Identifier: Apache-2.0 */
/* sink_pair - what a reflector brings, for two. For control only. */
#ifndef TOPOFIT_SINK_PAIR_H
#define TOPOFIT_SINK_PAIR_H

#include "topofit/reflector.h"

/* The first may only read an object: the second may move things out of it. */
struct sink_pair {
    struct reflector_sink first, second;
};

/* Valid as long as the pair, which must not move. */
struct reflector_sink sink_pair_sink(struct sink_pair *pair);

#endif
