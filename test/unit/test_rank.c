/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/rank.h"

#define NODES 60

static char names[NODES][8];

static void fill_at_random(uint64_t *chance, struct ranked_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "n%02zu", i);
        nodes[i] =
            (struct ranked_node){.name = names[i],
                                 .kept = !chance_one_in(chance, 4),
                                 .tier = (enum tier)chance_below(chance, 4),
                                 .quality_0_100 = (uint8_t)(chance_below(chance, 3) * 50),
                                 .broken = (uint8_t)chance_below(chance, 3),
                                 .packing_per_mille = (uint16_t)(chance_below(chance, 5) * 100),
                                 .score_0_10 = -1};
    }
}

static long worth(const struct ranked_node *node)
{
    return -(long)node->tier * 10000000 + node->quality_0_100 * 10000L - node->broken * 2000L +
           node->packing_per_mille;
}

/* Is a clearly better than b: by more than its name? */
static bool is_better(const struct ranked_node *a, const struct ranked_node *b)
{
    return a->kept && (!b->kept || worth(a) > worth(b));
}

static void check_scores(const struct ranked_node *nodes, size_t count)
{
    size_t winners = 0, kept = 0;

    for (size_t a = 0; a < count; a++) {
        kept += nodes[a].kept;
        winners += nodes[a].score_0_10 == RANK_SCORE_MAX;
        assert_in_range(nodes[a].score_0_10, nodes[a].kept ? 1 : 0, nodes[a].kept ? 10 : 0);
        for (size_t b = 0; b < count; b++) {
            if (is_better(&nodes[a], &nodes[b]))
                assert_true(nodes[a].score_0_10 >= nodes[b].score_0_10);
            else if (!is_better(&nodes[b], &nodes[a]) && nodes[a].score_0_10 != RANK_SCORE_MAX &&
                     nodes[b].score_0_10 != RANK_SCORE_MAX)
                assert_int_equal(nodes[a].score_0_10, nodes[b].score_0_10);
        }
    }
    assert_int_equal(winners, kept > 0);
}

static void test_rank_nodes__has_one_winner_and_is_monotone(void **state)
{
    uint64_t chance = 1;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct ranked_node nodes[NODES], *order[NODES];
        size_t count = chance_below(&chance, NODES + 1);

        fill_at_random(&chance, nodes, count);
        for (size_t i = 0; i < count; i++)
            order[i] = &nodes[i];
        rank_nodes(order, count);
        check_scores(nodes, count);
        for (size_t i = 1; i < count; i++)
            assert_false(is_better(order[i], order[i - 1]));
    }
}

static void test_rank_nodes__does_not_depend_on_the_order_of_the_question(void **state)
{
    uint64_t chance = 5;
    struct ranked_node nodes[NODES], *order[NODES], *other[NODES];

    (void)state;
    for (int round = 0; round < 200; round++) {
        fill_at_random(&chance, nodes, NODES);
        for (size_t i = 0; i < NODES; i++) {
            order[i] = &nodes[i];
            other[(i * 17 + (size_t)round) % NODES] = &nodes[i];
        }
        rank_nodes(order, NODES);
        rank_nodes(other, NODES);
        assert_memory_equal(order, other, sizeof order);
    }
}

static void test_rank_nodes__ties_end_at_names(void **state)
{
    struct ranked_node nodes[] = {{.name = "b", .kept = true}, {.name = "a", .kept = true}};
    struct ranked_node *order[] = {&nodes[0], &nodes[1]};

    (void)state;
    rank_nodes(order, 2);
    assert_string_equal(order[0]->name, "a");
    assert_int_equal(nodes[1].score_0_10, 10);
    assert_int_equal(nodes[0].score_0_10, 9);
}

/* 50 nodes, node i with i % 9 of 8 devices busy; a ninth of them is full. */
static void test_rank_nodes__f46_scores_spread_over_the_range(void **state)
{
    struct ranked_node nodes[50], *order[50];
    bool used[RANK_SCORE_MAX + 1] = {false};
    unsigned distinct = 0;

    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        snprintf(names[i], sizeof names[i], "n%02u", i);
        nodes[i] = (struct ranked_node){.name = names[i],
                                        .kept = i % 9 < 8,
                                        .quality_0_100 = 100,
                                        .packing_per_mille = (uint16_t)(i % 9 * 125)};
        order[i] = &nodes[i];
    }
    rank_nodes(order, 50);
    check_scores(nodes, 50);
    for (unsigned i = 0; i < 50; i++)
        used[nodes[i].score_0_10] = true;
    for (unsigned score = 0; score <= RANK_SCORE_MAX; score++)
        distinct += used[score];
    assert_true(distinct >= 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank_nodes__has_one_winner_and_is_monotone),
        cmocka_unit_test(test_rank_nodes__does_not_depend_on_the_order_of_the_question),
        cmocka_unit_test(test_rank_nodes__ties_end_at_names),
        cmocka_unit_test(test_rank_nodes__f46_scores_spread_over_the_range),
    };

    return cmocka_run_group_tests_name("rank", tests, NULL, NULL);
}
