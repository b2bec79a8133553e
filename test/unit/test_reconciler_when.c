/* SPDX-License-Identifier: Apache-2.0 */
/* The reconciler: when it compares, and comparisons that fail. */
#include "support/reconciler_story.h"

#define INTERVAL_MS 600000u
#define RETRY_MS 30000u

/* --- failures -------------------------------------------------------------------------------- */

#define CUT_LIST "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"20\"},\"items\":["

static void test_reconciler__finds_no_differences_in_answers_that_fail(void **state)
{
    static const struct {
        int status;
        const char *body, *failure, *problem;
    } cases[] = {
        {410, STATUS("410"), NULL, "comparing pods: the message"},
        {500, "upstream is gone", NULL, "comparing pods: upstream is gone"},
        {504, "", NULL, "comparing pods: no explanation"},
        {200, CUT_LIST, "connection reset", "comparing pods: connection reset"},
        {200, CUT_LIST, NULL, "comparing pods: "},
        {200, CUT_LIST POD("z", "1") ",]}", NULL, "comparing pods: "},
        {200, "{}", NULL, "comparing pods: "},
        {200, SAME_NODES, NULL, "comparing pods: "},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(reconciler_story_free) struct story *story = reconciler_story_new();
        const struct reconciler_report *report = reconciler_report(story->reconciler);
        struct error err = {0};

        if (cases[i].failure != NULL)
            error_set(&err, ERR_IO, "%s", cases[i].failure);
        lose_pod(story);
        reconciler_ask(story->reconciler);
        assert_true(next_question(story));
        reply_to_question(story, 200, SAME_NODES);
        assert_true(next_question(story));
        begin_reply(story, cases[i].status, cases[i].body);
        reconciler_on_end(story->reconciler, story->request.id,
                          cases[i].failure != NULL ? &err : NULL, story->now_ms);
        assert_memory_equal(report->problem, cases[i].problem, strlen(cases[i].problem));
        assert_int_equal(report->difference_count, 0);
        assert_int_equal(report->number, 1);
        assert_int_equal(reconciler_counters(story->reconciler)->failures, 1);
        assert_int_equal(reconciler_counters(story->reconciler)->comparisons, 0);
        assert_non_null(reflector_position(story->pods));
        assert_false(next_question(story));
    }
}

static void test_reconciler__a_failure_before_any_answer_is_told_as_well(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_new();
    struct error err = {0};

    (void)state;
    error_set(&err, ERR_IO, "no connection");
    reconciler_ask(story->reconciler);
    assert_true(next_question(story));
    reconciler_on_end(story->reconciler, story->request.id, &err, story->now_ms);
    assert_string_equal(reconciler_report(story->reconciler)->problem,
                        "comparing nodes: no connection");
}

static void test_reconciler__keeps_what_was_found_before_a_failure(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_new();
    const struct reconciler_report *report = reconciler_report(story->reconciler);

    (void)state;
    lose_node(story);
    reconciler_ask(story->reconciler);
    assert_true(next_question(story));
    reply_to_question(story, 200, SAME_NODES);
    assert_true(next_question(story));
    reply_to_question(story, 500, STATUS("500"));
    assert_int_equal(report->difference_count, 1);
    assert_string_equal(report->differences[0], "node n2: not in memory");
    assert_string_equal(report->problem, "comparing pods: the message");
    assert_null(reflector_position(story->nodes));
}

static void test_reconciler__ignores_answers_to_other_requests(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_new();

    (void)state;
    reconciler_ask(story->reconciler);
    assert_true(next_question(story));
    story->request.id++;
    reply_to_question(story, 500, STATUS("500"));
    assert_int_equal(reconciler_report(story->reconciler)->number, 0);
    story->request.id--;
    reply_to_question(story, 200, SAME_NODES);
    expect_question(story, PATH("pods", "20")); /* dropped while it is in flight */
    begin_reply(story, 200, CUT_LIST);
}

static void test_reconciler__a_position_too_long_to_be_asked_for_is_a_problem(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_new();
    AUTO_FREE char *version = xcalloc(70001, 1), *event = NULL;

    (void)state;
    memset(version, '9', 70000);
    event = xasprintf("{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{"
                      "\"resourceVersion\":\"%s\"}}}\n",
                      version);
    tell_event(story, story->pods, event);
    reconciler_ask(story->reconciler);
    assert_true(next_question(story));
    reply_to_question(story, 200, SAME_NODES);
    assert_false(next_question(story));
    assert_string_equal(reconciler_report(story->reconciler)->problem,
                        "comparing pods: the position is too long");
    assert_false(next_question(story));
}

