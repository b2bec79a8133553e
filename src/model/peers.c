/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers - see the header. Everything is kept as full n * n matrices: n is at most 64, and the
 * search in gputopo reads them far more often than they are written.
 */
#include "topofit/peers.h"

#include "topofit/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

device_mask mask_lowest(device_mask mask, unsigned count)
{
    device_mask lowest = 0;

    for (; count > 0 && mask != 0; count--) {
        lowest |= mask & -mask;
        mask &= mask - 1;
    }
    return lowest;
}

const char *tier_name(enum tier tier)
{
    static const char *const names[TIER_COUNT] = {"interconnect", "numa", "cross", "unknown"};

    assert((unsigned)tier < TIER_COUNT);
    return names[tier];
}

struct peer_graph *peers_new(unsigned n)
{
    struct peer_graph *graph = xcalloc(1, sizeof(*graph));

    assert(n <= DEVICE_MAX);
    graph->references = 1;
    graph->n = n;
    graph->links = xcalloc((size_t)n * n + 1, sizeof(*graph->links));
    for (size_t i = 0; i < (size_t)n * n; i++)
        graph->links[i].tier = TIER_UNKNOWN;
    for (unsigned i = 0; i < DEVICE_MAX; i++)
        graph->numa[i] = NUMA_UNKNOWN;
    return graph;
}

static bool is_building(const struct peer_graph *graph)
{
    return graph->tiers[SOURCE_AUTO] == NULL;
}

/* A total order, so that it does not matter which end reports first. */
static bool is_better(const struct link *a, const struct link *b)
{
    if (a->tier != b->tier)
        return a->tier < b->tier;
    if (a->gbps != b->gbps)
        return a->gbps > b->gbps;
    return strncmp(a->name, b->name, LINK_NAME_MAX) > 0;
}

static struct link merge(const struct link *a, const struct link *b)
{
    struct link merged = is_better(a, b) ? *a : *b;

    merged.gbps = a->gbps > b->gbps ? a->gbps : b->gbps;
    merged.name[LINK_NAME_MAX - 1] = '\0';
    return merged;
}

void peers_note_link(struct peer_graph *graph, unsigned a, unsigned b, const struct link *link)
{
    struct link *forth = &graph->links[a * graph->n + b];

    assert(is_building(graph) && a < graph->n && b < graph->n);
    assert((unsigned)link->tier < TIER_COUNT);
    if (a == b)
        return;
    *forth = merge(forth, link);
    graph->links[b * graph->n + a] = *forth;
}

void peers_set_numa(struct peer_graph *graph, unsigned position, int numa)
{
    assert(is_building(graph) && position < graph->n);
    graph->numa[position] = numa < 0 || numa > INT16_MAX ? NUMA_UNKNOWN : (int16_t)numa;
}

static enum tier numa_tier(const struct peer_graph *graph, unsigned a, unsigned b)
{
    if (graph->numa[a] < 0 || graph->numa[b] < 0)
        return TIER_UNKNOWN;
    return graph->numa[a] == graph->numa[b] ? TIER_NUMA : TIER_CROSS;
}

static bool is_known(const struct link *link)
{
    return link->tier != TIER_UNKNOWN || link->gbps > 0 || link->name[0] != '\0';
}

static void finish_pair(struct peer_graph *graph, unsigned a, unsigned b)
{
    size_t at = (size_t)a * graph->n + b;
    enum tier vendor = a == b ? TIER_INTERCONNECT : graph->links[at].tier;
    enum tier numa = a == b ? TIER_INTERCONNECT : numa_tier(graph, a, b);

    graph->tiers[SOURCE_VENDOR][at] = (uint8_t)vendor;
    graph->tiers[SOURCE_NUMA][at] = (uint8_t)numa;
    graph->tiers[SOURCE_AUTO][at] = (uint8_t)(vendor < numa ? vendor : numa);
    if (a != b && is_known(&graph->links[at]))
        graph->has_links = true;
}

void peers_finish(struct peer_graph *graph)
{
    assert(is_building(graph));
    for (unsigned source = 0; source < SOURCE_COUNT; source++)
        graph->tiers[source] = xcalloc((size_t)graph->n * graph->n + 1, 1);
    for (unsigned a = 0; a < graph->n; a++) {
        if (graph->numa[a] >= 0)
            graph->has_numa = true;
        for (unsigned b = 0; b < graph->n; b++)
            finish_pair(graph, a, b);
    }
}

enum tier peers_tier(const struct peer_graph *graph, enum topology_source source, unsigned a,
                     unsigned b)
{
    assert(!is_building(graph) && a < graph->n && b < graph->n);
    return graph->tiers[source][a * graph->n + b];
}

const struct link *peers_link(const struct peer_graph *graph, unsigned a, unsigned b)
{
    assert(a < graph->n && b < graph->n);
    return &graph->links[a * graph->n + b];
}

bool peers_equal(const struct peer_graph *a, const struct peer_graph *b)
{
    if (a->n != b->n || memcmp(a->numa, b->numa, sizeof(a->numa)) != 0)
        return false;
    /* Field by field: a link has padding. */
    for (size_t i = 0; i < (size_t)a->n * a->n; i++) {
        const struct link *left = &a->links[i], *right = &b->links[i];

        if (left->tier != right->tier || left->gbps != right->gbps ||
            strncmp(left->name, right->name, LINK_NAME_MAX) != 0)
            return false;
    }
    return true;
}

size_t peers_bytes(const struct peer_graph *graph)
{
    size_t pairs = (size_t)graph->n * graph->n + 1;

    return mem_block_bytes(sizeof *graph) + mem_block_bytes(pairs * sizeof *graph->links) +
           SOURCE_COUNT * mem_block_bytes(pairs);
}

struct peer_graph *peers_ref(struct peer_graph *graph)
{
    __atomic_add_fetch(&graph->references, 1, __ATOMIC_RELAXED);
    return graph;
}

void peers_unref(struct peer_graph *graph)
{
    if (graph == NULL || __atomic_sub_fetch(&graph->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (unsigned source = 0; source < SOURCE_COUNT; source++)
        free(graph->tiers[source]);
    free(graph->links);
    free(graph);
}

void peers_unref_pointer(struct peer_graph **graph)
{
    peers_unref(*graph);
}
