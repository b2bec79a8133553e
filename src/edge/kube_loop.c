/* SPDX-License-Identifier: Apache-2.0 */
/* kube_loop - the thread that talks to the API server. */
#include "topofit/kube_loop.h"

#include "topofit/buf.h"
#include "topofit/clock.h"
#include "topofit/kube_client.h"
#include "topofit/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BIND_ANSWER_MAX_BYTES (8u << 20) /* a pod, at most */

/* kube-scheduler looks at pods through the same glass; a pod that finishes is told as deleted. */
#define UNFINISHED_PODS "status.phase!=Succeeded,status.phase!=Failed"

/* A reflector and its request in flight. */
struct watcher {
    struct kube_loop *loop;
    const char *name;
    struct reflector *reflector;
    struct kube_call *call;    /* or NULL */
    char told[ERROR_TEXT_MAX]; /* the problem that was logged last */
};

/* A request of the binder in flight. */
struct exchange {
    struct kube_loop *loop;
    uint64_t id;
    int status;
    unsigned retry_after_s;
    struct buf body;
};

struct kube_loop {
    struct kube_loop_options options;
    struct kube_config config;
    struct kube_client *client;
    struct watcher nodes, pods;
    struct binder *binder;
    pthread_t thread;

    pthread_mutex_t mutex; /* for what follows; held for memory work only */
    struct bind_job **queue;
    size_t queue_count;
    bool is_stopping;
    struct kube_loop_status status;
};

/* --- watchers -------------------------------------------------------------------------------- */

static void on_watch_begin(void *ctx, int status, unsigned retry_after_s)
{
    struct watcher *watcher = ctx;

    reflector_on_begin(watcher->reflector, status, retry_after_s, clock_monotonic_ms());
}

static void on_watch_bytes(void *ctx, const char *bytes, size_t length)
{
    struct watcher *watcher = ctx;

    reflector_on_bytes(watcher->reflector, bytes, length, clock_monotonic_ms());
}

static void on_watch_end(void *ctx, const struct error *failure, bool was_sent)
{
    struct watcher *watcher = ctx;

    (void)was_sent;
    watcher->call = NULL;
    reflector_on_end(watcher->reflector, failure, clock_monotonic_ms());
}

static void send_watch(struct watcher *watcher, const struct reflector_wish *wish)
{
    struct kube_request request = {
        .path = wish->path,
        .fresh_connection = wish->fresh_connection,
        .ctx = watcher,
        .on_begin = on_watch_begin,
        .on_bytes = on_watch_bytes,
        .on_end = on_watch_end,
    };
    struct error err = {0};

    watcher->call = kube_client_send(watcher->loop->client, &request, &err);
    if (watcher->call == NULL)
        reflector_on_end(watcher->reflector, &err, clock_monotonic_ms());
}

static void cancel_watch(struct watcher *watcher)
{
    if (watcher->call != NULL)
        kube_client_cancel(watcher->loop->client, watcher->call);
    watcher->call = NULL;
}

/* Do all that the reflector wants now. return when it wants to be asked again. */
static uint64_t drive_watch(struct watcher *watcher)
{
    struct reflector_wish wish;

    for (;;) {
        reflector_next(watcher->reflector, clock_monotonic_ms(), &wish);
        switch (wish.action) {
        case REFLECTOR_SEND:
            send_watch(watcher, &wish);
            break;
        case REFLECTOR_CANCEL:
            cancel_watch(watcher);
            break;
        case REFLECTOR_WAIT:
            return wish.wait_until_ms;
        }
    }
}

static void tell_change(struct watcher *watcher)
{
    const struct kube_loop_options *options = &watcher->loop->options;
    const char *problem = reflector_counters(watcher->reflector)->problem;
    char text[ERROR_TEXT_MAX + 64];

    if (strcmp(problem, watcher->told) == 0)
        return;
    snprintf(watcher->told, sizeof watcher->told, "%s", problem);
    if (problem[0] == '\0')
        snprintf(text, sizeof text, "%s: in step with the API server", watcher->name);
    else
        snprintf(text, sizeof text, "%s", problem);
    options->log(options->log_ctx, problem[0] != '\0' ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, text);
}

/* --- binds ----------------------------------------------------------------------------------- */

static void on_bind_begin(void *ctx, int status, unsigned retry_after_s)
{
    struct exchange *exchange = ctx;

    exchange->status = status;
    exchange->retry_after_s = retry_after_s;
}

