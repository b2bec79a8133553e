/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field cases about what is known: F28 devices of pods that are gone, F29 restart, F49 devices that
 * fall ill.
 */
#include "support/harness.h"

#include "topofit/views.h"

/* --- F28: devices stay booked after the pod is gone --------------------------------------------
 */

static struct harness *f28_new(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 8, 81920);
    api_pod(harness, "a", "gpu 8");
    api_pod(harness, "b", "gpu 8");
    place(harness, "a", "n1");
    expect_refused(harness, "b", "n1");
    return harness;
}

/* Is a name anywhere in the view of the node? */
static bool node_shows(const struct harness *harness, const char *name)
{
    json_t *view = node_view(harness, "n1");
    AUTO_FREE char *text = json_dumps(view, JSON_COMPACT);
    AUTO_FREE char *quoted = xasprintf("\"name\":\"%s\"", name);

    json_decref(view);
    return strstr(text, quoted) != NULL;
}

static size_t count_holdings(const struct harness *harness)
{
    size_t counts[HOLDING_BOUND + 1];

    cluster_count_holdings(harness->cluster, counts);
    return counts[HOLDING_RESERVED] + counts[HOLDING_UNKNOWN] + counts[HOLDING_BOUND];
}

/* The gauges come from these; the series of a pod from the node's view. */
static void expect_nothing_held(struct harness *harness)
{
    assert_int_equal(used_mib(harness, "n1"), 0);
    for (unsigned device = 0; device < 8; device++)
        assert_int_equal(use_of(harness, "n1", device).slots, 0);
    assert_int_equal(count_holdings(harness), 0);
    assert_false(node_shows(harness, "a"));
    cluster_check(harness->cluster);
    expect_kept(harness, "b", "n1", "n1");
}

static void test_f28__a_deleted_pod_frees_its_devices(void **state)
{
    AUTO(harness_free) struct harness *harness = f28_new();

    (void)state;
    assert_true(node_shows(harness, "a"));
    api_delete_pod(harness, "a");
    expect_nothing_held(harness);
}

static void test_f28__a_pod_deleted_twice_frees_its_devices_once(void **state)
{
    AUTO(harness_free) struct harness *harness = f28_new();
    json_t *a = api_take_pod(harness, "a");

    (void)state;
    watch_gone(harness, a);
    watch_gone(harness, a);
    expect_nothing_held(harness);
    place(harness, "b", "n1");
    watch_gone(harness, a);
    assert_int_equal(used_mib(harness, "n1"), 8 * 81920);
    json_decref(a);
}

static void test_f28__a_pod_that_ended_frees_its_devices_though_it_is_still_listed(void **state)
{
    static const char *const phases[] = {"Succeeded", "Failed"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        AUTO(harness_free) struct harness *harness = f28_new();

        api_set_phase(harness, "a", phases[i]);
        expect_nothing_held(harness);
        relist_pods(harness);
        expect_nothing_held(harness);
    }
}

static void test_f28__an_evicted_pod_frees_its_devices(void **state)
{
    AUTO(harness_free) struct harness *harness = f28_new();
    json_t *status = json_object_get(api_pod_json(harness, "a"), "status");

    (void)state;
    json_object_set_new(status, "reason", json_string("Evicted"));
    api_set_deleting(harness, "a");
    expect_refused(harness, "b", "n1"); /* not before it has ended */
    api_set_phase(harness, "a", "Failed");
    expect_nothing_held(harness);
}

static void test_f28__a_pod_that_went_while_the_watch_was_down_frees_its_devices(void **state)
{
    AUTO(harness_free) struct harness *harness = f28_new();

    (void)state;
    json_decref(api_take_pod(harness, "a"));
    expect_refused(harness, "b", "n1");
    relist_pods(harness);
    expect_nothing_held(harness);
}

