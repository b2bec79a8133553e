/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/kube_words.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/class.h"
#include "topofit/dialect.h"

#define ONE(members) "{\"devices\":[{\"id\":\"GPU-a\"" members "}]}"

static void test_native_inventory__reads_every_member(void **state)
{
    AUTO(node_unref_pointer)
    struct node *node = node_told(
        ONE(",\"index\":3,\"class\":\"nvidia\",\"product\":\"NVIDIA A10\",\"memoryMiB\":24576,"
            "\"cores\":120,\"numa\":1,\"busId\":\"0000:3B:00.0\",\"healthy\":false,\"slots\":7,"
            "\"partitions\":[]"),
        NULL, NULL);
    const struct device *device = &node->devices[0];

    (void)state;
    assert_null(node->problem);
    assert_true(node->has_inventory);
    assert_int_equal(node->device_count, 1);
    assert_string_equal(device->id, "GPU-a");
    assert_int_equal(device->index, 3);
    assert_ptr_equal(device->class, &test_class);
    assert_string_equal(device->product->chars, "NVIDIA A10");
    assert_int_equal(device->memory_mib, 24576);
    assert_int_equal(device->cores, 120);
    assert_int_equal(device->numa, 1);
    assert_string_equal(device->bus_id->chars, "0000:3B:00.0");
    assert_false(device->healthy);
    assert_int_equal(device->slots, 7);
}

static void test_native_inventory__fills_in_what_is_left_out(void **state)
{
    AUTO(node_unref_pointer)
    struct node *node = node_told("{\"devices\":[{\"id\":\"a\"},{\"id\":\"b\"}]}", NULL, NULL);

    (void)state;
    assert_int_equal(node->devices[1].index, 1);
    assert_ptr_equal(node->devices[1].class, &test_class);
    assert_int_equal(node->devices[1].memory_mib, 0);
    assert_int_equal(node->devices[1].cores, 100);
    assert_int_equal(node->devices[1].slots, 1);
    assert_int_equal(node->devices[1].numa, NUMA_UNKNOWN);
    assert_true(node->devices[1].healthy);
}

static void test_native_inventory__f38_what_is_no_inventory_is_named_and_the_node_kept(void **state)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"", "topofit.io/inventory: line 1"},
        {"no JSON at all", "line 1, column 2"},
        {"{\"devices\":[}", "line 1, column 13"},
        {"{\n\"devices\": [\n{\"id\": \"a\",}\n]}", "line 3"},
        {"null", "topofit.io/inventory"},
        {"[]", "\"devices\""},
        {"{}", "\"devices\""},
        {"{\"devices\":null}", "\"devices\""},
        {"{\"devices\":{\"id\":\"a\"}}", "\"devices\""},
        {"{\"devices\":[{\"id\":\"a\",\"id\":\"b\"}]}", "duplicate"},
        {"{\"devices\":[{\"id\":\"a\",\"memoryMiB\":1e999}]}", "overflow"},
        {"{\"devices\":[{\"id\":\"\xff\"}]}", "line 1"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(node_unref_pointer) struct node *node = node_told(cases[i].text, NULL, NULL);

        assert_false(node->has_inventory);
        assert_int_equal(node->device_count, 0);
        assert_int_equal(node->graph->n, 0);
        assert_contains(node->problem, cases[i].problem);
    }
}

