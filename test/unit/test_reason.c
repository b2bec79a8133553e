/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/reason.h"

static void test_reason_name__is_unique_and_one_word(void **state)
{
    (void)state;
    for (int a = 0; a < REASON_COUNT; a++) {
        const char *name = reason_name((enum reason)a);

        assert_int_equal(strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
                         strlen(name));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(name, reason_name((enum reason)b));
    }
}

/* kube-scheduler counts nodes by equal text, and mangles '%' in Events. */
static void test_reason_text__is_unique_and_holds_no_number_and_no_percent(void **state)
{
    (void)state;
    for (int a = 0; a < REASON_COUNT; a++) {
        const char *text = reason_text((enum reason)a);

        assert_true(text[0] != '\0');
        assert_null(strpbrk(text, "%0123456789\n"));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(text, reason_text((enum reason)b));
    }
}

static void test_reason_is_curable__what_tenants_hold_and_nothing_else(void **state)
{
    static const enum reason curable[] = {REASON_MEMORY,      REASON_CORES,     REASON_EXCLUSIVE,
                                          REASON_ISOLATION,   REASON_SLOTS,     REASON_UNATTRIBUTED,
                                          REASON_TOPOLOGY,    REASON_NOMINATED, REASON_PLACEMENT,
                                          REASON_APPLICATION, REASON_SERVICE,   REASON_SLICE_SIZE,
                                          REASON_HANDLES,     REASON_SETS,      REASON_QUOTA};
    unsigned count = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(curable); i++)
        assert_true(reason_is_curable(curable[i]));
    for (int r = 0; r < REASON_COUNT; r++)
        count += reason_is_curable((enum reason)r);
    assert_int_equal(count, ARRAY_LEN(curable));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reason_name__is_unique_and_one_word),
        cmocka_unit_test(test_reason_text__is_unique_and_holds_no_number_and_no_percent),
        cmocka_unit_test(test_reason_is_curable__what_tenants_hold_and_nothing_else),
    };

    return cmocka_run_group_tests_name("reason", tests, NULL, NULL);
}