/* --- when ------------------------------------------------------------------------------------ */

static void test_reconciler__waits_until_both_watches_are_open(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_listed(INTERVAL_MS);

    (void)state;
    reconciler_ask(story->reconciler);
    assert_false(next_question(story));
    open_watch(story, story->nodes);
    assert_false(next_question(story));
    story->now_ms += 2 * INTERVAL_MS;
    assert_false(next_question(story));
    /* Not a time that has passed: that would be a hot loop. */
    assert_int_equal(reconciler_next_due_ms(story->reconciler), UINT64_MAX);
    open_watch(story, story->pods);
    expect_question(story, PATH("nodes", "10"));
    reply_to_question(story, 200, SAME_NODES);
    reflector_relist(story->pods, story->now_ms);
    assert_false(next_question(story));
    assert_int_equal(reconciler_next_due_ms(story->reconciler), UINT64_MAX);
    answer_list(story, story->pods, LIST("Pod", "30", "", PODS));
    assert_false(next_question(story));
    open_watch(story, story->pods);
    expect_question(story, PATH("pods", "30"));
    assert_int_equal(reconciler_next_due_ms(story->reconciler), UINT64_MAX);
}

/* Let time pass until the next request; at_least, and a quarter more at most. */
static void expect_wait(struct story *story, uint64_t at_least_ms)
{
    uint64_t due_ms;

    assert_false(next_question(story));
    due_ms = reconciler_next_due_ms(story->reconciler);
    assert_in_range(due_ms - story->now_ms, at_least_ms, at_least_ms + at_least_ms / 4);
    story->now_ms = due_ms - 1;
    assert_false(next_question(story));
    story->now_ms++;
    assert_true(next_question(story));
}

static void test_reconciler__compares_after_each_interval_and_sooner_after_a_failure(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_listed(INTERVAL_MS);

    (void)state;
    open_watch(story, story->nodes);
    open_watch(story, story->pods);
    expect_wait(story, INTERVAL_MS); /* the lists are fresh */
    reply_to_question(story, 200, SAME_NODES);
    assert_true(next_question(story));
    reply_to_question(story, 200, SAME_PODS);
    expect_wait(story, INTERVAL_MS);
    reply_to_question(story, 410, STATUS("410"));
    expect_wait(story, RETRY_MS);
    reply_to_question(story, 200, SAME_NODES);
    assert_true(next_question(story));
    reply_to_question(story, 200, SAME_PODS);
    expect_equal(reconciler_report(story->reconciler));
    expect_wait(story, INTERVAL_MS);
}

static void test_reconciler__who_asks_during_a_comparison_gets_one_that_begins_later(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_new();

    (void)state;
    reconciler_ask(story->reconciler);
    assert_true(next_question(story));
    reconciler_ask(story->reconciler);
    reply_to_question(story, 200, SAME_NODES);
    assert_true(next_question(story));
    reply_to_question(story, 200, SAME_PODS);
    story->now_ms += ASK_PAUSE_MS;
    expect_question(story, PATH("nodes", "10"));
}

static void test_reconciler__who_asks_again_and_again_waits(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_new();

    (void)state;
    compare(story, SAME_NODES, SAME_PODS);
    reconciler_ask(story->reconciler);
    assert_false(next_question(story));
    assert_int_equal(reconciler_next_due_ms(story->reconciler), story->now_ms + ASK_PAUSE_MS);
    story->now_ms += ASK_PAUSE_MS - 1;
    assert_false(next_question(story));
    story->now_ms++;
    assert_true(next_question(story));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reconciler__finds_no_differences_in_answers_that_fail),
        cmocka_unit_test(test_reconciler__a_failure_before_any_answer_is_told_as_well),
        cmocka_unit_test(test_reconciler__keeps_what_was_found_before_a_failure),
        cmocka_unit_test(test_reconciler__ignores_answers_to_other_requests),
        cmocka_unit_test(test_reconciler__a_position_too_long_to_be_asked_for_is_a_problem),
        cmocka_unit_test(test_reconciler__waits_until_both_watches_are_open),
        cmocka_unit_test(test_reconciler__compares_after_each_interval_and_sooner_after_a_failure),
        cmocka_unit_test(test_reconciler__who_asks_during_a_comparison_gets_one_that_begins_later),
        cmocka_unit_test(test_reconciler__who_asks_again_and_again_waits),
    };

    return cmocka_run_group_tests_name("reconciler_when", tests, NULL, NULL);
}
