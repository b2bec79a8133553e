/* SPDX-License-Identifier: Apache-2.0 */
/* Field cases about preemption: F43 freed room taken by someone else, F44 no eviction for nothing.
 */
#include "support/harness.h"

/* --- F43: room freed by preemption is taken by someone else ---------------------------------- */

/* n1: card 0 idle, card 1 with p1. a wants both, b and c one. */
static struct harness *f43_new(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 2, 40960);
    api_node(harness, "n2", 2, 40960);
    api_pod(harness, "p1", "gpu 1", .priority = 10,
            .annotations = {"topofit.io/use-devices", "GPU-n1-1"});
    place(harness, "p1", "n1");
    api_pod(harness, "a", "gpu 2", .priority = 500);
    api_pod(harness, "b", "gpu 1", .priority = 10);
    api_pod(harness, "c", "gpu 1", .priority = 900);
    return harness;
}

/* a has p1 evicted, which takes its time. */
static struct harness *f43_nominated(void)
{
    struct harness *harness = f43_new();

    api_set_nominated(harness, "a", "n1");
    api_set_deleting(harness, "p1");
    return harness;
}

static void expect_held(struct harness *harness, const char *pod, const char *node)
{
    assert_contains(expect_refused(harness, pod, node), "nominated pod");
    assert_true(is_failed(harness, node));
}

static void test_f43__one_free_and_one_freed_device_make_two(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_new();

    (void)state;
    for (unsigned form = 0; form < 2; form++) {
        harness->sends_nodes = form == 1;
        ask_preempt(harness, "a", "n1: p1");
        expect_victims(harness, "n1", "p1");
        ask_preempt(harness, "a", "n1:");
        expect_victims(harness, "n1", "p1");
    }
}

static void test_f43__all_fractions_that_are_needed_go_and_the_higher_one_stays(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n2", 1, 40960);
    api_pod(harness, "p2", "gpu 1, mem 15000", .priority = 10);
    api_pod(harness, "p3", "gpu 1, mem 15000", .priority = 10);
    api_pod(harness, "p4", "gpu 1, mem 8000", .priority = 20);
    place(harness, "p2", "n2");
    place(harness, "p3", "n2");
    place(harness, "p4", "n2");
    api_pod(harness, "d", "gpu 1, mem 25000", .priority = 500);
    ask_preempt(harness, "d", "n2: p4 p2 p3");
    expect_victims(harness, "n2", "p2 p3");
    ask_preempt(harness, "d", "n2: p4");
    expect_victims(harness, "n2", "p2 p3");
    ask_preempt(harness, "d", "n2:");
    expect_victims(harness, "n2", "p2 p3");
}

static void test_f43__devices_are_held_against_lower_priority_and_not_against_higher(void **state)
{
    (void)state;
    for (unsigned form = 0; form < 2; form++) {
        AUTO(harness_free) struct harness *harness = f43_nominated();

        harness->sends_nodes = form == 1;
        expect_held(harness, "b", "n1");
        expect_kept(harness, "b", "n2", "n2");
        expect_kept(harness, "c", "n1", "n1");
    }
}

static void test_f43__bind_honours_the_hold_as_well(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_nominated();

    (void)state;
    assert_contains(ask_bind(harness, "b", "n1"), "nominated pod");
    assert_false(holds(harness, "b"));
    place(harness, "c", "n1");
}

static void test_f43__equal_priority_is_held_off_too(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_nominated();

    (void)state;
    api_pod(harness, "equal", "gpu 1", .priority = 500);
    expect_held(harness, "equal", "n1");
}

static void
test_f43__the_nominated_pod_itself_is_refused_only_until_its_victim_is_gone(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_nominated();

    (void)state;
    assert_contains(expect_refused(harness, "a", "n1"), "not enough free GPU memory");
    api_delete_pod(harness, "p1");
    expect_held(harness, "b", "n1"); /* still, until a is bound */
    place(harness, "a", "n1");
    assert_int_equal(devices_of(harness, "a"), 3);
    assert_contains(expect_refused(harness, "b", "n1"), "not enough free GPU memory");
}

static void test_f43__the_hold_ends_when_the_pod_is_deleted(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_nominated();

    (void)state;
    api_delete_pod(harness, "a");
    expect_kept(harness, "b", "n1", "n1");
}

static void test_f43__the_hold_ends_when_the_pod_is_being_deleted_or_finished(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_nominated();

    (void)state;
    api_set_phase(harness, "a", "Failed");
    expect_kept(harness, "b", "n1", "n1");
    api_set_phase(harness, "a", "Pending");
    expect_held(harness, "b", "n1");
    api_set_deleting(harness, "a");
    expect_kept(harness, "b", "n1", "n1");
}

