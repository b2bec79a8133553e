/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field cases about what fits: F04 sizes, F05 overbooking, F07 exclusive cores, F08 models, F11
 * parts of several devices.
 */
#include "support/harness.h"

#define USE_PRODUCTS "topofit.io/use-products"
#define AVOID_PRODUCTS "topofit.io/avoid-products"

/* --- F04: devices of slightly different size; node totals are not averages ---------------------
 */

static void test_f04__each_device_is_booked_with_its_own_size(void **state)
{
    static const uint64_t sizes[] = {81559, 81559, 81559, 81251, 81559, 81559, 81559, 81559};
    static const char *const wants[] = {"gpu 8, pct 100", "gpu 8"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();

        api_node(harness, "n1", 8, 0, .memory_each = sizes);
        api_pod(harness, "a", wants[i]);
        api_pod(harness, "one", "gpu 1, mem 1");
        place(harness, "a", "n1");
        for (unsigned device = 0; device < 8; device++)
            assert_int_equal(recorded_mib(harness, "a", device), sizes[device]);
        expect_refused(harness, "one", "n1");
    }
}

static void test_f04__only_a_device_that_is_big_enough_counts(void **state)
{
    static const uint64_t sizes[] = {10240, 20480};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n2", 2, 0, .memory_each = sizes);
    api_pod(harness, "b", "gpu 1, mem 16000");
    api_pod(harness, "c", "gpu 1, mem 21000");
    api_pod(harness, "d", "gpu 2, mem 11000");
    expect_refused(harness, "c", "n2");
    assert_true(is_unresolvable(harness, "n2"));
    expect_refused(harness, "d", "n2");
    assert_true(is_unresolvable(harness, "n2"));
    place(harness, "b", "n2");
    assert_int_equal(device_of(harness, "b"), 1);
}

static void test_f04__each_container_gets_a_device_that_is_big_enough_in_any_order(void **state)
{
    static const uint64_t sizes[] = {16384, 8192, 8192, 8192};
    static const char *const wants[] = {
        "gpu 1, mem 9000; gpu 2",
        "gpu 2; gpu 1, mem 9000",
        "sidecar gpu 1, mem 9000; gpu 2; gpu 1, mem 100, cores 100",
        "gpu 1, pct 100; gpu 1, mem 8000; gpu 1, mem 8000",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();

        api_node(harness, "n1", 4, 0, .memory_each = sizes);
        api_pod(harness, "p", wants[i]);
        place(harness, "p", "n1");
    }
}

/* --- F05: more pods admitted than the device holds ---------------------------------------------
 */

static const struct {
    uint64_t device_mib;
    int slots;
    unsigned pods;
    const char *wants;
    unsigned fit;
    uint64_t used_mib;
} crowds[] = {
    {24576, 10, 3, "gpu 1, mem 12288", 2, 24576},
    {46068, 32, 24, "gpu 1, mem 2000", 23, 46000},
};

static struct harness *crowd_new(size_t crowd)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 1, crowds[crowd].device_mib, .slots = crowds[crowd].slots);
    for (unsigned i = 0; i < crowds[crowd].pods; i++) {
        AUTO_FREE char *name = xasprintf("p%u", i);

        api_pod(harness, name, crowds[crowd].wants);
    }
    return harness;
}

static void test_f05__one_after_the_other_exactly_as_many_as_the_device_holds(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(crowds); k++) {
        AUTO(harness_free) struct harness *harness = crowd_new(k);

        for (unsigned i = 0; i < crowds[k].pods; i++) {
            AUTO_FREE char *name = xasprintf("p%u", i);

            if (i < crowds[k].fit)
                place(harness, name, "n1");
            else
                assert_contains(expect_refused(harness, name, "n1"), "memory");
        }
        assert_int_equal(use_of(harness, "n1", 0).memory_mib, crowds[k].used_mib);
    }
}

