/* SPDX-License-Identifier: Apache-2.0 */
/* network - the way between the replicas and the API server. */
#include "network.h"

#include "checker.h"
#include "plant.h"
#include "replica.h"
#include "turnover.h"
#include "support/api_model.h"

#include "topofit/error.h"
#include "topofit/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVER_LIMIT_MS 60000u /* source: kube-apiserver --request-timeout */
#define NETWORK_DELIVERY_MAX_MS 5000u
#define GIVES_UP_MS 20000u /* when TCP finds out that nobody answers */

enum phase {
    TRAVELLING = 0, /* to the server */
    WORKING,        /* the server does */
    ANSWERING,
    STREAMING,
    SILENT, /* nothing will come; the end of the connection may be noticed */
};

enum fate { FATE_ARRIVES = 0, FATE_REFUSED, FATE_LOST, FATE_VANISHES };

struct call {
    struct call *next;
    uint64_t id;
    size_t replica;
    uint64_t wish;
    enum phase phase;
    enum fate fate;    /* of the request */
    bool is_abandoned; /* nobody waits for an answer any more */
    bool is_over;
    char *method, *path, *content_type, *body;
    size_t body_length;
    uint64_t limit_ms;
    bool runs_out;      /* the server gives up before it has done anything */
    int refusal;        /* a status the server answers instead of executing; 0: none */
    bool has_hard_time; /* a Binding, see turnover.h */

    int status;
    unsigned retry_after_s;
    struct buf answer;
    size_t told;   /* bytes of it */
    size_t cut_at; /* SIZE_MAX: it arrives whole */
    bool has_begun;

    struct api_watch *watch;
    bool is_pump_planned;
    bool is_half_open;
};

struct cut {
    uint64_t requests_until_ms, answers_until_ms, watches_until_ms;
    unsigned parts;
    char pod[64]; /* no answer about it either, until: */
    uint64_t pod_until_ms;
};

struct network {
    struct world *world;
    struct cut cuts[REPLICAS_MAX];
    struct call *calls; /* youngest first */
    uint64_t last_id, bindings;
    bool is_down;
    struct model_answer answer; /* kept for its memory */
    struct buf line;
};

static void work(struct network *network, struct call *call);
static void tell(struct network *network, struct call *call);
static bool on_call(void *ctx, uint64_t id);
static bool on_timeout(void *ctx, uint64_t id);

/* --- calls ----------------------------------------------------------------------------------- */

struct network *network_new(struct world *world)
{
    struct network *network = xcalloc(1, sizeof *network);

    network->world = world;
    return network;
}

static void free_call(struct call *call)
{
    api_watch_free(call->watch);
    buf_clear(&call->answer);
    free(call->method);
    free(call->path);
    free(call->content_type);
    free(call->body);
    free(call);
}

void network_free(struct network *network)
{
    if (network == NULL)
        return;
    while (network->calls != NULL) {
        struct call *next = network->calls->next;

        free_call(network->calls);
        network->calls = next;
    }
    model_answer_clear(&network->answer);
    buf_clear(&network->line);
    free(network);
}

static struct call *find_call(const struct network *network, uint64_t id)
{
    struct call *call = network->calls;

    while (call != NULL && (call->id != id || call->is_over))
        call = call->next;
    return call;
}

/* Calls end in the middle of much; they are freed when nobody looks at one. */
static void sweep(struct network *network)
{
    struct call **place = &network->calls;

    while (*place != NULL) {
        struct call *call = *place;

        if (call->is_over) {
            *place = call->next;
            free_call(call);
        } else {
            place = &call->next;
        }
    }
}

static void plan(struct network *network, const struct call *call, uint64_t in_ms)
{
    world_plan(network->world, in_ms, on_call, network, call->id);
}

/* Whoever reads it is a paused process: later. */
static bool must_wait(struct network *network, const struct call *call, agenda_run run)
{
    uint64_t until_ms = replica_paused_until_ms(network->world->replicas[call->replica]);

    if (call->is_abandoned || until_ms <= network->world->now_ms)
        return false;
    world_plan(network->world, until_ms - network->world->now_ms, run, network, call->id);
    return true;
}

static void end_call(struct network *network, struct call *call, enum error_code code,
                     const char *failure, bool was_sent)
{
    struct world *world = network->world;
    struct error err = {.code = code};

    call->is_over = true;
    if (call->is_abandoned)
        return;
    if (failure != NULL) {
        TRACE(world, "r%zu <- #%" PRIu64 " fails: %s", call->replica, call->wish, failure);
        snprintf(err.text, sizeof err.text, "%s", failure);
    }
    replica_on_end(world->replicas[call->replica], call->wish, failure != NULL ? &err : NULL,
                   was_sent);
}

