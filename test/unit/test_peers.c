/* SPDX-License-Identifier: Apache-2.0 */
#include "support/peer_graphs.h"
#include "support/test.h"

#include "topofit/peers.h"

static void test_mask_count__counts_every_bit(void **state)
{
    device_mask mask = 0;

    (void)state;
    for (unsigned i = 0; i < DEVICE_MAX; i++) {
        assert_int_equal(mask_count(mask), i);
        mask |= mask_of(i * 37 % DEVICE_MAX);
    }
    assert_int_equal(mask_count(mask), DEVICE_MAX);
}

static void test_mask_lowest__takes_the_lowest_bits_and_no_more_than_there_are(void **state)
{
    (void)state;
    assert_int_equal(mask_lowest(0xb4, 0), 0);
    assert_int_equal(mask_lowest(0xb4, 2), 0x14);
    assert_int_equal(mask_lowest(0xb4, 9), 0xb4);
    assert_true(mask_below(DEVICE_MAX) == ~(device_mask)0);
}

static void test_tier_name__names_every_tier(void **state)
{
    static const char *const names[] = {"interconnect", "numa", "cross", "unknown"};

    (void)state;
    for (unsigned tier = 0; tier < TIER_COUNT; tier++)
        assert_string_equal(tier_name(tier), names[tier]);
}

static void test_peers_new__knows_nothing(void **state)
{
    struct peer_graph *graph = graph_make(3, NULL, NULL);

    (void)state;
    assert_false(graph->has_links);
    assert_false(graph->has_numa);
    for (unsigned source = 0; source < SOURCE_COUNT; source++) {
        assert_int_equal(peers_tier(graph, source, 0, 2), TIER_UNKNOWN);
        assert_int_equal(peers_tier(graph, source, 1, 1), TIER_INTERCONNECT);
    }
    assert_string_equal(peers_link(graph, 0, 1)->name, "");
    peers_unref(graph);
}

static void test_peers_new__may_have_no_devices(void **state)
{
    struct peer_graph *graph = graph_make(0, NULL, NULL);

    (void)state;
    assert_int_equal(graph->n, 0);
    peers_unref(graph);
}

/* F17, T23: a report from one end counts for both, whichever end it is. */
static void test_peers_note_link__from_one_end_counts_for_both(void **state)
{
    struct link link = graph_link(TIER_INTERCONNECT, 50);

    (void)state;
    for (unsigned end = 0; end < 2; end++) {
        struct peer_graph *graph = peers_new(2);

        peers_note_link(graph, end, 1 - end, &link);
        peers_finish(graph);
        assert_int_equal(peers_tier(graph, SOURCE_AUTO, 0, 1), TIER_INTERCONNECT);
        assert_int_equal(peers_tier(graph, SOURCE_AUTO, 1, 0), TIER_INTERCONNECT);
        assert_int_equal(peers_link(graph, 0, 1)->gbps, 50);
        assert_int_equal(peers_link(graph, 1, 0)->gbps, 50);
        peers_unref(graph);
    }
}

static void test_peers_note_link__better_tier_and_higher_bandwidth_win_in_any_order(void **state)
{
    struct link reports[2] = {{.name = "NV4", .tier = TIER_INTERCONNECT, .gbps = 0},
                              {.name = "SYS", .tier = TIER_CROSS, .gbps = 12}};

    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        struct peer_graph *graph = peers_new(2);

        peers_note_link(graph, 0, 1, &reports[first]);
        peers_note_link(graph, 1, 0, &reports[1 - first]);
        peers_finish(graph);
        assert_int_equal(peers_link(graph, 0, 1)->tier, TIER_INTERCONNECT);
        assert_int_equal(peers_link(graph, 1, 0)->gbps, 12);
        assert_string_equal(peers_link(graph, 1, 0)->name, "NV4");
        peers_unref(graph);
    }
}

static void test_peers_note_link__ignores_what_a_device_says_of_itself(void **state)
{
    struct link link = graph_link(TIER_CROSS, 12);
    struct peer_graph *graph = peers_new(2);

    (void)state;
    peers_note_link(graph, 1, 1, &link);
    peers_finish(graph);
    assert_int_equal(peers_tier(graph, SOURCE_VENDOR, 1, 1), TIER_INTERCONNECT);
    assert_false(graph->has_links);
    peers_unref(graph);
}

static void test_peers_set_numa__takes_impossible_ids_as_unknown(void **state)
{
    static const int ids[] = {-1, -7, 100000};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct peer_graph *graph = graph_make(1, &ids[i], NULL);

        assert_int_equal(graph->numa[0], NUMA_UNKNOWN);
        assert_false(graph->has_numa);
        peers_unref(graph);
    }
}

