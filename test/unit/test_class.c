/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/set_rule.h"

#include <string.h>

static void test_classes_builtin__has_the_class_that_tests_build_on(void **state)
{
    AUTO(class_table_clear) struct class_table classes;
    const struct device_class *class;

    (void)state;
    classes_builtin(&classes);
    class = class_find(&classes, "nvidia");
    assert_non_null(class);
    assert_null(class_find(&classes, "abacus"));
    assert_string_equal(class->title, test_class.title);
    assert_string_equal(class->count_resource, test_class.count_resource);
    assert_string_equal(class->memory_resource, test_class.memory_resource);
    assert_string_equal(class->percent_resource, test_class.percent_resource);
    assert_string_equal(class->cores_resource, test_class.cores_resource);
    assert_int_equal(class->cores, test_class.cores);
    assert_int_equal(class->memory_unit_mib, test_class.memory_unit_mib);
    assert_int_equal(class->default_count, test_class.default_count);
}

static int read_classes(const char *yaml, struct class_table *out, struct error *err)
{
    return classes_read(out, NULL, yaml, strlen(yaml), err);
}

static void test_classes_read__needs_name_title_and_count_alone(void **state)
{
    AUTO(class_table_clear) struct class_table classes = {0};
    const struct device_class *class;
    struct error err = {0};

    (void)state;
    assert_ok(read_classes("name: x\ntitle: X device\nresources:\n  count: x.com/device\n",
                           &classes, &err),
              &err);
    assert_int_equal(classes.count, 1);
    class = &classes.items[0];
    assert_string_equal(class->name, "x");
    assert_string_equal(class->count_resource, "x.com/device");
    assert_null(class->memory_resource);
    assert_null(class->percent_resource);
    assert_null(class->cores_resource);
    assert_int_equal(class->cores, 100);
    assert_int_equal(class->memory_unit_mib, 1);
    assert_true(class->memory_counted);
}

#define X "name: x\ntitle: X\nresources: {count: x.com/x}\n" /* three lines */

static void test_classes_read__takes_every_type_of_key(void **state)
{
    AUTO(class_table_clear) struct class_table classes = {0};
    const struct device_class *class;
    struct error err = {0};

    (void)state;
    assert_ok(read_classes(X "count: {allowed: [1, 2, 4], several: whole}\n"
                             "memory:\n  unitMiB: 256\n  forAll: true\n"
                             "  templates: [{name: a, memoryMiB: 10}, {memoryMiB: 20, cores: 4}]\n",
                           &classes, &err),
              &err);
    class = &classes.items[0];
    assert_int_equal(class->counts_allowed.count, 3);
    assert_int_equal(class->counts_allowed.items[2], 4);
    assert_int_equal(class->several, SEVERAL_WHOLE);
    assert_int_equal(class->memory_unit_mib, 256);
    assert_true(class->memory_for_all);
    assert_int_equal(class->templates.count, 2);
    assert_string_equal(class->templates.items[0].name, "a");
    assert_null(class->templates.items[1].name);
    assert_int_equal(class->templates.items[1].memory_mib, 20);
    assert_int_equal(class->templates.items[1].cores, 4);
}