static void test_f28__a_pod_bound_while_a_list_was_on_its_way_keeps_its_devices(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    struct pod *none = NULL;

    (void)state;
    harness->port = PORT_HOLDS;
    api_node(harness, "n1", 8, 81920);
    api_pod(harness, "a", "gpu 8", .unseen = true);
    api_pod(harness, "b", "gpu 8", .unseen = true);
    cluster_announce_pod_list(harness->cluster);
    expect_kept(harness, "a", "n1", "n1");
    ask_bind(harness, "a", "n1");
    api_executes(harness);
    end_job(harness, BIND_BOUND, "");
    cluster_replace_pods(harness->cluster, &none, 0); /* the list is older than the pods */
    expect_refused(harness, "b", "n1");
    cluster_announce_pod_list(harness->cluster);
    cluster_replace_pods(harness->cluster, &none, 0); /* this one is younger: a is gone */
    assert_int_equal(count_holdings(harness), 0);
}

static void test_f28__the_event_of_the_old_pod_does_not_free_a_namesake(void **state)
{
    AUTO(harness_free) struct harness *harness = f28_new();
    json_t *old = api_take_pod(harness, "a");

    (void)state;
    api_pod(harness, "a", "gpu 8", .uid = "uid-second");
    assert_int_equal(used_mib(harness, "n1"), 0);
    place(harness, "a", "n1");
    watch_gone(harness, old);
    assert_int_equal(used_mib(harness, "n1"), 8 * 81920);
    assert_true(holds(harness, "a"));
    expect_refused(harness, "b", "n1");
    api_delete_pod(harness, "a");
    expect_nothing_held(harness);
    json_decref(old);
}

static void test_f28__a_relist_with_a_namesake_frees_only_the_old_pod(void **state)
{
    AUTO(harness_free) struct harness *harness = f28_new();

    (void)state;
    json_decref(api_take_pod(harness, "a"));
    json_object_set_new(harness->pods, "a",
                        json_pack("{s:{s:s,s:s,s:s,s:{}},s:{s:[]},s:{s:s}}", "metadata", "name",
                                  "a", "namespace", "default", "uid", "uid-second", "annotations",
                                  "spec", "containers", "status", "phase", "Pending"));
    relist_pods(harness);
    expect_nothing_held(harness);
}

/* --- F29: restart forgets pods that are still holding devices ----------------------------------
 */

/* n1 with 2 slots: a runs, b is shutting down; c waits. The daemon has just restarted. */
static struct harness *f29_new(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 1, 16384, .slots = 2);
    api_pod(harness, "a", "gpu 1, mem 8192");
    api_pod(harness, "b", "gpu 1, mem 8192");
    api_pod(harness, "c", "gpu 1, mem 8192");
    place(harness, "a", "n1");
    place(harness, "b", "n1");
    api_set_phase(harness, "a", "Running");
    api_set_phase(harness, "b", "Running");
    api_set_deleting(harness, "b");
    harness_restart(harness);
    return harness;
}

static void expect_both_held(struct harness *harness)
{
    assert_int_equal(use_of(harness, "n1", 0).memory_mib, 16384);
    assert_int_equal(use_of(harness, "n1", 0).slots, 2);
    expect_refused(harness, "c", "n1");
}

/* filter answers, with Error and no node kept. */
static void expect_not_ready(struct harness *harness)
{
    AUTO_FREE char *body = question_body(harness, "c", "n1");
    AUTO_FREE char *bind = bind_body(harness, "c", "n1");
    AUTO_FREE char *answer = NULL, *error = NULL, *scores = NULL;
    struct error err = {0};
    json_t *json;

    assert_false(cluster_is_synced(harness->cluster)); /* what /readyz says */
    answer = ask_body(harness, extender_filter, body, &err);
    assert_non_null(answer);
    json = json_loads(answer, 0, NULL);
    assert_true(strlen(json_string_value(json_object_get(json, "Error"))) > 0);
    assert_true(json_is_null(json_object_get(json, "NodeNames")));
    json_decref(json);
    scores = ask_body(harness, extender_prioritize, body, &err);
    assert_null(scores);
    assert_int_equal(err.code, ERR_BUSY);
    error = ask_bind_body(harness, bind);
    assert_string_not_equal(error, "");
    assert_int_equal(count_holdings(harness), 0);
}