static void on_bind_bytes(void *ctx, const char *bytes, size_t length)
{
    struct exchange *exchange = ctx;

    buf_add(&exchange->body, bytes, length);
}

static void exchange_free(struct exchange *exchange)
{
    buf_clear(&exchange->body);
    free(exchange);
}

static void on_bind_end(void *ctx, const struct error *failure, bool was_sent)
{
    struct exchange *exchange = ctx;
    struct binder *binder = exchange->loop->binder;
    struct api_answer answer = {
        .status = exchange->status,
        .retry_after_s = exchange->retry_after_s,
        .body = buf_text(&exchange->body),
        .body_length = exchange->body.length,
    };

    if (failure != NULL)
        binder_on_loss(binder, exchange->id, was_sent, failure->text, clock_monotonic_ms());
    else
        binder_on_answer(binder, exchange->id, &answer, clock_monotonic_ms());
    exchange_free(exchange);
}

static void send_bind(struct kube_loop *loop, const struct api_request *wanted)
{
    struct exchange *exchange = xcalloc(1, sizeof *exchange);
    struct kube_request request = {
        .path = wanted->path,
        .body = wanted->body,
        .body_length = wanted->body_length,
        .timeout_ms = wanted->timeout_ms,
        .answer_max_bytes = BIND_ANSWER_MAX_BYTES,
        .fresh_connection = wanted->fresh_connection,
        .ctx = exchange,
        .on_begin = on_bind_begin,
        .on_bytes = on_bind_bytes,
        .on_end = on_bind_end,
    };
    struct error err = {0};

    exchange->loop = loop;
    exchange->id = wanted->id;
    exchange->body = buf_with_max(BIND_ANSWER_MAX_BYTES);
    if (kube_client_send(loop->client, &request, &err) != NULL)
        return;
    exchange_free(exchange);
    binder_on_loss(loop->binder, wanted->id, false, err.text, clock_monotonic_ms());
}

/* Hand the queue to the binder. The jobs count as in flight without a gap. */
static void take_queue(struct kube_loop *loop)
{
    AUTO_FREE struct bind_job **jobs = NULL;
    size_t count;

    pthread_mutex_lock(&loop->mutex);
    count = loop->queue_count;
    if (count > 0) {
        jobs = loop->queue;
        loop->queue = xcalloc(loop->options.binds_max, sizeof *loop->queue);
        loop->queue_count = 0;
        loop->status.binds.in_flight += count;
    }
    pthread_mutex_unlock(&loop->mutex);
    for (size_t i = 0; i < count; i++) {
        struct error err = {0};

        if (binder_submit(loop->binder, jobs[i], clock_monotonic_ms(), &err) < 0) {
            jobs[i]->done(jobs[i]->ctx, BIND_FAILED, err.text);
            bind_job_free(jobs[i]);
        }
    }
}

static uint64_t drive_binds(struct kube_loop *loop)
{
    struct api_request request;

    take_queue(loop);
    while (binder_next_request(loop->binder, clock_monotonic_ms(), &request))
        send_bind(loop, &request);
    return binder_next_due_ms(loop->binder);
}

int kube_loop_submit_bind(struct kube_loop *loop, struct bind_job *steal_job, struct error *err)
{
    bool has_room;

    pthread_mutex_lock(&loop->mutex);
    has_room = !loop->is_stopping &&
               loop->queue_count + loop->status.binds.in_flight < loop->options.binds_max;
    if (has_room)
        loop->queue[loop->queue_count++] = steal_job;
    pthread_mutex_unlock(&loop->mutex);
    if (!has_room)
        return error_set(err, ERR_BUSY, "too many Bindings are in flight, or topofit is stopping");
    kube_client_wakeup(loop->client);
    return 0;
}

/* --- the thread ------------------------------------------------------------------------------ */

/* return false when the loop is to end: it was told to, and no job is left. */
static bool publish(struct kube_loop *loop)
{
    bool goes_on;

    pthread_mutex_lock(&loop->mutex);
    loop->status.nodes = *reflector_counters(loop->nodes.reflector);
    loop->status.pods = *reflector_counters(loop->pods.reflector);
    loop->status.binds = *binder_counters(loop->binder);
    goes_on = !loop->is_stopping ||
              loop->queue_count + loop->status.binds.in_flight > loop->status.binds.settling;
    pthread_mutex_unlock(&loop->mutex);
    return goes_on;
}

