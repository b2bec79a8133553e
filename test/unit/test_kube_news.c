/* SPDX-License-Identifier: Apache-2.0 */
/* What people are told of the dealings with the API server: changes, each of them once. */
#include "support/test.h"

#include "../../src/edge/kube_news.h"

#include "topofit/mem.h"

#include <stdlib.h>

#define LINES_MAX 32

/* News, and what was told since last looked at. */
struct story {
    struct kube_news *news;
    struct controller_status status;
    struct reconciler_report report;
    char lines[LINES_MAX][1024];
    enum log_level levels[LINES_MAX];
    size_t count;
};

static void take_line(void *ctx, enum log_level level, const char *text)
{
    struct story *story = ctx;

    assert_true(story->count < LINES_MAX);
    story->levels[story->count] = level;
    snprintf(story->lines[story->count++], sizeof story->lines[0], "%s", text);
}

/* Look at the state as it is now. */
static void look(struct story *story)
{
    story->count = 0;
    kube_news_tell(story->news, &story->status, &story->report);
}

/* One line is told, of that level, and not again. */
static void expect_line(struct story *story, enum log_level level, const char *text)
{
    look(story);
    assert_int_equal(story->count, 1);
    assert_int_equal(story->levels[0], level);
    assert_string_equal(story->lines[0], text);
    look(story);
    assert_int_equal(story->count, 0);
}

static void expect_nothing(struct story *story)
{
    look(story);
    assert_int_equal(story->count, 0);
}

static struct story *story_new(void)
{
    struct story *story = xcalloc(1, sizeof *story);

    story->news = kube_news_new(take_line, story);
    return story;
}

static void story_free(struct story **place)
{
    kube_news_free((*place)->news);
    free(*place);
}

/* Short texts only. */
static void set(char *place, const char *text)
{
    memcpy(place, text, strlen(text) + 1);
}

static void test_problem__is_told_once_and_that_it_is_over_once(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    const struct {
        char *problem;
        const char *all_well;
    } concerns[] = {
        {story->status.nodes.problem, "nodes: in step with the API server"},
        {story->status.pods.problem, "pods: in step with the API server"},
        {story->status.lease_problem, "the lease can be renewed again"},
        {story->status.wake_problem, "waiting pods can be woken again"},
        {story->status.event_problem, "Events can be written again"},
    };

    (void)state;
    expect_nothing(story);
    for (size_t i = 0; i < ARRAY_LEN(concerns); i++) {
        set(concerns[i].problem, "one thing");
        expect_line(story, LOG_LEVEL_WARN, "one thing");
        set(concerns[i].problem, "another thing");
        expect_line(story, LOG_LEVEL_WARN, "another thing");
        set(concerns[i].problem, "");
        expect_line(story, LOG_LEVEL_INFO, concerns[i].all_well);
    }
}

static void test_problem__of_the_beginning_is_no_news(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    set(story->status.nodes.problem, "not listed yet");
    expect_nothing(story);
    expect_nothing(story);
    set(story->status.nodes.problem, "");
    expect_line(story, LOG_LEVEL_INFO, "nodes: in step with the API server");
}

static void test_problem__of_the_greatest_length_is_told_once(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    expect_nothing(story);
    memset(story->status.lease_problem, 'x', ERROR_TEXT_MAX - 1);
    expect_line(story, LOG_LEVEL_WARN, story->status.lease_problem);
}

static void test_leader__is_told_whenever_it_changes(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    struct controller_status *status = &story->status;

    (void)state;
    status->elects = true;
    expect_nothing(story);
    set(status->holder, "a");
    expect_line(story, LOG_LEVEL_INFO, "the leader is a");
    set(status->holder, "us");
    status->leads = true;
    expect_line(story, LOG_LEVEL_INFO, "leading: this topofit binds pods from now on");
    status->leads = false;
    expect_line(
        story, LOG_LEVEL_WARN,
        "not leading any more, this topofit binds no pods: the lease was not renewed in time");
    set(status->holder, "b");
    expect_line(story, LOG_LEVEL_INFO, "the leader is b");
    status->holder[0] = '\0';
    expect_nothing(story);
}

static void test_leader__that_stops_leading_says_why(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    struct controller_status *status = &story->status;

    (void)state;
    status->elects = status->leads = true;
    expect_line(story, LOG_LEVEL_INFO, "leading: this topofit binds pods from now on");
    status->leads = false;
    status->lease.handed_over = 1;
    expect_line(story, LOG_LEVEL_INFO,
                "not leading any more: handed over to one that was asked to bind");
    status->leads = true;
    expect_line(story, LOG_LEVEL_INFO, "leading: this topofit binds pods from now on");
    status->leads = false;
    status->stopping = true;
    expect_line(story, LOG_LEVEL_INFO, "not leading any more: the lease was given up at the end");
}

static void test_leader__is_no_news_without_an_election(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    story->status.leads = true;
    expect_nothing(story);
    story->status.leads = false;
    expect_nothing(story);
}

static void test_report__is_told_once_and_with_ten_differences(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    const char *prefix = "memory differs from the API server: ";

    (void)state;
    story->report.number = 1;
    expect_nothing(story); /* no difference */
    story->report.number = 2;
    story->report.difference_count = RECONCILER_DIFFERENCES_MAX + 100;
    for (size_t i = 0; i < RECONCILER_DIFFERENCES_MAX; i++)
        snprintf(story->report.differences[i], sizeof story->report.differences[i], "no %zu", i);
    look(story);
    assert_int_equal(story->count, 11);
    for (size_t i = 0; i < story->count; i++) {
        AUTO_FREE char *want =
            i < 10 ? xasprintf("%sno %zu", prefix, i)
                   : xasprintf("%s%zu differences in all", prefix, story->report.difference_count);

        assert_string_equal(story->lines[i], want);
        assert_int_equal(story->levels[i], LOG_LEVEL_ERROR);
    }
    expect_nothing(story);
}

static void test_report__that_could_not_be_made_says_why(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    story->report.number = 1;
    set(story->report.problem, "HTTP 500");
    expect_line(story, LOG_LEVEL_WARN,
                "memory could not be compared with the API server: HTTP 500");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_problem__is_told_once_and_that_it_is_over_once),
        cmocka_unit_test(test_problem__of_the_beginning_is_no_news),
        cmocka_unit_test(test_problem__of_the_greatest_length_is_told_once),
        cmocka_unit_test(test_leader__is_told_whenever_it_changes),
        cmocka_unit_test(test_leader__that_stops_leading_says_why),
        cmocka_unit_test(test_leader__is_no_news_without_an_election),
        cmocka_unit_test(test_report__is_told_once_and_with_ten_differences),
        cmocka_unit_test(test_report__that_could_not_be_made_says_why),
    };

    return cmocka_run_group_tests_name("kube_news", tests, NULL, NULL);
}
