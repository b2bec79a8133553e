/* SPDX-License-Identifier: Apache-2.0 */
/* What amounts of each vendor's resources come to, by the built-in classes. */
#include "support/kube_words.h"
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/dialect.h"

#include <string.h>

struct want {
    const char *amounts; /* "resource=amount resource=amount" */
    const char *class;
    unsigned count;
    enum memory_kind kind;
    uint64_t memory;
    uint16_t cores;
};

static struct request read_with(const struct class_table *classes, const char *amounts,
                                const char *key, const char *value)
{
    AUTO(kube_pod_clear) struct kube_pod pod;
    struct request request;

    kube_pod_init(&pod);
    kube_pod_ask(&pod, CONTAINER_APP, amounts);
    if (key != NULL)
        kube_pairs_add(&pod.meta.annotations, key, value);
    dialect_request(&pod, classes, &request);
    return request;
}

static void check_wants(const struct want *wants, size_t count)
{
    AUTO(class_table_clear) struct class_table classes;

    classes_builtin(&classes);
    for (size_t i = 0; i < count; i++) {
        const struct want *want = &wants[i];
        AUTO(request_clear)
        struct request request = read_with(&classes, want->amounts, NULL, NULL);

        if (request.problem != NULL)
            fail_msg("%s: %s", want->amounts, request.problem);
        assert_int_equal(request.ask_count, 1);
        assert_string_equal(request.asks[0].class->name, want->class);
        if (request.asks[0].count != want->count || request.asks[0].memory_kind != want->kind ||
            request.asks[0].memory != want->memory || request.asks[0].cores != want->cores)
            fail_msg("%s: %u devices, kind %d, %llu, %u cores", want->amounts,
                     request.asks[0].count, (int)request.asks[0].memory_kind,
                     (unsigned long long)request.asks[0].memory, request.asks[0].cores);
    }
}

#define CHECK_WANTS(wants) check_wants(wants, ARRAY_LEN(wants))

static void test_amounts__f02_a_count_alone_is_whole_devices_of_every_class(void **state)
{
    static const struct want wants[] = {
        {"nvidia.com/gpu=2", "nvidia", 2, MEMORY_WHOLE, 0, 0},
        {"metax-tech.com/gpu=2", "metax-gpu", 2, MEMORY_WHOLE, 0, 0},
        {"metax-tech.com/sgpu=2", "metax-sgpu", 2, MEMORY_WHOLE, 0, 100},
        {"kunlunxin.com/xpu=2", "kunlun", 2, MEMORY_WHOLE, 0, 0},
        {"kunlunxin.com/vxpu=2", "kunlun-vxpu", 2, MEMORY_WHOLE, 0, 0},
        {"aws.amazon.com/neuron=4", "aws-neuron", 4, MEMORY_WHOLE, 0, 0},
        {"enflame.com/gcu=2", "enflame-gcu", 2, MEMORY_WHOLE, 0, 0},
        {"enflame.com/vgcu=2", "enflame", 2, MEMORY_WHOLE, 0, 0},
        {"cambricon.com/vmlu=2", "cambricon-mlu", 2, MEMORY_WHOLE, 0, 100},
        {"hygon.com/dcunum=2", "hygon-dcu", 2, MEMORY_WHOLE, 0, 100},
        {"mthreads.com/vgpu=2", "mthreads", 2, MEMORY_WHOLE, 0, 0},
        {"iluvatar.ai/MR-V100-vgpu=1", "iluvatar-mr-v100", 1, MEMORY_WHOLE, 0, 0},
        {"iluvatar.ai/MR-V50-vgpu=2", "iluvatar-mr-v50", 2, MEMORY_WHOLE, 0, 100},
        {"iluvatar.ai/BI-V150-vgpu=1", "iluvatar-bi-v150", 1, MEMORY_WHOLE, 0, 0},
        {"iluvatar.ai/BI-V100-vgpu=1", "iluvatar-bi-v100", 1, MEMORY_WHOLE, 0, 0},
        {"huawei.com/Ascend910A=2", "ascend-910a", 2, MEMORY_WHOLE, 0, 0},
        {"huawei.com/Ascend910B2=2", "ascend-910b2", 2, MEMORY_WHOLE, 0, 0},
        {"huawei.com/Ascend910B3=2", "ascend-910b3", 2, MEMORY_WHOLE, 0, 0},
        {"huawei.com/Ascend910B4=2", "ascend-910b4", 2, MEMORY_WHOLE, 0, 0},
        {"huawei.com/Ascend910B4-1=2", "ascend-910b4-1", 2, MEMORY_WHOLE, 0, 0},
        {"huawei.com/Ascend910C=4", "ascend-910c", 4, MEMORY_WHOLE, 0, 0},
        {"huawei.com/Ascend310P=2", "ascend-310p", 2, MEMORY_WHOLE, 0, 0},
        {"amd.com/gpu=2", "amd", 2, MEMORY_WHOLE, 0, 100},
        {"vastaitech.com/va=2", "vastai", 2, MEMORY_WHOLE, 0, 0},
        {"birentech.com/gpu=2", "biren", 2, MEMORY_WHOLE, 0, 0},
    };

    (void)state;
    CHECK_WANTS(wants);
}

