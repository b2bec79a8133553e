/* SPDX-License-Identifier: Apache-2.0 */
#include "support/harness.h"
#include "topofit/mem.h"

#include <stdio.h>

#define CARD_MIB 16384
#define NOTE_MAX 1024

/* What was told last. */
struct told {
    unsigned count;
    bool is_warning;
    char reason[64];
    char note[NOTE_MAX];
};

static void keep(void *ctx, const struct pod_event *event)
{
    struct told *told = ctx;

    told->count++;
    told->is_warning = event->is_warning;
    snprintf(told->reason, sizeof told->reason, "%s", event->reason);
    snprintf(told->note, sizeof told->note, "%s", event->note);
}

static struct harness *told_by(enum event_words words, struct told *told)
{
    struct harness *harness = harness_new();

    harness->extender.options.event_words = words;
    harness->extender.observer.ctx = told;
    harness->extender.observer.on_event = keep;
    return harness;
}

static void expect_told(const struct told *told, bool is_warning, const char *reason,
                        const char *note)
{
    assert_int_equal(told->count, 1);
    assert_int_equal(told->is_warning, is_warning);
    assert_string_equal(told->reason, reason);
    assert_string_equal(told->note, note);
}

/* Two full nodes, one with a sick device, and a pod that fits on none. */
static void ask_in_vain(struct harness *harness, struct told *told)
{
    api_node(harness, "a", 1, CARD_MIB);
    api_node(harness, "b", 1, CARD_MIB);
    api_node(harness, "c", 1, CARD_MIB, .unhealthy = "0");
    api_pod(harness, "on-a", "gpu 1");
    api_pod(harness, "on-b", "gpu 1");
    place(harness, "on-a", "a");
    place(harness, "on-b", "b");
    api_pod(harness, "p", "gpu 1, mem 4000");
    told->count = 0;
    expect_kept(harness, "p", "a b c", "");
}

static void test_events__of_a_pod_that_fits_nowhere_count_nodes_by_reason(void **state)
{
    struct told told = {0};
    AUTO(harness_free) struct harness *harness = told_by(EVENT_WORDS_TOPOFIT, &told);

    (void)state;
    ask_in_vain(harness, &told);
    expect_told(&told, true, "NoNodeFits",
                "none of 3 nodes fits: 1 Unhealthy, 2 InsufficientMemory");
}

static void test_events__in_hamis_words_name_the_nodes_too(void **state)
{
    struct told told = {0};
    AUTO(harness_free) struct harness *harness = told_by(EVENT_WORDS_HAMI, &told);

    (void)state;
    ask_in_vain(harness, &told);
    expect_told(&told, true, "FilteringFailed",
                "no available node, 3 nodes do not meet; 1 nodes CardNotHealth(c); "
                "2 nodes CardInsufficientMemory(a,b)");
}

static void test_events__in_hamis_words_name_a_few_nodes_of_many(void **state)
{
    struct told told = {0};
    AUTO(harness_free) struct harness *harness = told_by(EVENT_WORDS_HAMI, &told);

    (void)state;
    for (unsigned i = 0; i < 7; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%u", i);
        api_node(harness, name, 1, CARD_MIB, .unhealthy = "0");
    }
    api_pod(harness, "p", "gpu 1");
    expect_kept(harness, "p", "n0 n1 n2 n3 n4 n5 n6", "");
    expect_told(
        &told, true, "FilteringFailed",
        "no available node, 7 nodes do not meet; 7 nodes CardNotHealth(n0,n1,n2,n3,n4,...)");
}

/* A node without devices and one with too few have the same word there. */
static void test_events__in_hamis_words_add_up_what_has_the_same_word(void **state)
{
    struct told told = {0};
    AUTO(harness_free) struct harness *harness = told_by(EVENT_WORDS_HAMI, &told);

    (void)state;
    api_node(harness, "none", 0, 0);
    api_node(harness, "few", 1, CARD_MIB);
    api_pod(harness, "p", "gpu 2");
    expect_kept(harness, "p", "few none", "");
    expect_told(&told, true, "FilteringFailed",
                "no available node, 2 nodes do not meet; 2 nodes NodeInsufficientDevice(few,none)");
}

static void test_events__in_hamis_words_name_the_best_of_the_nodes_that_fit(void **state)
{
    struct told told = {0};
    AUTO(harness_free) struct harness *harness = told_by(EVENT_WORDS_HAMI, &told);

    (void)state;
    api_node(harness, "a", 1, CARD_MIB);
    api_node(harness, "b", 1, CARD_MIB, .unhealthy = "0");
    api_pod(harness, "p", "gpu 1");
    expect_kept(harness, "p", "a b", "a");
    assert_int_equal(told.count, 0);
    ask_prioritize(harness, "p", "a");
    expect_told(&told, false, "FilteringSucceed",
                "find fit node(a), 1 nodes not fit, 1 nodes fit(a:10.00)");
}

