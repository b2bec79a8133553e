/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/packing.h"

static void test_packing_device_load__is_the_fuller_of_memory_and_cores(void **state)
{
    static const struct {
        uint64_t size_mib, used_mib;
        uint16_t cores, used_cores, want;
    } cases[] = {
        {1000, 0, 100, 0, 0},       {1000, 250, 100, 0, 250},
        {1000, 250, 100, 70, 700},  {1000, 1000, 100, 0, 1000},
        {1000, 5000, 100, 0, 1000}, /* contradicting records */
        {0, 0, 100, 0, 1000},       /* F38: a size of 0 is full, not a division by it */
        {1000, 0, 0, 0, 1000},      {UINT64_C(1) << 40, UINT64_C(1) << 39, 100, 0, 500},
        {3, 1, 100, 0, 333},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct device device = {.memory_mib = cases[i].size_mib, .cores = cases[i].cores};
        const struct device_use use = {.memory_mib = cases[i].used_mib,
                                       .cores = cases[i].used_cores};

        assert_int_equal(packing_device_load_per_mille(&device, &use), cases[i].want);
    }
}

static void test_packing_preferences__binpack_likes_full_and_spread_likes_idle(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 3, 1000, 10);
    struct node_use use = use_none(node);
    const struct device_weights none = {0};
    uint16_t preference[DEVICE_MAX];

    (void)state;
    use_take(&use, node, 1, 300, 0, ISOLATION_SOFT);
    use_take(&use, node, 2, 900, 0, ISOLATION_SOFT);
    packing_preferences(node, &use, false, &none, preference);
    assert_int_equal(preference[0], 0);
    assert_int_equal(preference[1], 300);
    assert_int_equal(preference[2], 900);
    packing_preferences(node, &use, true, &none, preference);
    assert_int_equal(preference[0], 1000);
    assert_int_equal(preference[1], 700);
    assert_int_equal(preference[2], 100);
}

static void test_packing_preferences__go_by_what_counts(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 1000, 10);
    struct node_use use = use_none(node);
    static const struct {
        struct device_weights weights;
        uint16_t want;
    } cases[] = {
        {{1, 0, 0}, 100}, {{0, 1, 0}, 200}, {{0, 0, 1}, 300},
        {{1, 1, 1}, 200}, {{1, 0, 3}, 250}, {{0, 0, 0}, 300},
    };

    (void)state;
    use_take(&use, node, 0, 300, 20, ISOLATION_SOFT);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint16_t preference[DEVICE_MAX];

        packing_preferences(node, &use, false, &cases[i].weights, preference);
        assert_int_equal(preference[0], cases[i].want);
    }
}

static void test_packing_node_load__is_the_mean_over_the_devices_asked_about(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 3, 1000, 10);
    struct node_use use = use_none(node);

    (void)state;
    use_take(&use, node, 1, 300, 0, ISOLATION_SOFT);
    use_take(&use, node, 2, 900, 0, ISOLATION_SOFT);
    assert_int_equal(packing_node_load_per_mille(node, &use, 0x7), 400);
    assert_int_equal(packing_node_load_per_mille(node, &use, 0x6), 600);
    assert_int_equal(packing_node_load_per_mille(node, &use, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packing_device_load__is_the_fuller_of_memory_and_cores),
        cmocka_unit_test(test_packing_preferences__binpack_likes_full_and_spread_likes_idle),
        cmocka_unit_test(test_packing_preferences__go_by_what_counts),
        cmocka_unit_test(test_packing_node_load__is_the_mean_over_the_devices_asked_about),
    };

    return cmocka_run_group_tests_name("packing", tests, NULL, NULL);
}
