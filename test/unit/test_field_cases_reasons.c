/* SPDX-License-Identifier: Apache-2.0 */
/* Field cases about refusals: F37 each node's own reason, F44 for ever or for now, not our pods. */
#include "support/harness.h"

#define USE_PRODUCTS "topofit.io/use-products"

/* --- F37: reasons lost when some node fits; old state lingering ------------------------------ */

static struct harness *f37_new(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 1, 8192, .product = "Model M");
    api_node(harness, "n2", 1, 16384, .product = "Model M");
    api_node(harness, "n3", 0, 0);
    api_node(harness, "n4", 1, 16384, .product = "Model X");
    api_pod(harness, "a", "gpu 1, mem 10000", .annotations = {USE_PRODUCTS, "M"});
    api_pod(harness, "other", "gpu 1", .annotations = {USE_PRODUCTS, "M"});
    return harness;
}

static void expect_own_reasons(const struct harness *harness)
{
    assert_contains(refusal_of(harness, "n1"), "GPU smaller than the amount");
    assert_contains(refusal_of(harness, "n3"), "no GPU");
    assert_contains(refusal_of(harness, "n4"), "product");
    assert_string_not_equal(refusal_of(harness, "n1"), refusal_of(harness, "n3"));
    assert_string_not_equal(refusal_of(harness, "n3"), refusal_of(harness, "n4"));
}

static void test_f37__every_refused_node_has_its_own_reason_though_one_fits(void **state)
{
    AUTO(harness_free) struct harness *harness = f37_new();

    (void)state;
    for (unsigned form = 0; form < 2; form++) {
        harness->sends_nodes = form == 1;
        expect_kept(harness, "a", "n1 n2 n3 n4", "n2");
        expect_own_reasons(harness);
    }
}

static void test_f37__a_device_that_is_big_enough_and_full_lacks_free_memory(void **state)
{
    AUTO(harness_free) struct harness *harness = f37_new();

    (void)state;
    place(harness, "other", "n2");
    expect_kept(harness, "a", "n1 n2 n3 n4", "");
    expect_own_reasons(harness);
    assert_contains(refusal_of(harness, "n2"), "free GPU memory");
    assert_true(is_failed(harness, "n2"));
}

/* What the debug view says of a pod that is not placed. */
static size_t count_reasons(const struct harness *harness, const char *pod)
{
    json_t *view = pod_view(harness, pod);
    size_t count = json_array_size(json_object_get(view, "reasons"));

    json_decref(view);
    return count;
}

static void test_f37__a_placed_pod_carries_no_reason_any_more(void **state)
{
    AUTO(harness_free) struct harness *harness = f37_new();
    const json_t *annotations;
    const char *key;
    json_t *view, *value;

    (void)state;
    place(harness, "other", "n2");
    expect_kept(harness, "a", "n1 n2 n3 n4", "");
    assert_int_equal(count_reasons(harness, "a"), 4);
    api_delete_pod(harness, "other");
    expect_kept(harness, "a", "n1 n2 n3 n4", "n2");
    assert_int_equal(count_reasons(harness, "a"), 3);
    assert_string_equal(ask_bind(harness, "a", "n2"), "");
    view = pod_view(harness, "a");
    assert_null(json_object_get(view, "reasons"));
    assert_string_equal(json_string_value(json_object_get(view, "why")), "");
    assert_string_equal(json_string_value(json_object_get(view, "phase")), "bound");
    json_decref(view);
    annotations =
        json_object_get(json_object_get(api_pod_json(harness, "a"), "metadata"), "annotations");
    json_object_foreach((json_t *)annotations, key, value)
        assert_true(strcmp(key, USE_PRODUCTS) == 0 || strcmp(key, "topofit.io/allocation") == 0 ||
                    strcmp(key, "devices.topofit.io/c0") == 0);
}

static void test_f37__texts_do_not_change_between_attempts(void **state)
{
    AUTO(harness_free) struct harness *harness = f37_new();
    AUTO_FREE char *first = NULL;

    (void)state;
    place(harness, "other", "n2");
    ask_filter(harness, "a", "n1 n2 n3 n4");
    first = xstrdup(harness->answer);
    for (unsigned attempt = 0; attempt < 10; attempt++) {
        ask_filter(harness, "a", "n1 n2 n3 n4");
        assert_string_equal(harness->answer, first);
    }
}

/* --- F44: cannot ever fit versus cannot fit now; pods of no concern -------------------------- */

#define F44_NODES "n1 n2 n3 n4"

static struct harness *f44_new(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 2, 16384, .product = "Model M");
    api_node(harness, "n2", 2, 16384, .product = "Model X");
    api_node(harness, "n3", 1, 16384, .product = "Model M");
    api_node(harness, "n4", 0, 0);
    api_pod(harness, "busy", "gpu 2");
    place(harness, "busy", "n1");
    api_pod(harness, "a", "gpu 2", .annotations = {USE_PRODUCTS, "M"});
    api_pod(harness, "b", "none");
    api_pod(harness, "c", "gpu 0");
    return harness;
}

