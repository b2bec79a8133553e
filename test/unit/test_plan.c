/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/plan.h"

static void test_plan_allocation__f10_has_one_entry_per_container_in_order(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 4, 16384, 10);
    AUTO(request_clear) struct request request;
    AUTO(allocation_clear) struct allocation record;
    const struct plan plan = {.sets = {0x1, 0xa}, .tier = TIER_NUMA, .degraded = true};

    (void)state;
    request_init(&request);
    request_wish(&request, (struct wish){.kind = CONTAINER_INIT, .count = 1, .mib = 1000});
    request_wish(&request, (struct wish){.count = 0});
    request_wish(&request, (struct wish){.count = 2, .percent = 50, .cores = 20});
    plan_allocation(&plan, node, &request, &record);
    assert_string_equal(record.node, "n1");
    assert_int_equal(record.tier, TIER_NUMA);
    assert_true(record.degraded);
    assert_int_equal(record.container_count, 3);
    assert_int_equal(record.containers[0].kind, CONTAINER_INIT);
    assert_int_equal(record.containers[0].device_count, 1);
    assert_int_equal(record.containers[1].device_count, 0);
    assert_string_equal(record.containers[2].name, "c2");
    assert_int_equal(record.containers[2].device_count, 2);
    assert_string_equal(record.containers[2].devices[0].id, "GPU-1");
    assert_string_equal(record.containers[2].devices[1].id, "GPU-3");
    assert_int_equal(record.containers[2].devices[1].memory_mib, 8192);
    assert_int_equal(record.containers[2].devices[1].cores, 20);
    assert_int_equal(record.containers[2].devices[1].slots, 1);
    assert_int_equal(record.containers[2].devices[1].mode, ISOLATION_SOFT);
}

static void test_plan_allocation__f04_books_each_device_by_its_own_size(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 2, 81559, 1);
    AUTO(request_clear)
    struct request request = request_of((struct wish){.count = 2, .percent = 100});
    AUTO(allocation_clear) struct allocation record;
    const struct plan plan = {.sets = {0x3}};

    (void)state;
    node->devices[1].memory_mib = 81251;
    plan_allocation(&plan, node, &request, &record);
    assert_int_equal(record.containers[0].devices[0].memory_mib, 81559);
    assert_int_equal(record.containers[0].devices[1].memory_mib, 81251);
}

static void test_verdict_describe__gives_the_numbers(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 4, 16384, 1);
    struct verdict verdict = {.reason = REASON_MEMORY,
                              .wanted = 3,
                              .usable = 1,
                              .wanted_mib = 8000,
                              .largest_free_mib = 4000,
                              .devices = {[REASON_MEMORY] = 2, [REASON_UNHEALTHY] = 1}};
    char text[200];

    (void)state;
    verdict_describe(&verdict, node, text, sizeof text);
    assert_string_equal(text, "3 wanted, 1 usable: 1 Unhealthy, 2 InsufficientMemory; 8000 MiB "
                              "wanted on each; most free on one: 4000 MiB");
}

static void test_verdict_describe__f08_names_the_products_found(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 3, 16384, 1);
    const struct verdict verdict = {
        .reason = REASON_PRODUCT, .wanted = 1, .devices = {[REASON_PRODUCT] = 3}};
    char text[200];

    (void)state;
    text_unref(node->devices[1].product);
    node->devices[1].product = text_new("NVIDIA A10");
    verdict_describe(&verdict, node, text, sizeof text);
    assert_contains(text, "found: (no product name), NVIDIA A10");
}

/* Pods whose record does not tell which may well hold devices of another class. */
static void test_verdict_describe__names_the_class_wanted_and_those_that_are_there(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 3, 16384, 1);
    char names[2][16] = {"metax", "ascend-910b"};
    const struct device_class metax = {.name = names[0]}, ascend = {.name = names[1]};
    const struct verdict verdict = {
        .reason = REASON_NO_CLASS, .class = &metax, .wanted = 2, .unattributed = 1};
    char text[200];

    (void)state;
    node->devices[1].class = &ascend;
    verdict_describe(&verdict, node, text, sizeof text);
    assert_string_equal(text,
                        "2 of class metax wanted, the node has 2 of nvidia, 1 of ascend-910b");
}

static void test_verdict_describe__says_how_near_the_topology_came(void **state)
{
    const struct verdict verdict = {.reason = REASON_TOPOLOGY,
                                    .wanted = 2,
                                    .usable = 4,
                                    .best_tier = TIER_CROSS,
                                    .allowed_tier = TIER_NUMA};
    char text[200];

    (void)state;
    verdict_describe(&verdict, NULL, text, sizeof text);
    assert_contains(text, "best set has tier 2 (cross), allowed 1");
}

static void test_verdict_describe__fits_into_any_space(void **state)
{
    const struct verdict verdict = {
        .reason = REASON_MEMORY, .wanted = 3, .devices = {[REASON_MEMORY] = 2}};

    (void)state;
    for (size_t size = 0; size < 100; size++) {
        AUTO_FREE char *text = xcalloc(size + 1, 1);

        verdict_describe(&verdict, NULL, text, size);
        assert_true(size == 0 || strlen(text) < size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_allocation__f10_has_one_entry_per_container_in_order),
        cmocka_unit_test(test_plan_allocation__f04_books_each_device_by_its_own_size),
        cmocka_unit_test(test_verdict_describe__gives_the_numbers),
        cmocka_unit_test(test_verdict_describe__f08_names_the_products_found),
        cmocka_unit_test(test_verdict_describe__names_the_class_wanted_and_those_that_are_there),
        cmocka_unit_test(test_verdict_describe__says_how_near_the_topology_came),
        cmocka_unit_test(test_verdict_describe__fits_into_any_space),
    };

    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
