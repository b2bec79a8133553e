/* SPDX-License-Identifier: Apache-2.0 */
/* topology_questions - random machines, and questions about them. */
#include "support/topology_questions.h"

#include "support/peer_graphs.h"

#include <string.h>

uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

unsigned below(uint64_t *state, unsigned limit)
{
    return next_random(state) % limit;
}

struct peer_graph *random_graph(uint64_t *state, unsigned n)
{
    static const uint16_t bandwidths[] = {0, 12, 20, 50, 50, 100};
    struct peer_graph *graph = peers_new(n);
    unsigned kinds = 1 + below(state, 6), quad = 1 + below(state, 4), shape = below(state, 4);

    for (unsigned a = 0; a < n; a++) {
        if (below(state, 5) != 0 && shape != 3)
            peers_set_numa(graph, a, (int)below(state, 3));
        for (unsigned b = a + 1; b < n; b++) {
            enum tier tier = shape == 1 ? (a / quad == b / quad ? TIER_INTERCONNECT : TIER_CROSS)
                                        : below(state, TIER_COUNT);
            uint16_t gbps = bandwidths[below(state, kinds)];
            struct link link = graph_link(tier, shape == 2 ? 0 : gbps);

            if (below(state, 8) != 0)
                peers_note_link(graph, a, b, &link);
        }
    }
    peers_finish(graph);
    return graph;
}

void random_question(uint64_t *state, const struct peer_graph *graph, unsigned count_max,
                     struct question *out)
{
    struct topology_question *question = &out->question;
    device_mask all = mask_below(graph->n);

    memset(out, 0, sizeof(*out));
    out->rule.source = below(state, SOURCE_COUNT);
    out->rule.least_damage = below(state, 4) != 0;
    question->graph = graph;
    question->candidates = below(state, 2) ? all : (next_random(state) & all);
    question->idle = below(state, 3) ? all : (next_random(state) & all);
    question->count = 1 + below(state, count_max);
    question->preference_first = below(state, 4) == 0;
    if (below(state, 2))
        question->required =
            mask_lowest(question->candidates & next_random(state), below(state, question->count));
    for (unsigned i = 0; i < graph->n; i++)
        out->preference[i] = (uint16_t)below(state, 4);
    question->preference = below(state, 2) ? out->preference : NULL;
}