static void test_f29__before_both_lists_are_complete_nothing_is_accepted(void **state)
{
    (void)state;
    {
        AUTO(harness_free) struct harness *harness = f29_new();

        expect_not_ready(harness);
        relist_nodes(harness);
        expect_not_ready(harness);
        relist_pods(harness);
        assert_true(cluster_is_synced(harness->cluster));
        expect_both_held(harness);
    }
    {
        AUTO(harness_free) struct harness *harness = f29_new();

        relist_pods(harness);
        assert_false(cluster_is_synced(harness->cluster));
        relist_nodes(harness);
        expect_both_held(harness);
    }
}

static void
test_f29__running_and_terminating_pods_are_counted_once_whatever_is_told_again(void **state)
{
    AUTO(harness_free) struct harness *harness = f29_new();

    (void)state;
    relist_nodes(harness);
    relist_pods(harness);
    expect_both_held(harness);
    watch_pod(harness, "a");
    watch_pod(harness, "b");
    expect_both_held(harness);
    relist_pods(harness);
    relist_nodes(harness);
    expect_both_held(harness);
}

static void test_f29__a_terminating_pod_holds_until_it_is_really_gone(void **state)
{
    AUTO(harness_free) struct harness *harness = f29_new();

    (void)state;
    relist_nodes(harness);
    relist_pods(harness);
    expect_refused(harness, "c", "n1");
    api_delete_pod(harness, "b");
    place(harness, "c", "n1");
}

static void test_f29__the_same_devices_are_known_after_a_restart(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    device_mask before;

    (void)state;
    api_node(harness, "n1", 8, 81920, .links = "0-1 2-3 4-5 6-7");
    api_pod(harness, "a", "gpu 2, mem 1000, cores 30");
    api_pod(harness, "b", "init gpu 1, mem 500; gpu 2; none");
    place(harness, "b", "n1");
    place(harness, "a", "n1");
    before = devices_of(harness, "a") | devices_of(harness, "b") << 8;
    harness_restart(harness);
    relist_nodes(harness);
    relist_pods(harness);
    assert_int_equal(devices_of(harness, "a") | devices_of(harness, "b") << 8, before);
    for (unsigned device = 0; device < 8; device++)
        assert_false(use_of(harness, "n1", device).conflicted);
}

static void test_f29__a_pod_bound_past_us_is_counted_though_nobody_knows_its_devices(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 2, 16384);
    api_pod(harness, "static", "gpu 1", .node = "n1");
    api_pod(harness, "one", "gpu 1");
    api_pod(harness, "two", "gpu 2");
    expect_refused(harness, "two", "n1");
    expect_kept(harness, "one", "n1", "n1");
    api_delete_pod(harness, "static");
    expect_kept(harness, "two", "n1", "n1");
}

/* --- F49: unhealthy device ---------------------------------------------------------------------
 */

/* n1 with a pod on each of its devices; that of c has fallen ill, and d has been deleted. */
static struct harness *f49_new(void)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    struct harness *harness = harness_new();

    api_node(harness, "n1", 4, 16384);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        api_pod(harness, names[i], "gpu 1");
    for (unsigned i = 0; i < 4; i++) {
        place(harness, names[i], "n1");
        assert_int_equal(device_of(harness, names[i]), i);
    }
    api_node(harness, "n1", 4, 16384, .unhealthy = "2");
    api_delete_pod(harness, "d");
    return harness;
}

