/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_inside - building the immutable pictures that readers hold. For the cluster only.
 */
#ifndef TOPOFIT_SNAPSHOT_INSIDE_H
#define TOPOFIT_SNAPSHOT_INSIDE_H

#include "topofit/snapshot.h"

/* A state of a node (takes over both references) with one reference for the caller. */
struct node_state *node_state_new(struct node *steal_node, const struct node_use *use,
                                  struct nominees *steal_nominees, struct rank_facts rank,
                                  uint64_t version);

/* The same with other facts for ranking: plans made on it stay valid. */
struct node_state *node_state_with_rank(const struct node_state *state, struct rank_facts rank,
                                        uint64_t rank_version);
struct node_state *node_state_ref(struct node_state *state);
void node_state_unref(struct node_state *state);

/* A snapshot of the nodes with these names, with one reference; every state is set next. */
struct snapshot *snapshot_new(struct name_table *steal_names);

struct snapshot *snapshot_ref(struct snapshot *snapshot);

/*
 * One that the caller alone holds and may change: the same if that is so already, else a copy in
 * its place. No new reference may be taken meanwhile.
 */
struct snapshot *snapshot_own(struct snapshot *steal_snapshot);

/* Set the state at a position of a snapshot of our own; a new reference is taken. */
void snapshot_set(struct snapshot *snapshot, size_t position, struct node_state *state);

#endif
