/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field cases about which devices go together: F13 linked devices, F14 set sizes, F16 load before
 * NUMA, F17 uneven link lists.
 */
#include "support/harness.h"

#include <stdlib.h>

#define USE_DEVICES "topofit.io/use-devices"

/* A pod of somebody else holds these devices of a node whole. */
static void occupy(struct harness *harness, const char *node, device_mask taken)
{
    const char *wants = taken != 0 ? "gpu 1" : "none";
    json_t *devices = json_array();
    json_t *record;
    char *text;

    for (; taken != 0; taken &= taken - 1) {
        AUTO_FREE char *id = xasprintf("GPU-%s-%u", node, mask_first(taken));

        json_array_append_new(devices, json_pack("{s:s,s:i,s:i,s:i,s:s}", "id", id, "memoryMiB",
                                                 1000, "cores", 100, "slots", 1, "mode", "shared"));
    }
    record = json_pack("{s:i,s:s,s:i,s:[{s:s,s:s,s:o}]}", "version", 1, "node", node, "tier", 0,
                       "containers", "name", "c0", "kind", "app", "devices", devices);
    text = json_dumps(record, JSON_COMPACT);
    api_pod(harness, "busy", wants, .node = node, .annotations = {"topofit.io/allocation", text});
    free(text);
    json_decref(record);
}

/* Place a pod on one device, chosen by the test. */
static void fill(struct harness *harness, const char *node, unsigned device, const char *wants)
{
    AUTO_FREE char *id = xasprintf("GPU-%s-%u", node, device);
    AUTO_FREE char *name = xasprintf("on-%s", id);

    api_pod(harness, name, wants, .annotations = {USE_DEVICES, id});
    place(harness, name, node);
    assert_int_equal(device_of(harness, name), device);
}

/* --- F13: linked devices are not neighbours by number ------------------------------------------
 */

#define F13_LINKS "0-2 1-3 4-5 6-7"
static const device_mask f13_pairs[] = {0x05, 0x0a, 0x30, 0xc0};

static bool is_fast_pair(device_mask set)
{
    for (size_t i = 0; i < ARRAY_LEN(f13_pairs); i++) {
        if (f13_pairs[i] == set)
            return true;
    }
    return false;
}

static struct harness *f13_new(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 8, 40960, .links = F13_LINKS);
    api_pod(harness, "a", "gpu 2");
    return harness;
}

static void test_f13__four_pods_get_the_four_fast_pairs(void **state)
{
    AUTO(harness_free) struct harness *harness = f13_new();
    device_mask taken = 0;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        AUTO_FREE char *name = xasprintf("a%u", i);

        api_pod(harness, name, "gpu 2");
        place(harness, name, "n1");
        assert_true(is_fast_pair(devices_of(harness, name)));
        assert_int_equal(devices_of(harness, name) & taken, 0);
        taken |= devices_of(harness, name);
    }
    assert_int_equal(taken, 0xff);
}

static void test_f13__a_fast_pair_while_one_is_free_whatever_is_busy(void **state)
{
    (void)state;
    for (device_mask busy = 0; busy < 0x100; busy++) {
        AUTO(harness_free) struct harness *harness = f13_new();
        bool has_pair = false;

        if (mask_count(busy) > 6)
            continue;
        if (busy != 0)
            occupy(harness, "n1", busy);
        for (size_t i = 0; i < ARRAY_LEN(f13_pairs); i++)
            has_pair = has_pair || (f13_pairs[i] & busy) == 0;
        place(harness, "a", "n1");
        assert_int_equal(devices_of(harness, "a") & busy, 0);
        assert_int_equal(is_fast_pair(devices_of(harness, "a")), has_pair);
    }
}

static void test_f13__with_device_0_busy_one_of_the_other_three_pairs(void **state)
{
    AUTO(harness_free) struct harness *harness = f13_new();

    (void)state;
    occupy(harness, "n1", 0x01);
    place(harness, "a", "n1");
    assert_true(is_fast_pair(devices_of(harness, "a")));
    assert_int_not_equal(devices_of(harness, "a"), 0x05);
}

static void
test_f13__without_a_fast_pair_soft_places_and_hard_refuses_with_a_link_reason(void **state)
{
    AUTO(harness_free) struct harness *harness = f13_new();

    (void)state;
    occupy(harness, "n1", 0xff & ~(device_mask)0x53); /* 0, 1, 4 and 6 are free */
    api_pod(harness, "strict", "gpu 2", .annotations = {"topofit.io/topology", "hard"});
    assert_contains(expect_refused(harness, "strict", "n1"), "topology");
    assert_string_not_equal(ask_bind(harness, "strict", "n1"), "");
    place(harness, "a", "n1");
    assert_int_equal(mask_count(devices_of(harness, "a") & 0x53), 2);
}

