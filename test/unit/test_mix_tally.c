/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/mix_tally.h"

static void tally_free(struct mix_tally **tally)
{
    mix_tally_free(*tally);
}

static void mix_free(struct pod_mix **mix)
{
    pod_mix_unref(*mix);
}

/* So many pods that want `count` whole devices and some CPU. */
static void come(struct mix_tally *tally, unsigned pods, unsigned count, uint64_t cpu_milli)
{
    AUTO(request_clear) struct request request = request_of((struct wish){.count = count});

    for (unsigned i = 0; i < pods; i++)
        mix_tally_add(tally, &request, (struct host_amounts){cpu_milli, 0});
}

static void test_mix_tally__lists_kinds_by_how_often_they_came(void **state)
{
    AUTO(tally_free) struct mix_tally *tally = mix_tally_new(&test_key);
    AUTO(mix_free) struct pod_mix *mix = NULL;

    (void)state;
    come(tally, 10, 2, 4000);
    come(tally, 30, 1, 4000);
    come(tally, 20, 1, 8000);
    mix = mix_tally_summary(tally);
    assert_int_equal(mix->count, 3);
    assert_int_equal(mix->tasks[0].ask.count, 1);
    assert_int_equal(mix->tasks[0].host.cpu_milli, 4000);
    assert_true(mix->tasks[0].share > 0.499 && mix->tasks[0].share < 0.501);
    assert_int_equal(mix->tasks[1].host.cpu_milli, 8000);
    assert_int_equal(mix->tasks[2].ask.count, 2);
}

static void test_mix_tally__leaves_the_rarest_twentieth_out(void **state)
{
    AUTO(tally_free) struct mix_tally *tally = mix_tally_new(&test_key);
    AUTO(mix_free) struct pod_mix *mix = NULL;

    (void)state;
    come(tally, 96, 1, 4000);
    come(tally, 4, 8, 4000);
    mix = mix_tally_summary(tally);
    assert_int_equal(mix->count, 1);
    assert_true(mix->tasks[0].share > 0.999);
}

static void test_mix_tally__pods_without_devices_do_not_count(void **state)
{
    AUTO(tally_free) struct mix_tally *tally = mix_tally_new(&test_key);
    AUTO(request_clear) struct request nothing = request_of((struct wish){.count = 0});

    (void)state;
    for (unsigned i = 0; i < 100; i++)
        mix_tally_add(tally, &nothing, (struct host_amounts){1000, 0});
    assert_false(mix_tally_has_news(tally));
    assert_null(mix_tally_summary(tally));
}

static void test_mix_tally__has_news_when_a_sixteenth_is_new(void **state)
{
    AUTO(tally_free) struct mix_tally *tally = mix_tally_new(&test_key);

    (void)state;
    come(tally, MIX_PODS_MIN - 1, 1, 0);
    assert_false(mix_tally_has_news(tally));
    come(tally, 1, 1, 0);
    assert_true(mix_tally_has_news(tally));
    come(tally, 160 - MIX_PODS_MIN, 1, 0);
    pod_mix_unref(mix_tally_summary(tally));
    come(tally, 9, 1, 0);
    assert_false(mix_tally_has_news(tally));
    come(tally, 2, 1, 0);
    assert_true(mix_tally_has_news(tally));
}

static void test_mix_tally__forgets_what_was_long_ago(void **state)
{
    AUTO(tally_free) struct mix_tally *tally = mix_tally_new(&test_key);
    AUTO(mix_free) struct pod_mix *mix = NULL;

    (void)state;
    come(tally, MIX_PODS_MAX / 2, 1, 0);
    come(tally, 4 * MIX_PODS_MAX, 2, 0);
    mix = mix_tally_summary(tally);
    assert_int_equal(mix->count, 1);
    assert_int_equal(mix->tasks[0].ask.count, 2);
}

static void test_mix_tally__keeps_no_more_kinds_than_it_says(void **state)
{
    AUTO(tally_free) struct mix_tally *tally = mix_tally_new(&test_key);
    AUTO(mix_free) struct pod_mix *mix = NULL;

    (void)state;
    come(tally, 3, 1, 1);
    for (unsigned i = 0; i < 2 * MIX_KINDS_MAX; i++)
        come(tally, 1, 1, 100 + i);
    mix = mix_tally_summary(tally);
    assert_true(mix->count <= MIX_KINDS_MAX);
    assert_int_equal(mix->tasks[0].host.cpu_milli, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mix_tally__lists_kinds_by_how_often_they_came),
        cmocka_unit_test(test_mix_tally__leaves_the_rarest_twentieth_out),
        cmocka_unit_test(test_mix_tally__pods_without_devices_do_not_count),
        cmocka_unit_test(test_mix_tally__has_news_when_a_sixteenth_is_new),
        cmocka_unit_test(test_mix_tally__forgets_what_was_long_ago),
        cmocka_unit_test(test_mix_tally__keeps_no_more_kinds_than_it_says),
    };

    return cmocka_run_group_tests_name("mix_tally", tests, NULL, NULL);
}
