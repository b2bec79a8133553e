/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that pods hold without telling which, and devices that two pods claim: what may be given
 * away besides (never more than is certain).
 */
#include "support/harness.h"

#define ALLOCATION "topofit.io/allocation"
#define RECORD_ON(node, device, mib) \
    "{\"version\":1,\"node\":\"" node "\",\"tier\":0,\"containers\":[{\"name\":\"c0\"," \
    "\"kind\":\"app\",\"devices\":[{\"id\":\"" device "\",\"memoryMiB\":" mib \
    ",\"cores\":0,\"slots\":1,\"mode\":\"soft\"}]}]}"
#define RECORD_OF_NOTHING "{\"version\":1,\"node\":\"n1\",\"tier\":0,\"containers\":[]}"
#define RECORD_OF(uid) \
    "{\"version\":1,\"podUID\":\"" uid "\",\"node\":\"n1\",\"tier\":0,\"containers\":[{" \
    "\"name\":\"c0\",\"kind\":\"app\",\"devices\":[{\"id\":\"GPU-n1-0\",\"memoryMiB\":1," \
    "\"cores\":0,\"slots\":1,\"mode\":\"soft\"}]}]}"

/* Pods with one device on n1 of which we do not know which one it is. */
static const struct pod_spec strangers[] = {
    {.name = "x", .wants = "gpu 1"}, /* bound by another scheduler, or by hand */
    {.name = "x", .wants = "gpu 1", .annotations = {"kubernetes.io/config.mirror", "5f3a"}},
    {.name = "x", .wants = "gpu 1, mem 1000"},
    {.name = "x", .wants = "gpu 1", .annotations = {ALLOCATION, "{"}},
    {.name = "x", .wants = "gpu 1", .annotations = {ALLOCATION, ""}},
    {.name = "x", .wants = "gpu 1", .annotations = {ALLOCATION, "{\"version\":99}"}},
    {.name = "x", .wants = "gpu 1", .annotations = {ALLOCATION, RECORD_OF_NOTHING}},
    {.name = "x", .wants = "gpu 1", .annotations = {ALLOCATION, RECORD_ON("n2", "GPU-n1-0", "1")}},
    {.name = "x", .wants = "gpu 1", .annotations = {ALLOCATION, RECORD_OF("uid-another")}},
    {.name = "x",
     .wants = "gpu 1",
     .annotations = {ALLOCATION, RECORD_ON("n1", "GPU-unknown", "1")}},
};

/* Pods that ask for no device, and say that they have one all the same. */
static const struct pod_spec forgers[] = {
    {.name = "x", .wants = "none", .annotations = {ALLOCATION, RECORD_ON("n1", "GPU-n1-0", "1")}},
    {.name = "x", .wants = "none", .annotations = {ALLOCATION, RECORD_OF("uid-another")}},
    {.name = "x", .wants = "none", .annotations = {ALLOCATION, "[]"}},
};

/* n1 with four devices; "three" and "four" want so many. */
static struct harness *story_new(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 4, 16384);
    api_pod(harness, "three", "gpu 3");
    api_pod(harness, "four", "gpu 4");
    return harness;
}

static void
test_unattributed__a_pod_that_does_not_tell_takes_one_device_from_all_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(strangers); i++) {
        AUTO(harness_free) struct harness *harness = story_new();
        struct pod_spec stranger = strangers[i];

        stranger.node = "n1";
        expect_kept(harness, "four", "n1", "n1");
        harness_put_pod(harness, &stranger);
        expect_refused(harness, "four", "n1");
        expect_kept(harness, "three", "n1", "n1");
        relist_pods(harness);
        expect_refused(harness, "four", "n1");
        harness_restart(harness);
        relist_pods(harness);
        relist_nodes(harness);
        expect_refused(harness, "four", "n1");
        api_delete_pod(harness, "x");
        expect_kept(harness, "four", "n1", "n1");
    }
}

static void
test_unattributed__who_asks_for_nothing_holds_nothing_by_a_record_of_anybody(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forgers); i++) {
        AUTO(harness_free) struct harness *harness = story_new();
        struct pod_spec forger = forgers[i];

        forger.node = "n1";
        harness_put_pod(harness, &forger);
        expect_kept(harness, "four", "n1", "n1");
        relist_pods(harness);
        expect_kept(harness, "four", "n1", "n1");
    }
}

/* A pod asks, is not bound, and brings the record of what it would like to have. */
static void test_unattributed__a_record_before_the_binding_holds_nothing(void **state)
{
    AUTO(harness_free) struct harness *harness = story_new();

    (void)state;
    api_pod(harness, "x", "gpu 1", .annotations = {ALLOCATION, RECORD_ON("n1", "GPU-n1-3", "1")});
    expect_kept(harness, "four", "n1", "n1");
    place(harness, "x", "n1");
    assert_int_not_equal(device_of(harness, "x"), 3); /* it was given another */
}

static void test_unattributed__a_pod_counts_with_all_the_devices_it_asks_for(void **state)
{
    AUTO(harness_free) struct harness *harness = story_new();

    (void)state;
    api_pod(harness, "one", "gpu 1");
    api_pod(harness, "two", "gpu 2");
    api_pod(harness, "x", "gpu 2; none; gpu 1", .node = "n1");
    expect_refused(harness, "two", "n1");
    expect_kept(harness, "one", "n1", "n1");
    api_set_phase(harness, "x", "Succeeded");
    expect_kept(harness, "four", "n1", "n1");
}

