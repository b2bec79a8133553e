/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field cases on nodes whose devices HAMi's plugins report, and with pods that HAMi's scheduler has
 * placed: what is read, what is decided, and what is written for the plugins.
 */
#include "support/harness.h"

#include <stdlib.h>

#define NVIDIA_REGISTER "hami.io/node-nvidia-register"
#define NVIDIA_ALLOCATED "hami.io/vgpu-devices-allocated"
#define NVIDIA_TO_ALLOCATE "hami.io/vgpu-devices-to-allocate"

/* Set annotation `key` of a node; create it first. Shown to the watch. */
static void annotate_node(struct harness *harness, const char *node, const char *key,
                          const char *value)
{
    json_t *json = api_node_json(harness, node);
    json_t *metadata = json_object_get(json, "metadata");
    json_t *annotations = json_object_get(metadata, "annotations");

    if (annotations == NULL) {
        annotations = json_object();
        json_object_set_new(metadata, "annotations", annotations);
    }
    json_object_set_new(annotations, key, json_string(value));
    watch_node(harness, node);
}

static void set_allocatable(struct harness *harness, const char *node, const char *resource,
                            const char *amount)
{
    json_t *json = api_node_json(harness, node);
    json_t *status = json_object_get(json, "status");
    json_t *allocatable;

    if (status == NULL) {
        status = json_object();
        json_object_set_new(json, "status", status);
    }
    allocatable = json_object_get(status, "allocatable");
    if (allocatable == NULL) {
        allocatable = json_object();
        json_object_set_new(status, "allocatable", allocatable);
    }
    json_object_set_new(allocatable, resource, json_string(amount));
    watch_node(harness, node);
}

/* NVIDIA devices GPU-<node>-<index> in the form of a register annotation. Free it. */
static char *nvidia_devices(const char *node, const char *type, const uint64_t *memory_mib,
                            unsigned count, int unhealthy)
{
    json_t *list = json_array();
    char *text;

    for (unsigned i = 0; i < count; i++) {
        AUTO_FREE char *id = xasprintf("GPU-%s-%u", node, i);
        json_t *device = json_pack("{s:s,s:i,s:i,s:I,s:i,s:s,s:s}", "id", id, "index", (int)i,
                                   "count", 10, "devmem", (json_int_t)memory_mib[i], "devcore", 100,
                                   "type", type, "mode", "hami-core");

        if ((int)i != unhealthy) /* false is left out */
            json_object_set_new(device, "health", json_true());
        json_array_append_new(list, device);
    }
    text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return text;
}

static void nvidia_node(struct harness *harness, const char *name, const char *type,
                        const uint64_t *memory_mib, unsigned count)
{
    AUTO_FREE char *text = nvidia_devices(name, type, memory_mib, count, -1);

    api_node(harness, name, 0, 0);
    set_allocatable(harness, name, "nvidia.com/gpu", "80");
    annotate_node(harness, name, NVIDIA_REGISTER, text);
}

static const char *annotation_of(const struct harness *harness, const char *pod, const char *key)
{
    json_t *metadata = json_object_get(api_pod_json(harness, pod), "metadata");

    return json_string_value(json_object_get(json_object_get(metadata, "annotations"), key));
}

/* --- F04 ------------------------------------------------------------------------------------- */

static void test_f04__each_card_is_booked_and_told_with_its_own_size(void **state)
{
    static const uint64_t uneven[] = {81559, 81559, 81559, 81559, 81559, 81559, 81559, 81251};
    AUTO(harness_free) struct harness *harness = harness_new();
    const char *list;

    (void)state;
    nvidia_node(harness, "n1", "NVIDIA-NVIDIA A100-SXM4-80GB", uneven, 8);
    api_pod(harness, "a", "gpu 8, pct 100");
    place(harness, "a", "n1");
    list = annotation_of(harness, "a", NVIDIA_ALLOCATED);
    assert_contains(list, "GPU-n1-6,NVIDIA,81559,");
    assert_contains(list, "GPU-n1-7,NVIDIA,81251,");
    assert_string_equal(annotation_of(harness, "a", NVIDIA_TO_ALLOCATE), list);
    api_pod(harness, "b", "gpu 1, mem 1");
    expect_refused(harness, "b", "n1");
}

static void test_f04__the_sum_of_a_node_serves_nobody(void **state)
{
    static const uint64_t sizes[] = {10240, 20480};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    nvidia_node(harness, "n2", "NVIDIA-NVIDIA A10", sizes, 2);
    api_pod(harness, "c", "gpu 1, mem 21000");
    expect_refused(harness, "c", "n2");
    api_pod(harness, "d", "gpu 2, mem 11000");
    expect_refused(harness, "d", "n2");
    api_pod(harness, "b", "gpu 1, mem 16000");
    place(harness, "b", "n2");
    assert_int_equal(device_of(harness, "b"), 1);
}

/* --- records --------------------------------------------------------------------------------- */

