/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong with a lock of ours: conflicts, lost answers, refused Bindings, a lost lead. */
#include "support/lock_story.h"

#define BINDER_SETTLED_MS 120000u /* by then an unclear Binding is found out about */

static struct lock_story *story_with_job(struct job_end **end)
{
    struct lock_story *story = lock_story_new();

    show_node(story, "n1", 100, NULL);
    *end = want_bind(story, "p1", "n1");
    expect_sent(story, "PATCH", "n1");
    return story;
}

static void test_conflict__waits_until_the_watch_shows_the_newer_version(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    reply_refusal(story, 409);
    assert_false(wait_sent(story, 2000));
    show_node(story, "n1", 105, NULL);
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, "\"resourceVersion\":\"105\"");
    assert_int_equal(lock_keeper_counters(story->keeper)->conflicts, 1);
    assert_int_equal(lock_keeper_counters(story->keeper)->errors, 0);
}

static void test_conflict__is_answered_at_once_when_the_watch_was_faster(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    show_node(story, "n1", 105, NULL);
    reply_refusal(story, 409);
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, "\"resourceVersion\":\"105\"");
}

static void test_conflict__with_a_lock_of_another_scheduler_waits_for_it(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    reply_refusal(story, 409);
    show_pod(story, "p9", "n1", "allocating");
    show_node(story, "n1", 105, LOCK_OF("p9"));
    assert_false(wait_sent(story, 3000));
    show_node(story, "n1", 106, NULL);
    expect_sent(story, "PATCH", "n1");
}

static void test_lost_answer__is_asked_for_with_the_same_lock_on_the_same_version(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);
    char first[sizeof story->sent.body];

    (void)state;
    snprintf(first, sizeof first, "%s", story->sent.body);
    lose_answer(story);
    story->now_ms += 1500; /* the lock's time would be another one */
    expect_sent(story, "PATCH", "n1");
    assert_string_equal(story->sent.body, first);
}

static void test_lost_answer__is_found_out_by_the_watch(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    lose_answer(story);
    show_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
}

static void test_late_answer__holds_nobody_up(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);
    const struct sent_request patch = story->sent;

    (void)state;
    want_bind(story, "p2", "n1");
    show_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
    reply_with(story, 201, "");
    show_node(story, "n1", 102, NULL);
    assert_false(next_sent(story));
    story->sent = patch;
    reply_node(story, "n1", 101, LOCK_OF("p1")); /* how it was before */
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, "\"resourceVersion\":\"102\"");
}

static void test_lock__is_not_taken_when_no_time_is_left_for_the_binding(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();
    const struct job_end *end;

    (void)state;
    show_node(story, "n1", 100, "2025-08-06T05:00:00Z,default,holder");
    show_pod(story, "holder", "n1", "allocating");
    end = want_bind(story, "p1", "n1");
    assert_false(wait_sent(story, DEADLINE_MS - 200));
    show_node(story, "n1", 101, NULL);
    assert_false(wait_sent(story, 300));
    assert_int_equal(end->outcome, BIND_FAILED);
}

static void test_lost_answer__and_a_conflict_after_it_may_mean_that_the_lock_is_ours(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    lose_answer(story);
    assert_true(wait_sent(story, 500));
    reply_refusal(story, 409);
    assert_false(next_sent(story));
    show_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
}

static void test_lost_answer__of_a_job_that_gave_up_leaves_no_lock(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    story->now_ms += DEADLINE_MS;
    assert_false(next_sent(story));
    assert_int_equal(end->outcome, BIND_FAILED);
    lose_answer(story);
    assert_false(wait_sent(story, 1000));
    assert_false(lock_keeper_is_idle(story->keeper));
    show_node(story, "n1", 101, LOCK_OF("p1"));
    assert_true(wait_sent(story, 5000));
    assert_string_equal(story->sent.method, "PATCH");
    assert_contains(story->sent.body, "\"resourceVersion\":\"101\",\"annotations\":"
                                      "{\"hami.io/mutex.lock\":null}");
    reply_node(story, "n1", 102, NULL);
    assert_true(lock_keeper_is_idle(story->keeper));
    assert_int_equal(lock_keeper_lanes(story->keeper), 0);
}

static void test_lost_answer__is_over_when_the_node_goes_on_without_the_lock(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    story->now_ms += DEADLINE_MS;
    next_sent(story);
    lose_answer(story);
    show_node(story, "n1", 103, NULL); /* on which a write for version 100 is refused */
    assert_true(lock_keeper_is_idle(story->keeper));
}

