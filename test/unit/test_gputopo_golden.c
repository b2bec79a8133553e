/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What TensorFusion's code answers (golden vectors), and its weak spots W1 to W6. Where topofit
 * answers otherwise on purpose, the row says so; docs/concepts/topology.md#tensorfusion says why.
 */
#include "support/peer_graphs.h"
#include "support/test.h"

#include "topofit/gputopo.h"

static const struct topology_rule soft = {.max_tier = TIER_NUMA, .least_damage = true};
static const struct topology_rule hard = {
    .mode = TOPOLOGY_HARD, .max_tier = TIER_NUMA, .least_damage = true};

/* Ask for `count` of all devices, all idle, and drop the graph. */
static struct topology_choice ask(struct peer_graph *graph, unsigned count,
                                  const struct topology_rule *rule)
{
    device_mask all = mask_below(graph->n);
    struct topology_question question = {
        .graph = graph, .candidates = all, .idle = all, .count = count};
    struct topology_choice choice;

    gputopo_choose(&question, rule, NULL, &choice);
    peers_unref(graph);
    return choice;
}

static struct topology_choice ask_domains(const unsigned *sizes, unsigned count,
                                          const struct topology_rule *rule)
{
    return ask(graph_numa_domains(sizes), count, rule);
}

static struct topology_rule hard_up_to(enum tier tier)
{
    struct topology_rule rule = hard;

    rule.max_tier = tier;
    return rule;
}

#define DOMAINS(...) ((const unsigned[]){__VA_ARGS__, 0})

static struct link all_near(unsigned a, unsigned b)
{
    (void)a, (void)b;
    return graph_link(TIER_INTERCONNECT, 0);
}

static struct link pairs_far(unsigned a, unsigned b)
{
    return graph_link(a / 2 == b / 2 ? TIER_INTERCONNECT : TIER_CROSS, 0);
}

static struct link three_near(unsigned a, unsigned b)
{
    return a < 3 && b < 3 ? graph_link(TIER_INTERCONNECT, 0) : (struct link){0};
}

static struct link quads_far(unsigned a, unsigned b)
{
    return graph_link(a / 4 == b / 4 ? TIER_INTERCONNECT : TIER_CROSS, 0);
}

/* --- golden vectors
 * ----------------------------------------------------------------------------------- */

static struct link pair_and_quad(unsigned a, unsigned b)
{
    return graph_link((a < 2) == (b < 2) ? TIER_INTERCONNECT : TIER_CROSS, 0);
}

static struct link devices_of_two_nodes(unsigned a, unsigned b)
{
    return graph_link(a / 4 == b / 4 ? TIER_NUMA : TIER_CROSS, 0);
}

static struct link devices_in_order(unsigned a, unsigned b)
{
    return graph_link(a / 8 == b / 8 ? TIER_NUMA : TIER_CROSS, 0);
}

static struct link devices_interleaved(unsigned a, unsigned b)
{
    return graph_link(a % 2 == b % 2 ? TIER_NUMA : TIER_CROSS, 0);
}

static struct link ring_of_8(unsigned a, unsigned b)
{
    return graph_link(b - a == 1 || b - a == 7 ? TIER_INTERCONNECT : TIER_NUMA, 0);
}

static struct link ring_of_16(unsigned a, unsigned b)
{
    return graph_link(b - a == 1 || b - a == 15 ? TIER_INTERCONNECT : TIER_NUMA, 0);
}

static struct link bridges(unsigned a, unsigned b)
{
    return graph_link(a / 2 == b / 2 ? TIER_INTERCONNECT : TIER_NUMA, 0);
}

static struct link quad_and_devices(unsigned a, unsigned b)
{
    return graph_link(a < 4 && b < 4 ? TIER_INTERCONNECT : TIER_NUMA, 0);
}

static struct link one_fast_pair(unsigned a, unsigned b)
{
    return graph_link(TIER_NUMA, a == 0 && b == 1 ? 50 : 0);
}

static struct link joined_cliques(unsigned a, unsigned b)
{
    return graph_link(a % 2 == b % 2 || (a == 0 && b == 1) ? TIER_INTERCONNECT : TIER_CROSS, 0);
}

struct golden {
    const char *name;
    unsigned n;
    int numa[20];
    pair_maker links;
    unsigned count;
    unsigned tier, score;
    device_mask set;
    const char *departure; /* what TensorFusion gives, where that differs; else NULL */
};

#define NO_NUMAS {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

