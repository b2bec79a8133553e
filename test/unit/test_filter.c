/* SPDX-License-Identifier: Apache-2.0 */
#include "support/harness.h"

#include <stdlib.h>

#define CARD_MIB 16384
#define WITHOUT_NODES \
    "{\"Nodes\":null,\"NodeNames\":null,\"FailedNodes\":null,\"FailedAndUnresolvableNodes\":null,"

static struct harness *one_busy_node(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 1, CARD_MIB);
    api_pod(harness, "tenant", "gpu 1");
    place(harness, "tenant", "n1");
    api_pod(harness, "p", "gpu 1");
    return harness;
}

/* --- the three groups ------------------------------------------------------------------------ */

static void test_filter__curable_refusals_are_unresolvable_unless_switched_on(void **state)
{
    AUTO(harness_free) struct harness *harness = one_busy_node();
    AUTO_FREE char *text = NULL;

    (void)state;
    text = xstrdup(expect_refused(harness, "p", "n1"));
    assert_true(is_failed(harness, "n1"));
    harness->extender.options.answer_failed_nodes = false;
    assert_string_equal(expect_refused(harness, "p", "n1"), text);
    assert_true(is_unresolvable(harness, "n1"));
}

static void test_filter__the_record_says_that_eviction_could_cure_it_in_both_cases(void **state)
{
    AUTO(harness_free) struct harness *harness = one_busy_node();
    json_t *view;

    (void)state;
    harness->extender.options.answer_failed_nodes = false;
    expect_refused(harness, "p", "n1");
    view = pod_view(harness, "p");
    assert_true(json_is_true(
        json_object_get(json_array_get(json_object_get(view, "reasons"), 0), "evictionCouldCure")));
    json_decref(view);
}

static void test_filter__kept_names_come_back_in_the_order_they_were_asked(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "a", 1, CARD_MIB);
    api_node(harness, "b", 0, 0);
    api_node(harness, "c", 1, CARD_MIB);
    api_pod(harness, "p", "gpu 1");
    expect_kept(harness, "p", "c b a", "c a");
    expect_kept(harness, "p", "a c b", "a c");
}

static void test_filter__may_answer_with_the_node_that_prioritize_ranks_first(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "empty", 4, CARD_MIB);
    api_node(harness, "tight", 1, CARD_MIB);
    api_node(harness, "small", 1, 1000);
    api_pod(harness, "p", "gpu 1, mem 4000");
    ask_prioritize(harness, "p", "empty tight");
    assert_int_equal(score_of(harness, "tight"), 10);
    harness->extender.options.answers_best = true;
    expect_kept(harness, "p", "empty tight small", "tight");
    expect_kept(harness, "p", "empty small", "empty");
    expect_kept(harness, "p", "small", "");
}

static void test_filter__keeps_all_nodes_for_a_pod_without_devices_in_any_case(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "a", 1, CARD_MIB);
    api_node(harness, "b", 1, CARD_MIB);
    api_pod(harness, "p", "none");
    harness->extender.options.answers_best = true;
    expect_kept(harness, "p", "a b", "a b");
}

/* --- nodes that come with the question ------------------------------------------------------- */

static void
test_filter__a_node_sent_that_the_cache_never_saw_is_judged_by_what_it_says(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "new", 1, CARD_MIB);
    api_pod(harness, "p", "gpu 1");
    cluster_remove_node(harness->cluster, "new");
    assert_contains(expect_refused(harness, "p", "new"), "cache");
    harness->sends_nodes = true;
    expect_kept(harness, "p", "new", "new");
}

static void test_filter__a_node_sent_newer_than_the_cache_is_judged_by_what_it_says(void **state)
{
    AUTO(harness_free) struct harness *harness = one_busy_node();
    json_t *annotations =
        json_object_get(json_object_get(api_node_json(harness, "n1"), "metadata"), "annotations");

    (void)state;
    json_object_set_new(annotations, "topofit.io/inventory",
                        json_string("{\"devices\":[{\"id\":\"GPU-n1-0\",\"memoryMiB\":16384},"
                                    "{\"id\":\"GPU-n1-1\",\"memoryMiB\":16384}]}"));
    harness->sends_nodes = true;
    expect_kept(harness, "p", "n1", "n1"); /* the second device is idle */
    harness->sends_nodes = false;
    expect_refused(harness, "p", "n1");
}