static bool is_stopping(struct kube_loop *loop)
{
    bool answer;

    pthread_mutex_lock(&loop->mutex);
    answer = loop->is_stopping;
    pthread_mutex_unlock(&loop->mutex);
    return answer;
}

static uint64_t drive(struct kube_loop *loop)
{
    uint64_t due_ms = drive_binds(loop);
    struct watcher *const watchers[] = {&loop->nodes, &loop->pods};

    for (size_t i = 0; i < ARRAY_LEN(watchers); i++) {
        uint64_t watch_due_ms;

        if (is_stopping(loop)) {
            cancel_watch(watchers[i]);
            continue;
        }
        watch_due_ms = drive_watch(watchers[i]);
        due_ms = watch_due_ms < due_ms ? watch_due_ms : due_ms;
        tell_change(watchers[i]);
    }
    return due_ms;
}

static void *run(void *ctx)
{
    struct kube_loop *loop = ctx;
    uint64_t due_ms, now_ms;

    for (;;) {
        due_ms = drive(loop);
        if (!publish(loop))
            return NULL;
        now_ms = clock_monotonic_ms();
        kube_client_wait(loop->client, due_ms > now_ms ? due_ms - now_ms : 0);
    }
}

void kube_loop_status(struct kube_loop *loop, struct kube_loop_status *out)
{
    pthread_mutex_lock(&loop->mutex);
    *out = loop->status;
    out->binds.in_flight += loop->queue_count;
    pthread_mutex_unlock(&loop->mutex);
}

/* --- start and stop -------------------------------------------------------------------------- */

static void start_watcher(struct kube_loop *loop, struct watcher *watcher,
                          const struct reflector_options *options)
{
    watcher->loop = loop;
    watcher->name = options->kind == KUBE_NODE ? "nodes" : "pods";
    watcher->reflector = reflector_new(options);
    /* "Not listed yet" is no news. */
    snprintf(watcher->told, sizeof watcher->told, "%s",
             reflector_counters(watcher->reflector)->problem);
}

static void loop_free(struct kube_loop *loop)
{
    kube_client_free(loop->client);
    binder_free(loop->binder);
    reflector_free(loop->nodes.reflector);
    reflector_free(loop->pods.reflector);
    pthread_mutex_destroy(&loop->mutex);
    free(loop->queue);
    kube_config_clear(&loop->config);
    free(loop);
}

static uint64_t choose_seed(uint64_t seed)
{
    if (seed == 0 && getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = clock_monotonic_ms();
    return seed;
}

struct kube_loop *kube_loop_start(const struct kube_loop_options *options, struct error *err)
{
    struct kube_loop *loop = xcalloc(1, sizeof *loop);
    uint64_t seed = choose_seed(options->seed);

    assert(options->binds_max > 0 && options->log != NULL);
    loop->options = *options;
    loop->options.steal_config = NULL;
    pthread_mutex_init(&loop->mutex, NULL);
    loop->queue = xcalloc(options->binds_max, sizeof *loop->queue);
    loop->config = *options->steal_config;
    *options->steal_config = (struct kube_config){0};
    loop->binder = binder_new(options->binds_max, seed + 1);
    start_watcher(
        loop, &loop->nodes,
        &(struct reflector_options){.kind = KUBE_NODE, .sink = options->nodes, .seed = seed + 2});
    start_watcher(loop, &loop->pods,
                  &(struct reflector_options){.kind = KUBE_POD,
                                              .selector = UNFINISHED_PODS,
                                              .sink = options->pods,
                                              .seed = seed + 3});
    loop->client = kube_client_new(&loop->config, err);
    if (loop->client == NULL) {
        loop_free(loop);
        return NULL;
    }
    if (pthread_create(&loop->thread, NULL, run, loop) != 0) {
        error_set(err, ERR_IO, "no thread for the API server could be started");
        loop_free(loop);
        return NULL;
    }
    return loop;
}

void kube_loop_stop(struct kube_loop *loop)
{
    if (loop == NULL)
        return;
    pthread_mutex_lock(&loop->mutex);
    loop->is_stopping = true;
    pthread_mutex_unlock(&loop->mutex);
    kube_client_wakeup(loop->client);
    pthread_join(loop->thread, NULL);
    loop_free(loop);
}