static void test_f44__only_what_eviction_can_cure_is_in_FailedNodes(void **state)
{
    AUTO(harness_free) struct harness *harness = f44_new();

    (void)state;
    for (unsigned form = 0; form < 2; form++) {
        harness->sends_nodes = form == 1;
        expect_kept(harness, "a", F44_NODES, "");
        assert_true(is_failed(harness, "n1"));
        assert_true(is_unresolvable(harness, "n2"));
        assert_true(is_unresolvable(harness, "n3"));
        assert_true(is_unresolvable(harness, "n4"));
    }
}

static void test_f44__one_idle_and_one_busy_device_are_curable_too(void **state)
{
    AUTO(harness_free) struct harness *harness = f44_new();

    (void)state;
    api_delete_pod(harness, "busy");
    api_pod(harness, "half", "gpu 1");
    place(harness, "half", "n1");
    expect_kept(harness, "a", "n1", "");
    assert_true(is_failed(harness, "n1"));
}

static void test_f44__pods_without_devices_pass_everywhere_with_equal_scores(void **state)
{
    static const char *const pods[] = {"b", "c"};
    static const char *const nodes[] = {"n1", "n2", "n3", "n4"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pods) * 2 * PACKING_POLICY_COUNT; i++) {
        const char *pod = pods[i % 2];
        AUTO(harness_free) struct harness *harness = f44_new();

        harness->sends_nodes = i / 2 % 2 == 1;
        harness->extender.options.policy.packing = (enum packing_policy)(i / 4);
        expect_kept(harness, pod, F44_NODES, F44_NODES);
        for (unsigned scores = RANK_WINNER; scores <= RANK_GRADED; scores++) {
            harness->extender.options.policy.scores = (enum rank_scores)scores;
            ask_prioritize(harness, pod, F44_NODES);
            for (size_t k = 1; k < ARRAY_LEN(nodes); k++)
                assert_int_equal(score_of(harness, nodes[k]), score_of(harness, nodes[0]));
        }
    }
}

/* Which nodes fit, and what eviction could cure, is no matter of what is preferred. */
static void test_f44__the_packing_policy_changes_no_refusal(void **state)
{
    AUTO(harness_free) struct harness *harness = f44_new();
    AUTO_FREE char *first = NULL;

    (void)state;
    ask_filter(harness, "a", F44_NODES);
    first = xstrdup(harness->answer);
    for (unsigned i = 0; i < PACKING_POLICY_COUNT; i++) {
        harness->extender.options.policy.packing = (enum packing_policy)i;
        ask_filter(harness, "a", F44_NODES);
        assert_string_equal(harness->answer, first);
    }
}

static void test_f44__bind_of_a_pod_without_devices_writes_no_record_and_books_nothing(void **state)
{
    static const char *const pods[] = {"b", "c"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        AUTO(harness_free) struct harness *harness = f44_new();

        harness->port = PORT_HOLDS;
        assert_null(ask_bind(harness, pods[i], "n4"));
        assert_string_equal(harness->job->node, "n4");
        assert_int_equal(harness->job->annotation_count, 0);
        api_executes(harness);
        end_job(harness, BIND_BOUND, "");
        assert_string_equal(harness->bound, "");
        watch_pod(harness, pods[i]);
        assert_false(holds(harness, pods[i]));
    }
}

static void test_f44__a_node_nobody_knows_is_refused_and_only_names_asked_come_back(void **state)
{
    AUTO(harness_free) struct harness *harness = f44_new();

    (void)state;
    expect_kept(harness, "a", "n1 ghost", "");
    assert_contains(refusal_of(harness, "ghost"), "cache");
    expect_kept(harness, "b", "n4 ghost n1", "n4 ghost n1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f37__every_refused_node_has_its_own_reason_though_one_fits),
        cmocka_unit_test(test_f37__a_device_that_is_big_enough_and_full_lacks_free_memory),
        cmocka_unit_test(test_f37__a_placed_pod_carries_no_reason_any_more),
        cmocka_unit_test(test_f37__texts_do_not_change_between_attempts),
        cmocka_unit_test(test_f44__only_what_eviction_can_cure_is_in_FailedNodes),
        cmocka_unit_test(test_f44__one_idle_and_one_busy_device_are_curable_too),
        cmocka_unit_test(test_f44__pods_without_devices_pass_everywhere_with_equal_scores),
        cmocka_unit_test(test_f44__the_packing_policy_changes_no_refusal),
        cmocka_unit_test(
            test_f44__bind_of_a_pod_without_devices_writes_no_record_and_books_nothing),
        cmocka_unit_test(test_f44__a_node_nobody_knows_is_refused_and_only_names_asked_come_back),
    };

    return cmocka_run_group_tests_name("field_cases_reasons", tests, NULL, NULL);
}