/* HAMi's lists, twice, and our own: what fits alone may not fit together. */
static void
test_bind__a_record_too_big_in_all_spellings_is_refused_before_anything_is_booked(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO(buf_clear) struct buf devices = buf_with_max(1 << 20), wants = buf_with_max(1 << 20);

    (void)state;
    for (unsigned i = 0; i < 64; i++)
        buf_addf(&devices,
                 "%s{\"id\":\"GPU-%0100u\",\"count\":10,\"devmem\":1000,\"devcore\":100,"
                 "\"type\":\"NVIDIA-X\",\"health\":true,\"index\":%u}",
                 i > 0 ? "," : "[", i, i);
    buf_add_byte(&devices, ']');
    for (unsigned i = 0; i < 7; i++)
        buf_add_text(&wants, "gpu 64, mem 1;");
    api_node(harness, "n1", 0, 0);
    set_allocatable(harness, "n1", "nvidia.com/gpu", "640");
    annotate_node(harness, "n1", NVIDIA_REGISTER, buf_text(&devices));
    api_pod(harness, "huge", buf_text(&wants));

    assert_contains(ask_bind(harness, "huge", "n1"), "too big for its annotations");
    assert_int_equal(harness->submitted, 0);
    api_pod(harness, "one", "gpu 64, mem 1");
    place(harness, "one", "n1");
}

/* --- F08 ------------------------------------------------------------------------------------- */

static void test_f08__types_are_compared_by_whole_words_and_by_parts_with_stars(void **state)
{
    static const struct {
        const char *key, *types, *kept;
    } cases[] = {
        {"nvidia.com/use-gputype", "A10", "n2"},
        {"nvidia.com/use-gputype", "A100", "n1"},
        {"nvidia.com/use-gputype", "H20", "n4"},
        {"nvidia.com/use-gputype", "h20, A10", "n2 n4"},
        {"nvidia.com/use-gputype", "A10,", "n2"},
        {"nvidia.com/nouse-gputype", "A10", "n1 n3 n4"},
        {"nvidia.com/use-gputype", "NVIDIA-NVIDIA A10", "n2"}, /* as the node has it */
        {"nvidia.com/use-gputype", "*A10*", "n1 n2"},          /* as HAMi compares */
        {"nvidia.com/use-gputype", "", "n1 n2 n3 n4"},
    };
    static const uint64_t size[] = {40960};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    nvidia_node(harness, "n1", "NVIDIA-NVIDIA A100-SXM4-80GB", size, 1);
    nvidia_node(harness, "n2", "NVIDIA-NVIDIA A10", size, 1);
    nvidia_node(harness, "n3", "NVIDIA-NVIDIA H200", size, 1);
    nvidia_node(harness, "n4", "NVIDIA-NVIDIA H20", size, 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *name = xasprintf("p%zu", i);

        api_pod(harness, name, "gpu 1, mem 1000", .annotations = {cases[i].key, cases[i].types});
        expect_kept(harness, name, "n1 n2 n3 n4", cases[i].kept);
    }
}

static void test_f08__chips_of_like_names_are_classes_of_their_own(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 0, 0);
    annotate_node(harness, "n1", "hami.io/node-register-Ascend910B4-1",
                  "[{\"ID\":\"npu-0\",\"Count\":4,\"Devmem\":65536,\"Devcore\":20,"
                  "\"Type\":\"Ascend910B4-1\",\"Health\":true}]");
    api_pod(harness, "b4", "huawei.com/Ascend910B4 1");
    expect_refused(harness, "b4", "n1");
    api_pod(harness, "b4-1", "huawei.com/Ascend910B4-1 1");
    expect_kept(harness, "b4-1", "n1", "n1");
}

/* --- F10 ------------------------------------------------------------------------------------- */

static void test_f10__a_pod_placed_by_hami_holds_the_greatest_of_its_phases(void **state)
{
    static const uint64_t size[] = {16384};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    nvidia_node(harness, "n1", "NVIDIA-NVIDIA A10", size, 1);
    api_pod(harness, "b", "init gpu 1, mem 10240; gpu 1, mem 4096", .node = "n1",
            .annotations = {"hami.io/vgpu-node", "n1", NVIDIA_ALLOCATED,
                            "GPU-n1-0,NVIDIA,10240,0:;GPU-n1-0,NVIDIA,4096,0:;"});
    assert_int_equal(used_mib(harness, "n1"), 10240);
    api_pod(harness, "d", "gpu 1, mem 8192");
    expect_refused(harness, "d", "n1");
    api_finish_init(harness, "b");
    assert_int_equal(used_mib(harness, "n1"), 4096);
    expect_kept(harness, "d", "n1", "n1");
}

