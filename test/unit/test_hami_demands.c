/* SPDX-License-Identifier: Apache-2.0 */
/* Demands in HAMi's annotations, read by all dialects with the classes that are built in. */
#include "support/builtin_classes.h"
#include "support/kube_words.h"
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/dialect.h"

#include <stdlib.h>

#define NVIDIA "nvidia.com/gpu=1 nvidia.com/gpumem=1000"
#define DCU "hygon.com/dcunum=1 hygon.com/dcumem=1000"

/* The request of a pod with such amounts and one or two annotations. */
static struct request ask_with(const char *amounts, const char *key, const char *value,
                               const char *key2, const char *value2)
{
    AUTO(kube_pod_clear) struct kube_pod pod;
    struct request request;

    kube_pod_init(&pod);
    kube_pod_ask(&pod, CONTAINER_APP, amounts);
    kube_pod_annotate(&pod, key, value);
    if (key2 != NULL)
        kube_pod_annotate(&pod, key2, value2);
    dialect_request(&pod, builtin_classes(), &request);
    return request;
}

static void test_hami_read_demands__each_vendors_lists_are_the_requests(void **state)
{
    static const struct {
        const char *amounts, *key;
        size_t list;
    } cases[] = {
        {NVIDIA, "nvidia.com/use-gpuuuid", offsetof(struct request, use_devices)},
        {NVIDIA, "nvidia.com/nouse-gpuuuid", offsetof(struct request, avoid_devices)},
        {NVIDIA, "nvidia.com/use-gputype", offsetof(struct request, use_products)},
        {NVIDIA, "nvidia.com/nouse-gputype", offsetof(struct request, avoid_products)},
        {DCU, "hygon.com/use-gpuuuid", offsetof(struct request, use_devices)},
        {DCU, "hygon.com/use-dcutype", offsetof(struct request, use_products)},
        {DCU, "hygon.com/nouse-dcutype", offsetof(struct request, avoid_products)},
        {"cambricon.com/vmlu=1", "cambricon.com/nouse-gpuuuid",
         offsetof(struct request, avoid_devices)},
        {"metax-tech.com/gpu=1", "metax-tech.com/use-gpuuuid",
         offsetof(struct request, use_devices)},
        {"metax-tech.com/sgpu=1", "metax-tech.com/nouse-gpuuuid",
         offsetof(struct request, avoid_devices)},
        {"kunlunxin.com/xpu=1", "hami.io/use-xpu-uuid", offsetof(struct request, use_devices)},
        {"kunlunxin.com/vxpu=1", "baidu.com/nouse-gpuuuid",
         offsetof(struct request, avoid_devices)},
        {"aws.amazon.com/neuron=1", "aws.amazon.com/use-neuron-uuid",
         offsetof(struct request, use_devices)},
        {"enflame.com/vgcu=1", "enflame.com/use-gpuuuid", offsetof(struct request, use_devices)},
        {"mthreads.com/vgpu=1", "mthreads.ai/nouse-gpuuuid",
         offsetof(struct request, avoid_devices)},
        {"huawei.com/Ascend910B4=1", "hami.io/use-Ascend910B4-uuid",
         offsetof(struct request, use_devices)},
        {"huawei.com/Ascend910B4-1=1", "hami.io/no-use-Ascend910B4-1-uuid",
         offsetof(struct request, avoid_devices)},
        {"iluvatar.ai/MR-V100-vgpu=1", "hami.io/use-MR-V100-uuid",
         offsetof(struct request, use_devices)},
        {"amd.com/gpu=1", "amd.com/use-gputype", offsetof(struct request, use_products)},
        {"amd.com/gpu=1", "amd.com/nouse-gpu-uuid", offsetof(struct request, avoid_devices)},
        {"vastaitech.com/va=1", "vastaitech.com/use-gpuuuid",
         offsetof(struct request, use_devices)},
        {"birentech.com/gpu=1", "birentech.com/nouse-gpuuuid",
         offsetof(struct request, avoid_devices)},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear)
        struct request request = ask_with(cases[i].amounts, cases[i].key, " x , y", NULL, NULL);
        const struct word_list *list =
            (const struct word_list *)((const char *)&request + cases[i].list);

        assert_null(request.problem);
        if (list->count != 2)
            fail_msg("%s: %zu words", cases[i].key, list->count);
        assert_true(word_list_has(list, "x") && word_list_has(list, "y"));
    }
}

