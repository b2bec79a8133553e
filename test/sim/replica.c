/* SPDX-License-Identifier: Apache-2.0 */
/* replica - one topofit: the production code of a daemon, without its sockets and threads. */
#include "replica.h"

#include "checker.h"
#include "network.h"
#include "plant.h"
#include "scheduler.h"
#include "turnover.h"

#include "topofit/class.h"
#include "topofit/controller.h"
#include "topofit/extender.h"
#include "topofit/history.h"
#include "topofit/intake.h"
#include "topofit/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINDS_MAX 32
#define MEMO_SLOTS 256
#define WISHES_MAX 2000   /* at one moment: more is a loop without end */
#define IDLE_TURNS_MAX 50 /* asked to be asked again at once, with nothing to do */
#define RATE_PARTS 1000000
#define QUEUE_GAP_MS 60000u
#define HELD_LOOK_MS 100u

struct replica {
    struct world *world;
    size_t index;
    uint64_t life; /* 0: never started */
    bool is_alive, is_stopping, is_dying;
    uint64_t paused_until_ms, pauses;
    int64_t rate_ppm;
    uint64_t monotonic_at_0_ms, unix_at_0_ms;
    uint64_t timer_at_ms, timers;
    unsigned idle_turns;
    uint64_t acquired_before; /* in earlier lives */
    uint64_t differences_before, comparisons_before;

    struct lease_options lease;
    uint64_t bind_timeout_ms, reconcile_interval_ms;
    bool streams_lists;

    struct class_table classes;
    struct cluster *cluster;
    struct history *history, *scratch;
    struct recall *recall;
    struct gputopo_memo *memo;
    struct intake *intake;
    struct controller *controller;
    struct extender extender;
    bool leads, may_bind, lead_is_wanted; /* as the loop published it; as others asked */
    uint64_t term;
    struct bind_job *jobs[BINDS_MAX]; /* handed over, not taken yet */
    size_t job_count;
    uint64_t held_until_ms; /* nobody takes them until then, or until it leads once more */
};

/* A bind call on its way through a replica. */
struct asked {
    struct replica *replica;
    uint64_t question;
    char *name, *uid, *node;
};

/* --- clocks ---------------------------------------------------------------------------------- */

static uint64_t monotonic_ms(const struct replica *replica, uint64_t world_ms)
{
    return replica->monotonic_at_0_ms +
           (uint64_t)((int64_t)world_ms * (RATE_PARTS + replica->rate_ppm) / RATE_PARTS);
}

/* The first moment of the world at which the replica's clock shows this. */
static uint64_t world_ms(const struct replica *replica, uint64_t at_ms)
{
    uint64_t since_ms, guess_ms;

    if (at_ms <= replica->monotonic_at_0_ms)
        return 0;
    since_ms = at_ms - replica->monotonic_at_0_ms;
    guess_ms = (uint64_t)((double)since_ms * RATE_PARTS / (double)(RATE_PARTS + replica->rate_ppm));
    guess_ms = guess_ms > 2 ? guess_ms - 2 : 0;
    while (monotonic_ms(replica, guess_ms) < at_ms)
        guess_ms++;
    return guess_ms;
}

static struct moment moment_of(const struct replica *replica)
{
    uint64_t now_ms = replica->world->now_ms;

    return (struct moment){monotonic_ms(replica, now_ms), replica->unix_at_0_ms + now_ms};
}

static uint64_t now_of(const struct replica *replica)
{
    return moment_of(replica).monotonic_ms;
}

void replica_jump_clock(struct replica *replica)
{
    struct jitter *chance = &replica->world->chance;

    replica->unix_at_0_ms = chance_between(chance, 1600000000000u, 2000000000000u);
    TRACE(replica->world, "r%zu   clock set", replica->index);
}

/* --- life ------------------------------------------------------------------------------------ */

void replica_configure(struct world *world)
{
    static const struct sim_setup terms[] = {
        {15000, 10000, 2000, 0}, /* as it comes */
        {6000, 4000, 1300, 0},
        {4000, 3000, 1000, 0},
        {2000, 1400, 600, 0},
    };
    static const uint64_t timeouts_ms[] = {2000, 3000, 6000, 20000, 60000};

    world->setup = terms[chance_pick(&world->chance, ARRAY_LEN(terms))];
    world->setup.bind_timeout_ms = timeouts_ms[chance_pick(&world->chance, ARRAY_LEN(timeouts_ms))];
}

