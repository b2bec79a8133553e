/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions through all verbs: filter, bind, the watch, a restart, preempt, what people see. */
#include "support/harness.h"
#include "support/test.h"

#include "topofit/views.h"

#define CARD(id) \
    "{\"id\":\"" id "\",\"product\":\"NVIDIA A100-SXM4-40GB\",\"memoryMiB\":40960," \
    "\"slots\":7,\"partitions\":true}"

static struct harness *divided_node(void)
{
    struct harness *harness = harness_new();
    json_t *annotations;

    api_node(harness, "n1", 1, 40960);
    annotations =
        json_object_get(json_object_get(api_node_json(harness, "n1"), "metadata"), "annotations");
    json_object_set_new(annotations, "topofit.io/inventory",
                        json_string("{\"devices\":[" CARD("GPU-n1-0") "," CARD("GPU-n1-1") "]}"));
    watch_node(harness, "n1");
    return harness;
}

static void test_filter_and_bind__partitions_fill_a_node_to_the_last_place(void **state)
{
    AUTO(harness_free) struct harness *harness = divided_node();

    (void)state;
    api_pod(harness, "three", "nvidia.com/mig-3g.20gb 1");
    api_pod(harness, "four", "nvidia.com/mig-4g.20gb 1");
    api_pod(harness, "seven", "nvidia.com/mig-7g.40gb 1");
    api_pod(harness, "one", "nvidia.com/mig-1g.5gb 1");
    place(harness, "three", "n1");
    place(harness, "four", "n1");
    assert_int_equal(device_of(harness, "three"), device_of(harness, "four"));
    place(harness, "seven", "n1");
    assert_int_not_equal(device_of(harness, "three"), device_of(harness, "seven"));
    assert_string_equal(expect_refused(harness, "one", "n1"),
                        "no place on a GPU for the partition asked for");
    api_delete_pod(harness, "three");
    place(harness, "one", "n1");
    assert_int_equal(device_of(harness, "one"), device_of(harness, "four"));
}

static void test_ledger__places_of_partitions_come_back_from_the_records(void **state)
{
    AUTO(harness_free) struct harness *harness = divided_node();
    struct device_use before, after;

    (void)state;
    api_pod(harness, "a", "nvidia.com/mig-2g.10gb 1; nvidia.com/mig-1g.5gb.me 1");
    place(harness, "a", "n1");
    before = use_of(harness, "n1", device_of(harness, "a"));
    assert_int_equal(before.partitions.compute, 3);
    relist_pods(harness);
    after = use_of(harness, "n1", device_of(harness, "a"));
    assert_memory_equal(&after.partitions, &before.partitions, sizeof after.partitions);
    assert_false(after.conflicted);
}

static void test_filter__memory_goes_to_divided_devices_too(void **state)
{
    AUTO(harness_free) struct harness *harness = divided_node();

    (void)state;
    api_pod(harness, "a", "gpu 1, mem 9000");
    place(harness, "a", "n1");
    assert_int_equal(recorded_mib(harness, "a", device_of(harness, "a")), 9856);
    api_pod(harness, "b", "gpu 2");
    assert_string_equal(expect_refused(harness, "b", "n1"),
                        "no place on a GPU for the partition asked for");
}

static void test_preempt__whoever_is_in_the_way_of_a_place(void **state)
{
    AUTO(harness_free) struct harness *harness = divided_node();

    (void)state;
    api_pod(harness, "low", "nvidia.com/mig-1g.5gb 1");
    api_pod(harness, "other", "nvidia.com/mig-7g.40gb 1", .priority = 5);
    place(harness, "low", "n1");
    place(harness, "other", "n1");
    api_pod(harness, "high", "nvidia.com/mig-7g.40gb 1", .priority = 9);
    ask_preempt(harness, "high", "n1: low other");
    expect_victims(harness, "n1", "low");
}

static void test_view_node__tells_places_and_what_still_goes(void **state)
{
    AUTO(harness_free) struct harness *harness = divided_node();
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);
    struct error err = {0};

    (void)state;
    api_pod(harness, "a", "nvidia.com/mig-1g.5gb 1");
    place(harness, "a", "n1");
    assert_ok(view_node(&harness->extender, "n1", (struct moment){0}, VIEW_JSON, &out, &err), &err);
    assert_contains(buf_text(&out), "1g.5gb at 6");
    assert_contains(buf_text(&out), "freePartitions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_and_bind__partitions_fill_a_node_to_the_last_place),
        cmocka_unit_test(test_ledger__places_of_partitions_come_back_from_the_records),
        cmocka_unit_test(test_filter__memory_goes_to_divided_devices_too),
        cmocka_unit_test(test_preempt__whoever_is_in_the_way_of_a_place),
        cmocka_unit_test(test_view_node__tells_places_and_what_still_goes),
    };

    return cmocka_run_group_tests_name("partition_calls", tests, NULL, NULL);
}
