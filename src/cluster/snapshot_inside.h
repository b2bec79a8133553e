/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_inside - building the immutable pictures that readers hold. For the cluster only.
 */
#ifndef TOPOFIT_SNAPSHOT_INSIDE_H
#define TOPOFIT_SNAPSHOT_INSIDE_H

#include "topofit/snapshot.h"

/* A state of a node (takes over both references) with one reference for the caller. */
struct node_state *node_state_new(struct node *steal_node, const struct node_use *use,
                                  struct nominees *steal_nominees, struct host_amounts host_used,
                                  uint64_t version);

/* The same with other host_used: plans made on it stay valid. */
struct node_state *node_state_with_host(const struct node_state *state,
                                        struct host_amounts host_used, uint64_t host_version);
struct node_state *node_state_ref(struct node_state *state);
void node_state_unref(struct node_state *state);

/* A snapshot with room for `capacity` states and one reference. */
struct snapshot *snapshot_new(size_t capacity);

/* Append a state (a new reference is taken), in the order of names. */
void snapshot_add(struct snapshot *snapshot, struct node_state *state);

struct snapshot *snapshot_ref(struct snapshot *snapshot);

#endif