static void test_refused_lock__tells_what_is_missing(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    reply_refusal(story, 403);
    assert_int_equal(end->outcome, BIND_FAILED);
    assert_contains(end->text, "give our account the verb patch on nodes");
    assert_contains(lock_keeper_problem(story->keeper), "verb patch on nodes");
    assert_false(wait_sent(story, 60000));
}

static void test_turned_away__is_tried_again_when_it_was_asked_to(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);
    uint64_t before_ms = story->now_ms;

    (void)state;
    lock_keeper_on_answer(story->keeper, story->sent.id,
                          &(struct api_answer){.status = 429, .retry_after_s = 2, .body = ""},
                          story->now_ms);
    assert_true(wait_sent(story, DEADLINE_MS));
    assert_int_equal(story->now_ms, before_ms + 2000);
}

static void test_node__that_is_gone_fails_all_who_wait_for_it(void **state)
{
    struct job_end *end, *second;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    second = want_bind(story, "p2", "n1");
    reply_refusal(story, 404);
    assert_int_equal(end->outcome, BIND_FAILED);
    assert_int_equal(second->outcome, BIND_FAILED);
    assert_contains(end->text, "there is no node n1");
    assert_false(next_sent(story));
    assert_int_equal(lock_keeper_lanes(story->keeper), 0);
}

static void test_refused_binding__takes_our_lock_away_again(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
    reply_refusal(story, 403);
    assert_int_equal(end->outcome, BIND_FAILED);
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, "\"resourceVersion\":\"101\"");
    assert_contains(story->sent.body, "null");
    reply_node(story, "n1", 102, NULL);
    assert_false(next_sent(story));
    assert_int_equal(lock_keeper_counters(story->keeper)->released, 1);
    assert_int_equal(lock_keeper_lanes(story->keeper), 0);
}

static void test_refused_binding__leaves_the_lock_of_another_alone(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
    show_node(story, "n1", 105, LOCK_OF("p9"));
    reply_refusal(story, 403);
    assert_false(wait_sent(story, 60000));
}

static void test_refused_binding__lets_the_next_replace_its_lock(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    want_bind(story, "p2", "n1");
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
    reply_refusal(story, 403);
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, ",default,p2\"");
    reply_node(story, "n1", 102, LOCK_OF("p2"));
    expect_sent(story, "POST", "p2");
}

static void test_lock__of_the_same_pod_in_the_same_second_is_another_one(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
    reply_refusal(story, 403);
    want_bind(story, "p1", "n1");
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, "2025-08-06T05:51:43Z,default,p1\"");
}

static void test_release__goes_on_after_a_conflict(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
    reply_refusal(story, 403);
    expect_sent(story, "PATCH", "n1");
    reply_refusal(story, 409);
    assert_false(wait_sent(story, 2000));
    show_node(story, "n1", 107, LOCK_OF("p1"));
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, "\"resourceVersion\":\"107\"");
}

static void test_release__leaves_a_lock_that_its_pod_needs_after_all(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
    show_pod(story, "p1", "n1", "allocating"); /* somebody else has bound it there */
    reply_refusal(story, 404);
    assert_int_equal(end->outcome, BIND_FAILED);
    assert_false(wait_sent(story, 60000));
}

static void test_unclear_binding__keeps_its_lock_until_it_is_found_out(void **state)
{
    struct job_end *end, *second;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
    lose_answer(story);
    for (uint64_t end_ms = story->now_ms + DEADLINE_MS; story->now_ms < end_ms;) {
        if (!wait_sent(story, end_ms - story->now_ms))
            break;
        assert_string_equal(story->sent.method, "GET");
        lose_answer(story);
    }
    assert_int_equal(end->outcome, BIND_UNCLEAR);
    second = want_bind(story, "p2", "n1");
    while (end->settled == 0) {
        assert_true(wait_sent(story, BINDER_SETTLED_MS));
        assert_string_equal(story->sent.method, "GET");
        reply_pod(story, "p1", "", "");
    }
    assert_int_equal(end->settled_outcome, BIND_FAILED);
    assert_int_equal(second->done, 1);
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, "null");
}

