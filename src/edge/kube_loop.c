/* SPDX-License-Identifier: Apache-2.0 */
/* kube_loop - the thread that talks to the API server. */
#include "topofit/kube_loop.h"

#include "kube_news.h"
#include "topofit/clock.h"
#include "topofit/kube_client.h"
#include "topofit/mem.h"
#include "topofit/secret.h"

#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define TURN_MAX_MS 5000u /* so that whoever watches the loop sees it turn */
#define NOTES_MAX 256u    /* events told and not taken over yet */

/* A request in flight. */
struct exchange {
    struct exchange *next;
    struct kube_loop *loop;
    uint64_t id; /* the controller's */
    struct kube_call *call;
};

/* Who waits for a report. */
struct asker {
    kube_loop_on_report on_report;
    void *ctx;
    uint64_t after; /* the number of the last report that is too old */
    uint64_t until_ms;
};

/* An event with strings of its own. */
struct note {
    struct cluster_event event;
    char *texts[6];
};

struct kube_loop {
    struct kube_loop_options options;
    struct kube_config config;
    struct kube_client *client;
    struct controller *controller;
    struct exchange *exchanges;
    struct kube_news *news;
    struct bind_job **taken; /* the other: jobs on their way to the controller */
    pthread_t thread;
    uint64_t lists_seen; /* complete ones, those of comparisons included */
    bool is_running;     /* the thread is to be joined; of whoever starts and stops the loop */

    pthread_mutex_t mutex;   /* for what follows; held for memory work only */
    struct bind_job **queue; /* one of two, each for binds_max jobs */
    size_t queue_count;
    size_t busy_count; /* jobs that are the controller's, or about to be, and are not answered */
    struct note *notes;
    size_t note_count;
    uint64_t notes_dropped;
    struct asker askers[KUBE_LOOP_ASKERS_MAX];
    size_t asker_count;
    bool is_asked; /* somebody came since the last turn */
    bool lead_is_wanted;
    bool is_stopping;
    struct kube_loop_status status;
};

/* --- requests -------------------------------------------------------------------------------- */

static void on_begin(void *ctx, int status, unsigned retry_after_s)
{
    struct exchange *exchange = ctx;

    controller_on_begin(exchange->loop->controller, exchange->id, status, retry_after_s,
                        clock_monotonic_ms());
}

static void on_bytes(void *ctx, const char *bytes, size_t length)
{
    struct exchange *exchange = ctx;

    controller_on_bytes(exchange->loop->controller, exchange->id, bytes, length,
                        clock_monotonic_ms());
}

static void forget(struct exchange *exchange)
{
    struct exchange **place = &exchange->loop->exchanges;

    while (*place != exchange)
        place = &(*place)->next;
    *place = exchange->next;
    free(exchange);
}

static void on_end(void *ctx, const struct error *failure, bool was_sent)
{
    struct exchange *exchange = ctx;
    struct controller *controller = exchange->loop->controller;
    uint64_t id = exchange->id;

    forget(exchange);
    controller_on_end(controller, id, failure, was_sent, clock_monotonic_ms());
}

static void send_request(struct kube_loop *loop, const struct api_request *wanted)
{
    struct exchange *exchange = xcalloc(1, sizeof *exchange);
    struct kube_request request = {
        .api = *wanted,
        .ctx = exchange,
        .on_begin = on_begin,
        .on_bytes = on_bytes,
        .on_end = on_end,
    };
    struct error err = {0};

    exchange->loop = loop;
    exchange->id = wanted->id;
    exchange->next = loop->exchanges;
    loop->exchanges = exchange;
    exchange->call = kube_client_send(loop->client, &request, &err);
    if (exchange->call != NULL)
        return;
    forget(exchange);
    controller_on_end(loop->controller, wanted->id, &err, false, clock_monotonic_ms());
}

static void cancel_request(struct kube_loop *loop, uint64_t id)
{
    struct exchange *exchange = loop->exchanges;

    while (exchange != NULL && exchange->id != id)
        exchange = exchange->next;
    if (exchange == NULL)
        return;
    kube_client_cancel(loop->client, exchange->call);
    forget(exchange);
}

