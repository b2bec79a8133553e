/* SPDX-License-Identifier: Apache-2.0 */
#include "support/event_story.h"

#include <stdlib.h>

#define FORBIDDEN EVENT_STATUS("403", "Forbidden")
#define GONE EVENT_STATUS("404", "NotFound")
#define EXISTS EVENT_STATUS("409", "AlreadyExists")
#define TERMINATING \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no\",\"reason\":\"Forbidden\"," \
    "\"details\":{\"causes\":[{\"reason\":\"NamespaceTerminating\"}]},\"code\":403}"

static void test_failed_request__is_tried_again_after_a_wait(void **state)
{
    static const struct {
        int status; /* 0: lost before it was sent, -1: after */
        const char *body;
    } cases[] = {
        {0, ""},      {-1, ""},        {401, EVENT_STATUS("401", "Unauthorized")},
        {429, ""},    {500, ""},       {504, EVENT_STATUS("504", "Timeout")},
        {403, "no!"}, {404, "nginx"},  {409, EVENT_STATUS("409", "Conflict")},
        {302, ""},    {422, "<html>"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(event_story_free) struct event_story *story = event_story_new();

        happen(story, "no");
        expect_request(story, "POST");
        if (cases[i].status <= 0)
            lose_event(story, cases[i].status < 0);
        else
            answer_event(story, cases[i].status, cases[i].body);
        assert_false(event_queue_is_idle(story->queue));
        assert_in_range(wait_for_event_request(story, MINUTE_MS), 1000, 2000);
        assert_int_equal(story->request.fresh_connection, cases[i].status <= 0);
        answer_event(story, 201, "{}");
        assert_int_equal(event_queue_counters(story->queue)->errors, 1);
        assert_int_equal(event_queue_counters(story->queue)->written, 1);
    }
}

static void test_failed_requests__are_given_up_after_twelve(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();
    unsigned requests = 0;

    (void)state;
    happen(story, "no");
    happen(story, "no");
    do {
        wait_for_event_request(story, MINUTE_MS);
        lose_event(story, true);
        requests++;
    } while (!event_queue_is_idle(story->queue));
    assert_int_equal(requests, 12);
    assert_int_equal(event_queue_counters(story->queue)->dropped, 2);
    assert_contains(event_queue_problem(story->queue), "connection reset");
    happen(story, "no");
    expect_written(story, "POST"); /* it is a first one again */
    assert_string_equal(event_queue_problem(story->queue), "");
}

static void test_failures_of_earlier_writes__do_not_count(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    for (unsigned write = 0; write < 2; write++) {
        happen(story, "no");
        expect_request(story, write == 0 ? "POST" : "PATCH");
        assert_false(story->request.fresh_connection);
        lose_event(story, false);
        assert_in_range(wait_for_event_request(story, MINUTE_MS), 1000, 2000);
        for (unsigned i = 0; i < 10; i++) {
            lose_event(story, false);
            wait_for_event_request(story, MINUTE_MS);
        }
        answer_event(story, 200, "{}");
    }
    assert_int_equal(event_queue_counters(story->queue)->written, 2);
}

static void test_retry_after__holds_back_everything(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "no");
    expect_request(story, "POST");
    answer_event_later(story, 429, 30);
    happen_to(story, "p2", "no");
    expect_none(story);
    assert_int_equal(wait_for_event_request(story, MINUTE_MS), 30000);
}

static void test_retry_after__may_stand_in_the_body(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "no");
    expect_request(story, "POST");
    answer_event(story, 504, "{\"code\":504,\"details\":{\"retryAfterSeconds\":20}}");
    assert_int_equal(wait_for_event_request(story, MINUTE_MS), 20000);
}

static void test_retry_after__of_a_day_is_not_obeyed(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "no");
    expect_request(story, "POST");
    answer_event_later(story, 503, 86400);
    assert_int_equal(wait_for_event_request(story, 10 * MINUTE_MS), 5 * MINUTE_MS);
}

/* A POST that may have been executed keeps its name, so that it cannot be there twice. */
static void test_lost_answer__that_was_a_success_is_recognised(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();
    char body[8192];

    (void)state;
    happen(story, "no");
    expect_request(story, "POST");
    memcpy(body, story->body, sizeof body);
    lose_event(story, true);
    happen(story, "no");
    wait_for_event_request(story, MINUTE_MS);
    assert_string_equal(story->body, body);
    answer_event(story, 409, EXISTS);
    assert_int_equal(event_queue_counters(story->queue)->written, 1);
    expect_request(story, "PATCH"); /* the second occurrence was not in it */
    assert_contains(story->body, "\"count\":2");
}