struct replica *replica_new(struct world *world, size_t index)
{
    static const uint64_t intervals_ms[] = {0, 20000, 60000, 300000};
    struct replica *replica = xcalloc(1, sizeof *replica);

    replica->world = world;
    replica->index = index;
    replica->reconcile_interval_ms = intervals_ms[chance_pick(&world->chance, 4)];
    replica->streams_lists = chance_hits(&world->chance, 5000);
    replica->rate_ppm = (int64_t)chance_between(&world->chance, 0, 10000) - 5000;
    replica->monotonic_at_0_ms = chance_between(&world->chance, 1, 1u << 30);
    replica->unix_at_0_ms = chance_between(&world->chance, 1700000000000u, 1900000000000u);
    classes_builtin(&replica->classes);
    replica->memo = gputopo_memo_new(MEMO_SLOTS);
    return replica;
}

static void tear_down(struct replica *replica)
{
    replica->is_dying = true;
    for (size_t i = 0; i < replica->job_count; i++) {
        replica->jobs[i]->done(replica->jobs[i]->ctx, BIND_FAILED, "");
        bind_job_free(replica->jobs[i]);
    }
    replica->job_count = 0;
    controller_free(replica->controller);
    intake_free(replica->intake);
    history_free(replica->history);
    history_free(replica->scratch);
    recall_free(replica->recall);
    cluster_free(replica->cluster);
    replica->controller = NULL;
    replica->is_alive = replica->is_dying = replica->is_stopping = false;
    replica->paused_until_ms = 0;
}

void replica_free(struct replica *replica)
{
    if (replica == NULL)
        return;
    if (replica->is_alive)
        tear_down(replica);
    gputopo_memo_free(replica->memo);
    class_table_clear(&replica->classes);
    free(replica);
}

static int check_bind(void *ctx, uint64_t *term, struct error *err);
static int submit_bind(void *ctx, struct bind_job *steal_job, struct error *err);
static void tell_event(void *ctx, const struct pod_event *event);
static void publish(struct replica *replica);

static void read_setup(struct replica *replica)
{
    const struct sim_setup *setup = &replica->world->setup;

    replica->bind_timeout_ms = setup->bind_timeout_ms;
    replica->lease = (struct lease_options){.duration_ms = setup->lease_duration_ms,
                                            .renew_deadline_ms = setup->renew_deadline_ms,
                                            .retry_ms = setup->retry_ms};
}

static void build(struct replica *replica)
{
    static const struct hash_key key = {{7, 11}};
    char identity[64];

    snprintf(identity, sizeof identity, "r%zu-%" PRIu64, replica->index, replica->life);
    read_setup(replica);
    replica->cluster = cluster_new(&key);
    replica->history = history_new(&key);
    replica->scratch = history_new(&key);
    replica->recall = recall_new();
    replica->intake =
        intake_new(replica->cluster, &replica->classes, &(struct intake_listener){.ctx = NULL});
    replica->lease.namespace = "topofit";
    replica->lease.name = "topofit";
    replica->lease.identity = identity;
    replica->lease.seed = chance_between(&replica->world->chance, 0, UINT64_MAX);
    replica->controller = controller_new(&(struct controller_options){
        .intake = replica->intake,
        .cluster = replica->cluster,
        .history = replica->history,
        .binds_max = BINDS_MAX,
        .streams_lists = replica->streams_lists,
        .reads_quotas = true, /* there are none: it must make no difference */
        .reconcile_interval_ms = replica->reconcile_interval_ms,
        .wakes = true,
        .lease = &replica->lease,
        .events = &(struct event_queue_options){.controller = "topofit.io/extender",
                                                .instance = identity,
                                                .burst = 25,
                                                .per_second = 5,
                                                .seed = chance_between(&replica->world->chance, 0,
                                                                       UINT64_MAX)},
        .key = key,
        .seed = chance_between(&replica->world->chance, 0, UINT64_MAX),
    });
    replica->extender = (struct extender){
        .cluster = replica->cluster,
        .classes = &replica->classes,
        .memo = replica->memo,
        .history = replica->history,
        .recall = replica->recall,
        .binder = {.ctx = replica, .check = check_bind, .submit = submit_bind},
        .observer = {.ctx = replica, .on_event = tell_event},
        .options = {.policy = decide_policy_default(), .bind_timeout_ms = replica->bind_timeout_ms},
    };
}

