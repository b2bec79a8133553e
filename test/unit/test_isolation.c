/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/isolation.h"

static void test_isolation_may_join__only_the_same_mode_and_nobody_who_has_it_whole(void **state)
{
    static const enum isolation_mode modes[] = {ISOLATION_SOFT, ISOLATION_HARD,
                                                ISOLATION_PARTITIONED, ISOLATION_SHARED};

    (void)state;
    for (size_t wanted = 0; wanted < ARRAY_LEN(modes); wanted++) {
        assert_true(isolation_may_join(ISOLATION_NONE, modes[wanted]));
        for (size_t present = 0; present < ARRAY_LEN(modes); present++)
            assert_int_equal(isolation_may_join(modes[present], modes[wanted]),
                             present == wanted && modes[present] != ISOLATION_SHARED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_isolation_may_join__only_the_same_mode_and_nobody_who_has_it_whole),
    };

    return cmocka_run_group_tests_name("isolation", tests, NULL, NULL);
}
