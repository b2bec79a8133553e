/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of others, and of a topofit before us: honoured as long as they mean something. */
#include "support/lock_story.h"

#define OLD_LOCK "2025-08-06T13:00:00+08:00,default,holder" /* as Go writes it */

/* A lock that is there, and a job that waits for it. */
static struct lock_story *locked_story(const char *lock, struct job_end **end)
{
    struct lock_story *story = lock_story_new();

    show_node(story, "n1", 100, lock);
    *end = want_bind(story, "p1", "n1");
    assert_false(next_sent(story));
    return story;
}

static void expect_replaced(struct lock_story *story)
{
    expect_sent(story, "PATCH", "/api/v1/nodes/n1");
    assert_contains(story->sent.body, "\"resourceVersion\":\"100\"");
    assert_contains(story->sent.body, ",default,p1\"");
}

static void tell_ended(struct lock_story *story, bool by_watch)
{
    if (by_watch)
        show_pod_gone(story, "holder"); /* the watch shows the end of a pod as its end */
    else
        reply_with(story, 200,
                   "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"holder\","
                   "\"namespace\":\"default\",\"uid\":\"u\",\"resourceVersion\":\"7\"},"
                   "\"spec\":{\"containers\":[],\"nodeName\":\"n1\"},"
                   "\"status\":{\"phase\":\"Failed\"}}");
}

static void tell_gone(struct lock_story *story, bool by_watch)
{
    if (by_watch)
        show_pod_gone(story, "holder");
    else
        reply_refusal(story, 404);
}

static void tell_elsewhere(struct lock_story *story, bool by_watch)
{
    (by_watch ? show_pod : reply_pod)(story, "holder", "n7", "allocating");
}

static void tell_served(struct lock_story *story, bool by_watch)
{
    (by_watch ? show_pod : reply_pod)(story, "holder", "n1", "success");
}

static void tell_not_served(struct lock_story *story, bool by_watch)
{
    (by_watch ? show_pod : reply_pod)(story, "holder", "n1", "failed");
}

static void test_stale_lock__is_recognised_by_its_pod_in_seconds(void **state)
{
    static const struct {
        void (*tell)(struct lock_story *story, bool by_watch);
        enum lock_end end;
    } cases[] = {
        {tell_gone, LOCK_END_GONE},           {tell_ended, LOCK_END_ENDED},
        {tell_served, LOCK_END_SERVED},       {tell_not_served, LOCK_END_SERVED},
        {tell_elsewhere, LOCK_END_ELSEWHERE},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_end *end;
        AUTO(lock_story_free) struct lock_story *story = locked_story(OLD_LOCK, &end);

        show_pod(story, "holder", "n1", "allocating");
        assert_false(wait_sent(story, 1000));
        cases[i].tell(story, true);
        assert_true(wait_sent(story, LOCK_OVER_MS + 500));
        assert_string_equal(story->sent.method, "GET");
        assert_contains(story->sent.path, "/api/v1/namespaces/default/pods/holder");
        cases[i].tell(story, false);
        expect_replaced(story);
        assert_int_equal(lock_keeper_counters(story->keeper)->broken[cases[i].end], 1);
        assert_contains(lock_keeper_last_broken(story->keeper), "n1");
    }
}

static void test_stale_lock__gives_the_plugin_a_while_to_take_it_away(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = locked_story(OLD_LOCK, &end);

    (void)state;
    show_pod(story, "holder", "n1", "success");
    assert_false(wait_sent(story, LOCK_OVER_MS - 100));
    show_node(story, "n1", 101, NULL);
    expect_sent(story, "PATCH", "n1");
    assert_int_equal(lock_keeper_counters(story->keeper)->looks, 0);
}

static void test_holder__that_is_not_bound_may_be_about_to_be(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = locked_story(OLD_LOCK, &end);
    const struct job_end *later;

    (void)state;
    show_pod(story, "holder", "", "allocating");
    assert_false(wait_sent(story, DEADLINE_MS));
    assert_int_equal(end->done, 1);
    story->now_ms = T0 + LOCK_UNBOUND_MS - 1000;
    later = want_bind(story, "p1", "n1");
    assert_true(wait_sent(story, 1500));
    assert_string_equal(story->sent.method, "GET");
    reply_pod(story, "holder", "", "allocating");
    expect_replaced(story);
    assert_int_equal(later->done, 0);
    assert_int_equal(lock_keeper_counters(story->keeper)->broken[LOCK_END_UNBOUND], 1);
}

