/* SPDX-License-Identifier: Apache-2.0 */
/* How a Binding that was unclear at its deadline is found out about. */
#include "support/binder_story.h"

#include "topofit/mem.h"

#include <stdlib.h>

/* A story whose Binding was lost, and whose caller waits no longer. */
static struct bind_story *unclear_story(void)
{
    struct bind_story *story = bind_story_new();

    lose(story, true);
    while (story->done == 0) {
        if (next_request(story))
            lose(story, true);
        story->now_ms += 100;
    }
    assert_int_equal(story->outcome, BIND_UNCLEAR);
    assert_int_equal(binder_settling(story->binder), 1);
    return story;
}

/* A proxy may have sent it twice: the first one was executed, the second one refused. */
static void test_conflict__that_no_look_explains_in_time_is_unclear(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();

    (void)state;
    reply(story, 409, STATUS("409", "Conflict"));
    while (story->done == 0) {
        if (next_request(story))
            reply(story, 503, STATUS("503", "ServiceUnavailable"));
        story->now_ms += 100;
    }
    expect_done(story, BIND_UNCLEAR, "it is not known whether the pod is bound");
}

/* An unbound pod explains it: whatever the conflict was, the Binding was not executed. */
static void test_conflict__that_a_look_explains_leaves_no_doubt(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = bind_story_new();

    (void)state;
    reply(story, 409, STATUS("409", "Conflict"));
    assert_true(next_request(story));
    reply(story, 200, POD("uid-1", "", ""));
    story->now_ms = DEADLINE;
    assert_false(next_request(story));
    expect_done(story, BIND_FAILED, "");
}

/* Let time pass until the pod is looked at. */
static void wait_for_look(struct bind_story *story)
{
    while (!next_request(story))
        story->now_ms += 100;
    assert_false(story->is_post);
    assert_string_equal(story->path, POD_PATH);
}

static void expect_settled(const struct bind_story *story, enum bind_outcome outcome)
{
    assert_int_equal(story->done, 1);
    assert_int_equal(story->settled, 1);
    assert_int_equal(story->settled_outcome, outcome);
    assert_int_equal(binder_settling(story->binder), 0);
}

static void test_settle__finds_out_that_the_pod_was_bound(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = unclear_story();

    (void)state;
    wait_for_look(story);
    reply(story, 200, POD("uid-1", NOTED("ours"), ON("n0")));
    expect_settled(story, BIND_BOUND);
}

static void test_settle__finds_out_that_the_pod_is_gone_or_bound_otherwise(void **state)
{
    static const struct {
        int status;
        const char *body;
    } cases[] = {
        {404, STATUS("404", "NotFound")},
        {200, POD("uid-2", "", "")},
        {200, POD("uid-1", "", ON("n9"))},
        {200, POD("uid-1", NOTED("theirs"), ON("n0"))},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(bind_story_free) struct bind_story *story = unclear_story();

        wait_for_look(story);
        reply(story, cases[i].status, cases[i].body);
        expect_settled(story, BIND_FAILED);
    }
}

static void
test_settle__does_not_take_an_unbound_pod_for_a_no_while_a_binding_may_be_late(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = unclear_story();
    uint64_t late_ms = T0 + BINDER_LATE_MS;

    (void)state;
    while (story->settled == 0) {
        wait_for_look(story);
        reply(story, 200, POD("uid-1", "", ""));
    }
    assert_true(story->now_ms >= late_ms);
    expect_settled(story, BIND_FAILED);
}

static void test_settle__goes_on_while_the_server_does_not_answer(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = unclear_story();

    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        wait_for_look(story);
        lose(story, true);
    }
    assert_int_equal(story->settled, 0);
    wait_for_look(story);
    reply(story, 200, POD("uid-1", NOTED("ours"), ON("n0")));
    expect_settled(story, BIND_BOUND);
}

static void test_settle__is_not_put_off_for_as_long_as_a_server_asks(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = unclear_story();
    struct api_answer day = {.status = 503, .retry_after_s = 4000000000u, .body = ""};
    uint64_t asked_ms;

    (void)state;
    wait_for_look(story);
    asked_ms = story->now_ms;
    binder_on_answer(story->binder, story->request.id, &day, story->now_ms);
    wait_for_look(story);
    assert_true(story->now_ms - asked_ms <= 31000);
}

