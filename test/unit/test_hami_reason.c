/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/hami_reason.h"

static void test_hami_reason_word__every_reason_has_one(void **state)
{
    (void)state;
    for (int reason = 0; reason < REASON_COUNT; reason++)
        assert_non_null(hami_reason_word((enum reason)reason));
    assert_string_equal(hami_reason_word(REASON_MEMORY), "CardInsufficientMemory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hami_reason_word__every_reason_has_one),
    };

    return cmocka_run_group_tests_name("hami_reason", tests, NULL, NULL);
}
