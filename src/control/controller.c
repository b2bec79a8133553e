/* SPDX-License-Identifier: Apache-2.0 */
/* controller - everything of one topofit that talks to the API server over time, as one machine. */
#include "topofit/controller.h"

#include "controller_inside.h"
#include "least.h"
#include "topofit/jitter.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX_BYTES (8u << 20) /* of one object; lists are read as they come */
#define NODE_LOCK_TIMEOUT_MS 300000u
#define PODS_WAIT_MS 1000u   /* at the start, for the lease */
#define QUOTAS_WAIT_MS 5000u /* at the start, nothing is bound before quotas are known */
#define LAST_WORDS_MS 2000u  /* at the end, events are written and doubts settled so long */

/* kube-scheduler looks at pods through the same glass; a pod that finishes is told as deleted. */
#define UNFINISHED_PODS "status.phase!=Succeeded,status.phase!=Failed"

static struct reflector *reflector_of(const struct controller *c, enum machine machine)
{
    switch (machine) {
    case NODE_REFLECTOR:
        return c->nodes;
    case POD_REFLECTOR:
        return c->pods;
    case QUOTA_REFLECTOR:
        return c->quotas;
    case LOCK_KEEPER:
    case BINDER:
    case LEASE:
    case EVENT_QUEUE:
    case WAKER:
    case RECONCILER:
    case MACHINES:
        return NULL;
    }
    return NULL;
}

/* --- life ------------------------------------------------------------------------------------ */

static struct reflector *new_reflector(const struct controller_options *options,
                                       enum kube_kind kind, struct reflector_sink sink,
                                       uint64_t seed)
{
    return reflector_new(&(struct reflector_options){
        .kind = kind,
        .selector = kind == KUBE_POD ? UNFINISHED_PODS : NULL,
        .streams_lists = options->streams_lists,
        .sink = sink,
        .seed = seed,
    });
}

uint64_t controller_network_ms(const struct controller_options *options)
{
    uint64_t margin_ms = options->lease != NULL ? lease_margin_ms(options->lease) : UINT64_MAX;

    return margin_ms < API_NETWORK_MS ? margin_ms : API_NETWORK_MS;
}

static struct lock_keeper *new_lock_keeper(const struct controller *c,
                                           const struct controller_options *options, uint64_t seed)
{
    uint64_t timeout_ms = options->node_lock_timeout_ms;

    return lock_keeper_new(&(struct lock_keeper_options){
        .cluster = options->cluster,
        .binder = c->binder,
        .timeout_ms = timeout_ms != 0 ? timeout_ms : NODE_LOCK_TIMEOUT_MS,
        .key = options->key,
        .seed = seed,
    });
}

struct controller *controller_new(const struct controller_options *options)
{
    struct controller *c = xcalloc(1, sizeof *c);
    struct jitter seeds = {options->seed};
    uint64_t seed[MACHINES];

    for (size_t i = 0; i < ARRAY_LEN(seed); i++)
        seed[i] = jitter_between(&seeds, 0, UINT64_MAX);
    c->binder = binder_new(options->binds_max, seed[BINDER]);
    c->binds_max = options->binds_max;
    c->locks = new_lock_keeper(c, options, seed[LOCK_KEEPER]);
    c->node_sinks = (struct sink_pair){lock_keeper_nodes(c->locks), intake_nodes(options->intake)};
    c->nodes =
        new_reflector(options, KUBE_NODE, sink_pair_sink(&c->node_sinks), seed[NODE_REFLECTOR]);
    c->pods = new_reflector(options, KUBE_POD, intake_pods(options->intake), seed[POD_REFLECTOR]);
    if (options->reads_quotas)
        c->quotas = new_reflector(options, KUBE_QUOTA, intake_quotas(options->intake),
                                  seed[QUOTA_REFLECTOR]);
    if (options->lease != NULL) {
        struct lease_options lease = *options->lease;

        lease.seed = seed[LEASE];
        c->lease = lease_new(&lease);
        c->margin_ms = lease_margin_ms(&lease);
        c->network_ms = controller_network_ms(options);
    }
    if (options->events != NULL) {
        struct event_queue_options events = *options->events;

        events.key = options->key;
        events.seed = seed[EVENT_QUEUE];
        c->events = event_queue_new(&events);
    }
    if (options->wakes)
        c->waker = waker_new(options->cluster, options->history, seed[WAKER]);
    c->orphans = orphan_finder_new(options->cluster);
    c->reconciler = reconciler_new(&(struct reconciler_options){
        .cluster = options->cluster,
        .classes = intake_classes(options->intake),
        .nodes = c->nodes,
        .pods = c->pods,
        .pod_selector = UNFINISHED_PODS,
        .interval_ms = options->reconcile_interval_ms,
        .key = options->key,
        .seed = seed[RECONCILER],
    });
    return c;
}