static void test_f10__the_list_has_a_slot_for_each_container_also_without_a_card(void **state)
{
    static const uint64_t size[] = {16384};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    nvidia_node(harness, "n1", "NVIDIA-NVIDIA A10", size, 1);
    api_pod(harness, "p", "sidecar none; init gpu 1, mem 100; none; gpu 1, mem 200; none");
    place(harness, "p", "n1");
    assert_string_equal(annotation_of(harness, "p", NVIDIA_ALLOCATED),
                        ";GPU-n1-0,NVIDIA,100,0:;;GPU-n1-0,NVIDIA,200,0:;;");
}

/* --- F11 ------------------------------------------------------------------------------------- */

static void test_f11__the_same_part_of_several_cards(void **state)
{
    static const uint64_t sizes[] = {81920, 81920, 81920, 81920, 81920, 81920, 81920, 81920};
    static const char *const names[] = {"a1", "a2", "a3", "a4"};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    nvidia_node(harness, "n1", "NVIDIA-NVIDIA H100", sizes, 8);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        api_pod(harness, names[i], "gpu 4, mem 40960");
        place(harness, names[i], "n1");
        assert_int_equal(mask_count(devices_of(harness, names[i])), 4);
    }
    api_pod(harness, "a5", "gpu 4, mem 40960");
    expect_refused(harness, "a5", "n1");
}

static void test_f11__policies_of_devices_share_cards_or_spread_over_them(void **state)
{
    static const uint64_t sizes[] = {81920, 81920, 81920, 81920, 81920, 81920, 81920, 81920};
    static const char *const policies[] = {"binpack", "spread"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();
        device_mask first, second;

        nvidia_node(harness, "n1", "NVIDIA-NVIDIA H100", sizes, 8);
        api_pod(harness, "a1", "gpu 4, mem 40960",
                .annotations = {"hami.io/gpu-scheduler-policy", policies[i]});
        api_pod(harness, "a2", "gpu 4, mem 40960",
                .annotations = {"hami.io/gpu-scheduler-policy", policies[i]});
        place(harness, "a1", "n1");
        place(harness, "a2", "n1");
        first = devices_of(harness, "a1");
        second = devices_of(harness, "a2");
        assert_true(i == 0 ? first == second : (first & second) == 0);
    }
}

/* --- F20 ------------------------------------------------------------------------------------- */

static void test_f20__pods_on_one_neuron_device_are_told_cores_of_their_own(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 0, 0);
    set_allocatable(harness, "n1", "aws.amazon.com/neuroncore", "4");
    set_allocatable(harness, "n1", "aws.amazon.com/neuron", "2");
    api_pod(harness, "a", "aws.amazon.com/neuroncore 1");
    api_pod(harness, "b", "aws.amazon.com/neuroncore 1");
    api_pod(harness, "c", "aws.amazon.com/neuron 1");
    api_pod(harness, "d", "aws.amazon.com/neuroncore 1");
    place(harness, "a", "n1");
    place(harness, "b", "n1");
    place(harness, "c", "n1");
    assert_string_equal(annotation_of(harness, "a", "AWS_NEURON_IDS"), "0");
    assert_string_equal(annotation_of(harness, "b", "AWS_NEURON_IDS"), "1");
    assert_string_equal(annotation_of(harness, "c", "AWS_NEURON_IDS"), "1"); /* the device */
    assert_string_equal(annotation_of(harness, "b", "hami.io/aws-neuron-devices-allocated"),
                        "n1-AWSNeuron-0,AWSNeuron,0,2:;");
    assert_string_equal(annotation_of(harness, "a", "NEURON_RESOURCE_TYPE"),
                        "aws.amazon.com/neuroncore");
    assert_null(annotation_of(harness, "c", "NEURON_RESOURCE_TYPE"));
    expect_refused(harness, "d", "n1");
    api_delete_pod(harness, "a");
    place(harness, "d", "n1");
    assert_string_equal(annotation_of(harness, "d", "AWS_NEURON_IDS"), "0");
}

/* --- F23 ------------------------------------------------------------------------------------- */

static void test_f23__templates_book_what_the_class_says_and_name_it(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n2", 0, 0);
    annotate_node(harness, "n2", "hami.io/node-register-Ascend910B3",
                  "[{\"ID\":\"npu-0\",\"Count\":4,\"Devmem\":65536,\"Devcore\":20,"
                  "\"Type\":\"Ascend910B3\",\"Health\":true}]");
    api_pod(harness, "small", "huawei.com/Ascend910B3 1, huawei.com/Ascend910B3-memory 9000");
    api_pod(harness, "large", "huawei.com/Ascend910B3 1, huawei.com/Ascend910B3-memory 20000");
    api_pod(harness, "third", "huawei.com/Ascend910B3 1, huawei.com/Ascend910B3-memory 20000");
    place(harness, "small", "n2");
    place(harness, "large", "n2");
    assert_int_equal(recorded_mib(harness, "small", 0), 16384);
    assert_int_equal(recorded_mib(harness, "large", 0), 32768);
    assert_contains(annotation_of(harness, "large", "huawei.com/Ascend910B3"),
                    "\"temp\":\"vir10_3c_32g\"");
    expect_refused(harness, "third", "n2");
}