/* --- sending --------------------------------------------------------------------------------- */

static enum fate choose_fate(struct network *network)
{
    struct world *world = network->world;

    if (network->is_down || world_fault(world, FAULT_REFUSED))
        return FATE_REFUSED;
    if (world_fault(world, FAULT_LOST_BEFORE))
        return FATE_LOST;
    if (world_fault(world, FAULT_SILENT_BEFORE))
        return FATE_VANISHES;
    return FATE_ARRIVES;
}

/* How long it does not get through. */
static uint64_t blocked_ms(struct network *network, uint64_t until_ms, unsigned parts)
{
    struct world *world = network->world;

    return until_ms > world->now_ms && chance_hits(&world->chance, parts) ? until_ms - world->now_ms
                                                                          : 0;
}

/* Does a Binding at a bad time meet with this trouble as well? */
static bool is_hindered(struct world *world, const struct call *call, unsigned parts)
{
    return call->has_hard_time && !world->is_calm && chance_hits(&world->chance, parts);
}

static uint64_t choose_way_ms(struct world *world, const struct call *call, uint64_t most_ms)
{
    return world_fault(world, FAULT_SLOW_REQUEST) || is_hindered(world, call, 2000)
               ? chance_wait_ms(&world->chance, most_ms)
               : chance_between(&world->chance, 0, 3);
}

static uint64_t read_limit_ms(const char *path)
{
    const char *place = strstr(path, "timeout=");
    uint64_t limit_ms = place != NULL && strstr(place, "ms") != NULL
                            ? strtoull(place + strlen("timeout="), NULL, 10)
                            : SERVER_LIMIT_MS;

    return limit_ms < SERVER_LIMIT_MS ? limit_ms : SERVER_LIMIT_MS;
}

static bool is_binding(const struct call *call)
{
    return strcmp(call->method, "POST") == 0 && strstr(call->path, "/binding") != NULL;
}

/* The worst moment for an outage is that of a Binding: its answer, all looks at it, the watch. */
static void cast_doubt(struct network *network, const struct call *call)
{
    struct world *world = network->world;
    struct cut *cut = &network->cuts[call->replica];
    const char *name = strstr(call->path, "/pods/");

    if (!is_binding(call) || name == NULL ||
        (!call->has_hard_time && !world_fault(world, FAULT_DOUBT)))
        return;
    snprintf(cut->pod, sizeof cut->pod, "%.*s", (int)strcspn(name + 6, "/") + 6, name);
    cut->pod_until_ms = world->now_ms + chance_between(&world->chance, 1000, 30000);
    if (!call->has_hard_time || chance_hits(&world->chance, 5000))
        cut->watches_until_ms = world->now_ms + chance_between(&world->chance, 0, 60000);
    TRACE(world, "r%zu   is not told about %s", call->replica, cut->pod);
}

/* Is this call about the pod of which nothing shall be told? */
static bool is_in_doubt(const struct network *network, const struct call *call)
{
    const struct cut *cut = &network->cuts[call->replica];
    const char *place = cut->pod[0] != '\0' ? strstr(call->path, cut->pod) : NULL;

    return place != NULL && network->world->now_ms < cut->pod_until_ms &&
           strchr("/?", place[strlen(cut->pod)]) != NULL;
}

void network_send(struct network *network, size_t replica, uint64_t in_ms,
                  const struct wire_request *request)
{
    struct world *world = network->world;
    struct call *call = xcalloc(1, sizeof *call);
    uint64_t most_ms = request->timeout_ms > 0 ? replica_network_ms(world->replicas[replica])
                                               : NETWORK_DELIVERY_MAX_MS;
    uint64_t blocked, way_ms;

    call->id = ++network->last_id;
    call->replica = replica;
    call->wish = request->wish;
    call->method = xstrdup(request->method);
    call->path = xstrdup(request->path);
    call->content_type = request->content_type != NULL ? xstrdup(request->content_type) : NULL;
    if (request->body != NULL) {
        call->body = xmalloc(request->body_length + 1);
        memcpy(call->body, request->body, request->body_length);
        call->body[request->body_length] = '\0';
        call->body_length = request->body_length;
    }
    plant_request(world, &call->path, call->body, &call->body_length);
    call->limit_ms = read_limit_ms(call->path);
    call->answer = buf_with_max(64u << 20);
    call->cut_at = SIZE_MAX;
    call->fate = choose_fate(network);
    call->next = network->calls;
    network->calls = call;
    call->has_hard_time = is_binding(call) && turnover_on_binding(world->turnover, replica);
    cast_doubt(network, call);
    TRACE(world, "r%zu -> #%" PRIu64 " %s %.140s", replica, call->wish, call->method, call->path);
    blocked =
        blocked_ms(network, network->cuts[replica].requests_until_ms, network->cuts[replica].parts);
    if (blocked > most_ms)
        call->fate = FATE_VANISHES;
    else
        in_ms += blocked;
    way_ms = choose_way_ms(world, call, most_ms);
    plan(network, call, in_ms + (blocked + way_ms > most_ms ? 0 : way_ms));
    if (request->timeout_ms > 0)
        world_plan(world, in_ms + request->timeout_ms, on_timeout, network, call->id);
}

