/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/class.h"

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
}

static int read_class(const char *yaml, struct device_class *out, struct error *err)
{
    return class_read(yaml, strlen(yaml), out, err);
}

static void test_class_read__needs_name_title_and_count_alone(void **state)
{
    AUTO(class_clear) struct device_class class = {0};
    struct error err = {0};

    (void)state;
    assert_ok(
        read_class("name: x\ntitle: X device\nresources:\n  count: x.com/device\n", &class, &err),
        &err);
    assert_string_equal(class.name, "x");
    assert_string_equal(class.count_resource, "x.com/device");
    assert_null(class.memory_resource);
    assert_null(class.percent_resource);
    assert_null(class.cores_resource);
    assert_int_equal(class.cores, 100);
}

static void test_class_read__says_where_and_what_is_wrong(void **state)
{
    static const struct {
        const char *yaml, *problem;
    } cases[] = {
        {"nam: x\n", "line 1, column 1: unknown key \"nam\"; did you mean \"name\"?"},
        {"name: x\nresources:\n  cuont: y\n",
         "line 3, column 3: unknown key \"cuont\"; did you mean"},
        {"name: x\nzzzzzzzz: y\n", "unknown key \"zzzzzzzz\""},
        {"name: x\ncount: y\n", "unknown key \"count\""}, /* belongs into resources */
        {"title: x\nresources:\n  count: y\n", "\"name\" is missing"},
        {"name: x\ntitle: y\n", "\"count\" is missing"},
        {"name: []\n", "line 1, column 7: name must be a text"},
        {"name: \"\"\n", "name must be a text"},
        {"name: x\nresources: y\n", "a map of keys is expected"},
        {"name: x\ncores: 0\n", "cores must be 1 to"},
        {"name: x\ncores: many\n", "line 2, column 8: cores must be 1 to"},
        {"name: x\ncores: 10001\n", "cores must be 1 to"},
        {"- name\n", "a map of keys is expected"},
        {"", "one YAML document"},
        {"name: x\n---\nname: y\n", "one YAML document"},
        {"name: [\n", "line"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct device_class class = {0};
        struct error err = {0};

        assert_int_equal(read_class(cases[i].yaml, &class, &err), -ERR_INVALID);
        assert_contains(err.text, cases[i].problem);
        assert_null(class.name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes_builtin__has_the_class_that_tests_build_on),
        cmocka_unit_test(test_class_read__needs_name_title_and_count_alone),
        cmocka_unit_test(test_class_read__says_where_and_what_is_wrong),
    };

    return cmocka_run_group_tests_name("class", tests, NULL, NULL);
}