/* --- F14: the chooser returns fewer or more devices than asked ---------------------------------
 */

static void test_f14__an_odd_request_gets_the_strong_pair_and_one_more(void **state)
{
    (void)state;
    for (unsigned count = 1; count <= 5; count++) {
        AUTO(harness_free) struct harness *harness = harness_new();
        AUTO_FREE char *wants = xasprintf("gpu %u", count);

        api_node(harness, "n1", 5, 40960, .links = "0-1");
        api_pod(harness, "p", wants);
        place(harness, "p", "n1");
        assert_int_equal(mask_count(devices_of(harness, "p")), count);
        if (count >= 2)
            assert_int_equal(devices_of(harness, "p") & 0x3, 0x3);
    }
}

static void test_f14__more_devices_than_the_node_has_are_refused(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 5, 40960, .links = "0-1");
    api_pod(harness, "p", "gpu 6");
    expect_refused(harness, "p", "n1");
    assert_true(is_unresolvable(harness, "n1"));
    assert_string_not_equal(ask_bind(harness, "p", "n1"), "");
}

static void
test_f14__every_request_on_every_free_subset_gets_exactly_as_many_free_devices(void **state)
{
    static char wants[8][8];
    AUTO(harness_free) struct harness *harness = harness_new();
    unsigned placed = 0, refused = 0;

    (void)state;
    api_node(harness, "n1", 8, 40960, .links = "0-1 0-2 1-2 3-4 5-6 6-7");
    for (unsigned count = 1; count <= 8; count++)
        snprintf(wants[count - 1], sizeof wants[0], "gpu %u", count);
    for (device_mask free_devices = 1; free_devices < 0x100; free_devices++) {
        occupy(harness, "n1", 0xff & ~free_devices);
        for (unsigned count = 1; count <= 8; count++) {
            api_pod(harness, "p", wants[count - 1]);
            if (count > mask_count(free_devices)) {
                expect_refused(harness, "p", "n1");
                assert_string_not_equal(ask_bind(harness, "p", "n1"), "");
                refused++;
            } else {
                place(harness, "p", "n1");
                assert_int_equal(mask_count(devices_of(harness, "p")), count);
                assert_int_equal(devices_of(harness, "p") & ~free_devices, 0);
                placed++;
            }
            api_delete_pod(harness, "p");
        }
        api_delete_pod(harness, "busy");
    }
    assert_int_equal(placed + refused, 2040);
    assert_int_equal(placed, 1024);
}

/* --- F16: device load must come before NUMA order for one device ---------------------------------
 */

static struct harness *f16_new(enum device_order order)
{
    static const int numa[] = {0, 0, 1, 1};
    struct harness *harness = harness_new();

    api_node(harness, "n1", 4, 20000, .numa = numa);
    api_node(harness, "n2", 2, 100000);
    fill(harness, "n1", 0, "gpu 1, mem 18000");
    fill(harness, "n1", 1, "gpu 1, mem 14000");
    fill(harness, "n1", 2, "gpu 1, mem 6000");
    fill(harness, "n1", 3, "gpu 1, mem 2000");
    fill(harness, "n2", 0, "gpu 1, mem 25000");
    fill(harness, "n2", 1, "gpu 1, mem 50000");
    harness->extender.options.policy.device_order = order;
    return harness;
}