/* The sender is not interested any more. What is on its way stays so. */
static void abandon(struct call *call)
{
    call->is_abandoned = true;
    api_watch_free(call->watch);
    call->watch = NULL;
    if (call->phase >= ANSWERING)
        call->is_over = true;
}

void network_cancel(struct network *network, size_t replica, uint64_t wish)
{
    for (struct call *call = network->calls; call != NULL; call = call->next) {
        if (call->replica == replica && call->wish == wish && !call->is_abandoned)
            abandon(call);
    }
}

void network_abandon(struct network *network, size_t replica)
{
    for (struct call *call = network->calls; call != NULL; call = call->next) {
        if (call->replica == replica && !call->is_abandoned)
            abandon(call);
    }
}

static bool on_timeout(void *ctx, uint64_t id)
{
    struct network *network = ctx;
    struct call *call = find_call(network, id);

    if (call == NULL || call->is_abandoned)
        return false;
    if (must_wait(network, call, on_timeout))
        return true;
    end_call(network, call, ERR_TIMEOUT, "no answer in time", true);
    /* The bytes are on their way all the same. */
    call->is_over = call->phase >= ANSWERING;
    if (!call->is_over)
        abandon(call);
    replica_drive(network->world->replicas[call->replica]);
    sweep(network);
    return true;
}

/* --- the server ------------------------------------------------------------------------------ */

static const struct {
    int status;
    const char *reason, *message;
} troubles[] = {
    {429, "TooManyRequests", "The request has been rate limited"},
    {401, "Unauthorized", "Unauthorized"},
    {403, "Forbidden", "pods is forbidden: User cannot do this"},
    {500, "InternalError", "Internal error occurred: etcdserver: leader changed"},
    {503, "ServiceUnavailable", "the server is currently unable to handle the request"},
    {504, "Timeout", "Timeout: request did not complete within requested timeout"},
};

static void refuse(struct network *network, struct call *call, int status)
{
    struct model_answer *answer = &network->answer;
    size_t i = 0;

    while (troubles[i].status != status)
        i++;
    if (answer->body.max == 0)
        answer->body = buf_with_max(64u << 20);
    model_answer_fail(answer, status, troubles[i].reason, troubles[i].message);
    call->status = status;
    buf_reset(&call->answer);
    buf_add(&call->answer, answer->body.data, answer->body.length);
    if (status == 429)
        call->retry_after_s = (unsigned)chance_between(&network->world->chance, 0, 3);
}

static int choose_refusal(struct world *world)
{
    static const int denials[] = {401, 403}, faults[] = {500, 503, 504};

    if (world_fault(world, FAULT_BUSY_SERVER))
        return 429;
    if (world_fault(world, FAULT_DENIED))
        return denials[chance_pick(&world->chance, 2)];
    if (world_fault(world, FAULT_BROKEN_SERVER))
        return faults[chance_pick(&world->chance, 3)];
    return 0;
}

static void go_silent(struct network *network, struct call *call)
{
    call->phase = SILENT;
    plan(network, call, GIVES_UP_MS);
}

/* Most often too short to be a step of its own. */
static uint64_t choose_short_ms(struct world *world)
{
    return chance_hits(&world->chance, 6000) ? 0 : chance_between(&world->chance, 0, 3);
}