/* The units of plain numbers differ; a size with a unit is what it says. */
static void test_amounts__memory_is_read_in_the_units_of_its_class(void **state)
{
    static const struct want wants[] = {
        {"metax-tech.com/sgpu=1 metax-tech.com/vmemory=4", "metax-sgpu", 1, MEMORY_MIB, 4096, 100},
        {"metax-tech.com/sgpu=1 metax-tech.com/vmemory=4Gi metax-tech.com/vcore=30", "metax-sgpu",
         1, MEMORY_MIB, 4096, 30},
        {"metax-tech.com/sgpu=1 metax-tech.com/vmemory=1500Mi", "metax-sgpu", 1, MEMORY_MIB, 1500,
         100},
        {"cambricon.com/vmlu=1 cambricon.com/mlu.smlu.vmemory=20", "cambricon-mlu", 1, MEMORY_MIB,
         5120, 100},
        {"cambricon.com/vmlu=1 cambricon.com/mlu.smlu.vmemory=5000Mi"
         " cambricon.com/mlu.smlu.vcore=20",
         "cambricon-mlu", 1, MEMORY_MIB, 5120, 20},
        {"hygon.com/dcunum=1 hygon.com/dcumem=2000 hygon.com/dcucores=60", "hygon-dcu", 1,
         MEMORY_MIB, 2000, 60},
        {"iluvatar.ai/BI-V150-vgpu=1 iluvatar.ai/BI-V150.vMem=64 iluvatar.ai/BI-V150.vCore=50",
         "iluvatar-bi-v150", 1, MEMORY_MIB, 16384, 50},
        {"amd.com/gpu=1 amd.com/gpumem=4000 amd.com/gpucores=25", "amd", 1, MEMORY_MIB, 4000, 25},
        {"nvidia.com/gpumem-percentage=100", "nvidia", 1, MEMORY_WHOLE, 0, 0},
    };

    (void)state;
    CHECK_WANTS(wants);
}

static void test_amounts__kunlun_memory_is_rounded_up_and_brings_its_cores(void **state)
{
    static const struct want wants[] = {
        {"kunlunxin.com/vxpu=1 kunlunxin.com/vxpu-memory=1", "kunlun-vxpu", 1, MEMORY_MIB, 24576,
         25},
        {"kunlunxin.com/vxpu=1 kunlunxin.com/vxpu-memory=24576", "kunlun-vxpu", 1, MEMORY_MIB,
         24576, 25},
        {"kunlunxin.com/vxpu=2 kunlunxin.com/vxpu-memory=24577", "kunlun-vxpu", 2, MEMORY_MIB,
         49152, 50},
        {"kunlunxin.com/vxpu=1 kunlunxin.com/vxpu-memory=50Gi", "kunlun-vxpu", 1, MEMORY_MIB, 98304,
         100},
    };

    (void)state;
    CHECK_WANTS(wants);
}

