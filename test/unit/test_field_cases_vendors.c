/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field cases F01, F02 and F07 with the resources of other vendors: what is asked for is what is
 * booked, and never nothing.
 */
#include "support/harness.h"

#include "topofit/dialect.h"
#include "topofit/embedded.h"
#include "topofit/file.h"

/* --- F01: units ------------------------------------------------------------------------------ */

static void test_f01__every_vendor_books_what_its_units_say(void **state)
{
    static const struct {
        const char *class, *wants;
        uint64_t device_mib, booked_mib;
        uint32_t cores;
    } cases[] = {
        {"metax-sgpu", "metax-tech.com/sgpu 1, metax-tech.com/vmemory 16, metax-tech.com/vcore 10",
         65536, 16384, 10},
        {"metax-sgpu",
         "metax-tech.com/sgpu 1, metax-tech.com/vmemory 16Gi, metax-tech.com/vcore 10", 65536,
         16384, 10},
        {"kunlun-vxpu", "kunlunxin.com/vxpu 1, kunlunxin.com/vxpu-memory 20k", 98304, 24576, 25},
        {"cambricon-mlu",
         "cambricon.com/vmlu 1, cambricon.com/mlu.smlu.vmemory 10, cambricon.com/mlu.smlu.vcore 5",
         24576, 2560, 5},
        {"hygon-dcu", "hygon.com/dcunum 1, hygon.com/dcumem 2000", 65536, 2000, 100},
        {"iluvatar-mr-v100", "iluvatar.ai/MR-V100-vgpu 1, iluvatar.ai/MR-V100.vMem 4", 32768, 1024,
         0},
        {"ascend-910b4", "huawei.com/Ascend910B4 1, huawei.com/Ascend910B4-memory 1000", 32768,
         8192, 0},
        {"amd", "amd.com/gpu 1, amd.com/gpumem 4000, amd.com/gpucores 50", 65536, 4000, 50},
        {"enflame", "enflame.com/vgcu 1, enflame.com/vgcu-percentage 30", 100, 30, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();

        api_node(harness, "n1", 1, cases[i].device_mib, .class = cases[i].class);
        api_pod(harness, "p", cases[i].wants);
        place(harness, "p", "n1");
        assert_int_equal(recorded_mib(harness, "p", 0), cases[i].booked_mib);
        assert_int_equal(use_of(harness, "n1", 0).cores, cases[i].cores);
    }
}

static void test_f01__an_unreadable_amount_refuses_the_pod_and_says_the_unit(void **state)
{
    static const struct {
        const char *wants, *resource, *unit;
    } cases[] = {
        {"metax-tech.com/sgpu 1, metax-tech.com/vmemory 1.5", "metax-tech.com/vmemory", "GiB"},
        {"cambricon.com/vmlu 1, cambricon.com/mlu.smlu.vmemory -1",
         "cambricon.com/mlu.smlu.vmemory", "units of 256 MiB"},
        {"mthreads.com/vgpu 1, mthreads.com/sgpu-memory 5", "mthreads.com/sgpu-memory", "MiB"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();

        api_node(harness, "n1", 1, 65536);
        api_pod(harness, "p", cases[i].wants);
        expect_refused(harness, "p", "n1");
        {
            AUTO_FREE char *detail = detail_of(harness, "p", "n1");

            assert_contains(detail, cases[i].resource);
            assert_contains(detail, cases[i].unit);
        }
    }
}

/* --- pods as operators wrote them: test/data/cases ------------------------------------------- */

/* What the pods of a file come to: "name: 1 x 16384 MiB", or their problem. */
struct listing {
    const struct class_table *classes;
    struct buf text;
};

static void list_pod(void *ctx, struct kube_object *object)
{
    struct listing *listing = ctx;
    AUTO(request_clear) struct request request = {0};

    if (object->kind != KUBE_POD)
        return;
    dialect_request(&object->pod, listing->classes, &request);
    buf_addf(&listing->text, "%s: ", object->pod.meta.name);
    if (request.problem != NULL)
        buf_addf(&listing->text, "%s\n", request.problem);
    for (size_t i = 0; request.problem == NULL && i < request.ask_count; i++)
        buf_addf(&listing->text, "%u %s x %llu\n", request.asks[i].count,
                 request.asks[i].class->name, (unsigned long long)request.asks[i].memory);
}

static void check_listing(const char *path, const char *expected)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO(buf_clear) struct buf file = buf_with_max(1 << 20);
    struct listing listing = {&harness->classes, buf_with_max(1 << 16)};
    struct error err = {0};

    assert_ok(file_read(path, &file, &err), &err);
    assert_ok(embedded_each_object(buf_text(&file), file.length, list_pod, &listing, &err), &err);
    assert_string_equal(buf_text(&listing.text), expected);
    buf_clear(&listing.text);
}

static void test_f01__memory_in_three_spellings_as_operators_wrote_it(void **state)
{
    (void)state;
    check_listing(TEST_DATA "/cases/07-pod-memory-units.yaml",
                  "units-suffix: 1 nvidia x 16384\n"
                  "units-k: 1 nvidia x 20000\n"
                  "units-annotation: 1 nvidia x 16384\n");
}

static void test_neuron__three_cores_are_no_part_of_a_device_and_no_whole_ones(void **state)
{
    (void)state;
    check_listing(TEST_DATA "/cases/08-neuron-node-and-pods.yaml",
                  "infer-3-cores: aws.amazon.com/neuroncore of container main is \"3\": expected 1 "
                  "to 2 cores of one device, or a multiple of 2\n"
                  "train-7-devices: 7 aws-neuron x 0\n");
}

/* --- F02: a count alone is the whole device -------------------------------------------------- */

static void test_f02__a_whole_device_of_any_vendor_is_taken_whole(void **state)
{
    static const struct {
        const char *class, *whole, *part;
    } cases[] = {
        {"metax-sgpu", "metax-tech.com/sgpu 1", "metax-tech.com/sgpu 1, metax-tech.com/vmemory 1"},
        {"kunlun-vxpu", "kunlunxin.com/vxpu 1",
         "kunlunxin.com/vxpu 1, kunlunxin.com/vxpu-memory 1"},
        {"ascend-310p", "huawei.com/Ascend310P 1",
         "huawei.com/Ascend310P 1, huawei.com/Ascend310P-memory 1"},
        {"enflame", "enflame.com/vgcu 1", "enflame.com/vgcu 1, enflame.com/vgcu-percentage 1"},
        {"amd", "amd.com/gpu 1", "amd.com/gpu 1, amd.com/gpumem 1, amd.com/gpucores 1"},
        {"mthreads", "mthreads.com/vgpu 1", "mthreads.com/vgpu 1, mthreads.com/sgpu-memory 2"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();

        api_node(harness, "n1", 1, 98304, .class = cases[i].class);
        api_pod(harness, "a", cases[i].whole);
        api_pod(harness, "b", cases[i].part);
        place(harness, "a", "n1");
        assert_int_equal(recorded_mib(harness, "a", 0), 98304);
        expect_refused(harness, "b", "n1");
        api_delete_pod(harness, "a");
        place(harness, "b", "n1");
        api_pod(harness, "c", cases[i].whole);
        expect_refused(harness, "c", "n1");
    }
}

/* Devices of this class have no memory to tell: their cores are what is shared. */
static void test_f02__neuron_devices_are_shared_by_cores_alone(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 2, 0, .class = "aws-neuron", .cores = 2, .slots = 2);
    /* Inferentia, where two devices beside each other are a set. */
    json_object_set_new(json_object_get(api_node_json(harness, "n1"), "metadata"), "labels",
                        json_pack("{ss}", "node.kubernetes.io/instance-type", "inf2.24xlarge"));
    watch_node(harness, "n1");
    api_pod(harness, "a", "aws.amazon.com/neuroncore 1");
    api_pod(harness, "b", "aws.amazon.com/neuroncore 1");
    api_pod(harness, "c", "aws.amazon.com/neuron 1");
    api_pod(harness, "d", "aws.amazon.com/neuroncore 4");
    expect_kept(harness, "d", "n1", "n1");
    place(harness, "a", "n1");
    place(harness, "b", "n1");
    assert_int_equal(device_of(harness, "a"), device_of(harness, "b"));
    place(harness, "c", "n1");
    assert_int_not_equal(device_of(harness, "a"), device_of(harness, "c"));
    expect_refused(harness, "d", "n1");
}

/* --- F07: all cores are exclusive ------------------------------------------------------------ */

static void test_f07__all_cores_by_default_or_in_percent_are_exclusive(void **state)
{
    static const struct {
        const char *class, *all, *some;
        int cores;
    } cases[] = {
        {"hygon-dcu", "hygon.com/dcunum 1, hygon.com/dcumem 1000",
         "hygon.com/dcunum 1, hygon.com/dcumem 1000, hygon.com/dcucores 1", 100},
        {"amd", "amd.com/gpu 1, amd.com/gpumem 1000",
         "amd.com/gpu 1, amd.com/gpumem 1000, amd.com/gpucores 1", 304},
        {"cambricon-mlu", "cambricon.com/vmlu 1, cambricon.com/mlu.smlu.vmemory 4",
         "cambricon.com/vmlu 1, cambricon.com/mlu.smlu.vmemory 4, cambricon.com/mlu.smlu.vcore 1",
         100},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();

        api_node(harness, "n1", 1, 65536, .class = cases[i].class, .cores = cases[i].cores);
        api_pod(harness, "a", cases[i].all);
        api_pod(harness, "b", cases[i].some);
        place(harness, "a", "n1");
        assert_int_equal(use_of(harness, "n1", 0).cores, cases[i].cores);
        expect_refused(harness, "b", "n1");
        api_delete_pod(harness, "a");
        place(harness, "b", "n1");
        assert_int_equal(use_of(harness, "n1", 0).cores, cases[i].cores / 100);
        api_pod(harness, "c", cases[i].all);
        expect_refused(harness, "c", "n1");
    }
}

static void test_f07__what_a_part_of_a_device_is_for_depends_on_its_class_alone(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 1, 98304, .class = "ascend-910b4");
    api_node(harness, "n2", 1, 98304, .class = "ascend-910b4-1");
    api_pod(harness, "a", "huawei.com/Ascend910B4 1");
    expect_refused(harness, "a", "n2");
    place(harness, "a", "n1");
}

/* --- slices, as long as no device is cut into them ------------------------------------------- */

static void test_slices__are_refused_where_no_device_is_cut_into_them(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 1, 40960, .class = "enflame-drs");
    api_pod(harness, "a", "enflame.com/drs-gcu 3");
    expect_refused(harness, "a", "n1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f01__every_vendor_books_what_its_units_say),
        cmocka_unit_test(test_f01__an_unreadable_amount_refuses_the_pod_and_says_the_unit),
        cmocka_unit_test(test_f01__memory_in_three_spellings_as_operators_wrote_it),
        cmocka_unit_test(test_neuron__three_cores_are_no_part_of_a_device_and_no_whole_ones),
        cmocka_unit_test(test_f02__a_whole_device_of_any_vendor_is_taken_whole),
        cmocka_unit_test(test_f02__neuron_devices_are_shared_by_cores_alone),
        cmocka_unit_test(test_f07__all_cores_by_default_or_in_percent_are_exclusive),
        cmocka_unit_test(test_f07__what_a_part_of_a_device_is_for_depends_on_its_class_alone),
        cmocka_unit_test(test_slices__are_refused_where_no_device_is_cut_into_them),
    };

    return cmocka_run_group_tests_name("field cases of vendors", tests, NULL, NULL);
}