void replica_start(struct replica *replica)
{
    if (replica->is_alive)
        return;
    replica->life++;
    replica->is_alive = true;
    replica->timer_at_ms = UINT64_MAX;
    replica->held_until_ms = 0;
    replica->idle_turns = 0;
    build(replica);
    TRACE(replica->world, "r%zu   starts, life %" PRIu64, replica->index, replica->life);
    replica_drive(replica);
}

static void end_process(struct replica *replica, const char *how)
{
    struct controller_status status;

    TRACE(replica->world, "r%zu   %s", replica->index, how);
    controller_read_status(replica->controller, now_of(replica), &status);
    replica->acquired_before += status.lease.acquired;
    replica->differences_before += status.reconciles.differences;
    replica->comparisons_before += status.reconciles.comparisons;
    network_abandon(replica->world->network, replica->index);
    scheduler_on_crash(replica->world->scheduler, replica->index);
    tear_down(replica);
}

void replica_crash(struct replica *replica)
{
    if (replica->is_alive)
        end_process(replica, "is killed");
}

void replica_stop(struct replica *replica)
{
    if (!replica->is_alive || replica->is_stopping)
        return;
    TRACE(replica->world, "r%zu   is to stop", replica->index);
    replica->is_stopping = true;
    controller_stop(replica->controller);
    replica_drive(replica);
}

uint64_t replica_network_ms(const struct replica *replica)
{
    return controller_network_ms(&(struct controller_options){.lease = &replica->lease});
}

bool replica_may_bind(const struct replica *replica)
{
    return replica->is_alive && replica->paused_until_ms == 0 && replica->may_bind;
}

bool replica_is_alive(const struct replica *replica)
{
    return replica->is_alive;
}

/* --- pauses ---------------------------------------------------------------------------------- */

static bool on_resume(void *ctx, uint64_t number)
{
    struct replica *replica = ctx;

    if (replica->pauses != number || replica->paused_until_ms == 0)
        return false;
    replica_resume(replica);
    return true;
}

void replica_pause(struct replica *replica, uint64_t for_ms)
{
    if (!replica->is_alive || replica->paused_until_ms > 0 || for_ms == 0)
        return;
    TRACE(replica->world, "r%zu   is paused for %" PRIu64 " ms", replica->index, for_ms);
    replica->paused_until_ms = replica->world->now_ms + for_ms;
    world_plan(replica->world, for_ms, on_resume, replica, ++replica->pauses);
}

void replica_resume(struct replica *replica)
{
    if (replica->paused_until_ms == 0)
        return;
    TRACE(replica->world, "r%zu   goes on", replica->index);
    replica->paused_until_ms = 0;
    replica_drive(replica);
}

uint64_t replica_paused_until_ms(const struct replica *replica)
{
    return replica->paused_until_ms;
}

static bool is_running(const struct replica *replica)
{
    return replica->is_alive && replica->paused_until_ms == 0;
}

/* --- the machine ----------------------------------------------------------------------------- */

static bool on_timer(void *ctx, uint64_t number)
{
    struct replica *replica = ctx;

    if (replica->timers != number || !is_running(replica))
        return false;
    replica->timer_at_ms = UINT64_MAX;
    replica_drive(replica);
    return true;
}

static void set_timer(struct replica *replica, uint64_t due_ms)
{
    struct world *world = replica->world;
    uint64_t at_ms = due_ms == UINT64_MAX ? UINT64_MAX : world_ms(replica, due_ms);

    if (at_ms <= world->now_ms) {
        at_ms = world->now_ms + 1;
        if (++replica->idle_turns > IDLE_TURNS_MAX)
            world_fail(world, "r%zu wants to be asked again and again, and does nothing",
                       replica->index);
    } else {
        replica->idle_turns = 0;
    }
    if (at_ms == replica->timer_at_ms)
        return;
    replica->timer_at_ms = at_ms;
    replica->timers++;
    if (at_ms != UINT64_MAX)
        world_plan(world, at_ms - world->now_ms, on_timer, replica, replica->timers);
}

