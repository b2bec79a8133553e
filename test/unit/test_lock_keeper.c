/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one lock and of the queue behind it. Failures and stale locks are tested apart. */
#include "support/lock_story.h"

static void test_lock__is_written_on_the_version_shown_before_the_binding_is_sent(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();
    const struct job_end *end;

    (void)state;
    show_node(story, "n1", 100, NULL);
    end = want_bind(story, "p1", "n1");
    expect_sent(story, "PATCH", "/api/v1/nodes/n1?timeout=3000ms");
    assert_string_equal(story->sent.body,
                        "{\"metadata\":{\"resourceVersion\":\"100\",\"annotations\":"
                        "{\"hami.io/mutex.lock\":\"" LOCK_OF("p1") "\"}}}");
    assert_false(next_sent(story));
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "/api/v1/namespaces/default/pods/p1/binding");
    assert_contains(story->sent.body, "\"hami.io/bind-phase\":\"allocating\"");
    assert_contains(story->sent.body, "\"hami.io/bind-time\":\"1754459502\"");
    assert_int_equal(end->done, 0);
    reply_with(story, 201, "");
    assert_int_equal(end->done, 1);
    assert_int_equal(end->outcome, BIND_BOUND);
}

static void test_lock__costs_one_patch_a_pod_and_no_look(void **state)
{
    static const char *const pods[] = {"p1", "p2", "p3", "p4"};
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();
    unsigned version = 100;

    (void)state;
    show_node(story, "n1", version, NULL);
    for (size_t i = 0; i < ARRAY_LEN(pods); i++)
        want_bind(story, pods[i], "n1");
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        AUTO_FREE char *lock = xasprintf("2025-08-06T05:51:42Z,default,%s", pods[i]);

        lock_and_bind(story, pods[i], "n1", ++version);
        show_node(story, "n1", version, lock);   /* our own write, as the watch tells it */
        show_node(story, "n1", ++version, NULL); /* the plugin is done */
    }
    assert_false(next_sent(story));
    assert_int_equal(story->requests, 2 * ARRAY_LEN(pods));
    assert_int_equal(lock_keeper_counters(story->keeper)->taken, ARRAY_LEN(pods));
}

static void test_queue__waits_until_the_plugin_has_taken_the_lock_away(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_node(story, "n1", 100, NULL);
    want_bind(story, "p1", "n1");
    want_bind(story, "p2", "n1");
    lock_and_bind(story, "p1", "n1", 101);
    show_pod(story, "p1", "n1", "allocating");
    assert_false(wait_sent(story, 3000));
    show_node(story, "n1", 102, LOCK_OF("p1")); /* a heartbeat */
    assert_false(next_sent(story));
    show_node(story, "n1", 103, NULL);
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, "\"resourceVersion\":\"103\"");
    assert_contains(story->sent.body, ",default,p2\"");
}

static void test_queue__waits_for_the_binding_of_the_one_before(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_node(story, "n1", 100, NULL);
    want_bind(story, "p1", "n1");
    want_bind(story, "p2", "n1");
    expect_sent(story, "PATCH", "n1");
    reply_node(story, "n1", 101, LOCK_OF("p1"));
    expect_sent(story, "POST", "p1");
    show_node(story, "n1", 102, NULL); /* the plugin was faster than the answer */
    assert_false(next_sent(story));
    reply_with(story, 201, "");
    expect_sent(story, "PATCH", "n1");
}

static void test_queue__of_one_node_does_not_hold_up_another(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_node(story, "n1", 100, "2025-08-06T05:00:00Z,default,other");
    show_pod(story, "other", "n1", "allocating");
    show_node(story, "n2", 90, NULL);
    want_bind(story, "p1", "n1");
    want_bind(story, "p2", "n2");
    lock_and_bind(story, "p2", "n2", 91);
    assert_false(next_sent(story));
}

static void test_queue__keeps_the_order_of_submission(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_node(story, "n1", 100, NULL);
    want_bind(story, "p2", "n1");
    want_bind(story, "p1", "n1");
    lock_and_bind(story, "p2", "n1", 101);
    show_node(story, "n1", 102, NULL);
    lock_and_bind(story, "p1", "n1", 103);
}

static void test_queue__tells_whom_it_waited_for_when_the_time_is_up(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();
    const struct job_end *end;

    (void)state;
    show_node(story, "n1", 100, "2025-08-06T05:00:00Z,team-a,train-7");
    show_pod(story, "p9", "n1", "allocating");
    end = want_bind(story, "p1", "n1");
    wait_sent(story, DEADLINE_MS);
    while (end->done == 0) {
        reply_refusal(story, 500);
        wait_sent(story, DEADLINE_MS);
    }
    assert_int_equal(end->outcome, BIND_FAILED);
    assert_contains(end->text, "node n1 is locked for pod team-a/train-7");
    assert_contains(end->text, "waited 6000 ms");
}