static void test_amounts__ascend_memory_is_rounded_up_to_a_template_or_the_whole_chip(void **state)
{
    static const struct want wants[] = {
        {"huawei.com/Ascend910A=1 huawei.com/Ascend910A-memory=1", "ascend-910a", 1, MEMORY_MIB,
         2184, 0},
        {"huawei.com/Ascend910A=1 huawei.com/Ascend910A-memory=8739", "ascend-910a", 1, MEMORY_MIB,
         17476, 0},
        {"huawei.com/Ascend910A=1 huawei.com/Ascend910A-memory=32768", "ascend-910a", 1,
         MEMORY_WHOLE, 0, 0},
        {"huawei.com/Ascend910B2=1 huawei.com/Ascend910B2-memory=9000", "ascend-910b2", 1,
         MEMORY_MIB, 16384, 0},
        {"huawei.com/Ascend310P=1 huawei.com/Ascend310P-memory=21527", "ascend-310p", 1,
         MEMORY_WHOLE, 0, 0},
        {"huawei.com/Ascend310P=1 huawei.com/Ascend310P-memory=6000", "ascend-310p", 1, MEMORY_MIB,
         6144, 0},
        /* two chips are one module */
        {"huawei.com/Ascend910C=1", "ascend-910c", 2, MEMORY_WHOLE, 0, 0},
        /* what HAMi's webhook writes beside several whole chips */
        {"huawei.com/Ascend910B3=2 huawei.com/Ascend910B3-memory=65536", "ascend-910b3", 2,
         MEMORY_WHOLE, 0, 0},
    };

    (void)state;
    CHECK_WANTS(wants);
}

static void test_amounts__neuron_cores_are_a_part_of_a_device_or_whole_ones(void **state)
{
    static const struct want wants[] = {
        {"aws.amazon.com/neuroncore=1", "aws-neuron", 1, MEMORY_NONE, 0, 1},
        {"aws.amazon.com/neuroncore=2", "aws-neuron", 1, MEMORY_WHOLE, 0, 0},
        {"aws.amazon.com/neuroncore=8", "aws-neuron", 4, MEMORY_WHOLE, 0, 0},
    };

    (void)state;
    CHECK_WANTS(wants);
}

static void test_amounts__enflame_knows_percent_slices_and_gigabytes(void **state)
{
    static const struct want wants[] = {
        {"enflame.com/vgcu=1 enflame.com/vgcu-percentage=30", "enflame", 1, MEMORY_PERCENT, 30, 0},
        {"enflame.com/vgcu=1 enflame.com/vgcu-percentage=100", "enflame", 1, MEMORY_WHOLE, 0, 0},
        {"enflame.com/vgcu=2 enflame.com/vgcu-percentage=30", "enflame", 2, MEMORY_WHOLE, 0, 0},
        {"enflame.com/gcu-memory=20", "enflame-drs", 1, MEMORY_MIB, 20480, 0},
        {"enflame.com/gcu-memory=20000 enflame.com/gcu-core=40", "enflame-drs", 1, MEMORY_MIB,
         20480, 40},
        {"enflame.com/gcu-memory=20Gi", "enflame-drs", 1, MEMORY_MIB, 20480, 0},
        {"enflame.com/gcu-core=40", "enflame-drs", 1, MEMORY_NONE, 0, 40},
    };
    AUTO(class_table_clear) struct class_table classes;

    (void)state;
    CHECK_WANTS(wants);
    classes_builtin(&classes);
    {
        AUTO(request_clear)
        struct request request = read_with(&classes, "enflame.com/drs-gcu=3", NULL, NULL);

        assert_int_equal(request.ask_count, 1);
        assert_int_equal(request.asks[0].count, 1);
        assert_int_equal(request.asks[0].slices, 3);
    }
}

/* Amounts of Moore Threads are totals, and several devices are whole whatever they say. */
static void test_amounts__mthreads_amounts_are_those_of_all_devices(void **state)
{
    static const struct want wants[] = {
        {"mthreads.com/vgpu=1 mthreads.com/sgpu-memory=32 mthreads.com/sgpu-core=8", "mthreads", 1,
         MEMORY_MIB, 16384, 8},
        {"mthreads.com/vgpu=1 mthreads.com/sgpu-memory=2", "mthreads", 1, MEMORY_MIB, 1024, 0},
        {"mthreads.com/vgpu=2 mthreads.com/sgpu-memory=192 mthreads.com/sgpu-core=32", "mthreads",
         2, MEMORY_WHOLE, 0, 0},
        {"mthreads.com/vgpu=2 mthreads.com/sgpu-memory=7 mthreads.com/sgpu-core=1", "mthreads", 2,
         MEMORY_WHOLE, 0, 0},
    };

    (void)state;
    CHECK_WANTS(wants);
}