/* For a planted mistake: it is stopped before it sends what it has decided to send. */
static uint64_t choose_hold_ms(struct replica *replica, const struct api_request *request)
{
    struct world *world = replica->world;
    uint64_t hold_ms;

    if (!plant_is(world, PLANT_LATE_WISH) || strstr(request->path, "/binding") == NULL ||
        world->is_calm)
        return 0;
    hold_ms = turnover_on_pause(world->turnover, replica->index);
    if (hold_ms == 0 && chance_hits(&world->chance, 500))
        hold_ms = chance_wait_ms(&world->chance, 60000);
    return hold_ms;
}

static void send(struct replica *replica, const struct api_request *request)
{
    struct world *world = replica->world;
    uint64_t hold_ms = choose_hold_ms(replica, request);

    network_send(world->network, replica->index, hold_ms,
                 &(struct wire_request){.wish = request->id,
                                        .method = request->method,
                                        .path = request->path,
                                        .content_type = request->content_type,
                                        .body = request->body,
                                        .body_length = request->body_length,
                                        .timeout_ms = request->timeout_ms});
    replica_pause(replica, hold_ms);
}

/* return false when it is to be asked no more. */
static bool take_wish(struct replica *replica)
{
    struct controller_wish wish;

    controller_next(replica->controller, moment_of(replica), &wish);
    switch (wish.action) {
    case CONTROLLER_SEND:
        replica->idle_turns = 0;
        send(replica, &wish.request);
        return true;
    case CONTROLLER_CANCEL:
        replica->idle_turns = 0;
        TRACE(replica->world, "r%zu    drops #%" PRIu64, replica->index, wish.request.id);
        network_cancel(replica->world->network, replica->index, wish.request.id);
        return true;
    case CONTROLLER_WAIT:
        set_timer(replica, wish.wait_until_ms);
        return false;
    }
    return false;
}

void replica_drive(struct replica *replica)
{
    struct world *world = replica->world;

    for (unsigned i = 0; is_running(replica); i++) {
        if (i > WISHES_MAX) {
            world_fail(world, "r%zu has wishes without end", replica->index);
            return;
        }
        if (!take_wish(replica))
            break;
        if (world_fault(world, FAULT_CRASH_BETWEEN_WISHES))
            replica_crash(replica);
        else if (world_fault(world, FAULT_PAUSE_BETWEEN_WISHES))
            replica_pause(replica, chance_wait_ms(&world->chance, 60000));
    }
    if (replica->is_alive)
        publish(replica);
    if (is_running(replica) && replica->is_stopping &&
        controller_is_stopped(replica->controller, now_of(replica)))
        end_process(replica, "has stopped");
}

void replica_reconcile(struct replica *replica)
{
    if (!is_running(replica))
        return;
    controller_reconcile(replica->controller);
    replica_drive(replica);
}

void replica_on_begin(struct replica *replica, uint64_t wish, int status, unsigned retry_after_s)
{
    if (replica->is_alive)
        controller_on_begin(replica->controller, wish, status, retry_after_s, now_of(replica));
}

void replica_on_bytes(struct replica *replica, uint64_t wish, const char *bytes, size_t length)
{
    if (replica->is_alive)
        controller_on_bytes(replica->controller, wish, bytes, length, now_of(replica));
}

void replica_on_end(struct replica *replica, uint64_t wish, const struct error *failure,
                    bool was_sent)
{
    if (replica->is_alive)
        controller_on_end(replica->controller, wish, failure, was_sent, now_of(replica));
}

/* --- binding: what a loop does between the port and the machine ------------------------------ */

static void take_jobs(struct replica *replica)
{
    for (size_t i = 0; i < replica->job_count; i++) {
        struct bind_job *job = replica->jobs[i];
        struct error err = {0};

        if (controller_submit_bind(replica->controller, job, now_of(replica), &err) == 0)
            continue;
        job->done(job->ctx, BIND_FAILED, err.text);
        bind_job_free(job);
    }
    replica->job_count = 0;
}

