/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes may share a decision; the module's header is private to src/cluster. */
#include "support/builders.h"
#include "support/byte_map.h"
#include "support/test.h"

#include "topofit/set_rule.h"

#include "../../src/cluster/likeness.h"

#include <stdlib.h>

static bool alike(const struct node *a, const struct node_use *a_use, const struct node *b,
                  const struct node_use *b_use)
{
    struct likeness x = likeness_of(&test_key, a, a_use), y = likeness_of(&test_key, b, b_use);

    return x.word[0] == y.word[0] && x.word[1] == y.word[1];
}

static void test_likeness_of__is_the_same_whatever_nodes_and_devices_are_called(void **state)
{
    AUTO(node_unref_pointer) struct node *a = node_plain("a", 2, 16384, 2);
    AUTO(node_unref_pointer) struct node *b = node_plain("b", 2, 16384, 2);
    struct node_use use = use_none(a);

    (void)state;
    free(b->devices[1].id);
    b->devices[1].id = xstrdup("GPU-of-another-name");
    text_replace(&b->devices[0].bus_id, "00000000:07:00.0");
    assert_true(alike(a, &use, b, &use));
}

enum { CHANGES = 28 };

static char label[] = "a-label";

/* One fact at a time that decide or a refusal's text may depend on. */
static void change(struct node *node, struct node_use *use, unsigned which)
{
    struct device *device = &node->devices[1];
    static const struct device_class another;
    static const struct partition_profile profile = {
        .name = "1g", .memory_mib = 1, .width = 1, .starts = 1};
    static struct set_rule rules[2] = {{.label = label}, {.kind = SET_PEERS}};
    static const struct device_class with_rules = {.sets = {rules, 2}};

    switch (which) {
    case 0:
        device->class = &another;
        break;
    case 1:
        device->memory_mib++;
        break;
    case 2:
        device->cores++;
        break;
    case 3:
        device->slots++;
        break;
    case 4:
        device->numa = 1;
        break;
    case 5:
        device->healthy = false;
        break;
    case 6:
        device->cordoned = true;
        break;
    case 7:
        use->devices[1].memory_mib = 1;
        break;
    case 8:
        use->devices[1].cores = 1;
        break;
    case 9:
        use->devices[1].slots = 1;
        break;
    case 10:
        use->devices[1].mode = ISOLATION_SOFT;
        break;
    case 11:
        use->devices[1].exclusive = true;
        break;
    case 12:
        use->devices[1].conflicted = true;
        break;
    case 13:
        use->unattributed = 1;
        break;
    case 14:
        node->has_inventory = !node->has_inventory;
        break;
    case 15:
        node_note_problem(node, "not readable");
        break;
    case 16:
        node->graph->serial = 77;
        break;
    case 17:
        device->service = SERVICE_FIXED_SHARE;
        break;
    case 18:
        device->partitions = partition_table_new(1, 1);
        break;
    case 19:
        device->partitions = partition_table_new(1, 1);
        assert_null(partition_table_add(device->partitions, &profile));
        break;
    case 20:
        use->devices[1].service = SERVICE_BURST_SHARE;
        break;
    case 21:
        use->devices[1].online = 1;
        break;
    case 22:
        use->devices[1].offline = 1;
        break;
    case 23:
        use->devices[1].partitions.slices = 1;
        break;
    case 24:
        use->devices[1].partitions.compute = 1;
        break;
    case 25:
        device->class = &with_rules;
        break;
    case 26:
        device->class = &with_rules;
        labels_add(node->labels, label, "");
        break;
    default:
        text_unref(device->product);
        device->product = text_new("another product");
        break;
    }
}

/* Indices, zones and labels count where a class has rules that look at them, and only there. */
static void test_likeness_of__goes_by_the_rules_of_classes(void **state)
{
    static char words[] = "a-label";
    struct set_rule rules[2] = {{.label = words}, {.kind = SET_RUNS}};
    const struct device_class plain = {0}, ruled = {.sets = {rules, 2}};

    (void)state;
    for (unsigned change = 0; change < 3; change++) {
        for (unsigned has_rules = 0; has_rules < 2; has_rules++) {
            AUTO(node_unref_pointer) struct node *a = node_plain("a", 1, 16384, 2);
            AUTO(node_unref_pointer) struct node *b = node_plain("b", 1, 16384, 2);
            struct node_use use = use_none(a);

            a->devices[0].class = b->devices[0].class = has_rules ? &ruled : &plain;
            assert_true(alike(a, &use, b, &use));
            if (change == 0)
                b->devices[0].index = 5;
            else if (change == 1)
                b->devices[0].zone = 5;
            else
                labels_add(b->labels, words, "x");
            assert_int_equal(alike(a, &use, b, &use), !has_rules);
        }
    }
}

static void test_likeness_of__is_another_when_any_fact_is(void **state)
{
    AUTO(node_unref_pointer) struct node *plain = node_plain("a", 2, 16384, 2);
    const struct node_use none = use_none(plain);

    (void)state;
    for (unsigned i = 0; i < CHANGES; i++) {
        AUTO(node_unref_pointer) struct node *changed = node_plain("a", 2, 16384, 2);
        struct node_use use = none;

        change(changed, &use, i);
        if (alike(plain, &none, changed, &use))
            fail_msg("fact %u is not looked at", i);
    }
}

/* What is pointed to, and what only some rules look at, is in the tests above. */
static void test_likeness_of__has_all_of_a_device(void **state)
{
    AUTO(node_unref_pointer) struct node *plain = node_plain("a", 1, 16384, 2);
    AUTO(node_unref_pointer) struct node *changed = node_plain("a", 1, 16384, 2);
    const struct node_use none = use_none(plain);
    struct byte_map map;

    (void)state;
    byte_map_init(&map, struct device);
    byte_map_skip(&map, struct device, id);
    byte_map_skip(&map, struct device, class);
    byte_map_skip(&map, struct device, product);
    byte_map_skip(&map, struct device, bus_id);
    byte_map_skip(&map, struct device, partitions);
    byte_map_skip(&map, struct device, index);
    byte_map_skip(&map, struct device, zone);
    byte_map_low_only(&map, struct device, service);
    for (size_t at = 0;; at++) {
        const struct device before = changed->devices[0];

        if (!byte_map_flip(&map, &at, &changed->devices[0]))
            break;
        if (alike(plain, &none, changed, &none))
            fail_msg("byte %zu of a device is not looked at", at);
        changed->devices[0] = before;
    }
}

static void test_likeness_of__has_all_of_what_is_in_use(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("a", 1, 16384, 2);
    const struct node_use none = use_none(node);
    struct node_use use = none;
    struct byte_map map;

    (void)state;
    byte_map_init(&map, struct device_use);
    byte_map_low_only(&map, struct device_use, mode);
    byte_map_skip(&map, struct device_use, core_mask); /* nothing is decided by it */
    for (size_t at = 0; use = none, byte_map_flip(&map, &at, &use.devices[0]); at++) {
        if (alike(node, &none, node, &use))
            fail_msg("byte %zu of what is in use is not looked at", at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_likeness_of__is_the_same_whatever_nodes_and_devices_are_called),
        cmocka_unit_test(test_likeness_of__is_another_when_any_fact_is),
        cmocka_unit_test(test_likeness_of__goes_by_the_rules_of_classes),
        cmocka_unit_test(test_likeness_of__has_all_of_a_device),
        cmocka_unit_test(test_likeness_of__has_all_of_what_is_in_use),
    };

    return cmocka_run_group_tests_name("likeness", tests, NULL, NULL);
}
