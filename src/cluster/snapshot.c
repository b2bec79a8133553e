/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot - building the immutable pictures that readers hold. */
#include "topofit/snapshot.h"

#include "snapshot_inside.h"
#include "supply.h"
#include "topofit/mem.h"

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
                                  struct nominees *steal_nominees, struct host_amounts host_used,
                                  uint64_t version)
{
    struct node_state *state = xmalloc(sizeof *state);

    *state = (struct node_state){.references = 1,
                                 .version = version,
                                 .host_version = version,
                                 .node = steal_node,
                                 .use = *use,
                                 .nominees = steal_nominees,
                                 .host_used = host_used};
    return state;
}

struct node_state *node_state_with_host(const struct node_state *state,
                                        struct host_amounts host_used, uint64_t host_version)
{
    struct node_state *other =
        node_state_new(node_ref(state->node), &state->use, nominees_ref(state->nominees), host_used,
                       state->version);

    other->host_version = host_version;
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

struct snapshot *snapshot_new(size_t capacity)
{
    struct snapshot *snapshot = xmalloc(sizeof *snapshot + capacity * sizeof(struct node_state *));

    *snapshot = (struct snapshot){.references = 1};
    return snapshot;
}

void snapshot_add(struct snapshot *snapshot, struct node_state *state)
{
    snapshot->states[snapshot->count++] = node_state_ref(state);
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
    for (size_t i = 0; i < snapshot->count; i++)
        node_state_unref(snapshot->states[i]);
    pod_mix_unref(snapshot->mix);
    supply_clear(&snapshot->supply);
    free(snapshot);
}

void snapshot_unref_pointer(struct snapshot **snapshot)
{
    snapshot_unref(*snapshot);
}

const struct node_state *snapshot_find(const struct snapshot *snapshot, const char *name)
{
    size_t low = 0, high = snapshot->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, snapshot->states[middle]->node->name);

        if (order == 0)
            return snapshot->states[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
