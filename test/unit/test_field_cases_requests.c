/* SPDX-License-Identifier: Apache-2.0 */
/* Field cases about what a pod asks for: F01 units, F02 whole devices, F10 init containers. */
#include "support/harness.h"

#include <ctype.h>

static bool has_digit(const char *text)
{
    for (; *text != '\0'; text++) {
        if (isdigit((unsigned char)*text))
            return true;
    }
    return false;
}

/* --- F01: memory written with a unit suffix books nothing ------------------------------------ */

static void test_f01__16Gi_is_16384_MiB_and_never_fits_a_full_device(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 1, 24576);
    api_node(harness, "n2", 1, 24576);
    api_pod(harness, "a", "gpu 1, mem 24576");
    api_pod(harness, "b", "gpu 1, mem 16Gi");
    api_pod(harness, "b2", "gpu 1, mem 17179869184");
    place(harness, "a", "n1");
    expect_refused(harness, "b", "n1");
    place(harness, "b", "n2");
    assert_int_equal(recorded_mib(harness, "b", 0), 16384);
    assert_int_equal(use_of(harness, "n2", 0).memory_mib, 16384);
    /* The same written without a unit is MiB: no device is that big, and nothing wraps to 0. */
    expect_refused(harness, "b2", "n1");
    expect_refused(harness, "b2", "n2");
}

static void test_f01__20k_as_the_API_server_writes_20000_is_20000_MiB(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n2", 1, 24576);
    api_pod(harness, "c", "gpu 1, mem 20k");
    place(harness, "c", "n2");
    assert_int_equal(recorded_mib(harness, "c", 0), 20000);
}

/* What an amount books on an idle device of 24576 MiB; 0 = it is refused. */
static const struct {
    const char *amount;
    uint64_t booked_mib;
    bool is_readable;
} amounts[] = {
    {"16384M", 15625, true}, /* 16384 * 10^6 bytes */
    {"4294967296", 0, true}, /* its low 32 bits are 0; no device has 4 PiB */
    {"4294967297", 0, true}, {"18446744073709551616", 0, false},
    {"-1", 0, false},        {"-16Gi", 0, false},
    {"1.5", 0, false},       {"500m", 0, false},
    {"0", 0, false},         {"0Gi", 0, false},
    {"", 0, false},          {"16GB", 0, false},
    {"16 Gi", 0, false},     {"lots", 0, false},
    {"1", 1, true},          {"1Ki", 1, true}, /* rounded up, never to 0 */
    {"1e3", 1000, true},     {"1.5Gi", 1536, true},
};

static void test_f01__no_amount_is_ever_booked_as_0_or_less(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();
        AUTO_FREE char *wants = xasprintf("gpu 1, mem %s", amounts[i].amount);

        api_node(harness, "n2", 1, 24576);
        api_pod(harness, "p", wants);
        if (amounts[i].booked_mib > 0) {
            place(harness, "p", "n2");
            assert_int_equal(recorded_mib(harness, "p", 0), amounts[i].booked_mib);
            continue;
        }
        expect_refused(harness, "p", "n2");
        assert_string_not_equal(ask_bind(harness, "p", "n2"), "");
        assert_false(holds(harness, "p"));
        assert_int_equal(harness->submitted, 0);
    }
}

static void test_f01__an_unreadable_amount_is_refused_with_resource_and_unit(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();
        AUTO_FREE char *wants = xasprintf("gpu 1, mem %s", amounts[i].amount);
        const char *text;

        if (amounts[i].is_readable)
            continue;
        api_node(harness, "n2", 1, 24576);
        api_pod(harness, "p", wants);
        text = expect_refused(harness, "p", "n2");
        assert_contains(text, "nvidia.com/gpumem");
        assert_contains(text, "MiB");
        assert_contains(text, "c0"); /* the container */
        assert_true(is_unresolvable(harness, "n2"));
    }
}

/* --- F02: a device asked for without memory means the whole device -------------------------------
 */

