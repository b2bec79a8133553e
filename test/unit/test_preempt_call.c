/* SPDX-License-Identifier: Apache-2.0 */
/* The preempt call as a whole: what is made of kube-scheduler's proposals. */
#include "support/harness.h"

#include <stdlib.h>

#define CARD_MIB 16384
#define HARD "topofit.io/topology", "hard"
#define PAIRS "0-1 2-3 4-5 6-7"

/*
 * Eight devices in pairs, seven pods of one whole device each. The first ones fill pairs, as single
 * devices do: device 7 stays free, and its partner has the pod that came last.
 */
static struct harness *seven_of_eight(int partner_priority)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 8, CARD_MIB, .links = PAIRS);
    for (unsigned i = 0; i < 7; i++) {
        AUTO_FREE char *name = xasprintf("p%u", i);
        AUTO_FREE char *device = xasprintf("GPU-n1-%u", i);

        api_pod(harness, name, "gpu 1", .priority = i == 6 ? partner_priority : 10,
                .annotations = {"topofit.io/use-devices", device});
        place(harness, name, "n1");
    }
    api_pod(harness, "high", "gpu 2", .priority = 100, .annotations = {HARD});
    return harness;
}

static void expect_error(struct harness *harness, const char *body, int code, const char *text)
{
    AUTO(buf_clear) struct buf out = buf_with_max(1000);
    struct error err = {0};

    assert_true(extender_preempt(&harness->extender, body, strlen(body), (struct moment){0}, &out,
                                 &err) < 0);
    assert_int_equal(err.code, code);
    assert_contains(err.text, text);
    assert_int_equal(out.length, 0);
}

/* --- what is made of a proposal -------------------------------------------------------------- */

static void test_preempt__a_proposal_that_works_is_answered_as_it_is(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);

    (void)state;
    for (unsigned form = 0; form < 2; form++) {
        harness->sends_nodes = form == 1;
        ask_preempt(harness, "high", "n1: p6");
        expect_victims(harness, "n1", "p6");
    }
}

static void test_preempt__of_seven_the_one_beside_the_free_device_is_evicted(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);

    (void)state;
    ask_preempt(harness, "high", "n1: p2");
    expect_victims(harness, "n1", "p6");
}

static void test_preempt__of_seven_the_right_two_are_evicted_for_a_linked_pair(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(500);

    (void)state;
    for (unsigned form = 0; form < 2; form++) {
        harness->sends_nodes = form == 1;
        ask_preempt(harness, "high", "n1: p3");
        expect_victims(harness, "n1", "p0 p1");
    }
}

static void test_preempt__after_the_evictions_filter_keeps_the_node(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(500);

    (void)state;
    ask_preempt(harness, "high", "n1: p3");
    api_delete_pod(harness, "p0");
    api_delete_pod(harness, "p1");
    place(harness, "high", "n1");
    assert_int_equal(devices_of(harness, "high"), 3);
}

static void test_preempt__victims_that_can_be_spared_are_spared(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);

    (void)state;
    ask_preempt(harness, "high", "n1: p1 p2 p6");
    expect_victims(harness, "n1", "p6");
}

static void test_preempt__a_proposal_too_small_is_added_to(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 2, CARD_MIB);
    api_pod(harness, "low", "gpu 1", .priority = 10);
    api_pod(harness, "mid", "gpu 1", .priority = 20);
    place(harness, "low", "n1");
    place(harness, "mid", "n1");
    api_pod(harness, "high", "gpu 2", .priority = 100);
    ask_preempt(harness, "high", "n1: low");
    expect_victims(harness, "n1", "mid low");
}

static void test_preempt__victims_without_devices_stay_in_the_answer(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);

    (void)state;
    api_pod(harness, "cpu", "none", .node = "n1", .priority = 50);
    ask_preempt(harness, "high", "n1: cpu p2");
    expect_victims(harness, "n1", "cpu p6");
}

static void test_preempt__when_devices_are_no_obstacle_all_victims_stay(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);

    (void)state;
    api_pod(harness, "one", "gpu 1", .priority = 100);
    ask_preempt(harness, "one", "n1: p1 p2");
    expect_victims(harness, "n1", "p1 p2");
}

static void test_preempt__victims_whose_cpu_the_pod_needs_are_not_spared(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 2, CARD_MIB); /* 96 CPU */
    api_pod(harness, "a", "gpu 1, cpu 10", .priority = 10);
    api_pod(harness, "b", "gpu 1, cpu 80", .priority = 20);
    place(harness, "a", "n1");
    place(harness, "b", "n1");
    api_pod(harness, "high", "gpu 1, cpu 90", .priority = 100);
    ask_preempt(harness, "high", "n1: b a");
    expect_victims(harness, "n1", "b a");
    api_pod(harness, "less", "gpu 1, cpu 50", .priority = 100);
    ask_preempt(harness, "less", "n1: b a");
    expect_victims(harness, "n1", "b");
}

