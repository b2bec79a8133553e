/* SPDX-License-Identifier: Apache-2.0 */
#include "support/peer_graphs.h"
#include "support/test.h"

#include "topofit/gputopo.h"

static const struct topology_rule soft = {.max_tier = TIER_NUMA, .least_damage = true};

static struct link all_near(unsigned a, unsigned b)
{
    (void)a, (void)b;
    return graph_link(TIER_INTERCONNECT, 100);
}

static struct link quads_far(unsigned a, unsigned b)
{
    return a / 4 == b / 4 ? graph_link(TIER_INTERCONNECT, 100) : graph_link(TIER_CROSS, 10);
}

static struct topology_question question_of(const struct peer_graph *graph, unsigned count)
{
    device_mask all = mask_below(graph->n);

    return (struct topology_question){
        .graph = graph, .candidates = all, .idle = all, .count = count};
}

static struct topology_choice choose(const struct topology_question *question)
{
    struct topology_choice choice;

    gputopo_choose(question, &soft, NULL, &choice);
    return choice;
}

/* --- rules
 * ---------------------------------------------------------------------------------------------- */

static void test_gputopo_choose__satisfies_a_rule_by_mode_tier_and_policy(void **state)
{
    static const struct {
        enum topology_mode mode;
        enum tier max_tier;
        enum unknown_topology unknown;
        const int numa[2];
        bool satisfied;
    } cases[] = {
        {TOPOLOGY_SOFT, TIER_INTERCONNECT, UNKNOWN_REJECT, {NO_NUMA, NO_NUMA}, true},
        {TOPOLOGY_HARD, TIER_INTERCONNECT, UNKNOWN_AS_WORST, {0, 0}, false},
        {TOPOLOGY_HARD, TIER_NUMA, UNKNOWN_AS_WORST, {0, 0}, true},
        {TOPOLOGY_HARD, TIER_NUMA, UNKNOWN_AS_WORST, {0, 1}, false},
        {TOPOLOGY_HARD, TIER_CROSS, UNKNOWN_AS_WORST, {0, 1}, true},
        {TOPOLOGY_HARD, TIER_CROSS, UNKNOWN_AS_WORST, {0, NO_NUMA}, false},
        {TOPOLOGY_HARD, TIER_UNKNOWN, UNKNOWN_AS_WORST, {0, NO_NUMA}, true},
        {TOPOLOGY_HARD, TIER_UNKNOWN, UNKNOWN_REJECT, {0, NO_NUMA}, false},
        {TOPOLOGY_HARD, TIER_UNKNOWN, UNKNOWN_REJECT, {0, 1}, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct topology_rule rule = {
            .mode = cases[i].mode, .max_tier = cases[i].max_tier, .unknown = cases[i].unknown};
        struct peer_graph *graph = graph_make(2, cases[i].numa, NULL);
        struct topology_question question = question_of(graph, 2);
        struct topology_choice choice;

        gputopo_choose(&question, &rule, NULL, &choice);
        assert_int_equal(choice.satisfied, cases[i].satisfied);
        assert_int_equal(choice.set, 0x3); /* the best set is there all the same */
        peers_unref(graph);
    }
}

static void test_gputopo_choose__source_says_which_facts_count(void **state)
{
    static const int numa[] = {0, 1, 0, 1};
    struct peer_graph *graph = graph_make(4, numa, quads_far); /* one quad, two NUMA nodes */
    struct topology_question question = question_of(graph, 2);
    static const struct {
        enum topology_source source;
        enum tier tier;
        device_mask set;
        unsigned gbps;
    } cases[] = {{SOURCE_AUTO, TIER_INTERCONNECT, 0x5, 100},
                 {SOURCE_VENDOR, TIER_INTERCONNECT, 0x3, 100},
                 {SOURCE_NUMA, TIER_NUMA, 0x5, 0}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct topology_rule rule = {.source = cases[i].source};
        struct topology_choice choice;

        gputopo_choose(&question, &rule, NULL, &choice);
        assert_int_equal(choice.tier, cases[i].tier);
        assert_int_equal(choice.set, cases[i].set);
        assert_int_equal(choice.bottleneck_gbps, cases[i].gbps);
    }
    peers_unref(graph);
}

/* --- sets
 * ------------------------------------------------------------------------------------------------
 */

static void test_gputopo_choose__keeps_required_devices_even_at_a_cost(void **state)
{
    struct peer_graph *graph = graph_make(8, NULL, quads_far);
    struct topology_question question = question_of(graph, 4);
    struct topology_choice choice;

    (void)state;
    question.required = 0x10;
    assert_int_equal(choose(&question).set, 0xf0);
    question.required = 0x11;
    choice = choose(&question);
    assert_int_equal(choice.set & 0x11, 0x11);
    assert_int_equal(choice.tier, TIER_CROSS);
    question.required = 0x1f;
    assert_int_equal(choose(&question).set, 0);
    question.count = 1;
    question.required = 0x20;
    assert_int_equal(choose(&question).set, 0x20);
    peers_unref(graph);
}

static void test_gputopo_choose__leaves_out_what_is_no_candidate(void **state)
{
    struct peer_graph *graph = graph_make(8, NULL, quads_far);
    struct topology_question question = question_of(graph, 4);

    (void)state;
    question.candidates = 0xfe;
    assert_int_equal(choose(&question).set, 0xf0);
    peers_unref(graph);
}

/* The quads are equal, but one of the other's devices is in use: that one has less to lose. */
static void test_gputopo_choose__takes_the_pair_that_leaves_more_groups(void **state)
{
    struct peer_graph *graph = graph_make(8, NULL, quads_far);
    struct topology_question question = question_of(graph, 2);

    (void)state;
    question.candidates = question.idle = 0xef;
    assert_int_equal(choose(&question).set, 0x60);
    peers_unref(graph);
}

static void test_gputopo_choose__devices_in_use_form_no_groups_later(void **state)
{
    struct peer_graph *graph = graph_make(8, NULL, quads_far);
    struct topology_question question = question_of(graph, 2);

    (void)state;
    question.idle = 0x0f; /* the second quad is shared by others already */
    assert_int_equal(choose(&question).set, 0x30);
    question.count = 1;
    assert_int_equal(choose(&question).set, 0x10);
    peers_unref(graph);
}

/*
 * Without 6 (x) the rest has two fast pairs and no third; without 2 (y) one fast pair and two
 * slower ones. Fast groups count first.
 */
static struct link fast_or_many(unsigned a, unsigned b)
{
    if ((a == 0 && b == 1) || (a == 2 && b == 3))
        return graph_link(TIER_INTERCONNECT, 10);
    if ((a == 4 && b == 6) || (a == 3 && b == 5))
        return graph_link(TIER_NUMA, 50);
    return graph_link(TIER_CROSS, 10);
}

static void test_gputopo_choose__counts_fast_groups_before_slower_ones(void **state)
{
    static const uint16_t only_2_and_6[] = {0, 0, 1, 0, 0, 0, 1};
    struct peer_graph *graph = graph_make(7, NULL, fast_or_many);
    struct topology_question question = question_of(graph, 1);

    (void)state;
    question.preference = only_2_and_6;
    question.preference_first = true;
    assert_int_equal(choose(&question).set, mask_of(6));
    peers_unref(graph);
}

static void test_gputopo_choose__settles_what_is_equal_by_preference_then_position(void **state)
{
    uint16_t preference[8] = {0, 0, 0, 0, 0, 3, 0, 3};
    struct peer_graph *graph = graph_make(8, NULL, all_near);
    struct topology_question question = question_of(graph, 2);

    (void)state;
    assert_int_equal(choose(&question).set, 0x3);
    question.preference = preference;
    assert_int_equal(choose(&question).set, 0xa0);
    question.count = 3;
    assert_int_equal(choose(&question).set, 0xa1);
    peers_unref(graph);
}

static void test_gputopo_choose__is_exact_and_quick_on_64_devices(void **state)
{
    struct peer_graph *graph = graph_make(DEVICE_MAX, NULL, quads_far);

    (void)state;
    for (unsigned count = 1; count <= DEVICE_MAX; count++) {
        struct topology_question question = question_of(graph, count);
        struct topology_choice choice = choose(&question);

        assert_int_equal(mask_count(choice.set), count);
        assert_int_equal(choice.tier, count <= 4 ? TIER_INTERCONNECT : TIER_CROSS);
        if (count <= 8)
            assert_false(choice.degraded);
    }
    peers_unref(graph);
}

static struct link scrambled(unsigned a, unsigned b)
{
    unsigned bits = (a * 2654435761u ^ b * 2246822519u) >> 13;

    return graph_link(bits % 3, (uint16_t)(bits % 50));
}

static void test_gputopo_choose__says_when_the_search_was_cut_short(void **state)
{
    struct peer_graph *graph = graph_make(DEVICE_MAX, NULL, scrambled);
    struct topology_question question = question_of(graph, 30);
    struct topology_choice first = choose(&question), second = choose(&question);

    (void)state;
    assert_true(first.degraded);
    assert_int_equal(mask_count(first.set), 30);
    assert_true(first.set == second.set);
    peers_unref(graph);
}

/* --- single devices
 * --------------------------------------------------------------------------------------- */

static void
test_gputopo_choose__f16_spread_takes_the_emptiest_device_whatever_its_node(void **state)
{
    static const int numa[] = {0, 0, 1, 1};
    static const uint16_t spread[] = {100, 300, 700, 900}, binpack[] = {900, 700, 300, 100};
    struct peer_graph *graph = graph_make(4, numa, NULL);
    struct topology_question question = question_of(graph, 1);

    (void)state;
    question.idle = 0;
    question.preference = spread;
    question.preference_first = true;
    assert_int_equal(choose(&question).set, 0x8);
    question.preference = binpack;
    question.preference_first = false;
    assert_int_equal(choose(&question).set, 0x1);
    peers_unref(graph);
}

static void test_gputopo_choose__preference_first_comes_before_damage(void **state)
{
    static const int numa[] = {0, 0, 1};
    static const uint16_t preference[] = {5, 0, 0};
    struct peer_graph *graph = graph_make(3, numa, NULL);
    struct topology_question question = question_of(graph, 1);

    (void)state;
    question.preference = preference;
    assert_int_equal(choose(&question).set, 0x4);
    question.preference_first = true;
    assert_int_equal(choose(&question).set, 0x1);
    peers_unref(graph);
}

static void test_gputopo_choose__takes_singles_from_the_domain_that_loses_no_group(void **state)
{
    static const struct {
        unsigned sizes[5];
        device_mask set;
    } cases[] = {
        {{4, 1}, 0x10},     /* alone: in no group */
        {{4, 3}, 0x10},     /* three form one pair with or without it */
        {{8, 4}, 0x100},    /* a four is less than an eight */
        {{4, 4, 2}, 0x100}, /* a pair is less than a four */
        {{5, 4}, 0x1},      /* the fifth is one too many */
        {{2, 2}, 0x1},      /* no difference: position */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct peer_graph *graph = graph_numa_domains(cases[i].sizes);
        struct topology_question question = question_of(graph, 1);

        assert_int_equal(choose(&question).set, cases[i].set);
        peers_unref(graph);
    }
}

/* --- quality
 * -----------------------------------------------------------------------------------------------
 */

static struct link fast_then_slow(unsigned a, unsigned b)
{
    return graph_link(TIER_INTERCONNECT, a < 2 && b < 2 ? 100 : 50);
}

static void test_gputopo_quality__is_the_share_of_the_best_bottleneck(void **state)
{
    struct peer_graph *graph = graph_make(4, NULL, fast_then_slow);
    struct topology_question question = question_of(graph, 2);
    struct topology_choice choice = choose(&question);

    (void)state;
    assert_int_equal(gputopo_quality(graph, &soft, &choice, 2, NULL), 100);
    question.candidates = 0xe;
    choice = choose(&question);
    assert_int_equal(gputopo_quality(graph, &soft, &choice, 2, NULL), 50);
    peers_unref(graph);
}

static void test_gputopo_quality__is_nothing_for_a_worse_tier_and_no_set(void **state)
{
    struct peer_graph *graph = graph_make(8, NULL, quads_far);
    struct topology_question question = question_of(graph, 2);
    struct topology_choice choice;

    (void)state;
    question.candidates = 0x11;
    choice = choose(&question);
    assert_int_equal(gputopo_quality(graph, &soft, &choice, 2, NULL), 0);
    question.count = 3;
    choice = choose(&question);
    assert_int_equal(gputopo_quality(graph, &soft, &choice, 3, NULL), 0);
    peers_unref(graph);
}

static void test_gputopo_quality__is_full_for_one_device_and_without_bandwidths(void **state)
{
    static const int numa[] = {0, 0};
    struct peer_graph *graph = graph_make(2, numa, NULL);

    (void)state;
    for (unsigned count = 1; count <= 2; count++) {
        struct topology_question question = question_of(graph, count);
        struct topology_choice choice = choose(&question);

        assert_int_equal(gputopo_quality(graph, &soft, &choice, count, NULL), 100);
    }
    peers_unref(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gputopo_choose__satisfies_a_rule_by_mode_tier_and_policy),
        cmocka_unit_test(test_gputopo_choose__source_says_which_facts_count),
        cmocka_unit_test(test_gputopo_choose__keeps_required_devices_even_at_a_cost),
        cmocka_unit_test(test_gputopo_choose__leaves_out_what_is_no_candidate),
        cmocka_unit_test(test_gputopo_choose__takes_the_pair_that_leaves_more_groups),
        cmocka_unit_test(test_gputopo_choose__devices_in_use_form_no_groups_later),
        cmocka_unit_test(test_gputopo_choose__counts_fast_groups_before_slower_ones),
        cmocka_unit_test(test_gputopo_choose__settles_what_is_equal_by_preference_then_position),
        cmocka_unit_test(test_gputopo_choose__is_exact_and_quick_on_64_devices),
        cmocka_unit_test(test_gputopo_choose__says_when_the_search_was_cut_short),
        cmocka_unit_test(
            test_gputopo_choose__f16_spread_takes_the_emptiest_device_whatever_its_node),
        cmocka_unit_test(test_gputopo_choose__preference_first_comes_before_damage),
        cmocka_unit_test(test_gputopo_choose__takes_singles_from_the_domain_that_loses_no_group),
        cmocka_unit_test(test_gputopo_quality__is_the_share_of_the_best_bottleneck),
        cmocka_unit_test(test_gputopo_quality__is_nothing_for_a_worse_tier_and_no_set),
        cmocka_unit_test(test_gputopo_quality__is_full_for_one_device_and_without_bandwidths),
    };

    return cmocka_run_group_tests_name("gputopo", tests, NULL, NULL);
}