static void test_f16__load_decides_for_one_device(void **state)
{
    static const struct {
        enum device_order policy;
        const char *node, *wants;
        unsigned device;
    } cases[] = {
        {DEVICES_SPREAD, "n1", "gpu 1, mem 1000", 3},
        {DEVICES_BINPACK, "n1", "gpu 1, mem 1000", 0},
        {DEVICES_BINPACK, "n1", "gpu 1, mem 3000", 1},
        {DEVICES_BINPACK, "n2", "gpu 1, mem 1000", 1},
        {DEVICES_SPREAD, "n2", "gpu 1, mem 1000", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (unsigned mode = TOPOLOGY_SOFT; mode <= TOPOLOGY_OFF; mode++) {
            AUTO(harness_free) struct harness *harness = f16_new(cases[i].policy);

            harness->extender.options.policy.topology.mode = (enum topology_mode)mode;
            api_pod(harness, "a", cases[i].wants);
            place(harness, "a", cases[i].node);
            assert_int_equal(device_of(harness, "a"), cases[i].device);
        }
    }
}

/* Configured for all pods, or asked for by one where another policy is configured. */
static void test_f16__load_decides_under_each_packing_policy(void **state)
{
    static const struct {
        enum packing_policy policy;
        const char *node, *wants;
        unsigned device;
    } cases[] = {
        {PACKING_PACK, "n1", "gpu 1, mem 1000", 0},
        {PACKING_PACK, "n1", "gpu 1, mem 3000", 1},
        {PACKING_PACK, "n2", "gpu 1, mem 1000", 1},
        {PACKING_SPREAD, "n1", "gpu 1, mem 1000", 3},
        {PACKING_SPREAD, "n1", "gpu 1, mem 3000", 3},
        {PACKING_SPREAD, "n2", "gpu 1, mem 1000", 0},
        {PACKING_TOPOLOGY_FIRST, "n1", "gpu 1, mem 1000", 0},
        {PACKING_TOPOLOGY_FIRST, "n1", "gpu 1, mem 3000", 1},
        {PACKING_TOPOLOGY_FIRST, "n2", "gpu 1, mem 1000", 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases) * 2; i++) {
        const enum packing_policy policy = cases[i / 2].policy;
        const bool asks = i % 2 == 1;
        AUTO(harness_free) struct harness *harness = f16_new(DEVICES_AUTO);

        harness->extender.options.policy.packing = !asks                      ? policy
                                                   : policy == PACKING_SPREAD ? PACKING_PACK
                                                                              : PACKING_SPREAD;
        api_pod(harness, "a", cases[i / 2].wants,
                .annotations = {asks ? "topofit.io/packing-policy" : "example.com/nothing",
                                packing_policy_name(policy)});
        place(harness, "a", cases[i / 2].node);
        assert_int_equal(device_of(harness, "a"), cases[i / 2].device);
    }
}

static void test_f16__ties_go_to_the_lowest_index_every_time(void **state)
{
    (void)state;
    for (unsigned policy = 0; policy < PACKING_POLICY_COUNT; policy++) {
        for (unsigned order = DEVICES_AUTO; order <= DEVICES_SPREAD; order++) {
            for (unsigned round = 0; round < 5; round++) {
                AUTO(harness_free) struct harness *harness = harness_new();

                harness->extender.options.policy.packing = (enum packing_policy)policy;
                harness->extender.options.policy.device_order = (enum device_order)order;
                api_node(harness, "n1", 4, 20000);
                api_pod(harness, "a", "gpu 1, mem 1000");
                place(harness, "a", "n1");
                assert_int_equal(device_of(harness, "a"), 0);
            }
        }
    }
}

/* --- F17: uneven or missing link lists ------------------------------------------------------- */

/* The lists of devices 0, 1 and 2; device 3 has none, and there is no device 9. */
#define F17_LINKS \
    "{\"links\":[{\"a\":0,\"b\":1,\"gbps\":50},{\"a\":0,\"b\":2,\"gbps\":50}," \
    "{\"a\":0,\"b\":3,\"gbps\":50},{\"a\":1,\"b\":0,\"gbps\":50},{\"a\":2,\"b\":0,\"gbps\":50}," \
    "{\"a\":2,\"b\":9,\"gbps\":50}]}"

static struct harness *f17_new(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 4, 40960, .topology = F17_LINKS);
    api_node(harness, "n2", 4, 40960, .topology = "null");
    api_node(harness, "n3", 4, 40960, .topology = "<html>no links here</html>");
    api_pod(harness, "two", "gpu 2");
    api_pod(harness, "four", "gpu 4");
    return harness;
}

static void test_f17__nodes_with_odd_link_lists_stay_usable(void **state)
{
    static const char *const pods[] = {"two", "four"}, *const nodes[] = {"n1", "n2", "n3"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        for (size_t k = 0; k < ARRAY_LEN(nodes); k++) {
            AUTO(harness_free) struct harness *harness = f17_new();

            expect_kept(harness, pods[i], "n1 n2 n3", "n1 n2 n3");
            ask_prioritize(harness, pods[i], "n1 n2 n3");
            place(harness, pods[i], nodes[k]);
            assert_int_equal(mask_count(devices_of(harness, pods[i])), i == 0 ? 2 : 4);
            ask_filter(harness, "two", "n1 n2 n3");
        }
    }
}