/* The request is there: how long does the server work on it? */
static void arrive(struct network *network, struct call *call)
{
    struct world *world = network->world;
    uint64_t work_ms = choose_short_ms(world);

    if (call->fate == FATE_REFUSED || network->is_down) {
        end_call(network, call, ERR_IO, "connection refused", call->fate != FATE_REFUSED);
        return;
    }
    if (call->fate == FATE_LOST) {
        end_call(network, call, ERR_IO, "connection reset", true);
        return;
    }
    if (call->fate == FATE_VANISHES) {
        go_silent(network, call);
        return;
    }
    call->phase = WORKING;
    call->refusal = choose_refusal(world);
    if (is_hindered(world, call, 6000))
        work_ms = chance_between(&world->chance, 500, 70000);
    else if ((is_binding(call) && is_in_doubt(network, call) &&
              chance_hits(&world->chance, 3000)) ||
             world_fault(world, FAULT_SLOW_SERVER))
        work_ms = chance_wait_ms(&world->chance, 70000);
    call->runs_out = work_ms > call->limit_ms && !plant_is(world, PLANT_NO_TIME_LIMIT);
    if (call->runs_out)
        plan(network, call, call->limit_ms);
    else if (work_ms > 0)
        plan(network, call, work_ms);
    else
        work(network, call);
}

static void ask_model(struct network *network, struct call *call)
{
    struct world *world = network->world;
    struct model_request request = {
        .method = call->method,
        .path = call->path,
        .body = call->body,
        .body_length = call->body_length,
        .content_type = call->content_type,
    };

    api_model_answer(world->api, &request, world->now_ms, &network->answer);
    call->status = network->answer.status;
    call->watch = network->answer.watch;
    buf_add(&call->answer, network->answer.body.data, network->answer.body.length);
    TRACE(world, "   api #%" PRIu64 " of r%zu: %d%s %.*s", call->wish, call->replica, call->status,
          call->is_abandoned ? " (nobody waits)" : "", call->status >= 300 ? 120 : 0,
          buf_text(&call->answer));
    if (is_binding(call) && call->status == 201) {
        network->bindings++;
        checker_on_binding(world->checker, call->path, call->body, call->body_length);
    }
}

static void answer(struct network *network, struct call *call)
{
    struct world *world = network->world;
    uint64_t blocked = blocked_ms(network, network->cuts[call->replica].answers_until_ms,
                                  network->cuts[call->replica].parts);
    uint64_t in_ms;

    if (call->is_abandoned) {
        call->is_over = true;
        return;
    }
    call->phase = ANSWERING;
    if (blocked > GIVES_UP_MS || is_in_doubt(network, call) || is_hindered(world, call, 5000) ||
        world_fault(world, FAULT_SILENT_AFTER)) {
        go_silent(network, call);
        return;
    }
    if (call->watch == NULL && world_fault(world, FAULT_CUT_ANSWER))
        call->cut_at = (size_t)chance_between(&world->chance, 0, call->answer.length);
    in_ms = blocked + (world_fault(world, FAULT_SLOW_ANSWER) ? chance_wait_ms(&world->chance, 20000)
                                                             : choose_short_ms(world));
    if (in_ms == 0 && call->watch == NULL &&
        replica_paused_until_ms(world->replicas[call->replica]) == 0)
        tell(network, call);
    else
        plan(network, call, in_ms);
}

static void work(struct network *network, struct call *call)
{
    struct world *world = network->world;

    if (network->is_down) {
        end_call(network, call, ERR_IO, "connection reset", true);
        return;
    }
    if (call->runs_out || call->refusal != 0) {
        refuse(network, call, call->runs_out ? 504 : call->refusal);
        TRACE(world, "   api #%" PRIu64 " of r%zu: %d, not executed", call->wish, call->replica,
              call->status);
    } else {
        ask_model(network, call);
        if (call->watch == NULL && world_fault(world, FAULT_FALSE_FAILURE)) {
            refuse(network, call, chance_hits(&world->chance, 5000) ? 500 : 504);
            TRACE(world, "   api #%" PRIu64 " says %d though", call->wish, call->status);
        }
    }
    if (call->is_abandoned) {
        api_watch_free(call->watch);
        call->watch = NULL;
    }
    if (!call->is_abandoned && world_fault(world, FAULT_LOST_AFTER)) {
        api_watch_free(call->watch);
        call->watch = NULL;
        call->phase = SILENT;
        plan(network, call, chance_between(&world->chance, 0, 10));
        return;
    }
    answer(network, call);
}

/* --- answers --------------------------------------------------------------------------------- */

static size_t choose_piece(struct world *world, size_t left)
{
    if (left == 0 || !world_fault(world, FAULT_PIECES))
        return left;
    return (size_t)chance_between(&world->chance, 1, left);
}

