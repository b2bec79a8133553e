/* SPDX-License-Identifier: Apache-2.0 */
#include "support/event_story.h"

#include <stdlib.h>

#define MINUTE_MS 60000u
#define FORBIDDEN EVENT_STATUS("403", "Forbidden")
#define GONE EVENT_STATUS("404", "NotFound")
#define EXISTS EVENT_STATUS("409", "AlreadyExists")
#define TERMINATING \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no\",\"reason\":\"Forbidden\"," \
    "\"details\":{\"causes\":[{\"reason\":\"NamespaceTerminating\"}]},\"code\":403}"

/* --- a series -------------------------------------------------------------------------------- */

static void test_first_event__is_created(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    expect_none(story);
    assert_int_equal(event_queue_next_due_ms(story->queue), UINT64_MAX);
    happen(story, "not enough free GPUs");
    assert_true(event_queue_next_due_ms(story->queue) <= story->now_ms);
    expect_request(story, "POST");
    assert_string_equal(story->path, EVENTS_PATH);
    assert_string_equal(story->type, "");
    assert_contains(story->body, "\"name\":\"p1.1886");
    assert_contains(story->body, "\"eventTime\":\"2026-01-01T00:00:00.000000Z\"");
    assert_contains(story->body, "\"reportingController\":\"topofit.io/extender\"");
    assert_contains(story->body, "\"note\":\"not enough free GPUs\"");
    assert_null(strstr(story->body, "series"));
    assert_in_range(story->request.timeout_ms, 1, 10000);
    answer_event(story, 201, "{}");
    expect_none(story);
    assert_true(event_queue_is_idle(story->queue));
}

static void test_second_occurrence__makes_a_series_at_once(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "no");
    expect_written(story, "POST");
    story->now_ms += 1000;
    happen(story, "no");
    expect_request(story, "PATCH");
    assert_contains(story->path, EVENTS_PATH "/p1.1886");
    assert_string_equal(story->type, "application/merge-patch+json");
    assert_string_equal(story->body, "{\"series\":{\"count\":2,\"lastObservedTime\":"
                                     "\"2026-01-01T00:00:01.000000Z\"}}");
}

static void test_further_occurrences__are_written_every_half_hour(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "no");
    expect_written(story, "POST");
    happen(story, "no");
    expect_written(story, "PATCH");
    for (unsigned minute = 0; minute < 30; minute++) {
        happen(story, "no");
        expect_none(story);
        assert_true(event_queue_is_idle(story->queue));
        story->now_ms += MINUTE_MS;
    }
    expect_request(story, "PATCH");
    assert_contains(story->body, "{\"count\":32,\"lastObservedTime\":"
                                 "\"2026-01-01T00:29:00.000000Z\"}");
    answer_event(story, 200, "{}");
    assert_int_equal(event_queue_counters(story->queue)->written, 3);
    assert_int_equal(event_queue_counters(story->queue)->folded, 29);
}

static void test_quiet_series__is_written_a_last_time_and_forgotten(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "no");
    expect_written(story, "POST");
    happen(story, "no");
    expect_written(story, "PATCH");
    happen(story, "no");
    assert_int_equal(wait_for_event_request(story, 7 * MINUTE_MS), 6 * MINUTE_MS);
    assert_contains(story->body, "\"count\":3");
    answer_event(story, 200, "{}");
    expect_none(story);
    assert_int_equal(event_queue_next_due_ms(story->queue), UINT64_MAX);
    happen(story, "no");
    expect_request(story, "POST");
}

static void test_single_event__is_forgotten_after_six_minutes(void **state)
{
    static const struct {
        uint64_t pause_ms;
        const char *method;
    } cases[] = {{6 * MINUTE_MS - 1, "PATCH"}, {6 * MINUTE_MS, "POST"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(event_story_free) struct event_story *story = event_story_new();

        happen(story, "no");
        expect_written(story, "POST");
        story->now_ms += cases[i].pause_ms;
        expect_none(story);
        happen(story, "no");
        expect_request(story, cases[i].method);
    }
}

static void test_occurrences_before_the_first_request__are_told_with_it(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "no");
    story->now_ms += 2000;
    happen(story, "no");
    expect_request(story, "POST");
    assert_contains(story->body, "\"eventTime\":\"2026-01-01T00:00:00.000000Z\"");
    assert_contains(story->body, "\"series\":{\"count\":2,\"lastObservedTime\":"
                                 "\"2026-01-01T00:00:02.000000Z\"}");
    answer_event(story, 201, "{}");
    assert_int_equal(event_queue_counters(story->queue)->folded, 1);
    happen(story, "no");
    expect_none(story); /* a series already */
}

