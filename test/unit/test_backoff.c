/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/backoff.h"

#include <stdbool.h>

static const struct backoff_limits limits = {800, 30000, 120000};

static void test_backoff_next_ms__doubles_up_to_the_longest_wait(void **state)
{
    static const uint64_t base_ms[] = {800, 1600, 3200, 6400, 12800, 15000, 15000, 15000};

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct backoff backoff;

        backoff_init(&backoff, &limits, seed);
        for (size_t i = 0; i < ARRAY_LEN(base_ms); i++) {
            uint64_t wait_ms = backoff_next_ms(&backoff, 1000 * i);

            assert_in_range(wait_ms, base_ms[i], 2 * base_ms[i]);
        }
    }
}

static void test_backoff_next_ms__starts_anew_after_a_quiet_time(void **state)
{
    static const struct {
        uint64_t pause_ms;
        uint64_t want_base_ms;
    } cases[] = {{119999, 12800}, {120000, 800}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct backoff backoff;
        uint64_t wait_ms;

        backoff_init(&backoff, &limits, 1);
        for (int failure = 0; failure < 4; failure++)
            backoff_next_ms(&backoff, 5000);
        wait_ms = backoff_next_ms(&backoff, 5000 + cases[i].pause_ms);
        assert_in_range(wait_ms, cases[i].want_base_ms, 2 * cases[i].want_base_ms);
    }
}

static void test_backoff_next_ms__is_repeated_by_its_seed_and_differs_between_seeds(void **state)
{
    struct backoff one, same, other;
    unsigned different = 0;

    (void)state;
    backoff_init(&one, &limits, 7);
    backoff_init(&same, &limits, 7);
    backoff_init(&other, &limits, 8);
    for (int i = 0; i < 20; i++) {
        uint64_t wait_ms = backoff_next_ms(&one, 0);

        assert_int_equal(wait_ms, backoff_next_ms(&same, 0));
        different += wait_ms != backoff_next_ms(&other, 0);
    }
    assert_true(different > 15);
}

static void test_jitter_between__reaches_both_ends(void **state)
{
    struct jitter jitter = {3};
    bool seen[3] = {false};

    (void)state;
    for (int i = 0; i < 100; i++) {
        uint64_t number = jitter_between(&jitter, 5, 7);

        assert_in_range(number, 5, 7);
        seen[number - 5] = true;
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    assert_int_equal(jitter_between(&jitter, 9, 9), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backoff_next_ms__doubles_up_to_the_longest_wait),
        cmocka_unit_test(test_backoff_next_ms__starts_anew_after_a_quiet_time),
        cmocka_unit_test(test_backoff_next_ms__is_repeated_by_its_seed_and_differs_between_seeds),
        cmocka_unit_test(test_jitter_between__reaches_both_ends),
    };

    return cmocka_run_group_tests_name("backoff", tests, NULL, NULL);
}