/* A late question about a pod that had the name before: its nodes are not counted here. */
static void test_events__in_hamis_words_are_not_those_of_a_namesake(void **state)
{
    struct told told = {0};
    AUTO(harness_free) struct harness *harness = told_by(EVENT_WORDS_HAMI, &told);
    AUTO_FREE char *late = NULL, *answer = NULL;
    struct error err = {0};

    (void)state;
    api_node(harness, "a", 1, CARD_MIB);
    api_node(harness, "b", 1, CARD_MIB, .unhealthy = "0");
    api_pod(harness, "p", "gpu 1", .uid = "before");
    late = question_body(harness, "p", "a");
    api_delete_pod(harness, "p");
    api_pod(harness, "p", "gpu 1");
    ask_filter(harness, "p", "a b");
    answer = ask_body(harness, extender_filter, late, &err);
    assert_non_null(answer);
    ask_prioritize(harness, "p", "a");
    expect_told(&told, false, "FilteringSucceed",
                "find fit node(a), 1 nodes not fit, 1 nodes fit(a:10.00)");
}

static void test_events__in_hamis_words_list_three_of_the_nodes_that_fit(void **state)
{
    struct told told = {0};
    AUTO(harness_free) struct harness *harness = told_by(EVENT_WORDS_HAMI, &told);
    const char *part;

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%u", i);
        api_node(harness, name, i + 1, CARD_MIB);
    }
    api_pod(harness, "p", "gpu 1");
    harness->extender.options.answers_best = true;
    ask_filter(harness, "p", "n4 n3 n2 n1 n0");
    assert_int_equal(told.count, 1);
    part = "find fit node(n0), 0 nodes not fit, 5 nodes fit(...,";
    assert_memory_equal(told.note, part, strlen(part));
    assert_contains(told.note, "n0:10.00)");
}

static void test_events__of_a_bound_pod_name_its_devices(void **state)
{
    struct told told = {0};
    AUTO(harness_free) struct harness *harness = told_by(EVENT_WORDS_TOPOFIT, &told);

    (void)state;
    api_node(harness, "a", 1, CARD_MIB);
    api_pod(harness, "p", "gpu 1");
    place(harness, "p", "a");
    expect_told(&told, false, "GPUsAssigned", "on node a, worst link tier 0: c0 GPU-a-0");
}

static void test_events__of_a_bound_pod_are_in_hamis_words_where_wanted(void **state)
{
    struct told told = {0};
    AUTO(harness_free) struct harness *harness = told_by(EVENT_WORDS_HAMI, &told);

    (void)state;
    api_node(harness, "a", 1, CARD_MIB);
    api_pod(harness, "p", "gpu 1");
    place(harness, "p", "a");
    expect_told(&told, false, "BindingSucceed", "Successfully binding node [a] to default/p");
}

static void test_events__of_a_failed_bind_are_told_in_hamis_words(void **state)
{
    struct told told = {0};
    AUTO(harness_free) struct harness *harness = told_by(EVENT_WORDS_HAMI, &told);

    (void)state;
    api_node(harness, "a", 1, CARD_MIB);
    api_pod(harness, "p", "gpu 1");
    harness->port = PORT_FAILS;
    ask_filter(harness, "p", "a");
    assert_string_not_equal(ask_bind(harness, "p", "a"), "");
    expect_told(&told, true, "BindingFailed", harness->bound);
}

static void test_events__of_a_pod_that_is_not_there_are_none(void **state)
{
    struct told told = {0};
    AUTO(harness_free) struct harness *harness = told_by(EVENT_WORDS_HAMI, &told);

    (void)state;
    api_node(harness, "a", 1, CARD_MIB, .unhealthy = "0");
    api_pod(harness, "p", "gpu 1", .unseen = true);
    expect_kept(harness, "p", "a", "");
    assert_int_equal(told.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events__of_a_pod_that_fits_nowhere_count_nodes_by_reason),
        cmocka_unit_test(test_events__in_hamis_words_name_the_nodes_too),
        cmocka_unit_test(test_events__in_hamis_words_name_a_few_nodes_of_many),
        cmocka_unit_test(test_events__in_hamis_words_add_up_what_has_the_same_word),
        cmocka_unit_test(test_events__in_hamis_words_name_the_best_of_the_nodes_that_fit),
        cmocka_unit_test(test_events__in_hamis_words_are_not_those_of_a_namesake),
        cmocka_unit_test(test_events__in_hamis_words_list_three_of_the_nodes_that_fit),
        cmocka_unit_test(test_events__of_a_bound_pod_name_its_devices),
        cmocka_unit_test(test_events__of_a_bound_pod_are_in_hamis_words_where_wanted),
        cmocka_unit_test(test_events__of_a_failed_bind_are_told_in_hamis_words),
        cmocka_unit_test(test_events__of_a_pod_that_is_not_there_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
