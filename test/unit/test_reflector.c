/* SPDX-License-Identifier: Apache-2.0 */
#include "support/reflector_story.h"

static void test_list__is_consistent_paged_and_selective(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_string_equal(story->path, LIST_PATH);
    assert_int_equal(reflector_lists_done(story->reflector), 0);
    assert_int_equal(next(story), REFLECTOR_WAIT);
}

static void test_list__is_committed_with_its_last_page_and_keeps_the_first_version(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    next(story);
    answer(story, 200, LIST("10", "to/ken=", POD("a", "3") "," POD("b", "4")));
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_string_equal(story->path, LIST_PATH "&continue=to%2Fken%3D");
    assert_int_equal(reflector_lists_done(story->reflector), 0);
    answer(story, 200, LIST("11", "", POD("c", "5")));
    assert_int_equal(reflector_lists_done(story->reflector), 1);
    assert_string_equal(buf_text(&story->told), "begin item:a item:b item:c commit ");
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_path(story, WATCH_PATH);
    assert_contains(story->path, "&resourceVersion=10");
}

static void test_list__takes_captured_pages_in_pieces_of_any_size(void **state)
{
    AUTO_FREE char *one = test_read_file(TEST_DATA "/captured/api/list-page1.txt", NULL);
    AUTO_FREE char *two = test_read_file(TEST_DATA "/captured/api/list-page2.txt", NULL);
    const char *pages[] = {strstr(one, "{\"kind\":\"PodList\""),
                           strstr(two, "{\"kind\":\"PodList\"")};

    (void)state;
    for (size_t piece = 1; piece < 2000; piece += 97) {
        AUTO(story_free) struct story *story = story_new();

        for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
            assert_int_equal(next(story), REFLECTOR_SEND);
            answer_begins(story, 200);
            for (size_t at = 0, length = strlen(pages[i]); at < length; at += piece)
                reflector_on_bytes(story->reflector, pages[i] + at,
                                   length - at < piece ? length - at : piece, story->now_ms);
            answer_ends(story);
        }
        assert_string_equal(buf_text(&story->told), "begin item:p1 item:p2 commit ");
    }
}

static void test_list__that_breaks_half_way_is_not_committed_and_begins_anew(void **state)
{
    static const char page[] = LIST("10", "next", POD("a", "3"));

    (void)state;
    for (size_t cut = 0; cut < strlen(page) - 2; cut++) {
        AUTO(story_free) struct story *story = story_new();

        next(story);
        answer_begins(story, 200);
        reflector_on_bytes(story->reflector, page, cut, story->now_ms);
        /* Every second one ends without a complaint: the JSON alone tells. */
        if (cut % 2 == 0)
            breaks(story, "reset");
        else
            answer_ends(story);
        expect_request_after_backoff(story);
        assert_string_equal(story->path, LIST_PATH);
        assert_null(strstr(buf_text(&story->told), "commit"));
        answer(story, 200, LIST("12", "", POD("b", "4")));
        assert_contains(buf_text(&story->told), "begin item:b commit ");
    }
}

static void test_list__waits_and_says_why_when_it_is_refused(void **state)
{
    static const struct {
        int status;
        const char *body;
        const char *problem;
    } cases[] = {
        {401, STATUS("Unauthorized", "401"), "check the token"},
        {403, STATUS("Forbidden", "403"), "verbs list and watch"},
        {404, "404 page not found", "HTTP 404: 404 page not found"},
        {429, "Too many requests", "HTTP 429: Too many requests"},
        {500, STATUS("InternalError", "500"), "the message"},
        {503, "", "no explanation"},
        {302, "<html>", "HTTP 302"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(story_free) struct story *story = story_new();

        next(story);
        answer(story, cases[i].status, cases[i].body);
        assert_contains(reflector_problem(story->reflector), "list of pods");
        assert_contains(reflector_problem(story->reflector), cases[i].problem);
        expect_request_after_backoff(story);
        assert_string_equal(story->path, LIST_PATH);
    }
}

static void test_list__waits_as_long_as_the_server_asks(void **state)
{
    static const struct {
        unsigned header_s;
        const char *body;
        uint64_t want_ms;
    } cases[] = {
        {7, "", 7000},
        {0, "{\"kind\":\"Status\",\"code\":504,\"details\":{\"retryAfterSeconds\":9}}", 9000},
        {86400, "", 30000}, /* nobody waits for a day */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(story_free) struct story *story = story_new();

        next(story);
        reflector_on_begin(story->reflector, 504, cases[i].header_s, story->now_ms);
        bytes(story, cases[i].body);
        answer_ends(story);
        next(story);
        assert_int_equal(story->wait_until_ms, T0 + cases[i].want_ms);
    }
}

static void test_list__waits_longer_from_failure_to_failure(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    uint64_t last_ms = 0;

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(next(story), REFLECTOR_SEND);
        answer_begins(story, 503);
        answer_ends(story);
        assert_int_equal(next(story), REFLECTOR_WAIT);
        assert_true(story->wait_until_ms - story->now_ms >= last_ms);
        last_ms = UINT64_C(800) << i;
        story->now_ms = story->wait_until_ms;
    }
    assert_int_equal(counters(story)->errors, 5);
    assert_contains(reflector_problem(story->reflector), "503");
}

static void test_list__asks_for_everything_at_once_when_its_pages_expire(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    next(story);
    answer(story, 200, LIST("10", "t", POD("a", "3")));
    next(story);
    answer(story, 410, STATUS("Expired", "410"));
    assert_int_equal(next(story), REFLECTOR_SEND);
    assert_path(story, "/api/v1/pods?limit=0");
    assert_null(strstr(story->path, "continue"));
    answer(story, 200, LIST("20", "", POD("b", "4")));
    assert_string_equal(buf_text(&story->told), "begin item:a begin item:b commit ");
}

