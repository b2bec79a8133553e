/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/class_selection.h"

static void test_class_selections_add__has_each_class_once(void **state)
{
    AUTO(class_selections_clear) struct class_selections selections = {0};
    const struct device_class other = test_class;

    (void)state;
    word_list_add(&class_selections_add(&selections, &test_class)->use_devices, "a");
    word_list_add(&class_selections_add(&selections, &other)->avoid_products, "b");
    word_list_add(&class_selections_add(&selections, &test_class)->use_devices, "c");
    assert_int_equal(selections.count, 2);
    assert_int_equal(class_selections_find(&selections, &test_class)->use_devices.count, 2);
    assert_null(class_selections_find(&selections, NULL));
}

static void test_class_selections_copy__is_equal_until_something_changes(void **state)
{
    AUTO(class_selections_clear) struct class_selections a = {0};
    AUTO(class_selections_clear) struct class_selections b = {0};

    (void)state;
    assert_true(class_selections_equal(&a, &b));
    word_list_add(&class_selections_add(&a, &test_class)->avoid_devices, "a");
    b = class_selections_copy(&a);
    assert_true(class_selections_equal(&a, &b));
    word_list_add(&b.items[0].avoid_devices, "b");
    assert_false(class_selections_equal(&a, &b));
}

static void test_class_selections_name_devices__not_where_products_alone_are_named(void **state)
{
    AUTO(class_selections_clear) struct class_selections selections = {0};
    struct class_selection *selection = class_selections_add(&selections, &test_class);

    (void)state;
    word_list_add(&selection->use_products, "A100");
    assert_false(class_selections_name_devices(&selections));
    word_list_add(&selection->avoid_devices, "GPU-1");
    assert_true(class_selections_name_devices(&selections));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class_selections_add__has_each_class_once),
        cmocka_unit_test(test_class_selections_copy__is_equal_until_something_changes),
        cmocka_unit_test(test_class_selections_name_devices__not_where_products_alone_are_named),
    };

    return cmocka_run_group_tests_name("class_selection", tests, NULL, NULL);
}