static void test_hami_read_demands__an_empty_list_says_nothing(void **state)
{
    AUTO(request_clear)
    struct request request = ask_with(NVIDIA, "nvidia.com/use-gpuuuid", "", NULL, NULL);

    (void)state;
    assert_int_equal(request.use_devices.count, 0);
    assert_null(request.problem);
}

static void test_hami_read_demands__another_vendors_list_says_nothing(void **state)
{
    AUTO(request_clear)
    struct request request = ask_with(DCU, "nvidia.com/use-gpuuuid", "GPU-1", NULL, NULL);

    (void)state;
    assert_int_equal(request.use_devices.count, 0);
}

static void test_hami_read_demands__a_list_is_of_its_vendor_where_several_are_asked(void **state)
{
    AUTO(request_clear)
    struct request request =
        ask_with(NVIDIA " " DCU, "nvidia.com/use-gpuuuid", "GPU-1", NULL, NULL);
    const struct class_selection *of_nvidia =
        class_selections_find(&request.selections, builtin_class("nvidia"));
    const struct class_selection *of_dcu =
        class_selections_find(&request.selections, builtin_class("hygon-dcu"));

    (void)state;
    assert_int_equal(request.use_devices.count, 0);
    assert_true(word_list_has(&of_nvidia->use_devices, "GPU-1"));
    assert_int_equal(of_dcu->use_devices.count, 0);
}

static void test_hami_read_demands__the_vendors_word_before_a_type_is_not_of_it(void **state)
{
    AUTO(request_clear)
    struct request request =
        ask_with(NVIDIA, "nvidia.com/use-gputype", "NVIDIA-NVIDIA A100, nvidia-H20", NULL, NULL);

    (void)state;
    assert_true(word_list_has(&request.use_products, "NVIDIA A100"));
    assert_true(word_list_has(&request.use_products, "H20"));
    assert_int_equal(request.use_products.count, 2);
}

static void test_hami_read_demands__policies_of_nodes_are_packing_policies(void **state)
{
    AUTO(request_clear)
    struct request pack = ask_with(NVIDIA, "hami.io/node-scheduler-policy", "binpack", NULL, NULL);
    AUTO(request_clear)
    struct request spread = ask_with(NVIDIA, "hami.io/node-scheduler-policy", "spread", NULL, NULL);
    AUTO(request_clear)
    struct request both = ask_with(NVIDIA, "hami.io/node-scheduler-policy", "spread",
                                   "topofit.io/packing-policy", "pack");

    (void)state;
    assert_true(pack.has_packing && pack.packing == PACKING_PACK);
    assert_true(spread.has_packing && spread.packing == PACKING_SPREAD);
    assert_int_equal(both.packing, PACKING_PACK);
}

static void test_hami_read_demands__policies_of_devices_come_in_chains(void **state)
{
    AUTO(request_clear)
    struct request request =
        ask_with(NVIDIA, "hami.io/gpu-scheduler-policy", "spread, mutex,numa,binpack", NULL, NULL);
    AUTO(request_clear)
    struct request linked =
        ask_with(NVIDIA, "hami.io/gpu-scheduler-policy", "topology-aware", NULL, NULL);

    (void)state;
    assert_null(request.problem);
    assert_true(request.has_device_order && request.devices_spread);
    assert_true(request.wants_idle);
    assert_false(request.has_packing);
    assert_true(linked.topology.has_mode && linked.topology.mode == TOPOLOGY_SOFT);
    assert_false(linked.has_device_order);
}

