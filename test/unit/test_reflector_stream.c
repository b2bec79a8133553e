/* SPDX-License-Identifier: Apache-2.0 */
/* The reflector with streamed lists, and lists that are asked for from outside. */
#include "support/reflector_story.h"

#define STREAM_END "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"

static void test_streamed_list__is_asked_for_as_of_now(void **state)
{
    AUTO(story_free) struct story *story = story_streaming();

    (void)state;
    assert_path(story, WATCH_PATH "&allowWatchBookmarks=true&timeoutSeconds=");
    assert_contains(story->path, STREAM_END);
    assert_null(strstr(story->path, "&resourceVersion="));
}

static void test_streamed_list__is_committed_with_its_bookmark_and_goes_on_as_a_watch(void **state)
{
    AUTO(story_free) struct story *story = story_streaming();

    (void)state;
    answer_begins(story, 200);
    bytes(story, EVENT("ADDED", "a", "7") EVENT("ADDED", "b", "3") BOOKMARK("8"));
    assert_string_equal(buf_text(&story->told), "begin item:a item:b ");
    assert_null(reflector_position(story->reflector));
    bytes(story, LIST_END("10") EVENT("MODIFIED", "a", "11"));
    assert_string_equal(buf_text(&story->told), "begin item:a item:b commit is:a ");
    assert_non_null(reflector_position(story->reflector));
    assert_string_equal(reflector_position(story->reflector), "11");
    assert_string_equal(reflector_problem(story->reflector), "");
}

static void test_streamed_list__that_ends_early_changes_nothing(void **state)
{
    AUTO(story_free) struct story *story = story_streaming();

    (void)state;
    answer_begins(story, 200);
    bytes(story, EVENT("ADDED", "a", "7"));
    answer_ends(story);
    assert_string_equal(buf_text(&story->told), "begin item:a ");
    expect_request_after_backoff(story);
    assert_contains(story->path, STREAM_END);
    assert_string_equal(buf_text(&story->told), "begin item:a begin ");
}

static void test_streamed_list__that_breaks_twice_is_replaced_by_pages(void **state)
{
    AUTO(story_free) struct story *story = story_streaming();

    (void)state;
    breaks(story, "reset");
    expect_request_after_backoff(story);
    breaks(story, "reset");
    next(story);
    story->now_ms = story->wait_until_ms;
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_path(story, LIST_PATH);
}

static void test_streamed_list__is_not_asked_for_again_from_a_server_that_cannot(void **state)
{
    static const int refusals[] = {422, 400};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        AUTO(story_free) struct story *story = story_streaming();

        answer(story, refusals[i], STATUS("Invalid", "422"));
        assert_int_equal(next(story), REFLECTOR_SEND);
        assert_path(story, LIST_PATH);
        assert_int_equal(counters(story)->errors, 0);
        answer(story, 200, LIST("10", "", POD("a", "9")));
        reflector_relist(story->reflector, story->now_ms);
        assert_int_equal(next(story), REFLECTOR_SEND);
        assert_path(story, LIST_PATH);
    }
}

static void test_streamed_list__begins_anew_after_an_error_within(void **state)
{
    static const char *const errors[] = {ERROR_EVENT("Expired", "410"),
                                         ERROR_EVENT("TooManyRequests", "429")};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        AUTO(story_free) struct story *story = story_streaming();

        answer_begins(story, 200);
        bytes(story, EVENT("ADDED", "a", "7"));
        bytes(story, errors[i]);
        expect_request_after_backoff(story);
        assert_contains(story->path, STREAM_END);
        assert_null(strstr(buf_text(&story->told), "commit"));
    }
}

static void expect_pages_at_once(struct story *story)
{
    assert_int_equal(next(story), REFLECTOR_CANCEL);
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_path(story, LIST_PATH);
}

/* Servers that do not know the question answer it as a watch: objects, and never an end. */
static void test_streamed_list__that_falls_silent_is_replaced_by_pages_at_once(void **state)
{
    AUTO(story_free) struct story *story = story_streaming();

    (void)state;
    answer_begins(story, 200);
    bytes(story, EVENT("ADDED", "a", "7"));
    story->now_ms += 499;
    assert_int_equal(next(story), REFLECTOR_WAIT);
    story->now_ms++;
    expect_pages_at_once(story);
}

static void test_streamed_list__with_a_deletion_is_replaced_by_pages_at_once(void **state)
{
    AUTO(story_free) struct story *story = story_streaming();

    (void)state;
    answer_begins(story, 200);
    bytes(story, EVENT("ADDED", "a", "7") EVENT("DELETED", "a", "8"));
    expect_pages_at_once(story);
}