/* The rest of the inventory is good: only the device that cannot be read is left out. */
static void test_native_inventory__a_device_that_cannot_be_read_is_left_out_and_named(void **state)
{
    static const struct {
        const char *device, *key;
    } cases[] = {
        {"{}", "\"id\""},
        {"{\"id\":\"\"}", "\"id\""},
        {"{\"id\":7}", "\"id\""},
        {"{\"id\":null}", "\"id\""},
        {"{\"id\":\"a,b\"}", "\"id\""},
        {"{\"id\":\" a\"}", "\"id\""},
        {"{\"id\":\"All\"}", "\"id\""},
        {"{\"id\":\"x\",\"index\":0}", "\"index\""}, /* the good one's */
        {"{\"id\":\"good\"}", "\"id\""},             /* twice */
        {"{\"id\":\"x\",\"index\":-1}", "\"index\""},
        {"{\"id\":\"x\",\"index\":65536}", "\"index\""},
        {"{\"id\":\"x\",\"index\":\"1\"}", "\"index\""},
        {"{\"id\":\"x\",\"class\":\"abacus\"}", "\"class\""},
        {"{\"id\":\"x\",\"memoryMiB\":-1}", "\"memoryMiB\""},
        {"{\"id\":\"x\",\"memoryMiB\":1.5}", "\"memoryMiB\""},
        {"{\"id\":\"x\",\"memoryMiB\":\"16Gi\"}", "\"memoryMiB\""},
        {"{\"id\":\"x\",\"memoryMiB\":9223372036854775807}", "\"memoryMiB\""},
        {"{\"id\":\"x\",\"cores\":10001}", "\"cores\""},
        {"{\"id\":\"x\",\"slots\":70000}", "\"slots\""},
        {"{\"id\":\"x\",\"numa\":32768}", "\"numa\""},
        {"{\"id\":\"x\",\"numa\":-2}", "\"numa\""},
        {"{\"id\":\"x\",\"healthy\":\"yes\"}", "\"healthy\""},
        {"{\"id\":\"x\",\"healthy\":0}", "\"healthy\""},
        {"{\"id\":\"x\",\"product\":[]}", "\"product\""},
        {"{\"id\":\"x\",\"busId\":5}", "\"busId\""},
        {"7", "\"devices\""},
        {"null", "\"devices\""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *text =
            xasprintf("{\"devices\":[{\"id\":\"good\",\"memoryMiB\":1},%s]}", cases[i].device);
        AUTO(node_unref_pointer) struct node *node = node_told(text, NULL, NULL);

        assert_true(node->has_inventory);
        assert_int_equal(node->device_count, 1);
        assert_string_equal(node->devices[0].id, "good");
        assert_contains(node->problem, "inventory device 1 left out");
        assert_contains(node->problem, cases[i].key);
    }
}

static void write_devices(struct buf *out, unsigned count)
{
    buf_add_text(out, "{\"devices\":[");
    for (unsigned i = 0; i < count; i++)
        buf_addf(out, "%s{\"id\":\"GPU-%u\",\"memoryMiB\":1}", i > 0 ? "," : "", i);
    buf_add_text(out, "]}");
}

static void test_native_inventory__takes_sixty_four_devices_and_names_the_next(void **state)
{
    (void)state;
    for (unsigned count = DEVICE_MAX; count <= DEVICE_MAX + 1; count++) {
        AUTO(buf_clear) struct buf text = buf_with_max(10000);
        AUTO(node_unref_pointer) struct node *node = NULL;

        write_devices(&text, count);
        node = node_told(buf_text(&text), NULL, NULL);
        assert_int_equal(node->device_count, DEVICE_MAX);
        assert_int_equal(node->graph->n, DEVICE_MAX);
        assert_int_equal(node->problem != NULL, count > DEVICE_MAX);
    }
}

static void test_native_inventory__an_empty_list_is_an_inventory(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_told("{\"devices\":[]}", NULL, NULL);
    AUTO(node_unref_pointer) struct node *bare = node_told(NULL, NULL, NULL);

    (void)state;
    assert_true(node->has_inventory);
    assert_null(node->problem);
    assert_false(bare->has_inventory);
    assert_null(bare->problem);
}

/* Devices told in any order, with the same indices: the same node. */
static void test_native_inventory__the_order_of_the_list_does_not_matter(void **state)
{
    AUTO_FREE char *matrix =
        test_read_file(TEST_DATA "/topologies/16-8xa40-nvlink-bridge-pairs.txt", NULL);
    AUTO(node_unref_pointer) struct node *first = NULL;

    (void)state;
    for (unsigned turn = 0; turn < 8; turn++) {
        AUTO(buf_clear) struct buf text = buf_with_max(10000);
        AUTO(node_unref_pointer) struct node *node = NULL;

        buf_add_text(&text, "{\"devices\":[");
        for (unsigned i = 0; i < 8; i++) {
            unsigned index = (i * 3 + turn) % 8;

            buf_addf(&text, "%s{\"id\":\"GPU-%c\",\"index\":%u,\"memoryMiB\":%u}", i > 0 ? "," : "",
                     "hcadgfbe"[index], index, 1000 + index);
        }
        buf_add_text(&text, "]}");
        node = node_told(buf_text(&text), matrix, "GPU-c");
        assert_null(node->problem);
        if (first == NULL)
            first = node_ref(node);
        assert_true(node_equal(first, node));
    }
}

static void test_native_cordoned__marks_the_devices_named(void **state)
{
    AUTO(node_unref_pointer)
    struct node *node = node_told("{\"devices\":[{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"c\"}]}",
                                  NULL, " c , unknown,a,");

    (void)state;
    assert_true(node->devices[0].cordoned);
    assert_false(node->devices[1].cordoned);
    assert_true(node->devices[2].cordoned);
}

static void test_native_inventory__names_what_would_leave_a_device_unused(void **state)
{
    static const struct {
        const char *device, *problem;
    } cases[] = {
        {"\"memoryMib\":1", "unknown key \"memoryMib\" ignored"},
        {"\"memoryMib\":1", "has no memoryMiB"},
        {"\"memoryMiB\":0", "has no memoryMiB"},
        {"\"memoryMiB\":1,\"slot\":4", "unknown key \"slot\" ignored"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *text = xasprintf("{\"devices\":[{\"id\":\"a\",%s}]}", cases[i].device);
        AUTO(node_unref_pointer) struct node *node = node_told(text, NULL, NULL);

        assert_int_equal(node->device_count, 1);
        assert_contains(node->problem, cases[i].problem);
    }
}

static void
test_native_cordoned__takes_ids_in_any_case_and_names_those_it_does_not_know(void **state)
{
    AUTO(node_unref_pointer)
    struct node *node =
        node_told("{\"devices\":[{\"id\":\"GPU-a\",\"memoryMiB\":1}]}", NULL, "gpu-A,0");

    (void)state;
    assert_true(node->devices[0].cordoned);
    assert_contains(node->problem, "there is no device 0");
}

/* --- divided devices ------------------------------------------------------------------------- */

#define PROFILE(members) ONE(",\"memoryMiB\":40960,\"partitions\":[{" members "}]")
#define GOOD \
    "\"name\":\"3g.20gb\",\"memoryMiB\":19968,\"cores\":42,\"size\":4,\"compute\":3,\"starts\":[" \
    "0,4]"

static void test_native_inventory__reads_how_devices_are_divided(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_told(PROFILE(GOOD), NULL, NULL);
    const struct partition_table *table = node->devices[0].partitions;

    (void)state;
    assert_null(node->problem);
    assert_non_null(table);
    assert_int_equal(table->slices, 8);
    assert_int_equal(table->compute, 0);
    assert_int_equal(table->count, 1);
    assert_string_equal(table->profiles[0].name, "3g.20gb");
    assert_int_equal(table->profiles[0].memory_mib, 19968);
    assert_int_equal(table->profiles[0].cores, 42);
    assert_int_equal(table->profiles[0].width, 4);
    assert_int_equal(table->profiles[0].starts, 0x11);
}

static void test_native_inventory__true_divides_by_the_product(void **state)
{
    struct class_table classes;
    AUTO(kube_node_clear) struct kube_node kube;
    struct node *node;

    (void)state;
    classes_builtin(&classes);
    kube_node_init(&kube);
    kube_pairs_add(&kube.meta.annotations, "topofit.io/inventory",
                   "{\"devices\":[{\"id\":\"a\",\"product\":\"NVIDIA A30\",\"partitions\":true},"
                   "{\"id\":\"b\",\"product\":\"NVIDIA T4\",\"partitions\":true},"
                   "{\"id\":\"c\",\"product\":\"NVIDIA A30\",\"partitions\":false}]}");
    node = dialect_node(&kube, &classes);
    assert_int_equal(node->device_count, 2);
    assert_contains(node->problem, "inventory device 1 left out: \"partitions\" must be a list");
    assert_int_equal(node->devices[0].partitions->slices, 4);
    assert_null(node->devices[1].partitions);
    node_unref(node);
    class_table_clear(&classes);
}

static void
test_native_inventory__a_list_of_partitions_with_a_mistake_leaves_the_device_out(void **state)
{
    static const char *const cases[] = {
        PROFILE(""),
        PROFILE("\"name\":\"a\",\"memoryMiB\":1"),
        PROFILE("\"name\":\"a\",\"memoryMiB\":1,\"starts\":[16]"),
        PROFILE("\"name\":\"a\",\"memoryMiB\":1,\"starts\":[-1]"),
        PROFILE("\"name\":\"a\",\"memoryMiB\":1,\"starts\":[12],\"size\":5"),
        PROFILE("\"name\":\"a\",\"memoryMiB\":1,\"starts\":[0],\"max\":99"),
        PROFILE("\"name\":\"a\",\"memoryMiB\":-1,\"starts\":[0]"),
        PROFILE("\"name\":\"0123456789012345678901234567890123\",\"memoryMiB\":1,\"starts\":[0]"),
        PROFILE(GOOD "},{" GOOD),
        ONE(",\"partitions\":7"),
        ONE(",\"partitions\":[7]"),
        ONE(",\"partitions\":true"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(node_unref_pointer) struct node *node = node_told(cases[i], NULL, NULL);

        assert_int_equal(node->device_count, 0);
        assert_contains(node->problem, "\"partitions\"");
    }
}

static void test_native_inventory__reads_zones_and_services(void **state)
{
    AUTO(node_unref_pointer)
    struct node *node = node_told(
        "{\"devices\":[{\"id\":\"a\",\"memoryMiB\":1,\"zone\":3,\"service\":\"Fixed-Share\"},"
        "{\"id\":\"b\",\"service\":\"none\"},{\"id\":\"c\",\"memoryMiB\":1}]}",
        NULL, NULL);

    (void)state;
    assert_int_equal(node->device_count, 2);
    assert_int_equal(node->devices[0].zone, 3);
    assert_int_equal(node->devices[0].service, SERVICE_FIXED_SHARE);
    assert_int_equal(node->devices[1].zone, ZONE_UNKNOWN);
    assert_int_equal(node->devices[1].service, SERVICE_ANY);
    assert_contains(node->problem, "\"service\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_inventory__reads_every_member),
        cmocka_unit_test(test_native_inventory__fills_in_what_is_left_out),
        cmocka_unit_test(
            test_native_inventory__f38_what_is_no_inventory_is_named_and_the_node_kept),
        cmocka_unit_test(test_native_inventory__a_device_that_cannot_be_read_is_left_out_and_named),
        cmocka_unit_test(test_native_inventory__takes_sixty_four_devices_and_names_the_next),
        cmocka_unit_test(test_native_inventory__an_empty_list_is_an_inventory),
        cmocka_unit_test(test_native_inventory__the_order_of_the_list_does_not_matter),
        cmocka_unit_test(test_native_inventory__names_what_would_leave_a_device_unused),
        cmocka_unit_test(test_native_inventory__reads_how_devices_are_divided),
        cmocka_unit_test(test_native_inventory__true_divides_by_the_product),
        cmocka_unit_test(
            test_native_inventory__a_list_of_partitions_with_a_mistake_leaves_the_device_out),
        cmocka_unit_test(test_native_inventory__reads_zones_and_services),
        cmocka_unit_test(test_native_cordoned__marks_the_devices_named),
        cmocka_unit_test(
            test_native_cordoned__takes_ids_in_any_case_and_names_those_it_does_not_know),
    };

    return cmocka_run_group_tests_name("native_node", tests, NULL, NULL);
}
