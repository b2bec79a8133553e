/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field cases about quotas: F31 memory times cards, several quotas, changes at run time; F32 a card
 * only in an init container (its quota part); and what follows for nodes, binds and evictions.
 */
#include "support/harness.h"

#include <stdlib.h>

#define GPUMEM "nvidia.com/gpumem"
#define GPUCORES "nvidia.com/gpucores"

static struct harness *f31_new(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 4, 16384);
    api_quota(harness, "first", GPUMEM " 10000");
    api_pod(harness, "a", "gpu 2, mem 4000");
    api_pod(harness, "b", "gpu 1, mem 2001");
    api_pod(harness, "c", "gpu 1, mem 2000");
    return harness;
}

/* --- F31 ------------------------------------------------------------------------------------- */

static void test_f31__memory_counts_times_cards(void **state)
{
    AUTO(harness_free) struct harness *harness = f31_new();

    (void)state;
    place(harness, "a", "n1");
    assert_int_equal(quota_used(harness, GPUMEM), 8000);
    assert_contains(expect_refused(harness, "b", "n1"), "limits." GPUMEM);
    expect_kept(harness, "c", "n1", "n1");
    place(harness, "c", "n1");
    assert_int_equal(quota_used(harness, GPUMEM), 10000);
}

static void test_f31__several_quotas_hold_at_once(void **state)
{
    AUTO(harness_free) struct harness *harness = f31_new();

    (void)state;
    api_quota(harness, "second", GPUMEM " 9000");
    place(harness, "a", "n1");
    expect_refused(harness, "c", "n1");
    api_delete_quota(harness, "second");
    expect_kept(harness, "c", "n1", "n1");
}

static void test_f31__a_misspelled_resource_limits_nothing_and_is_remarked(void **state)
{
    AUTO(harness_free) struct harness *harness = f31_new();
    struct quota_remark *remarks;
    size_t count;

    (void)state;
    api_quota(harness, "third", "nvidia.com/gpumemory 1");
    place(harness, "a", "n1");
    expect_refused(harness, "b", "n1");
    expect_kept(harness, "c", "n1", "n1");
    remarks = cluster_quota_remarks(harness->cluster, &count);
    assert_int_equal(count, 1);
    assert_string_equal(remarks[0].quota, "third");
    assert_contains(remarks[0].text, "limits.nvidia.com/gpumemory is not counted");
    quota_remarks_free(remarks, count);
}

static void test_f31__who_runs_stays_when_the_quota_shrinks_and_new_pods_are_refused(void **state)
{
    AUTO(harness_free) struct harness *harness = f31_new();

    (void)state;
    place(harness, "a", "n1");
    api_quota(harness, "first", GPUMEM " 5000");
    assert_true(holds(harness, "a"));
    assert_int_equal(quota_used(harness, GPUMEM), 8000);
    expect_refused(harness, "b", "n1");
    expect_refused(harness, "c", "n1");
    api_delete_quota(harness, "first");
    expect_kept(harness, "b", "n1", "n1");
    place(harness, "b", "n1");
}

static void test_f31__a_pod_that_goes_gives_back_what_it_had(void **state)
{
    AUTO(harness_free) struct harness *harness = f31_new();

    (void)state;
    place(harness, "a", "n1");
    expect_refused(harness, "b", "n1");
    api_delete_pod(harness, "a");
    place(harness, "b", "n1");
    assert_int_equal(quota_used(harness, GPUMEM), 2001);
}

/* --- what amounts come to -------------------------------------------------------------------- */

static void test_quota__percentages_count_as_the_memory_they_come_to(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 2, 10000);
    api_quota(harness, "q", GPUMEM " 5k");
    api_pod(harness, "a", "gpu 1, pct 30");
    api_pod(harness, "b", "gpu 1, pct 21");
    api_pod(harness, "c", "gpu 1, pct 20");
    place(harness, "a", "n1");
    assert_int_equal(quota_used(harness, GPUMEM), 3000);
    expect_refused(harness, "b", "n1");
    place(harness, "c", "n1");
}

static void test_quota__whole_devices_count_with_all_their_memory_and_cores(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 4, 10000);
    api_quota(harness, "q", GPUMEM " 30000, " GPUCORES " 200");
    api_pod(harness, "a", "gpu 2");
    api_pod(harness, "b", "gpu 1");
    api_pod(harness, "c", "gpu 1, mem 10000");
    place(harness, "a", "n1");
    assert_int_equal(quota_used(harness, GPUMEM), 20000);
    assert_int_equal(quota_used(harness, GPUCORES), 200);
    assert_contains(expect_refused(harness, "b", "n1"), "limits." GPUCORES);
    place(harness, "c", "n1");
}

