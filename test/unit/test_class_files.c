/* SPDX-License-Identifier: Apache-2.0 */
#include "support/scratch.h"
#include "support/test.h"

#include "topofit/class_files.h"

#include <stdlib.h>

/* Read the classes with files of these texts; NULL: none. */
static int read_with(const char *first, const char *second, struct class_table *out,
                     struct error *err)
{
    AUTO(scratch_file_remove) char *a = first != NULL ? scratch_file(first) : NULL;
    AUTO(scratch_file_remove) char *b = second != NULL ? scratch_file(second) : NULL;
    char *paths[] = {a, b};
    struct config config = {
        .classes_files = {.items = paths, .count = (size_t)(a != NULL) + (size_t)(b != NULL)}};
    int result = class_files_read(&config, out, err);

    return result;
}

static void test_class_files__are_read_in_their_order_over_the_built_in_ones(void **state)
{
    AUTO(class_table_clear) struct class_table classes = {0};
    struct error err = {0};

    (void)state;
    assert_ok(read_with("name: abacus\ntitle: Abacus\nresources: {count: old.example/abacus}\n",
                        "name: abacus\ndefaults: {count: 7}\n---\nname: amd\n"
                        "memory: {unitMiB: 1024}\n",
                        &classes, &err),
              &err);
    assert_int_equal(class_find(&classes, "abacus")->default_count, 7);
    assert_int_equal(class_find(&classes, "amd")->memory_unit_mib, 1024);
    assert_non_null(class_find_resource(&classes, "old.example/abacus"));
    assert_non_null(class_find_resource(&classes, "nvidia.com/gpu"));
}

static void test_class_files__say_which_key_which_file_and_where(void **state)
{
    static const struct {
        const char *yaml, *problem;
    } cases[] = {
        {"name: amd\nmemory:\n  unitMB: 1\n",
         ": line 3, column 3: unknown key \"unitMB\"; did you mean \"unitMiB\"?"},
        {"name: abacus\ntitle: A\nresources: {count: amd.com/gpu}\n",
         "classes amd and abacus: resource amd.com/gpu"},
        {"name: kunlun-vxpu\nmemory: {capacityMiB: 5}\n", "memory.capacityMiB is less than"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(class_table_clear) struct class_table classes = {0};
        struct error err = {0};

        assert_int_equal(read_with(cases[i].yaml, NULL, &classes, &err), -ERR_INVALID);
        assert_contains(err.text, "classes.files: ");
        assert_contains(err.text, cases[i].problem);
        assert_null(classes.items);
    }
}

static void test_class_files__that_are_missing_are_an_error(void **state)
{
    static char path[] = "/nowhere/classes.yaml";
    char *paths[] = {path};
    struct config config = {.classes_files = {.items = paths, .count = 1}};
    struct class_table classes = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(class_files_read(&config, &classes, &err), -ERR_NOT_FOUND);
    assert_contains(err.text, "classes.files: /nowhere/classes.yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class_files__are_read_in_their_order_over_the_built_in_ones),
        cmocka_unit_test(test_class_files__say_which_key_which_file_and_where),
        cmocka_unit_test(test_class_files__that_are_missing_are_an_error),
    };

    return cmocka_run_group_tests_name("class_files", tests, NULL, NULL);
}