/* What each source makes of the two facts about a pair. */
static void test_peers_finish__derives_one_tier_for_each_source(void **state)
{
    static const struct {
        enum tier link; /* TIER_UNKNOWN: not reported */
        int numa[2];
        enum tier automatic, vendor, numa_tier;
    } cases[] = {
        {TIER_INTERCONNECT, {0, 1}, TIER_INTERCONNECT, TIER_INTERCONNECT, TIER_CROSS},
        {TIER_INTERCONNECT, {0, 0}, TIER_INTERCONNECT, TIER_INTERCONNECT, TIER_NUMA},
        {TIER_NUMA, {0, 1}, TIER_NUMA, TIER_NUMA, TIER_CROSS},    /* NODE across NUMA ids */
        {TIER_CROSS, {0, 0}, TIER_NUMA, TIER_CROSS, TIER_NUMA},   /* SYS within a socket */
        {TIER_CROSS, {0, 1}, TIER_CROSS, TIER_CROSS, TIER_CROSS}, /* T20 */
        {TIER_CROSS, {0, NO_NUMA}, TIER_CROSS, TIER_CROSS, TIER_UNKNOWN},
        {TIER_UNKNOWN, {2, 2}, TIER_NUMA, TIER_UNKNOWN, TIER_NUMA}, /* T18 */
        {TIER_UNKNOWN, {2, NO_NUMA}, TIER_UNKNOWN, TIER_UNKNOWN, TIER_UNKNOWN},
        {TIER_UNKNOWN, {NO_NUMA, NO_NUMA}, TIER_UNKNOWN, TIER_UNKNOWN, TIER_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct link link = graph_link(cases[i].link, 0);
        struct peer_graph *graph = peers_new(2);

        peers_set_numa(graph, 0, cases[i].numa[0]);
        peers_set_numa(graph, 1, cases[i].numa[1]);
        peers_note_link(graph, 0, 1, &link);
        peers_finish(graph);
        assert_int_equal(peers_tier(graph, SOURCE_AUTO, 0, 1), cases[i].automatic);
        assert_int_equal(peers_tier(graph, SOURCE_VENDOR, 1, 0), cases[i].vendor);
        assert_int_equal(peers_tier(graph, SOURCE_NUMA, 0, 1), cases[i].numa_tier);
        peers_unref(graph);
    }
}

static struct link near_chain(unsigned a, unsigned b)
{
    return b - a == 1 ? graph_link(TIER_INTERCONNECT, 50) : (struct link){0};
}

static void test_peers_finish__does_not_take_links_as_transitive(void **state)
{
    struct peer_graph *graph = graph_make(3, NULL, near_chain);

    (void)state;
    assert_true(graph->has_links);
    assert_int_equal(peers_tier(graph, SOURCE_AUTO, 0, 1), TIER_INTERCONNECT);
    assert_int_equal(peers_tier(graph, SOURCE_AUTO, 0, 2), TIER_UNKNOWN);
    peers_unref(graph);
}

static void test_peers_equal__sees_every_difference(void **state)
{
    static const int numa[] = {0, 0, 1}, other_numa[] = {0, 1, 1};
    struct peer_graph *graph = graph_make(3, numa, near_chain);
    struct peer_graph *same = graph_make(3, numa, near_chain);
    struct peer_graph *others[] = {
        graph_make(2, numa, near_chain),
        graph_make(3, other_numa, near_chain),
        graph_make(3, numa, NULL),
    };

    (void)state;
    assert_true(peers_equal(graph, same));
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_false(peers_equal(graph, others[i]));
        peers_unref(others[i]);
    }
    peers_unref(graph);
    peers_unref(same);
}

static void test_peers_unref__keeps_the_graph_until_the_last_reference(void **state)
{
    struct peer_graph *graph = graph_make(2, NULL, near_chain);

    (void)state;
    assert_ptr_equal(peers_ref(graph), graph);
    peers_unref(graph);
    assert_int_equal(peers_link(graph, 0, 1)->gbps, 50);
    peers_unref(graph);
    peers_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mask_count__counts_every_bit),
        cmocka_unit_test(test_mask_lowest__takes_the_lowest_bits_and_no_more_than_there_are),
        cmocka_unit_test(test_tier_name__names_every_tier),
        cmocka_unit_test(test_peers_new__knows_nothing),
        cmocka_unit_test(test_peers_new__may_have_no_devices),
        cmocka_unit_test(test_peers_note_link__from_one_end_counts_for_both),
        cmocka_unit_test(test_peers_note_link__better_tier_and_higher_bandwidth_win_in_any_order),
        cmocka_unit_test(test_peers_note_link__ignores_what_a_device_says_of_itself),
        cmocka_unit_test(test_peers_set_numa__takes_impossible_ids_as_unknown),
        cmocka_unit_test(test_peers_finish__derives_one_tier_for_each_source),
        cmocka_unit_test(test_peers_finish__does_not_take_links_as_transitive),
        cmocka_unit_test(test_peers_equal__sees_every_difference),
        cmocka_unit_test(test_peers_unref__keeps_the_graph_until_the_last_reference),
    };

    return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
