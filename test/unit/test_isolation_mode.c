/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/isolation_mode.h"

static void test_isolation_mode_parse__reads_what_is_written(void **state)
{
    (void)state;
    for (int mode = ISOLATION_SOFT; mode <= ISOLATION_SHARED; mode++) {
        const char *name = isolation_mode_name((enum isolation_mode)mode);

        assert_true(name[0] != '\0');
        assert_int_equal(isolation_mode_parse(name), mode);
    }
}

static void test_isolation_mode_parse__everything_else_is_none(void **state)
{
    static const char *const names[] = {"", "Soft", "soft ", "mig", "none"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_int_equal(isolation_mode_parse(names[i]), ISOLATION_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_isolation_mode_parse__reads_what_is_written),
        cmocka_unit_test(test_isolation_mode_parse__everything_else_is_none),
    };

    return cmocka_run_group_tests_name("isolation_mode", tests, NULL, NULL);
}