/* Nothing may happen when an answer is told once more. */
static void tell_again(struct network *network, const struct call *call)
{
    struct replica *replica = network->world->replicas[call->replica];

    replica_on_begin(replica, call->wish, call->status, call->retry_after_s);
    replica_on_bytes(replica, call->wish, buf_text(&call->answer), call->answer.length);
    replica_on_end(replica, call->wish, NULL, true);
}

static void begin(struct network *network, struct call *call)
{
    if (call->has_begun)
        return;
    call->has_begun = true;
    replica_on_begin(network->world->replicas[call->replica], call->wish, call->status,
                     call->retry_after_s);
}

static void tell(struct network *network, struct call *call)
{
    struct world *world = network->world;
    size_t end = call->cut_at < call->answer.length ? call->cut_at : call->answer.length;
    size_t piece = choose_piece(world, end - call->told);

    begin(network, call);
    if (piece > 0)
        replica_on_bytes(world->replicas[call->replica], call->wish, call->answer.data + call->told,
                         piece);
    call->told += piece;
    if (call->told < end) {
        plan(network, call, chance_between(&world->chance, 0, 5));
        return;
    }
    TRACE(world, "r%zu <- #%" PRIu64 " %d", call->replica, call->wish, call->status);
    end_call(network, call, ERR_IO, call->cut_at != SIZE_MAX ? "connection reset" : NULL, true);
    if (world_fault(world, FAULT_DOUBLED))
        tell_again(network, call);
}

/* --- streams --------------------------------------------------------------------------------- */

static void plan_pump(struct network *network, struct call *call)
{
    struct world *world = network->world;
    uint64_t due_ms = api_watch_due_ms(call->watch);
    uint64_t in_ms = due_ms > world->now_ms ? due_ms - world->now_ms : 0;

    if (api_watch_has_news(call->watch)) {
        in_ms = world_fault(world, FAULT_SLOW_WATCH) ? chance_wait_ms(&world->chance, 10000)
                                                     : chance_between(&world->chance, 0, 5);
        call->is_pump_planned = true;
    }
    plan(network, call, in_ms);
}

static void fail_watch(struct network *network, struct call *call)
{
    static const char line[] = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\","
                               "\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
                               "\"message\":\"etcd event received\",\"reason\":"
                               "\"InternalError\",\"code\":500}}\n";

    replica_on_bytes(network->world->replicas[call->replica], call->wish, line, strlen(line));
    end_call(network, call, ERR_NONE, NULL, true);
}

static bool breaks_stream(struct network *network, struct call *call)
{
    struct world *world = network->world;
    bool is_first = !call->has_begun;

    begin(network, call);
    if (is_first && world_fault(world, FAULT_SHORT_WATCH)) {
        end_call(network, call, ERR_NONE, NULL, true);
        return true;
    }
    if (world_fault(world, FAULT_HALF_OPEN_WATCH)) {
        TRACE(world, "   watch #%" PRIu64 " of r%zu falls silent", call->wish, call->replica);
        call->is_half_open = true;
        return true;
    }
    if (world_fault(world, FAULT_FAILED_WATCH)) {
        fail_watch(network, call);
        return true;
    }
    return false;
}

static void pump_line(struct network *network, struct call *call)
{
    struct world *world = network->world;
    struct replica *replica = world->replicas[call->replica];
    size_t length = network->line.length;

    if (plant_swallows(world, &network->line))
        return;
    TRACE(world, "r%zu <= #%" PRIu64 " %.*s", call->replica, call->wish,
          (int)(length < 150 ? length : 150) - 1, network->line.data);
    if (world_fault(world, FAULT_CUT_WATCH)) {
        replica_on_bytes(replica, call->wish, network->line.data,
                         (size_t)chance_between(&world->chance, 0, length));
        end_call(network, call, ERR_IO, "connection reset", true);
        return;
    }
    replica_on_bytes(replica, call->wish, network->line.data, length);
}

/* Everything that is there, or some of it. */
static void pump(struct network *network, struct call *call)
{
    struct world *world = network->world;
    enum api_watch_step step;

    call->is_pump_planned = false;
    if (call->is_half_open || breaks_stream(network, call))
        return;
    do {
        step = api_watch_next(call->watch, world->now_ms, &network->line);
        if (step == API_WATCH_EVENT)
            pump_line(network, call);
    } while (step == API_WATCH_EVENT && !call->is_over && call->watch != NULL &&
             !chance_hits(&world->chance, 2000));
    if (call->is_over || call->watch == NULL)
        return;
    if (step == API_WATCH_ENDS || world_fault(world, FAULT_ENDED_WATCH)) {
        TRACE(world, "r%zu <= #%" PRIu64 " ends", call->replica, call->wish);
        end_call(network, call, ERR_NONE, NULL, true);
    } else {
        plan_pump(network, call);
    }
}