static void test_amounts__several_iluvatar_devices_have_all_their_cores(void **state)
{
    static const struct want wants[] = {
        {"iluvatar.ai/MR-V100-vgpu=2 iluvatar.ai/MR-V100.vMem=8", "iluvatar-mr-v100", 2, MEMORY_MIB,
         2048, 100},
        {"iluvatar.ai/MR-V100-vgpu=2 iluvatar.ai/MR-V100.vCore=200", "iluvatar-mr-v100", 2,
         MEMORY_WHOLE, 0, 100},
    };

    (void)state;
    CHECK_WANTS(wants);
}

/* Pods that say so may have Ascend chips cut in any size, with cores. */
static void test_amounts__an_annotation_frees_from_templates(void **state)
{
    AUTO(class_table_clear) struct class_table classes;
    static const char amounts[] = "huawei.com/Ascend910B3=1 huawei.com/Ascend910B3-memory=5000"
                                  " huawei.com/Ascend910B3-core=30";

    (void)state;
    classes_builtin(&classes);
    {
        AUTO(request_clear)
        struct request free = read_with(&classes, amounts, "huawei.com/vnpu-mode", "hami-core");
        AUTO(request_clear)
        struct request bound = read_with(&classes, amounts, "huawei.com/vnpu-mode", "template");

        assert_null(free.problem);
        assert_int_equal(free.asks[0].memory, 5000);
        assert_int_equal(free.asks[0].cores, 30);
        assert_contains(bound.problem, "huawei.com/vnpu-mode: hami-core");
    }
}

/* Never a booking of zero, and no pod that passes as one without devices. */
static void test_amounts__f01_what_cannot_be_is_refused_with_resource_and_unit(void **state)
{
    static const struct {
        const char *amounts, *resource, *expected;
    } cases[] = {
        {"metax-tech.com/sgpu=1 metax-tech.com/vmemory=-1", "vmemory", "GiB as a whole number"},
        {"metax-tech.com/sgpu=1 metax-tech.com/vmemory=0", "vmemory", "GiB"},
        {"metax-tech.com/sgpu=1 metax-tech.com/vmemory=1.5", "vmemory", "GiB"},
        {"metax-tech.com/sgpu=1 metax-tech.com/vmemory=9007199254740992", "vmemory", "GiB"},
        {"metax-tech.com/sgpu=1 metax-tech.com/vcore=101", "vcore", "core units from 0 to 100"},
        {"kunlunxin.com/xpu=3", "kunlunxin.com/xpu", "1, 2, 4 or 8"},
        {"kunlunxin.com/vxpu=1 kunlunxin.com/vxpu-memory=98305", "vxpu-memory",
         "at most the 98304"},
        {"kunlunxin.com/vxpu=1 kunlunxin.com/vxpu-memory=500m", "vxpu-memory", "MiB"},
        {"aws.amazon.com/neuroncore=3", "neuroncore", "1 to 2 cores of one device, or a multiple"},
        {"aws.amazon.com/neuroncore=-1", "neuroncore", "multiple of 2"},
        {"aws.amazon.com/neuron=1 aws.amazon.com/neuroncore=2", "neuron and", "give one"},
        {"enflame.com/vgcu=1 enflame.com/vgcu-percentage=0", "vgcu-percentage", "1 to 100"},
        {"enflame.com/vgcu=1 enflame.com/vgcu-percentage=101", "vgcu-percentage", "1 to 100"},
        {"enflame.com/drs-gcu=1.5", "drs-gcu", "slices"},
        {"enflame.com/drs-gcu=1 enflame.com/gcu-memory=6", "drs-gcu", "give one"},
        {"enflame.com/gcu-core=101", "gcu-core", "0 to 100"},
        {"cambricon.com/vmlu=1 cambricon.com/mlu.smlu.vmemory=0.5", "vmemory", "units of 256 MiB"},
        {"hygon.com/dcunum=1 hygon.com/dcucores=200", "dcucores", "0 to 100"},
        {"mthreads.com/vgpu=1 mthreads.com/sgpu-memory=3", "sgpu-memory", "1024, 2048"},
        {"mthreads.com/vgpu=1 mthreads.com/sgpu-core=17", "sgpu-core", "0 to 16"},
        {"huawei.com/Ascend910C=3", "Ascend910C", "1, or a multiple of 2"},
        {"huawei.com/Ascend910A=1 huawei.com/Ascend910A-memory=32769", "Ascend910A-memory",
         "at most the 32768"},
        {"huawei.com/Ascend910A=2 huawei.com/Ascend910A-memory=2000", "Ascend910A-memory",
         "several devices"},
        {"amd.com/gpu=1 amd.com/gpucores=101", "gpucores", "percent from 0 to 100"},
        {"amd.com/gpu=1 amd.com/gpumem=16GB", "gpumem", "MiB"},
    };
    AUTO(class_table_clear) struct class_table classes;

    (void)state;
    classes_builtin(&classes);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear)
        struct request request = read_with(&classes, cases[i].amounts, NULL, NULL);

        if (request.problem == NULL)
            fail_msg("%s is taken", cases[i].amounts);
        assert_int_equal(request.ask_count, 0);
        assert_contains(request.problem, "container c0");
        assert_contains(request.problem, cases[i].resource);
        assert_contains(request.problem, cases[i].expected);
    }
}

