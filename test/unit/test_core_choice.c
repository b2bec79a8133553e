/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/core_choice.h"

/* n devices of four cores that are addressed singly. */
static struct node *node_addressed(unsigned n, struct device_class *class)
{
    struct node *node = node_plain("n", n, 1000, 4);

    *class = test_class;
    class->hami.cores_as_mask = true;
    for (unsigned i = 0; i < n; i++) {
        node->devices[i].class = class;
        node->devices[i].cores = 4;
    }
    return node;
}

static void give(struct allocation *allocation, enum container_kind kind, uint16_t cores)
{
    allocation_add_container(allocation, "c", kind);
    record_line(allocation, "GPU-0", 0, cores, ISOLATION_SOFT);
}

static uint32_t mask_of_container(const struct allocation *allocation, size_t container)
{
    return allocation->containers[container].devices[0].core_mask;
}

static void test_cores_choose__takes_the_lowest_that_nobody_has(void **state)
{
    struct device_class class;
    AUTO(node_unref_pointer) struct node *node = node_addressed(1, &class);
    AUTO(allocation_clear) struct allocation allocation;
    struct node_use use = use_none(node);

    (void)state;
    allocation_init(&allocation);
    give(&allocation, CONTAINER_APP, 2);
    use.devices[0].core_mask = 0x5;
    cores_choose(&allocation, node, &use);
    assert_int_equal(mask_of_container(&allocation, 0), 0xa);
}

static void test_cores_choose__containers_that_run_together_share_none(void **state)
{
    struct device_class class;
    AUTO(node_unref_pointer) struct node *node = node_addressed(1, &class);
    AUTO(allocation_clear) struct allocation allocation;
    const struct node_use use = use_none(node);

    (void)state;
    allocation_init(&allocation);
    give(&allocation, CONTAINER_SIDECAR, 1);
    give(&allocation, CONTAINER_INIT, 3);
    give(&allocation, CONTAINER_APP, 1);
    give(&allocation, CONTAINER_APP, 2);
    cores_choose(&allocation, node, &use);
    assert_int_equal(mask_of_container(&allocation, 0), 0x1);
    assert_int_equal(mask_of_container(&allocation, 1), 0xe);
    assert_int_equal(mask_of_container(&allocation, 2), 0x2);
    assert_int_equal(mask_of_container(&allocation, 3), 0xc);
}

static void test_cores_choose__leaves_other_classes_alone(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 1000, 4);
    AUTO(allocation_clear) struct allocation allocation;
    const struct node_use use = use_none(node);

    (void)state;
    allocation_init(&allocation);
    give(&allocation, CONTAINER_APP, 2);
    cores_choose(&allocation, node, &use);
    assert_int_equal(mask_of_container(&allocation, 0), 0);
}

static void test_node_use_add__cores_given_twice_are_a_conflict(void **state)
{
    struct device_class class;
    AUTO(node_unref_pointer) struct node *node = node_addressed(1, &class);
    struct node_use use = use_none(node);
    struct grant grant = {
        .id = "GPU-0", .cores = 1, .slots = 1, .mode = ISOLATION_SOFT, .core_mask = 0x1};

    (void)state;
    node_use_add(&use, node, &grant);
    grant.core_mask = 0x2;
    node_use_add(&use, node, &grant);
    assert_false(use.devices[0].conflicted);
    assert_int_equal(use.devices[0].core_mask, 0x3);
    node_use_add(&use, node, &grant);
    assert_true(use.devices[0].conflicted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cores_choose__takes_the_lowest_that_nobody_has),
        cmocka_unit_test(test_cores_choose__containers_that_run_together_share_none),
        cmocka_unit_test(test_cores_choose__leaves_other_classes_alone),
        cmocka_unit_test(test_node_use_add__cores_given_twice_are_a_conflict),
    };

    return cmocka_run_group_tests_name("core_choice", tests, NULL, NULL);
}