static void test_streamed_list__without_an_end_is_replaced_by_pages(void **state)
{
    AUTO(story_free) struct story *story = story_streaming();
    uint64_t began_ms = story->now_ms;

    (void)state;
    answer_begins(story, 200);
    while (story->now_ms < began_ms + 30000) {
        bytes(story, EVENT("MODIFIED", "a", "7"));
        assert_int_equal(next(story), REFLECTOR_WAIT);
        story->now_ms += 400;
    }
    expect_pages_at_once(story);
}

static void test_list__of_a_server_that_is_away_is_asked_for_every_second(void **state)
{
    AUTO(story_free) struct story *story = story_streaming();

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        breaks(story, "refused");
        assert_int_equal(next(story), REFLECTOR_WAIT);
        assert_in_range(story->wait_until_ms, story->now_ms + 800, story->now_ms + 1000);
        story->now_ms = story->wait_until_ms;
        assert_int_equal(next(story), REFLECTOR_SEND);
    }
}

static void test_relist__drops_the_watch_and_lists_at_once(void **state)
{
    AUTO(story_free) struct story *story = story_watching();

    (void)state;
    reflector_relist(story->reflector, story->now_ms);
    assert_null(reflector_position(story->reflector));
    assert_int_equal(next(story), REFLECTOR_CANCEL);
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_path(story, LIST_PATH);
    answer(story, 200, LIST("20", "", POD("b", "15")));
    assert_string_equal(buf_text(&story->told), "begin item:b commit ");
}

static void test_relist__begins_a_list_under_way_anew(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    next(story);
    answer(story, 200, LIST("10", "more", POD("a", "9")));
    assert_int_equal(next(story), REFLECTOR_SEND);
    story->now_ms += 10;
    reflector_relist(story->reflector, story->now_ms);
    assert_int_equal(next(story), REFLECTOR_CANCEL);
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_null(strstr(story->path, "continue="));
    answer(story, 200, LIST("20", "", POD("b", "15")));
    assert_string_equal(buf_text(&story->told), "begin item:a begin item:b commit ");
}

static void test_relist__keeps_a_wait_that_a_failure_asked_for(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    next(story);
    breaks(story, "reset");
    reflector_relist(story->reflector, story->now_ms);
    expect_request_after_backoff(story);
}

static void test_relist__of_a_streamed_list_is_streamed_as_well(void **state)
{
    AUTO(story_free) struct story *story = story_streaming();

    (void)state;
    for (unsigned times = 0; times < 3; times++) {
        reflector_relist(story->reflector, story->now_ms);
        assert_int_equal(next(story), REFLECTOR_CANCEL);
        assert_int_equal(next(story), REFLECTOR_SEND);
        assert_contains(story->path, STREAM_END);
    }
}

static void test_watch__of_a_server_that_was_set_back_lists_again(void **state)
{
    AUTO(story_free) struct story *story = story_watching();

    (void)state;
    breaks(story, "reset");
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_path(story, WATCH_PATH);
    answer(story, 504,
           "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":"
           "\"Timeout: Too "
           "large resource version: 10, current: 5\",\"reason\":\"Timeout\",\"code\":504}");
    expect_request_after_backoff(story);
    assert_path(story, LIST_PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streamed_list__is_asked_for_as_of_now),
        cmocka_unit_test(test_streamed_list__is_committed_with_its_bookmark_and_goes_on_as_a_watch),
        cmocka_unit_test(test_streamed_list__that_ends_early_changes_nothing),
        cmocka_unit_test(test_streamed_list__that_breaks_twice_is_replaced_by_pages),
        cmocka_unit_test(test_streamed_list__is_not_asked_for_again_from_a_server_that_cannot),
        cmocka_unit_test(test_streamed_list__begins_anew_after_an_error_within),
        cmocka_unit_test(test_streamed_list__that_falls_silent_is_replaced_by_pages_at_once),
        cmocka_unit_test(test_streamed_list__with_a_deletion_is_replaced_by_pages_at_once),
        cmocka_unit_test(test_streamed_list__without_an_end_is_replaced_by_pages),
        cmocka_unit_test(test_list__of_a_server_that_is_away_is_asked_for_every_second),
        cmocka_unit_test(test_relist__drops_the_watch_and_lists_at_once),
        cmocka_unit_test(test_relist__begins_a_list_under_way_anew),
        cmocka_unit_test(test_relist__keeps_a_wait_that_a_failure_asked_for),
        cmocka_unit_test(test_relist__of_a_streamed_list_is_streamed_as_well),
        cmocka_unit_test(test_watch__of_a_server_that_was_set_back_lists_again),
    };

    return cmocka_run_group_tests_name("reflector_stream", tests, NULL, NULL);
}