static void free_call(struct call *call)
{
    buf_clear(&call->body);
    free(call);
}

void controller_free(struct controller *c)
{
    if (c == NULL)
        return;
    while (c->calls != NULL) {
        struct call *next = c->calls->next;

        free_call(c->calls);
        c->calls = next;
    }
    binder_free(c->binder);
    lock_keeper_free(c->locks);
    reconciler_free(c->reconciler);
    orphan_finder_free(c->orphans);
    waker_free(c->waker);
    event_queue_free(c->events);
    lease_free(c->lease);
    reflector_free(c->nodes);
    reflector_free(c->pods);
    reflector_free(c->quotas);
    free(c);
}

/* --- who may bind ---------------------------------------------------------------------------- */

/* Is there an election, and a server to hold it? */
static bool elects(const struct controller *c)
{
    return c->lease != NULL && !lease_is_unsupported(c->lease);
}

static bool leads(const struct controller *c, uint64_t now_ms)
{
    return !elects(c) || now_ms < lease_held_until_ms(c->lease);
}

/*
 * Quotas are waited for only at the start, only so long, and not when we may not read them: they
 * keep nobody from the devices that are there.
 */
static bool waits_for_quotas(const struct controller *c, uint64_t now_ms)
{
    return c->quotas != NULL && reflector_lists_done(c->quotas) == 0 &&
           reflector_counters(c->quotas)->errors == 0 && now_ms < c->began_ms + QUOTAS_WAIT_MS;
}

/*
 * A leader before us may have bound pods that our watch has not shown: what we know has to come
 * from a list that was asked for since.
 */
static bool may_bind(const struct controller *c, uint64_t now_ms)
{
    uint64_t pod_lists = reflector_lists_done(c->pods);

    if (!leads(c, now_ms) || waits_for_quotas(c, now_ms) || reflector_lists_done(c->nodes) == 0 ||
        pod_lists == 0)
        return false;
    return !elects(c) || (c->term == lease_term(c->lease) && pod_lists > c->lists_at_term);
}

/* Jobs that are not done, and those being settled. */
static size_t binds_in_flight(const struct controller *c)
{
    return binder_in_flight(c->binder) + lock_keeper_waiting(c->locks);
}

static void permit(struct controller *c, uint64_t until_ms)
{
    lock_keeper_permit(c->locks, until_ms);
    binder_permit(c->binder, until_ms);
}

static void look_at_lease(struct controller *c, uint64_t now_ms)
{
    uint64_t term;

    if (c->lease == NULL)
        return;
    term = lease_term(c->lease);
    if (term != c->term) {
        c->term = term;
        c->lists_at_term = reflector_lists_done(c->pods);
        reflector_relist(c->pods, now_ms);
    }
    /* Also of what is only being settled: it may still be executed. */
    if (binds_in_flight(c) > 0)
        lease_note_work(c->lease, now_ms);
    if (!elects(c))
        permit(c, UINT64_MAX);
    else
        permit(c, may_bind(c, now_ms) ? lease_held_until_ms(c->lease) + c->margin_ms - c->network_ms
                                      : 0);
}

/* --- the end --------------------------------------------------------------------------------- */

static bool binds_are_answered(const struct controller *c)
{
    return binds_in_flight(c) == binder_settling(c->binder);
}

static bool events_are_over(const struct controller *c, uint64_t now_ms)
{
    return c->events == NULL || event_queue_is_idle(c->events) || now_ms >= c->stop_by_ms;
}

