/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hard question may cost, and what its answer may claim. Work is counted in steps, so these
 * tests say the same on every machine.
 */
#include "support/peer_graphs.h"
#include "support/test.h"

#include "topofit/gputopo.h"

#include <time.h>

/* Steps of one choice among 16 devices, where nothing is cut short. */
#define EXACT_STEPS_MAX 300000

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void note(struct peer_graph *graph, unsigned a, unsigned b, enum tier tier)
{
    struct link link = graph_link(tier, 0);

    peers_note_link(graph, a, b, &link);
}

/* Pairs are near with a chance in percent; the members of a planted group always are. */
static struct peer_graph *random_graph(unsigned n, unsigned percent, device_mask planted,
                                       uint64_t seed)
{
    struct peer_graph *graph = peers_new(n);

    for (unsigned a = 0; a < n; a++) {
        for (unsigned b = a + 1; b < n; b++) {
            bool near = next_random(&seed) % 100 < percent;

            near |= mask_has(planted, a) && mask_has(planted, b);
            note(graph, a, b, near ? TIER_INTERCONNECT : TIER_CROSS);
        }
    }
    peers_finish(graph);
    return graph;
}

/* All devices near each other, but for some broken links. */
static struct peer_graph *broken_graph(unsigned n, unsigned broken, uint64_t seed)
{
    bool near[DEVICE_MAX][DEVICE_MAX];
    struct peer_graph *graph = peers_new(n);

    memset(near, true, sizeof(near));
    while (broken > 0) {
        unsigned a = next_random(&seed) % n, b = next_random(&seed) % n;

        if (a >= b || !near[a][b])
            continue;
        near[a][b] = false;
        broken--;
    }
    for (unsigned a = 0; a < n; a++) {
        for (unsigned b = a + 1; b < n; b++)
            note(graph, a, b, near[a][b] ? TIER_INTERCONNECT : TIER_CROSS);
    }
    peers_finish(graph);
    return graph;
}

static device_mask scattered(unsigned n, unsigned count, uint64_t seed)
{
    device_mask mask = 0;

    while (mask_count(mask) < count)
        mask |= mask_of(next_random(&seed) % n);
    return mask;
}

static struct topology_choice choose(const struct peer_graph *graph, unsigned count,
                                     enum topology_mode mode)
{
    device_mask all = mask_below(graph->n);
    struct topology_question question = {
        .graph = graph, .candidates = all, .idle = all, .count = count};
    struct topology_rule rule = {.mode = mode, .max_tier = TIER_INTERCONNECT, .least_damage = true};
    struct topology_choice choice;

    gputopo_choose(&question, &rule, NULL, &choice);
    return choice;
}

/* --- work --------------------------------------------------------------------------------------
 */

static void test_gputopo_choose__work_is_bounded_where_few_links_of_64_are_broken(void **state)
{
    (void)state;
    for (unsigned broken = 16; broken <= 32; broken += 4) {
        struct peer_graph *graph = broken_graph(DEVICE_MAX, broken, broken);

        for (unsigned count = 1; count <= 8; count++)
            assert_in_range(choose(graph, count, TOPOLOGY_SOFT).steps, 1, GPUTOPO_STEPS_MAX);
        peers_unref(graph);
    }
}

static void test_gputopo_choose__work_is_bounded_on_64_devices_of_any_density(void **state)
{
    static const unsigned counts[] = {1, 2, 4, 8, 16, 20, 32, 48, 64};

    (void)state;
    for (unsigned percent = 10; percent < 100; percent += 15) {
        struct peer_graph *graph = random_graph(DEVICE_MAX, percent, 0, percent);

        for (size_t i = 0; i < ARRAY_LEN(counts); i++)
            assert_in_range(choose(graph, counts[i], TOPOLOGY_SOFT).steps, 0, GPUTOPO_STEPS_MAX);
        peers_unref(graph);
    }
}

static void test_gputopo_choose__exact_work_stays_small_on_16_devices(void **state)
{
    (void)state;
    for (unsigned percent = 50; percent < 100; percent++) {
        struct peer_graph *graph = random_graph(16, percent, 0, percent);

        for (unsigned count = 1; count <= 16; count++) {
            struct topology_choice choice = choose(graph, count, TOPOLOGY_SOFT);

            assert_false(choice.degraded);
            assert_in_range(choice.steps, 0, EXACT_STEPS_MAX);
        }
        peers_unref(graph);
    }
}

/* 54 and 55 have three near ones each and share one: a search for groups of both is a long one. */
static bool is_rival_pair(unsigned a, unsigned b)
{
    static const device_mask near[] = {(device_mask)0x7 << 51, (device_mask)0x13 << 49};

    if (a == 54 || a == 55)
        return true;
    return (b == 54 || b == 55) && !mask_has(near[b - 54], a);
}

/*
 * 60..63 are a ring of fast links, and each has a still faster one to a bait, 56..59: who always
 * takes the fastest link misses the ring. On the way there are many equal sets, which are told
 * apart by the groups that they leave.
 */
static struct peer_graph *baited_ring(void)
{
    struct peer_graph *graph = peers_new(DEVICE_MAX);

    for (unsigned a = 0; a < DEVICE_MAX; a++) {
        for (unsigned b = a + 1; b < DEVICE_MAX; b++) {
            struct link link = graph_link(TIER_INTERCONNECT, 10);

            if (is_rival_pair(a, b))
                link.tier = TIER_CROSS;
            else if (a >= 56 && b == a + 4)
                link.gbps = 30;
            else if (a >= 60 && b - a != 2)
                link.gbps = 25;
            peers_note_link(graph, a, b, &link);
        }
    }
    peers_finish(graph);
    return graph;
}