/* Another scheduler, or a manifest with an annotation of its own, names fewer than there are. */
static void test_unattributed__what_a_record_leaves_out_of_the_request_counts_besides(void **state)
{
    AUTO(harness_free) struct harness *harness = story_new();

    (void)state;
    api_pod(harness, "one", "gpu 1");
    api_pod(harness, "two", "gpu 2");
    api_pod(harness, "x", "gpu 3", .node = "n1",
            .annotations = {ALLOCATION, RECORD_ON("n1", "GPU-n1-0", "16384")});
    assert_int_equal(device_of(harness, "x"), 0);
    expect_refused(harness, "two", "n1");
    expect_kept(harness, "one", "n1", "n1");
}

static void test_unattributed__a_record_that_comes_later_tells_which_device_it_is(void **state)
{
    AUTO(harness_free) struct harness *harness = story_new();

    (void)state;
    api_pod(harness, "x", "gpu 1, mem 1", .node = "n1");
    expect_refused(harness, "four", "n1");
    api_pod(harness, "x", "gpu 1, mem 1", .node = "n1",
            .annotations = {ALLOCATION, RECORD_ON("n1", "GPU-n1-2", "1")});
    assert_int_equal(device_of(harness, "x"), 2);
    place(harness, "three", "n1");
    assert_int_equal(devices_of(harness, "three"), 0xb);
}

/* --- two records on one device --------------------------------------------------------------- */

/* a and b both say that they have most of device 1. */
static struct harness *story_contradicting(void)
{
    struct harness *harness = story_new();

    api_pod(harness, "a", "gpu 1, mem 10000", .node = "n1",
            .annotations = {ALLOCATION, RECORD_ON("n1", "GPU-n1-1", "10000")});
    api_pod(harness, "b", "gpu 1, mem 10000", .node = "n1",
            .annotations = {ALLOCATION, RECORD_ON("n1", "GPU-n1-1", "10000")});
    return harness;
}

static void test_conflict__both_records_are_kept_and_told_of_once(void **state)
{
    AUTO(harness_free) struct harness *harness = story_contradicting();
    struct conflict conflict;

    (void)state;
    assert_int_equal(use_of(harness, "n1", 1).memory_mib, 20000);
    assert_true(holds(harness, "a") && holds(harness, "b"));
    assert_true(cluster_next_conflict(harness->cluster, &conflict));
    assert_string_equal(conflict.node, "n1");
    assert_string_equal(conflict.node_uid, "uid-n1");
    assert_string_equal(conflict.device, "GPU-n1-1");
    conflict_clear(&conflict);
    watch_pod(harness, "a");
    watch_node(harness, "n1");
    relist_nodes(harness);
    relist_pods(harness);
    api_set_phase(harness, "b", "Running");
    assert_false(cluster_next_conflict(harness->cluster, &conflict));
}

static void test_conflict__the_device_gets_nobody_new_and_the_others_do(void **state)
{
    AUTO(harness_free) struct harness *harness = story_contradicting();

    (void)state;
    api_pod(harness, "tiny", "gpu 1, mem 1", .annotations = {"topofit.io/use-devices", "GPU-n1-1"});
    expect_refused(harness, "tiny", "n1");
    place(harness, "three", "n1");
    assert_int_equal(devices_of(harness, "three"), 0xd);
}

static void test_conflict__is_cured_when_one_of_the_two_is_gone(void **state)
{
    (void)state;
    for (int end = 0; end < 3; end++) {
        AUTO(harness_free) struct harness *harness = story_contradicting();

        api_pod(harness, "small", "gpu 1, mem 6000",
                .annotations = {"topofit.io/use-devices", "GPU-n1-1"});
        expect_refused(harness, "small", "n1");
        if (end == 0) {
            api_delete_pod(harness, "a");
        } else if (end == 1) {
            api_set_phase(harness, "a", "Failed");
        } else {
            json_decref(api_take_pod(harness, "a"));
            relist_pods(harness);
        }
        assert_int_equal(use_of(harness, "n1", 1).memory_mib, 10000);
        assert_false(use_of(harness, "n1", 1).conflicted);
        place(harness, "small", "n1");
        assert_int_equal(device_of(harness, "small"), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_unattributed__a_pod_that_does_not_tell_takes_one_device_from_all_others),
        cmocka_unit_test(
            test_unattributed__who_asks_for_nothing_holds_nothing_by_a_record_of_anybody),
        cmocka_unit_test(test_unattributed__a_record_before_the_binding_holds_nothing),
        cmocka_unit_test(test_unattributed__a_pod_counts_with_all_the_devices_it_asks_for),
        cmocka_unit_test(test_unattributed__what_a_record_leaves_out_of_the_request_counts_besides),
        cmocka_unit_test(test_unattributed__a_record_that_comes_later_tells_which_device_it_is),
        cmocka_unit_test(test_conflict__both_records_are_kept_and_told_of_once),
        cmocka_unit_test(test_conflict__the_device_gets_nobody_new_and_the_others_do),
        cmocka_unit_test(test_conflict__is_cured_when_one_of_the_two_is_gone),
    };

    return cmocka_run_group_tests_name("unattributed", tests, NULL, NULL);
}