static void test_name__that_is_taken_is_changed_once(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();
    char body[8192];

    (void)state;
    happen(story, "no");
    expect_request(story, "POST");
    memcpy(body, story->body, sizeof body);
    answer_event(story, 409, EXISTS);
    expect_request(story, "POST");
    assert_string_not_equal(story->body, body);
    answer_event(story, 409, EXISTS);
    expect_none(story);
    assert_int_equal(event_queue_counters(story->queue)->dropped, 1);
}

static void test_name__may_be_changed_once_for_each_event(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        happen(story, "no");
        expect_request(story, i == 0 ? "POST" : "PATCH");
        if (i > 0) {
            answer_event(story, 404, GONE);
            expect_request(story, "POST");
        }
        answer_event(story, 409, EXISTS);
        expect_written(story, "POST");
    }
}

static void test_series__whose_event_is_gone_is_created_anew(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "no");
    expect_written(story, "POST");
    story->now_ms += 1000;
    happen(story, "no");
    expect_request(story, "PATCH");
    answer_event(story, 404, GONE);
    expect_request(story, "POST");
    assert_contains(story->body, "\"eventTime\":\"2026-01-01T00:00:00.000000Z\"");
    assert_contains(story->body, "\"count\":2");
    answer_event(story, 201, "{}");
    expect_none(story);
    assert_int_equal(event_queue_counters(story->queue)->written, 2);
}

static void test_refusal_for_good__drops_this_event_alone(void **state)
{
    static const struct {
        int status;
        const char *body;
    } cases[] = {
        {404, GONE},
        {403, TERMINATING},
        {400, EVENT_STATUS("400", "BadRequest")},
        {422, EVENT_STATUS("422", "Invalid")},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(event_story_free) struct event_story *story = event_story_new();

        happen(story, "no");
        happen_to(story, "p2", "no");
        expect_request(story, "POST");
        answer_event(story, cases[i].status, cases[i].body);
        assert_int_equal(event_queue_counters(story->queue)->dropped, 1);
        assert_int_equal(event_queue_counters(story->queue)->forbidden, 0);
        expect_written(story, "POST");
    }
}

/* The answer of a captured exchange: its status and what stands behind the status line. */
static void answer_as_captured(struct event_story *story, const char *file)
{
    AUTO_FREE char *path = xasprintf(TEST_DATA "/captured/api/%s", file);
    AUTO_FREE char *exchange = test_read_file(path, NULL);
    const char *answer = strstr(exchange, "-> HTTP ");

    assert_non_null(answer);
    answer_event(story, (int)strtol(answer + strlen("-> HTTP "), NULL, 10),
                 strchr(answer, '\n') + 1);
}

static void test_answers__decide_as_captured(void **state)
{
    static const struct {
        const char *create, *count; /* answers to the POST and, after a success, to the PATCH */
        unsigned written, dropped, forbidden;
        const char *next; /* method of the request that follows, or NULL */
    } cases[] = {
        {"event-create.txt", "event-count.txt", 2, 0, 0, NULL},
        {"event-create.txt", "event-count-404.txt", 1, 0, 0, "POST"},
        {"event-create.txt", "event-403.txt", 1, 1, 1, NULL},
        {"event-403.txt", NULL, 0, 1, 1, NULL},
        {"event-403-namespace-ends.txt", NULL, 0, 1, 0, NULL},
        {"event-404-namespace.txt", NULL, 0, 1, 0, NULL},
        {"event-409-exists.txt", NULL, 0, 0, 0, "POST"},
        {"event-422.txt", NULL, 0, 1, 0, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(event_story_free) struct event_story *story = event_story_new();
        const struct event_queue_counters *counters = event_queue_counters(story->queue);

        happen(story, "no");
        expect_request(story, "POST");
        answer_as_captured(story, cases[i].create);
        if (cases[i].count != NULL) {
            happen(story, "no");
            expect_request(story, "PATCH");
            answer_as_captured(story, cases[i].count);
        }
        assert_int_equal(counters->written, cases[i].written);
        assert_int_equal(counters->dropped, cases[i].dropped);
        assert_int_equal(counters->forbidden, cases[i].forbidden);
        if (cases[i].next != NULL)
            expect_request(story, cases[i].next);
        else
            expect_none(story);
    }
}

static void test_problem__is_the_first_cause_until_an_event_is_written(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();
    AUTO_FREE char *first = NULL;

    (void)state;
    happen(story, "no");
    expect_request(story, "POST");
    lose_event(story, false);
    wait_for_event_request(story, MINUTE_MS);
    answer_event(story, 500, EVENT_STATUS("500", "InternalError"));
    assert_contains(event_queue_problem(story->queue), "connection reset");
    wait_for_event_request(story, MINUTE_MS);
    answer_event(story, 403, FORBIDDEN); /* what lasts is told, whatever was before */
    first = xstrdup(event_queue_problem(story->queue));
    assert_contains(first, "create and patch on events");
    story->now_ms += MINUTE_MS;
    happen_to(story, "p2", "no");
    expect_request(story, "POST");
    answer_event(story, 403, FORBIDDEN);
    assert_string_equal(event_queue_problem(story->queue), first);
    story->now_ms += MINUTE_MS;
    happen(story, "no");
    expect_written(story, "POST");
    assert_string_equal(event_queue_problem(story->queue), "");
}

static void test_problem__is_not_what_is_wrong_with_one_event(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "no");
    expect_request(story, "POST");
    answer_event(story, 422, EVENT_STATUS("422", "Invalid"));
    assert_string_equal(event_queue_problem(story->queue), "");
    assert_int_equal(event_queue_counters(story->queue)->errors, 1);
}

