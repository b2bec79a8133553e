/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_gputopo - how long the search takes, cold and remembered, on graphs that are hard for it
 * in different ways. Prints microseconds a question: the mean and the slowest of all counts.
 */
#include "support/test.h"

#include "topofit/gputopo.h"
#include "topofit/matrix.h"

#include <stdlib.h>
#include <time.h>

#define COLD_RUNS 20
#define COLD_RUNS_64 3
#define WARM_RUNS 20000

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void note(struct peer_graph *graph, unsigned a, unsigned b, enum tier tier, unsigned gbps)
{
    struct link link = {.name = "L", .tier = tier, .gbps = (uint16_t)gbps};

    peers_note_link(graph, a, b, &link);
}

typedef void (*pair_maker)(struct peer_graph *graph, unsigned a, unsigned b);

static void uniform(struct peer_graph *graph, unsigned a, unsigned b)
{
    note(graph, a, b, TIER_INTERCONNECT, 900);
}

static void two_cliques(struct peer_graph *graph, unsigned a, unsigned b)
{
    bool same = a % 2 == b % 2 || (a == 0 && b == 1);

    note(graph, a, b, same ? TIER_INTERCONNECT : TIER_CROSS, same ? 900 : 12);
}

static void numa_alike(struct peer_graph *graph, unsigned a, unsigned b)
{
    (void)b;
    peers_set_numa(graph, a, 0);
}

static void ring(struct peer_graph *graph, unsigned a, unsigned b)
{
    bool next = b - a == 1 || b - a == graph->n - 1;

    note(graph, a, b, next ? TIER_INTERCONNECT : TIER_NUMA, 0);
}

static void bridges(struct peer_graph *graph, unsigned a, unsigned b)
{
    if (a / 2 == b / 2)
        note(graph, a, b, TIER_INTERCONNECT, 600);
    else
        note(graph, a, b, a / 8 == b / 8 ? TIER_NUMA : TIER_CROSS, a / 8 == b / 8 ? 20 : 12);
}

/* A fixed scramble, so that every run asks the same. */
static unsigned scramble(unsigned a, unsigned b)
{
    return (a * 2654435761u ^ b * 2246822519u) >> 13;
}

static void random_tiers(struct peer_graph *graph, unsigned a, unsigned b)
{
    note(graph, a, b, scramble(a, b) % 2 ? TIER_INTERCONNECT : TIER_NUMA, 0);
}

static void random_links(struct peer_graph *graph, unsigned a, unsigned b)
{
    note(graph, a, b, scramble(a, b) % 4, scramble(a, b) % 50);
}

/* Nearly all devices near each other: many ties, and groups that are hard to count. */
static void broken_links(struct peer_graph *graph, unsigned a, unsigned b)
{
    note(graph, a, b, scramble(a, b) % 80 ? TIER_INTERCONNECT : TIER_CROSS, 0);
}

static void dense(struct peer_graph *graph, unsigned a, unsigned b)
{
    note(graph, a, b, scramble(a, b) % 20 < 17 ? TIER_INTERCONNECT : TIER_CROSS, 0);
}

static void quads(struct peer_graph *graph, unsigned a, unsigned b)
{
    bool same = a / 4 == b / 4;

    note(graph, a, b, same ? TIER_INTERCONNECT : TIER_CROSS, same ? 128 : 12);
}

static struct peer_graph *make(unsigned n, pair_maker maker)
{
    struct peer_graph *graph = peers_new(n);

    for (unsigned a = 0; a < n; a++) {
        for (unsigned b = a + 1; b < n; b++)
            maker(graph, a, b);
    }
    if (maker == numa_alike)
        peers_set_numa(graph, n - 1, 0);
    peers_finish(graph);
    graph->serial = 1;
    return graph;
}

static struct peer_graph *torus(void)
{
    size_t length;
    AUTO_FREE char *text =
        test_read_file(TEST_DATA "/topologies/51-aws-trn1-trn2-16-torus.txt", &length);
    struct error err = {0};
    struct matrix matrix;

    if (matrix_read(text, length, &matrix, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    matrix.graph->serial = 1;
    return matrix.graph;
}

static double ask(const struct topology_question *question, struct gputopo_memo *memo, int runs,
                  bool *degraded)
{
    struct topology_rule rule = {.least_damage = true};
    struct topology_choice choice;
    double start = now_us();

    for (int i = 0; i < runs; i++)
        gputopo_choose(question, &rule, memo, &choice);
    *degraded = choice.degraded;
    return (now_us() - start) / runs;
}

static void bench(const char *name, struct peer_graph *graph, bool with_preferences)
{
    uint16_t preference[DEVICE_MAX];
    struct gputopo_memo *memo = gputopo_memo_new(64);
    device_mask all = mask_below(graph->n);
    struct topology_question question = {.graph = graph, .candidates = all, .idle = all};
    double slowest = 0, eight = 0, warm;
    unsigned at = 0;
    bool degraded, any_degraded = false;

    for (unsigned i = 0; i < graph->n; i++)
        preference[i] = (uint16_t)(scramble(i, 7) % 1000);
    question.preference = with_preferences ? preference : NULL;
    for (unsigned count = 1; count <= graph->n; count++) {
        double us;

        question.count = count;
        us = ask(&question, NULL, graph->n > 16 ? COLD_RUNS_64 : COLD_RUNS, &degraded);
        any_degraded |= degraded;
        if (count == 8)
            eight = us;
        if (us > slowest) {
            slowest = us;
            at = count;
        }
    }
    question.count = 8;
    ask(&question, memo, 1, &degraded);
    warm = ask(&question, memo, WARM_RUNS, &degraded);
    printf("%-28s n=%-2u  8 of n: %9.1f us  slowest: %9.1f us (count %2u)%s  remembered: %.3f us\n",
           name, graph->n, eight, slowest, at, any_degraded ? " degraded" : "", warm);
    gputopo_memo_free(memo);
    peers_unref(graph);
}

int main(void)
{
    bench("uniform", make(16, uniform), false);
    bench("uniform, preferences", make(16, uniform), true);
    bench("torus", torus(), false);
    bench("torus, preferences", torus(), true);
    bench("two 8-cliques, interleaved", make(16, two_cliques), false);
    bench("one NUMA node, no links", make(16, numa_alike), false);
    bench("ring without bandwidth", make(16, ring), false);
    bench("bridged pairs, two sockets", make(16, bridges), false);
    bench("random tiers, no bandwidth", make(16, random_tiers), false);
    bench("random tiers and bandwidth", make(16, random_links), false);
    bench("few broken links", make(16, broken_links), false);
    bench("dense", make(16, dense), false);
    bench("uniform", make(64, uniform), true);
    bench("quads", make(64, quads), false);
    bench("bridged pairs", make(64, bridges), false);
    bench("ring without bandwidth", make(64, ring), false);
    bench("random tiers, no bandwidth", make(64, random_tiers), false);
    bench("random tiers and bandwidth", make(64, random_links), false);
    bench("few broken links", make(64, broken_links), false);
    bench("dense", make(64, dense), true);
    return 0;
}
