/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/kube_words.h"
#include "support/test.h"

#include "topofit/dialect.h"

static struct request read_amounts(const char *amounts)
{
    AUTO(kube_pod_clear) struct kube_pod pod;
    struct request request;

    kube_pod_init(&pod);
    kube_pod_ask(&pod, CONTAINER_APP, amounts);
    dialect_request(&pod, &test_classes, &request);
    return request;
}

static void test_amounts__become_asks(void **state)
{
    static const struct {
        const char *amounts;
        unsigned count;
        enum memory_kind kind;
        uint64_t memory;
        uint16_t cores;
    } cases[] = {
        {"nvidia.com/gpu=2", 2, MEMORY_WHOLE, 0, 0}, /* F02 */
        {"nvidia.com/gpu=2000m", 2, MEMORY_WHOLE, 0, 0},
        {"nvidia.com/gpu=1 nvidia.com/gpumem=4000 nvidia.com/gpucores=30", 1, MEMORY_MIB, 4000, 30},
        {"nvidia.com/gpu=1 nvidia.com/gpumem-percentage=40", 1, MEMORY_PERCENT, 40, 0},
        {"nvidia.com/gpumem=4000", 1, MEMORY_MIB, 4000, 0}, /* one device when none is counted */
        {"nvidia.com/gpucores=50", 1, MEMORY_WHOLE, 0, 50},
        {"nvidia.com/gpu=1 nvidia.com/gpumem=16Gi", 1, MEMORY_MIB, 16384, 0}, /* F01 */
        {"nvidia.com/gpu=1 nvidia.com/gpumem=20k", 1, MEMORY_MIB, 20000, 0},
        {"nvidia.com/gpu=1 nvidia.com/gpumem=16384M", 1, MEMORY_MIB, 15625, 0},
        {"nvidia.com/gpu=1 nvidia.com/gpucores=100", 1, MEMORY_WHOLE, 0, 100},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request = read_amounts(cases[i].amounts);

        assert_null(request.problem);
        assert_int_equal(request.ask_count, 1);
        assert_ptr_equal(request.asks[0].class, &test_class);
        assert_int_equal(request.asks[0].count, cases[i].count);
        assert_int_equal(request.asks[0].memory_kind, cases[i].kind);
        assert_int_equal(request.asks[0].memory, cases[i].memory);
        assert_int_equal(request.asks[0].cores, cases[i].cores);
    }
}

/* Never a booking of zero: what cannot be read is refused, with the resource and what is expected.
 */
