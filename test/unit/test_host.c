/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/host.h"

static void test_host_add__stops_at_the_end_of_the_range(void **state)
{
    struct host_amounts sum =
        host_add((struct host_amounts){UINT64_MAX - 1, 1}, (struct host_amounts){2, 2});

    (void)state;
    assert_true(host_equal(sum, (struct host_amounts){UINT64_MAX, 3}));
}

static void test_host_subtract__never_goes_below_nothing(void **state)
{
    struct host_amounts rest =
        host_subtract((struct host_amounts){1, 5}, (struct host_amounts){2, 2});

    (void)state;
    assert_true(host_equal(rest, (struct host_amounts){0, 3}));
}

static void test_host_max__takes_the_greater_of_each(void **state)
{
    struct host_amounts most = host_max((struct host_amounts){1, 5}, (struct host_amounts){2, 2});

    (void)state;
    assert_true(host_equal(most, (struct host_amounts){2, 5}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_add__stops_at_the_end_of_the_range),
        cmocka_unit_test(test_host_subtract__never_goes_below_nothing),
        cmocka_unit_test(test_host_max__takes_the_greater_of_each),
    };

    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
