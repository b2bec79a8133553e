/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/table.h"

static const char *const headers[] = {"NODE", "GPUS"};

static void test_table_write__aligns_columns_without_blanks_at_the_end(void **state)
{
    AUTO(table_free_pointer) struct table *table = table_new(headers, ARRAY_LEN(headers));
    AUTO(buf_clear) struct buf out = buf_with_max(1000);

    (void)state;
    table_add(table, "a-long-name");
    table_addf(table, "%d", 8);
    table_add(table, "b");
    table_add(table, "");
    table_write(table, &out);
    assert_string_equal(buf_text(&out), "NODE         GPUS\n"
                                        "a-long-name  8\n"
                                        "b            -\n");
}

static void test_table_write__prints_the_header_of_an_empty_table(void **state)
{
    AUTO(table_free_pointer) struct table *table = table_new(headers, ARRAY_LEN(headers));
    AUTO(buf_clear) struct buf out = buf_with_max(1000);

    (void)state;
    table_write(table, &out);
    assert_string_equal(buf_text(&out), "NODE  GPUS\n");
}

static void test_table_add__makes_control_bytes_harmless(void **state)
{
    AUTO(table_free_pointer) struct table *table = table_new(headers, 1);
    AUTO(buf_clear) struct buf out = buf_with_max(1000);

    (void)state;
    table_add(table, "a\x1b[31m\nb\x7f");
    table_write(table, &out);
    assert_string_equal(buf_text(&out), "NODE\na?[31m?b?\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_write__aligns_columns_without_blanks_at_the_end),
        cmocka_unit_test(test_table_write__prints_the_header_of_an_empty_table),
        cmocka_unit_test(test_table_add__makes_control_bytes_harmless),
    };

    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
