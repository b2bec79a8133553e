/* SPDX-License-Identifier: Apache-2.0 */
#include "support/reflector_story.h"

static void test_watch__asks_for_bookmarks_and_an_end_in_five_to_ten_minutes(void **state)
{
    unsigned shortest = 1000, longest = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        AUTO(story_free) struct story *story = story_new();
        unsigned timeout_s = 0;

        story_replace(story, KUBE_NODE, seed);
        next(story);
        assert_string_equal(story->path, "/api/v1/nodes?limit=500");
        answer(story, 200,
               "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"1 0&\"},\"items\":[]}");
        next(story);
        assert_path(story, "/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=");
        assert_contains(story->path, "&resourceVersion=1%200%26");
        assert_int_equal(sscanf(strstr(story->path, "Seconds="), "Seconds=%u", &timeout_s), 1);
        assert_in_range(timeout_s, 300, 600);
        shortest = timeout_s < shortest ? timeout_s : shortest;
        longest = timeout_s > longest ? timeout_s : longest;
    }
    assert_true(shortest < 320 && longest > 580);
}

static void test_watch__passes_events_on_and_follows_their_versions(void **state)
{
    AUTO(story_free) struct story *story = story_watching();

    (void)state;
    bytes(story, EVENT("ADDED", "b", "11") EVENT("MODIFIED", "a", "12"));
    bytes(story, EVENT("DELETED", "b", "13") BOOKMARK("20"));
    assert_string_equal(buf_text(&story->told), "is:b is:a gone:b ");
    assert_int_equal(counters(story)->events, 3);
    answer_ends(story);
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_contains(story->path, "&resourceVersion=20");
}

static void test_watch__takes_events_cut_anywhere(void **state)
{
    static const char text[] = EVENT("ADDED", "b", "11") EVENT("DELETED", "a", "12") BOOKMARK("13");

    (void)state;
    for (size_t cut = 0; cut < sizeof text; cut++) {
        AUTO(story_free) struct story *story = story_watching();

        reflector_on_bytes(story->reflector, text, cut, story->now_ms);
        reflector_on_bytes(story->reflector, text + cut, sizeof text - 1 - cut, story->now_ms);
        assert_string_equal(buf_text(&story->told), "is:b gone:a ");
        answer_ends(story);
        next(story);
        assert_contains(story->path, "&resourceVersion=13");
    }
}

static void test_watch__drops_a_cut_event_and_continues_before_it(void **state)
{
    AUTO(story_free) struct story *story = story_watching();

    (void)state;
    bytes(story, EVENT("ADDED", "b", "11") "{\"type\":\"ADDED\",\"obj");
    breaks(story, "reset");
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_contains(story->path, "&resourceVersion=11");
    assert_true(story->fresh);
    answer_begins(story, 200);
    bytes(story, EVENT("ADDED", "c", "12"));
    assert_string_equal(buf_text(&story->told), "is:b is:c ");
}

static void test_watch__that_ends_at_once_without_an_event_waits(void **state)
{
    AUTO(story_free) struct story *story = story_watching();

    (void)state;
    answer_ends(story);
    assert_int_equal(next(story), REFLECTOR_SEND);
    answer_begins(story, 200);
    story->now_ms += 999;
    answer_ends(story);
    expect_request_after_backoff(story);
    assert_contains(story->path, "&resourceVersion=10");
}

static void test_watch__that_ends_soon_after_an_event_is_replaced_at_once(void **state)
{
    AUTO(story_free) struct story *story = story_watching();

    (void)state;
    answer_ends(story);
    assert_int_equal(next(story), REFLECTOR_SEND);
    answer(story, 200, EVENT("ADDED", "b", "11"));
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_contains(story->path, "&resourceVersion=11");
}