static void test_hami_read_demands__weights_are_all_three_or_refused(void **state)
{
    static const struct {
        const char *text;
        struct device_weights want; /* all 0: refused */
    } cases[] = {
        {"slot=1,core=2,memory=3", {1, 2, 3}},
        {" memory=3, slot=0 ,core=0", {0, 0, 3}},
        {"slot=1,core=2", {0}},
        {"slot=0,core=0,memory=0", {0}},
        {"slot=1,core=2,memory=3,slot=1", {0}},
        {"slot=-1,core=2,memory=3", {0}},
        {"slot=1,core=2,memory=x", {0}},
        {"slot=1,core=2,memory=1000001", {0}},
        {"slots=1,core=2,memory=3", {0}},
        {"binpack", {0}},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear)
        struct request request =
            ask_with(NVIDIA, "hami.io/device-scoring-weights", cases[i].text, NULL, NULL);

        assert_memory_equal(&request.weights, &cases[i].want, sizeof request.weights);
        if (cases[i].want.memory == 0)
            assert_contains(request.problem, "slot=1,core=1,memory=1");
        else
            assert_null(request.problem);
    }
}

static void test_hami_read_demands__words_that_are_not_known_are_refused(void **state)
{
    static const struct {
        const char *key, *value;
    } cases[] = {
        {"hami.io/node-scheduler-policy", "pack"},
        {"hami.io/gpu-scheduler-policy", "binpack,most-free"},
        {"nvidia.com/numa-bind", "yes please"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear)
        struct request request = ask_with(NVIDIA, cases[i].key, cases[i].value, NULL, NULL);

        assert_non_null(request.problem);
        assert_contains(request.problem, cases[i].key);
    }
}

static void test_hami_read_demands__numa_bind_demands_one_numa_node(void **state)
{
    AUTO(request_clear)
    struct request bound = ask_with(NVIDIA, "nvidia.com/numa-bind", "True",
                                    "hami.io/gpu-scheduler-policy", "topology-aware");
    AUTO(request_clear)
    struct request not_bound = ask_with(NVIDIA, "nvidia.com/numa-bind", "false", NULL, NULL);

    (void)state;
    assert_int_equal(bound.topology.mode, TOPOLOGY_HARD);
    assert_int_equal(bound.topology.max_tier, TIER_NUMA);
    assert_int_equal(bound.topology.source, SOURCE_NUMA);
    assert_false(not_bound.topology.has_mode);
}

static void test_hami_read_demands__numa_bind_leaves_what_is_demanded_already(void **state)
{
    AUTO(request_clear)
    struct request request =
        ask_with(NVIDIA, "topofit.io/topology-max-tier", "0", "nvidia.com/numa-bind", "true");

    (void)state;
    assert_int_equal(request.topology.mode, TOPOLOGY_HARD);
    assert_int_equal(request.topology.max_tier, TIER_INTERCONNECT);
    assert_int_equal(request.topology.source, SOURCE_NUMA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hami_read_demands__each_vendors_lists_are_the_requests),
        cmocka_unit_test(test_hami_read_demands__an_empty_list_says_nothing),
        cmocka_unit_test(test_hami_read_demands__another_vendors_list_says_nothing),
        cmocka_unit_test(test_hami_read_demands__a_list_is_of_its_vendor_where_several_are_asked),
        cmocka_unit_test(test_hami_read_demands__the_vendors_word_before_a_type_is_not_of_it),
        cmocka_unit_test(test_hami_read_demands__policies_of_nodes_are_packing_policies),
        cmocka_unit_test(test_hami_read_demands__policies_of_devices_come_in_chains),
        cmocka_unit_test(test_hami_read_demands__weights_are_all_three_or_refused),
        cmocka_unit_test(test_hami_read_demands__words_that_are_not_known_are_refused),
        cmocka_unit_test(test_hami_read_demands__numa_bind_demands_one_numa_node),
        cmocka_unit_test(test_hami_read_demands__numa_bind_leaves_what_is_demanded_already),
    };

    return cmocka_run_group_tests_name("hami_demands", tests, builtin_classes_set_up,
                                       builtin_classes_tear_down);
}