static void test_classes_read__says_where_and_what_is_wrong(void **state)
{
    static const struct {
        const char *yaml, *problem;
    } cases[] = {
        {"nam: x\n", "line 1, column 1: unknown key \"nam\"; did you mean \"name\"?"},
        {"name: x\nresources:\n  cuont: y\n",
         "line 3, column 3: unknown key \"cuont\"; did you mean \"count\"?"},
        {"name: x\nresource: {}\n", "unknown key \"resource\"; did you mean \"resources\"?"},
        {"name: x\nzzzzzzzz: y\n", "unknown key \"zzzzzzzz\""},
        {"name: x\ncores: {count: 1}\n", "unknown key \"count\""}, /* belongs into resources */
        {"name: x\nresources.count: y\n", "unknown key \"resources.count\""},
        {"title: x\nresources:\n  count: y\n", "line 1, column 1: key \"name\" is missing"},
        {X "---\nname: y\nresources: {count: y}\n", "line 5, column 1: key \"title\" is missing"},
        {"name: x\ntitle: y\n", "resources.count is missing"},
        {"name: []\n", "line 1, column 7: name must be a text"},
        {"name: \"\"\n", "name must be a text"},
        {"name: x\nresources: y\n", "a map of keys is expected"},
        {"name: x\ncores: {whole: 0}\n", "cores.whole must be a number from 1 to"},
        {"name: x\ncores:\n  whole: many\n", "line 3, column 10: cores.whole must be a number"},
        {"name: x\ncores: {whole: 10001}\n", "cores.whole must be a number"},
        {"name: x\ncount: {allowed: 3}\n", "count.allowed must be a list"},
        {"name: x\ncount:\n  allowed: [1, two]\n", "line 3, column 16: count.allowed must be"},
        {"name: x\ncount: {several: few}\n", "count.several must be one of each, whole,"},
        {"name: x\nmemory: {forAll: 1}\n", "memory.forAll must be true or false"},
        {"name: x\nmemory:\n  templates:\n  - name: a\n", "line 4, column 5: key \"memoryMiB\""},
        {"name: x\nmemory:\n  templates:\n  - memoryMB: 1\n",
         "line 4, column 5: unknown key \"memoryMB\"; did you mean \"memoryMiB\"?"},
        {"name: x\nmemory: {templates: [5]}\n", "a map of keys is expected"},
        {"- name\n", "a map of keys is expected"},
        {"", "a YAML document is expected"},
        {"name: [\n", "line"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(class_table_clear) struct class_table classes = {0};
        struct error err = {0};

        assert_int_equal(read_classes(cases[i].yaml, &classes, &err), -ERR_INVALID);
        assert_contains(err.text, cases[i].problem);
    }
}

static void test_classes_read__refuses_rules_that_cannot_hold_together(void **state)
{
    static const struct {
        const char *yaml, *problem;
    } cases[] = {
        {X "memory:\n  templates: [{memoryMiB: 2}, {memoryMiB: 2}]\n",
         "line 5, column 14: memory.templates must stand smallest first"},
        {X "memory: {templates: [{memoryMiB: 9}], capacityMiB: 8}\n", "memory.capacityMiB is less"},
        {X "memory: {templates: [{memoryMiB: 9}], allowedMiB: [8]}\n", "memory.allowedMiB cannot"},
        {X "defaults: {cores: 101}\n", "defaults.cores is more than a device has"},
        {X "cores: {countDevices: true}\n", "cores.countDevices needs resources.cores"},
        {"name: x\ntitle: X\nresources: {count: x.com/d, memory: x.com/m, cores: x.com/c}\n"
         "cores: {countDevices: true, whole: 2}\n",
         "cores.countDevices cannot hold where memory is asked for"},
        {"name: x\ntitle: X\nresources: {count: x.com/d, cores: x.com/c}\n"
         "cores: {countDevices: true, percent: true}\n",
         "cores.countDevices cannot hold beside cores.percent"},
        {X "hami:\n  geometries:\n  - products: [A100]\n    slices: 4\n"
           "    profiles: [{name: 1g.5gb, memoryMiB: 4864, width: 8, starts: [0, 3]}]\n",
         "hami.geometries "},
        {X "count: {allowed: [1, 3], multipleOf: 2}\n", "count.allowed goes against"},
        {X "count: {oneMeans: 3, multipleOf: 2}\n", "count.oneMeans goes against"},
        {X "count: {allowed: [2, 4]}\n", "defaults.count is not in count.allowed"},
        {X "memory: {allowedMiB: [3], roundUpToMiB: 2}\n", "memory.allowedMiB goes against"},
        {X "memory: {allowedMiB: [3]}\ndefaults: {memoryMiB: 4}\n",
         "line 5, column 23: defaults.memoryMiB is not in memory.allowedMiB"},
        {X "anySize: {annotation: a}\n", "anySize needs both"},
        {"name: x\ntitle: X\nresources:\n  count: gpu\n",
         "line 4, column 10: resources.count must have a domain"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(class_table_clear) struct class_table classes = {0};
        struct error err = {0};

        assert_int_equal(read_classes(cases[i].yaml, &classes, &err), -ERR_INVALID);
        assert_contains(err.text, cases[i].problem);
    }
}

static void test_classes_read__changes_the_keys_given_of_a_known_class(void **state)
{
    static const char file[] = "name: nvidia\nmemory: {unitMiB: 1024}\n---\n" X;
    AUTO(class_table_clear) struct class_table classes;
    const struct device_class *class;
    struct error err = {0};
    size_t before;

    (void)state;
    classes_builtin(&classes);
    before = classes.count;
    assert_ok(classes_read(&classes, "/etc/mine.yaml", file, strlen(file), &err), &err);
    assert_ok(class_table_index(&classes, &err), &err);
    assert_int_equal(classes.count, before + 1);
    class = class_find(&classes, "nvidia");
    assert_int_equal(class->memory_unit_mib, 1024);
    assert_string_equal(class->count_resource, "nvidia.com/gpu");
    assert_non_null(class_find_resource(&classes, "x.com/x"));
    assert_string_equal(classes.items[class_find_resource(&classes, "x.com/x")->class].name, "x");
    assert_null(class_find_resource(&classes, "cpu"));
}

static void test_classes_read__names_the_file_where_there_is_one(void **state)
{
    AUTO(class_table_clear) struct class_table classes = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(classes_read(&classes, "/etc/mine.yaml", "nam: x\n", 7, &err), -ERR_INVALID);
    assert_contains(err.text, "/etc/mine.yaml: line 1, column 1: unknown key");
}

static void test_class_table_index__refuses_a_resource_of_two_meanings(void **state)
{
    static const struct {
        const char *yaml, *problem;
    } cases[] = {
        {"name: a\ntitle: A\nresources: {count: x.com/x, memory: x.com/x}\n",
         "classes a and a: resource x.com/x"},
        {"name: a\ntitle: A\nresources: {count: x.com/x}\n---\n"
         "name: b\ntitle: B\nresources: {count: x.com/x}\n",
         "resource x.com/x can have one meaning only"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(class_table_clear) struct class_table classes = {0};
        struct error err = {0};

        assert_ok(read_classes(cases[i].yaml, &classes, &err), &err);
        assert_int_equal(class_table_index(&classes, &err), -ERR_INVALID);
        assert_contains(err.text, cases[i].problem);
    }
}

/* What is written is read as the same again. */
static void test_class_write_yaml__comes_back_as_it_was(void **state)
{
    AUTO(class_table_clear) struct class_table classes, again = {0};
    struct error err = {0};

    (void)state;
    classes_builtin(&classes);
    for (size_t i = 0; i < classes.count; i++) {
        AUTO(buf_clear) struct buf first = buf_with_max(1 << 16), second = buf_with_max(1 << 16);

        class_write_yaml(&classes.items[i], &first);
        assert_ok(classes_read(&again, "written", buf_text(&first), first.length, &err), &err);
        class_write_yaml(&again.items[i], &second);
        assert_string_equal(buf_text(&first), buf_text(&second));
    }
}

/* Class files have no anchors: what two classes have in common is written twice. */
static void test_classes_builtin__kunlun_cards_are_linked_alike_whole_or_in_parts(void **state)
{
    AUTO(class_table_clear) struct class_table classes;
    const struct set_rule *whole, *parts;

    (void)state;
    classes_builtin(&classes);
    whole = class_find(&classes, "kunlun")->sets.items;
    parts = class_find(&classes, "kunlun-vxpu")->sets.items;
    assert_int_equal(whole->width, parts->width);
    assert_int_equal(whole->crossings.count, parts->crossings.count);
    for (size_t i = 0; i < whole->crossings.count; i++) {
        const struct class_numbers *a = &whole->crossings.items[i].devices;
        const struct class_numbers *b = &parts->crossings.items[i].devices;

        assert_int_equal(a->count, b->count);
        assert_memory_equal(a->items, b->items, a->count * sizeof *a->items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes_builtin__kunlun_cards_are_linked_alike_whole_or_in_parts),
        cmocka_unit_test(test_classes_builtin__has_the_class_that_tests_build_on),
        cmocka_unit_test(test_classes_read__needs_name_title_and_count_alone),
        cmocka_unit_test(test_classes_read__takes_every_type_of_key),
        cmocka_unit_test(test_classes_read__says_where_and_what_is_wrong),
        cmocka_unit_test(test_classes_read__refuses_rules_that_cannot_hold_together),
        cmocka_unit_test(test_classes_read__changes_the_keys_given_of_a_known_class),
        cmocka_unit_test(test_classes_read__names_the_file_where_there_is_one),
        cmocka_unit_test(test_class_table_index__refuses_a_resource_of_two_meanings),
        cmocka_unit_test(test_class_write_yaml__comes_back_as_it_was),
    };

    return cmocka_run_group_tests_name("class", tests, NULL, NULL);
}