static void
test_holder__left_behind_by_a_topofit_that_was_killed_is_seen_through_at_once(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    /* It was killed between lock and Binding; this one watched, and leads now. */
    show_node(story, "n1", 100, OLD_LOCK);
    show_pod(story, "holder", "", "");
    assert_false(next_sent(story));
    story->now_ms += 15000; /* the lease */
    want_bind(story, "p1", "n1");
    expect_sent(story, "GET", "holder");
    reply_pod(story, "holder", "", "");
    expect_replaced(story);
}

static void test_holder__of_the_same_name_gets_a_while_to_have_its_lock_taken_away(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_node(story, "n1", 100, "2025-08-06T05:00:00Z,default,p1");
    show_pod(story, "p1", "", "");
    want_bind(story, "p1", "n1");
    assert_false(wait_sent(story, LOCK_OVER_MS - 1));
    assert_true(wait_sent(story, 300));
    assert_string_equal(story->sent.method, "PATCH");
    assert_contains(story->sent.body, "\"resourceVersion\":\"100\"");
    assert_int_equal(lock_keeper_counters(story->keeper)->looks, 0);
}

static void test_holder__that_does_well_after_all_keeps_its_lock(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = locked_story(OLD_LOCK, &end);
    unsigned looks = 0;

    (void)state;
    /* The watch of the pods is behind: the API server knows the pod, the watch does not. */
    while (end->done == 0) {
        wait_sent(story, DEADLINE_MS);
        if (end->done > 0)
            break;
        assert_string_equal(story->sent.method, "GET");
        reply_pod(story, "holder", "n1", "allocating");
        looks++;
    }
    assert_in_range(looks, 1, 3);
    assert_contains(end->text, "node n1 is locked for pod default/holder");
}

static void test_look__in_vain_does_not_hold_up_who_waits(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = locked_story(OLD_LOCK, &end);

    (void)state;
    assert_true(wait_sent(story, LOCK_OVER_MS + 500));
    reply_pod(story, "holder", "n1", "allocating");
    show_node(story, "n1", 101, NULL);
    expect_sent(story, "PATCH", "n1");
}

static void test_look__at_a_pod_that_the_watch_does_not_know_yet_is_made_now_and_then(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = locked_story(OLD_LOCK, &end);
    unsigned looks = 0;

    (void)state;
    while (end->done == 0 && wait_sent(story, DEADLINE_MS)) {
        assert_string_equal(story->sent.method, "GET");
        reply_pod(story, "holder", "", "allocating");
        looks++;
    }
    assert_in_range(looks, 1, 3);
}

static void test_look__says_nothing_of_a_lock_that_came_meanwhile(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = locked_story(OLD_LOCK, &end);

    (void)state;
    assert_true(wait_sent(story, LOCK_OVER_MS + 500));
    assert_string_equal(story->sent.method, "GET");
    show_pod(story, "p9", "n1", "allocating");
    show_node(story, "n1", 101, LOCK_OF("p9"));
    reply_refusal(story, 404); /* of the holder before */
    assert_false(wait_sent(story, 2000));
}

static void test_look__that_fails_is_made_again(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = locked_story(OLD_LOCK, &end);

    (void)state;
    assert_true(wait_sent(story, LOCK_OVER_MS + 500));
    lose_answer(story);
    assert_true(wait_sent(story, 1500));
    assert_string_equal(story->sent.method, "GET");
    reply_refusal(story, 500);
    assert_true(wait_sent(story, 1500));
    assert_string_equal(story->sent.method, "GET");
}

static void test_lock__that_names_nobody_is_honoured_until_it_is_old(void **state)
{
    static const char *const locks[] = {
        "2025-08-06T05:00:00Z", /* as HAMi wrote it once */
        "1999-01-01T00:00:00Z", /* its own age says nothing: clocks differ */
        "nonsense",
        "a,b,c,d",
        "2025-08-06T05:00:00Z,default,",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(locks); i++) {
        struct job_end *end;
        AUTO(lock_story_free) struct lock_story *story = locked_story(locks[i], &end);

        assert_false(wait_sent(story, DEADLINE_MS));
        assert_contains(end->text, "locked for nobody by name");
        story->now_ms = T0 + LOCK_TIMEOUT_MS - 1000;
        want_bind(story, "p1", "n1");
        assert_false(next_sent(story));
        story->now_ms = T0 + LOCK_TIMEOUT_MS;
        expect_replaced(story);
        assert_int_equal(lock_keeper_counters(story->keeper)->broken[LOCK_END_AGED], 1);
    }
}