/* --- F49 ------------------------------------------------------------------------------------- */

static void test_f49__an_unhealthy_card_keeps_its_pod_and_takes_no_other(void **state)
{
    static const uint64_t sizes[] = {16384, 16384, 16384, 16384};
    static const char *const names[] = {"a", "b", "c", "d"};
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO_FREE char *sick = nvidia_devices("n1", "NVIDIA-NVIDIA A10", sizes, 4, 2);

    (void)state;
    nvidia_node(harness, "n1", "NVIDIA-NVIDIA A10", sizes, 4);
    for (unsigned i = 0; i < 4; i++) {
        AUTO_FREE char *list = xasprintf("GPU-n1-%u,NVIDIA,16384,0:;", i);

        api_pod(harness, names[i], "gpu 1", .node = "n1",
                .annotations = {"hami.io/vgpu-node", "n1", NVIDIA_ALLOCATED, list});
    }
    annotate_node(harness, "n1", NVIDIA_REGISTER, sick);
    assert_int_equal(used_mib(harness, "n1"), 4 * 16384);
    api_delete_pod(harness, "d");
    api_pod(harness, "e", "gpu 1");
    place(harness, "e", "n1");
    assert_int_equal(device_of(harness, "e"), 3);
    api_delete_pod(harness, "c");
    api_pod(harness, "f", "gpu 1");
    assert_contains(expect_refused(harness, "f", "n1"), "GPU");
    nvidia_node(harness, "n1", "NVIDIA-NVIDIA A10", sizes, 4);
    expect_kept(harness, "f", "n1", "n1");
}

static void test_f49__a_plugin_that_is_gone_takes_no_pods_and_loses_none(void **state)
{
    static const uint64_t sizes[] = {16384, 16384};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    nvidia_node(harness, "n1", "NVIDIA-NVIDIA A10", sizes, 2);
    api_pod(harness, "a", "gpu 1, mem 1000");
    place(harness, "a", "n1");
    set_allocatable(harness, "n1", "nvidia.com/gpu", "0");
    api_pod(harness, "b", "gpu 1, mem 1000");
    assert_string_equal(expect_refused(harness, "b", "n1"), "GPU unhealthy");
    assert_int_equal(used_mib(harness, "n1"), 1000);
    set_allocatable(harness, "n1", "nvidia.com/gpu", "20");
    expect_kept(harness, "b", "n1", "n1");
}

static void test_f49__a_cordon_is_for_cards_of_every_vendor(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 0, 0);
    annotate_node(harness, "n1", "hami.io/node-dcu-register",
                  "DCU-0,30,65536,60,DCU-K100,0,true:DCU-1,30,65536,60,DCU-K100,0,true:");
    annotate_node(harness, "n1", "hami.io/device-cordon", "DCU-0");
    api_pod(harness, "a", "hygon.com/dcunum 1, hygon.com/dcucores 10");
    place(harness, "a", "n1");
    assert_int_equal(device_of(harness, "a"), 1);
    api_pod(harness, "b", "hygon.com/dcunum 2, hygon.com/dcucores 10");
    expect_refused(harness, "b", "n1");
}

/* --- Enflame: exact slices of one card ------------------------------------------------------- */

#define DRS \
    "{\"devices\":[{\"index\":\"0\",\"minor\":\"4\",\"capacity\":6}]," \
    "\"profiles\":{\"1g.6gb\":\"0\",\"3g.20gb\":\"1\",\"6g.40gb\":\"2\"}}"

static void test_drs__slices_are_exact_and_never_more_than_a_card_has(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 0, 0);
    annotate_node(harness, "n1", "enflame.com/gcu-drs-capacity", DRS);
    api_pod(harness, "three", "enflame.com/drs-gcu 3");
    api_pod(harness, "one", "enflame.com/drs-gcu 1");
    api_pod(harness, "by-memory", "enflame.com/gcu-memory 5");
    api_pod(harness, "more", "enflame.com/drs-gcu 3");
    api_pod(harness, "two", "enflame.com/drs-gcu 2");
    place(harness, "three", "n1");
    place(harness, "one", "n1");
    place(harness, "by-memory", "n1");
    expect_refused(harness, "more", "n1");
    expect_refused(harness, "two", "n1"); /* there is no such profile */
    assert_string_equal(annotation_of(harness, "three", "assigned-containers"),
                        "{\"c0\":{\"allocated\":false,\"request\":3,\"profileID\":\"1\","
                        "\"profileName\":\"3g.20gb\"}}");
    assert_string_equal(annotation_of(harness, "three", "enflame.com/gcu-request-size"), "3");
    assert_string_equal(annotation_of(harness, "three", "enflame.com/gcu-assigned-minor"), "4");
    assert_string_equal(annotation_of(harness, "by-memory", "enflame.com/gcu-request-size"), "1");
    api_delete_pod(harness, "three");
    place(harness, "more", "n1");
}