/* How it goes on after the watch was refused or its stream said ERROR. */
static void test_watch__lists_again_or_watches_on_as_the_failure_tells(void **state)
{
    static const struct {
        int status; /* 200: the body is an event */
        const char *body;
        const char *path;
    } cases[] = {
        {410, STATUS("Expired", "410"), LIST_PATH},
        {400, STATUS("BadRequest", "400"), LIST_PATH},
        {404, "", LIST_PATH},
        {401, STATUS("Unauthorized", "401"), WATCH_PATH},
        {403, STATUS("Forbidden", "403"), WATCH_PATH},
        {429, "", WATCH_PATH},
        {500, STATUS("InternalError", "500"), WATCH_PATH},
        {503, "", WATCH_PATH},
        {200, ERROR_EVENT("Expired", "410"), LIST_PATH},
        {200, ERROR_EVENT("Gone", "0"), LIST_PATH},
        {200, ERROR_EVENT("InternalError", "500"), LIST_PATH},
        {200, ERROR_EVENT("TooManyRequests", "429"), WATCH_PATH},
        {200, "not json\n", LIST_PATH},
        {200, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":7}}}\n", LIST_PATH},
        {200, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{}}}\n", LIST_PATH},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(story_free) struct story *story = story_watching();

        answer_ends(story);
        next(story);
        answer(story, cases[i].status, cases[i].body);
        assert_true(reflector_problem(story->reflector)[0] != '\0');
        assert_null(reflector_position(story->reflector));
        expect_request_after_backoff(story);
        assert_path(story, cases[i].path);
        assert_int_equal(reflector_lists_done(story->reflector),
                         1); /* what was listed stays in use */
        assert_string_equal(buf_text(&story->told),
                            strcmp(cases[i].path, LIST_PATH) == 0 ? "begin " : "");
    }
}

static void test_watch__lists_at_once_when_a_useful_watch_loses_its_position(void **state)
{
    AUTO(story_free) struct story *story = story_watching();

    (void)state;
    bytes(story, EVENT("ADDED", "b", "11") ERROR_EVENT("Expired", "410"));
    assert_int_equal(next(story), REFLECTOR_CANCEL);
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_string_equal(story->path, LIST_PATH);
    assert_int_equal(counters(story)->relists, 1);
}

static void test_watch__ignores_what_comes_behind_an_error(void **state)
{
    AUTO(story_free) struct story *story = story_watching();

    (void)state;
    bytes(story, ERROR_EVENT("Expired", "410") EVENT("ADDED", "b", "11"));
    bytes(story, EVENT("ADDED", "c", "12"));
    assert_string_equal(buf_text(&story->told), "");
    assert_int_equal(next(story), REFLECTOR_CANCEL);
    bytes(story, EVENT("ADDED", "d", "13"));
    answer_ends(story);
    assert_string_equal(buf_text(&story->told), "");
}

static void test_watch__skips_types_it_does_not_know(void **state)
{
    AUTO(story_free) struct story *story = story_watching();

    (void)state;
    bytes(story, EVENT("RENAMED", "b", "11") EVENT("ADDED", "c", "12"));
    assert_string_equal(buf_text(&story->told), "is:c ");
    assert_non_null(reflector_position(story->reflector));
}

static void test_watch__lists_again_after_an_event_of_more_than_8_mib(void **state)
{
    AUTO(story_free) struct story *story = story_watching();
    const size_t piece = 1 << 20;
    AUTO_FREE char *noise = xmalloc(piece);

    (void)state;
    memset(noise, 'x', piece);
    for (int i = 0; i < 8; i++)
        reflector_on_bytes(story->reflector, noise, piece, story->now_ms);
    assert_int_equal(next(story), REFLECTOR_WAIT);
    reflector_on_bytes(story->reflector, noise, 1, story->now_ms);
    assert_int_equal(next(story), REFLECTOR_CANCEL);
    expect_request_after_backoff(story);
    assert_string_equal(story->path, LIST_PATH);
    assert_contains(reflector_problem(story->reflector), "longer than 8 MiB");
}