static const struct golden goldens[] = {
    {"two numa pairs", 4, {0, 0, 1, 1}, NULL, 2, 1, 74, 0x3, NULL},
    {"four numa nodes", 4, {0, 1, 2, 3}, NULL, 2, 2, 29, 0x3, NULL},
    {"three and one", 4, {0, 0, 0, 1}, NULL, 1, 0, 99, 0x8, "1/74"},
    {"two and four", 6, {0, 0, 1, 1, 1, 1}, NULL, 2, 1, 74, 0x3, NULL},
    {"ten on one node", 10, {0}, NULL, 2, 1, 64, 0x3, NULL},
    {"twenty on one node", 20, {0}, NULL, 2, 1, 62, 0x3, NULL},
    {"nothing known", 4, NO_NUMAS, NULL, 2, 3, 0, 0x3, NULL},
    {"known and unknown", 2, {0, -1}, NULL, 2, 3, 0, 0x3, "2/25"},
    {"two known and one not", 3, {0, 0, -1}, NULL, 3, 3, 7, 0x7, "2/32"},
    {"three and three", 6, {0, 0, 0, 1, 1, 1}, NULL, 4, 2, 39, 0xf, NULL},
    {"four and four", 8, {0, 0, 0, 0, 1, 1, 1, 1}, NULL, 6, 2, 38, 0x3f, NULL},
    {"four times four",
     16,
     {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3},
     NULL,
     8,
     2,
     37,
     0xff,
     NULL},
    {"8/6/4/2",
     20,
     {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3},
     NULL,
     10,
     2,
     42,
     0xc00ff,
     "2/37: a heuristic"},
    {"two and three", 5, {0, 0, 1, 1, 1}, NULL, 1, 0, 99, 0x4, "1/74, breaks the pair"},
    {"unknown and a pair", 3, {-1, 0, 0}, NULL, 1, 0, 99, 0x1, "3/24"},
    {"clique of 4", 4, NO_NUMAS, all_near, 2, 0, 96, 0x3, NULL},
    {"clique of 8", 8, NO_NUMAS, all_near, 2, 0, 91, 0x3, NULL},
    {"clique of 8, all", 8, NO_NUMAS, all_near, 8, 0, 99, 0xff, NULL},
    {"cliques 2+2", 4, NO_NUMAS, pairs_far, 2, 0, 99, 0x3, NULL},
    {"cliques 2+2, all", 4, NO_NUMAS, pairs_far, 4, 2, 36, 0xf, NULL},
    {"cliques 2+4", 6, NO_NUMAS, pair_and_quad, 2, 0, 99, 0x3, NULL},
    {"four quads, 6", 16, NO_NUMAS, quads_far, 6, 2, 38, 0x3f, NULL},
    {"four quads, 8", 16, NO_NUMAS, quads_far, 8, 2, 37, 0xff, NULL},
    {"8 devices", 8, {0, 0, 0, 0, 1, 1, 1, 1}, devices_of_two_nodes, 4, 1, 64, 0xf, NULL},
    {"16 devices in order", 16, NO_NUMAS, devices_in_order, 4, 1, 64, 0xf, NULL},
    {"16 devices interleaved", 16, NO_NUMAS, devices_interleaved, 4, 1, 64, 0x55, "2/32: W1"},
    {"16 devices interleaved, numa",
     16,
     {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1},
     NULL,
     4,
     1,
     69,
     0x55,
     NULL},
    {"ring of 8", 8, NO_NUMAS, ring_of_8, 2, 0, 99, 0x3, NULL},
    {"ring of 8, 4", 8, NO_NUMAS, ring_of_8, 4, 1, 69, 0xf, NULL},
    {"ring of 16", 16, NO_NUMAS, ring_of_16, 2, 0, 99, 0x3, NULL},
    {"ring of 16, 4", 16, NO_NUMAS, ring_of_16, 4, 1, 69, 0xf, NULL},
    {"8 bridges", 16, NO_NUMAS, bridges, 2, 0, 99, 0x3, NULL},
    {"8 bridges, 4", 16, NO_NUMAS, bridges, 4, 1, 67, 0xf, NULL},
    {"4 bridges, 1", 8, NO_NUMAS, bridges, 1, 0, 99, 0x1, NULL},
    {"4 bridges, 3", 8, NO_NUMAS, bridges, 3, 1, 67, 0x7, NULL},
    {"4 bridges, 4", 8, NO_NUMAS, bridges, 4, 1, 67, 0xf, NULL},
    {"clique and orphan", 4, {0, 0, 0, 0}, three_near, 1, 0, 99, 0x8, "1/74"},
    {"quad and two devices", 6, NO_NUMAS, quad_and_devices, 1, 0, 99, 0x10, NULL},
    {"cliques 2+3", 5, NO_NUMAS, pair_and_quad, 1, 0, 99, 0x4, "breaks the pair: W5"},
    {"one fast pair", 4, NO_NUMAS, one_fast_pair, 2, 1, 64, 0x3, NULL},
    {"two joined quads", 8, NO_NUMAS, joined_cliques, 4, 0, 99, 0x55, NULL},
    {"two joined eights", 16, NO_NUMAS, joined_cliques, 4, 0, 99, 0x154, "2/44: W2"},
};