/* HAMi rounds a sixth up to 17 of 100 cores; it serves so many, and six are one card. */
static void test_drs__six_slices_are_one_card_and_not_more(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 0, 0);
    annotate_node(harness, "n1", "enflame.com/gcu-drs-capacity", DRS);
    for (unsigned i = 0; i < 6; i++) {
        AUTO_FREE char *name = xasprintf("p%u", i);

        api_pod(harness, name, "enflame.com/gcu-core 17");
        place(harness, name, "n1");
        assert_string_equal(annotation_of(harness, name, "enflame.com/gcu-request-size"), "1");
    }
    assert_int_equal(used_cores(harness, "n1"), 96);
    api_pod(harness, "seventh", "enflame.com/gcu-core 1");
    expect_refused(harness, "seventh", "n1");
    cluster_check(harness->cluster);
}

static void test_drs__six_slices_that_hami_has_placed_are_one_card_too(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 0, 0);
    annotate_node(harness, "n1", "enflame.com/gcu-drs-capacity", DRS);
    for (unsigned i = 0; i < 6; i++) {
        AUTO_FREE char *name = xasprintf("p%u", i);

        api_pod(harness, name, "enflame.com/drs-gcu 1", .node = "n1",
                .annotations = {"hami.io/vgpu-node", "n1", "hami.io/enflame-vgpu-devices-allocated",
                                "n1-enflame-drs-0,Enflame,6144,17:;"});
    }
    assert_int_equal(used_cores(harness, "n1"), 100);
    cluster_check(harness->cluster);
}

static void test_drs__all_slices_are_given_out_where_no_profile_is_the_whole_card(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 0, 0);
    annotate_node(harness, "n1", "enflame.com/gcu-drs-capacity",
                  "{\"devices\":[{\"index\":\"0\",\"minor\":\"0\",\"capacity\":6}],"
                  "\"profiles\":{\"1g.6gb\":\"0\",\"3g.20gb\":\"1\"}}");
    api_pod(harness, "a", "enflame.com/drs-gcu 3");
    api_pod(harness, "b", "enflame.com/drs-gcu 3");
    api_pod(harness, "c", "enflame.com/drs-gcu 1");
    place(harness, "a", "n1");
    place(harness, "b", "n1");
    expect_refused(harness, "c", "n1");
}

/* Return what is wrong with a node whose plugin says that. Free it. */
static char *problem_of(struct harness *harness, const char *node)
{
    json_t *view = node_view(harness, node);
    const char *problem = json_string_value(json_object_get(view, "problem"));
    char *text = xstrdup(problem != NULL ? problem : "");

    json_decref(view);
    return text;
}

static void test_drs__a_card_of_more_slices_than_there_can_be_is_left_out(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO_FREE char *problem = NULL;

    (void)state;
    api_node(harness, "n1", 0, 0);
    annotate_node(harness, "n1", "enflame.com/gcu-drs-capacity",
                  "{\"devices\":[{\"index\":\"0\",\"minor\":\"0\",\"capacity\":40}],"
                  "\"profiles\":{\"1g.6gb\":\"0\"}}");
    problem = problem_of(harness, "n1");
    assert_contains(problem, "\"capacity\" must be 1 to 15 slices");
}

/* --- devices that are only counted ----------------------------------------------------------- */

#define LONG_NAME \
    "ip-10-0-0-1.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa." \
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb." \
    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc." \
    "dddddddddddddddddddddddddddddddddddddddddddddddddd.example"

/* 100 cards with 96 units of memory and 16 cores each: 64 are known, and none has more for that. */
static void test_counted__cards_beyond_the_maximum_keep_what_is_theirs(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 0, 0);
    set_allocatable(harness, "n1", "mthreads.com/sgpu-core", "1600");
    set_allocatable(harness, "n1", "mthreads.com/sgpu-memory", "9600");
    set_allocatable(harness, "n1", "mthreads.com/vgpu", "10000");
    api_pod(harness, "a", "mthreads.com/vgpu 1, mthreads.com/sgpu-memory 97");
    expect_refused(harness, "a", "n1");
    api_pod(harness, "b",
            "mthreads.com/vgpu 1, mthreads.com/sgpu-memory 96, "
            "mthreads.com/sgpu-core 16");
    place(harness, "b", "n1");
}

static void test_counted__devices_of_a_node_with_a_long_name_are_known(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO_FREE char *problem = NULL;

    (void)state;
    api_node(harness, LONG_NAME, 0, 0);
    set_allocatable(harness, LONG_NAME, "aws.amazon.com/neuroncore", "4");
    set_allocatable(harness, LONG_NAME, "aws.amazon.com/neuron", "2");
    annotate_node(harness, LONG_NAME, "enflame.com/gcu-drs-capacity", DRS);
    problem = problem_of(harness, LONG_NAME);
    assert_string_equal(problem, "");
    api_pod(harness, "a", "aws.amazon.com/neuron 1");
    place(harness, "a", LONG_NAME);
    api_pod(harness, "b", "enflame.com/drs-gcu 3");
    place(harness, "b", LONG_NAME);
}

