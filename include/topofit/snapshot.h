/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot - an immutable picture of all nodes and of what is in use on them.
 *
 * Taken with cluster_snapshot(). Reference counted atomically, so readers need no lock: any thread
 * may read one and let go of it. Two snapshots share the names and every chunk of states in which
 * nothing has changed from one to the other.
 */
#ifndef TOPOFIT_SNAPSHOT_H
#define TOPOFIT_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "topofit/grant.h"
#include "topofit/holds.h"
#include "topofit/name_table.h"
#include "topofit/node.h"
#include "topofit/pod_mix.h"
#include "topofit/rank_facts.h"
#include "topofit/scarcity.h"

/* Who is nominated to a node. Immutable, reference counted as a snapshot is. */
struct nominees {
    unsigned references;
    size_t count;
    struct nominee items[]; /* in the order of nominees_compare(); one reference to each pod */
};
struct nominees *nominees_ref(struct nominees *nominees); /* NULL is fine, for both */
void nominees_unref(struct nominees *nominees);

/*
 * What a node is like to decide: equal for nodes that differ in nothing but their names and those
 * of their devices. A keyed hash, so nobody outside can make two that should differ equal.
 */
struct likeness {
    uint64_t word[2];
};

/* A node with what is in use on it. Shared by snapshots. */
struct node_state {
    unsigned references;
    uint64_t version;         /* changes whenever node, use or nominees change; unique */
    uint64_t rank_version;    /* changes with it, and whenever `rank` changes; unique, too */
    struct likeness likeness; /* of node and use */
    struct node *node;
    struct nominees *nominees; /* one reference; NULL: nobody */
    struct rank_facts rank;
    struct node_use use; /* last: there is no room for more devices than it has */
};

/*
 * In the place of the versions of a node that somebody is nominated to: what comes out there
 * depends on who asks, so it stands for nobody else.
 */
#define VERSION_NOT_SHARED UINT64_MAX

#define STATE_CHUNK_BITS 6
#define STATE_CHUNK (1u << STATE_CHUNK_BITS)

/* States that follow each other. Their versions lie beside each other: most readers need no more.
 */
struct state_chunk {
    unsigned references;
    uint64_t versions[STATE_CHUNK];
    uint64_t rank_versions[STATE_CHUNK];
    struct node_state *states[STATE_CHUNK]; /* NULL behind the last */
};

struct snapshot {
    unsigned references;
    uint64_t version; /* of the youngest state there was when it was taken */
    struct product_supply supply;
    struct pod_mix *mix; /* what pods usually come; NULL when that is not known */
    size_t count;
    struct name_table *names; /* in the order of the states: see cluster_follow_order() */
    struct state_chunk *chunks[];
};

/* The state of the node at a position (that of its name in `names`), and its version. Borrowed. */
static inline const struct node_state *snapshot_state(const struct snapshot *snapshot,
                                                      size_t position)
{
    return snapshot->chunks[position >> STATE_CHUNK_BITS]->states[position & (STATE_CHUNK - 1)];
}
static inline uint64_t snapshot_version(const struct snapshot *snapshot, size_t position)
{
    return snapshot->chunks[position >> STATE_CHUNK_BITS]->versions[position & (STATE_CHUNK - 1)];
}

static inline uint64_t snapshot_rank_version(const struct snapshot *snapshot, size_t position)
{
    const struct state_chunk *chunk = snapshot->chunks[position >> STATE_CHUNK_BITS];

    return chunk->rank_versions[position & (STATE_CHUNK - 1)];
}

/* All states by name, each borrowed. Free the list. */
const struct node_state **snapshot_by_name(const struct snapshot *snapshot);
/* A node's state as a decision sees it. */
struct site node_state_site(const struct node_state *state);

/* Let go of a snapshot and of all that was borrowed from it. NULL is fine. */
void snapshot_unref(struct snapshot *snapshot);

/* For AUTO(snapshot_unref_pointer) struct snapshot *snapshot. */
void snapshot_unref_pointer(struct snapshot **snapshot);

/* The state of a node, or NULL. Borrowed. */
const struct node_state *snapshot_find(const struct snapshot *snapshot, const char *name);

#endif