static void test_preempt__a_node_where_no_eviction_helps_is_dropped(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);

    (void)state;
    api_node(harness, "n2", 2, CARD_MIB); /* nothing is known of its links */
    api_pod(harness, "there", "gpu 1", .priority = 10);
    place(harness, "there", "n2");
    ask_preempt(harness, "high", "n1: p6; n2: there");
    expect_victims(harness, "n1", "p6");
    expect_victims(harness, "n2", NULL);
}

static void test_preempt__pods_of_equal_priority_are_never_victims(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(100);

    (void)state;
    ask_preempt(harness, "high", "n1: p6");
    expect_victims(harness, "n1", NULL);
    ask_preempt(harness, "high", "n1: p0");
    expect_victims(harness, "n1", "p0 p1");
}

static void test_preempt__a_lower_priority_goes_before_fewer_victims(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 4, CARD_MIB, .links = "0-1 2-3");
    api_pod(harness, "pair", "gpu 2", .priority = 30);
    place(harness, "pair", "n1");
    api_pod(harness, "a", "gpu 1", .priority = 20);
    api_pod(harness, "b", "gpu 1", .priority = 20);
    place(harness, "a", "n1");
    place(harness, "b", "n1");
    api_pod(harness, "high", "gpu 2", .priority = 100, .annotations = {HARD});
    ask_preempt(harness, "high", "n1:");
    expect_victims(harness, "n1", "a b");
}

static void test_preempt__among_equals_the_one_that_started_last_goes(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 2, CARD_MIB);
    api_pod(harness, "a", "gpu 1", .priority = 10, .started = "2026-11-30T07:00:00Z");
    api_pod(harness, "b", "gpu 1", .priority = 10, .started = "2026-11-30T08:00:00Z");
    place(harness, "a", "n1");
    place(harness, "b", "n1");
    api_pod(harness, "high", "gpu 1", .priority = 100);
    ask_preempt(harness, "high", "n1:");
    expect_victims(harness, "n1", "b");
}

static void test_preempt__who_is_being_deleted_already_costs_nothing(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 2, CARD_MIB);
    api_pod(harness, "a", "gpu 1", .priority = 10);
    api_pod(harness, "b", "gpu 1", .priority = 50);
    place(harness, "a", "n1");
    place(harness, "b", "n1");
    api_set_deleting(harness, "b");
    api_pod(harness, "high", "gpu 1", .priority = 100);
    ask_preempt(harness, "high", "n1:");
    expect_victims(harness, "n1", "b");
}

static void test_preempt__a_device_is_cleared_where_that_takes_the_fewest(void **state)
{
    static const unsigned tenants[] = {5, 3, 2, 4};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 4, CARD_MIB);
    for (unsigned device = 0; device < 4; device++) {
        AUTO_FREE char *id = xasprintf("GPU-n1-%u", device);

        for (unsigned i = 0; i < tenants[device]; i++) {
            AUTO_FREE char *name = xasprintf("p%u%u", device, i);

            api_pod(harness, name, "gpu 1, mem 1000", .priority = 10,
                    .annotations = {"topofit.io/use-devices", id});
            place(harness, name, "n1");
        }
    }
    api_pod(harness, "high", "gpu 1", .priority = 100);
    ask_preempt(harness, "high", "n1: p00");
    expect_victims(harness, "n1", "p20 p21");
}

/* --- empty lists, unknown names -------------------------------------------------------------- */

static void test_preempt__an_empty_proposal_gets_victims(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);

    (void)state;
    ask_preempt(harness, "high", "n1:");
    expect_victims(harness, "n1", "p6");
}

static void test_preempt__an_empty_list_is_answered_only_where_one_was_sent(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);

    (void)state;
    api_delete_pod(harness, "p6");
    ask_preempt(harness, "high", "n1:");
    expect_victims(harness, "n1", "");
    ask_preempt(harness, "high", "n1: p1");
    expect_victims(harness, "n1", "p1");
}

static void test_preempt__nodes_and_pods_that_nobody_knows_are_dropped(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);

    (void)state;
    api_node(harness, "n2", 8, CARD_MIB);
    for (unsigned form = 0; form < 2; form++) {
        harness->sends_nodes = form == 1;
        ask_preempt(harness, "high", "n1: ghost");
        expect_victims(harness, "n1", NULL);
        ask_preempt(harness, "high", "n1: p6; n3: p6; n2: p6");
        expect_victims(harness, "n1", "p6");
        expect_victims(harness, "n2", NULL); /* p6 is on another node */
        expect_victims(harness, "n3", NULL);
    }
}

static void test_preempt__a_pod_sent_whole_that_the_watch_has_not_shown_stays(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);

    (void)state;
    api_pod(harness, "new", "none", .node = "n1", .priority = 5, .unseen = true);
    harness->sends_nodes = true;
    ask_preempt(harness, "high", "n1: p6 new");
    expect_victims(harness, "n1", "p6 new");
}

static void test_preempt__a_pod_without_devices_is_none_of_our_business(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);

    (void)state;
    api_pod(harness, "cpu", "none", .priority = 100);
    ask_preempt(harness, "cpu", "n1: p3 p1");
    expect_victims(harness, "n1", "p3 p1");
}