static void test_drs__a_card_that_is_not_divided_has_no_slices(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 1, 40960, .class = "enflame-drs");
    api_pod(harness, "p", "enflame.com/drs-gcu 3");
    expect_refused(harness, "p", "n1");
}

/* --- F47: partitions ------------------------------------------------------------------------- */

#define PROFILE(name, mib, slices, places) \
    "{\"name\":\"" name "\",\"memoryMB\":" #mib ",\"core\":14,\"sliceCount\":" #slices \
    ",\"placements\":[" places "]}"
#define PLACE(start, size) "{\"start\":" #start ",\"size\":" #size "}"
#define MIG_DEVICE \
    "[{\"id\":\"GPU-m\",\"index\":0,\"count\":7,\"devmem\":40960,\"devcore\":100," \
    "\"type\":\"NVIDIA-NVIDIA " \
    "A100-PCIE-40GB\",\"mode\":\"mig\",\"health\":true,\"migProfiles\":[" PROFILE( \
        "1g.5gb", 5120, 1, \
        PLACE(0, 1) "," PLACE(1, 1) "," PLACE(2, 1) "," PLACE(3, 1) "," PLACE(4, 1) "," PLACE( \
            5, \
            1) "," PLACE(6, \
                         1)) "," PROFILE("2g.10gb", 10240, 2, \
                                         PLACE(0, 2) "," PLACE(2, 2) "," PLACE( \
                                             4, \
                                             2)) "," PROFILE("4g.20gb", 20480, 4, \
                                                             PLACE(0, \
                                                                   4)) "," PROFILE("7g.40gb", \
                                                                                   40960, 7, \
                                                                                   PLACE(0, \
                                                                                         8)) "]}]"

static void
test_f47__partitions_leave_room_for_large_ones_and_are_told_with_their_place(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 0, 0);
    annotate_node(harness, "n1", NVIDIA_REGISTER, MIG_DEVICE);
    api_pod(harness, "small", "gpu 1, mem 5000");
    api_pod(harness, "middle", "gpu 1, mem 10000");
    api_pod(harness, "large", "gpu 1, mem 20000");
    api_pod(harness, "whole", "gpu 1, mem 40000");
    place(harness, "small", "n1");
    assert_contains(annotation_of(harness, "small", "hami.io/vgpu-mig-allocations"),
                    "\"profile\":\"1g.5gb\",\"placement\":{\"start\":6,\"size\":1}");
    assert_string_equal(annotation_of(harness, "small", NVIDIA_ALLOCATED),
                        "GPU-m,NVIDIA,5120,14:;");
    expect_refused(harness, "whole", "n1");
    place(harness, "middle", "n1");
    place(harness, "large", "n1");
    api_delete_pod(harness, "small");
    api_delete_pod(harness, "middle");
    api_delete_pod(harness, "large");
    expect_kept(harness, "whole", "n1", "n1");
}

static void test_f47__a_layout_in_use_is_kept_where_the_plugin_has_no_other(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n3", 0, 0);
    annotate_node(harness, "n3", NVIDIA_REGISTER,
                  "GPU-m,7,40960,100,NVIDIA-NVIDIA A100-PCIE-40GB,0,true,0,mig:");
    api_pod(harness, "a", "gpu 1, mem 5000", .node = "n3",
            .annotations = {"hami.io/vgpu-node", "n3", NVIDIA_ALLOCATED,
                            "GPU-m[0-0],NVIDIA,5120,14:;"});
    api_pod(harness, "b", "gpu 1, mem 5000", .node = "n3",
            .annotations = {"hami.io/vgpu-node", "n3", NVIDIA_ALLOCATED,
                            "GPU-m[0-1],NVIDIA,5120,14:;"});
    api_pod(harness, "two", "gpu 1, mem 10000");
    expect_refused(harness, "two", "n3");
    api_pod(harness, "one", "gpu 1, mem 5000");
    place(harness, "one", "n3");
    assert_contains(annotation_of(harness, "one", NVIDIA_ALLOCATED), "GPU-m[0-");
    assert_null(annotation_of(harness, "one", "hami.io/vgpu-mig-allocations"));
    api_delete_pod(harness, "a");
    api_delete_pod(harness, "b");
    api_delete_pod(harness, "one");
    place(harness, "two", "n3");
    assert_contains(annotation_of(harness, "two", NVIDIA_ALLOCATED), "GPU-m[1-");
}