static void test_gputopo_choose__ties_do_not_starve_the_search_for_a_better_set(void **state)
{
    struct peer_graph *graph = baited_ring();
    struct topology_choice choice = choose(graph, 4, TOPOLOGY_SOFT);

    (void)state;
    assert_true(choice.set == (device_mask)0xf << 60);
    assert_int_equal(choice.total_gbps, 4 * 25 + 2 * 10);
    peers_unref(graph);
}

static uint64_t cpu_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* What spends no step is seen only so: processor time, with a hundredfold margin. */
static void test_gputopo_choose__no_work_goes_uncounted(void **state)
{
    (void)state;
    for (unsigned broken = 16; broken <= 24; broken += 4) {
        struct peer_graph *graph = broken_graph(DEVICE_MAX, broken, 3);

        for (unsigned count = 4; count <= 8; count += 4) {
            uint64_t start = cpu_ms();

            choose(graph, count, TOPOLOGY_SOFT);
            assert_in_range(cpu_ms() - start, 0, 1000);
        }
        peers_unref(graph);
    }
}

/* --- claims ------------------------------------------------------------------------------------
 */

static void test_gputopo_choose__finds_planted_groups_or_says_that_it_gave_up(void **state)
{
    unsigned found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        device_mask planted = scattered(DEVICE_MAX, 20, seed);
        struct peer_graph *graph = random_graph(DEVICE_MAX, 85, planted, seed);
        struct topology_choice choice = choose(graph, 20, TOPOLOGY_HARD);

        assert_int_equal(mask_count(choice.set), 20);
        assert_true(choice.satisfied || choice.degraded);
        assert_int_equal(choice.satisfied, choice.tier == TIER_INTERCONNECT);
        found += choice.satisfied;
        peers_unref(graph);
    }
    assert_int_equal(found, 40);
}

static void test_gputopo_choose__refuses_for_certain_what_cannot_be(void **state)
{
    /* 8 domains of 8: no nine are near each other, and that is quickly known. */
    struct peer_graph *graph = peers_new(DEVICE_MAX);
    struct topology_choice choice;

    (void)state;
    for (unsigned a = 0; a < DEVICE_MAX; a++) {
        for (unsigned b = a + 1; b < DEVICE_MAX; b++)
            note(graph, a, b, a / 8 == b / 8 ? TIER_INTERCONNECT : TIER_CROSS);
    }
    peers_finish(graph);
    choice = choose(graph, 8, TOPOLOGY_HARD);
    assert_true(choice.satisfied);
    choice = choose(graph, 9, TOPOLOGY_HARD);
    assert_false(choice.satisfied);
    assert_false(choice.degraded);
    peers_unref(graph);
}

/* Nobody knows by search whether so dense a graph holds so large a group. */
static void
test_gputopo_choose__a_set_of_the_best_tier_alone_costs_little_more_than_nothing(void **state)
{
    (void)state;
    for (unsigned count = 2; count <= 16; count += 2) {
        struct peer_graph *graph = random_graph(64, 50, 0, count);
        device_mask all = mask_below(graph->n);
        struct topology_question question = {
            .graph = graph, .candidates = all, .idle = all, .count = count, .tier_only = true};
        struct topology_rule rule = {.mode = TOPOLOGY_HARD, .max_tier = TIER_INTERCONNECT};
        struct topology_choice whole = choose(graph, count, TOPOLOGY_HARD), any;

        gputopo_choose(&question, &rule, NULL, &any);
        assert_int_equal(any.tier, whole.tier);
        assert_int_equal(any.satisfied, whole.satisfied);
        assert_int_equal(mask_count(any.set), count);
        assert_true(any.steps <= whole.steps);
        question.hurried = true;
        gputopo_choose(&question, &rule, NULL, &any);
        assert_true(any.tier >= whole.tier);
        assert_true(any.steps <= 1000);
        peers_unref(graph);
    }
}

static void test_gputopo_choose__a_search_that_gave_up_is_degraded(void **state)
{
    unsigned unsure = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct peer_graph *graph = random_graph(DEVICE_MAX, 93, 0, seed);

        for (unsigned count = 20; count <= 32; count++) {
            struct topology_choice choice = choose(graph, count, TOPOLOGY_HARD);
            struct topology_choice again = choose(graph, count, TOPOLOGY_HARD);

            assert_true(choice.satisfied == again.satisfied && choice.set == again.set);
            unsure += !choice.satisfied && choice.degraded;
        }
        peers_unref(graph);
    }
    assert_in_range(unsure, 1, 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gputopo_choose__work_is_bounded_where_few_links_of_64_are_broken),
        cmocka_unit_test(test_gputopo_choose__work_is_bounded_on_64_devices_of_any_density),
        cmocka_unit_test(test_gputopo_choose__exact_work_stays_small_on_16_devices),
        cmocka_unit_test(test_gputopo_choose__ties_do_not_starve_the_search_for_a_better_set),
        cmocka_unit_test(test_gputopo_choose__no_work_goes_uncounted),
        cmocka_unit_test(test_gputopo_choose__finds_planted_groups_or_says_that_it_gave_up),
        cmocka_unit_test(test_gputopo_choose__refuses_for_certain_what_cannot_be),
        cmocka_unit_test(
            test_gputopo_choose__a_set_of_the_best_tier_alone_costs_little_more_than_nothing),
        cmocka_unit_test(test_gputopo_choose__a_search_that_gave_up_is_degraded),
    };

    return cmocka_run_group_tests_name("gputopo limits", tests, NULL, NULL);
}
