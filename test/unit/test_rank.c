/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/rank.h"

#define NODES 60

static char names[NODES][8];

static void fill_at_random(uint64_t *chance, struct ranked_node *nodes, size_t count)
{
    unsigned kinds = 1 + chance_below(chance, 2 * NODES);

    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "n%02zu", i);
        nodes[i] = (struct ranked_node){
            .name = names[i],
            .merit = chance_one_in(chance, 4) ? 0 : 1 + chance_below(chance, kinds),
            .grade_1_10 = 1 + (int)chance_below(chance, 10),
            .score_0_10 = -1};
    }
}

static void rank(struct ranked_node *nodes, size_t count, enum rank_scores scores)
{
    struct rank_limits limits = {0};
    uint64_t scratch[NODES];

    rank_nodes(nodes, count, scores, &limits, scratch);
}

/* 9 to 1 by the share of the others that are better. */
static int expected_score(const struct ranked_node *nodes, size_t count, size_t of)
{
    size_t better = 0, kept = 0, first = 0;

    for (size_t i = 0; i < count; i++) {
        kept += nodes[i].merit > 0;
        better += nodes[i].merit > nodes[of].merit;
        first += i < of && nodes[i].merit == nodes[of].merit; /* names are in order */
    }
    if (nodes[of].merit == 0)
        return 0;
    return better + first == 0 ? 10 : 9 - (int)(8 * better / (kept - 1));
}

static void test_rank_nodes__gives_the_winner_10_and_others_9_to_1_by_place(void **state)
{
    uint64_t chance = 1;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct ranked_node nodes[NODES];
        size_t count = chance_below(&chance, NODES + 1);

        fill_at_random(&chance, nodes, count);
        rank(nodes, count, RANK_WINNER);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(nodes[i].score_0_10, expected_score(nodes, count, i));
    }
}

static void change_some(uint64_t *chance, struct ranked_node *nodes, size_t count)
{
    unsigned changes = chance_below(chance, 4);

    for (unsigned i = 0; i < changes && count > 0; i++) {
        struct ranked_node *node = &nodes[chance_below(chance, (unsigned)count)];

        node->merit = chance_below(chance, 2 * NODES);
    }
}

/* From call to call a few merits change; what is expected of them is sometimes right. */
static void test_rank_nodes__does_not_depend_on_what_is_expected(void **state)
{
    uint64_t chance = 3;

    (void)state;
    for (int story = 0; story < 300; story++) {
        struct ranked_node nodes[NODES];
        size_t count = chance_below(&chance, NODES + 1);
        struct rank_limits limits = {0};
        uint64_t scratch[NODES];

        fill_at_random(&chance, nodes, count);
        for (int call = 0; call < 10; call++) {
            rank_nodes(nodes, count, RANK_WINNER, &limits, scratch);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(nodes[i].score_0_10, expected_score(nodes, count, i));
            change_some(&chance, nodes, count);
        }
    }
}

static void test_rank_nodes__does_not_depend_on_the_order_of_the_question(void **state)
{
    uint64_t chance = 5;
    struct ranked_node nodes[NODES], other[NODES];

    (void)state;
    for (size_t round = 0; round < 200; round++) {
        fill_at_random(&chance, nodes, NODES);
        for (size_t i = 0; i < NODES; i++)
            other[(i * 17 + round) % NODES] = nodes[i];
        rank(nodes, NODES, RANK_WINNER);
        rank(other, NODES, RANK_WINNER);
        for (size_t i = 0; i < NODES; i++)
            assert_int_equal(other[(i * 17 + round) % NODES].score_0_10, nodes[i].score_0_10);
    }
}

static void test_rank_nodes__ties_end_at_names(void **state)
{
    struct ranked_node nodes[] = {{.name = "b", .merit = 7}, {.name = "a", .merit = 7}};

    (void)state;
    rank(nodes, 2, RANK_WINNER);
    assert_true(rank_compare(&nodes[1], &nodes[0]) < 0);
    assert_int_equal(nodes[1].score_0_10, 10);
    assert_int_equal(nodes[0].score_0_10, 9);
}

static void test_rank_nodes__graded_gives_each_kept_node_its_grade(void **state)
{
    struct ranked_node nodes[] = {{.name = "a", .merit = 7, .grade_1_10 = 4},
                                  {.name = "b", .merit = 9, .grade_1_10 = 10},
                                  {.name = "c", .merit = 9, .grade_1_10 = 10},
                                  {.name = "d", .merit = 0, .grade_1_10 = 3}};
    static const int want[] = {4, 10, 10, 0};

    (void)state;
    rank(nodes, 4, RANK_GRADED);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(nodes[i].score_0_10, want[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank_nodes__gives_the_winner_10_and_others_9_to_1_by_place),
        cmocka_unit_test(test_rank_nodes__does_not_depend_on_what_is_expected),
        cmocka_unit_test(test_rank_nodes__does_not_depend_on_the_order_of_the_question),
        cmocka_unit_test(test_rank_nodes__ties_end_at_names),
        cmocka_unit_test(test_rank_nodes__graded_gives_each_kept_node_its_grade),
    };

    return cmocka_run_group_tests_name("rank", tests, NULL, NULL);
}