static void test_filter__what_pods_hold_counts_on_a_node_that_was_sent(void **state)
{
    AUTO(harness_free) struct harness *harness = one_busy_node();

    (void)state;
    harness->sends_nodes = true;
    expect_refused(harness, "p", "n1");
    cluster_remove_node(harness->cluster, "n1");
    expect_refused(harness, "p", "n1");
}

/* --- failed calls ---------------------------------------------------------------------------- */

static void test_filter__a_call_that_cannot_be_answered_has_only_Error(void **state)
{
    static const char *const bodies[] = {
        "{\"Pod\":null,\"NodeNames\":[\"n1\"]}",
        "{\"Pod\":{\"metadata\":{\"name\":\"p\"}}}",
        "{\"Pod\":{\"metadata\":{\"name\":\"p\"}},\"NodeNames\":[],\"Nodes\":{\"items\":[]}}",
    };
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct error err = {0};
        AUTO_FREE char *answer = ask_body(harness, extender_filter, bodies[i], &err);

        assert_non_null(answer);
        assert_ptr_equal(strstr(answer, WITHOUT_NODES), answer);
        assert_contains(answer, "\"Error\":\"the request ");
    }
}

static void test_filter__what_is_no_request_is_an_error_and_writes_nothing(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO(buf_clear) struct buf out = buf_with_max(1000);
    struct error err = {0};

    (void)state;
    assert_true(extender_filter(&harness->extender, "{", 1, (struct moment){0}, &out, &err) < 0);
    assert_int_equal(err.code, ERR_INVALID);
    assert_int_equal(out.length, 0);
}

/* --- what is remembered and counted ---------------------------------------------------------- */

static void test_filter__the_last_decision_is_remembered_with_the_number_of_attempts(void **state)
{
    AUTO(harness_free) struct harness *harness = one_busy_node();
    AUTO(decision_clear) struct decision decision = {0};
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = NULL;
    char detail[320];

    (void)state;
    api_node(harness, "n2", 1, CARD_MIB);
    snapshot = cluster_snapshot(harness->cluster);
    for (unsigned i = 0; i < 3; i++)
        ask_filter(harness, "p", "n1 n2 ghost");
    assert_true(history_find(harness->extender.history, "default", "p", &decision));
    assert_int_equal(decision.attempts, 3);
    assert_int_equal(decision.considered, 3);
    assert_int_equal(decision.kept, 1);
    assert_int_equal(decision.unix_ms, 1780000000000);
    assert_true(decision.version > 0 && decision.version == snapshot->version);
    assert_int_equal(decision.refusal_count, 2);
    assert_string_equal(decision_refused_node(&decision, 0), "n1");
    assert_int_equal(decision.refusals[0].outcome->reason, REASON_MEMORY);
    outcome_describe(decision.refusals[0].outcome, detail, sizeof detail);
    assert_contains(detail, "1 wanted, 0 usable");
    assert_int_equal(decision.refusals[1].outcome->reason, REASON_NODE_UNKNOWN);
}

static void test_filter__a_bounded_number_of_refusals_is_remembered(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO(buf_clear) struct buf names = buf_with_max(1 << 16);
    AUTO(decision_clear) struct decision decision = {0};

    (void)state;
    api_pod(harness, "p", "gpu 1");
    for (unsigned i = 0; i < HISTORY_NODES_MAX + 20; i++)
        buf_addf(&names, "ghost%u ", i);
    ask_filter(harness, "p", buf_text(&names));
    assert_true(history_find(harness->extender.history, "default", "p", &decision));
    assert_int_equal(decision.refusal_count, HISTORY_NODES_MAX);
    assert_int_equal(decision.considered, HISTORY_NODES_MAX + 20);
}

static void test_filter__fewer_refusals_are_remembered_when_a_node_is_kept(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO(buf_clear) struct buf names = buf_with_max(1 << 16);
    AUTO(decision_clear) struct decision decision = {0};

    (void)state;
    api_node(harness, "n1", 1, CARD_MIB);
    api_pod(harness, "p", "gpu 1");
    for (unsigned i = 0; i < HISTORY_NODES_MAX; i++)
        buf_addf(&names, "ghost%u ", i);
    buf_add_text(&names, "n1");
    ask_filter(harness, "p", buf_text(&names));
    assert_true(history_find(harness->extender.history, "default", "p", &decision));
    assert_int_equal(decision.refusal_count, HISTORY_NODES_KEPT_MAX);
    assert_int_equal(decision.by_reason[REASON_NODE_UNKNOWN], HISTORY_NODES_MAX);
    assert_int_equal(decision.by_reason[REASON_OK], 1);
}

