/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/byte_map.h"
#include "support/test.h"

#include "topofit/node.h"

#include <stdlib.h>

static void test_node_add_device__has_the_stated_defaults(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_new("n", "u");
    const struct device *device = node_add_device(node, "GPU-x");

    (void)state;
    assert_string_equal(device->id, "GPU-x");
    assert_null(device->class);
    assert_string_equal(device->product->chars, "");
    assert_string_equal(device->bus_id->chars, "");
    assert_int_equal(device->memory_mib, 0);
    assert_int_equal(device->cores, 0);
    assert_int_equal(device->slots, 1);
    assert_int_equal(device->numa, NUMA_UNKNOWN);
    assert_true(device->healthy);
    assert_false(device->cordoned);
}

static void test_node_add_device__stops_at_the_most(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_new("n", "u");

    (void)state;
    for (int i = 0; i < DEVICE_MAX; i++) {
        AUTO_FREE char *id = xasprintf("%d", i);

        assert_non_null(node_add_device(node, id));
    }
    assert_null(node_add_device(node, "one more"));
    assert_int_equal(node->device_count, DEVICE_MAX);
}

static void test_node_sort_devices__by_index_then_id(void **state)
{
    static const struct {
        const char *id;
        unsigned index;
    } devices[] = {{"c", 10}, {"b", 2}, {"a", 10}, {"d", 0}};
    AUTO(node_unref_pointer) struct node *node = node_new("n", "u");

    (void)state;
    node_sort_devices(node);
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        node_add_device(node, devices[i].id)->index = devices[i].index;
    node_sort_devices(node);
    assert_string_equal(node->devices[0].id, "d");
    assert_string_equal(node->devices[1].id, "b");
    assert_string_equal(node->devices[2].id, "a");
    assert_string_equal(node->devices[3].id, "c");
    assert_int_equal(node_find_device(node, "a"), 2);
    assert_int_equal(node_find_device(node, "z"), -1);
}

static void test_node_note_problem__joins_several_and_stays_bounded(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_new("n", "u");

    (void)state;
    node_note_problem(node, "line %d", 3);
    node_note_problem(node, "more");
    assert_string_equal(node->problem, "line 3; more");
    for (int i = 0; i < 1000; i++)
        node_note_problem(node, "problem number %d", i);
    assert_in_range(strlen(node->problem), 500, 5000);
}

/* What a heartbeat may change, one at a time. */
static void change(struct node *node, int what)
{
    struct device *device = &node->devices[1];

    switch (what) {
    case 0:
        device->memory_mib++;
        return;
    case 1:
        device->healthy = false;
        return;
    case 2:
        device->cordoned = true;
        return;
    case 3:
        device->cores++;
        return;
    case 4:
        device->slots++;
        return;
    case 5:
        device->numa = 1;
        return;
    case 6:
        device->index = 7;
        return;
    case 7:
        node->unschedulable = true;
        return;
    case 8:
        labels_add(node->labels, "zone", "a");
        return;
    case 9:
        node_note_problem(node, "x");
        return;
    case 10:
        node->has_inventory = false;
        return;
    case 11:
        device->id[4] = 'x';
        return;
    case 12:
        device->class = NULL;
        return;
    case 13:
        node->uid[0] = 'x';
        return;
    }
}

static void test_node_equal__sees_every_difference(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 2, 1000, 1);
    AUTO(node_unref_pointer) struct node *same = node_plain("n", 2, 1000, 1);
    AUTO(node_unref_pointer) struct node *wired = node_8gpu_pairs("n");
    AUTO(node_unref_pointer) struct node *otherwise = node_8gpu_nvswitch("n");

    (void)state;
    assert_true(node_equal(node, same));
    for (int what = 0; what < 14; what++) {
        AUTO(node_unref_pointer) struct node *other = node_plain("n", 2, 1000, 1);

        change(other, what);
        assert_false(node_equal(node, other));
    }
    assert_false(node_equal(wired, otherwise));
}

/* What is pointed to is in the test above. */
static void test_node_equal__has_all_of_a_node_and_its_devices(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 1000, 1);
    struct device device = node->devices[0];
    struct node other = *node;
    struct byte_map map;

    (void)state;
    byte_map_init(&map, struct node);
    byte_map_skip(&map, struct node, references);
    byte_map_skip(&map, struct node, name);
    byte_map_skip(&map, struct node, uid);
    byte_map_skip(&map, struct node, labels);
    byte_map_skip(&map, struct node, devices);
    byte_map_skip(&map, struct node, graph);
    byte_map_skip(&map, struct node, problem);
    for (size_t at = 0; other = *node, byte_map_flip(&map, &at, &other); at++) {
        if (node_equal(node, &other))
            fail_msg("byte %zu of a node is not looked at", at);
    }
    byte_map_init(&map, struct device);
    byte_map_skip(&map, struct device, id);
    byte_map_skip(&map, struct device, product);
    byte_map_skip(&map, struct device, bus_id);
    byte_map_skip(&map, struct device, partitions);
    other.devices = &device;
    for (size_t at = 0; device = node->devices[0], byte_map_flip(&map, &at, &device); at++) {
        if (node_equal(node, &other))
            fail_msg("byte %zu of a device is not looked at", at);
    }
}

static void test_labels__are_found_by_key_and_compared_in_order(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_new("n", "u");
    struct label_set *other = labels_new();

    (void)state;
    labels_add(node->labels, "b", "2");
    labels_add(node->labels, "a", "1");
    labels_sort(node->labels);
    labels_add(other, "a", "1");
    labels_add(other, "b", "2");
    assert_true(labels_equal(node->labels, other));
    assert_string_equal(node_label(node, "b"), "2");
    assert_null(node_label(node, "c"));
    labels_unref(other);
    labels_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_add_device__has_the_stated_defaults),
        cmocka_unit_test(test_node_add_device__stops_at_the_most),
        cmocka_unit_test(test_node_sort_devices__by_index_then_id),
        cmocka_unit_test(test_node_note_problem__joins_several_and_stays_bounded),
        cmocka_unit_test(test_node_equal__sees_every_difference),
        cmocka_unit_test(test_node_equal__has_all_of_a_node_and_its_devices),
        cmocka_unit_test(test_labels__are_found_by_key_and_compared_in_order),
    };

    return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
