/* SPDX-License-Identifier: Apache-2.0 */
#include "support/peer_graphs.h"
#include "support/test.h"
#include "support/topology_questions.h"

#include "topofit/gputopo_memo.h"

#include <pthread.h>

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

static void test_gputopo_memo_new__of_no_slots_is_no_memo(void **state)
{
    (void)state;
    assert_null(gputopo_memo_new(0));
    gputopo_memo_free(NULL);
}

/* Two graphs that claim one serial: an answer for the wrong one shows that it was remembered. */
static void test_gputopo_memo__remembers_by_serial_and_question(void **state)
{
    struct peer_graph *graph = graph_make(8, NULL, quads_far);
    struct peer_graph *impostor = graph_make(8, NULL, all_near);
    struct gputopo_memo *memo = gputopo_memo_new(8);
    struct topology_question question = question_of(graph, 6);
    struct topology_choice choice;

    (void)state;
    graph->serial = impostor->serial = 7;
    gputopo_choose(&question, &soft, memo, &choice);
    assert_int_equal(choice.tier, TIER_CROSS);
    question.graph = impostor;
    gputopo_choose(&question, &soft, memo, &choice);
    assert_int_equal(choice.tier, TIER_CROSS);
    impostor->serial = 8;
    gputopo_choose(&question, &soft, memo, &choice);
    assert_int_equal(choice.tier, TIER_INTERCONNECT);
    impostor->serial = 0; /* not interned: never remembered */
    graph->serial = 0;
    gputopo_choose(&question, &soft, memo, &choice);
    assert_int_equal(choice.tier, TIER_INTERCONNECT);
    gputopo_memo_free(memo);
    peers_unref(graph);
    peers_unref(impostor);
}

static void test_gputopo_memo__applies_the_rule_to_remembered_choices(void **state)
{
    struct peer_graph *graph = graph_make(8, NULL, quads_far);
    struct gputopo_memo *memo = gputopo_memo_new(1);
    struct topology_rule hard = soft;
    struct topology_question question = question_of(graph, 6);
    struct topology_choice choice;

    (void)state;
    graph->serial = 1;
    hard.mode = TOPOLOGY_HARD;
    gputopo_choose(&question, &soft, memo, &choice);
    assert_true(choice.satisfied);
    gputopo_choose(&question, &hard, memo, &choice);
    assert_false(choice.satisfied);
    gputopo_memo_free(memo);
    peers_unref(graph);
}

struct shared {
    const struct peer_graph *graph;
    struct gputopo_memo *memo;
    bool failed;
};

static void *ask_often(void *argument)
{
    struct shared *shared = argument;

    for (unsigned i = 0; i < 5000; i++) {
        struct topology_question question = question_of(shared->graph, 1 + i % 8);
        struct topology_choice choice;

        gputopo_choose(&question, &soft, shared->memo, &choice);
        if (mask_count(choice.set) != question.count)
            shared->failed = true;
    }
    return NULL;
}

static void test_gputopo_memo__is_safe_to_share_between_threads(void **state)
{
    struct peer_graph *graph = graph_make(8, NULL, quads_far);
    struct gputopo_memo *memo = gputopo_memo_new(2); /* few slots: much contention */
    struct shared shared[4];
    pthread_t threads[ARRAY_LEN(shared)];

    (void)state;
    graph->serial = 1;
    for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
        shared[i] = (struct shared){.graph = graph, .memo = memo};
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &shared[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
        pthread_join(threads[i], NULL);
        assert_false(shared[i].failed);
    }
    gputopo_memo_free(memo);
    peers_unref(graph);
}

static void test_gputopo_memo__remembers_what_it_would_find_again(void **state)
{
    struct gputopo_memo *memo = gputopo_memo_new(16);

    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        uint64_t random = seed;
        struct peer_graph *graph = random_graph(&random, 2 + (unsigned)(seed % 7));
        struct question asked;
        struct topology_choice expected, choice;

        graph->serial = seed;
        for (unsigned i = 0; i < 20; i++) {
            random_question(&random, graph, 4, &asked);
            gputopo_choose(&asked.question, &asked.rule, NULL, &expected);
            for (unsigned again = 0; again < 2; again++) {
                gputopo_choose(&asked.question, &asked.rule, memo, &choice);
                assert_int_equal(choice.set, expected.set);
                assert_int_equal(choice.satisfied, expected.satisfied);
            }
        }
        peers_unref(graph);
    }
    gputopo_memo_free(memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gputopo_memo_new__of_no_slots_is_no_memo),
        cmocka_unit_test(test_gputopo_memo__remembers_by_serial_and_question),
        cmocka_unit_test(test_gputopo_memo__applies_the_rule_to_remembered_choices),
        cmocka_unit_test(test_gputopo_memo__is_safe_to_share_between_threads),
        cmocka_unit_test(test_gputopo_memo__remembers_what_it_would_find_again),
    };

    return cmocka_run_group_tests_name("gputopo_memo", tests, NULL, NULL);
}