static void test_quota__zero_blocks(void **state)
{
    AUTO(harness_free) struct harness *harness = f31_new();

    (void)state;
    api_quota(harness, "first", GPUMEM " 0");
    expect_refused(harness, "c", "n1");
    assert_true(is_unresolvable(harness, "n1")); /* no eviction helps */
}

static void test_quota__a_pod_that_is_more_than_the_limit_by_itself_is_told_so(void **state)
{
    AUTO(harness_free) struct harness *harness = f31_new();

    (void)state;
    api_pod(harness, "d", "gpu 3, mem 4000");
    assert_contains(expect_refused(harness, "d", "n1"), reason_text(REASON_QUOTA_TOO_SMALL));
}

/* --- F32 ------------------------------------------------------------------------------------- */

static void test_f32__a_card_only_in_an_init_container_counts(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 4, 16384);
    api_pod(harness, "a", "init gpu 1, mem 4000; none");
    api_quota(harness, "q", GPUMEM " 3000");
    expect_refused(harness, "a", "n1");
    api_quota(harness, "q", GPUMEM " 5000");
    expect_kept(harness, "a", "n1", "n1");
    place(harness, "a", "n1");
    assert_int_equal(quota_used(harness, GPUMEM), 4000);
}

static void test_quota__init_containers_count_with_their_peak_until_they_end(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 4, 16384);
    api_quota(harness, "q", GPUMEM " 5000");
    api_pod(harness, "a", "init gpu 1, mem 4000; init gpu 2, mem 1500; gpu 1, mem 1000");
    place(harness, "a", "n1");
    assert_int_equal(quota_used(harness, GPUMEM), 4000);
    api_finish_init(harness, "a");
    assert_int_equal(quota_used(harness, GPUMEM), 1000);
}

/* --- nodes ----------------------------------------------------------------------------------- */

static void test_quota__of_unequal_devices_a_set_that_keeps_it_is_found(void **state)
{
    static const uint64_t sizes[] = {40000, 16000, 40000, 16000, 24000};
    static const struct {
        const char *limit, *wants;
        device_mask set;
    } cases[] = {
        {GPUMEM " 16000", "gpu 1", 0x0a},         /* one of the small ones */
        {GPUMEM " 32000", "gpu 2", 0x0a},         /* both of them */
        {GPUMEM " 40000", "gpu 2", 0x1a},         /* a small one and one a little larger */
        {GPUMEM " 56000", "gpu 3", 0x1a},         /* all three of these */
        {GPUMEM " 20000", "gpu 2, pct 50", 0x1a}, /* the same, by halves */
        {GPUMEM " 32000", "gpu 1; gpu 1", 0x0a},  /* container by container */
        {GPUMEM " 32000", "gpu 1, pct 50; gpu 1, pct 50; gpu 1", 0x0a},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();

        api_node(harness, "n1", 5, 0, .memory_each = sizes);
        api_quota(harness, "q", cases[i].limit);
        api_pod(harness, "a", cases[i].wants);
        place(harness, "a", "n1");
        assert_int_equal(devices_of(harness, "a") & ~cases[i].set, 0);
    }
}

static void
test_quota__nodes_with_smaller_devices_are_kept_where_larger_ones_are_refused(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "big", 2, 40000);
    api_node(harness, "small", 2, 16000);
    api_quota(harness, "q", GPUMEM " 20000");
    api_pod(harness, "a", "gpu 1");
    expect_kept(harness, "a", "big small", "small");
    assert_contains(refusal_of(harness, "big"), reason_text(REASON_QUOTA_TOO_SMALL));
    place(harness, "a", "small");
    api_pod(harness, "b", "gpu 1");
    expect_kept(harness, "b", "big small", "");
}

static void test_quota__containers_are_placed_together_within_it(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 4, 10000);
    api_quota(harness, "q", GPUMEM " 20000");
    api_pod(harness, "a", "gpu 1; gpu 1; gpu 1, mem 1");
    api_pod(harness, "b", "gpu 1; gpu 1, mem 9000; gpu 1, mem 1000");
    assert_contains(expect_refused(harness, "a", "n1"), reason_text(REASON_QUOTA_TOO_SMALL));
    place(harness, "b", "n1");
    assert_int_equal(quota_used(harness, GPUMEM), 20000);
}