/* Nobody waits for an answer any more, and what can be written is. */
static bool is_done(const struct controller *c, uint64_t now_ms)
{
    if (!c->stopping || !binds_are_answered(c) || !events_are_over(c, now_ms))
        return false;
    return now_ms >= c->stop_by_ms ||
           (binder_settling(c->binder) == 0 && lock_keeper_is_idle(c->locks));
}

/*
 * The lease goes last: until then nobody else shall bind. With a Binding in doubt it is not given
 * up but runs out, which gives the Binding the time to become what it will.
 */
static bool gives_lease_up(const struct controller *c)
{
    return elects(c) && binder_settling(c->binder) == 0;
}

static void look_at_end(struct controller *c, uint64_t now_ms)
{
    if (c->stopping && c->stop_by_ms == UINT64_MAX && binds_are_answered(c))
        c->stop_by_ms = now_ms + LAST_WORDS_MS;
    if (is_done(c, now_ms) && gives_lease_up(c))
        lease_resign(c->lease, now_ms);
}

bool controller_is_stopped(const struct controller *c, uint64_t now_ms)
{
    return is_done(c, now_ms) && (!gives_lease_up(c) || lease_is_resigned(c->lease));
}

void controller_stop(struct controller *c)
{
    if (c->stopping)
        return;
    c->stopping = true;
    lock_keeper_stop(c->locks);
    c->stop_by_ms = UINT64_MAX; /* counted when the last bind is answered */
}

/* --- what is wanted -------------------------------------------------------------------------- */

static struct call *find_call(const struct controller *c, uint64_t id)
{
    for (struct call *call = c->calls; call != NULL; call = call->next) {
        if (call->id == id)
            return call;
    }
    return NULL;
}

static struct call *find_call_of(const struct controller *c, enum machine machine)
{
    for (struct call *call = c->calls; call != NULL; call = call->next) {
        if (call->machine == machine)
            return call;
    }
    return NULL;
}

static void remove_call(struct controller *c, struct call *call)
{
    struct call **place = &c->calls;

    while (*place != call)
        place = &(*place)->next;
    *place = call->next;
    free_call(call);
}

static void want_send(struct controller *c, enum machine machine, const struct api_request *request,
                      struct controller_wish *out)
{
    struct call *call = xcalloc(1, sizeof *call);

    call->id = ++c->last_id;
    call->inner = request->id;
    call->machine = machine;
    call->body = buf_with_max(ANSWER_MAX_BYTES);
    call->next = c->calls;
    c->calls = call;
    out->action = CONTROLLER_SEND;
    out->request = *request;
    out->request.id = call->id;
}

static void want_cancel(struct controller *c, struct call *call, struct controller_wish *out)
{
    out->action = CONTROLLER_CANCEL;
    out->request = (struct api_request){.id = call->id};
    remove_call(c, call);
}

/*
 * At the start, until when the list of the pods waits to hear of the lease. A list that was begun
 * before we come to lead is of no use, and lists are most of what a start costs both sides.
 */
static uint64_t pods_wait_until_ms(const struct controller *c, enum machine machine)
{
    bool waits = machine == POD_REFLECTOR && c->lease != NULL && lease_is_undecided(c->lease);

    return waits ? c->began_ms + PODS_WAIT_MS : 0;
}

static void drive_reflector(struct controller *c, enum machine machine, uint64_t now_ms,
                            struct controller_wish *out)
{
    struct call *call = find_call_of(c, machine);
    struct reflector_wish wish;

    if (c->stopping) {
        if (call != NULL)
            want_cancel(c, call, out);
        return;
    }
    if (now_ms < pods_wait_until_ms(c, machine)) {
        out->wait_until_ms = least(out->wait_until_ms, pods_wait_until_ms(c, machine));
        return;
    }
    if (reflector_of(c, machine) == NULL)
        return;
    do
        reflector_next(reflector_of(c, machine), now_ms, &wish);
    while (wish.action == REFLECTOR_CANCEL && call == NULL); /* it ended by itself meanwhile */
    if (wish.action == REFLECTOR_SEND)
        want_send(c, machine,
                  &(struct api_request){.method = "GET",
                                        .path = wish.path,
                                        .fresh_connection = wish.fresh_connection},
                  out);
    else if (wish.action == REFLECTOR_CANCEL)
        want_cancel(c, call, out);
    else if (wish.wait_until_ms < out->wait_until_ms)
        out->wait_until_ms = wish.wait_until_ms;
}