static void test_f02__a_device_without_memory_is_booked_whole_and_alone(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    const char *text;

    (void)state;
    api_node(harness, "n1", 1, 32768);
    api_pod(harness, "a", "gpu 1");
    api_pod(harness, "b", "gpu 1, mem 1000");
    place(harness, "a", "n1");
    assert_int_equal(recorded_mib(harness, "a", 0), 32768);
    assert_int_equal(use_of(harness, "n1", 0).memory_mib, 32768);
    text = expect_refused(harness, "b", "n1");
    assert_contains(text, "free GPU memory (MiB)");
    assert_false(has_digit(text)); /* no 101, no negative number */
    assert_null(strchr(text, '-'));
}

static void test_f02__the_detail_of_the_refusal_has_free_memory_and_no_stand_in_value(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO_FREE char *detail = NULL;

    (void)state;
    api_node(harness, "n1", 1, 32768);
    api_pod(harness, "a", "gpu 1");
    api_pod(harness, "b", "gpu 1, mem 1000");
    place(harness, "a", "n1");
    expect_refused(harness, "b", "n1");
    detail = detail_of(harness, "b", "n1");
    assert_contains(detail, "1 wanted, 0 usable");
    assert_contains(detail, "1000 MiB wanted");
    assert_contains(detail, "0 MiB");
    assert_null(strstr(detail, "101"));
    assert_null(strchr(detail, '-'));
}

static void test_f02__whole_devices_and_fractions_never_meet(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO_FREE char *before = NULL, *after = NULL;

    (void)state;
    api_node(harness, "n2", 4, 16384);
    api_pod(harness, "c", "gpu 2");
    api_pod(harness, "d", "gpu 2, mem 8000");
    api_pod(harness, "e", "gpu 3, mem 8000");
    place(harness, "c", "n2");
    expect_refused(harness, "e", "n2");
    before = detail_of(harness, "e", "n2");
    assert_contains(before, "3 wanted, 2 usable");
    place(harness, "d", "n2");
    assert_int_equal(mask_count(devices_of(harness, "c")), 2);
    assert_int_equal(mask_count(devices_of(harness, "d")), 2);
    assert_int_equal(devices_of(harness, "c") & devices_of(harness, "d"), 0);
    expect_refused(harness, "e", "n2");
    after = detail_of(harness, "e", "n2");
    assert_contains(after, "3 wanted, 2 usable");
}

/* --- F10: init containers and sidecars ------------------------------------------------------- */

#define A_WANTS \
    "init gpu 1, mem 10240; init gpu 1, mem 10240; init gpu 1, mem 10240; gpu 1, mem 12288"
#define B_WANTS "init gpu 1, mem 10240; gpu 1, mem 4096"
#define C_WANTS "sidecar gpu 1, mem 4096; init gpu 1, mem 10240; gpu 1, mem 8192"

static void test_f10__what_counts_is_the_greatest_phase(void **state)
{
    static const struct {
        const char *wants;
        uint64_t before_mib, after_mib; /* the init containers have ended */
    } cases[] = {{A_WANTS, 12288, 12288}, {B_WANTS, 10240, 4096}, {C_WANTS, 14336, 12288}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();

        api_node(harness, "n1", 1, 16384);
        api_pod(harness, "p", cases[i].wants);
        place(harness, "p", "n1");
        assert_int_equal(use_of(harness, "n1", 0).memory_mib, cases[i].before_mib);
        api_finish_init(harness, "p");
        assert_int_equal(use_of(harness, "n1", 0).memory_mib, cases[i].after_mib);
    }
}

static void test_f10__a_pod_that_exceeds_the_device_in_one_phase_only_is_refused(void **state)
{
    static const char *const wants[] = {
        "init gpu 1, mem 16385; gpu 1, mem 1",
        "sidecar gpu 1, mem 8192; init gpu 1, mem 8193; gpu 1, mem 1",
        "sidecar gpu 1, mem 8192; gpu 1, mem 8193",
        "gpu 1, mem 8192; gpu 1, mem 8193",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();

        api_node(harness, "n1", 1, 16384);
        api_pod(harness, "p", wants[i]);
        expect_refused(harness, "p", "n1");
    }
}