static void test_settle__is_taken_over_by_a_new_job_for_the_same_pod(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = unclear_story();
    struct bind_story second = {.binder = story->binder};
    struct bind_job *job = job_new(story);
    struct error err = {0};

    (void)state;
    job->ctx = &second;
    job->deadline_ms = story->now_ms + 6000;
    assert_ok(binder_submit(story->binder, job, story->now_ms, &err), &err);
    expect_settled(story, BIND_UNCLEAR);
    assert_true(next_request(story));
    assert_true(story->is_post);
    /* The first Binding did it after all: the doubt came along, so this 404-like no is checked. */
    reply(story, 409, STATUS("409", "Conflict"));
    wait_for_look(story);
    reply(story, 200, POD("uid-1", NOTED("ours"), ON("n0")));
    assert_int_equal(second.done, 1);
    assert_int_equal(second.outcome, BIND_BOUND);
}

static void test_settle__ends_undecided_when_the_binder_stops(void **state)
{
    struct bind_story *story = unclear_story();

    (void)state;
    binder_free(story->binder);
    story->binder = NULL;
    assert_int_equal(story->settled, 1);
    assert_int_equal(story->settled_outcome, BIND_UNCLEAR);
    bind_story_free(&story);
}

/* Neither an answer nor a loss of the Binding has come until the deadline. */
static struct bind_story *story_in_flight_at_deadline(void)
{
    struct bind_story *story = bind_story_new();

    story->now_ms = DEADLINE;
    assert_false(next_request(story));
    assert_int_equal(story->outcome, BIND_UNCLEAR);
    return story;
}

static void test_settle__of_a_binding_in_flight_stays_unclear_at_the_end(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = story_in_flight_at_deadline();

    (void)state;
    binder_free(story->binder);
    story->binder = NULL;
    assert_int_equal(story->settled, 1);
    assert_int_equal(story->settled_outcome, BIND_UNCLEAR);
}

/* The gate may be lifted before the Binding is executed. */
static void test_settle__of_a_binding_in_flight_believes_no_gate(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = story_in_flight_at_deadline();

    (void)state;
    while (!next_request(story))
        story->now_ms = binder_next_due_ms(story->binder);
    reply(story, 200, POD("uid-1", "", ",\"schedulingGates\":[{\"name\":\"x\"}]"));
    assert_int_equal(story->settled, 0);
}

static void test_settle__takes_no_place_of_other_jobs(void **state)
{
    AUTO(bind_story_free) struct bind_story *story = story_in_flight_at_deadline();
    struct error err = {0};

    (void)state;
    for (unsigned i = 0; i < STORY_JOBS_MAX; i++) {
        struct bind_job *job = job_new(story);

        job->deadline_ms = story->now_ms + 6000;
        free(job->uid);
        job->uid = xasprintf("other-%u", i);
        assert_int_equal(binder_submit(story->binder, job, story->now_ms, &err), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conflict__that_no_look_explains_in_time_is_unclear),
        cmocka_unit_test(test_conflict__that_a_look_explains_leaves_no_doubt),
        cmocka_unit_test(test_settle__of_a_binding_in_flight_stays_unclear_at_the_end),
        cmocka_unit_test(test_settle__of_a_binding_in_flight_believes_no_gate),
        cmocka_unit_test(test_settle__takes_no_place_of_other_jobs),
        cmocka_unit_test(test_settle__finds_out_that_the_pod_was_bound),
        cmocka_unit_test(test_settle__finds_out_that_the_pod_is_gone_or_bound_otherwise),
        cmocka_unit_test(
            test_settle__does_not_take_an_unbound_pod_for_a_no_while_a_binding_may_be_late),
        cmocka_unit_test(test_settle__goes_on_while_the_server_does_not_answer),
        cmocka_unit_test(test_settle__is_not_put_off_for_as_long_as_a_server_asks),
        cmocka_unit_test(test_settle__is_taken_over_by_a_new_job_for_the_same_pod),
        cmocka_unit_test(test_settle__ends_undecided_when_the_binder_stops),
    };

    return cmocka_run_group_tests_name("binder_settling", tests, NULL, NULL);
}