static void expect_devices(const struct harness *harness, unsigned idle, unsigned in_use,
                           unsigned unhealthy)
{
    json_t *view = node_view(harness, "n1");
    const json_t *summary = json_object_get(view, "summary");

    assert_int_equal(json_integer_value(json_object_get(summary, "idle")), idle);
    assert_int_equal(json_integer_value(json_object_get(summary, "inUse")), in_use);
    assert_int_equal(json_integer_value(json_object_get(summary, "unhealthy")), unhealthy);
    json_decref(view);
}

static void test_f49__a_pod_keeps_the_device_that_fell_ill_and_nobody_else_gets_it(void **state)
{
    AUTO(harness_free) struct harness *harness = f49_new();

    (void)state;
    assert_int_equal(device_of(harness, "c"), 2);
    assert_int_equal(use_of(harness, "n1", 2).slots, 1);
    expect_devices(harness, 1, 2, 1);
    place(harness, "e", "n1");
    assert_int_equal(device_of(harness, "e"), 3);
    expect_refused(harness, "f", "n1");
    expect_devices(harness, 0, 3, 1);
    assert_int_equal(used_mib(harness, "n1"), 4 * 16384); /* not more than there is */
    api_delete_pod(harness, "c");
    expect_refused(harness, "f", "n1"); /* it is free, and still ill */
    api_node(harness, "n1", 4, 16384);
    place(harness, "f", "n1");
    assert_int_equal(device_of(harness, "f"), 2);
}

static void test_f49__health_may_return(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n2", 4, 16384, .unhealthy = "0");
    api_pod(harness, "g", "gpu 4");
    assert_contains(expect_refused(harness, "g", "n2"), "unhealthy");
    api_node(harness, "n2", 4, 16384);
    place(harness, "g", "n2");
}

static void test_f49__a_device_that_is_not_reported_any_more_is_not_given_away(void **state)
{
    AUTO(harness_free) struct harness *harness = f49_new();

    (void)state;
    api_node(harness, "n1", 2, 16384); /* 0 and 1 are a's and b's; c's is gone from the list */
    expect_refused(harness, "e", "n1");
    api_node(harness, "n1", 4, 16384);
    place(harness, "e", "n1");
    assert_int_equal(device_of(harness, "e"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f28__a_deleted_pod_frees_its_devices),
        cmocka_unit_test(test_f28__a_pod_deleted_twice_frees_its_devices_once),
        cmocka_unit_test(test_f28__a_pod_that_ended_frees_its_devices_though_it_is_still_listed),
        cmocka_unit_test(test_f28__an_evicted_pod_frees_its_devices),
        cmocka_unit_test(test_f28__a_pod_that_went_while_the_watch_was_down_frees_its_devices),
        cmocka_unit_test(test_f28__a_pod_bound_while_a_list_was_on_its_way_keeps_its_devices),
        cmocka_unit_test(test_f28__the_event_of_the_old_pod_does_not_free_a_namesake),
        cmocka_unit_test(test_f28__a_relist_with_a_namesake_frees_only_the_old_pod),
        cmocka_unit_test(test_f29__before_both_lists_are_complete_nothing_is_accepted),
        cmocka_unit_test(
            test_f29__running_and_terminating_pods_are_counted_once_whatever_is_told_again),
        cmocka_unit_test(test_f29__a_terminating_pod_holds_until_it_is_really_gone),
        cmocka_unit_test(test_f29__the_same_devices_are_known_after_a_restart),
        cmocka_unit_test(test_f29__a_pod_bound_past_us_is_counted_though_nobody_knows_its_devices),
        cmocka_unit_test(test_f49__a_pod_keeps_the_device_that_fell_ill_and_nobody_else_gets_it),
        cmocka_unit_test(test_f49__health_may_return),
        cmocka_unit_test(test_f49__a_device_that_is_not_reported_any_more_is_not_given_away),
    };

    return cmocka_run_group_tests_name("field_cases_cache", tests, NULL, NULL);
}