static void test_f05__all_filters_before_all_binds_exactly_as_many_as_the_device_holds(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(crowds); k++) {
        AUTO(harness_free) struct harness *harness = crowd_new(k);
        unsigned bound = 0;

        for (unsigned i = 0; i < crowds[k].pods; i++) {
            AUTO_FREE char *name = xasprintf("p%u", i);

            expect_kept(harness, name, "n1", "n1");
        }
        for (unsigned i = 0; i < crowds[k].pods; i++) {
            AUTO_FREE char *name = xasprintf("p%u", i);
            const char *error = ask_bind(harness, name, "n1");

            bound += error[0] == '\0';
            if (error[0] != '\0')
                assert_contains(error, "memory");
            assert_int_equal(holds(harness, name), error[0] == '\0');
            assert_true(use_of(harness, "n1", 0).memory_mib <= crowds[k].device_mib);
        }
        assert_int_equal(bound, crowds[k].fit);
        assert_int_equal(use_of(harness, "n1", 0).memory_mib, crowds[k].used_mib);
    }
}

/* --- F07: exclusive cores and whole devices against sharers ------------------------------------
 */

static struct harness *cores_new(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 1, 40960);
    api_pod(harness, "a", "gpu 1, mem 1000, cores 100");
    api_pod(harness, "b", "gpu 1, mem 1000");
    api_pod(harness, "c", "gpu 1, mem 1000, cores 60");
    api_pod(harness, "d", "gpu 1, mem 1000, cores 50");
    api_pod(harness, "d40", "gpu 1, mem 1000, cores 40");
    api_pod(harness, "e", "gpu 1");
    return harness;
}

static void test_f07__beside_exclusive_cores_nobody_is_let_in(void **state)
{
    AUTO(harness_free) struct harness *harness = cores_new();

    (void)state;
    place(harness, "a", "n1");
    assert_contains(expect_refused(harness, "b", "n1"), "cores");
    assert_contains(expect_refused(harness, "c", "n1"), "cores");
    assert_contains(expect_refused(harness, "d", "n1"), "cores");
    assert_contains(expect_refused(harness, "e", "n1"), "memory");
}

static void test_f07__exclusive_cores_and_whole_devices_do_not_join_a_sharer(void **state)
{
    AUTO(harness_free) struct harness *harness = cores_new();

    (void)state;
    place(harness, "b", "n1");
    assert_contains(expect_refused(harness, "a", "n1"), "cores");
    assert_contains(expect_refused(harness, "e", "n1"), "memory");
}

static void test_f07__beside_a_whole_device_nobody_is_let_in(void **state)
{
    AUTO(harness_free) struct harness *harness = cores_new();

    (void)state;
    place(harness, "e", "n1");
    expect_refused(harness, "a", "n1");
    expect_refused(harness, "b", "n1");
    expect_refused(harness, "c", "n1");
}

static void test_f07__core_units_of_sharers_add_up_to_100_at_most(void **state)
{
    AUTO(harness_free) struct harness *harness = cores_new();

    (void)state;
    place(harness, "c", "n1");
    assert_contains(expect_refused(harness, "d", "n1"), "cores");
    place(harness, "d40", "n1");
    assert_int_equal(use_of(harness, "n1", 0).cores, 100);
}

static void test_f07__101_core_units_are_invalid(void **state)
{
    AUTO(harness_free) struct harness *harness = cores_new();
    const char *text;

    (void)state;
    api_pod(harness, "x", "gpu 1, mem 1000, cores 101");
    text = expect_refused(harness, "x", "n1");
    assert_contains(text, "nvidia.com/gpucores");
    assert_contains(text, "core units from 0 to 100");
    assert_true(is_unresolvable(harness, "n1"));
}

/* --- F08: device model chosen by part of its name ----------------------------------------------
 */

static struct harness *models_new(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 1, 81920, .product = "NVIDIA A100-SXM4-80GB");
    api_node(harness, "n2", 1, 24576, .product = "NVIDIA A10");
    api_node(harness, "n3", 1, 81920, .product = "NVIDIA H200");
    api_node(harness, "n4", 1, 81920, .product = "NVIDIA H20");
    return harness;
}