static void test_f10__memory_of_init_containers_is_free_once_they_have_ended(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 1, 16384);
    api_pod(harness, "b", B_WANTS);
    api_pod(harness, "d", "gpu 1, mem 8192");
    place(harness, "b", "n1");
    expect_refused(harness, "d", "n1");
    api_finish_init(harness, "b");
    place(harness, "d", "n1");
    assert_int_equal(use_of(harness, "n1", 0).memory_mib, 12288);
}

static void test_f10__an_init_container_that_failed_or_runs_still_counts(void **state)
{
    static const char *const states[] = {
        "{\"terminated\":{\"exitCode\":1}}",
        "{\"running\":{\"startedAt\":\"2026-11-30T07:00:00Z\"}}",
        "{\"waiting\":{\"reason\":\"PodInitializing\"}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();
        json_t *status;

        api_node(harness, "n1", 1, 16384);
        api_pod(harness, "b", B_WANTS);
        api_pod(harness, "d", "gpu 1, mem 8192");
        place(harness, "b", "n1");
        status = json_object_get(api_pod_json(harness, "b"), "status");
        json_object_set_new(
            status, "initContainerStatuses",
            json_pack("[{s:s,s:o}]", "name", "c0", "state", json_loads(states[i], 0, NULL)));
        watch_pod(harness, "b");
        expect_refused(harness, "d", "n1");
    }
}

static void test_f10__the_record_has_one_entry_per_container_in_order(void **state)
{
    static const char *const kinds[] = {"init", "sidecar", "app", "app"};
    static const size_t devices[] = {1, 0, 0, 2};
    AUTO(harness_free) struct harness *harness = harness_new();
    json_t *record, *containers;
    const json_t *annotations;

    (void)state;
    api_node(harness, "n1", 2, 16384);
    api_pod(harness, "p", "init gpu 1, mem 100; sidecar none; none; gpu 2, mem 200");
    place(harness, "p", "n1");
    annotations =
        json_object_get(json_object_get(api_pod_json(harness, "p"), "metadata"), "annotations");
    record = json_loads(json_string_value(json_object_get(annotations, "topofit.io/allocation")), 0,
                        NULL);
    containers = json_object_get(record, "containers");
    assert_int_equal(json_array_size(containers), ARRAY_LEN(kinds));
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const json_t *entry = json_array_get(containers, i);
        char name[] = "c0";

        name[1] = (char)('0' + i);
        assert_string_equal(json_string_value(json_object_get(entry, "name")), name);
        assert_string_equal(json_string_value(json_object_get(entry, "kind")), kinds[i]);
        assert_int_equal(json_array_size(json_object_get(entry, "devices")), devices[i]);
    }
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f01__16Gi_is_16384_MiB_and_never_fits_a_full_device),
        cmocka_unit_test(test_f01__20k_as_the_API_server_writes_20000_is_20000_MiB),
        cmocka_unit_test(test_f01__no_amount_is_ever_booked_as_0_or_less),
        cmocka_unit_test(test_f01__an_unreadable_amount_is_refused_with_resource_and_unit),
        cmocka_unit_test(test_f02__a_device_without_memory_is_booked_whole_and_alone),
        cmocka_unit_test(test_f02__the_detail_of_the_refusal_has_free_memory_and_no_stand_in_value),
        cmocka_unit_test(test_f02__whole_devices_and_fractions_never_meet),
        cmocka_unit_test(test_f10__what_counts_is_the_greatest_phase),
        cmocka_unit_test(test_f10__a_pod_that_exceeds_the_device_in_one_phase_only_is_refused),
        cmocka_unit_test(test_f10__memory_of_init_containers_is_free_once_they_have_ended),
        cmocka_unit_test(test_f10__an_init_container_that_failed_or_runs_still_counts),
        cmocka_unit_test(test_f10__the_record_has_one_entry_per_container_in_order),
    };

    return cmocka_run_group_tests_name("field_cases_requests", tests, NULL, NULL);
}