static void test_requests_of_one_key__never_overlap(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "no");
    expect_request(story, "POST");
    happen(story, "no");
    expect_none(story);
    answer_event(story, 201, "{}");
    expect_request(story, "PATCH");
    happen(story, "no");
    expect_none(story);
}

static void test_key__is_type_action_reason_and_subject(void **state)
{
    static const struct cluster_event events[] = {
        {true, "R", "A", "n", {KUBE_POD, "default", "p", "u"}},
        {false, "R", "A", "n", {KUBE_POD, "default", "p", "u"}},
        {true, "S", "A", "n", {KUBE_POD, "default", "p", "u"}},
        {true, "R", "B", "n", {KUBE_POD, "default", "p", "u"}},
        {true, "R", "A", "n", {KUBE_POD, "other", "p", "u"}},
        {true, "R", "A", "n", {KUBE_POD, "default", "q", "u"}},
        {true, "R", "A", "n", {KUBE_POD, "default", "p", "v"}},
        {true, "R", "A", "n", {KUBE_NODE, NULL, "p", "u"}},
    };
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        event_queue_add(story->queue, &events[i], story_now(story));
        expect_written(story, "POST");
    }
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        event_queue_add(story->queue, &events[i], story_now(story));
        expect_written(story, "PATCH");
    }
}

/* --- the note -------------------------------------------------------------------------------- */

static void test_note__that_changes_before_the_event_was_sent_replaces_it(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "old");
    happen(story, "new");
    expect_request(story, "POST");
    assert_contains(story->body, "\"note\":\"new\"");
    assert_contains(story->body, "\"count\":2");
}

static void test_note__that_changes_later_makes_a_new_event_but_not_too_soon(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "old");
    expect_written(story, "POST");
    story->now_ms += 10000;
    happen(story, "new");
    happen(story, "newest");
    expect_none(story);
    assert_true(event_queue_is_idle(story->queue));
    assert_int_equal(wait_for_event_request(story, MINUTE_MS), 20000);
    assert_string_equal(story->method, "POST");
    assert_contains(story->body, "\"note\":\"newest\"");
    assert_contains(story->body, "\"count\":2");
    assert_contains(story->body, "\"eventTime\":\"2026-01-01T00:00:10.000000Z\"");
    answer_event(story, 201, "{}");
    story->now_ms += MINUTE_MS;
    happen(story, "changed again");
    expect_request(story, "POST"); /* at once: the last one is long ago */
    assert_contains(story->body, "\"note\":\"changed again\"");
}

static void test_note__that_comes_back_in_time_was_one_series(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "old");
    expect_written(story, "POST");
    happen(story, "new");
    expect_none(story);
    happen(story, "old");
    expect_request(story, "PATCH");
    assert_contains(story->body, "\"count\":3");
    answer_event(story, 200, "{}");
    story->now_ms += MINUTE_MS;
    expect_none(story);
}

static void test_note__that_changes_leaves_the_old_series_with_its_last_count(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();
    char old_path[512];

    (void)state;
    happen(story, "old");
    expect_written(story, "POST");
    happen(story, "old");
    expect_written(story, "PATCH");
    snprintf(old_path, sizeof old_path, "%s", story->path);
    happen(story, "old");
    happen(story, "new");
    assert_int_equal(wait_for_event_request(story, MINUTE_MS), 30000);
    assert_string_equal(story->path, old_path);
    assert_contains(story->body, "\"count\":3");
    answer_event(story, 200, "{}");
    expect_request(story, "POST");
    assert_contains(story->body, "\"note\":\"new\"");
    assert_null(strstr(story->body, "series"));
    answer_event(story, 201, "{}");
    happen(story, "new");
    expect_request(story, "PATCH");
    assert_string_not_equal(story->path, old_path);
}