static void test_missing_rights__drop_everything_for_a_minute(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "no");
    happen_to(story, "p2", "no");
    expect_request(story, "POST");
    answer_event(story, 403, FORBIDDEN);
    happen_to(story, "p3", "no");
    assert_int_equal(event_queue_counters(story->queue)->dropped, 3);
    assert_int_equal(event_queue_counters(story->queue)->forbidden, 1);
    assert_contains(event_queue_problem(story->queue), "create and patch on events");
    assert_true(event_queue_is_idle(story->queue));
    story->now_ms += MINUTE_MS - 1;
    happen(story, "no");
    expect_none(story);
    story->now_ms++;
    happen(story, "no");
    expect_written(story, "POST");
}

static void test_missing_rights__leave_what_is_in_flight(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();
    uint64_t first;

    (void)state;
    happen(story, "no");
    expect_request(story, "POST");
    first = story->request.id;
    happen_to(story, "p2", "no");
    expect_request(story, "POST");
    answer_event(story, 403, FORBIDDEN);
    story->request.id = first;
    answer_event(story, 201, "{}");
    assert_int_equal(event_queue_counters(story->queue)->written, 1);
    assert_int_equal(event_queue_counters(story->queue)->dropped, 1);
}

static void test_missing_rights__hold_back_what_was_in_flight_and_failed(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();
    uint64_t first;

    (void)state;
    happen(story, "no");
    expect_request(story, "POST");
    first = story->request.id;
    happen_to(story, "p2", "no");
    expect_request(story, "POST");
    answer_event(story, 403, FORBIDDEN);
    story->request.id = first;
    lose_event(story, false);
    assert_int_equal(wait_for_event_request(story, 2 * MINUTE_MS), MINUTE_MS);
}

static void test_answer__to_nothing_is_ignored(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    story->request.id = 77;
    answer_event(story, 201, "{}");
    lose_event(story, true);
    happen(story, "no");
    expect_written(story, "POST");
    answer_event(story, 201, "{}");
    assert_int_equal(event_queue_counters(story->queue)->written, 1);
    assert_int_equal(event_queue_counters(story->queue)->errors, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_request__is_tried_again_after_a_wait),
        cmocka_unit_test(test_failed_requests__are_given_up_after_twelve),
        cmocka_unit_test(test_failures_of_earlier_writes__do_not_count),
        cmocka_unit_test(test_retry_after__holds_back_everything),
        cmocka_unit_test(test_retry_after__may_stand_in_the_body),
        cmocka_unit_test(test_retry_after__of_a_day_is_not_obeyed),
        cmocka_unit_test(test_lost_answer__that_was_a_success_is_recognised),
        cmocka_unit_test(test_name__that_is_taken_is_changed_once),
        cmocka_unit_test(test_name__may_be_changed_once_for_each_event),
        cmocka_unit_test(test_series__whose_event_is_gone_is_created_anew),
        cmocka_unit_test(test_refusal_for_good__drops_this_event_alone),
        cmocka_unit_test(test_answers__decide_as_captured),
        cmocka_unit_test(test_problem__is_the_first_cause_until_an_event_is_written),
        cmocka_unit_test(test_problem__is_not_what_is_wrong_with_one_event),
        cmocka_unit_test(test_missing_rights__drop_everything_for_a_minute),
        cmocka_unit_test(test_missing_rights__leave_what_is_in_flight),
        cmocka_unit_test(test_missing_rights__hold_back_what_was_in_flight_and_failed),
        cmocka_unit_test(test_answer__to_nothing_is_ignored),
    };

    return cmocka_run_group_tests_name("event_queue, failures", tests, NULL, NULL);
}