static void test_amounts__f01_what_cannot_be_read_is_a_problem_and_no_ask(void **state)
{
    static const struct {
        const char *amounts, *resource, *expected;
    } cases[] = {
        {"nvidia.com/gpu=1 nvidia.com/gpumem=-1", "nvidia.com/gpumem", "MiB"},
        {"nvidia.com/gpu=1 nvidia.com/gpumem=1.5", "nvidia.com/gpumem", "16Gi"},
        {"nvidia.com/gpu=1 nvidia.com/gpumem=500m", "nvidia.com/gpumem", "MiB"},
        {"nvidia.com/gpu=1 nvidia.com/gpumem=0", "nvidia.com/gpumem", "at least 1"},
        {"nvidia.com/gpu=1 nvidia.com/gpumem=0Gi", "nvidia.com/gpumem", "MiB"},
        {"nvidia.com/gpu=1 nvidia.com/gpumem=lots", "nvidia.com/gpumem", "MiB"},
        {"nvidia.com/gpu=1 nvidia.com/gpumem=", "nvidia.com/gpumem", "MiB"},
        {"nvidia.com/gpu=1 nvidia.com/gpumem=99999999999999999999", "nvidia.com/gpumem", "MiB"},
        {"nvidia.com/gpu=1 nvidia.com/gpumem-percentage=0", "gpumem-percentage", "1 to 100"},
        {"nvidia.com/gpu=1 nvidia.com/gpumem-percentage=101", "gpumem-percentage", "1 to 100"},
        {"nvidia.com/gpu=1 nvidia.com/gpumem-percentage=50%", "gpumem-percentage", "1 to 100"},
        {"nvidia.com/gpu=1 nvidia.com/gpucores=101", "nvidia.com/gpucores", "0 to 100"}, /* F07 */
        {"nvidia.com/gpu=1 nvidia.com/gpucores=-5", "nvidia.com/gpucores", "0 to 100"},
        {"nvidia.com/gpu=-1", "nvidia.com/gpu", "whole number"},
        {"nvidia.com/gpu=0.5", "nvidia.com/gpu", "whole number"},
        {"nvidia.com/gpu=5000000000", "nvidia.com/gpu", "whole number"},
        {"nvidia.com/gpu=0 nvidia.com/gpumem=none", "nvidia.com/gpumem", "MiB"},
        /* W19: both ways of saying it */
        {"nvidia.com/gpu=1 nvidia.com/gpumem=1 nvidia.com/gpumem-percentage=1",
         "nvidia.com/gpumem and nvidia.com/gpumem-percentage", "give one"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request = read_amounts(cases[i].amounts);

        assert_int_equal(request.ask_count, 0);
        assert_non_null(request.problem);
        assert_contains(request.problem, "container c0");
        assert_contains(request.problem, cases[i].resource);
        assert_contains(request.problem, cases[i].expected);
    }
}

static void test_amounts__a_plain_number_beyond_every_device_is_read_and_fits_nowhere(void **state)
{
    AUTO(request_clear)
    struct request request = read_amounts("nvidia.com/gpu=1 nvidia.com/gpumem=17179869184");

    (void)state;
    assert_null(request.problem);
    assert_int_equal(request.asks[0].memory, 17179869184); /* its low 32 bits are 0 */
}

static void test_amounts__f44_no_devices_asked_is_no_ask(void **state)
{
    static const char *const amounts[] = {"", "cpu=1 memory=1Gi", "nvidia.com/gpu=0",
                                          "amd.com/gpu=1",
                                          "nvidia.com/gpu=0 nvidia.com/gpumem=4000"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
        AUTO(request_clear) struct request request = read_amounts(amounts[i]);

        assert_false(request_wants_devices(&request));
        assert_int_equal(request.container_count, 1);
    }
}

static void test_amounts__more_lines_than_a_record_can_hold_are_refused(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod pod;
    AUTO(request_clear) struct request request;

    (void)state;
    kube_pod_init(&pod);
    for (unsigned i = 0; i < 7; i++)
        kube_pod_ask(&pod, CONTAINER_INIT, "nvidia.com/gpu=64");
    dialect_request(&pod, &test_classes, &request);
    assert_null(request.problem);
    request_clear(&request);
    kube_pod_ask(&pod, CONTAINER_APP, "nvidia.com/gpu=1");
    dialect_request(&pod, &test_classes, &request);
    assert_contains(request.problem, "more than 448 devices");
}

static void test_amounts__requests_count_where_limits_are_missing(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod pod;
    AUTO(request_clear) struct request request;

    (void)state;
    kube_pod_init(&pod);
    kube_pod_ask(&pod, CONTAINER_APP, "nvidia.com/gpumem=100");
    kube_pairs_add(&pod.containers[0].requests, "nvidia.com/gpu", "3");
    kube_pairs_add(&pod.containers[0].requests, "nvidia.com/gpumem", "999");
    dialect_request(&pod, &test_classes, &request);
    assert_int_equal(request.asks[0].count, 3);
    assert_int_equal(request.asks[0].memory, 100);
}

static void test_amounts__every_container_is_listed_and_asks_know_theirs(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod pod;
    AUTO(request_clear) struct request request;

    (void)state;
    kube_pod_init(&pod);
    kube_pod_ask(&pod, CONTAINER_INIT, "cpu=1");
    kube_pod_ask(&pod, CONTAINER_SIDECAR, "nvidia.com/gpumem=100");
    kube_pod_ask(&pod, CONTAINER_APP, "nvidia.com/gpu=2");
    dialect_request(&pod, &test_classes, &request);
    assert_int_equal(request.container_count, 3);
    assert_int_equal(request.containers[1].kind, CONTAINER_SIDECAR);
    assert_string_equal(request.containers[2].name, "c2");
    assert_int_equal(request.ask_count, 2);
    assert_int_equal(request.asks[0].container, 1);
    assert_int_equal(request.asks[1].container, 2);
}

/* Two classes, of which one knows only a count. */
static void test_amounts__asks_each_class_by_its_own_resources(void **state)
{
    static char name[] = "gcu", count[] = "enflame.com/gcu";
    struct device_class both[] = {test_class,
                                  {.name = name,
                                   .count_resource = count,
                                   .count_multiple_of = 1,
                                   .one_means = 1,
                                   .memory_counted = true,
                                   .cores = 100,
                                   .default_count = 1}};
    AUTO(mem_free_pointer) struct class_resource *resources = NULL;
    struct class_table classes = {.items = both, .count = 2};
    struct error err = {0};
    AUTO(kube_pod_clear) struct kube_pod pod;
    AUTO(request_clear) struct request request;

    (void)state;
    assert_ok(class_table_index(&classes, &err), &err);
    resources = classes.resources;
    kube_pod_init(&pod);
    kube_pod_ask(&pod, CONTAINER_APP, "nvidia.com/gpu=1 enflame.com/gcu=4");
    dialect_request(&pod, &classes, &request);
    assert_int_equal(request.ask_count, 2);
    assert_ptr_equal(request.asks[0].class, &both[0]);
    assert_ptr_equal(request.asks[1].class, &both[1]);
    assert_int_equal(request.asks[1].count, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amounts__become_asks),
        cmocka_unit_test(test_amounts__f01_what_cannot_be_read_is_a_problem_and_no_ask),
        cmocka_unit_test(test_amounts__a_plain_number_beyond_every_device_is_read_and_fits_nowhere),
        cmocka_unit_test(test_amounts__f44_no_devices_asked_is_no_ask),
        cmocka_unit_test(test_amounts__more_lines_than_a_record_can_hold_are_refused),
        cmocka_unit_test(test_amounts__requests_count_where_limits_are_missing),
        cmocka_unit_test(test_amounts__every_container_is_listed_and_asks_know_theirs),
        cmocka_unit_test(test_amounts__asks_each_class_by_its_own_resources),
    };

    return cmocka_run_group_tests_name("amounts", tests, NULL, NULL);
}