static void test_f43__the_hold_goes_with_the_nomination(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_nominated();

    (void)state;
    api_set_nominated(harness, "a", "n2");
    expect_kept(harness, "b", "n1", "n1");
    expect_held(harness, "b", "n2");
    api_set_nominated(harness, "a", NULL);
    expect_kept(harness, "b", "n1 n2", "n1 n2");
}

static void test_f43__the_hold_ends_when_the_pod_is_bound_elsewhere(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_nominated();

    (void)state;
    place(harness, "a", "n2");
    expect_kept(harness, "b", "n1", "n1");
}

static void test_f43__a_booking_takes_the_place_of_the_hold_and_gives_it_back(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_nominated();

    (void)state;
    harness->port = PORT_HOLDS;
    assert_null(ask_bind(harness, "a", "n2"));
    expect_kept(harness, "b", "n1", "n1"); /* booked elsewhere: nothing is held here */
    end_job(harness, BIND_FAILED, "the Binding was refused");
    expect_held(harness, "b", "n1");
}

static void test_f43__a_relist_and_a_restart_keep_the_hold(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_nominated();

    (void)state;
    relist_pods(harness);
    expect_held(harness, "b", "n1");
    harness_restart(harness);
    relist_pods(harness);
    relist_nodes(harness);
    expect_held(harness, "b", "n1");
    assert_true(json_object_size(harness->pods) == 4);
}

static void test_f43__whoever_waited_is_woken_when_the_hold_ends(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_nominated();
    AUTO_FREE char *node = NULL;
    uint64_t before;

    (void)state;
    before = cluster_freed(harness->cluster, NULL);
    expect_held(harness, "b", "n1");
    assert_true(cluster_freed(harness->cluster, NULL) == before);
    api_set_nominated(harness, "a", "n2");
    assert_true(cluster_freed(harness->cluster, &node) > before);
    assert_string_equal(node, "n1");
}

static void test_f43__who_gets_what_was_held_for_it_wakes_nobody(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_nominated();
    uint64_t before;

    (void)state;
    api_delete_pod(harness, "p1");
    before = cluster_freed(harness->cluster, NULL);
    place(harness, "a", "n1");
    assert_true(cluster_freed(harness->cluster, NULL) == before);
}

static void test_f43__what_is_held_is_not_offered_for_preemption_by_lower_pods(void **state)
{
    AUTO(harness_free) struct harness *harness = f43_nominated();

    (void)state;
    api_pod(harness, "mid", "gpu 1", .priority = 100);
    ask_preempt(harness, "mid", "n1: p1");
    expect_victims(harness, "n1", NULL);
    api_pod(harness, "top", "gpu 2", .priority = 1000);
    ask_preempt(harness, "top", "n1: p1");
    expect_victims(harness, "n1", "p1");
}

static void test_f43__two_nominated_pods_of_equal_priority_do_not_lock_each_other_out(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 2, 40960);
    api_pod(harness, "x", "gpu 2", .priority = 500);
    api_pod(harness, "y", "gpu 2", .priority = 500);
    api_set_nominated(harness, "x", "n1");
    api_set_nominated(harness, "y", "n1");
    expect_held(harness, "y", "n1");
    place(harness, "x", "n1");
}

static void test_f43__a_fraction_that_leaves_room_for_the_held_one_passes(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 1, 40960);
    api_pod(harness, "old", "gpu 1, mem 30000", .priority = 10);
    place(harness, "old", "n1");
    api_pod(harness, "a", "gpu 1, mem 25000", .priority = 500);
    api_set_nominated(harness, "a", "n1");
    api_set_deleting(harness, "old");
    api_pod(harness, "small", "gpu 1, mem 10000", .priority = 10);
    api_pod(harness, "big", "gpu 1, mem 16000", .priority = 10);
    expect_kept(harness, "small", "n1", "n1");
    assert_contains(expect_refused(harness, "big", "n1"), "not enough free GPU memory");
    api_delete_pod(harness, "old");
    expect_held(harness, "big", "n1");
    expect_kept(harness, "small", "n1", "n1");
}