static bool are_jobs_held(const struct replica *replica)
{
    bool leads_again =
        replica->may_bind && replica->job_count > 0 && replica->jobs[0]->term != replica->term;

    return !replica->world->is_calm && replica->world->now_ms < replica->held_until_ms &&
           !leads_again;
}

static bool on_queue(void *ctx, uint64_t life)
{
    struct replica *replica = ctx;

    if (replica->life != life || !replica->is_alive ||
        (replica->job_count == 0 && !replica->lead_is_wanted))
        return false;
    if (replica->paused_until_ms > 0) {
        world_plan(replica->world, replica->paused_until_ms - replica->world->now_ms, on_queue,
                   replica, life);
        return true;
    }
    if (are_jobs_held(replica))
        world_plan(replica->world, HELD_LOOK_MS, on_queue, replica, life);
    else
        take_jobs(replica);
    if (replica->lead_is_wanted)
        controller_want_lead(replica->controller, now_of(replica));
    replica->lead_is_wanted = false;
    replica_drive(replica);
    return true;
}

/* What the other threads see is what the loop published at the end of its last turn. */
static void publish(struct replica *replica)
{
    struct controller_status status;

    controller_read_status(replica->controller, now_of(replica), &status);
    replica->leads = status.leads;
    replica->may_bind = status.may_bind;
    replica->term = status.term;
}

static int check_bind(void *ctx, uint64_t *term, struct error *err)
{
    struct replica *replica = ctx;

    *term = replica->term;
    if (replica->may_bind)
        return 0;
    if (replica->leads)
        return error_set(err, ERR_BUSY, "topofit came to lead just now and is listing the pods");
    replica->lead_is_wanted = true;
    world_plan(replica->world, 0, on_queue, replica, replica->life);
    return error_set(err, ERR_BUSY, "this topofit is not the leader");
}

/* A job between the extender and the machine, for two planted mistakes. */
struct shim {
    void (*done)(void *ctx, enum bind_outcome outcome, const char *text);
    void *ctx;
    enum bind_outcome instead;
};

static void on_shim_done(void *ctx, enum bind_outcome outcome, const char *text)
{
    struct shim *shim = ctx;

    shim->done(shim->ctx, outcome == BIND_UNCLEAR ? shim->instead : outcome, text);
    if (outcome != BIND_UNCLEAR)
        free(shim);
}

static void on_shim_settled(void *ctx, enum bind_outcome outcome)
{
    (void)outcome;
    free(ctx);
}

static void misunderstand(struct world *world, struct bind_job *job)
{
    struct shim *shim;

    if (!plant_is(world, PLANT_RELEASE_ON_TIMEOUT) && !plant_is(world, PLANT_SUCCESS_ON_DOUBT))
        return;
    shim = xcalloc(1, sizeof *shim);
    *shim = (struct shim){job->done, job->ctx,
                          plant_is(world, PLANT_SUCCESS_ON_DOUBT) ? BIND_BOUND : BIND_FAILED};
    job->done = on_shim_done;
    job->settled = on_shim_settled;
    job->ctx = shim;
}

static int submit_bind(void *ctx, struct bind_job *steal_job, struct error *err)
{
    struct replica *replica = ctx;
    struct world *world = replica->world;
    uint64_t gap_ms = 0;

    if (replica->job_count == BINDS_MAX)
        return error_set(err, ERR_BUSY, "too many Bindings are in flight");
    misunderstand(world, steal_job);
    replica->jobs[replica->job_count++] = steal_job;
    if (replica->job_count == 1 && turnover_on_job(world->turnover, replica->index))
        replica->held_until_ms = world->now_ms + replica->bind_timeout_ms * 9 / 10;
    if (world_fault(world, FAULT_QUEUE_GAP))
        gap_ms = chance_wait_ms(&world->chance, QUEUE_GAP_MS);
    world_plan(world, gap_ms, on_queue, replica, replica->life);
    return 0;
}

/* --- questions ------------------------------------------------------------------------------- */

static void tell_event(void *ctx, const struct pod_event *event)
{
    struct replica *replica = ctx;

    if (replica->is_dying)
        return;
    controller_add_event(replica->controller,
                         &(struct cluster_event){
                             .is_warning = event->is_warning,
                             .reason = event->reason,
                             .action = event->action,
                             .note = event->note,
                             .regarding = {.kind = KUBE_POD,
                                           .namespace = event->pod->namespace,
                                           .name = event->pod->name,
                                           .uid = event->pod->uid},
                         },
                         moment_of(replica));
}