static void test_note__that_changes_while_an_event_failed_for_certain_is_told_instead(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "old");
    expect_request(story, "POST");
    happen(story, "new");
    answer_event(story, 429, "");
    wait_for_event_request(story, MINUTE_MS);
    assert_contains(story->body, "\"note\":\"new\"");
    assert_contains(story->body, "\"count\":2");
}

/* --- failures -------------------------------------------------------------------------------- */

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

/* --- bounds ---------------------------------------------------------------------------------- */

static void happen_to_many(struct event_story *story, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        AUTO_FREE char *name = xasprintf("pod-%u", i);

        happen_to(story, name, "no");
    }
}

static void test_requests__in_flight_are_bounded(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen_to_many(story, 0, EVENT_IN_FLIGHT_MAX + 1);
    for (unsigned i = 0; i < EVENT_IN_FLIGHT_MAX; i++)
        expect_request(story, "POST");
    expect_none(story);
    assert_int_equal(event_queue_next_due_ms(story->queue), UINT64_MAX);
    lose_event(story, false);
    expect_request(story, "POST");
}

static void test_requests__go_out_no_faster_than_the_bucket_fills(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen_to_many(story, 0, 200);
    for (unsigned i = 0; i < 100; i++)
        expect_written(story, "POST");
    expect_none(story);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(wait_for_event_request(story, 1000), 100);
        answer_event(story, 201, "{}");
    }
    story->now_ms += 350;
    for (unsigned i = 0; i < 3; i++)
        expect_written(story, "POST");
    expect_none(story);
}

static void test_requests__go_out_in_the_order_of_events(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen_to_many(story, 0, 50);
    for (unsigned i = 0; i < 50; i++) {
        AUTO_FREE char *name = xasprintf("\"name\":\"pod-%u\"", i);

        expect_written(story, "POST");
        assert_contains(story->body, name);
    }
}

static void test_full_queue__drops_what_is_new(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen_to_many(story, 0, EVENT_QUEUE_MAX);
    assert_int_equal(event_queue_counters(story->queue)->dropped, 0);
    happen_to(story, "one-too-many", "no");
    assert_int_equal(event_queue_counters(story->queue)->dropped, 1);
    happen_to(story, "pod-7", "no"); /* a key that is there has its room */
    assert_int_equal(event_queue_counters(story->queue)->dropped, 1);
    assert_int_equal(event_queue_counters(story->queue)->waiting, EVENT_QUEUE_MAX);
}

static void test_full_queue__forgets_first_what_was_quiet_for_longest(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        happen_to_many(story, i, 1);
        expect_written(story, "POST");
        story->now_ms += 10;
    }
    happen_to_many(story, 0, 1); /* so that pod-1 is the oldest */
    expect_written(story, "PATCH");
    happen_to_many(story, 3, EVENT_QUEUE_MAX - 3);
    happen_to(story, "one-more", "no");
    assert_int_equal(event_queue_counters(story->queue)->dropped, 0);
    assert_int_equal(event_queue_counters(story->queue)->waiting, EVENT_QUEUE_MAX - 2);
    happen_to_many(story, 2, 1); /* known: it becomes a series */
    happen_to_many(story, 1, 1); /* forgotten: a first one, for which pod-0 has to go */
    assert_int_equal(event_queue_counters(story->queue)->waiting, EVENT_QUEUE_MAX - 1);
}

static void test_event__that_cannot_be_told_is_dropped(void **state)
{
    AUTO_FREE char *long_uid = xcalloc(1, 1000);
    const struct cluster_event events[] = {
        {true, "", "A", "n", {KUBE_POD, "default", "p", "u"}},
        {true, "R", "", "n", {KUBE_POD, "default", "p", "u"}},
        {true, "R", "A", "n", {KUBE_POD, "default", "", "u"}},
        {true, "R", "A", "n", {KUBE_POD, "default", "a/b", "u"}},
        {true, "R", "A", "n", {KUBE_POD, "", "p", "u"}},
        {true, "R", "A", "n", {KUBE_POD, "default", "p", long_uid}},
    };
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    memset(long_uid, 'u', 999);
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        event_queue_add(story->queue, &events[i], story_now(story));
    expect_none(story);
    assert_int_equal(event_queue_counters(story->queue)->dropped, ARRAY_LEN(events));
}

