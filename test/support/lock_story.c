/* SPDX-License-Identifier: Apache-2.0 */
#include "support/lock_story.h"

#include "support/builders.h"

#include "topofit/dialect.h"
#include "topofit/kube_json.h"

#include <stdlib.h>

struct lock_story *lock_story_new(void)
{
    struct lock_story *story = xcalloc(1, sizeof *story);

    story->now_ms = T0;
    story->cluster = cluster_new(&test_key);
    story->binder = binder_new(JOBS_MAX, 42);
    story->keeper = lock_keeper_new(&(struct lock_keeper_options){.cluster = story->cluster,
                                                                  .binder = story->binder,
                                                                  .timeout_ms = LOCK_TIMEOUT_MS,
                                                                  .key = test_key,
                                                                  .seed = 42});
    return story;
}

void lock_story_free(struct lock_story **place)
{
    binder_free((*place)->binder);
    lock_keeper_free((*place)->keeper);
    cluster_free((*place)->cluster);
    free(*place);
}

/* --- what the watch shows -------------------------------------------------------------------- */

static char *lock_text(const char *key, const char *lock)
{
    return lock != NULL ? xasprintf(",\"%s\":\"%s\"", key, lock) : xstrdup("");
}

static char *node_text(const char *node, unsigned version, const char *hami, const char *dsmlu)
{
    AUTO_FREE char *first = lock_text(LOCK_KEY, hami);
    AUTO_FREE char *second = lock_text(DSMLU_KEY, dsmlu);

    return xasprintf("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\","
                     "\"uid\":\"u\",\"resourceVersion\":\"%u\",\"annotations\":{\"a\":\"\"%s%s}}}",
                     node, version, first, second);
}

static char *pod_text(const char *name, const char *node, const char *phase)
{
    AUTO_FREE char *annotations =
        phase[0] != '\0' ? xasprintf(",\"annotations\":{\"hami.io/bind-phase\":\"%s\"}", phase)
                         : xstrdup("");

    return xasprintf("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\","
                     "\"namespace\":\"default\",\"uid\":\"uid-%s\",\"resourceVersion\":\"7\"%s},"
                     "\"spec\":{\"containers\":[],\"nodeName\":\"%s\"},"
                     "\"status\":{\"phase\":\"Pending\"}}",
                     name, name, annotations, node);
}

static void read_object(enum kube_kind kind, const char *text, struct kube_object *out)
{
    struct error err = {0};

    kube_object_init(out, kind);
    assert_ok(kube_json_read_object(kind, text, strlen(text), out, &err), &err);
}

static void tell_node(void (*tell)(void *ctx, struct kube_object *object), void *ctx,
                      const char *node, unsigned version, const char *hami, const char *dsmlu)
{
    AUTO_FREE char *text = node_text(node, version, hami, dsmlu);
    AUTO(kube_object_clear) struct kube_object object = {0};

    read_object(KUBE_NODE, text, &object);
    tell(ctx, &object);
}

void show_node(struct lock_story *story, const char *node, unsigned version, const char *lock)
{
    struct reflector_sink sink = lock_keeper_nodes(story->keeper);

    tell_node(sink.upsert, sink.ctx, node, version, lock, NULL);
}

void show_node_locks(struct lock_story *story, const char *node, unsigned version, const char *hami,
                     const char *dsmlu)
{
    struct reflector_sink sink = lock_keeper_nodes(story->keeper);

    tell_node(sink.upsert, sink.ctx, node, version, hami, dsmlu);
}

void show_list(struct lock_story *story, const char *node, unsigned version, const char *lock)
{
    struct reflector_sink sink = lock_keeper_nodes(story->keeper);

    sink.begin(sink.ctx);
    if (node != NULL)
        tell_node(sink.item, sink.ctx, node, version, lock, NULL);
    sink.commit(sink.ctx);
}

void show_node_gone(struct lock_story *story, const char *node)
{
    struct reflector_sink sink = lock_keeper_nodes(story->keeper);

    tell_node(sink.remove, sink.ctx, node, 1, NULL, NULL);
}

void show_pod(struct lock_story *story, const char *name, const char *node, const char *phase)
{
    AUTO_FREE char *text = pod_text(name, node, phase);
    AUTO(kube_object_clear) struct kube_object object = {0};

    read_object(KUBE_POD, text, &object);
    cluster_put_pod(story->cluster, dialect_pod(&object.pod, &test_classes));
}

void show_pod_gone(struct lock_story *story, const char *name)
{
    cluster_remove_pod(story->cluster, "default", name, NULL);
}

/* --- jobs ------------------------------------------------------------------------------------ */

