/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/csv.h"

static struct csv read_text(const char *text)
{
    struct csv csv = {0};
    struct error err = {0};

    assert_ok(csv_read(text, strlen(text), &csv, &err), &err);
    return csv;
}

static void test_csv_read__values_stand_under_their_names_with_their_line(void **state)
{
    AUTO(csv_clear)
    struct csv csv = read_text("\xef\xbb\xbf"
                               "# a comment\r\n\r\na, b ,c\r\n1, two ,3\n\n4,,6");

    (void)state;
    assert_int_equal(csv.column_count, 3);
    assert_int_equal(csv.row_count, 2);
    assert_string_equal(csv_column(&csv, 1), "b");
    assert_string_equal(csv_value(&csv, 0, 0), "1");
    assert_string_equal(csv_value(&csv, 0, 1), "two");
    assert_string_equal(csv_value(&csv, 1, 1), "");
    assert_string_equal(csv_value(&csv, 1, 2), "6");
    assert_int_equal(csv_line(&csv, 0), 4);
    assert_int_equal(csv_line(&csv, 1), 6);
}

static void test_csv_read__quotes_keep_commas_blanks_line_ends_and_quotes(void **state)
{
    AUTO(csv_clear)
    struct csv csv =
        read_text("a,b\n\" x, y \",\"say \"\"no\"\"\"\n\"two\nlines\" ,\"\"\nlast,z\n");

    (void)state;
    assert_string_equal(csv_value(&csv, 0, 0), " x, y ");
    assert_string_equal(csv_value(&csv, 0, 1), "say \"no\"");
    assert_string_equal(csv_value(&csv, 1, 0), "two\nlines");
    assert_string_equal(csv_value(&csv, 1, 1), "");
    assert_int_equal(csv_line(&csv, 2), 5);
}

static void test_csv_read__what_is_wrong_is_told_with_its_line(void **state)
{
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"", "it is empty"},
        {"\n# nothing\n", "it is empty"},
        {"a,b\n", "there are no rows"},
        {"a,b\n1,2\n3\n", "line 3: 1 value, but the header has 2"},
        {"a,b\n1,2,3\n", "line 2: 3 values, but the header has 2"},
        {"a,,b\n1,2,3\n", "line 1: column 2 has no name"},
        {"a,b,a\n1,2,3\n", "line 1: columns 1 and 3 are both a"},
        {"a\n\"x\ny\n", "line 2: a quote that does not end"},
        {"a\n\"x\"y\n", "line 2: text behind a closing quote"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(csv_clear) struct csv csv = {0};
        struct error err = {0};

        assert_true(csv_read(cases[i].text, strlen(cases[i].text), &csv, &err) < 0);
        assert_contains(err.text, cases[i].complaint);
    }
}

static void test_csv_read__a_nul_and_too_many_columns_are_refused(void **state)
{
    AUTO(csv_clear) struct csv csv = {0};
    AUTO(csv_clear) struct csv wide = {0};
    char text[2 * CSV_COLUMNS_MAX + 8];
    struct error err = {0};

    (void)state;
    assert_true(csv_read("a\n1\0\n", 5, &csv, &err) < 0);
    assert_contains(err.text, "NUL");
    error_clear(&err);
    memset(text, ',', sizeof text);
    assert_true(csv_read(text, sizeof text, &wide, &err) < 0);
    assert_contains(err.text, "more than 64 columns");
}

static void test_csv_refuse__names_line_column_and_name(void **state)
{
    AUTO(csv_clear) struct csv csv = read_text("a,b\n1,2\n");
    struct error err = {0};

    (void)state;
    assert_true(csv_refuse(&csv, 0, 1, &err, "%s is odd", "2") < 0);
    assert_string_equal(err.text, "line 2, column 2 (b): 2 is odd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv_read__values_stand_under_their_names_with_their_line),
        cmocka_unit_test(test_csv_read__quotes_keep_commas_blanks_line_ends_and_quotes),
        cmocka_unit_test(test_csv_read__what_is_wrong_is_told_with_its_line),
        cmocka_unit_test(test_csv_read__a_nul_and_too_many_columns_are_refused),
        cmocka_unit_test(test_csv_refuse__names_line_column_and_name),
    };

    return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