static void test_note__of_any_length_and_content_is_sent(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();
    char note[5000];

    (void)state;
    memset(note, 1, sizeof note - 1); /* six bytes for each, in JSON */
    note[sizeof note - 1] = '\0';
    happen(story, note);
    expect_request(story, "POST");
    answer_event(story, 201, "{}");
    happen(story, note);
    expect_request(story, "PATCH"); /* the same, as far as it is told */
}

static void test_names__are_unique_in_one_process(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();
    char last[8192] = "";

    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        char *name;

        happen(story, i % 2 == 0 ? "a" : "b");
        expect_request(story, "POST");
        name = strstr(story->body, "\"name\":\"p1.");
        name[strcspn(name, ",")] = '\0';
        assert_true(strcmp(name, last) > 0);
        snprintf(last, sizeof last, "%s", name);
        answer_event(story, 201, "{}");
        story->now_ms += 30000;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_event__is_created),
        cmocka_unit_test(test_second_occurrence__makes_a_series_at_once),
        cmocka_unit_test(test_further_occurrences__are_written_every_half_hour),
        cmocka_unit_test(test_quiet_series__is_written_a_last_time_and_forgotten),
        cmocka_unit_test(test_single_event__is_forgotten_after_six_minutes),
        cmocka_unit_test(test_occurrences_before_the_first_request__are_told_with_it),
        cmocka_unit_test(test_requests_of_one_key__never_overlap),
        cmocka_unit_test(test_key__is_type_action_reason_and_subject),
        cmocka_unit_test(test_note__that_changes_before_the_event_was_sent_replaces_it),
        cmocka_unit_test(test_note__that_changes_later_makes_a_new_event_but_not_too_soon),
        cmocka_unit_test(test_note__that_comes_back_in_time_was_one_series),
        cmocka_unit_test(test_note__that_changes_leaves_the_old_series_with_its_last_count),
        cmocka_unit_test(test_note__that_changes_while_an_event_failed_for_certain_is_told_instead),
        cmocka_unit_test(test_failed_request__is_tried_again_after_a_wait),
        cmocka_unit_test(test_failed_requests__are_given_up_after_twelve),
        cmocka_unit_test(test_retry_after__holds_back_everything),
        cmocka_unit_test(test_retry_after__of_a_day_is_not_obeyed),
        cmocka_unit_test(test_lost_answer__that_was_a_success_is_recognised),
        cmocka_unit_test(test_name__that_is_taken_is_changed_once),
        cmocka_unit_test(test_series__whose_event_is_gone_is_created_anew),
        cmocka_unit_test(test_refusal_for_good__drops_this_event_alone),
        cmocka_unit_test(test_answers__decide_as_captured),
        cmocka_unit_test(test_missing_rights__drop_everything_for_a_minute),
        cmocka_unit_test(test_missing_rights__leave_what_is_in_flight),
        cmocka_unit_test(test_answer__to_nothing_is_ignored),
        cmocka_unit_test(test_requests__in_flight_are_bounded),
        cmocka_unit_test(test_requests__go_out_no_faster_than_the_bucket_fills),
        cmocka_unit_test(test_requests__go_out_in_the_order_of_events),
        cmocka_unit_test(test_full_queue__drops_what_is_new),
        cmocka_unit_test(test_full_queue__forgets_first_what_was_quiet_for_longest),
        cmocka_unit_test(test_event__that_cannot_be_told_is_dropped),
        cmocka_unit_test(test_note__of_any_length_and_content_is_sent),
        cmocka_unit_test(test_names__are_unique_in_one_process),
    };

    return cmocka_run_group_tests_name("event_queue", tests, NULL, NULL);
}