/* None of zero devices, and one where amounts are given without a count. */
static void test_amounts__zero_is_none_and_no_count_is_one(void **state)
{
    static const struct want wants[] = {
        {"cambricon.com/mlu.smlu.vmemory=4", "cambricon-mlu", 1, MEMORY_MIB, 1024, 100},
        {"kunlunxin.com/vxpu-memory=4", "kunlun-vxpu", 1, MEMORY_MIB, 24576, 25},
        {"amd.com/gpucores=50", "amd", 1, MEMORY_WHOLE, 0, 50},
    };
    static const char *const none[] = {"metax-tech.com/sgpu=0 metax-tech.com/vmemory=4",
                                       "aws.amazon.com/neuroncore=0", "aws.amazon.com/neuron=0",
                                       "enflame.com/drs-gcu=0", "huawei.com/Ascend910C=0"};
    AUTO(class_table_clear) struct class_table classes;

    (void)state;
    CHECK_WANTS(wants);
    classes_builtin(&classes);
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        AUTO(request_clear) struct request request = read_with(&classes, none[i], NULL, NULL);

        assert_false(request_wants_devices(&request));
    }
}

/* Of a class of the user's own: its defaults, and parts refused where none was written. */
static void test_amounts__defaults_are_for_what_is_not_written(void **state)
{
    static const char yaml[] =
        "name: x\ntitle: X\nresources: {count: x.com/x, memory: x.com/m, memoryPercent: x.com/p}\n"
        "count: {several: whole-only}\ndefaults: {count: 3, memoryMiB: 500, cores: 7}\n";
    static const struct {
        const char *amounts;
        unsigned count;
        enum memory_kind kind;
        uint64_t memory;
    } cases[] = {{"x.com/x=1", 1, MEMORY_MIB, 500},
                 {"x.com/x=2", 2, MEMORY_WHOLE, 0},
                 {"x.com/x=1 x.com/m=9", 1, MEMORY_MIB, 9},
                 {"x.com/p=100", 3, MEMORY_WHOLE, 0}};
    AUTO(class_table_clear) struct class_table classes = {0};
    struct error err = {0};

    (void)state;
    assert_ok(classes_read(&classes, NULL, yaml, strlen(yaml), &err), &err);
    assert_ok(class_table_index(&classes, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear)
        struct request request = read_with(&classes, cases[i].amounts, NULL, NULL);

        assert_null(request.problem);
        assert_int_equal(request.asks[0].count, cases[i].count);
        assert_int_equal(request.asks[0].memory_kind, cases[i].kind);
        assert_int_equal(request.asks[0].memory, cases[i].memory);
        assert_int_equal(request.asks[0].cores, 7);
    }
    {
        AUTO(request_clear)
        struct request request = read_with(&classes, "x.com/x=2 x.com/p=50", NULL, NULL);

        assert_contains(request.problem, "x.com/p of container c0 is \"50\": expected all memory");
    }
}

static void test_amounts__classes_are_asked_in_the_order_of_the_table(void **state)
{
    AUTO(class_table_clear) struct class_table classes;

    (void)state;
    classes_builtin(&classes);
    {
        AUTO(request_clear)
        struct request request = read_with(
            &classes, "vastaitech.com/va=1 amd.com/gpu=1 nvidia.com/gpumem=5 nvidia.com/gpu=1",
            NULL, NULL);

        assert_int_equal(request.ask_count, 3);
        assert_string_equal(request.asks[0].class->name, "amd");
        assert_string_equal(request.asks[1].class->name, "nvidia");
        assert_int_equal(request.asks[1].memory, 5);
        assert_string_equal(request.asks[2].class->name, "vastai");
    }
}

