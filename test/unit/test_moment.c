/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/moment.h"

static void test_write__has_as_many_digits_as_asked_for(void **state)
{
    char text[MOMENT_TEXT_BYTES];

    (void)state;
    moment_write(1769903999123, 0, text);
    assert_string_equal(text, "2026-01-31T23:59:59Z");
    moment_write(1769903999123, 3, text);
    assert_string_equal(text, "2026-01-31T23:59:59.123Z");
    moment_write(1769903999007, 6, text);
    assert_string_equal(text, "2026-01-31T23:59:59.007000Z");
}

static void test_write__of_an_absurd_time_stays_a_time(void **state)
{
    char text[MOMENT_TEXT_BYTES];

    (void)state;
    moment_write(UINT64_MAX, 0, text);
    assert_string_equal(text, "9999-12-31T23:59:59Z");
}

static void test_read__understands_rfc_3339_in_any_zone(void **state)
{
    static const char *const texts[] = {"2026-01-31T23:59:59Z", "2026-01-31t23:59:59.999999z",
                                        "2026-02-01T01:29:59+01:30", "2026-01-31T18:59:59-05:00"};
    int64_t unix_s;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        unix_s = 0;
        assert_true(moment_read(texts[i], &unix_s));
        assert_int_equal(unix_s, 1769903999);
    }
}

static void test_read__takes_nothing_else_for_a_time(void **state)
{
    static const char *const texts[] = {"",
                                        "now",
                                        "2026-01-31",
                                        "2026-01-31T23:59:59",
                                        "2026-13-31T23:59:59Z",
                                        "2026-02-30T00:00:00Z",
                                        "2026-02-29T00:00:00Z",
                                        "2100-02-29T00:00:00Z",
                                        "2026-04-31T00:00:00Z",
                                        "2026-01-31T23:59:59.Z",
                                        "2026-01-31T23:59:59+0100",
                                        "2026-01-31T23:59:59Z "};
    int64_t unix_s = 7;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_false(moment_read(texts[i], &unix_s));
    assert_int_equal(unix_s, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write__has_as_many_digits_as_asked_for),
        cmocka_unit_test(test_write__of_an_absurd_time_stays_a_time),
        cmocka_unit_test(test_read__understands_rfc_3339_in_any_zone),
        cmocka_unit_test(test_read__takes_nothing_else_for_a_time),
    };

    return cmocka_run_group_tests_name("moment", tests, NULL, NULL);
}
