/* SPDX-License-Identifier: Apache-2.0 */
#include "support/reflector_story.h"

#include <stdlib.h>

static void tell(void *ctx, const char *what, const struct kube_object *object)
{
    struct story *story = ctx;

    buf_add_text(&story->told, what);
    if (object != NULL)
        buf_addf(&story->told, ":%s", kube_object_meta(object)->name);
    buf_add_byte(&story->told, ' ');
}

static void begin(void *ctx)
{
    tell(ctx, "begin", NULL);
}
static void item(void *ctx, struct kube_object *object)
{
    tell(ctx, "item", object);
}
static void commit(void *ctx)
{
    tell(ctx, "commit", NULL);
}
static void upsert(void *ctx, struct kube_object *object)
{
    tell(ctx, "is", object);
}
static void forget(void *ctx, struct kube_object *object)
{
    tell(ctx, "gone", object);
}

static void replace(struct story *story, enum kube_kind kind, uint64_t seed, bool streams_lists)
{
    reflector_free(story->reflector);
    story->reflector = reflector_new(&(struct reflector_options){
        .kind = kind,
        .selector = kind == KUBE_POD ? "status.phase!=Failed" : NULL,
        .streams_lists = streams_lists,
        .sink = {story, begin, item, commit, upsert, forget},
        .seed = seed,
    });
}

void story_replace(struct story *story, enum kube_kind kind, uint64_t seed)
{
    replace(story, kind, seed, false);
}

struct story *story_streaming(void)
{
    struct story *story = story_new();

    replace(story, KUBE_POD, 42, true);
    assert_int_equal(next(story), REFLECTOR_SEND);
    return story;
}

struct story *story_new(void)
{
    struct story *story = xcalloc(1, sizeof *story);

    story->now_ms = T0;
    story->told = buf_with_max(1 << 20);
    story_replace(story, KUBE_POD, 42);
    return story;
}

void story_free(struct story **place)
{
    reflector_free((*place)->reflector);
    buf_clear(&(*place)->told);
    free(*place);
}

enum reflector_action next(struct story *story)
{
    struct reflector_wish wish;

    reflector_next(story->reflector, story->now_ms, &wish);
    if (wish.action == REFLECTOR_SEND) {
        snprintf(story->path, sizeof story->path, "%s", wish.path);
        story->fresh = wish.fresh_connection;
    }
    story->wait_until_ms = wish.wait_until_ms;
    return wish.action;
}

void bytes(struct story *story, const char *text)
{
    reflector_on_bytes(story->reflector, text, strlen(text), story->now_ms);
}

void answer_begins(struct story *story, int status)
{
    reflector_on_begin(story->reflector, status, 0, story->now_ms);
}

void answer_ends(struct story *story)
{
    reflector_on_end(story->reflector, NULL, story->now_ms);
}

void answer(struct story *story, int status, const char *body)
{
    answer_begins(story, status);
    bytes(story, body);
    answer_ends(story);
}

void breaks(struct story *story, const char *why)
{
    struct error err = {0};

    error_set(&err, ERR_IO, "%s", why);
    reflector_on_end(story->reflector, &err, story->now_ms);
}

const struct reflector_counters *counters(const struct story *story)
{
    return reflector_counters(story->reflector);
}

struct story *story_watching(void)
{
    struct story *story = story_new();

    assert_int_equal(next(story), REFLECTOR_SEND);
    answer(story, 200, LIST("10", "", POD("a", "9")));
    assert_int_equal(next(story), REFLECTOR_SEND);
    answer_begins(story, 200);
    story->now_ms += 2000;
    assert_int_equal(next(story), REFLECTOR_WAIT);
    buf_reset(&story->told);
    return story;
}

void expect_request_after_backoff(struct story *story)
{
    enum reflector_action action = next(story);

    if (action == REFLECTOR_CANCEL)
        action = next(story);
    assert_int_equal(action, REFLECTOR_WAIT);
    assert_in_range(story->wait_until_ms, story->now_ms + 800, story->now_ms + 1600);
    story->now_ms = story->wait_until_ms - 1;
    assert_int_equal(next(story), REFLECTOR_WAIT);
    story->now_ms++;
    assert_int_equal(next(story), REFLECTOR_SEND);
}