static void test_f47__the_mode_that_a_pod_wants_counts(void **state)
{
    static const uint64_t size[] = {40960};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 0, 0);
    annotate_node(harness, "n1", NVIDIA_REGISTER, MIG_DEVICE);
    nvidia_node(harness, "n2", "NVIDIA-NVIDIA A100-PCIE-40GB", size, 1);
    api_pod(harness, "mig", "gpu 1, mem 5000", .annotations = {"nvidia.com/vgpu-mode", "mig"});
    api_pod(harness, "core", "gpu 1, mem 5000",
            .annotations = {"nvidia.com/vgpu-mode", "hami-core"});
    api_pod(harness, "any", "gpu 1, mem 5000");
    expect_kept(harness, "mig", "n1 n2", "n1");
    expect_kept(harness, "core", "n1 n2", "n2");
    expect_kept(harness, "any", "n1 n2", "n1 n2");
}

/* --- F19, F22: sets and services of vendors -------------------------------------------------- */

static void test_f19__neuron_devices_are_next_to_each_other(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 0, 0);
    json_object_set_new(json_object_get(api_node_json(harness, "n1"), "metadata"), "labels",
                        json_pack("{s:s}", "node.kubernetes.io/instance-type", "inf2.48xlarge"));
    set_allocatable(harness, "n1", "aws.amazon.com/neuroncore", "24");
    set_allocatable(harness, "n1", "aws.amazon.com/neuron", "12");
    for (unsigned i = 0; i < 12; i++) {
        static const char free_devices[] = "0 2 4 5 9 ";
        AUTO_FREE char *name = xasprintf("busy-%u", i);
        AUTO_FREE char *word = xasprintf("%u ", i);
        AUTO_FREE char *list = xasprintf("n1-AWSNeuron-%u,AWSNeuron,0,3:;", i);

        if (strstr(free_devices, word) != NULL && i != 1)
            continue;
        api_pod(harness, name, "aws.amazon.com/neuron 1", .node = "n1",
                .annotations = {"hami.io/vgpu-node", "n1", "hami.io/aws-neuron-devices-allocated",
                                list});
    }
    api_pod(harness, "three", "aws.amazon.com/neuron 3");
    expect_refused(harness, "three", "n1");
    api_pod(harness, "two", "aws.amazon.com/neuron 2");
    place(harness, "two", "n1");
    assert_string_equal(annotation_of(harness, "two", "AWS_NEURON_IDS"), "4,5");
}

static void test_f22__service_classes_do_not_mix_on_a_card(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    const char *key = "metax-tech.com/sgpu-qos-policy";
    const char *wants = "metax-tech.com/sgpu 1, metax-tech.com/vmemory 4, metax-tech.com/vcore 10";

    (void)state;
    api_node(harness, "m6", 0, 0);
    annotate_node(harness, "m6", "metax-tech.com/node-gpu-devices",
                  "[{\"uuid\":\"GPU-0\",\"totalDevCount\":16,\"totalCompute\":100,"
                  "\"totalVRam\":65536,\"healthy\":true},"
                  "{\"uuid\":\"GPU-1\",\"totalDevCount\":16,\"totalCompute\":100,"
                  "\"totalVRam\":65536,\"healthy\":true}]");
    api_pod(harness, "tenant", wants, .node = "m6",
            .annotations = {"hami.io/vgpu-node", "m6", "hami.io/metax-sgpu-devices-allocated",
                            "GPU-0,Metax-SGPU,4096,10:;", key, "best-effort"});
    api_pod(harness, "b", wants, .annotations = {key, "burst-share"});
    api_pod(harness, "c", wants, .annotations = {key, "best-effort"});
    api_pod(harness, "fixed", wants, .annotations = {key, "fixed-share"});
    place(harness, "b", "m6");
    assert_int_equal(device_of(harness, "b"), 1);
    place(harness, "c", "m6");
    assert_int_equal(device_of(harness, "c"), 0);
    expect_refused(harness, "fixed", "m6");
}

/* --- records of HAMi's scheduler ------------------------------------------------------------- */

static void test_records__one_that_cannot_be_read_takes_devices_until_it_is_gone(void **state)
{
    static const uint64_t sizes[] = {16384, 16384};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    nvidia_node(harness, "n1", "NVIDIA-NVIDIA A10", sizes, 2);
    api_pod(harness, "cut", "gpu 1, mem 1000", .node = "n1",
            .annotations = {"hami.io/vgpu-node", "n1", NVIDIA_ALLOCATED, "GPU-n1-0,NVIDIA,10"});
    api_pod(harness, "two", "gpu 2, mem 1000");
    expect_refused(harness, "two", "n1");
    api_pod(harness, "one", "gpu 1, mem 1000");
    expect_kept(harness, "one", "n1", "n1");
    api_delete_pod(harness, "cut");
    expect_kept(harness, "two", "n1", "n1");
}

