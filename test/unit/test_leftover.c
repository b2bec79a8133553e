/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/leftover.h"

static const struct host_amounts nothing;

static struct leftover left_on(const struct node *node, const struct node_use *use)
{
    struct leftover leftover;

    leftover_of(node, use, nothing, &leftover);
    return leftover;
}

static void test_leftover_of__is_what_neither_memory_nor_cores_take(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 4, 1000, 10);
    struct node_use use = use_none(node);
    struct leftover leftover;

    (void)state;
    use_take(&use, node, 1, 300, 0, ISOLATION_SOFT);
    use_take(&use, node, 2, 300, 80, ISOLATION_SOFT);
    use_take(&use, node, 3, 999, 0, ISOLATION_SOFT);
    leftover = left_on(node, &use);
    assert_int_equal(leftover.idle_milli[0], WHOLE_DEVICE_MILLI);
    assert_int_equal(leftover.idle_milli[1], 700);
    assert_int_equal(leftover.idle_milli[2], 200);
    assert_int_equal(leftover.idle_milli[3], 1);
    assert_int_equal(leftover.total_milli, 1901);
}

static void test_leftover_of__devices_that_are_not_given_out_have_nothing_left(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 6, 1000, 2);
    struct node_use use = use_none(node);
    struct leftover leftover;

    (void)state;
    node->devices[0].healthy = false;
    node->devices[1].cordoned = true;
    node->devices[2].memory_mib = 0;
    use.devices[3].conflicted = true;
    use_take(&use, node, 4, 10, 0, ISOLATION_SOFT);
    use_take(&use, node, 4, 10, 0, ISOLATION_SOFT); /* no slot is left */
    use_take(&use, node, 5, 10, 100, ISOLATION_HARD);
    leftover = left_on(node, &use);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(leftover.idle_milli[i], 0);
    assert_int_equal(leftover.total_milli, 0);
}

/* One tenant of 30 % where one or two may be, and one that takes all cores. */
static void test_leftover_of__what_is_idle_beside_the_last_tenant_is_closed(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 4, 1000, 1);
    struct node_use use = use_none(node);
    struct leftover leftover;

    (void)state;
    node->devices[1].slots = 2;
    node->devices[3].slots = 0; /* nobody may come, and nobody has */
    assert_int_equal(left_on(node, &use).closed_milli, 0);
    use_take(&use, node, 0, 300, 0, ISOLATION_SOFT);
    use_take(&use, node, 1, 300, 0, ISOLATION_SOFT);
    use_take(&use, node, 2, 300, 100, ISOLATION_HARD);
    leftover = left_on(node, &use);
    assert_int_equal(leftover.idle_milli[0], 0);
    assert_int_equal(leftover.idle_milli[1], 700);
    assert_int_equal(leftover.closed_milli, 700);
}

/* Pods whose records tell no device may sit on any. */
static void test_leftover_of__unattributed_devices_are_taken_from_the_emptiest(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 4, 1000, 10);
    struct node_use use = use_none(node);
    struct leftover leftover;

    (void)state;
    use_take(&use, node, 0, 500, 0, ISOLATION_SOFT);
    use_take(&use, node, 2, 100, 0, ISOLATION_SOFT);
    use.unattributed = 2;
    leftover = left_on(node, &use);
    assert_int_equal(leftover.idle_milli[0], 500);
    assert_int_equal(leftover.idle_milli[1], 0);
    assert_int_equal(leftover.idle_milli[2], 900);
    assert_int_equal(leftover.idle_milli[3], 0);
    assert_int_equal(leftover.total_milli, 1400);
}

static void test_leftover_of__more_unattributed_than_there_is_leaves_nothing(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 3, 1000, 10);
    AUTO(node_unref_pointer) struct node *bare = node_plain("bare", 0, 0, 0);
    struct node_use use = use_none(node), none = use_none(bare);

    (void)state;
    use.unattributed = none.unattributed = UINT32_MAX;
    assert_int_equal(left_on(node, &use).total_milli, 0);
    assert_int_equal(left_on(bare, &none).total_milli, 0);
}

static void test_leftover_of__cpu_is_what_pods_leave_and_never_less_than_none(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 1000, 10);
    const struct node_use use = use_none(node);
    struct leftover leftover;

    (void)state;
    leftover_of(node, &use, (struct host_amounts){4000, 0}, &leftover);
    assert_true(leftover.cpu_milli == UINT64_MAX); /* the node does not say what it has */
    node->host.cpu_milli = 10000;
    leftover_of(node, &use, (struct host_amounts){4000, 0}, &leftover);
    assert_int_equal(leftover.cpu_milli, 6000);
    leftover_of(node, &use, (struct host_amounts){10001, 0}, &leftover);
    assert_int_equal(leftover.cpu_milli, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leftover_of__is_what_neither_memory_nor_cores_take),
        cmocka_unit_test(test_leftover_of__devices_that_are_not_given_out_have_nothing_left),
        cmocka_unit_test(test_leftover_of__what_is_idle_beside_the_last_tenant_is_closed),
        cmocka_unit_test(test_leftover_of__unattributed_devices_are_taken_from_the_emptiest),
        cmocka_unit_test(test_leftover_of__more_unattributed_than_there_is_leaves_nothing),
        cmocka_unit_test(test_leftover_of__cpu_is_what_pods_leave_and_never_less_than_none),
    };

    return cmocka_run_group_tests_name("leftover", tests, NULL, NULL);
}
