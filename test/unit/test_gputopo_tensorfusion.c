/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What TensorFusion's tests ask of its topology plugin: T1 to T30, those about sets. Where topofit
 * answers otherwise on purpose, a comment says so; docs/concepts/topology.md#tensorfusion says why.
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

static struct topology_choice ask_numa(const int *numa, unsigned n, unsigned count,
                                       const struct topology_rule *rule)
{
    return ask(graph_make(n, numa, NULL), count, rule);
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

#define NUMA(...) ((const int[]){__VA_ARGS__})
#define DOMAINS(...) ((const unsigned[]){__VA_ARGS__, 0})

/* --- T1 to T30
 * -------------------------------------------------------------------------------------- */

static void test_gputopo_choose__t01_takes_two_of_one_numa_node(void **state)
{
    struct topology_choice choice = ask_numa(NUMA(0, 0, 1, 1), 4, 2, &hard);

    (void)state;
    assert_int_equal(choice.set, 0x3);
    assert_int_equal(choice.tier, TIER_NUMA);
    assert_true(choice.satisfied);
}

static void test_gputopo_choose__t02_refuses_two_across_nodes_unless_allowed(void **state)
{
    struct topology_rule wide = hard_up_to(TIER_CROSS);

    (void)state;
    assert_int_equal(ask_numa(NUMA(0, 1, 2, 3), 4, 2, &hard).tier, TIER_CROSS);
    assert_false(ask_numa(NUMA(0, 1, 2, 3), 4, 2, &hard).satisfied);
    assert_true(ask_numa(NUMA(0, 1, 2, 3), 4, 2, &wide).satisfied);
}

static void test_gputopo_choose__t03_takes_the_lone_device_for_a_single(void **state)
{
    (void)state;
    assert_int_equal(ask_numa(NUMA(0, 0, 0, 1), 4, 1, &soft).set, 0x8);
}

static void test_gputopo_choose__t04_takes_the_first_without_least_damage(void **state)
{
    struct topology_rule rule = {.least_damage = false};

    (void)state;
    assert_int_equal(ask_numa(NUMA(0, 0, 0, 1), 4, 1, &rule).set, 0x1);
}

static void test_gputopo_choose__t05_unknown_pairs_need_max_tier_unknown(void **state)
{
    struct topology_rule widest = hard_up_to(TIER_UNKNOWN);

    (void)state;
    assert_int_equal(ask(graph_make(4, NULL, NULL), 2, &hard).tier, TIER_UNKNOWN);
    assert_false(ask(graph_make(4, NULL, NULL), 2, &hard).satisfied);
    assert_true(ask(graph_make(2, NULL, NULL), 2, &widest).satisfied);
}

static void test_gputopo_choose__t06_takes_the_tight_pair_and_keeps_the_four(void **state)
{
    (void)state;
    assert_int_equal(ask_domains(DOMAINS(2, 4), 2, &soft).set, 0x3);
}

static void test_gputopo_choose__t07_finds_eight_and_four_of_four_domains(void **state)
{
    struct topology_choice eight = ask_domains(DOMAINS(4, 4, 4, 4), 8, &soft);

    (void)state;
    assert_int_equal(mask_count(eight.set), 8);
    assert_true(eight.score_0_100 > 0);
    assert_int_equal(ask_domains(DOMAINS(4, 4, 4, 4), 4, &soft).tier, TIER_NUMA);
}

static void test_gputopo_choose__t08_finds_ten_of_uneven_domains_exactly(void **state)
{
    struct topology_rule wide = hard_up_to(TIER_CROSS);
    struct topology_choice choice = ask_domains(DOMAINS(8, 6, 4, 2), 10, &wide);

    (void)state;
    assert_int_equal(mask_count(choice.set), 10);
    assert_true(choice.score_0_100 > 0);
    assert_true(choice.satisfied);
    assert_false(choice.degraded);
}

static void test_gputopo_choose__t09_takes_six_of_one_domain(void **state)
{
    struct topology_rule wide = hard_up_to(TIER_CROSS);
    struct topology_choice choice = ask_domains(DOMAINS(6, 6, 2, 2), 6, &wide);

    (void)state;
    assert_int_equal(choice.tier, TIER_NUMA);
    assert_int_equal(choice.set, 0x3f);
}

static void test_gputopo_choose__t10_auto_uses_what_there_is(void **state)
{
    (void)state;
    assert_int_equal(ask_numa(NUMA(0, 0), 2, 2, &hard).tier, TIER_NUMA);
    assert_int_equal(ask(graph_make(2, NULL, NULL), 2, &hard).tier, TIER_UNKNOWN);
    assert_int_equal(ask(graph_make(0, NULL, NULL), 2, &hard).tier, TIER_UNKNOWN);
    assert_false(ask(graph_make(0, NULL, NULL), 2, &hard).satisfied);
}

/* Departure: TensorFusion gives tier 3 and so refuses single devices in hard mode (W4). */
static void test_gputopo_choose__t11_a_single_device_is_connected_to_itself(void **state)
{
    struct topology_rule rule = hard_up_to(TIER_INTERCONNECT);

    (void)state;
    rule.least_damage = false;
    assert_int_equal(ask(graph_make(1, NULL, NULL), 1, &rule).tier, TIER_INTERCONNECT);
    assert_true(ask(graph_make(1, NULL, NULL), 1, &rule).satisfied);
}

/* Departure in the tier only, as in T11. */
static void test_gputopo_choose__t12_takes_the_device_nobody_knows_about(void **state)
{
    (void)state;
    assert_int_equal(ask_numa(NUMA(0, NO_NUMA), 2, 1, &hard).set, 0x2);
    assert_true(ask_numa(NUMA(0, NO_NUMA), 2, 1, &hard).satisfied);
}

/* T13 asks for 0 devices: here a caller's bug, see the contract. What is left is too few devices.
 */
static void test_gputopo_choose__t13_too_few_devices_give_no_set(void **state)
{
    struct topology_choice choice = ask_numa(NUMA(0, 0), 2, 3, &soft);

    (void)state;
    assert_int_equal(choice.set, 0);
    assert_false(choice.satisfied);
}

static void test_gputopo_choose__t14_one_numa_node_scores_above_two(void **state)
{
    (void)state;
    assert_true(ask_domains(DOMAINS(10), 2, &soft).score_0_100 >
                ask_domains(DOMAINS(1, 1), 2, &soft).score_0_100);
}

static struct link all_near(unsigned a, unsigned b)
{
    (void)a, (void)b;
    return graph_link(TIER_INTERCONNECT, 0);
}

static void test_gputopo_choose__t15_two_of_a_clique_share_the_interconnect(void **state)
{
    (void)state;
    assert_int_equal(ask(graph_make(4, NULL, all_near), 2, &hard).tier, TIER_INTERCONNECT);
}

static struct link pairs_far(unsigned a, unsigned b)
{
    return graph_link(a / 2 == b / 2 ? TIER_INTERCONNECT : TIER_CROSS, 0);
}

static void test_gputopo_choose__t16_two_cliques_of_two(void **state)
{
    (void)state;
    assert_int_equal(ask(graph_make(4, NULL, pairs_far), 2, &hard).tier, TIER_INTERCONNECT);
    assert_int_equal(ask(graph_make(4, NULL, pairs_far), 4, &hard).tier, TIER_CROSS);
}

static struct link three_near(unsigned a, unsigned b)
{
    return a < 3 && b < 3 ? graph_link(TIER_INTERCONNECT, 0) : (struct link){0};
}

static void test_gputopo_choose__t17_takes_the_orphan_beside_a_clique(void **state)
{
    (void)state;
    assert_int_equal(ask(graph_make(4, NULL, three_near), 1, &soft).set, 0x8);
}

static struct link first_two_near(unsigned a, unsigned b)
{
    return a == 0 && b == 1 ? graph_link(TIER_INTERCONNECT, 0) : (struct link){0};
}

static void test_gputopo_choose__t18_missing_peers_fall_back_to_numa(void **state)
{
    struct topology_rule rule = hard_up_to(TIER_UNKNOWN);
    struct topology_choice choice = ask(graph_make(3, NUMA(0, 0, 0), first_two_near), 2, &rule);

    (void)state;
    assert_int_equal(choice.set, 0x3);
    assert_int_equal(choice.tier, TIER_INTERCONNECT);
}

static void test_gputopo_choose__t19_vendor_source_without_links_is_unknown(void **state)
{
    struct topology_rule rule = {.source = SOURCE_VENDOR};

    (void)state;
    assert_int_equal(ask_numa(NUMA(0, 0), 2, 2, &rule).tier, TIER_UNKNOWN);
}

static struct link all_far(unsigned a, unsigned b)
{
    (void)a, (void)b;
    return graph_link(TIER_CROSS, 0);
}

static void test_gputopo_choose__t20_reported_far_pair_is_refused_at_tier_zero(void **state)
{
    struct topology_rule rule = hard_up_to(TIER_INTERCONNECT);

    (void)state;
    assert_false(ask(graph_make(2, NUMA(0, 1), all_far), 2, &rule).satisfied);
}

static struct link quads_far(unsigned a, unsigned b)
{
    return graph_link(a / 4 == b / 4 ? TIER_INTERCONNECT : TIER_CROSS, 0);
}

static void test_gputopo_choose__t21_eight_of_four_quads_are_two_quads(void **state)
{
    (void)state;
    assert_int_equal(ask(graph_make(16, NULL, quads_far), 8, &soft).set, 0xff);
}

static void test_gputopo_choose__t22_links_beat_numa_nodes(void **state)
{
    (void)state;
    assert_int_equal(ask(graph_make(2, NUMA(0, 0), all_near), 2, &hard).tier, TIER_INTERCONNECT);
}

static void test_gputopo_choose__t23_a_link_told_by_one_end_counts(void **state)
{
    struct link link = graph_link(TIER_INTERCONNECT, 0);
    struct peer_graph *graph = peers_new(2);

    (void)state;
    peers_note_link(graph, 0, 1, &link);
    peers_finish(graph);
    assert_int_equal(ask(graph, 2, &hard).tier, TIER_INTERCONNECT);
}

/* Packing comes in as preferences: fuller first, or emptier first. */
static struct topology_choice ask_preferring(struct peer_graph *graph, device_mask idle,
                                             const uint16_t *preference)
{
    struct topology_question question = {.graph = graph,
                                         .candidates = mask_below(graph->n),
                                         .idle = idle,
                                         .count = 2,
                                         .preference = preference};
    struct topology_choice choice;

    gputopo_choose(&question, &soft, NULL, &choice);
    peers_unref(graph);
    return choice;
}

static void test_gputopo_choose__t24_equal_sets_follow_the_packing(void **state)
{
    /* most used, used, idle, less used: free 10, 30, 100, 80 percent */
    static const uint16_t compact[] = {900, 700, 0, 200}, spread[] = {100, 300, 1000, 800};

    (void)state;
    for (unsigned linked = 0; linked < 2; linked++) {
        pair_maker links = linked ? all_near : NULL;

        assert_int_equal(ask_preferring(graph_make(4, NUMA(0, 0, 0, 0), links), 0x4, compact).set,
                         0x3);
        assert_int_equal(ask_preferring(graph_make(4, NUMA(0, 0, 0, 0), links), 0x4, spread).set,
                         0xc);
    }
    assert_int_equal(
        ask_preferring(graph_make(4, NUMA(0, 0, 0, 0), NULL), 0x4, compact).score_0_100, 71);
}

static void test_gputopo_choose__t25_topology_comes_before_packing(void **state)
{
    static const uint16_t compact[] = {900, 900, 0, 0};
    struct topology_choice choice =
        ask_preferring(graph_make(4, NUMA(0, 1, 2, 2), NULL), 0xc, compact);

    (void)state;
    assert_int_equal(choice.set, 0xc);
    assert_int_equal(choice.tier, TIER_NUMA);
}

/* Departure W6: max tier 0 is a value like any other; TensorFusion's configuration reads it as 1.
 */
static void test_gputopo_choose__t27_max_tier_zero_refuses_one_numa_node(void **state)
{
    struct topology_rule rule = hard_up_to(TIER_INTERCONNECT);

    (void)state;
    assert_false(ask_numa(NUMA(0, 0), 2, 2, &rule).satisfied);
}

static void test_gputopo_choose__t28_hard_mode_tells_nodes_apart(void **state)
{
    (void)state;
    assert_true(ask_numa(NUMA(0, 0), 2, 2, &hard).satisfied);
    assert_false(ask_numa(NUMA(0, 1), 2, 2, &hard).satisfied);
}

static struct link all_one_numa(unsigned a, unsigned b)
{
    (void)a, (void)b;
    return graph_link(TIER_NUMA, 0);
}

static void test_gputopo_choose__t30_bands_of_scores_do_not_overlap(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 16; n++) {
        static const struct {
            pair_maker links;
            unsigned lowest, highest;
        } bands[] = {{all_near, 75, 99}, {all_one_numa, 50, 74}, {all_far, 25, 49}, {NULL, 0, 24}};

        for (size_t i = 0; i < ARRAY_LEN(bands); i++)
            assert_in_range(ask(graph_make(n, NULL, bands[i].links), 2, &soft).score_0_100,
                            bands[i].lowest, bands[i].highest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gputopo_choose__t01_takes_two_of_one_numa_node),
        cmocka_unit_test(test_gputopo_choose__t02_refuses_two_across_nodes_unless_allowed),
        cmocka_unit_test(test_gputopo_choose__t03_takes_the_lone_device_for_a_single),
        cmocka_unit_test(test_gputopo_choose__t04_takes_the_first_without_least_damage),
        cmocka_unit_test(test_gputopo_choose__t05_unknown_pairs_need_max_tier_unknown),
        cmocka_unit_test(test_gputopo_choose__t06_takes_the_tight_pair_and_keeps_the_four),
        cmocka_unit_test(test_gputopo_choose__t07_finds_eight_and_four_of_four_domains),
        cmocka_unit_test(test_gputopo_choose__t08_finds_ten_of_uneven_domains_exactly),
        cmocka_unit_test(test_gputopo_choose__t09_takes_six_of_one_domain),
        cmocka_unit_test(test_gputopo_choose__t10_auto_uses_what_there_is),
        cmocka_unit_test(test_gputopo_choose__t11_a_single_device_is_connected_to_itself),
        cmocka_unit_test(test_gputopo_choose__t12_takes_the_device_nobody_knows_about),
        cmocka_unit_test(test_gputopo_choose__t13_too_few_devices_give_no_set),
        cmocka_unit_test(test_gputopo_choose__t14_one_numa_node_scores_above_two),
        cmocka_unit_test(test_gputopo_choose__t15_two_of_a_clique_share_the_interconnect),
        cmocka_unit_test(test_gputopo_choose__t16_two_cliques_of_two),
        cmocka_unit_test(test_gputopo_choose__t17_takes_the_orphan_beside_a_clique),
        cmocka_unit_test(test_gputopo_choose__t18_missing_peers_fall_back_to_numa),
        cmocka_unit_test(test_gputopo_choose__t19_vendor_source_without_links_is_unknown),
        cmocka_unit_test(test_gputopo_choose__t20_reported_far_pair_is_refused_at_tier_zero),
        cmocka_unit_test(test_gputopo_choose__t21_eight_of_four_quads_are_two_quads),
        cmocka_unit_test(test_gputopo_choose__t22_links_beat_numa_nodes),
        cmocka_unit_test(test_gputopo_choose__t23_a_link_told_by_one_end_counts),
        cmocka_unit_test(test_gputopo_choose__t24_equal_sets_follow_the_packing),
        cmocka_unit_test(test_gputopo_choose__t25_topology_comes_before_packing),
        cmocka_unit_test(test_gputopo_choose__t27_max_tier_zero_refuses_one_numa_node),
        cmocka_unit_test(test_gputopo_choose__t28_hard_mode_tells_nodes_apart),
        cmocka_unit_test(test_gputopo_choose__t30_bands_of_scores_do_not_overlap),
    };

    return cmocka_run_group_tests_name("gputopo_tensorfusion", tests, NULL, NULL);
}
