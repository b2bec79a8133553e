/* SPDX-License-Identifier: Apache-2.0 */
#include "support/reconciler_story.h"

#include "support/builders.h"

#include <stdlib.h>

static struct reflector *reflector_of(enum kube_kind kind, struct reflector_sink sink)
{
    return reflector_new(&(struct reflector_options){.kind = kind, .sink = sink, .seed = 42});
}

static void send(struct story *story, struct reflector *reflector)
{
    struct reflector_wish wish;

    reflector_next(reflector, story->now_ms, &wish);
    if (wish.action == REFLECTOR_CANCEL)
        reflector_next(reflector, story->now_ms, &wish);
    assert_int_equal(wish.action, REFLECTOR_SEND);
}

void answer_list(struct story *story, struct reflector *reflector, const char *text)
{
    send(story, reflector);
    reflector_on_begin(reflector, 200, 0, story->now_ms);
    reflector_on_bytes(reflector, text, strlen(text), story->now_ms);
    reflector_on_end(reflector, NULL, story->now_ms);
}

void open_watch(struct story *story, struct reflector *reflector)
{
    send(story, reflector);
    reflector_on_begin(reflector, 200, 0, story->now_ms);
}

void tell_event(struct story *story, struct reflector *reflector, const char *event)
{
    reflector_on_bytes(reflector, event, strlen(event), story->now_ms);
}

struct story *reconciler_story_listed(uint64_t interval_ms)
{
    struct story *story = xcalloc(1, sizeof *story);

    story->now_ms = T0;
    story->cluster = cluster_new(&test_key);
    story->intake = intake_new(story->cluster, &test_classes, &(struct intake_listener){0});
    story->nodes = reflector_of(KUBE_NODE, intake_nodes(story->intake));
    story->pods = reflector_of(KUBE_POD, intake_pods(story->intake));
    story->reconciler = reconciler_new(&(struct reconciler_options){.cluster = story->cluster,
                                                                    .classes = &test_classes,
                                                                    .nodes = story->nodes,
                                                                    .pods = story->pods,
                                                                    .interval_ms = interval_ms,
                                                                    .key = test_key,
                                                                    .seed = 42});
    answer_list(story, story->nodes, LIST("Node", "10", "", NODES));
    answer_list(story, story->pods, LIST("Pod", "20", "", PODS));
    return story;
}

struct story *reconciler_story_new(void)
{
    struct story *story = reconciler_story_listed(0);

    open_watch(story, story->nodes);
    open_watch(story, story->pods);
    return story;
}

void reconciler_story_free(struct story **place)
{
    cluster_check((*place)->cluster);
    reconciler_free((*place)->reconciler);
    reflector_free((*place)->nodes);
    reflector_free((*place)->pods);
    intake_free((*place)->intake);
    cluster_free((*place)->cluster);
    free(*place);
}

bool next_question(struct story *story)
{
    struct moment now = {story->now_ms, 5000000 + story->now_ms};

    return reconciler_next_request(story->reconciler, now, &story->request);
}

void expect_question(struct story *story, const char *path)
{
    assert_true(next_question(story));
    assert_string_equal(story->request.method, "GET");
    assert_string_equal(story->request.path, path);
}

void begin_reply(struct story *story, int status, const char *body)
{
    reconciler_on_begin(story->reconciler, story->request.id, status);
    reconciler_on_bytes(story->reconciler, story->request.id, body, strlen(body));
}

void reply_to_question(struct story *story, int status, const char *body)
{
    begin_reply(story, status, body);
    reconciler_on_end(story->reconciler, story->request.id, NULL, story->now_ms);
}

const struct reconciler_report *compare(struct story *story, const char *nodes, const char *pods)
{
    story->now_ms += ASK_PAUSE_MS; /* since the last one */
    reconciler_ask(story->reconciler);
    assert_true(next_question(story));
    reply_to_question(story, 200, nodes);
    assert_true(next_question(story));
    reply_to_question(story, 200, pods);
    return reconciler_report(story->reconciler);
}

void expect_equal(const struct reconciler_report *report)
{
    assert_string_equal(report->problem, "");
    assert_int_equal(report->difference_count, 0);
}

void lose_pod(struct story *story)
{
    cluster_remove_pod(story->cluster, "d", "a", "u-a");
}

void lose_node(struct story *story)
{
    cluster_remove_node(story->cluster, "n2");
}