static void test_watch__is_given_up_after_150_s_of_silence(void **state)
{
    static const struct {
        const char *heard;
        const char *path; /* nothing heard at all: the position itself may be wrong */
    } cases[] = {{BOOKMARK("30"), WATCH_PATH}, {"", LIST_PATH}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(story_free) struct story *story = story_watching();

        if (cases[i].heard[0] != '\0')
            bytes(story, cases[i].heard);
        next(story);
        story->now_ms += cases[i].heard[0] == '\0' ? 147999u : 149999u;
        assert_int_equal(next(story), REFLECTOR_WAIT);
        assert_int_equal(story->wait_until_ms, story->now_ms + 1);
        story->now_ms++;
        assert_int_equal(next(story), REFLECTOR_CANCEL);
        assert_int_equal(counters(story)->stalls, 1);
        expect_request_after_backoff(story);
        assert_path(story, cases[i].path);
        assert_true(story->fresh);
    }
}

static void test_watch__that_the_server_does_not_end_in_time_is_replaced(void **state)
{
    AUTO(story_free) struct story *story = story_watching();
    uint64_t began_ms = story->now_ms - 2000;

    (void)state;
    while (next(story) == REFLECTOR_WAIT) {
        assert_true(story->now_ms < began_ms + 630000);
        story->now_ms += 10000;
        bytes(story, BOOKMARK("40"));
    }
    assert_true(story->now_ms - began_ms >= 330000);
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_path(story, WATCH_PATH);
    assert_contains(story->path, "&resourceVersion=40");
    assert_int_equal(counters(story)->errors, 0);
}

static void test_watch__clears_its_problem_only_when_it_proved_useful(void **state)
{
    AUTO(story_free) struct story *story = story_watching();

    (void)state;
    answer_ends(story);
    next(story);
    breaks(story, "refused");
    expect_request_after_backoff(story);
    answer_begins(story, 200);
    assert_contains(reflector_problem(story->reflector), "refused");
    next(story);
    assert_int_equal(story->wait_until_ms, story->now_ms + 1000);
    story->now_ms += 1000;
    next(story);
    assert_string_equal(reflector_problem(story->reflector), "");
}

static void test_watch__survives_a_restart_of_the_server_as_captured(void **state)
{
    AUTO(story_free) struct story *story = story_watching();
    AUTO_FREE char *file = test_read_file(TEST_DATA "/captured/api/watch-410-bookmarks.txt", NULL);

    (void)state;
    breaks(story, "connection reset");
    assert_int_equal(next(story), REFLECTOR_SEND);
    breaks(story, "connection refused");
    expect_request_after_backoff(story);
    answer(story, 200, strstr(file, "{\"type\""));
    assert_contains(reflector_problem(story->reflector), "too old resource version");
    next(story);
    story->now_ms = story->wait_until_ms;
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_string_equal(story->path, LIST_PATH);
    answer(story, 200, LIST("50", "", POD("z", "49")));
    assert_string_equal(buf_text(&story->told), "begin item:z commit ");
    assert_string_equal(reflector_problem(story->reflector), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_watch__asks_for_bookmarks_and_an_end_in_five_to_ten_minutes),
        cmocka_unit_test(test_watch__passes_events_on_and_follows_their_versions),
        cmocka_unit_test(test_watch__takes_events_cut_anywhere),
        cmocka_unit_test(test_watch__drops_a_cut_event_and_continues_before_it),
        cmocka_unit_test(test_watch__that_ends_at_once_without_an_event_waits),
        cmocka_unit_test(test_watch__that_ends_soon_after_an_event_is_replaced_at_once),
        cmocka_unit_test(test_watch__lists_again_or_watches_on_as_the_failure_tells),
        cmocka_unit_test(test_watch__lists_at_once_when_a_useful_watch_loses_its_position),
        cmocka_unit_test(test_watch__ignores_what_comes_behind_an_error),
        cmocka_unit_test(test_watch__skips_types_it_does_not_know),
        cmocka_unit_test(test_watch__lists_again_after_an_event_of_more_than_8_mib),
        cmocka_unit_test(test_watch__is_given_up_after_150_s_of_silence),
        cmocka_unit_test(test_watch__that_the_server_does_not_end_in_time_is_replaced),
        cmocka_unit_test(test_watch__clears_its_problem_only_when_it_proved_useful),
        cmocka_unit_test(test_watch__survives_a_restart_of_the_server_as_captured),
    };

    return cmocka_run_group_tests_name("reflector_watch", tests, NULL, NULL);
}