static void test_preempt__a_pod_that_cannot_be_read_gets_no_node(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);

    (void)state;
    api_pod(harness, "odd", "gpu 1, mem zwei", .priority = 100);
    ask_preempt(harness, "odd", "n1: p6");
    expect_victims(harness, "n1", NULL);
}

/* --- violations ------------------------------------------------------------------------------ */

static void test_preempt__violations_are_kept_as_far_as_there_are_victims(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);
    AUTO(buf_clear) struct buf out = buf_with_max(1000);
    AUTO_FREE char *body = preempt_body(harness, "high", "n1: p1 p6");
    struct error err = {0};
    char *count = strstr(body, "Violations\":0");

    (void)state;
    assert_non_null(count);
    count[strlen("Violations\":")] = '2';
    assert_ok(
        extender_preempt(&harness->extender, body, strlen(body), (struct moment){0}, &out, &err),
        &err);
    assert_string_equal(buf_text(&out), "{\"NodeNameToMetaVictims\":{\"n1\":{\"Pods\":[{\"UID\":"
                                        "\"uid-p6\"}],\"NumPDBViolations\":1}}}");
}

/* --- calls that cannot be answered ----------------------------------------------------------- */

static void test_preempt__both_forms_at_once_or_none_is_an_error(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    expect_error(harness, "{\"Pod\":{},\"NodeNameToVictims\":{},\"NodeNameToMetaVictims\":{}}",
                 ERR_INVALID, "exactly one of");
    expect_error(harness, "{\"Pod\":{},\"NodeNameToVictims\":null}", ERR_INVALID, "exactly one of");
    expect_error(harness, "{\"NodeNameToVictims\":{}}", ERR_INVALID, "no Pod");
    expect_error(harness, "[]", ERR_INVALID, "");
}

static void test_preempt__before_the_lists_it_is_busy(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    harness_restart(harness);
    expect_error(harness, "{\"Pod\":{},\"NodeNameToVictims\":{}}", ERR_BUSY, "not listed");
}

static void count_ends(void *ctx, enum preempt_end end, size_t nodes)
{
    size_t *ends = ctx;

    ends[end] += nodes;
}

static void test_preempt__the_ends_are_counted(void **state)
{
    AUTO(harness_free) struct harness *harness = seven_of_eight(10);
    size_t ends[PREEMPT_END_COUNT] = {0};

    (void)state;
    harness->extender.observer = (struct observer){.ctx = ends, .on_preempted = count_ends};
    ask_preempt(harness, "high", "n1: p6; n2: p6; n3: p1");
    ask_preempt(harness, "high", "n1: p1");
    assert_int_equal(ends[PREEMPT_KEPT], 1);
    assert_int_equal(ends[PREEMPT_CHANGED], 1);
    assert_int_equal(ends[PREEMPT_DROPPED], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preempt__a_proposal_that_works_is_answered_as_it_is),
        cmocka_unit_test(test_preempt__of_seven_the_one_beside_the_free_device_is_evicted),
        cmocka_unit_test(test_preempt__of_seven_the_right_two_are_evicted_for_a_linked_pair),
        cmocka_unit_test(test_preempt__after_the_evictions_filter_keeps_the_node),
        cmocka_unit_test(test_preempt__victims_that_can_be_spared_are_spared),
        cmocka_unit_test(test_preempt__a_proposal_too_small_is_added_to),
        cmocka_unit_test(test_preempt__victims_without_devices_stay_in_the_answer),
        cmocka_unit_test(test_preempt__when_devices_are_no_obstacle_all_victims_stay),
        cmocka_unit_test(test_preempt__victims_whose_cpu_the_pod_needs_are_not_spared),
        cmocka_unit_test(test_preempt__a_node_where_no_eviction_helps_is_dropped),
        cmocka_unit_test(test_preempt__pods_of_equal_priority_are_never_victims),
        cmocka_unit_test(test_preempt__a_lower_priority_goes_before_fewer_victims),
        cmocka_unit_test(test_preempt__among_equals_the_one_that_started_last_goes),
        cmocka_unit_test(test_preempt__who_is_being_deleted_already_costs_nothing),
        cmocka_unit_test(test_preempt__a_device_is_cleared_where_that_takes_the_fewest),
        cmocka_unit_test(test_preempt__an_empty_proposal_gets_victims),
        cmocka_unit_test(test_preempt__an_empty_list_is_answered_only_where_one_was_sent),
        cmocka_unit_test(test_preempt__nodes_and_pods_that_nobody_knows_are_dropped),
        cmocka_unit_test(test_preempt__a_pod_sent_whole_that_the_watch_has_not_shown_stays),
        cmocka_unit_test(test_preempt__a_pod_without_devices_is_none_of_our_business),
        cmocka_unit_test(test_preempt__a_pod_that_cannot_be_read_gets_no_node),
        cmocka_unit_test(test_preempt__violations_are_kept_as_far_as_there_are_victims),
        cmocka_unit_test(test_preempt__both_forms_at_once_or_none_is_an_error),
        cmocka_unit_test(test_preempt__before_the_lists_it_is_busy),
        cmocka_unit_test(test_preempt__the_ends_are_counted),
    };

    return cmocka_run_group_tests_name("preempt_call", tests, NULL, NULL);
}
