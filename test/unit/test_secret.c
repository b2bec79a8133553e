/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/secret.h"

static void test_number__differs_from_call_to_call(void **state)
{
    (void)state;
    assert_true(secret_number() != secret_number());
}

static void test_fill__fills_all_of_it_and_no_more(void **state)
{
    unsigned char bytes[SECRET_BYTES_MAX + 1] = {0};
    unsigned char seen[SECRET_BYTES_MAX] = {0};

    (void)state;
    for (unsigned round = 0; round < 16; round++) {
        secret_fill(bytes, SECRET_BYTES_MAX);
        for (size_t i = 0; i < sizeof seen; i++)
            seen[i] |= bytes[i];
    }
    for (size_t i = 0; i < sizeof seen; i++)
        assert_int_not_equal(seen[i], 0);
    assert_int_equal(bytes[SECRET_BYTES_MAX], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number__differs_from_call_to_call),
        cmocka_unit_test(test_fill__fills_all_of_it_and_no_more),
    };

    return cmocka_run_group_tests_name("secret", tests, NULL, NULL);
}