static void on_done(void *ctx, enum bind_outcome outcome, const char *text)
{
    struct job_end *end = ctx;

    end->done++;
    end->outcome = outcome;
    snprintf(end->text, sizeof end->text, "%s", text);
}

static void on_settled(void *ctx, enum bind_outcome outcome)
{
    struct job_end *end = ctx;

    end->settled++;
    end->settled_outcome = outcome;
}

struct job_end *want_bind_with(struct lock_story *story, const char *pod, const char *node,
                               enum node_lock lock)
{
    AUTO_FREE char *uid = xasprintf("uid-%s", pod);
    struct bind_job *job = bind_job_new("default", pod, uid, node);
    struct job_end *end = &story->ends[story->job_count++];
    struct error err = {0};

    assert_true(story->job_count <= JOBS_MAX);
    end->story = story;
    job->lock = lock;
    job->deadline_ms = story->now_ms + DEADLINE_MS;
    job->done = on_done;
    job->settled = on_settled;
    job->ctx = end;
    assert_ok(lock_keeper_submit(story->keeper, job, story->now_ms, &err), &err);
    return end;
}

struct job_end *want_bind(struct lock_story *story, const char *pod, const char *node)
{
    return want_bind_with(story, pod, node, NODE_LOCK_NAMED);
}

/* --- requests -------------------------------------------------------------------------------- */

static struct moment moment_of(const struct lock_story *story)
{
    return (struct moment){story->now_ms, UNIX_MS + story->now_ms - T0};
}

bool next_sent(struct lock_story *story)
{
    struct sent_request *sent = &story->sent;
    struct api_request request;
    bool is_binding = false;

    if (!lock_keeper_next_request(story->keeper, moment_of(story), &request)) {
        is_binding = binder_next_request(story->binder, story->now_ms, &request);
        /* What the binder ended may be the lock keeper's turn. */
        if (!is_binding && !lock_keeper_next_request(story->keeper, moment_of(story), &request))
            return false;
    }
    *sent = (struct sent_request){.id = request.id, .is_binding = is_binding};
    snprintf(sent->method, sizeof sent->method, "%s", request.method);
    snprintf(sent->path, sizeof sent->path, "%s", request.path);
    snprintf(sent->body, sizeof sent->body, "%s", request.body != NULL ? request.body : "");
    story->requests++;
    return true;
}

bool wait_sent(struct lock_story *story, uint64_t most_ms)
{
    uint64_t end_ms = story->now_ms + most_ms, due_ms;

    while (!next_sent(story)) {
        due_ms = lock_keeper_next_due_ms(story->keeper);
        if (binder_next_due_ms(story->binder) < due_ms)
            due_ms = binder_next_due_ms(story->binder);
        if (due_ms > end_ms) {
            story->now_ms = end_ms;
            return next_sent(story);
        }
        assert_true(due_ms > story->now_ms);
        story->now_ms = due_ms;
    }
    return true;
}

void reply_with(struct lock_story *story, int status, const char *body)
{
    struct api_answer answer = {.status = status, .body = body, .body_length = strlen(body)};

    if (story->sent.is_binding)
        binder_on_answer(story->binder, story->sent.id, &answer, story->now_ms);
    else
        lock_keeper_on_answer(story->keeper, story->sent.id, &answer, story->now_ms);
}

void reply_node_locks(struct lock_story *story, const char *node, unsigned version,
                      const char *hami, const char *dsmlu)
{
    AUTO_FREE char *text = node_text(node, version, hami, dsmlu);

    reply_with(story, 200, text);
}

void reply_node(struct lock_story *story, const char *node, unsigned version, const char *lock)
{
    reply_node_locks(story, node, version, lock, NULL);
}

void reply_pod(struct lock_story *story, const char *name, const char *node, const char *phase)
{
    AUTO_FREE char *text = pod_text(name, node, phase);

    reply_with(story, 200, text);
}

void reply_refusal(struct lock_story *story, int status)
{
    AUTO_FREE char *text = xasprintf("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                                     "\"status\":\"Failure\",\"message\":\"the message\","
                                     "\"code\":%d}",
                                     status);

    reply_with(story, status, text);
}

void lose_answer(struct lock_story *story)
{
    if (story->sent.is_binding)
        binder_on_loss(story->binder, story->sent.id, true, "connection reset", story->now_ms);
    else
        lock_keeper_on_loss(story->keeper, story->sent.id, true, "connection reset", story->now_ms);
}

void lock_and_bind(struct lock_story *story, const char *pod, const char *node, unsigned version)
{
    AUTO_FREE char *lock = xasprintf("2025-08-06T05:51:42Z,default,%s", pod);

    expect_sent(story, "PATCH", node);
    reply_node(story, node, version, lock);
    expect_sent(story, "POST", pod);
    reply_with(story, 201, "");
}