static void test_gputopo_choose__golden_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(goldens); i++) {
        const struct golden *golden = &goldens[i];
        struct topology_choice choice =
            ask(graph_make(golden->n, golden->numa, golden->links), golden->count, &soft);

        if (choice.tier != golden->tier || choice.score_0_100 != golden->score ||
            choice.set != golden->set)
            fail_msg("%s: tier %u score %u set %llx", golden->name, choice.tier, choice.score_0_100,
                     (unsigned long long)choice.set);
        assert_false(choice.degraded);
    }
}

static void test_gputopo_choose__golden_reports_of_both_ends_are_merged(void **state)
{
    struct link forth = graph_link(TIER_CROSS, 0), back = graph_link(TIER_NUMA, 0);
    struct peer_graph *graph = peers_new(2);
    struct topology_choice choice;

    (void)state;
    peers_note_link(graph, 0, 1, &forth);
    peers_note_link(graph, 1, 0, &back);
    peers_finish(graph);
    choice = ask(graph, 2, &soft);
    assert_int_equal(choice.tier, TIER_NUMA);
    assert_int_equal(choice.score_0_100, 64);
}

/* --- W1 to W6: weak spots of TensorFusion
 * -------------------------------------------------------------- */

static void test_gputopo_choose__w1_finds_the_numa_node_among_interleaved_devices(void **state)
{
    struct topology_choice choice = ask(graph_make(16, NULL, devices_interleaved), 4, &hard);

    (void)state;
    assert_int_equal(choice.set, 0x55);
    assert_true(choice.satisfied);
}

static void test_gputopo_choose__w2_finds_a_clique_inside_a_loose_cluster(void **state)
{
    struct topology_rule rule = hard_up_to(TIER_INTERCONNECT);

    (void)state;
    assert_int_equal(ask(graph_make(16, NULL, joined_cliques), 8, &rule).set, 0x5555);
    assert_true(ask(graph_make(16, NULL, joined_cliques), 8, &rule).satisfied);
}

static void test_gputopo_choose__w3_equal_domains_are_settled_by_position(void **state)
{
    (void)state;
    for (unsigned run = 0; run < 100; run++)
        assert_int_equal(ask_domains(DOMAINS(4, 4), 4, &soft).set, 0xf);
}

static void test_gputopo_choose__w4_single_devices_pass_hard_mode_without_topology(void **state)
{
    struct topology_rule rule = hard_up_to(TIER_INTERCONNECT);

    (void)state;
    rule.unknown = UNKNOWN_REJECT;
    assert_true(ask(graph_make(4, NULL, NULL), 1, &rule).satisfied);
    assert_true(ask(graph_make(3, (const int[]){NO_NUMA, 0, 0}, NULL), 1, &rule).satisfied);
}

static void test_gputopo_choose__w5_a_single_comes_from_the_three_not_the_pair(void **state)
{
    (void)state;
    assert_int_equal(ask_domains(DOMAINS(2, 3), 1, &soft).set, 0x4);
    assert_int_equal(ask_domains(DOMAINS(3, 2), 1, &soft).set, 0x1);
}

static void test_gputopo_choose__w6_max_tier_zero_means_zero(void **state)
{
    struct topology_rule rule = hard_up_to(TIER_INTERCONNECT);

    (void)state;
    assert_false(ask(graph_make(2, (const int[]){0, 0}, NULL), 2, &rule).satisfied);
    assert_true(ask(graph_make(2, NULL, all_near), 2, &rule).satisfied);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gputopo_choose__golden_vectors),
        cmocka_unit_test(test_gputopo_choose__golden_reports_of_both_ends_are_merged),
        cmocka_unit_test(test_gputopo_choose__w1_finds_the_numa_node_among_interleaved_devices),
        cmocka_unit_test(test_gputopo_choose__w2_finds_a_clique_inside_a_loose_cluster),
        cmocka_unit_test(test_gputopo_choose__w3_equal_domains_are_settled_by_position),
        cmocka_unit_test(test_gputopo_choose__w4_single_devices_pass_hard_mode_without_topology),
        cmocka_unit_test(test_gputopo_choose__w5_a_single_comes_from_the_three_not_the_pair),
        cmocka_unit_test(test_gputopo_choose__w6_max_tier_zero_means_zero),
    };

    return cmocka_run_group_tests_name("gputopo_golden", tests, NULL, NULL);
}
