/* SPDX-License-Identifier: Apache-2.0 */
#include "support/event_story.h"

#include <stdlib.h>

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

/* An Event that may be there keeps its name and its text; any other tells what is newest. */
static void
test_note__that_changes_while_an_event_fails_is_told_unless_it_may_be_there(void **state)
{
    static const struct {
        int status; /* 0: lost before it was sent, -1: after */
        const char *body, *note, *count;
    } cases[] = {
        {0, "", "new", "\"count\":2,\"lastObservedTime\":\"2026-01-01T00:00:01.000000Z\""},
        {429, "", "new", "\"count\":2"},
        {401, "", "new", "\"count\":2"},
        {409, EVENT_STATUS("409", "Conflict"), "new", "\"count\":2"},
        {-1, "", "old", "\"old\"}"},
        {504, EVENT_STATUS("504", "Timeout"), "old", "\"old\"}"},
        {404, "nginx", "old", "\"old\"}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(event_story_free) struct event_story *story = event_story_new();

        happen(story, "old");
        expect_request(story, "POST");
        story->now_ms += 1000;
        happen(story, "new");
        if (cases[i].status <= 0)
            lose_event(story, cases[i].status < 0);
        else
            answer_event(story, cases[i].status, cases[i].body);
        wait_for_event_request(story, MINUTE_MS);
        assert_contains(story->body, cases[i].note);
        assert_contains(story->body, cases[i].count);
    }
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

static void test_counts__do_not_go_before_events_that_wait(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();

    (void)state;
    happen(story, "no");
    expect_written(story, "POST");
    happen_to_many(story, 0, EVENT_IN_FLIGHT_MAX);
    for (unsigned i = 0; i < EVENT_IN_FLIGHT_MAX; i++)
        expect_request(story, "POST");
    story->now_ms += 10;
    happen_to(story, "p2", "no");
    story->now_ms += 10;
    happen(story, "no");
    answer_event(story, 201, "{}");
    expect_request(story, "POST");
    answer_event(story, 201, "{}");
    expect_request(story, "PATCH");
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

static uint64_t stamp_of(const struct event_story *story)
{
    const char *name = strstr(story->body, "\"name\":\"");

    assert_non_null(name);
    return strtoull(strchr(name, '.') + 1, NULL, 16);
}

static void test_names__never_repeat_even_when_the_clock_is_set_back(void **state)
{
    AUTO(event_story_free) struct event_story *story = event_story_new();
    uint64_t last = 0;

    (void)state;
    for (unsigned i = 0; i < 90; i++) {
        struct moment now = story_now(story);

        happen_to_many(story, i, 1);
        now.unix_ms -= i % 3 * 1000;
        assert_true(event_queue_next_request(story->queue, now, &story->request));
        snprintf(story->body, sizeof story->body, "%s", story->request.body);
        assert_true(stamp_of(story) > last);
        last = stamp_of(story);
        answer_event(story, 201, "{}");
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
        cmocka_unit_test(
            test_note__that_changes_while_an_event_fails_is_told_unless_it_may_be_there),
        cmocka_unit_test(test_requests__in_flight_are_bounded),
        cmocka_unit_test(test_requests__go_out_no_faster_than_the_bucket_fills),
        cmocka_unit_test(test_requests__go_out_in_the_order_of_events),
        cmocka_unit_test(test_counts__do_not_go_before_events_that_wait),
        cmocka_unit_test(test_full_queue__drops_what_is_new),
        cmocka_unit_test(test_full_queue__forgets_first_what_was_quiet_for_longest),
        cmocka_unit_test(test_event__that_cannot_be_told_is_dropped),
        cmocka_unit_test(test_note__of_any_length_and_content_is_sent),
        cmocka_unit_test(test_names__never_repeat_even_when_the_clock_is_set_back),
    };

    return cmocka_run_group_tests_name("event_queue", tests, NULL, NULL);
}
