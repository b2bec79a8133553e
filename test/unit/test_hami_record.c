/* SPDX-License-Identifier: Apache-2.0 */
/* What is written for HAMi's plugins, and read again. */
#include "support/builders.h"
#include "support/class_nodes.h"
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"
#include "topofit/plan.h"

#include <string.h>

#define ALLOCATED "vgpu.example.com/allocated"
#define RESERVED "vgpu.example.com/mig"
#define IDS "vgpu.example.com/ids"

/* Two kinds of devices of one plugin: it has one list for both. */
#define KIND(name) \
    "name: " name "\n" \
    "title: " name "\n" \
    "resources: {count: example.com/" name "}\n" \
    "hami:\n" \
    "  word: Example\n" \
    "  form: json\n" \
    "  register: example.com/register-" name "\n" \
    "  allocated: " ALLOCATED "\n" \
    "  extras:\n" \
    "  - {key: " RESERVED ", value: migAllocations}\n" \
    "  - {key: " IDS ", value: ids}\n" \
    "partitions:\n" \
    "- products: [Card]\n" \
    "  slices: 2\n" \
    "  compute: 2\n" \
    "  profiles: [{name: 1g.1gb, memoryMiB: 500, cores: 50, compute: 1, starts: [0, 1]}]\n"

struct scene {
    struct class_table classes;
    struct node *node; /* GPU-0 is of the first kind, GPU-1 of the second and divided */
    struct request request;
    struct allocation allocation;
    struct kube_pod kube;
};

static void scene_init(struct scene *scene)
{
    static const char yaml[] = KIND("old") "---\n" KIND("new");
    struct error err = {0};

    *scene = (struct scene){0};
    assert_ok(classes_read(&scene->classes, NULL, yaml, strlen(yaml), &err), &err);
    assert_ok(class_table_index(&scene->classes, &err), &err);
    scene->node = node_of_class(&scene->classes.items[0], 2, 1000, 10);
    scene->node->wants_lock = true;
    scene->node->devices[1].class = &scene->classes.items[1];
    scene->node->devices[1].partitions = table_of(&scene->classes.items[1], "Card");
    request_init(&scene->request);
    allocation_init(&scene->allocation);
    kube_pod_init(&scene->kube);
}

static void scene_clear(struct scene *scene)
{
    kube_pod_clear(&scene->kube);
    allocation_clear(&scene->allocation);
    request_clear(&scene->request);
    node_unref(scene->node);
    class_table_clear(&scene->classes);
}

static void ask_for(struct scene *scene, const char *name, unsigned class, unsigned count)
{
    const struct ask ask = {.class = &scene->classes.items[class],
                            .container = (unsigned)scene->request.container_count,
                            .count = count};

    request_add_container(&scene->request, name, CONTAINER_APP);
    allocation_add_container(&scene->allocation, name, CONTAINER_APP);
    request_add_ask(&scene->request, &ask);
}

/* What a container of the request has. */
static void give(struct scene *scene, size_t container, const char *id, bool half)
{
    struct allocated_device *given =
        allocation_add_device(&scene->allocation.containers[container], id);

    given->memory_mib = half ? 500 : 1000;
    given->cores = half ? 50 : 100;
    given->mode = half ? ISOLATION_PARTITIONED : ISOLATION_SHARED;
    if (half)
        given->partition =
            partition_placement_of(scene->node->devices[1].partitions, 0, 1, UINT32_C(1) << 1);
}

static const char *write_annotation(struct scene *scene, const char *key)
{
    const struct dialect_placement placement = {&scene->allocation, scene->node, &scene->request,
                                                0};

    if (scene->kube.meta.annotations.count == 0) {
        mem_free_pointer(&scene->allocation.node);
        scene->allocation.node = xstrdup(scene->node->name);
        dialect_hami.write_record(&placement, &scene->kube.meta.annotations);
    }
    return kube_pairs_get(&scene->kube.meta.annotations, key);
}

static void test_hami_record__a_list_of_two_classes_is_written_and_read_as_one(void **state)
{
    AUTO(scene_clear) struct scene scene;
    AUTO(allocation_clear) struct allocation read = {0};
    struct error err = {0};

    (void)state;
    scene_init(&scene);
    ask_for(&scene, "a", 1, 1);
    ask_for(&scene, "b", 0, 1);
    give(&scene, 0, "GPU-1", true);
    give(&scene, 1, "GPU-0", false);
    assert_string_equal(write_annotation(&scene, ALLOCATED),
                        "GPU-1,Example,500,50:;GPU-0,Example,1000,100:;");
    assert_string_equal(write_annotation(&scene, IDS), "GPU-1,GPU-0");
    mem_free_pointer(&scene.kube.node_name);
    scene.kube.node_name = xstrdup(scene.node->name);
    assert_int_equal(
        dialect_hami.read_record(&scene.kube, &scene.classes, &scene.request, &read, &err), 1);
    assert_true(allocation_equal(&read, &scene.allocation));
}

/* Empty slots of other containers may be lost: a list goes by who asks for any of its classes. */
static void test_hami_record__slots_belong_to_who_asks_for_any_class_of_the_list(void **state)
{
    AUTO(scene_clear) struct scene scene;
    AUTO(allocation_clear) struct allocation read = {0};
    struct error err = {0};

    (void)state;
    scene_init(&scene);
    ask_for(&scene, "a", 0, 1);
    ask_for(&scene, "b", 1, 2);
    request_add_container(&scene.request, "c", CONTAINER_APP);
    kube_pairs_add(&scene.kube.meta.annotations, "hami.io/vgpu-node", "n1");
    kube_pairs_add(&scene.kube.meta.annotations, ALLOCATED,
                   "GPU-0,Example,10,1:;GPU-1,Example,10,1:GPU-2,Example,10,1:;");
    mem_free_pointer(&scene.kube.node_name);
    scene.kube.node_name = xstrdup("n1");
    assert_int_equal(
        dialect_hami.read_record(&scene.kube, &scene.classes, &scene.request, &read, &err), 1);
    assert_int_equal(read.containers[0].device_count, 1);
    assert_int_equal(read.containers[1].device_count, 2);
}

static void test_hami_record__a_reservation_counts_all_devices_of_its_list(void **state)
{
    AUTO(scene_clear) struct scene scene;

    (void)state;
    scene_init(&scene);
    ask_for(&scene, "a", 0, 1);
    give(&scene, 0, "GPU-0", false);
    give(&scene, 0, "GPU-1", true);
    assert_contains(write_annotation(&scene, RESERVED), "\"deviceIndex\":1,\"gpuUUID\":\"GPU-1\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hami_record__a_list_of_two_classes_is_written_and_read_as_one),
        cmocka_unit_test(test_hami_record__slots_belong_to_who_asks_for_any_class_of_the_list),
        cmocka_unit_test(test_hami_record__a_reservation_counts_all_devices_of_its_list),
    };

    return cmocka_run_group_tests_name("hami_record", tests, NULL, NULL);
}