static void test_queue__names_the_pod_that_is_being_bound(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();
    const struct job_end *end;

    (void)state;
    show_node(story, "n1", 100, NULL);
    want_bind(story, "p1", "n1");
    end = want_bind(story, "p2", "n1");
    expect_sent(story, "PATCH", "n1");
    story->now_ms += DEADLINE_MS;
    next_sent(story);
    assert_int_equal(end->done, 1);
    assert_contains(end->text, "n1");
}

static void test_dsmlu__has_its_own_key_and_names_nobody(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_node(story, "n1", 100, NULL);
    want_bind_with(story, "p1", "n1", NODE_LOCK_BARE);
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, "{\"cambricon.com/dsmlu.lock\":\"2025-08-06T05:51:42Z\"}");
}

static void test_versions__survive_a_list(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_node(story, "n1", 100, "2025-08-06T05:00:00Z,default,other");
    show_pod(story, "other", "n1", "allocating");
    want_bind(story, "p1", "n1");
    show_list(story, "n1", 120, NULL);
    expect_sent(story, "PATCH", "n1");
    assert_contains(story->sent.body, "\"resourceVersion\":\"120\"");
}

static void test_age__of_a_lock_goes_on_over_a_list(void **state)
{
    static const char lock[] = "2025-08-06T05:00:00Z,default,other";
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_pod(story, "other", "n1", "allocating");
    show_node(story, "n1", 100, lock);
    assert_false(next_sent(story));
    story->now_ms += LOCK_TIMEOUT_MS - 1000;
    show_list(story, "n1", 120, lock);
    want_bind(story, "p1", "n1");
    assert_false(next_sent(story));
    story->now_ms += 1000;
    expect_sent(story, "PATCH", "n1");
}

static void test_memory__is_given_back_with_the_lock(void **state)
{
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    show_list(story, "n1", 100, NULL);
    assert_int_equal(lock_keeper_lanes(story->keeper), 0);
    want_bind(story, "p1", "n1");
    lock_and_bind(story, "p1", "n1", 101);
    assert_int_equal(lock_keeper_lanes(story->keeper), 1);
    show_node(story, "n1", 102, NULL);
    assert_int_equal(lock_keeper_lanes(story->keeper), 0);
    assert_true(lock_keeper_is_idle(story->keeper));
}

static void never(void *ctx, enum bind_outcome outcome, const char *text)
{
    (void)ctx, (void)outcome;
    fail_msg("%s", text);
}

static void test_submit__refuses_what_cannot_be_a_pod_or_a_node(void **state)
{
    static const struct {
        const char *namespace, *name, *node;
    } cases[] = {{"", "p", "n"}, {"d", "a/b", "n"}, {"d", "p,q", "n"}, {"d", "p", "n n"}};
    AUTO(lock_story_free) struct lock_story *story = lock_story_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct bind_job *job = bind_job_new(cases[i].namespace, cases[i].name, "u", cases[i].node);
        struct error err = {0};

        job->lock = NODE_LOCK_NAMED;
        job->done = never;
        assert_int_equal(lock_keeper_submit(story->keeper, job, T0, &err), -ERR_INVALID);
        bind_job_free(job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lock__is_written_on_the_version_shown_before_the_binding_is_sent),
        cmocka_unit_test(test_lock__costs_one_patch_a_pod_and_no_look),
        cmocka_unit_test(test_queue__waits_until_the_plugin_has_taken_the_lock_away),
        cmocka_unit_test(test_queue__waits_for_the_binding_of_the_one_before),
        cmocka_unit_test(test_queue__of_one_node_does_not_hold_up_another),
        cmocka_unit_test(test_queue__keeps_the_order_of_submission),
        cmocka_unit_test(test_queue__tells_whom_it_waited_for_when_the_time_is_up),
        cmocka_unit_test(test_queue__names_the_pod_that_is_being_bound),
        cmocka_unit_test(test_dsmlu__has_its_own_key_and_names_nobody),
        cmocka_unit_test(test_versions__survive_a_list),
        cmocka_unit_test(test_age__of_a_lock_goes_on_over_a_list),
        cmocka_unit_test(test_memory__is_given_back_with_the_lock),
        cmocka_unit_test(test_submit__refuses_what_cannot_be_a_pod_or_a_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