static void drive(struct controller *c, enum machine machine, struct moment now,
                  struct controller_wish *out)
{
    const struct driver *driver = &controller_drivers[machine];
    struct api_request request;
    uint64_t due_ms;

    if (driver->next == NULL) {
        drive_reflector(c, machine, now.monotonic_ms, out);
    } else if (driver->next(c, now, &request)) {
        want_send(c, machine, &request, out);
    } else {
        due_ms = driver->due_ms(c);
        out->wait_until_ms = due_ms < out->wait_until_ms ? due_ms : out->wait_until_ms;
    }
}

static void look_for_orphans(struct controller *c, uint64_t now_ms, struct controller_wish *out)
{
    bool watch_is_open = reflector_position(c->pods) != NULL;

    if (c->stopping)
        return;
    if (orphan_finder_look(c->orphans, watch_is_open, now_ms))
        reflector_relist(c->pods, now_ms);
    if (watch_is_open)
        out->wait_until_ms = orphan_finder_next_due_ms(c->orphans);
}

void controller_next(struct controller *c, struct moment now, struct controller_wish *out)
{
    *out = (struct controller_wish){.action = CONTROLLER_WAIT, .wait_until_ms = UINT64_MAX};
    if (c->began_ms == 0)
        c->began_ms = now.monotonic_ms;
    look_at_end(c, now.monotonic_ms);
    look_at_lease(c, now.monotonic_ms);
    look_for_orphans(c, now.monotonic_ms, out);
    for (enum machine machine = 0; machine < MACHINES && out->action == CONTROLLER_WAIT; machine++)
        drive(c, machine, now, out);
    if (c->stopping && c->stop_by_ms > now.monotonic_ms && c->stop_by_ms < out->wait_until_ms)
        out->wait_until_ms = c->stop_by_ms;
}

/* --- what arrives ---------------------------------------------------------------------------- */

void controller_on_begin(struct controller *c, uint64_t id, int status, unsigned retry_after_s,
                         uint64_t now_ms)
{
    struct call *call = find_call(c, id);
    struct reflector *reflector;

    if (call == NULL)
        return;
    call->status = status;
    call->retry_after_s = retry_after_s;
    reflector = reflector_of(c, call->machine);
    if (reflector != NULL)
        reflector_on_begin(reflector, status, retry_after_s, now_ms);
    else if (call->machine == RECONCILER)
        reconciler_on_begin(c->reconciler, call->inner, status);
}

void controller_on_bytes(struct controller *c, uint64_t id, const char *bytes, size_t length,
                         uint64_t now_ms)
{
    struct call *call = find_call(c, id);
    struct reflector *reflector;

    if (call == NULL)
        return;
    reflector = reflector_of(c, call->machine);
    if (reflector != NULL)
        reflector_on_bytes(reflector, bytes, length, now_ms);
    else if (call->machine == RECONCILER)
        reconciler_on_bytes(c->reconciler, call->inner, bytes, length);
    else
        buf_add(&call->body, bytes, length);
}

static void end_whole(struct controller *c, const struct call *call, const struct error *failure,
                      bool was_sent, uint64_t now_ms)
{
    const struct driver *driver = &controller_drivers[call->machine];
    struct api_answer answer = {
        .status = call->status,
        .retry_after_s = call->retry_after_s,
        .body = buf_text(&call->body),
        .body_length = call->body.length,
    };

    if (failure != NULL)
        driver->on_loss(c, call->inner, was_sent, failure->text, now_ms);
    else if (call->status == 0 || call->body.overflowed)
        driver->on_loss(c, call->inner, true, "the answer has no status, or is too long", now_ms);
    else
        driver->on_answer(c, call->inner, &answer, now_ms);
}

void controller_on_end(struct controller *c, uint64_t id, const struct error *failure,
                       bool was_sent, uint64_t now_ms)
{
    struct call *call = find_call(c, id);
    struct reflector *reflector;

    if (call == NULL)
        return;
    reflector = reflector_of(c, call->machine);
    if (reflector != NULL)
        reflector_on_end(reflector, failure, now_ms);
    else if (call->machine == RECONCILER)
        reconciler_on_end(c->reconciler, call->inner, failure, now_ms);
    else
        end_whole(c, call, failure, was_sent, now_ms);
    remove_call(c, call);
}

