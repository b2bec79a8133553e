/* SPDX-License-Identifier: Apache-2.0 */
#include "support/binder_story.h"

#include <stdlib.h>

void on_done(void *ctx, enum bind_outcome outcome, const char *text)
{
    struct bind_story *story = ctx;

    story->done++;
    story->outcome = outcome;
    snprintf(story->text, sizeof story->text, "%s", text);
}

void on_settled(void *ctx, enum bind_outcome outcome)
{
    struct bind_story *story = ctx;

    story->settled++;
    story->settled_outcome = outcome;
}

struct bind_job *job_new(struct bind_story *story)
{
    struct bind_job *job = bind_job_new("default", "p1", "uid-1", "n0");

    bind_job_add_annotation(job, "devices.topofit.io/main", "GPU-0");
    bind_job_add_annotation(job, RECORD, "ours");
    job->record_key = RECORD;
    job->deadline_ms = DEADLINE;
    job->done = on_done;
    job->settled = on_settled;
    job->ctx = story;
    return job;
}

bool next_request(struct bind_story *story)
{
    if (!binder_next_request(story->binder, story->now_ms, &story->request))
        return false;
    story->is_post = story->request.body != NULL;
    snprintf(story->path, sizeof story->path, "%s", story->request.path);
    return true;
}

struct bind_story *bind_story_new(void)
{
    struct bind_story *story = xcalloc(1, sizeof *story);
    struct error err = {0};

    story->now_ms = T0;
    story->binder = binder_new(STORY_JOBS_MAX, 42);
    assert_ok(binder_submit(story->binder, job_new(story), T0, &err), &err);
    assert_true(next_request(story));
    assert_true(story->is_post);
    return story;
}

void bind_story_free(struct bind_story **place)
{
    binder_free((*place)->binder);
    free(*place);
}

void reply(struct bind_story *story, int status, const char *body)
{
    struct api_answer answer = {.status = status, .body = body, .body_length = strlen(body)};

    binder_on_answer(story->binder, story->request.id, &answer, story->now_ms);
}

void lose(struct bind_story *story, bool was_sent)
{
    binder_on_loss(story->binder, story->request.id, was_sent, "connection reset", story->now_ms);
}

bool wait_for_request(struct bind_story *story)
{
    while (!next_request(story)) {
        if (story->done > 0)
            return false;
        assert_true(binder_next_due_ms(story->binder) > story->now_ms);
        story->now_ms = binder_next_due_ms(story->binder);
    }
    return true;
}
