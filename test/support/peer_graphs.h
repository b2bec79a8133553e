/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_graphs - machines for the tests of peers and gputopo, in a few words each.
 *
 * Every graph is finished and has one reference for the caller.
 */
#ifndef TOPOFIT_PEER_GRAPHS_H
#define TOPOFIT_PEER_GRAPHS_H

#include "topofit/peers.h"

#define NO_NUMA (-1)

/* What a maker says of a pair, a < b. A zeroed name leaves the pair unreported. */
typedef struct link (*pair_maker)(unsigned a, unsigned b);

/* A reported link. */
struct link graph_link(enum tier tier, uint16_t gbps);

/* n devices with the NUMA nodes in numa[n] (NULL: none) and the links of a maker (NULL: none). */
struct peer_graph *graph_make(unsigned n, const int *numa, pair_maker maker);

/* Domains of the given sizes (0 ends the list), devices in order: 2, 3 is 0,0,1,1,1. */
struct peer_graph *graph_numa_domains(const unsigned *sizes);

#endif
