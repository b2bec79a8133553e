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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write__has_as_many_digits_as_asked_for),
        cmocka_unit_test(test_write__of_an_absurd_time_stays_a_time),
    };

    return cmocka_run_group_tests_name("moment", tests, NULL, NULL);
}