static void test_f17__a_link_told_by_one_end_counts_and_a_missing_one_is_the_slowest(void **state)
{
    AUTO(harness_free) struct harness *harness = f17_new();

    (void)state;
    occupy(harness, "n1", 0x2);
    place(harness, "two", "n1");
    assert_true(mask_has(devices_of(harness, "two"), 0)); /* 2-3 is in no list */
    api_delete_pod(harness, "busy");
    api_delete_pod(harness, "two");
    occupy(harness, "n1", 0x6);
    api_pod(harness, "again", "gpu 2");
    place(harness, "again", "n1");
    assert_int_equal(devices_of(harness, "again"), 0x9); /* only device 0 tells of 0-3 */
}

/* The annotations of a node, for a change by hand. */
static json_t *annotations_of(const struct harness *harness, const char *node)
{
    json_t *metadata = json_object_get(api_node_json(harness, node), "metadata");

    return json_object_get(metadata, "annotations");
}

/* Turn the list of devices around, and the list of links with both ends of each. */
static void turn_around(struct harness *harness, const char *node)
{
    static const struct {
        const char *key, *list;
    } lists[] = {{"topofit.io/inventory", "devices"}, {"topofit.io/topology", "links"}};
    json_t *annotations = annotations_of(harness, node);

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        json_t *root =
            json_loads(json_string_value(json_object_get(annotations, lists[i].key)), 0, NULL);
        json_t *turned = json_array();
        json_t *item;
        size_t k;
        char *text;

        json_array_foreach(json_object_get(root, lists[i].list), k, item)
        {
            json_t *a = json_incref(json_object_get(item, "a"));

            if (a != NULL) {
                json_object_set(item, "a", json_object_get(item, "b"));
                json_object_set_new(item, "b", a);
            }
            json_array_insert(turned, 0, item);
        }
        json_object_set_new(root, lists[i].list, turned);
        text = json_dumps(root, JSON_COMPACT);
        json_object_set_new(annotations, lists[i].key, json_string(text));
        free(text);
        json_decref(root);
    }
    watch_node(harness, node);
}

static void test_f17__the_order_of_devices_in_the_record_does_not_matter(void **state)
{
    (void)state;
    for (device_mask busy = 0; busy < 0xf; busy++) {
        AUTO(harness_free) struct harness *harness = f17_new();
        device_mask before;

        if (mask_count(busy) > 2)
            continue;
        if (busy != 0)
            occupy(harness, "n1", busy);
        place(harness, "two", "n1");
        before = devices_of(harness, "two");
        api_delete_pod(harness, "two");
        turn_around(harness, "n1");
        api_pod(harness, "two", "gpu 2");
        place(harness, "two", "n1");
        assert_int_equal(devices_of(harness, "two"), before);
    }
}

static void test_f17__what_cannot_be_read_is_told_once_with_the_node(void **state)
{
    static const char *const nodes[] = {"n2", "n3"};
    AUTO(harness_free) struct harness *harness = f17_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        json_t *first = node_view(harness, nodes[i]), *later;
        const char *problem = json_string_value(json_object_get(first, "problem"));

        assert_non_null(problem);
        assert_contains(problem, "topofit.io/topology");
        for (unsigned round = 0; round < 10; round++)
            ask_filter(harness, "two", "n1 n2 n3");
        later = node_view(harness, nodes[i]);
        assert_string_equal(json_string_value(json_object_get(later, "problem")), problem);
        json_decref(first);
        json_decref(later);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f13__four_pods_get_the_four_fast_pairs),
        cmocka_unit_test(test_f13__a_fast_pair_while_one_is_free_whatever_is_busy),
        cmocka_unit_test(test_f13__with_device_0_busy_one_of_the_other_three_pairs),
        cmocka_unit_test(
            test_f13__without_a_fast_pair_soft_places_and_hard_refuses_with_a_link_reason),
        cmocka_unit_test(test_f14__an_odd_request_gets_the_strong_pair_and_one_more),
        cmocka_unit_test(test_f14__more_devices_than_the_node_has_are_refused),
        cmocka_unit_test(
            test_f14__every_request_on_every_free_subset_gets_exactly_as_many_free_devices),
        cmocka_unit_test(test_f16__load_decides_for_one_device),
        cmocka_unit_test(test_f16__load_decides_under_each_packing_policy),
        cmocka_unit_test(test_f16__ties_go_to_the_lowest_index_every_time),
        cmocka_unit_test(test_f17__nodes_with_odd_link_lists_stay_usable),
        cmocka_unit_test(test_f17__a_link_told_by_one_end_counts_and_a_missing_one_is_the_slowest),
        cmocka_unit_test(test_f17__the_order_of_devices_in_the_record_does_not_matter),
        cmocka_unit_test(test_f17__what_cannot_be_read_is_told_once_with_the_node),
    };

    return cmocka_run_group_tests_name("field_cases_topology", tests, NULL, NULL);
}
