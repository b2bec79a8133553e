/* SPDX-License-Identifier: Apache-2.0 */
#include "support/event_story.h"

#include "support/builders.h"

#include <stdlib.h>

struct event_story *event_story_new(void)
{
    struct event_story *story = xcalloc(1, sizeof *story);
    const struct event_queue_options options = {
        .controller = "topofit.io/extender",
        .instance = "host-1",
        .burst = 100,
        .per_second = 10,
        .key = test_key,
        .seed = 42,
    };

    story->now_ms = EVENT_T0_MS;
    story->queue = event_queue_new(&options);
    return story;
}

void event_story_free(struct event_story **place)
{
    expect_sum(*place);
    event_queue_free((*place)->queue);
    free(*place);
}

struct moment story_now(const struct event_story *story)
{
    return (struct moment){story->now_ms, EVENT_UNIX_MS + story->now_ms - EVENT_T0_MS};
}

void happen_to(struct event_story *story, const char *pod, const char *note)
{
    const struct cluster_event event = {
        .is_warning = true,
        .reason = "GPUsRefused",
        .action = "Filtering",
        .note = note,
        .regarding = {KUBE_POD, "default", pod, "uid-1"},
    };

    event_queue_add(story->queue, &event, story_now(story));
}

void happen(struct event_story *story, const char *note)
{
    happen_to(story, "p1", note);
}

bool next_event_request(struct event_story *story)
{
    struct api_request *request = &story->request;

    if (!event_queue_next_request(story->queue, story_now(story), request))
        return false;
    snprintf(story->method, sizeof story->method, "%s", request->method);
    snprintf(story->path, sizeof story->path, "%s", request->path);
    snprintf(story->body, sizeof story->body, "%.*s", (int)request->body_length, request->body);
    snprintf(story->type, sizeof story->type, "%s",
             request->content_type != NULL ? request->content_type : "");
    return true;
}

void expect_request(struct event_story *story, const char *method)
{
    if (!next_event_request(story))
        fail_msg("no request, where a %s was expected", method);
    assert_string_equal(story->method, method);
}

void expect_none(struct event_story *story)
{
    if (next_event_request(story))
        fail_msg("unexpected: %s %s %s", story->method, story->path, story->body);
}

uint64_t wait_for_event_request(struct event_story *story, uint64_t max_ms)
{
    uint64_t begin_ms = story->now_ms;

    while (!next_event_request(story)) {
        uint64_t due_ms = event_queue_next_due_ms(story->queue);

        assert_true(due_ms > story->now_ms);
        if (due_ms - begin_ms > max_ms)
            fail_msg("no request within %llu ms", (unsigned long long)max_ms);
        story->now_ms = due_ms;
    }
    return story->now_ms - begin_ms;
}

static void answer_with(struct event_story *story, const struct api_answer *answer)
{
    event_queue_on_answer(story->queue, story->request.id, answer, story->now_ms);
}

void answer_event(struct event_story *story, int status, const char *body)
{
    const struct api_answer answer = {.status = status, .body = body, .body_length = strlen(body)};

    answer_with(story, &answer);
}

void answer_event_later(struct event_story *story, int status, unsigned retry_after_s)
{
    const struct api_answer answer = {.status = status, .retry_after_s = retry_after_s, .body = ""};

    answer_with(story, &answer);
}

void lose_event(struct event_story *story, bool was_sent)
{
    event_queue_on_loss(story->queue, story->request.id, was_sent, "connection reset",
                        story->now_ms);
}

void expect_written(struct event_story *story, const char *method)
{
    expect_request(story, method);
    answer_event(story, strcmp(method, "POST") == 0 ? 201 : 200, "{}");
}

void expect_sum(const struct event_story *story)
{
    const struct event_queue_counters *counters = event_queue_counters(story->queue);

    assert_int_equal(counters->added,
                     counters->written + counters->folded + counters->dropped + counters->untold);
}