static void test_amounts__a_container_may_ask_for_sixteen_classes(void **state)
{
    static const char amounts[] =
        "amd.com/gpu=1 huawei.com/Ascend910A=1 huawei.com/Ascend910B2=1 huawei.com/Ascend910B3=1 "
        "huawei.com/Ascend910B4=1 huawei.com/Ascend910B4-1=1 huawei.com/Ascend910C=1 "
        "huawei.com/Ascend310P=1 aws.amazon.com/neuron=1 birentech.com/gpu=1 cambricon.com/vmlu=1 "
        "enflame.com/gcu=1 enflame.com/vgcu=1 hygon.com/dcunum=1 iluvatar.ai/MR-V50-vgpu=1 "
        "kunlunxin.com/xpu=1 kunlunxin.com/vxpu=1";
    AUTO(class_table_clear) struct class_table classes;

    (void)state;
    classes_builtin(&classes);
    {
        AUTO(request_clear) struct request request = read_with(&classes, amounts, NULL, NULL);

        assert_contains(request.problem, "container c0 asks for more than 16 classes");
    }
}

/* bar: percent and all cores of several; baz: one means eight devices of many cores. */
static void read_made_up(struct class_table *classes)
{
    static const char yaml[] =
        "name: bar\ntitle: Bar\nresources: {count: bar.com/dev, cores: bar.com/core}\n"
        "cores: {percent: true, whole: 1000}\ncount: {several: all-cores}\n---\n"
        "name: baz\ntitle: Baz\nresources: {count: baz.com/dev, cores: baz.com/core}\n"
        "cores: {whole: 10000}\ncount: {several: all-cores, oneMeans: 8}\n";
    struct error err = {0};

    *classes = (struct class_table){0};
    assert_ok(classes_read(classes, NULL, yaml, strlen(yaml), &err), &err);
    assert_ok(class_table_index(classes, &err), &err);
}

static void test_amounts__all_cores_of_several_devices_in_percent_are_a_hundred(void **state)
{
    AUTO(class_table_clear) struct class_table classes;

    (void)state;
    read_made_up(&classes);
    {
        AUTO(request_clear)
        struct request request = read_with(&classes, "bar.com/dev=2 bar.com/core=30", NULL, NULL);

        assert_null(request.problem);
        assert_int_equal(request.asks[0].cores, 100);
    }
}

static void test_amounts__cores_of_each_device_are_never_more_than_it_has(void **state)
{
    AUTO(class_table_clear) struct class_table classes;

    (void)state;
    read_made_up(&classes);
    {
        AUTO(request_clear)
        struct request request =
            read_with(&classes, "baz.com/dev=1 baz.com/core=70000", NULL, NULL);

        assert_contains(request.problem, "core units from 0 to 10000");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amounts__f02_a_count_alone_is_whole_devices_of_every_class),
        cmocka_unit_test(test_amounts__memory_is_read_in_the_units_of_its_class),
        cmocka_unit_test(test_amounts__kunlun_memory_is_rounded_up_and_brings_its_cores),
        cmocka_unit_test(test_amounts__ascend_memory_is_rounded_up_to_a_template_or_the_whole_chip),
        cmocka_unit_test(test_amounts__neuron_cores_are_a_part_of_a_device_or_whole_ones),
        cmocka_unit_test(test_amounts__enflame_knows_percent_slices_and_gigabytes),
        cmocka_unit_test(test_amounts__mthreads_amounts_are_those_of_all_devices),
        cmocka_unit_test(test_amounts__several_iluvatar_devices_have_all_their_cores),
        cmocka_unit_test(test_amounts__an_annotation_frees_from_templates),
        cmocka_unit_test(test_amounts__f01_what_cannot_be_is_refused_with_resource_and_unit),
        cmocka_unit_test(test_amounts__zero_is_none_and_no_count_is_one),
        cmocka_unit_test(test_amounts__defaults_are_for_what_is_not_written),
        cmocka_unit_test(test_amounts__classes_are_asked_in_the_order_of_the_table),
        cmocka_unit_test(test_amounts__a_container_may_ask_for_sixteen_classes),
        cmocka_unit_test(test_amounts__all_cores_of_several_devices_in_percent_are_a_hundred),
        cmocka_unit_test(test_amounts__cores_of_each_device_are_never_more_than_it_has),
    };

    return cmocka_run_group_tests_name("class_amounts", tests, NULL, NULL);
}