static void test_quota__nodes_sent_along_are_decided_on_too(void **state)
{
    AUTO(harness_free) struct harness *harness = f31_new();

    (void)state;
    place(harness, "a", "n1");
    harness->sends_nodes = true;
    expect_refused(harness, "b", "n1");
    expect_kept(harness, "c", "n1", "n1");
}

/* --- binds ----------------------------------------------------------------------------------- */

static void test_quota__two_binds_at_once_cannot_exceed_it(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 2, 16384);
    api_node(harness, "n2", 2, 16384);
    api_quota(harness, "q", GPUMEM " 5000");
    api_pod(harness, "a", "gpu 1, mem 3000");
    api_pod(harness, "b", "gpu 1, mem 3000");
    expect_kept(harness, "a", "n1 n2", "n1 n2");
    expect_kept(harness, "b", "n1 n2", "n1 n2");
    harness->port = PORT_HOLDS;
    assert_null(ask_bind(harness, "a", "n1"));
    assert_contains(ask_bind(harness, "b", "n2"), reason_text(REASON_QUOTA));
    mem_free_pointer(&harness->bound);
    end_job(harness, BIND_FAILED, "lost");
    harness->port = PORT_EXECUTES;
    assert_string_equal(ask_bind(harness, "b", "n2"), "");
}

/* The booking that a pod's own Binding has left is no use by others. */
static void test_quota__what_a_pod_holds_itself_does_not_count_against_it(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 2, 16384);
    api_quota(harness, "q", GPUMEM " 5000");
    api_pod(harness, "a", "gpu 1, mem 3000");
    harness->port = PORT_HOLDS;
    expect_kept(harness, "a", "n1", "n1");
    assert_null(ask_bind(harness, "a", "n1"));
    end_job(harness, BIND_UNCLEAR, "timeout");
    expect_kept(harness, "a", "n1", "n1");
}

/* --- evictions ------------------------------------------------------------------------------- */

static void test_quota__evicting_pods_of_the_namespace_makes_room(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 4, 16384);
    api_node(harness, "n2", 4, 16384);
    api_quota(harness, "q", GPUMEM " 10000");
    api_pod(harness, "low", "gpu 1, mem 6000", .priority = 1);
    api_pod(harness, "lower", "gpu 1, mem 3000");
    place(harness, "low", "n1");
    place(harness, "lower", "n1");
    api_pod(harness, "high", "gpu 1, mem 4000", .priority = 10);
    assert_contains(expect_refused(harness, "high", "n1"), reason_text(REASON_QUOTA));
    assert_true(is_failed(harness, "n1"));
    ask_preempt(harness, "high", "n1: low lower; n2:");
    expect_victims(harness, "n1", "lower");
    expect_victims(harness, "n2", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f31__memory_counts_times_cards),
        cmocka_unit_test(test_f31__several_quotas_hold_at_once),
        cmocka_unit_test(test_f31__a_misspelled_resource_limits_nothing_and_is_remarked),
        cmocka_unit_test(test_f31__who_runs_stays_when_the_quota_shrinks_and_new_pods_are_refused),
        cmocka_unit_test(test_f31__a_pod_that_goes_gives_back_what_it_had),
        cmocka_unit_test(test_quota__percentages_count_as_the_memory_they_come_to),
        cmocka_unit_test(test_quota__whole_devices_count_with_all_their_memory_and_cores),
        cmocka_unit_test(test_quota__zero_blocks),
        cmocka_unit_test(test_quota__a_pod_that_is_more_than_the_limit_by_itself_is_told_so),
        cmocka_unit_test(test_f32__a_card_only_in_an_init_container_counts),
        cmocka_unit_test(test_quota__init_containers_count_with_their_peak_until_they_end),
        cmocka_unit_test(test_quota__of_unequal_devices_a_set_that_keeps_it_is_found),
        cmocka_unit_test(
            test_quota__nodes_with_smaller_devices_are_kept_where_larger_ones_are_refused),
        cmocka_unit_test(test_quota__containers_are_placed_together_within_it),
        cmocka_unit_test(test_quota__nodes_sent_along_are_decided_on_too),
        cmocka_unit_test(test_quota__two_binds_at_once_cannot_exceed_it),
        cmocka_unit_test(test_quota__what_a_pod_holds_itself_does_not_count_against_it),
        cmocka_unit_test(test_quota__evicting_pods_of_the_namespace_makes_room),
    };

    return cmocka_run_group_tests_name("field_cases_quota", tests, NULL, NULL);
}