static void test_list__gives_up_on_pages_that_do_not_end(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    next(story);
    answer(story, 200, LIST("10", "t", ""));
    next(story);
    answer(story, 200, LIST("10", "t", ""));
    expect_request_after_backoff(story);
    assert_string_equal(story->path, LIST_PATH);
}

static void test_list__gives_up_on_pages_that_go_on_for_ever(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    unsigned pages = 0;

    (void)state;
    for (next(story); counters(story)->errors == 0; next(story)) {
        answer(story, 200, pages++ % 2 == 0 ? LIST("10", "t", "") : LIST("10", "u", ""));
        assert_true(pages <= 2000);
    }
    assert_contains(reflector_problem(story->reflector), "the pages do not end");
}

static void test_list__is_given_up_when_it_drips_for_ten_minutes(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    uint64_t began_ms;

    (void)state;
    next(story);
    began_ms = story->now_ms;
    answer_begins(story, 200);
    while (next(story) != REFLECTOR_CANCEL) {
        story->now_ms += 1000;
        bytes(story, " ");
        assert_true(story->now_ms - began_ms <= 601000);
    }
    assert_contains(reflector_problem(story->reflector), "not complete after 600 s");
    expect_request_after_backoff(story);
}

static void test_list__is_given_up_when_no_byte_comes_for_a_minute(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    next(story);
    answer_begins(story, 200);
    story->now_ms += 59999;
    assert_int_equal(next(story), REFLECTOR_WAIT);
    bytes(story, "{");
    story->now_ms += 59999;
    assert_int_equal(next(story), REFLECTOR_WAIT);
    story->now_ms++;
    assert_int_equal(next(story), REFLECTOR_CANCEL);
    assert_int_equal(counters(story)->stalls, 1);
    expect_request_after_backoff(story);
    assert_true(story->fresh);
}

static void test_list__without_a_version_is_refused(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    next(story);
    answer(story, 200, LIST("", "", ""));
    assert_int_equal(reflector_lists_done(story->reflector), 0);
    assert_null(strstr(buf_text(&story->told), "commit"));
}

/* Whatever arrives in whatever order: no crash, at most one request, and it always goes on. */
static void test_reflector__lives_through_random_histories(void **state)
{
    static const char *const bodies[] = {
        LIST("10", "", POD("a", "9")),
        LIST("10", "t", POD("a", "9")),
        EVENT("ADDED", "b", "11"),
        EVENT("DELETED", "b", "12"),
        BOOKMARK("13"),
        ERROR_EVENT("Expired", "410"),
        STATUS("Expired", "410"),
        "garbage\n",
        "{\"type\":",
        "",
    };
    static const int statuses[] = {200, 200, 200, 200, 401, 403, 404, 410, 429, 500, 503};
    uint64_t chance = 88172645463325252u;
    AUTO(story_free) struct story *story = story_new();
    bool in_flight = false;
    unsigned sent = 0;

    (void)state;
    for (int step = 0; step < 200000; step++) {
        enum reflector_action action = next(story);

        chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
        if (action == REFLECTOR_SEND) {
            assert_false(in_flight);
            in_flight = true;
            sent++;
        } else if (action == REFLECTOR_CANCEL) {
            assert_true(in_flight);
            in_flight = false;
        } else if (in_flight && chance % 32 >= 28) {
            in_flight = false;
            answer(story, 200,
                   strncmp(story->path, LIST_PATH, 20) == 0 ? LIST("10", "", POD("a", "9"))
                                                            : EVENT("ADDED", "b", "11"));
        } else if (chance % 4 == 0) {
            assert_true(story->wait_until_ms > story->now_ms);
            story->now_ms = story->wait_until_ms;
        } else if (in_flight && chance % 4 == 1) {
            answer_begins(story, statuses[chance / 8 % ARRAY_LEN(statuses)]);
        } else if (in_flight && chance % 4 == 2) {
            bytes(story, bodies[chance / 8 % ARRAY_LEN(bodies)]);
        } else if (in_flight) {
            in_flight = false;
            if (chance % 8 == 3)
                answer_ends(story);
            else
                breaks(story, "broken");
        }
        buf_reset(&story->told);
    }
    assert_true(sent > 10000);
    assert_true(counters(story)->lists > 100 && counters(story)->events > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list__is_consistent_paged_and_selective),
        cmocka_unit_test(test_list__is_committed_with_its_last_page_and_keeps_the_first_version),
        cmocka_unit_test(test_list__takes_captured_pages_in_pieces_of_any_size),
        cmocka_unit_test(test_list__that_breaks_half_way_is_not_committed_and_begins_anew),
        cmocka_unit_test(test_list__waits_and_says_why_when_it_is_refused),
        cmocka_unit_test(test_list__waits_as_long_as_the_server_asks),
        cmocka_unit_test(test_list__waits_longer_from_failure_to_failure),
        cmocka_unit_test(test_list__asks_for_everything_at_once_when_its_pages_expire),
        cmocka_unit_test(test_list__gives_up_on_pages_that_do_not_end),
        cmocka_unit_test(test_list__gives_up_on_pages_that_go_on_for_ever),
        cmocka_unit_test(test_list__is_given_up_when_it_drips_for_ten_minutes),
        cmocka_unit_test(test_list__is_given_up_when_no_byte_comes_for_a_minute),
        cmocka_unit_test(test_list__without_a_version_is_refused),
        cmocka_unit_test(test_reflector__lives_through_random_histories),
    };

    return cmocka_run_group_tests_name("reflector", tests, NULL, NULL);
}
