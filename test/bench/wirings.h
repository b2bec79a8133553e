/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wirings - peer graphs to search in: those of real machines, and made ones that are hard in
 * different ways.
 *
 * Every graph is finished, has one reference for the caller, and serial 1: it can be remembered, in
 * a memo of its own.
 */
#ifndef TOPOFIT_BENCH_WIRINGS_H
#define TOPOFIT_BENCH_WIRINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/peers.h"

struct made_wiring {
    const char *name;
    unsigned devices;
    bool has_preferences; /* packing has wishes, too, so that fewer sets are equally good */
    struct link (*link)(unsigned a, unsigned b); /* a < b */
    bool is_one_numa_node;
};
extern const struct made_wiring made_wirings[];
extern const size_t made_wiring_count;

struct peer_graph *wiring_make(const struct made_wiring *wiring);

/* The matrix in a file, or NULL with a line on stderr. */
struct peer_graph *wiring_read(const char *path);

/*
 * As many devices as asked for, wired like the graph, which is repeated until there are enough:
 * machines side by side, between which the links are the slowest and the NUMA nodes differ.
 */
struct peer_graph *wiring_repeat(const struct peer_graph *graph, unsigned devices);

/* What packing would like, in no order. Between 0 and 999. */
uint16_t wiring_preference(unsigned position);

#endif