static void test_lead__that_is_lost_ends_who_waits_and_leaves_no_lock(void **state)
{
    struct job_end *end, *second;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    second = want_bind(story, "p2", "n1");
    lock_keeper_permit(story->keeper, 0);
    lock_keeper_permit(story->keeper,
                       UINT64_MAX); /* led again, but who knows what was in between */
    assert_false(next_sent(story));
    assert_int_equal(end->outcome, BIND_FAILED);
    assert_int_equal(second->outcome, BIND_FAILED);
    assert_contains(second->text, "not the leader any more");
    lock_keeper_permit(story->keeper, 0);
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, "null");
}

static void test_lead__that_ends_too_soon_lets_no_lock_be_written(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();
    const struct job_end *end;

    (void)state;
    lock_keeper_permit(story->keeper, T0 + 150);
    show_node(story, "n1", 100, NULL);
    end = want_bind(story, "p1", "n1");
    assert_false(next_sent(story));
    assert_int_equal(end->outcome, BIND_FAILED);
}

static void test_stop__ends_who_waits_and_unlocks(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_job(&end);

    (void)state;
    lock_keeper_stop(story->keeper);
    assert_false(next_sent(story));
    assert_int_equal(end->outcome, BIND_FAILED);
    assert_contains(end->text, "topofit is stopping");
    assert_false(lock_keeper_is_idle(story->keeper));
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "PATCH", "n1");
    reply_node(story, "n1", 102, NULL);
    assert_true(lock_keeper_is_idle(story->keeper));
}

static void test_free__ends_every_job(void **state)
{
    struct lock_story *story = lock_story_new();
    struct job_end *waits, *binds;

    (void)state;
    show_node(story, "n1", 100, NULL);
    show_node(story, "n2", 100, NULL);
    binds = want_bind(story, "p1", "n1");
    expect_sent(story, "PATCH", "n1");
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
    waits = want_bind(story, "p2", "n2");
    expect_sent(story, "PATCH", "n2");
    binder_free(story->binder);
    story->binder = NULL;
    assert_int_equal(binds->outcome, BIND_UNCLEAR);
    assert_int_equal(binds->settled, 1);
    lock_keeper_free(story->keeper);
    story->keeper = NULL;
    assert_int_equal(waits->outcome, BIND_FAILED);
    lock_story_free(&story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conflict__waits_until_the_watch_shows_the_newer_version),
        cmocka_unit_test(test_conflict__is_answered_at_once_when_the_watch_was_faster),
        cmocka_unit_test(test_conflict__with_a_lock_of_another_scheduler_waits_for_it),
        cmocka_unit_test(test_lost_answer__is_asked_for_with_the_same_lock_on_the_same_version),
        cmocka_unit_test(test_lost_answer__is_found_out_by_the_watch),
        cmocka_unit_test(test_late_answer__holds_nobody_up),
        cmocka_unit_test(test_lock__is_not_taken_when_no_time_is_left_for_the_binding),
        cmocka_unit_test(test_lost_answer__and_a_conflict_after_it_may_mean_that_the_lock_is_ours),
        cmocka_unit_test(test_lost_answer__of_a_job_that_gave_up_leaves_no_lock),
        cmocka_unit_test(test_lost_answer__is_over_when_the_node_goes_on_without_the_lock),
        cmocka_unit_test(test_refused_lock__tells_what_is_missing),
        cmocka_unit_test(test_turned_away__is_tried_again_when_it_was_asked_to),
        cmocka_unit_test(test_node__that_is_gone_fails_all_who_wait_for_it),
        cmocka_unit_test(test_refused_binding__takes_our_lock_away_again),
        cmocka_unit_test(test_refused_binding__leaves_the_lock_of_another_alone),
        cmocka_unit_test(test_refused_binding__lets_the_next_replace_its_lock),
        cmocka_unit_test(test_lock__of_the_same_pod_in_the_same_second_is_another_one),
        cmocka_unit_test(test_release__goes_on_after_a_conflict),
        cmocka_unit_test(test_release__leaves_a_lock_that_its_pod_needs_after_all),
        cmocka_unit_test(test_unclear_binding__keeps_its_lock_until_it_is_found_out),
        cmocka_unit_test(test_lead__that_is_lost_ends_who_waits_and_leaves_no_lock),
        cmocka_unit_test(test_lead__that_ends_too_soon_lets_no_lock_be_written),
        cmocka_unit_test(test_stop__ends_who_waits_and_unlocks),
        cmocka_unit_test(test_free__ends_every_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