static size_t told[REASON_COUNT];

static void count_filtered(void *ctx, enum reason reason, size_t nodes)
{
    *(unsigned *)ctx += 1;
    told[reason] += nodes;
}

static void test_filter__the_observer_is_told_nodes_by_reason(void **state)
{
    AUTO(harness_free) struct harness *harness = one_busy_node();
    unsigned calls = 0;

    (void)state;
    memset(told, 0, sizeof told);
    api_node(harness, "n2", 1, CARD_MIB);
    api_node(harness, "n3", 1, CARD_MIB);
    harness->extender.observer = (struct observer){.ctx = &calls, .on_filtered = count_filtered};
    ask_filter(harness, "p", "n1 n2 n3 ghost");
    assert_int_equal(told[REASON_OK], 2);
    assert_int_equal(told[REASON_MEMORY], 1);
    assert_int_equal(told[REASON_NODE_UNKNOWN], 1);
    assert_int_equal(calls, 3);
}

static void test_filter__pods_without_devices_are_remembered_and_not_counted(void **state)
{
    AUTO(harness_free) struct harness *harness = one_busy_node();
    AUTO(decision_clear) struct decision decision = {0};
    unsigned calls = 0;

    (void)state;
    harness->extender.observer = (struct observer){.ctx = &calls, .on_filtered = count_filtered};
    api_pod(harness, "cpu", "none");
    expect_kept(harness, "cpu", "n1", "n1");
    /* Its bind call may come before the watch shows it. */
    assert_true(history_find(harness->extender.history, "default", "cpu", &decision));
    assert_int_equal(decision.kept, 1);
    assert_int_equal(calls, 0);
}

static void test_filter__has_no_effect_on_what_is_held(void **state)
{
    AUTO(harness_free) struct harness *harness = one_busy_node();
    struct snapshot *before = cluster_snapshot(harness->cluster);
    struct snapshot *after;

    (void)state;
    ask_filter(harness, "p", "n1");
    harness->sends_nodes = true;
    ask_filter(harness, "p", "n1");
    ask_prioritize(harness, "p", "n1");
    after = cluster_snapshot(harness->cluster);
    assert_ptr_equal(before, after);
    snapshot_unref(before);
    snapshot_unref(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter__curable_refusals_are_unresolvable_unless_switched_on),
        cmocka_unit_test(test_filter__the_record_says_that_eviction_could_cure_it_in_both_cases),
        cmocka_unit_test(test_filter__may_answer_with_the_node_that_prioritize_ranks_first),
        cmocka_unit_test(test_filter__keeps_all_nodes_for_a_pod_without_devices_in_any_case),
        cmocka_unit_test(test_filter__kept_names_come_back_in_the_order_they_were_asked),
        cmocka_unit_test(
            test_filter__a_node_sent_that_the_cache_never_saw_is_judged_by_what_it_says),
        cmocka_unit_test(test_filter__a_node_sent_newer_than_the_cache_is_judged_by_what_it_says),
        cmocka_unit_test(test_filter__what_pods_hold_counts_on_a_node_that_was_sent),
        cmocka_unit_test(test_filter__a_call_that_cannot_be_answered_has_only_Error),
        cmocka_unit_test(test_filter__what_is_no_request_is_an_error_and_writes_nothing),
        cmocka_unit_test(test_filter__the_last_decision_is_remembered_with_the_number_of_attempts),
        cmocka_unit_test(test_filter__a_bounded_number_of_refusals_is_remembered),
        cmocka_unit_test(test_filter__fewer_refusals_are_remembered_when_a_node_is_kept),
        cmocka_unit_test(test_filter__the_observer_is_told_nodes_by_reason),
        cmocka_unit_test(test_filter__pods_without_devices_are_remembered_and_not_counted),
        cmocka_unit_test(test_filter__has_no_effect_on_what_is_held),
    };

    return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