static void test_f08__whole_words_of_the_model_decide(void **state)
{
    static const struct {
        const char *key, *list, *kept;
    } cases[] = {
        {USE_PRODUCTS, "A10", "n2"},
        {USE_PRODUCTS, "A100", "n1"},
        {USE_PRODUCTS, "H20", "n4"},
        {USE_PRODUCTS, "h20, A10", "n2 n4"},
        {USE_PRODUCTS, "A10,", "n2"},
        {USE_PRODUCTS, ", ,a10 ,,", "n2"},
        {USE_PRODUCTS, "A1", ""},
        {USE_PRODUCTS, "100", ""},
        {USE_PRODUCTS, "A100-SXM4-80GB", "n1"},
        {USE_PRODUCTS, "NVIDIA A10", "n2"},
        {USE_PRODUCTS, "SXM4", "n1"},
        {USE_PRODUCTS, "NVIDIA", "n1 n2 n3 n4"},
        {AVOID_PRODUCTS, "A10", "n1 n3 n4"},
        {AVOID_PRODUCTS, "A10,", "n1 n3 n4"},
        {AVOID_PRODUCTS, "h20, h200", "n1 n2"},
        {AVOID_PRODUCTS, "A1", "n1 n2 n3 n4"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = models_new();

        api_pod(harness, "p", "gpu 1", .annotations = {cases[i].key, cases[i].list});
        expect_kept(harness, "p", "n1 n2 n3 n4", cases[i].kept);
    }
}

static void test_f08__a_list_without_items_selects_nothing_in_particular(void **state)
{
    AUTO(harness_free) struct harness *harness = models_new();

    (void)state;
    api_pod(harness, "p", "gpu 1", .annotations = {USE_PRODUCTS, " , ,", AVOID_PRODUCTS, ","});
    expect_kept(harness, "p", "n1 n2 n3 n4", "n1 n2 n3 n4");
}

static void test_f08__the_refusal_lasts_and_names_the_model_wanted_and_the_one_found(void **state)
{
    AUTO(harness_free) struct harness *harness = models_new();

    (void)state;
    api_pod(harness, "a", "gpu 1", .annotations = {USE_PRODUCTS, "A10"});
    api_pod(harness, "f", "gpu 1", .annotations = {AVOID_PRODUCTS, "A10"});
    ask_filter(harness, "a", "n1 n2 n3 n4");
    assert_true(is_unresolvable(harness, "n1") && is_unresolvable(harness, "n3"));
    assert_contains(refusal_of(harness, "n1"), "A10,");
    assert_contains(refusal_of(harness, "n1"), "NVIDIA A100-SXM4-80GB");
    assert_contains(refusal_of(harness, "n4"), "NVIDIA H20");
    ask_filter(harness, "f", "n2");
    assert_true(is_unresolvable(harness, "n2"));
    assert_contains(refusal_of(harness, "n2"), "A10,");
    assert_contains(refusal_of(harness, "n2"), "NVIDIA A10");
}

static void test_f08__of_a_mixed_node_all_models_found_are_named(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    const char *text;

    (void)state;
    api_node(harness, "mixed", 2, 24576, .product = "NVIDIA A10");
    json_object_set_new(
        json_object_get(json_object_get(api_node_json(harness, "mixed"), "metadata"),
                        "annotations"),
        "topofit.io/inventory",
        json_string("{\"devices\":[{\"id\":\"G0\",\"memoryMiB\":24576,\"product\":\"NVIDIA A10\"},"
                    "{\"id\":\"G1\",\"memoryMiB\":24576,\"product\":\"NVIDIA T4\"}]}"));
    watch_node(harness, "mixed");
    api_pod(harness, "p", "gpu 2", .annotations = {USE_PRODUCTS, "A10"});
    text = expect_refused(harness, "p", "mixed");
    assert_contains(text, "NVIDIA A10");
    assert_contains(text, "NVIDIA T4");
}

/* --- F11: the same part of several devices -----------------------------------------------------
 */

/* links  NULL: nothing is known of the links. */
static struct harness *halves_new(enum device_order device_order, const char *links)
{
    struct harness *harness = harness_new();

    harness->extender.options.policy.device_order = device_order;
    api_node(harness, "n1", 8, 81920, .links = links);
    for (unsigned i = 1; i <= 5; i++) {
        AUTO_FREE char *name = xasprintf("a%u", i);

        api_pod(harness, name, "gpu 4, mem 40960");
    }
    return harness;
}

static void test_f11__four_pods_of_four_halves_fill_eight_devices(void **state)
{
    static const enum device_order policies[] = {DEVICES_BINPACK, DEVICES_SPREAD};

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(policies); k++) {
        AUTO(harness_free) struct harness *harness = halves_new(policies[k], NULL);

        for (unsigned i = 1; i <= 4; i++) {
            AUTO_FREE char *name = xasprintf("a%u", i);
            device_mask devices;

            place(harness, name, "n1");
            devices = devices_of(harness, name);
            assert_int_equal(mask_count(devices), 4);
            for (; devices != 0; devices &= devices - 1)
                assert_int_equal(recorded_mib(harness, name, mask_first(devices)), 40960);
        }
        for (unsigned device = 0; device < 8; device++)
            assert_int_equal(use_of(harness, "n1", device).memory_mib, 81920);
        expect_refused(harness, "a5", "n1");
    }
}

