/* SPDX-License-Identifier: Apache-2.0 */
#include "support/lease_story.h"

#include <stdlib.h>

struct lease_story *lease_story_new(void)
{
    struct lease_options options = {"gpu", "topofit", "us", DURATION, DEADLINE, RETRY, 42};
    struct lease_story *story = xcalloc(1, sizeof *story);

    story->now_ms = T0;
    story->version = 5;
    story->lease = lease_new(&options);
    return story;
}

struct lease_story *lease_story_leading(void)
{
    struct lease_story *story = lease_story_new();

    expect_call(story, "GET");
    answer_lease(story, "", 1, "");
    expect_call(story, "PUT");
    answer_written(story);
    assert_true(is_leading(story));
    return story;
}

struct lease_story *lease_story_waiting(void)
{
    struct lease_story *story = lease_story_new();

    expect_call(story, "GET");
    answer_lease(story, "they", 15, "");
    return story;
}

void lease_story_free(struct lease_story **place)
{
    lease_record_clear(&(*place)->written);
    lease_free((*place)->lease);
    free(*place);
}

bool take_request(struct lease_story *story)
{
    struct moment now = {story->now_ms, UNIX0 + story->now_ms};
    struct error err = {0};
    AUTO_FREE char *answered = NULL;

    if (!lease_next_request(story->lease, now, &story->request))
        return false;
    story->sent_ms = story->now_ms;
    if (story->request.body == NULL)
        return true;
    assert_int_equal(strlen(story->request.body), story->request.body_length);
    /* A POST has no version yet; the server would add it. */
    answered = strcmp(story->request.method, "POST") != 0
                   ? xstrdup(story->request.body)
                   : xasprintf("{\"metadata\":{\"resourceVersion\":\"0\",%s",
                               strstr(story->request.body, "\"name\":"));
    assert_ok(lease_json_read(answered, strlen(answered), &story->written, &err), &err);
    return true;
}

void wait_for_call(struct lease_story *story, const char *method)
{
    while (!take_request(story)) {
        assert_true(lease_next_due_ms(story->lease) > story->now_ms);
        assert_true(lease_next_due_ms(story->lease) != UINT64_MAX);
        story->now_ms = lease_next_due_ms(story->lease);
    }
    assert_string_equal(story->request.method, method);
}

void expect_call(struct lease_story *story, const char *method)
{
    assert_true(take_request(story));
    assert_string_equal(story->request.method, method);
}

void answer_with(struct lease_story *story, int status, const char *body)
{
    struct api_answer answer = {.status = status, .body = body, .body_length = strlen(body)};

    lease_on_answer(story->lease, story->request.id, &answer, story->now_ms);
}

void answer_status(struct lease_story *story, int status)
{
    AUTO_FREE char *body = xasprintf("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":"
                                     "\"Failure\",\"message\":\"the message\",\"code\":%d}",
                                     status);

    answer_with(story, status, body);
}

void drop(struct lease_story *story, bool was_sent)
{
    lease_on_loss(story->lease, story->request.id, was_sent, "connection reset", story->now_ms);
}

static void answer_record(struct lease_story *story, int status, const struct lease_record *record)
{
    AUTO(buf_clear) struct buf body = buf_with_max(LEASE_JSON_MAX_BYTES);
    AUTO_FREE char *version = xasprintf("%u", story->version);
    struct lease_view view = lease_record_view(record);

    view.resource_version = version;
    view.uid = "uid-1";
    view.name = "topofit";
    lease_json_write(&body, &view);
    answer_with(story, status, buf_text(&body));
}

void answer_written(struct lease_story *story)
{
    story->version++;
    answer_record(story, strcmp(story->request.method, "POST") == 0 ? 201 : 200, &story->written);
}

void answer_as_written(struct lease_story *story)
{
    story->version++;
    answer_record(story, 200, &story->written);
}

void answer_lease(struct lease_story *story, const char *holder, int duration_s,
                  const char *wanted_by)
{
    AUTO(lease_record_clear) struct lease_record record = {0};

    lease_record_init(&record);
    free(record.holder);
    free(record.wanted_by);
    free(record.renew_time);
    record.holder = xstrdup(holder);
    record.wanted_by = xstrdup(wanted_by);
    record.renew_time = xstrdup("2026-01-31T23:59:59.123456Z");
    record.duration_s = duration_s;
    record.transitions = 7;
    answer_record(story, 200, &record);
}

bool is_leading(const struct lease_story *story)
{
    return lease_held_until_ms(story->lease) > story->now_ms;
}