static void test_records__what_is_filtered_and_not_bound_holds_nothing(void **state)
{
    static const uint64_t sizes[] = {16384};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    nvidia_node(harness, "n1", "NVIDIA-NVIDIA A10", sizes, 1);
    api_pod(harness, "phantom", "gpu 1",
            .annotations = {"hami.io/vgpu-node", "n1", NVIDIA_ALLOCATED,
                            "GPU-n1-0,NVIDIA,16384,100:;"});
    api_pod(harness, "a", "gpu 1");
    place(harness, "a", "n1");
    assert_false(holds(harness, "phantom"));
}

/* --- what plugins are told ------------------------------------------------------------------- */

static void test_binding__has_both_records_and_the_node(void **state)
{
    static const uint64_t sizes[] = {16384};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    nvidia_node(harness, "n1", "NVIDIA-NVIDIA A10", sizes, 1);
    api_pod(harness, "a", "gpu 1, mem 1000, cores 30");
    place(harness, "a", "n1");
    assert_string_equal(annotation_of(harness, "a", "hami.io/vgpu-node"), "n1");
    assert_string_equal(annotation_of(harness, "a", NVIDIA_ALLOCATED), "GPU-n1-0,NVIDIA,1000,30:;");
    assert_non_null(annotation_of(harness, "a", "hami.io/vgpu-time"));
    assert_contains(annotation_of(harness, "a", "topofit.io/allocation"), "GPU-n1-0");
    harness_restart(harness);
    relist_nodes(harness);
    relist_pods(harness);
    assert_int_equal(used_mib(harness, "n1"), 1000);
}

static void test_binding__says_nothing_to_hami_where_its_plugins_are_not(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 1, 16384);
    api_pod(harness, "a", "gpu 1");
    place(harness, "a", "n1");
    assert_null(annotation_of(harness, "a", "hami.io/vgpu-node"));
    assert_null(annotation_of(harness, "a", NVIDIA_ALLOCATED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f04__each_card_is_booked_and_told_with_its_own_size),
        cmocka_unit_test(test_f04__the_sum_of_a_node_serves_nobody),
        cmocka_unit_test(
            test_bind__a_record_too_big_in_all_spellings_is_refused_before_anything_is_booked),
        cmocka_unit_test(test_f08__types_are_compared_by_whole_words_and_by_parts_with_stars),
        cmocka_unit_test(test_f08__chips_of_like_names_are_classes_of_their_own),
        cmocka_unit_test(test_f10__a_pod_placed_by_hami_holds_the_greatest_of_its_phases),
        cmocka_unit_test(test_f10__the_list_has_a_slot_for_each_container_also_without_a_card),
        cmocka_unit_test(test_f11__the_same_part_of_several_cards),
        cmocka_unit_test(test_f11__policies_of_devices_share_cards_or_spread_over_them),
        cmocka_unit_test(test_f20__pods_on_one_neuron_device_are_told_cores_of_their_own),
        cmocka_unit_test(test_f23__templates_book_what_the_class_says_and_name_it),
        cmocka_unit_test(test_f49__an_unhealthy_card_keeps_its_pod_and_takes_no_other),
        cmocka_unit_test(test_f49__a_plugin_that_is_gone_takes_no_pods_and_loses_none),
        cmocka_unit_test(test_f49__a_cordon_is_for_cards_of_every_vendor),
        cmocka_unit_test(test_drs__six_slices_are_one_card_and_not_more),
        cmocka_unit_test(test_drs__six_slices_that_hami_has_placed_are_one_card_too),
        cmocka_unit_test(test_drs__all_slices_are_given_out_where_no_profile_is_the_whole_card),
        cmocka_unit_test(test_drs__a_card_of_more_slices_than_there_can_be_is_left_out),
        cmocka_unit_test(test_drs__a_card_that_is_not_divided_has_no_slices),
        cmocka_unit_test(test_counted__cards_beyond_the_maximum_keep_what_is_theirs),
        cmocka_unit_test(test_counted__devices_of_a_node_with_a_long_name_are_known),
        cmocka_unit_test(test_drs__slices_are_exact_and_never_more_than_a_card_has),
        cmocka_unit_test(
            test_f47__partitions_leave_room_for_large_ones_and_are_told_with_their_place),
        cmocka_unit_test(test_f47__a_layout_in_use_is_kept_where_the_plugin_has_no_other),
        cmocka_unit_test(test_f47__the_mode_that_a_pod_wants_counts),
        cmocka_unit_test(test_f19__neuron_devices_are_next_to_each_other),
        cmocka_unit_test(test_f22__service_classes_do_not_mix_on_a_card),
        cmocka_unit_test(test_records__one_that_cannot_be_read_takes_devices_until_it_is_gone),
        cmocka_unit_test(test_records__what_is_filtered_and_not_bound_holds_nothing),
        cmocka_unit_test(test_binding__has_both_records_and_the_node),
        cmocka_unit_test(test_binding__says_nothing_to_hami_where_its_plugins_are_not),
    };

    return cmocka_run_group_tests_name("field_cases_hami", tests, NULL, NULL);
}