/* Do all that the controller wants now. return when it wants to be asked again. */
static uint64_t drive(struct kube_loop *loop)
{
    struct controller_wish wish;

    for (;;) {
        controller_next(loop->controller, clock_now(), &wish);
        switch (wish.action) {
        case CONTROLLER_SEND:
            send_request(loop, &wish.request);
            break;
        case CONTROLLER_CANCEL:
            cancel_request(loop, wish.request.id);
            break;
        case CONTROLLER_WAIT:
            return wish.wait_until_ms;
        }
    }
}

/* --- what others hand over ------------------------------------------------------------------- */

static void take_jobs(struct kube_loop *loop, struct bind_job **jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct error err = {0};

        if (controller_submit_bind(loop->controller, jobs[i], clock_monotonic_ms(), &err) == 0)
            continue;
        jobs[i]->done(jobs[i]->ctx, BIND_FAILED, err.text);
        bind_job_free(jobs[i]);
    }
}

static void free_note(struct note *note)
{
    for (size_t i = 0; i < ARRAY_LEN(note->texts); i++)
        free(note->texts[i]);
}

static void take_notes(struct kube_loop *loop, struct note *notes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        controller_add_event(loop->controller, &notes[i].event, clock_now());
        free_note(&notes[i]);
    }
}

/* A comparison that is under way when somebody asks began too early for them. */
static uint64_t oldest_report(const struct controller *controller)
{
    return controller_report(controller)->number + controller_is_comparing(controller);
}

static void note_askers(struct kube_loop *loop)
{
    for (size_t i = 0; i < loop->asker_count; i++) {
        if (loop->askers[i].after == UINT64_MAX)
            loop->askers[i].after = oldest_report(loop->controller);
    }
}

/* Everything that was handed over since the last turn. Jobs count as busy without a gap. */
static void take_over(struct kube_loop *loop)
{
    AUTO_FREE struct note *notes = NULL;
    struct bind_job **jobs;
    size_t job_count, note_count;
    bool is_asked, lead_is_wanted, is_stopping;

    pthread_mutex_lock(&loop->mutex);
    jobs = loop->queue;
    job_count = loop->queue_count;
    loop->queue = loop->taken;
    loop->queue_count = 0;
    loop->taken = jobs;
    loop->busy_count += job_count;
    notes = steal_ptr(&loop->notes);
    note_count = loop->note_count;
    loop->note_count = 0;
    note_askers(loop);
    is_asked = loop->is_asked;
    lead_is_wanted = loop->lead_is_wanted;
    loop->is_asked = loop->lead_is_wanted = false;
    is_stopping = loop->is_stopping;
    pthread_mutex_unlock(&loop->mutex);

    take_jobs(loop, jobs, job_count);
    take_notes(loop, notes, note_count);
    if (lead_is_wanted)
        controller_want_lead(loop->controller, clock_monotonic_ms());
    if (is_asked)
        controller_reconcile(loop->controller);
    if (is_stopping)
        controller_stop(loop->controller);
}

int kube_loop_check_bind(struct kube_loop *loop, uint64_t *term, struct error *err)
{
    struct controller_status *status = &loop->status.controller;
    int result = 0;

    pthread_mutex_lock(&loop->mutex);
    *term = status->term;
    if (loop->is_stopping) {
        result = error_set(err, ERR_BUSY, "topofit is stopping");
    } else if (status->leads && !status->may_bind) {
        result = error_set(err, ERR_BUSY, "topofit came to lead just now and is listing the pods");
    } else if (!status->leads) {
        result = error_set(err, ERR_BUSY, "this topofit is not the leader%s%s%s%s",
                           status->holder[0] != '\0' ? ": it is " : "", status->holder,
                           status->lease_problem[0] != '\0' ? "; " : "", status->lease_problem);
        loop->lead_is_wanted = true;
    }
    pthread_mutex_unlock(&loop->mutex);
    if (result < 0)
        kube_client_wakeup(loop->client);
    return result;
}

int kube_loop_submit_bind(struct kube_loop *loop, struct bind_job *steal_job, struct error *err)
{
    size_t binds_max = loop->options.controller.binds_max;
    bool has_room;

    pthread_mutex_lock(&loop->mutex);
    has_room = !loop->is_stopping && loop->queue_count + loop->busy_count < binds_max;
    if (has_room)
        loop->queue[loop->queue_count++] = steal_job;
    pthread_mutex_unlock(&loop->mutex);
    if (!has_room)
        return error_set(err, ERR_BUSY, "too many Bindings are in flight, or topofit is stopping");
    kube_client_wakeup(loop->client);
    return 0;
}