static void test_f43__the_linked_pair_is_held_and_the_others_are_free(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 4, 40960, .links = "0-1 2-3");
    api_pod(harness, "keep", "gpu 1", .priority = 900,
            .annotations = {"topofit.io/use-devices", "GPU-n1-2"});
    place(harness, "keep", "n1");
    api_pod(harness, "a", "gpu 2", .priority = 500, .annotations = {"topofit.io/topology", "hard"});
    api_set_nominated(harness, "a", "n1");
    api_pod(harness, "b", "gpu 1", .priority = 10);
    place(harness, "b", "n1");
    assert_int_equal(device_of(harness, "b"), 3);
    place(harness, "a", "n1");
    assert_int_equal(devices_of(harness, "a"), 3);
}

/* --- F44: cannot ever fit versus cannot fit now ---------------------------------------------- */

/* n1 busy, n2 of another model, n3 too small, n4 without devices. */
static void test_f44__nobody_is_evicted_where_the_pod_can_never_fit(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 2, 16384, .product = "Model M");
    api_node(harness, "n2", 2, 16384, .product = "Model X");
    api_node(harness, "n3", 1, 16384, .product = "Model M");
    api_node(harness, "n4", 0, 0);
    api_pod(harness, "busy", "gpu 2");
    place(harness, "busy", "n1");
    api_pod(harness, "other", "gpu 1");
    place(harness, "other", "n3");
    api_pod(harness, "x", "gpu 1");
    place(harness, "x", "n2");
    api_pod(harness, "cpu", "none", .node = "n4");
    api_pod(harness, "a", "gpu 2", .priority = 100,
            .annotations = {"topofit.io/use-products", "M"});
    for (unsigned form = 0; form < 2; form++) {
        harness->sends_nodes = form == 1;
        ask_preempt(harness, "a", "n1: busy; n2: x; n3: other; n4: cpu");
        expect_victims(harness, "n1", "busy");
        expect_victims(harness, "n2", NULL);
        expect_victims(harness, "n3", NULL);
        expect_victims(harness, "n4", NULL);
    }
}

static void test_f44__what_preempt_passes_filter_keeps_afterwards(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 2, 16384, .product = "Model M");
    api_pod(harness, "busy", "gpu 2");
    place(harness, "busy", "n1");
    api_pod(harness, "a", "gpu 2", .priority = 100,
            .annotations = {"topofit.io/use-products", "M"});
    assert_true(is_failed((expect_refused(harness, "a", "n1"), harness), "n1"));
    ask_preempt(harness, "a", "n1: busy");
    expect_victims(harness, "n1", "busy");
    api_set_nominated(harness, "a", "n1");
    api_delete_pod(harness, "busy");
    place(harness, "a", "n1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f43__one_free_and_one_freed_device_make_two),
        cmocka_unit_test(test_f43__all_fractions_that_are_needed_go_and_the_higher_one_stays),
        cmocka_unit_test(test_f43__devices_are_held_against_lower_priority_and_not_against_higher),
        cmocka_unit_test(test_f43__bind_honours_the_hold_as_well),
        cmocka_unit_test(test_f43__equal_priority_is_held_off_too),
        cmocka_unit_test(
            test_f43__the_nominated_pod_itself_is_refused_only_until_its_victim_is_gone),
        cmocka_unit_test(test_f43__the_hold_ends_when_the_pod_is_deleted),
        cmocka_unit_test(test_f43__the_hold_ends_when_the_pod_is_being_deleted_or_finished),
        cmocka_unit_test(test_f43__the_hold_goes_with_the_nomination),
        cmocka_unit_test(test_f43__the_hold_ends_when_the_pod_is_bound_elsewhere),
        cmocka_unit_test(test_f43__a_booking_takes_the_place_of_the_hold_and_gives_it_back),
        cmocka_unit_test(test_f43__a_relist_and_a_restart_keep_the_hold),
        cmocka_unit_test(test_f43__whoever_waited_is_woken_when_the_hold_ends),
        cmocka_unit_test(test_f43__who_gets_what_was_held_for_it_wakes_nobody),
        cmocka_unit_test(test_f43__what_is_held_is_not_offered_for_preemption_by_lower_pods),
        cmocka_unit_test(test_f43__two_nominated_pods_of_equal_priority_do_not_lock_each_other_out),
        cmocka_unit_test(test_f43__a_fraction_that_leaves_room_for_the_held_one_passes),
        cmocka_unit_test(test_f43__the_linked_pair_is_held_and_the_others_are_free),
        cmocka_unit_test(test_f44__nobody_is_evicted_where_the_pod_can_never_fit),
        cmocka_unit_test(test_f44__what_preempt_passes_filter_keeps_afterwards),
    };

    return cmocka_run_group_tests_name("field_cases_preemption", tests, NULL, NULL);
}
