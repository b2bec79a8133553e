/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/core_choice.h"

/* n devices of four cores that are addressed singly. */
static struct node *node_addressed(unsigned n, struct device_class *class)
{
    struct node *node = node_plain("n", n, 1000, 4);

    *class = test_class;
    class->cores_addressed = true;
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
    assert_true(cores_choose(&allocation, node, &use));
    assert_int_equal(mask_of_container(&allocation, 0), 0xa);
}

static void test_cores_choose__says_that_there_are_too_few(void **state)
{
    struct device_class class;
    AUTO(node_unref_pointer) struct node *node = node_addressed(1, &class);
    AUTO(allocation_clear) struct allocation allocation;
    struct node_use use = use_none(node);

    (void)state;
    allocation_init(&allocation);
    give(&allocation, CONTAINER_APP, 2);
    use.devices[0].core_mask = 0xb;
    assert_false(cores_choose(&allocation, node, &use));
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
    assert_true(cores_choose(&allocation, node, &use));
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
    assert_true(cores_choose(&allocation, node, &use));
    assert_int_equal(mask_of_container(&allocation, 0), 0);
}

static void test_core_naming__tells_counted_named_and_unnamed_apart(void **state)
{
    struct device_class class;
    AUTO(node_unref_pointer) struct node *node = node_addressed(1, &class);
    AUTO(node_unref_pointer) struct node *other = node_plain("n", 1, 1000, 4);

    (void)state;
    assert_int_equal(core_naming(&node->devices[0], 2, 0x5), CORES_NAMED);
    assert_int_equal(core_naming(&node->devices[0], 0, 0), CORES_NAMED);
    assert_int_equal(core_naming(&node->devices[0], 2, 0), CORES_UNNAMED);
    assert_int_equal(core_naming(&node->devices[0], 2, 0x1), CORES_UNNAMED);
    assert_int_equal(core_naming(&node->devices[0], 1, 0x10), CORES_UNNAMED); /* has four */
    assert_int_equal(core_naming(&other->devices[0], 2, 0), CORES_COUNTED);
    node->devices[0].cores = CORES_ADDRESSED_MAX + 1;
    assert_int_equal(core_naming(&node->devices[0], 2, 0), CORES_COUNTED);
}

static void test_node_use_add__cores_that_nobody_names_may_be_any(void **state)
{
    struct device_class class;
    AUTO(node_unref_pointer) struct node *node = node_addressed(1, &class);
    struct node_use use = use_none(node);
    struct grant grant = {.id = "GPU-0", .cores = 1, .slots = 1, .mode = ISOLATION_SOFT};

    (void)state;
    grant.is_planned = true;
    node_use_add(&use, node, &grant);
    assert_false(use.devices[0].exclusive);
    use = use_none(node);
    grant.is_planned = false;
    node_use_add(&use, node, &grant);
    assert_true(use.devices[0].exclusive);
    assert_false(use.devices[0].conflicted);
    grant.core_mask = 0x2;
    node_use_add(&use, node, &grant); /* and that one may be the same */
    assert_true(use.devices[0].conflicted);
}

/* Somebody else's init container had other cores than the app. */
static void test_allocation_grants__count_all_cores_that_are_named(void **state)
{
    AUTO(allocation_clear) struct allocation allocation;
    struct grant grant;

    (void)state;
    allocation_init(&allocation);
    give(&allocation, CONTAINER_INIT, 1);
    give(&allocation, CONTAINER_APP, 1);
    allocation.containers[0].devices[0].core_mask = 0x1;
    allocation.containers[1].devices[0].core_mask = 0x2;
    assert_int_equal(allocation_grants(&allocation, false, &grant, 1), 1);
    assert_int_equal(grant.cores, 2);
    assert_int_equal(allocation_grants(&allocation, true, &grant, 1), 1);
    assert_int_equal(grant.cores, 1);
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
        cmocka_unit_test(test_cores_choose__says_that_there_are_too_few),
        cmocka_unit_test(test_core_naming__tells_counted_named_and_unnamed_apart),
        cmocka_unit_test(test_node_use_add__cores_that_nobody_names_may_be_any),
        cmocka_unit_test(test_allocation_grants__count_all_cores_that_are_named),
        cmocka_unit_test(test_node_use_add__cores_given_twice_are_a_conflict),
    };

    return cmocka_run_group_tests_name("core_choice", tests, NULL, NULL);
}