static void copy_event(const struct cluster_event *event, struct note *out)
{
    const char **const places[] = {
        &out->event.reason,         &out->event.action,
        &out->event.note,           &out->event.regarding.namespace,
        &out->event.regarding.name, &out->event.regarding.uid,
    };

    _Static_assert(ARRAY_LEN(places) == ARRAY_LEN(out->texts), "a text has no place");
    out->event = *event;
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        *places[i] = out->texts[i] = xstrdup(*places[i]);
}

void kube_loop_add_event(struct kube_loop *loop, const struct cluster_event *event)
{
    struct note note;
    bool has_room;

    copy_event(event, &note);
    pthread_mutex_lock(&loop->mutex);
    has_room = loop->note_count < NOTES_MAX;
    if (has_room && loop->notes == NULL)
        loop->notes = xcalloc(NOTES_MAX, sizeof *loop->notes);
    if (has_room)
        loop->notes[loop->note_count++] = note;
    else
        loop->notes_dropped++;
    pthread_mutex_unlock(&loop->mutex);
    if (!has_room)
        free_note(&note);
    kube_client_wakeup(loop->client);
}

/* --- reports --------------------------------------------------------------------------------- */

int kube_loop_reconcile(struct kube_loop *loop, kube_loop_on_report on_report, void *ctx,
                        struct error *err)
{
    bool has_room;

    pthread_mutex_lock(&loop->mutex);
    has_room = loop->asker_count < KUBE_LOOP_ASKERS_MAX && !loop->is_stopping;
    if (has_room)
        loop->askers[loop->asker_count++] = (struct asker){
            .on_report = on_report,
            .ctx = ctx,
            .after = UINT64_MAX, /* known when the loop takes it over */
            .until_ms = clock_monotonic_ms() + KUBE_LOOP_REPORT_MS,
        };
    loop->is_asked = loop->is_asked || has_room;
    pthread_mutex_unlock(&loop->mutex);
    if (!has_room)
        return error_set(err, ERR_BUSY, "too many wait for a comparison, or topofit is stopping");
    kube_client_wakeup(loop->client);
    return 0;
}

/* Take those out who can be answered. is_over: all of them. */
static size_t pick_askers(struct kube_loop *loop, bool is_over,
                          struct asker picked[KUBE_LOOP_ASKERS_MAX])
{
    uint64_t number = controller_report(loop->controller)->number;
    uint64_t now_ms = clock_monotonic_ms();
    size_t count = 0, left = 0;

    pthread_mutex_lock(&loop->mutex);
    for (size_t i = 0; i < loop->asker_count; i++) {
        struct asker *asker = &loop->askers[i];

        if (is_over || number > asker->after || now_ms >= asker->until_ms)
            picked[count++] = *asker;
        else
            loop->askers[left++] = *asker;
    }
    loop->asker_count = left;
    pthread_mutex_unlock(&loop->mutex);
    return count;
}

static void answer_askers(struct kube_loop *loop, bool is_over)
{
    const struct reconciler_report *report = controller_report(loop->controller);
    struct asker picked[KUBE_LOOP_ASKERS_MAX];
    size_t count = pick_askers(loop, is_over, picked);

    for (size_t i = 0; i < count; i++)
        picked[i].on_report(picked[i].ctx, report->number > picked[i].after ? report : NULL);
}

/* --- the thread ------------------------------------------------------------------------------ */

static void publish(struct kube_loop *loop)
{
    struct controller_status status;

    controller_read_status(loop->controller, clock_monotonic_ms(), &status);
    kube_news_tell(loop->news, &status, controller_report(loop->controller));
    pthread_mutex_lock(&loop->mutex);
    status.events.dropped += loop->notes_dropped;
    loop->busy_count = status.binds_in_flight - status.binds_settling;
    loop->status = (struct kube_loop_status){status, clock_monotonic_ms()};
    pthread_mutex_unlock(&loop->mutex);
}