static void on_bound(void *ctx, const char *body, size_t length)
{
    struct asked *asked = ctx;
    struct replica *replica = asked->replica;
    bool is_bound = strstr(body, "\"Error\":\"\"") != NULL;

    if (!replica->is_dying) {
        TRACE(replica->world, "r%zu   bind of %s (%s) to %s: %.100s", replica->index, asked->name,
              asked->uid, asked->node, body);
        checker_on_bind_answer(replica->world->checker, asked->uid, asked->node, is_bound);
        scheduler_on_answer(replica->world->scheduler, asked->question, body, length);
    }
    free(asked->name);
    free(asked->uid);
    free(asked->node);
    free(asked);
}

static char *text_behind(const char *body, const char *key)
{
    const char *start = strstr(body, key);

    if (start == NULL)
        return xstrdup("");
    start += strlen(key);
    return xasprintf("%.*s", (int)strcspn(start, "\""), start);
}

static void ask_bind(struct replica *replica, const char *body, size_t length, uint64_t question)
{
    struct world *world = replica->world;
    struct asked *asked = xcalloc(1, sizeof *asked);
    struct error err = {0};

    *asked = (struct asked){replica, question, text_behind(body, "\"PodName\":\""),
                            text_behind(body, "\"PodUID\":\""), text_behind(body, "\"Node\":\"")};
    if (extender_bind(&replica->extender, body, length, moment_of(replica), on_bound, asked, &err) <
        0)
        world_fail(world, "a bind call is taken for a bad request: %s", err.text);
    if (world_fault(world, FAULT_CRASH_IN_BIND))
        replica_crash(replica);
}

void replica_ask(struct replica *replica, enum verb verb, const char *body, size_t length,
                 uint64_t question)
{
    AUTO(buf_clear) struct buf out = buf_with_max(4u << 20);
    struct error err = {0};

    if (verb == VERB_BIND) {
        ask_bind(replica, body, length, question);
    } else {
        if ((verb == VERB_FILTER ? extender_filter : extender_prioritize)(
                &replica->extender, body, length, moment_of(replica), &out, &err) < 0)
            scheduler_on_answer(replica->world->scheduler, question, NULL, 0);
        else
            scheduler_on_answer(replica->world->scheduler, question, buf_text(&out), out.length);
    }
    replica_drive(replica);
}

bool replica_would_keep(struct replica *replica, const char *body, size_t length)
{
    AUTO(buf_clear) struct buf out = buf_with_max(4u << 20);
    struct extender extender = replica->extender;
    struct error err = {0};

    extender.history = replica->scratch;
    return extender_filter(&extender, body, length, moment_of(replica), &out, &err) == 0 &&
           strstr(buf_text(&out), "\"NodeNames\":[\"") != NULL;
}

/* --- state ----------------------------------------------------------------------------------- */

void replica_read_state(const struct replica *replica, struct replica_state *out)
{
    struct controller_status status;

    *out = (struct replica_state){.acquired = replica->acquired_before,
                                  .differences = replica->differences_before,
                                  .comparisons = replica->comparisons_before};
    if (!replica->is_alive)
        return;
    controller_read_status(replica->controller, now_of(replica), &status);
    out->leads = status.leads;
    out->may_bind = status.may_bind;
    out->watches = status.nodes.watching && status.pods.watching;
    out->acquired += status.lease.acquired;
    out->differences += status.reconciles.differences;
    out->comparisons += status.reconciles.comparisons;
    out->events_waiting = status.events.waiting;
    out->binds_in_flight = status.binds_in_flight;
    snprintf(out->problem, sizeof out->problem, "%s%s%s", status.pods.problem, status.nodes.problem,
             status.lease_problem);
}

struct cluster *replica_cluster(const struct replica *replica)
{
    return replica->cluster;
}

const char *replica_difference(const struct replica *replica)
{
    const struct reconciler_report *report =
        replica->is_alive ? controller_report(replica->controller) : NULL;

    return report != NULL && report->difference_count > 0 ? report->differences[0] : "";
}
