/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that were written in vain: each is taken away, whatever was written after it. */
#include "support/lock_story.h"

#define BINDER_SETTLED_MS 120000u /* by then an unclear Binding is found out about */
#define DSMLU_LOCK "2025-08-06T05:51:42Z"
#define LATER_DSMLU_LOCK "2025-08-06T05:51:48Z" /* by the deadline of a job */

/* The lock of p1 is on n1, and its Binding is sent. */
static struct lock_story *story_with_binding(struct job_end **end)
{
    struct lock_story *story = lock_story_new();

    show_node(story, "n1", 100, NULL);
    *end = want_bind(story, "p1", "n1");
    expect_sent(story, "PATCH", "n1");
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
    return story;
}

static void expect_released(struct lock_story *story, const char *key)
{
    AUTO_FREE char *body = xasprintf("{\"%s\":null}", key);

    assert_true(wait_sent(story, 5000));
    assert_string_equal(story->sent.method, "PATCH");
    assert_contains(story->sent.body, body);
}

static void test_waste__of_two_kinds_is_taken_away_both(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_binding(&end);

    (void)state;
    want_bind_with(story, "p2", "n1", NODE_LOCK_BARE);
    reply_refusal(story, 403);
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, DSMLU_KEY);
    reply_node_locks(story, "n1", 102, LOCK_OF("p1"), DSMLU_LOCK);
    expect_sent(story, "POST", "p2");
    reply_refusal(story, 403);
    expect_released(story, LOCK_KEY);
    reply_node_locks(story, "n1", 103, NULL, DSMLU_LOCK);
    assert_false(lock_keeper_is_idle(story->keeper));
    expect_released(story, DSMLU_KEY);
    reply_node(story, "n1", 104, NULL);
    assert_true(lock_keeper_is_idle(story->keeper));
    assert_int_equal(lock_keeper_lanes(story->keeper), 0);
}

static void test_waste__outlives_a_lock_in_its_place_that_was_never_written(void **state)
{
    struct job_end *end;
    AUTO(lock_story_free) struct lock_story *story = story_with_binding(&end);

    (void)state;
    reply_refusal(story, 403);
    want_bind(story, "p2", "n1");
    expect_sent(story, "PATCH", "n1");
    story->now_ms += DEADLINE_MS;
    assert_false(next_sent(story)); /* p2 gives up */
    lose_answer(story);
    show_node(story, "n1", 102, LOCK_OF("p1"));
    expect_released(story, LOCK_KEY);
}

static void test_waste__of_each_of_two_lost_writes_is_known(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_node(story, "n1", 100, NULL);
    for (unsigned i = 0; i < 2; i++) {
        want_bind(story, i == 0 ? "p1" : "p2", "n1");
        assert_true(wait_sent(story, 1000));
        story->now_ms += DEADLINE_MS;
        assert_false(next_sent(story));
        lose_answer(story);
    }
    show_node(story, "n1", 101, LOCK_OF("p1")); /* it was the first that was executed */
    expect_released(story, LOCK_KEY);
}

static void find_out(struct lock_story *story, const struct job_end *end)
{
    while (end->settled == 0) {
        assert_true(wait_sent(story, BINDER_SETTLED_MS));
        assert_string_equal(story->sent.method, "GET");
        reply_pod(story, "p1", "", "");
    }
}

static void test_lock_of_an_unclear_binding__is_not_forgotten_for_one_of_another_kind(void **state)
{
    struct job_end *end, *second;
    AUTO(lock_story_free) struct lock_story *story = story_with_binding(&end);

    (void)state;
    lose_answer(story);
    while (end->done == 0) {
        if (wait_sent(story, DEADLINE_MS))
            lose_answer(story);
    }
    assert_int_equal(end->outcome, BIND_UNCLEAR);
    second = want_bind_with(story, "p2", "n1", NODE_LOCK_BARE);
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, LATER_DSMLU_LOCK);
    reply_node_locks(story, "n1", 102, LOCK_OF("p1"), LATER_DSMLU_LOCK);
    expect_sent(story, "POST", "p2");
    reply_with(story, 201, "");
    assert_int_equal(second->outcome, BIND_BOUND);
    find_out(story, end);
    assert_int_equal(end->settled_outcome, BIND_FAILED);
    expect_released(story, LOCK_KEY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waste__of_two_kinds_is_taken_away_both),
        cmocka_unit_test(test_waste__outlives_a_lock_in_its_place_that_was_never_written),
        cmocka_unit_test(test_waste__of_each_of_two_lost_writes_is_known),
        cmocka_unit_test(test_lock_of_an_unclear_binding__is_not_forgotten_for_one_of_another_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