/*
 * While a list comes in there are two pictures of the cluster, so that half of the memory is free
 * afterwards; the C library would keep it.
 */
static void give_memory_back(struct kube_loop *loop)
{
    const struct controller_status *status = &loop->status.controller;
    uint64_t lists =
        status->nodes.counters.lists + status->pods.counters.lists + status->reconciles.comparisons;

    if (lists != loop->lists_seen)
        malloc_trim(0);
    loop->lists_seen = lists;
}

/* Until when to sleep, at most. */
static uint64_t sleep_ms(uint64_t due_ms)
{
    uint64_t now_ms = clock_monotonic_ms();

    if (due_ms <= now_ms)
        return 0;
    return due_ms - now_ms < TURN_MAX_MS ? due_ms - now_ms : TURN_MAX_MS;
}

static void *run(void *ctx)
{
    struct kube_loop *loop = ctx;
    uint64_t due_ms;

    for (;;) {
        answer_askers(loop, false);
        take_over(loop);
        due_ms = drive(loop);
        publish(loop);
        give_memory_back(loop);
        if (controller_is_stopped(loop->controller, clock_monotonic_ms()))
            break;
        kube_client_wait(loop->client, sleep_ms(due_ms));
    }
    answer_askers(loop, true);
    return NULL;
}

void kube_loop_status(struct kube_loop *loop, struct kube_loop_status *out)
{
    pthread_mutex_lock(&loop->mutex);
    *out = loop->status;
    pthread_mutex_unlock(&loop->mutex);
}

bool kube_loop_is_stuck(const struct kube_loop_status *status, uint64_t now_ms)
{
    return now_ms >= status->turned_ms && now_ms - status->turned_ms >= KUBE_LOOP_STUCK_MS;
}

/* --- start and stop -------------------------------------------------------------------------- */

struct kube_loop *kube_loop_new(const struct kube_loop_options *options, struct error *err)
{
    struct kube_loop *loop = xcalloc(1, sizeof *loop);

    assert(options->controller.binds_max > 0 && options->log != NULL);
    loop->options = *options;
    loop->options.steal_config = NULL;
    if (options->controller.seed == 0)
        loop->options.controller.seed = secret_number();
    pthread_mutex_init(&loop->mutex, NULL);
    loop->queue = xcalloc(options->controller.binds_max, sizeof *loop->queue);
    loop->taken = xcalloc(options->controller.binds_max, sizeof *loop->taken);
    loop->config = *options->steal_config;
    *options->steal_config = (struct kube_config){0};
    loop->controller = controller_new(&loop->options.controller);
    loop->news = kube_news_new(options->log, options->log_ctx);
    loop->client = kube_client_new(&loop->config, err);
    if (loop->client == NULL) {
        kube_loop_free(loop);
        return NULL;
    }
    kube_client_set_network_ms(loop->client, controller_network_ms(&options->controller));
    kube_client_set_log(loop->client, options->log, options->log_ctx);
    publish(loop);
    return loop;
}

int kube_loop_start(struct kube_loop *loop, struct error *err)
{
    assert(!loop->is_running && !loop->is_stopping);
    if (pthread_create(&loop->thread, NULL, run, loop) != 0)
        return error_set(err, ERR_IO, "no thread for the API server could be started");
    loop->is_running = true;
    return 0;
}

void kube_loop_stop(struct kube_loop *loop)
{
    if (loop == NULL || !loop->is_running)
        return;
    pthread_mutex_lock(&loop->mutex);
    loop->is_stopping = true;
    pthread_mutex_unlock(&loop->mutex);
    kube_client_wakeup(loop->client);
    pthread_join(loop->thread, NULL);
    loop->is_running = false;
}

void kube_loop_free(struct kube_loop *loop)
{
    if (loop == NULL)
        return;
    kube_loop_stop(loop);
    kube_client_free(loop->client);
    controller_free(loop->controller);
    kube_news_free(loop->news);
    pthread_mutex_destroy(&loop->mutex);
    free(loop->queue);
    free(loop->taken);
    for (size_t i = 0; i < loop->note_count; i++)
        free_note(&loop->notes[i]); /* told when nobody was there any more to write them */
    free(loop->notes);
    kube_config_clear(&loop->config);
    free(loop);
}
