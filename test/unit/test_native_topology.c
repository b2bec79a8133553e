/* SPDX-License-Identifier: Apache-2.0 */
#include "support/kube_words.h"
#include "support/test.h"

#include "topofit/peers.h"

#define FOUR \
    "{\"devices\":[{\"id\":\"a\",\"memoryMiB\":1},{\"id\":\"b\",\"memoryMiB\":1},{\"id\":\"c\"," \
    "\"memoryMiB\":1},{\"id\":\"d\",\"memoryMiB\":1}]}"
#define LINKS(links) "{\"links\":[" links "]}"

static struct node *node_with(const char *topology)
{
    return node_told(FOUR, topology, NULL);
}

static enum tier tier_of(const struct node *node, unsigned a, unsigned b)
{
    return peers_tier(node->graph, SOURCE_VENDOR, a, b);
}

static void test_native_topology__reads_links_by_index_and_by_id(void **state)
{
    AUTO(node_unref_pointer)
    struct node *node =
        node_with(LINKS("{\"a\":0,\"b\":1,\"type\":\"NV18\",\"tier\":0,\"gbps\":900},"
                        "{\"a\":\"c\",\"b\":\"d\",\"tier\":2,\"gbps\":12.5}"));

    (void)state;
    assert_null(node->problem);
    assert_true(node->graph->has_links);
    assert_int_equal(tier_of(node, 0, 1), TIER_INTERCONNECT);
    assert_int_equal(peers_link(node->graph, 1, 0)->gbps, 900);
    assert_string_equal(peers_link(node->graph, 0, 1)->name, "NV18");
    assert_int_equal(tier_of(node, 3, 2), TIER_CROSS);
    assert_int_equal(peers_link(node->graph, 2, 3)->gbps, 12);
    assert_int_equal(tier_of(node, 0, 2), TIER_UNKNOWN);
}

static void test_native_topology__a_type_that_is_known_needs_no_tier(void **state)
{
    AUTO(node_unref_pointer)
    struct node *node = node_with(LINKS("{\"a\":0,\"b\":1,\"type\":\"NV4\"},"
                                        "{\"a\":1,\"b\":2,\"type\":\"a word nobody knows\"}"));

    (void)state;
    assert_int_equal(tier_of(node, 0, 1), TIER_INTERCONNECT);
    assert_true(peers_link(node->graph, 0, 1)->gbps > 0);
    assert_int_equal(tier_of(node, 1, 2), TIER_UNKNOWN);
}

/* Device 0 tells all, 1 and 2 some and one that does not exist, 3 nothing. */
static void test_native_topology__f17_uneven_lists_count_the_same_from_either_end(void **state)
{
    static const char *const lists[] = {
        LINKS("{\"a\":0,\"b\":1,\"tier\":0,\"gbps\":50},{\"a\":0,\"b\":2,\"tier\":0,\"gbps\":50},"
              "{\"a\":0,\"b\":3,\"tier\":0,\"gbps\":50},{\"a\":1,\"b\":0,\"tier\":0,\"gbps\":50},"
              "{\"a\":2,\"b\":0,\"tier\":0,\"gbps\":50},{\"a\":2,\"b\":9,\"tier\":0,\"gbps\":50}"),
        LINKS("{\"a\":9,\"b\":2,\"tier\":0,\"gbps\":50},{\"a\":0,\"b\":2,\"tier\":0,\"gbps\":50},"
              "{\"a\":1,\"b\":0,\"tier\":0,\"gbps\":50},{\"a\":3,\"b\":0,\"tier\":0,\"gbps\":50}"),
    };
    AUTO(node_unref_pointer) struct node *one = node_with(lists[0]);
    AUTO(node_unref_pointer) struct node *other = node_with(lists[1]);

    (void)state;
    assert_contains(one->problem, "ignored"); /* device 9 does not exist */
    assert_true(peers_equal(one->graph, other->graph));
    assert_int_equal(tier_of(one, 3, 0), TIER_INTERCONNECT);
    assert_int_equal(tier_of(one, 1, 2), TIER_UNKNOWN);
}

static void test_native_topology__f17_what_cannot_be_read_leaves_the_node_usable(void **state)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"null", "\"links\""},
        {"{\"links\":null}", "\"links\""},
        {"{\"links\":{}}", "\"links\""},
        {"{}", "\"links\""},
        {"{\"links\":[", "line 1, column"},
        {"this is no matrix", "line 1"},
        {"\tGPU0\tGPU1\nGPU0\t X \n", "line"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(node_unref_pointer) struct node *node = node_with(cases[i].text);

        assert_true(node->has_inventory);
        assert_int_equal(node->device_count, 4);
        assert_int_equal(node->graph->n, 4);
        assert_false(node->graph->has_links);
        assert_contains(node->problem, "topofit.io/topology");
        assert_contains(node->problem, cases[i].problem);
    }
}

