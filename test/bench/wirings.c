/* SPDX-License-Identifier: Apache-2.0 */
#include "wirings.h"

#include "topofit/file.h"
#include "topofit/matrix.h"
#include "topofit/mem.h"

#include <stdio.h>

#define BETWEEN_MACHINES_GBPS 12
#define LINK(tier_, gbps_) ((struct link){.name = "L", .tier = (tier_), .gbps = (gbps_)})

/* A fixed scramble, so that every run asks the same. */
static unsigned scramble(unsigned a, unsigned b)
{
    return (a * 2654435761u ^ b * 2246822519u) >> 13;
}

uint16_t wiring_preference(unsigned position)
{
    return (uint16_t)(scramble(position, 7) % 1000);
}

/* --- made ones ------------------------------------------------------------------------------- */

static struct link uniform(unsigned a, unsigned b)
{
    (void)a;
    (void)b;
    return LINK(TIER_INTERCONNECT, 900);
}

static struct link two_cliques(unsigned a, unsigned b)
{
    bool same = a % 2 == b % 2 || (a == 0 && b == 1);

    return same ? LINK(TIER_INTERCONNECT, 900) : LINK(TIER_CROSS, 12);
}

/* The last one is next to the first in every size used here. */
static struct link ring_of(unsigned devices, unsigned a, unsigned b)
{
    bool next = b - a == 1 || b - a == devices - 1;

    return LINK(next ? TIER_INTERCONNECT : TIER_NUMA, 0);
}

static struct link ring_16(unsigned a, unsigned b)
{
    return ring_of(16, a, b);
}

static struct link ring_64(unsigned a, unsigned b)
{
    return ring_of(64, a, b);
}

static struct link bridges(unsigned a, unsigned b)
{
    if (a / 2 == b / 2)
        return LINK(TIER_INTERCONNECT, 600);
    return a / 8 == b / 8 ? LINK(TIER_NUMA, 20) : LINK(TIER_CROSS, 12);
}

static struct link random_tiers(unsigned a, unsigned b)
{
    return LINK(scramble(a, b) % 2 ? TIER_INTERCONNECT : TIER_NUMA, 0);
}

static struct link random_links(unsigned a, unsigned b)
{
    return LINK(scramble(a, b) % 4, (uint16_t)(scramble(a, b) % 50));
}

/* Nearly all devices near each other: many ties, and groups that are hard to count. */
static struct link broken_links(unsigned a, unsigned b)
{
    return LINK(scramble(a, b) % 80 ? TIER_INTERCONNECT : TIER_CROSS, 0);
}

static struct link dense(unsigned a, unsigned b)
{
    return LINK(scramble(a, b) % 20 < 17 ? TIER_INTERCONNECT : TIER_CROSS, 0);
}

static struct link quads(unsigned a, unsigned b)
{
    bool same = a / 4 == b / 4;

    return same ? LINK(TIER_INTERCONNECT, 128) : LINK(TIER_CROSS, 12);
}

const struct made_wiring made_wirings[] = {
    {"uniform", 16, false, uniform, false},
    {"uniform, preferences", 16, true, uniform, false},
    {"two 8-cliques, interleaved", 16, false, two_cliques, false},
    {"one NUMA node, no links", 16, false, NULL, true},
    {"ring without bandwidth", 16, false, ring_16, false},
    {"bridged pairs, two sockets", 16, false, bridges, false},
    {"random tiers, no bandwidth", 16, false, random_tiers, false},
    {"random tiers and bandwidth", 16, false, random_links, false},
    {"few broken links", 16, false, broken_links, false},
    {"dense", 16, false, dense, false},
    {"uniform", 64, true, uniform, false},
    {"quads", 64, false, quads, false},
    {"bridged pairs", 64, false, bridges, false},
    {"ring without bandwidth", 64, false, ring_64, false},
    {"random tiers, no bandwidth", 64, false, random_tiers, false},
    {"random tiers and bandwidth", 64, false, random_links, false},
    {"few broken links", 64, false, broken_links, false},
    {"dense", 64, true, dense, false},
};
const size_t made_wiring_count = ARRAY_LEN(made_wirings);

/* --- graphs ---------------------------------------------------------------------------------- */

static struct peer_graph *finish(struct peer_graph *graph)
{
    peers_finish(graph);
    graph->serial = 1;
    return graph;
}

struct peer_graph *wiring_make(const struct made_wiring *wiring)
{
    struct peer_graph *graph = peers_new(wiring->devices);

    for (unsigned a = 0; a < wiring->devices; a++) {
        if (wiring->is_one_numa_node)
            peers_set_numa(graph, a, 0);
        for (unsigned b = a + 1; wiring->link != NULL && b < wiring->devices; b++) {
            struct link link = wiring->link(a, b);

            peers_note_link(graph, a, b, &link);
        }
    }
    return finish(graph);
}

struct peer_graph *wiring_read(const char *path)
{
    AUTO(buf_clear) struct buf text = buf_with_max(MATRIX_BYTES_MAX);
    struct matrix matrix;
    struct error err = {0};

    if (file_read(path, &text, &err) < 0 ||
        matrix_read(buf_text(&text), text.length, &matrix, &err) < 0) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        return NULL;
    }
    return matrix.graph;
}

static struct link link_of_pair(const struct peer_graph *graph, unsigned a, unsigned b)
{
    if (a / graph->n != b / graph->n)
        return LINK(TIER_CROSS, BETWEEN_MACHINES_GBPS);
    return *peers_link(graph, a % graph->n, b % graph->n);
}

struct peer_graph *wiring_repeat(const struct peer_graph *graph, unsigned devices)
{
    struct peer_graph *out = peers_new(devices);
    int nodes = 0;

    for (unsigned i = 0; i < graph->n; i++)
        nodes = graph->numa[i] >= nodes ? graph->numa[i] + 1 : nodes;
    for (unsigned a = 0; a < devices; a++) {
        int numa = graph->numa[a % graph->n];

        if (numa >= 0)
            peers_set_numa(out, a, numa + nodes * (int)(a / graph->n));
        for (unsigned b = a + 1; b < devices; b++) {
            struct link link = link_of_pair(graph, a, b);

            if (link.name[0] != '\0')
                peers_note_link(out, a, b, &link);
        }
    }
    return finish(out);
}