/* --- what is asked of us --------------------------------------------------------------------- */

int controller_submit_bind(struct controller *c, struct bind_job *steal_job, uint64_t now_ms,
                           struct error *err)
{
    look_at_lease(c, now_ms);
    if (c->stopping)
        return error_set(err, ERR_BUSY, "topofit is stopping");
    if (waits_for_quotas(c, now_ms))
        return error_set(err, ERR_BUSY, "the namespaces' quotas have not been listed yet");
    if (!may_bind(c, now_ms))
        return error_set(err, ERR_BUSY, "this topofit is not the leader");
    if (steal_job->term != c->term)
        return error_set(err, ERR_BUSY, "this topofit was not the leader for a while");
    if (c->lease != NULL)
        lease_note_work(c->lease, now_ms);
    /* So that the binder has room for those that wait when their turn comes. */
    if (binds_in_flight(c) - binder_settling(c->binder) >= c->binds_max)
        return error_set(err, ERR_BUSY, "%zu Bindings are in flight already", c->binds_max);
    if (steal_job->lock != NODE_LOCK_NONE)
        return lock_keeper_submit(c->locks, steal_job, now_ms, err);
    return binder_submit(c->binder, steal_job, now_ms, err);
}

void controller_want_lead(struct controller *c, uint64_t now_ms)
{
    if (c->lease != NULL && !leads(c, now_ms) && !c->stopping)
        lease_want(c->lease, now_ms);
}

void controller_add_event(struct controller *c, const struct cluster_event *event,
                          struct moment now)
{
    if (c->events != NULL)
        event_queue_add(c->events, event, now);
}

void controller_reconcile(struct controller *c)
{
    reconciler_ask(c->reconciler);
}

/* --- for people ------------------------------------------------------------------------------ */

static void read_copy(const struct reflector *reflector, struct copy_status *out)
{
    out->counters = *reflector_counters(reflector);
    out->watching = reflector_position(reflector) != NULL;
    snprintf(out->problem, sizeof out->problem, "%s", reflector_problem(reflector));
}

void controller_read_status(const struct controller *c, uint64_t now_ms,
                            struct controller_status *out)
{
    *out = (struct controller_status){
        .binds = *binder_counters(c->binder),
        .binds_in_flight = binds_in_flight(c),
        .binds_settling = binder_settling(c->binder),
        .locks = *lock_keeper_counters(c->locks),
        .locks_waiting = lock_keeper_waiting(c->locks),
        .reconciles = *reconciler_counters(c->reconciler),
        .elects = c->lease != NULL,
        .leads = leads(c, now_ms),
        .may_bind = may_bind(c, now_ms),
        .term = c->term,
        .stopping = c->stopping,
    };
    read_copy(c->nodes, &out->nodes);
    read_copy(c->pods, &out->pods);
    if (c->quotas != NULL)
        read_copy(c->quotas, &out->quotas);
    snprintf(out->lock_problem, sizeof out->lock_problem, "%s", lock_keeper_problem(c->locks));
    snprintf(out->last_broken_lock, sizeof out->last_broken_lock, "%s",
             lock_keeper_last_broken(c->locks));
    if (c->events != NULL) {
        out->events = *event_queue_counters(c->events);
        snprintf(out->event_problem, sizeof out->event_problem, "%s",
                 event_queue_problem(c->events));
    }
    if (c->waker != NULL) {
        out->wakes = *waker_counters(c->waker);
        snprintf(out->wake_problem, sizeof out->wake_problem, "%s", waker_problem(c->waker));
    }
    if (c->lease == NULL)
        return;
    out->lease = *lease_counters(c->lease);
    snprintf(out->holder, sizeof out->holder, "%s", lease_holder(c->lease));
    snprintf(out->lease_problem, sizeof out->lease_problem, "%s", lease_problem(c->lease));
}

const struct reconciler_report *controller_report(const struct controller *c)
{
    return reconciler_report(c->reconciler);
}

bool controller_is_comparing(const struct controller *c)
{
    return reconciler_is_running(c->reconciler);
}