static void test_age__counts_anew_for_every_lock(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_pod(story, "holder", "n1", "allocating");
    show_pod(story, "p9", "n1", "allocating");
    show_node(story, "n1", 99, OLD_LOCK);
    assert_false(next_sent(story));
    story->now_ms += LOCK_TIMEOUT_MS - 1;
    show_node(story, "n1", 100, LOCK_OF("p9"));
    assert_false(next_sent(story));
    story->now_ms += 1000;
    want_bind(story, "p1", "n1");
    assert_false(next_sent(story));
}

static void test_binding_that_nobody_looks_after__keeps_its_lock_while_it_may_be_late(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();
    const struct job_end *end, *again;

    (void)state;
    show_node(story, "n1", 99, NULL);
    show_pod(story, "holder", "", "");
    end = want_bind(story, "holder", "n1");
    expect_sent(story, "PATCH", "n1");
    reply_node(story, "n1", 100, LOCK_OF("holder"));
    expect_sent(story, "POST", "holder");
    lose_answer(story);
    while (end->done == 0) {
        if (wait_sent(story, DEADLINE_MS))
            lose_answer(story);
    }
    assert_int_equal(end->outcome, BIND_UNCLEAR);
    /* The same pod is to be bound again: from now on that job answers for both. */
    again = want_bind(story, "holder", "n1");
    assert_true(wait_sent(story, 100));
    if (strcmp(story->sent.method, "GET") == 0) {
        lose_answer(story);
        assert_true(wait_sent(story, 2000));
    }
    assert_string_equal(story->sent.method, "PATCH");
    reply_refusal(story, 409);
    assert_int_equal(again->done, 0);
    assert_int_equal(lock_keeper_counters(story->keeper)->released, 0);
}

static void test_nobody_waits__for_a_lock_that_means_nothing_and_it_is_taken_away(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_node(story, "n1", 100, OLD_LOCK);
    assert_false(wait_sent(story, LOCK_IDLE_MS - 1));
    assert_true(wait_sent(story, LOCK_OVER_MS + 6000));
    assert_string_equal(story->sent.method, "GET");
    reply_refusal(story, 404);
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, "\"resourceVersion\":\"100\"");
    assert_contains(story->sent.body, "null");
    reply_node(story, "n1", 101, NULL);
    assert_false(wait_sent(story, 600000));
    assert_int_equal(lock_keeper_lanes(story->keeper), 0);
}

static void test_nobody_waits__for_a_lock_in_use_and_it_stays(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_pod(story, "holder", "n1", "allocating");
    show_node(story, "n1", 100, OLD_LOCK);
    assert_false(wait_sent(story, LOCK_TIMEOUT_MS - 1));
}

static void test_nobody_waits__and_who_does_not_lead_touches_nothing(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    lock_keeper_permit(story->keeper, 0);
    show_node(story, "n1", 100, OLD_LOCK);
    assert_false(wait_sent(story, 2 * LOCK_TIMEOUT_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stale_lock__is_recognised_by_its_pod_in_seconds),
        cmocka_unit_test(test_stale_lock__gives_the_plugin_a_while_to_take_it_away),
        cmocka_unit_test(test_holder__that_is_not_bound_may_be_about_to_be),
        cmocka_unit_test(
            test_holder__left_behind_by_a_topofit_that_was_killed_is_seen_through_at_once),
        cmocka_unit_test(test_holder__of_the_same_name_gets_a_while_to_have_its_lock_taken_away),
        cmocka_unit_test(test_holder__that_does_well_after_all_keeps_its_lock),
        cmocka_unit_test(test_look__in_vain_does_not_hold_up_who_waits),
        cmocka_unit_test(test_look__at_a_pod_that_the_watch_does_not_know_yet_is_made_now_and_then),
        cmocka_unit_test(test_look__says_nothing_of_a_lock_that_came_meanwhile),
        cmocka_unit_test(test_look__that_fails_is_made_again),
        cmocka_unit_test(test_lock__that_names_nobody_is_honoured_until_it_is_old),
        cmocka_unit_test(test_age__counts_anew_for_every_lock),
        cmocka_unit_test(test_binding_that_nobody_looks_after__keeps_its_lock_while_it_may_be_late),
        cmocka_unit_test(test_nobody_waits__for_a_lock_that_means_nothing_and_it_is_taken_away),
        cmocka_unit_test(test_nobody_waits__for_a_lock_in_use_and_it_stays),
        cmocka_unit_test(test_nobody_waits__and_who_does_not_lead_touches_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
