/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot - building the immutable pictures that readers hold. */
#include "topofit/snapshot.h"

#include "snapshot_inside.h"
#include "supply.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct nominees *nominees_ref(struct nominees *nominees)
{
    if (nominees != NULL)
        __atomic_add_fetch(&nominees->references, 1, __ATOMIC_RELAXED);
    return nominees;
}

void nominees_unref(struct nominees *nominees)
{
    if (nominees == NULL || __atomic_sub_fetch(&nominees->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < nominees->count; i++)
        pod_unref(nominees->items[i].pod);
    free(nominees);
}

struct node_state *node_state_new(struct node *steal_node, const struct node_use *use,
                                  struct nominees *steal_nominees, struct rank_facts rank,
                                  uint64_t version)
{
    struct node_state *state =
        xcalloc(1, offsetof(struct node_state, use) + NODE_USE_SIZE(use->device_count));

    state->references = 1;
    state->version = state->rank_version = version;
    state->node = steal_node;
    state->nominees = steal_nominees;
    state->rank = rank;
    node_use_copy(use, &state->use);
    return state;
}

struct node_state *node_state_with_rank(const struct node_state *state, struct rank_facts rank,
                                        uint64_t rank_version)
{
    struct node_state *other = node_state_new(node_ref(state->node), &state->use,
                                              nominees_ref(state->nominees), rank, state->version);

    other->rank_version = rank_version;
    other->likeness = state->likeness;
    return other;
}

struct node_state *node_state_ref(struct node_state *state)
{
    __atomic_add_fetch(&state->references, 1, __ATOMIC_RELAXED);
    return state;
}

void node_state_unref(struct node_state *state)
{
    if (state == NULL || __atomic_sub_fetch(&state->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    node_unref(state->node);
    nominees_unref(state->nominees);
    free(state);
}

struct site node_state_site(const struct node_state *state)
{
    return (struct site){
        .node = state->node,
        .use = &state->use,
        .nominees = state->nominees != NULL ? state->nominees->items : NULL,
        .nominee_count = state->nominees != NULL ? state->nominees->count : 0,
    };
}

/* --- chunks ---------------------------------------------------------------------------------- */

static void chunk_unref(struct state_chunk *chunk)
{
    if (__atomic_sub_fetch(&chunk->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < STATE_CHUNK; i++)
        node_state_unref(chunk->states[i]);
    free(chunk);
}

static struct state_chunk *chunk_copy(const struct state_chunk *from)
{
    struct state_chunk *chunk = xmalloc(sizeof *chunk);

    *chunk = *from;
    chunk->references = 1;
    for (size_t i = 0; i < STATE_CHUNK && chunk->states[i] != NULL; i++)
        node_state_ref(chunk->states[i]);
    return chunk;
}

/* Others may only let go meanwhile, so at worst a copy is made that was not needed. */
static bool is_ours_alone(const unsigned *references)
{
    return __atomic_load_n(references, __ATOMIC_ACQUIRE) == 1;
}

/* --- snapshots ------------------------------------------------------------------------------- */

static size_t chunks_of(size_t count)
{
    return (count + STATE_CHUNK - 1) / STATE_CHUNK;
}

static struct snapshot *allocate(struct name_table *steal_names)
{
    size_t count = name_table_count(steal_names);
    struct snapshot *snapshot =
        xmalloc(sizeof *snapshot + chunks_of(count) * sizeof(struct state_chunk *));

    *snapshot = (struct snapshot){.references = 1, .count = count, .names = steal_names};
    return snapshot;
}

struct snapshot *snapshot_new(struct name_table *steal_names)
{
    struct snapshot *snapshot = allocate(steal_names);

    for (size_t i = 0; i < chunks_of(snapshot->count); i++) {
        snapshot->chunks[i] = xcalloc(1, sizeof(struct state_chunk));
        snapshot->chunks[i]->references = 1;
    }
    return snapshot;
}

struct snapshot *snapshot_own(struct snapshot *steal_snapshot)
{
    struct snapshot *copy;

    if (is_ours_alone(&steal_snapshot->references))
        return steal_snapshot;
    copy = allocate(name_table_ref(steal_snapshot->names));
    copy->version = steal_snapshot->version;
    product_supply_copy(&steal_snapshot->supply, &copy->supply);
    copy->mix = steal_snapshot->mix != NULL ? pod_mix_ref(steal_snapshot->mix) : NULL;
    for (size_t i = 0; i < chunks_of(copy->count); i++) {
        copy->chunks[i] = steal_snapshot->chunks[i];
        __atomic_add_fetch(&copy->chunks[i]->references, 1, __ATOMIC_RELAXED);
    }
    snapshot_unref(steal_snapshot);
    return copy;
}

void snapshot_set(struct snapshot *snapshot, size_t position, struct node_state *state)
{
    struct state_chunk **place = &snapshot->chunks[position >> STATE_CHUNK_BITS];
    size_t at = position & (STATE_CHUNK - 1);

    assert(position < snapshot->count && is_ours_alone(&snapshot->references));
    if (!is_ours_alone(&(*place)->references)) {
        struct state_chunk *shared = *place;

        *place = chunk_copy(shared);
        chunk_unref(shared);
    }
    node_state_unref((*place)->states[at]);
    (*place)->states[at] = node_state_ref(state);
    (*place)->versions[at] = state->nominees == NULL ? state->version : VERSION_NOT_SHARED;
    (*place)->rank_versions[at] =
        state->nominees == NULL ? state->rank_version : VERSION_NOT_SHARED;
}

struct snapshot *snapshot_ref(struct snapshot *snapshot)
{
    __atomic_add_fetch(&snapshot->references, 1, __ATOMIC_RELAXED);
    return snapshot;
}

void snapshot_unref(struct snapshot *snapshot)
{
    if (snapshot == NULL || __atomic_sub_fetch(&snapshot->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < chunks_of(snapshot->count); i++)
        chunk_unref(snapshot->chunks[i]);
    product_supply_clear(&snapshot->supply);
    pod_mix_unref(snapshot->mix);
    name_table_unref(snapshot->names);
    free(snapshot);
}

static int compare_names(const void *a, const void *b)
{
    const struct node_state *x = *(const struct node_state *const *)a;
    const struct node_state *y = *(const struct node_state *const *)b;

    return strcmp(x->node->name, y->node->name);
}

const struct node_state **snapshot_by_name(const struct snapshot *snapshot)
{
    const struct node_state **states = xcalloc(snapshot->count + 1, sizeof(*states));

    for (size_t i = 0; i < snapshot->count; i++)
        states[i] = snapshot_state(snapshot, i);
    qsort(states, snapshot->count, sizeof(*states), compare_names);
    return states;
}

void snapshot_unref_pointer(struct snapshot **snapshot)
{
    snapshot_unref(*snapshot);
}

const struct node_state *snapshot_find(const struct snapshot *snapshot, const char *name)
{
    uint32_t position = name_table_find(snapshot->names, name, strlen(name));

    return position != NAME_NOWHERE ? snapshot_state(snapshot, position) : NULL;
}