static void test_native_topology__a_link_that_cannot_be_read_is_left_out_and_named(void **state)
{
    static const char *const links[] = {
        "7",
        "null",
        "{\"a\":0,\"b\":1,\"tier\":4}",
        "{\"a\":0,\"b\":1,\"tier\":-1}",
        "{\"a\":0,\"b\":1,\"tier\":\"0\"}",
        "{\"a\":0,\"b\":1,\"gbps\":-1}",
        "{\"a\":0,\"b\":1,\"gbps\":65536}",
        "{\"a\":0,\"b\":1,\"gbps\":\"fast\"}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        AUTO_FREE char *text = xasprintf(LINKS("%s,{\"a\":2,\"b\":3,\"tier\":0}"), links[i]);
        AUTO(node_unref_pointer) struct node *node = node_with(text);

        assert_contains(node->problem, "link 0 left out");
        assert_int_equal(tier_of(node, 0, 1), TIER_UNKNOWN);
        assert_int_equal(tier_of(node, 2, 3), TIER_INTERCONNECT);
    }
}

static void test_native_topology__odd_ends_are_ignored(void **state)
{
    static const char *const ends[] = {
        "\"a\":0,\"b\":0",    "\"a\":-1,\"b\":1", "\"a\":0",
        "\"a\":1.5,\"b\":1",  "\"a\":[],\"b\":1", "\"a\":\"z\",\"b\":1",
        "\"a\":99999,\"b\":1"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        AUTO_FREE char *text = xasprintf(LINKS("{%s,\"tier\":0}"), ends[i]);
        AUTO(node_unref_pointer) struct node *node = node_with(text);

        assert_false(node->graph->has_links);
        assert_contains(node->problem, "link 0 ignored");
    }
}

static void test_native_topology__blank_is_as_if_it_were_not_there(void **state)
{
    AUTO(node_unref_pointer) struct node *blank = node_with(" \n\t ");
    AUTO(node_unref_pointer) struct node *none = node_with(NULL);

    (void)state;
    assert_null(blank->problem);
    assert_true(node_equal(blank, none));
}

#define MATRIX \
    "\tGPU0\tGPU1\tGPU5\tCPU Affinity\tNUMA Affinity\n" \
    "GPU0\t X \tNV4\tSYS\t0-31\t0\n" \
    "GPU1\tNV4\t X \tSYS\t0-31\t0\n" \
    "GPU5\tSYS\tSYS\t X \t32-63\t1\n"

static void test_native_topology__a_matrix_is_matched_by_index(void **state)
{
    AUTO(node_unref_pointer)
    struct node *node = node_told(
        "{\"devices\":[{\"id\":\"x\",\"memoryMiB\":1,\"index\":5},"
        "{\"id\":\"y\",\"memoryMiB\":1,\"index\":1},{\"id\":\"z\",\"memoryMiB\":1,\"index\":0}]}",
        MATRIX, NULL);

    (void)state;
    assert_null(node->problem);
    assert_string_equal(node->devices[2].id, "x");
    assert_int_equal(tier_of(node, 0, 1), TIER_INTERCONNECT);
    assert_int_equal(tier_of(node, 0, 2), TIER_CROSS);
    assert_int_equal(node->graph->numa[1], 0);
    assert_int_equal(node->graph->numa[2], 1);
}

static void test_native_topology__rows_without_a_device_are_counted_and_ignored(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_with(MATRIX);

    (void)state;
    assert_contains(node->problem, "1 of 3 rows name no device");
    assert_int_equal(tier_of(node, 0, 1), TIER_INTERCONNECT);
    assert_int_equal(tier_of(node, 2, 3), TIER_UNKNOWN);
}

static void test_native_topology__the_numa_node_of_the_inventory_wins(void **state)
{
    AUTO(node_unref_pointer)
    struct node *node = node_told(
        "{\"devices\":[{\"id\":\"a\",\"memoryMiB\":1,\"numa\":7},{\"id\":\"b\",\"memoryMiB\":1},"
        "{\"id\":\"c\",\"memoryMiB\":1,\"index\":5}]}",
        MATRIX, NULL);

    (void)state;
    assert_int_equal(node->graph->numa[0], 7);
    assert_int_equal(node->graph->numa[1], 0);
    assert_int_equal(node->graph->numa[2], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_topology__reads_links_by_index_and_by_id),
        cmocka_unit_test(test_native_topology__a_type_that_is_known_needs_no_tier),
        cmocka_unit_test(test_native_topology__f17_uneven_lists_count_the_same_from_either_end),
        cmocka_unit_test(test_native_topology__f17_what_cannot_be_read_leaves_the_node_usable),
        cmocka_unit_test(test_native_topology__a_link_that_cannot_be_read_is_left_out_and_named),
        cmocka_unit_test(test_native_topology__odd_ends_are_ignored),
        cmocka_unit_test(test_native_topology__blank_is_as_if_it_were_not_there),
        cmocka_unit_test(test_native_topology__a_matrix_is_matched_by_index),
        cmocka_unit_test(test_native_topology__rows_without_a_device_are_counted_and_ignored),
        cmocka_unit_test(test_native_topology__the_numa_node_of_the_inventory_wins),
    };

    return cmocka_run_group_tests_name("native_topology", tests, NULL, NULL);
}
