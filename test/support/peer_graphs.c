/* SPDX-License-Identifier: Apache-2.0 */
#include "support/peer_graphs.h"

#include <string.h>

struct link graph_link(enum tier tier, uint16_t gbps)
{
    return (struct link){.name = "L", .tier = tier, .gbps = gbps};
}

struct peer_graph *graph_make(unsigned n, const int *numa, pair_maker maker)
{
    struct peer_graph *graph = peers_new(n);

    for (unsigned a = 0; a < n; a++) {
        if (numa != NULL)
            peers_set_numa(graph, a, numa[a]);
        for (unsigned b = a + 1; maker != NULL && b < n; b++) {
            struct link link = maker(a, b);

            if (link.name[0] != '\0')
                peers_note_link(graph, a, b, &link);
        }
    }
    peers_finish(graph);
    return graph;
}

struct peer_graph *graph_numa_domains(const unsigned *sizes)
{
    int numa[DEVICE_MAX];
    unsigned n = 0;

    for (int domain = 0; sizes[domain] != 0; domain++) {
        for (unsigned i = 0; i < sizes[domain]; i++)
            numa[n++] = domain;
    }
    return graph_make(n, numa, NULL);
}