/* Wirings without and with preferred groups. */
static const char *const wirings[] = {
    NULL, "",                                          /* all slow */
    "0-1 0-2 0-3 1-2 1-3 2-3 4-5 4-6 4-7 5-6 5-7 6-7", /* two groups of four */
};

static void test_f11__binpack_shares_the_same_devices(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wirings); i++) {
        AUTO(harness_free) struct harness *harness = halves_new(DEVICES_BINPACK, wirings[i]);

        place(harness, "a1", "n1");
        place(harness, "a2", "n1");
        assert_int_equal(devices_of(harness, "a1"), devices_of(harness, "a2"));
    }
}

static void test_f11__spread_does_not_share_while_devices_are_idle(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wirings); i++) {
        AUTO(harness_free) struct harness *harness = halves_new(DEVICES_SPREAD, wirings[i]);

        place(harness, "a1", "n1");
        place(harness, "a2", "n1");
        assert_int_equal(devices_of(harness, "a1") & devices_of(harness, "a2"), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f04__each_device_is_booked_with_its_own_size),
        cmocka_unit_test(test_f04__only_a_device_that_is_big_enough_counts),
        cmocka_unit_test(test_f04__each_container_gets_a_device_that_is_big_enough_in_any_order),
        cmocka_unit_test(test_f05__one_after_the_other_exactly_as_many_as_the_device_holds),
        cmocka_unit_test(
            test_f05__all_filters_before_all_binds_exactly_as_many_as_the_device_holds),
        cmocka_unit_test(test_f07__beside_exclusive_cores_nobody_is_let_in),
        cmocka_unit_test(test_f07__exclusive_cores_and_whole_devices_do_not_join_a_sharer),
        cmocka_unit_test(test_f07__beside_a_whole_device_nobody_is_let_in),
        cmocka_unit_test(test_f07__core_units_of_sharers_add_up_to_100_at_most),
        cmocka_unit_test(test_f07__101_core_units_are_invalid),
        cmocka_unit_test(test_f08__whole_words_of_the_model_decide),
        cmocka_unit_test(test_f08__a_list_without_items_selects_nothing_in_particular),
        cmocka_unit_test(test_f08__the_refusal_lasts_and_names_the_model_wanted_and_the_one_found),
        cmocka_unit_test(test_f08__of_a_mixed_node_all_models_found_are_named),
        cmocka_unit_test(test_f11__four_pods_of_four_halves_fill_eight_devices),
        cmocka_unit_test(test_f11__binpack_shares_the_same_devices),
        cmocka_unit_test(test_f11__spread_does_not_share_while_devices_are_idle),
    };

    return cmocka_run_group_tests_name("field_cases_fit", tests, NULL, NULL);
}