void network_on_change(struct network *network)
{
    for (struct call *call = network->calls; call != NULL; call = call->next) {
        if (call->phase == STREAMING && !call->is_over && call->watch != NULL &&
            !call->is_pump_planned && !call->is_half_open && api_watch_has_news(call->watch))
            plan_pump(network, call);
    }
}

/* --- steps ----------------------------------------------------------------------------------- */

static void step(struct network *network, struct call *call)
{
    switch (call->phase) {
    case TRAVELLING:
        arrive(network, call);
        return;
    case WORKING:
        work(network, call);
        return;
    case ANSWERING:
        if (call->watch == NULL) {
            tell(network, call);
            return;
        }
        call->phase = STREAMING;
        pump(network, call);
        return;
    case STREAMING:
        pump(network, call);
        return;
    case SILENT:
        end_call(network, call, ERR_IO, "connection reset", true);
        return;
    }
}

static bool on_call(void *ctx, uint64_t id)
{
    struct network *network = ctx;
    struct world *world = network->world;
    struct call *call = find_call(network, id);
    uint64_t blocked;
    size_t replica;

    if (call == NULL || (call->phase == STREAMING && call->is_half_open))
        return false;
    if (call->phase == STREAMING && !call->is_pump_planned &&
        api_watch_due_ms(call->watch) > world->now_ms && !api_watch_has_news(call->watch))
        return false; /* planned twice: news came before it was due */
    if (call->phase >= ANSWERING && must_wait(network, call, on_call))
        return true;
    blocked = blocked_ms(network, network->cuts[call->replica].watches_until_ms, 10000);
    if (call->phase == STREAMING && blocked > 0) {
        plan(network, call, blocked);
        return true;
    }
    replica = call->replica;
    step(network, call);
    sweep(network);
    replica_drive(world->replicas[replica]);
    sweep(network);
    return true;
}

void network_cut(struct network *network, size_t replica, const struct outage *outage)
{
    uint64_t now_ms = network->world->now_ms;
    struct cut *cut = &network->cuts[replica];

    TRACE(network->world,
          "r%zu   is cut off: requests for %" PRIu64 " ms, answers %" PRIu64 ", watches %" PRIu64,
          replica, outage->requests_ms, outage->answers_ms, outage->watches_ms);
    cut->requests_until_ms = now_ms + outage->requests_ms;
    cut->answers_until_ms = now_ms + outage->answers_ms;
    cut->watches_until_ms = now_ms + outage->watches_ms;
    cut->parts = outage->parts;
    if (network->world->is_calm)
        cut->pod[0] = '\0';
}

void network_deafen(struct network *network, size_t replica, uint64_t for_ms)
{
    TRACE(network->world, "r%zu   hears nothing for %" PRIu64 " ms", replica, for_ms);
    network->cuts[replica].watches_until_ms = network->world->now_ms + for_ms;
}

void network_fail_watches(struct network *network, size_t replica)
{
    struct world *world = network->world;

    if (!replica_is_alive(world->replicas[replica]) ||
        replica_paused_until_ms(world->replicas[replica]) > 0)
        return;
    TRACE(world, "r%zu   has its watches fail", replica);
    for (struct call *call = network->calls; call != NULL; call = call->next) {
        if (call->replica == replica && call->phase == STREAMING && !call->is_over &&
            !call->is_abandoned && call->has_begun)
            fail_watch(network, call);
    }
    replica_drive(world->replicas[replica]);
    sweep(network);
}

void network_set_server(struct network *network, bool is_up)
{
    struct world *world = network->world;

    TRACE(world, "   api server is %s", is_up ? "up" : "down");
    network->is_down = !is_up;
    for (struct call *call = network->calls; call != NULL && !is_up; call = call->next) {
        if (call->is_over || call->phase < ANSWERING)
            continue;
        api_watch_free(call->watch);
        call->watch = NULL;
        call->phase = SILENT; /* the client is told at its own time */
        plan(network, call, chance_between(&world->chance, 0, 10));
    }
}

uint64_t network_bindings(const struct network *network)
{
    return network->bindings;
}
