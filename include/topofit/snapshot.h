/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot - an immutable picture of all nodes and of what is in use on them.
 *
 * Taken with cluster_snapshot(). Reference counted atomically, so readers need no lock: any thread
 * may read one and let go of it.
 */
#ifndef TOPOFIT_SNAPSHOT_H
#define TOPOFIT_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "topofit/grant.h"
#include "topofit/holds.h"
#include "topofit/node.h"
#include "topofit/pod_mix.h"
#include "topofit/scarcity.h"

/* Who is nominated to a node. Immutable, reference counted as a snapshot is. */
struct nominees {
    unsigned references;
    size_t count;
    struct nominee items[]; /* in the order of nominees_compare(); one reference to each pod */
};
struct nominees *nominees_ref(struct nominees *nominees); /* NULL is fine, for both */
void nominees_unref(struct nominees *nominees);

/* A node with what is in use on it. Shared by snapshots. */
struct node_state {
    unsigned references;
    uint64_t version;      /* changes whenever node, use or nominees change; unique */
    uint64_t host_version; /* changes with it, and whenever host_used changes; unique, too */
    struct node *node;
    struct node_use use;
    struct nominees *nominees;     /* one reference; NULL: nobody */
    struct host_amounts host_used; /* by pods with devices and without */
};

struct snapshot {
    unsigned references;
    uint64_t version; /* of the youngest state there was when it was taken */
    struct product_supply supply;
    struct pod_mix *mix; /* what pods usually come; NULL when that is not known */
    size_t count;
    struct node_state *states[]; /* ordered by name */
};

/* A node's state as a decision sees it. */
struct site node_state_site(const struct node_state *state);

/* Let go of a snapshot and of all that was borrowed from it. NULL is fine. */
void snapshot_unref(struct snapshot *snapshot);

/* For AUTO(snapshot_unref_pointer) struct snapshot *snapshot. */
void snapshot_unref_pointer(struct snapshot **snapshot);

/* The state of a node, or NULL. Borrowed. */
const struct node_state *snapshot_find(const struct snapshot *snapshot, const char *name);

#endif
