/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler - kube-scheduler, as far as an extender sees it. */
#include "scheduler.h"

#include "replica.h"
#include "support/api_model.h"

#include "topofit/mem.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 16
#define BACKOFF_MAX_MS 10000u
#define FLUSH_MS 300000u /* podMaxInUnschedulablePodsDuration */
#define FLUSH_EVERY_MS 30000u

enum place {
    NOT_OURS = 0, /* bound, or another scheduler's: counted only */
    ACTIVE,
    BACKING_OFF,
    REFUSED,
    TRYING,
    BINDING,
    ASSUMED, /* bind was answered with success; the watch has not shown it yet */
};

/* A pod as the watch showed it last, and where it stands. */
struct seen {
    struct seen *next;
    struct api_object *pod;
    unsigned devices;
    enum place place;
    uint64_t since_ms, until_ms; /* in this place; of the back-off */
    unsigned attempts;
    bool is_hidden; /* a question about it arrived after it was given up: see on_arrival() */
    char node[64];  /* assumed there */
};

struct question {
    struct question *next;
    uint64_t id;
    enum verb verb;
    size_t replica;
    char *uid, *body;
    size_t length;
    bool has_arrived, is_closed, is_answered; /* is_closed: nobody waits any more */
    char *answer;                             /* NULL: failed */
    size_t answer_length;
};

struct scheduler {
    struct world *world;
    uint64_t http_timeout_ms, backoff_min_ms;
    size_t replica; /* where its connection leads */
    struct seen *seen;
    struct api_object *nodes[NODES_MAX];
    size_t node_count;
    uint64_t next[API_KINDS];
    bool is_listed, is_watch_planned;
    uint64_t events; /* that could let a pod fit */

    struct question *questions;
    uint64_t last_question;
    char *trying; /* uid of the pod whose turn it is, or NULL */
    uint64_t events_at_try;
    char feasible[NODES_MAX][64];
    size_t feasible_count;
};

static bool on_kick(void *ctx, uint64_t number);
static bool on_watch(void *ctx, uint64_t number);
static bool on_flush(void *ctx, uint64_t number);

/* --- life ------------------------------------------------------------------------------------ */

static void configure(struct scheduler *scheduler)
{
    static const uint64_t timeouts_ms[] = {5000, 10000, 10000, 30000};
    static const uint64_t backoffs_ms[] = {50, 100, 200, 1000}; /* the last is the default */
    struct jitter *chance = &scheduler->world->chance;

    scheduler->backoff_min_ms = backoffs_ms[chance_pick(chance, 4)];
    scheduler->http_timeout_ms = timeouts_ms[chance_pick(chance, 4)];
}

struct scheduler *scheduler_new(struct world *world)
{
    struct scheduler *scheduler = xcalloc(1, sizeof *scheduler);

    scheduler->world = world;
    configure(scheduler);
    world_plan(world, FLUSH_EVERY_MS, on_flush, scheduler, 0);
    return scheduler;
}

static void free_seen(struct seen *seen)
{
    api_object_unref(seen->pod);
    free(seen);
}

static void free_question(struct question *question)
{
    free(question->uid);
    free(question->body);
    free(question->answer);
    free(question);
}

static void forget_all(struct scheduler *scheduler)
{
    while (scheduler->seen != NULL) {
        struct seen *next = scheduler->seen->next;

        free_seen(scheduler->seen);
        scheduler->seen = next;
    }
    for (size_t i = 0; i < scheduler->node_count; i++)
        api_object_unref(scheduler->nodes[i]);
    scheduler->node_count = 0;
    scheduler->is_listed = false;
}

void scheduler_free(struct scheduler *scheduler)
{
    if (scheduler == NULL)
        return;
    forget_all(scheduler);
    while (scheduler->questions != NULL) {
        struct question *next = scheduler->questions->next;

        free_question(scheduler->questions);
        scheduler->questions = next;
    }
    free(scheduler->trying);
    free(scheduler);
}

/* --- the queue ------------------------------------------------------------------------------- */

static struct seen *find_name(const struct scheduler *scheduler, const struct api_object *pod)
{
    struct seen *seen = scheduler->seen;

    while (seen != NULL && (strcmp(seen->pod->name, pod->name) != 0 ||
                            strcmp(seen->pod->namespace, pod->namespace) != 0))
        seen = seen->next;
    return seen;
}

static struct seen *find_uid(const struct scheduler *scheduler, const char *uid)
{
    struct seen *seen = scheduler->seen;

    while (seen != NULL && strcmp(seen->pod->uid, uid) != 0)
        seen = seen->next;
    return seen;
}

static void kick_in(struct scheduler *scheduler, uint64_t in_ms)
{
    world_plan(scheduler->world, in_ms, on_kick, scheduler, 0);
}

static void move(struct scheduler *scheduler, struct seen *seen, enum place place)
{
    seen->place = place;
    seen->since_ms = scheduler->world->now_ms;
    if (place == ACTIVE)
        kick_in(scheduler, 0);
}

/* Back-off is counted from the last try. */
static void back_off(struct scheduler *scheduler, struct seen *seen, bool has_begun)
{
    uint64_t now_ms = scheduler->world->now_ms;
    unsigned doublings = seen->attempts > 1 ? seen->attempts - 1 : 0;
    uint64_t wait_ms = scheduler->backoff_min_ms << (doublings < 8 ? doublings : 8);

    wait_ms = wait_ms < BACKOFF_MAX_MS ? wait_ms : BACKOFF_MAX_MS;
    if (!has_begun)
        seen->until_ms = now_ms + wait_ms;
    if (seen->until_ms <= now_ms) {
        move(scheduler, seen, ACTIVE);
        return;
    }
    move(scheduler, seen, BACKING_OFF);
    kick_in(scheduler, seen->until_ms - now_ms);
}

/* Something happened that could let a refused pod fit. */
static void wake_refused(struct scheduler *scheduler)
{
    scheduler->events++;
    for (struct seen *seen = scheduler->seen; seen != NULL; seen = seen->next) {
        if (seen->place == REFUSED)
            back_off(scheduler, seen, true);
    }
}

static bool on_flush(void *ctx, uint64_t number)
{
    struct scheduler *scheduler = ctx;
    uint64_t now_ms = scheduler->world->now_ms;

    (void)number;
    world_plan(scheduler->world, FLUSH_EVERY_MS, on_flush, scheduler, 0);
    /* In calm, pods must be woken by what happens, not by the patience of kube-scheduler. */
    for (struct seen *seen = scheduler->seen; seen != NULL; seen = seen->next) {
        if (seen->place == REFUSED && now_ms - seen->since_ms > FLUSH_MS &&
            (!scheduler->world->is_calm || scheduler->world->options.is_patient))
            move(scheduler, seen, ACTIVE);
    }
    return true;
}

/* --- its watch ------------------------------------------------------------------------------- */

static unsigned read_count(const struct api_object *object, const char *key)
{
    const char *place = strstr(object->json, key);

    return place != NULL ? (unsigned)strtoul(place + strlen(key), NULL, 10) : 0;
}

static bool is_finished(const struct api_object *pod)
{
    return strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0;
}

static bool is_ours_to_place(const struct api_object *pod)
{
    return pod->node_name[0] == '\0' && pod->gates == NULL && !pod->deleting &&
           strcmp(pod->scheduler_name, API_SCHEDULER) == 0;
}

static void see_pod_gone(struct scheduler *scheduler, const struct api_object *pod)
{
    struct seen **place = &scheduler->seen;
    struct seen *seen = find_name(scheduler, pod);

    if (seen == NULL || strcmp(seen->pod->uid, pod->uid) != 0)
        return;
    while (*place != seen)
        place = &(*place)->next;
    *place = seen->next;
    if (seen->pod->node_name[0] != '\0' || seen->node[0] != '\0')
        wake_refused(scheduler);
    free_seen(seen);
}

static void see_pod(struct scheduler *scheduler, const struct api_object *pod)
{
    struct seen *seen = find_name(scheduler, pod);

    if (seen != NULL && strcmp(seen->pod->uid, pod->uid) != 0) {
        see_pod_gone(scheduler, seen->pod);
        seen = NULL;
    }
    if (seen == NULL) {
        seen = xcalloc(1, sizeof *seen);
        seen->next = scheduler->seen;
        scheduler->seen = seen;
    }
    api_object_unref(seen->pod);
    seen->pod = api_object_ref(pod);
    seen->devices = read_count(pod, "\"limits\":{\"cpu\":\"1\",\"nvidia.com/gpu\":\"");
    if (pod->node_name[0] != '\0') {
        seen->place = NOT_OURS;
        seen->node[0] = '\0';
        wake_refused(scheduler);
    } else if (!is_ours_to_place(pod)) {
        if (seen->place != BINDING && seen->place != ASSUMED)
            seen->place = NOT_OURS;
    } else if (seen->place == NOT_OURS) {
        move(scheduler, seen, ACTIVE);
    }
}

static void see_node(struct scheduler *scheduler, const struct api_object *node, bool is_gone)
{
    size_t i = 0;

    while (i < scheduler->node_count && strcmp(scheduler->nodes[i]->name, node->name) != 0)
        i++;
    if (i < scheduler->node_count) {
        api_object_unref(scheduler->nodes[i]);
        scheduler->nodes[i] = scheduler->nodes[--scheduler->node_count];
    }
    if (!is_gone && scheduler->node_count < NODES_MAX)
        scheduler->nodes[scheduler->node_count++] = api_object_ref(node);
    if (!is_gone)
        wake_refused(scheduler);
}

static void see_gone_since_list(struct scheduler *scheduler)
{
    const struct api_model *api = scheduler->world->api;

    for (struct seen *seen = scheduler->seen, *next; seen != NULL; seen = next) {
        const struct api_object *now =
            api_model_find(api, API_POD, seen->pod->namespace, seen->pod->name);

        next = seen->next;
        if (now == NULL || strcmp(now->uid, seen->pod->uid) != 0 || is_finished(now))
            see_pod_gone(scheduler, seen->pod);
    }
    for (size_t i = scheduler->node_count; i > 0; i--) {
        if (api_model_find(api, API_NODE, "", scheduler->nodes[i - 1]->name) == NULL)
            see_node(scheduler, scheduler->nodes[i - 1], true);
    }
}

static void list(struct scheduler *scheduler)
{
    const struct api_model *api = scheduler->world->api;

    see_gone_since_list(scheduler);
    for (size_t i = 0; i < api_model_count(api, API_NODE); i++)
        see_node(scheduler, api_model_get(api, API_NODE, i), false);
    for (size_t i = 0; i < api_model_count(api, API_POD); i++) {
        const struct api_object *pod = api_model_get(api, API_POD, i);

        if (!is_finished(pod))
            see_pod(scheduler, pod);
    }
    for (unsigned kind = 0; kind < API_KINDS; kind++)
        scheduler->next[kind] = api_model_end(api, (enum api_kind)kind);
    scheduler->is_listed = true;
}

static void watch_nodes(struct scheduler *scheduler)
{
    const struct api_model *api = scheduler->world->api;

    while (scheduler->next[API_NODE] < api_model_end(api, API_NODE)) {
        const struct api_change *change =
            api_model_change(api, API_NODE, scheduler->next[API_NODE]++);

        see_node(scheduler, change->after, change->is_deletion);
    }
}

static void watch_pods(struct scheduler *scheduler)
{
    const struct api_model *api = scheduler->world->api;

    while (scheduler->next[API_POD] < api_model_end(api, API_POD)) {
        const struct api_change *change =
            api_model_change(api, API_POD, scheduler->next[API_POD]++);

        if (change->is_deletion || is_finished(change->after))
            see_pod_gone(scheduler, change->after);
        else
            see_pod(scheduler, change->after);
    }
}

static bool has_news(const struct scheduler *scheduler)
{
    const struct api_model *api = scheduler->world->api;

    return !scheduler->is_listed || scheduler->next[API_NODE] < api_model_end(api, API_NODE) ||
           scheduler->next[API_POD] < api_model_end(api, API_POD);
}

static bool on_watch(void *ctx, uint64_t number)
{
    struct scheduler *scheduler = ctx;
    const struct api_model *api = scheduler->world->api;

    (void)number;
    scheduler->is_watch_planned = false;
    if (!scheduler->is_listed || scheduler->next[API_NODE] < api_model_first(api, API_NODE) ||
        scheduler->next[API_POD] < api_model_first(api, API_POD)) {
        list(scheduler);
        return true;
    }
    watch_nodes(scheduler);
    watch_pods(scheduler);
    return true;
}

void scheduler_on_change(struct scheduler *scheduler)
{
    struct world *world = scheduler->world;

    if (scheduler->is_watch_planned || !has_news(scheduler))
        return;
    scheduler->is_watch_planned = true;
    world_plan(world,
               world_fault(world, FAULT_LATE_SCHEDULER) ? chance_wait_ms(&world->chance, 10000)
                                                        : chance_between(&world->chance, 0, 20),
               on_watch, scheduler, 0);
}

/* --- NodeResourcesFit ------------------------------------------------------------------------ */

static bool is_on(const struct seen *seen, const char *node)
{
    return strcmp(seen->pod->node_name, node) == 0 || strcmp(seen->node, node) == 0;
}

static bool fits_by_count(const struct scheduler *scheduler, const struct seen *pod,
                          const struct api_object *node)
{
    unsigned has = read_count(node, "\"nvidia.com/gpu\":\""), used = 0;

    for (const struct seen *seen = scheduler->seen; seen != NULL; seen = seen->next) {
        if (seen != pod && is_on(seen, node->name))
            used += seen->devices;
    }
    return used + pod->devices <= has;
}

/* ExtenderArgs without its end. return how many nodes are in it. */
static size_t write_question(const struct scheduler *scheduler, const struct seen *seen,
                             struct buf *out)
{
    static const char head[] = "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",";
    const char *json = seen->pod->json;
    size_t count = 0;

    buf_add_text(out, "{\"Pod\":");
    if (strncmp(json, head, strlen(head)) == 0) { /* embedded objects do not say what they are */
        buf_add_text(out, "{");
        json += strlen(head);
    }
    buf_add_text(out, json);
    buf_add_text(out, ",\"Nodes\":null,\"NodeNames\":[");
    for (size_t i = 0; i < scheduler->node_count; i++) {
        if (fits_by_count(scheduler, seen, scheduler->nodes[i]))
            buf_addf(out, "%s\"%s\"", count++ > 0 ? "," : "", scheduler->nodes[i]->name);
    }
    buf_add_text(out, "]}");
    return count;
}

/* --- questions ------------------------------------------------------------------------------- */

static bool on_arrival(void *ctx, uint64_t id);
static bool on_verdict(void *ctx, uint64_t id);
static bool on_http_timeout(void *ctx, uint64_t id);

static struct question *find_question(const struct scheduler *scheduler, uint64_t id)
{
    struct question *question = scheduler->questions;

    while (question != NULL && question->id != id)
        question = question->next;
    return question;
}

static void drop_question(struct scheduler *scheduler, struct question *question)
{
    struct question **place = &scheduler->questions;

    while (*place != question)
        place = &(*place)->next;
    *place = question->next;
    free_question(question);
}

static void turn_away(struct scheduler *scheduler)
{
    size_t count = scheduler->world->options.replicas;

    if (count > 1)
        scheduler->replica =
            (scheduler->replica + 1 + chance_pick(&scheduler->world->chance, count - 1)) % count;
}

void scheduler_turn_to(struct scheduler *scheduler, size_t replica)
{
    scheduler->replica = replica;
}

/* The end of the exchange reaches kube-scheduler; answer NULL: as an error. */
static void close_in(struct scheduler *scheduler, struct question *question, uint64_t in_ms)
{
    question->is_answered = true;
    world_plan(scheduler->world, in_ms, on_verdict, scheduler, question->id);
}

static struct question *ask(struct scheduler *scheduler, enum verb verb, const char *uid,
                            struct buf *body)
{
    struct world *world = scheduler->world;
    struct question *question = xcalloc(1, sizeof *question);

    if (world_fault(world, FAULT_OTHER_REPLICA))
        turn_away(scheduler);
    question->id = ++scheduler->last_question;
    question->verb = verb;
    question->replica = scheduler->replica;
    question->uid = xstrdup(uid);
    question->length = body->length;
    question->body = buf_steal(body);
    question->next = scheduler->questions;
    scheduler->questions = question;
    if (world_fault(world, FAULT_QUESTION_LOST)) {
        question->has_arrived = true; /* never will */
        close_in(scheduler, question, chance_between(&world->chance, 0, 5));
        return question;
    }
    world_plan(world,
               world_fault(world, FAULT_SLOW_QUESTION) ? chance_wait_ms(&world->chance, 20000)
                                                       : chance_between(&world->chance, 0, 2),
               on_arrival, scheduler, question->id);
    world_plan(world, scheduler->http_timeout_ms, on_http_timeout, scheduler, question->id);
    return question;
}

/*
 * What is answered to a question that was given up, nobody hears: topofit takes a pod to have been
 * placed, and does not wake it. Not promised: docs/concepts/guarantees.md. Until it is tried again.
 */
static void hide(struct scheduler *scheduler, const struct question *question)
{
    struct seen *seen = find_uid(scheduler, question->uid);

    if (question->is_closed && question->verb == VERB_FILTER && seen != NULL)
        seen->is_hidden = true;
}

static bool on_arrival(void *ctx, uint64_t id)
{
    struct scheduler *scheduler = ctx;
    struct world *world = scheduler->world;
    struct question *question = find_question(scheduler, id);
    struct replica *replica;
    uint64_t paused_until_ms;

    if (question == NULL)
        return false;
    replica = world->replicas[question->replica];
    paused_until_ms = replica_paused_until_ms(replica);
    if (paused_until_ms > 0) {
        world_plan(world, paused_until_ms - world->now_ms, on_arrival, scheduler, id);
        return true;
    }
    question->has_arrived = true;
    hide(scheduler, question);
    if (replica_is_alive(replica)) {
        replica_ask(replica, question->verb, question->body, question->length, id);
        question = find_question(scheduler, id);
        if (question != NULL && question->is_closed)
            drop_question(scheduler, question);
        return true;
    }
    turn_away(scheduler);
    if (question->is_closed)
        drop_question(scheduler, question);
    else
        close_in(scheduler, question, 1);
    return true;
}

void scheduler_on_answer(struct scheduler *scheduler, uint64_t id, const char *body, size_t length)
{
    struct world *world = scheduler->world;
    struct question *question = find_question(scheduler, id);

    if (question == NULL || question->is_closed || question->is_answered)
        return;
    if (body != NULL && !world_fault(world, FAULT_VERDICT_LOST)) {
        question->answer = xmalloc(length + 1);
        memcpy(question->answer, body, length);
        question->answer[length] = '\0';
        question->answer_length = length;
    }
    close_in(scheduler, question,
             world_fault(world, FAULT_SLOW_VERDICT) ? chance_wait_ms(&world->chance, 20000)
                                                    : chance_between(&world->chance, 0, 2));
}

void scheduler_on_crash(struct scheduler *scheduler, size_t replica)
{
    for (struct question *question = scheduler->questions; question != NULL;
         question = question->next) {
        if (question->replica == replica && question->has_arrived && !question->is_answered &&
            !question->is_closed)
            close_in(scheduler, question, chance_between(&scheduler->world->chance, 0, 5));
    }
    if (scheduler->replica == replica)
        turn_away(scheduler);
}

/* --- a turn of one pod ----------------------------------------------------------------------- */

static void end_turn(struct scheduler *scheduler)
{
    free(scheduler->trying);
    scheduler->trying = NULL;
    kick_in(scheduler, 0);
}

static void refuse(struct scheduler *scheduler, struct seen *seen)
{
    end_turn(scheduler);
    if (seen->place != TRYING)
        return;
    /* What happened meanwhile may have been what it waits for. */
    if (scheduler->events != scheduler->events_at_try)
        back_off(scheduler, seen, false);
    else {
        back_off(scheduler, seen, false);
        move(scheduler, seen, REFUSED);
    }
}

static void ask_bind(struct scheduler *scheduler, struct seen *seen)
{
    struct buf body = buf_with_max(4096);
    struct question *question;

    buf_addf(&body,
             "{\"PodName\":\"%s\",\"PodNamespace\":\"%s\",\"PodUID\":\"%s\",\"Node\":\"%s\"}",
             seen->pod->name, seen->pod->namespace, seen->pod->uid, seen->node);
    if (world_fault(scheduler->world, FAULT_BIND_TWICE)) {
        struct buf copy = buf_with_max(4096);

        buf_add(&copy, body.data, body.length);
        question = ask(scheduler, VERB_BIND, "", &copy);
        question->is_closed = !question->is_answered;
    }
    ask(scheduler, VERB_BIND, seen->pod->uid, &body);
}

static void choose(struct scheduler *scheduler, struct seen *seen, const char *node)
{
    end_turn(scheduler);
    if (seen->place != TRYING)
        return;
    move(scheduler, seen, BINDING);
    snprintf(seen->node, sizeof seen->node, "%s", node);
    TRACE(scheduler->world, "sched  %s (%s) is assumed on %s", seen->pod->name, seen->pod->uid,
          node);
    ask_bind(scheduler, seen);
}

static void on_filtered(struct scheduler *scheduler, struct seen *seen,
                        const struct question *question)
{
    json_t *json = question->answer != NULL
                       ? json_loadb(question->answer, question->answer_length, 0, NULL)
                       : NULL;
    const char *failure = json_string_value(json_object_get(json, "Error"));
    const json_t *name;
    size_t i;

    scheduler->feasible_count = 0;
    json_array_foreach(json_object_get(json, "NodeNames"), i, name)
    {
        if (scheduler->feasible_count < NODES_MAX)
            snprintf(scheduler->feasible[scheduler->feasible_count++], 64, "%s",
                     json_string_value(name));
    }
    TRACE(scheduler->world, "sched  filter of %s by r%zu: %zu kept %s", seen->pod->name,
          question->replica, scheduler->feasible_count, failure != NULL ? failure : "call failed");
    if (failure == NULL || failure[0] != '\0') {
        end_turn(scheduler);
        if (seen->place == TRYING)
            back_off(scheduler, seen, false);
    } else if (scheduler->feasible_count == 0) {
        refuse(scheduler, seen);
    } else if (scheduler->feasible_count == 1) {
        choose(scheduler, seen, scheduler->feasible[0]);
    } else {
        struct buf body = buf_with_max(1u << 20);

        write_question(scheduler, seen, &body);
        ask(scheduler, VERB_PRIORITIZE, seen->pod->uid, &body);
    }
    json_decref(json);
}

static json_int_t score_of(const json_t *scores, const char *node)
{
    const json_t *score;
    size_t i;

    json_array_foreach(scores, i, score)
    {
        if (strcmp(json_string_value(json_object_get(score, "Host")), node) == 0)
            return json_integer_value(json_object_get(score, "Score"));
    }
    return 0;
}

static void on_scored(struct scheduler *scheduler, struct seen *seen,
                      const struct question *question)
{
    json_t *json = question->answer != NULL
                       ? json_loadb(question->answer, question->answer_length, 0, NULL)
                       : NULL;
    size_t first = chance_pick(&scheduler->world->chance, scheduler->feasible_count);
    size_t best = first;

    for (size_t i = 0; i < scheduler->feasible_count; i++) {
        if (score_of(json, scheduler->feasible[i]) > score_of(json, scheduler->feasible[best]))
            best = i;
    }
    json_decref(json);
    choose(scheduler, seen, scheduler->feasible[best]);
}

static void on_bound(struct scheduler *scheduler, struct seen *seen,
                     const struct question *question)
{
    bool is_success =
        question->answer != NULL && strstr(question->answer, "\"Error\":\"\"") != NULL;

    TRACE(scheduler->world, "sched  bind of %s (%s): %s", seen->pod->name, seen->pod->uid,
          question->answer != NULL ? question->answer : "call failed");
    if (seen->place != BINDING)
        return;
    if (is_success) {
        move(scheduler, seen, ASSUMED);
        return;
    }
    seen->node[0] = '\0';
    if (chance_hits(&scheduler->world->chance, 5000)) /* connections come and go */
        turn_away(scheduler);
    wake_refused(scheduler);
    if (is_ours_to_place(seen->pod))
        back_off(scheduler, seen, false);
    else
        seen->place = NOT_OURS;
}

static void take_answer(struct scheduler *scheduler, const struct question *question)
{
    struct seen *seen = find_uid(scheduler, question->uid);
    bool is_turn = scheduler->trying != NULL && strcmp(scheduler->trying, question->uid) == 0;

    if (question->verb == VERB_BIND) {
        if (seen != NULL)
            on_bound(scheduler, seen, question);
        return;
    }
    if (!is_turn)
        return;
    if (seen == NULL)
        end_turn(scheduler);
    else if (question->verb == VERB_FILTER)
        on_filtered(scheduler, seen, question);
    else
        on_scored(scheduler, seen, question);
}

static bool on_verdict(void *ctx, uint64_t id)
{
    struct scheduler *scheduler = ctx;
    struct question *question = find_question(scheduler, id);

    if (question == NULL)
        return false;
    if (!question->is_closed) {
        question->is_closed = true;
        if (question->answer == NULL)
            turn_away(scheduler);
        take_answer(scheduler, question);
    }
    drop_question(scheduler, question);
    return true;
}

/* Nobody tells the other side: what it does, it does in vain. */
static bool on_http_timeout(void *ctx, uint64_t id)
{
    struct scheduler *scheduler = ctx;
    struct question *question = find_question(scheduler, id);

    if (question == NULL)
        return false;
    if (question->is_closed) { /* of a process before this one */
        if (question->has_arrived && !question->is_answered)
            drop_question(scheduler, question);
        return false;
    }
    question->is_closed = true;
    free(question->answer);
    question->answer = NULL;
    take_answer(scheduler, question);
    if (question->has_arrived && !question->is_answered)
        drop_question(scheduler, question);
    return true;
}

static struct seen *choose_next(struct scheduler *scheduler)
{
    uint64_t now_ms = scheduler->world->now_ms;
    struct seen *next = NULL;

    for (struct seen *seen = scheduler->seen; seen != NULL; seen = seen->next) {
        if (seen->place == BACKING_OFF && seen->until_ms <= now_ms)
            seen->place = ACTIVE;
        if (seen->place == ACTIVE && (next == NULL || seen->since_ms < next->since_ms))
            next = seen;
    }
    return next;
}

static bool on_kick(void *ctx, uint64_t number)
{
    struct scheduler *scheduler = ctx;
    struct buf body = buf_with_max(1u << 20);
    struct seen *seen;

    (void)number;
    if (scheduler->trying != NULL || (seen = choose_next(scheduler)) == NULL)
        return false;
    seen->attempts++;
    seen->is_hidden = false;
    move(scheduler, seen, TRYING);
    scheduler->trying = xstrdup(seen->pod->uid);
    scheduler->events_at_try = scheduler->events;
    if (write_question(scheduler, seen, &body) > 0) {
        ask(scheduler, VERB_FILTER, seen->pod->uid, &body);
        return true;
    }
    buf_clear(&body);
    refuse(scheduler, seen);
    return true;
}

/* --- for the world --------------------------------------------------------------------------- */

void scheduler_restart(struct scheduler *scheduler)
{
    TRACE(scheduler->world, "sched  starts anew");
    for (struct question *question = scheduler->questions; question != NULL;
         question = question->next) {
        question->is_closed = true;
        free(question->uid);
        question->uid = xstrdup("");
    }
    free(scheduler->trying);
    scheduler->trying = NULL;
    forget_all(scheduler);
    configure(scheduler);
    scheduler_on_change(scheduler);
}

static bool is_placeable(struct scheduler *scheduler, const struct seen *seen, size_t replica)
{
    AUTO(buf_clear) struct buf body = buf_with_max(1u << 20);

    return write_question(scheduler, seen, &body) > 0 &&
           replica_would_keep(scheduler->world->replicas[replica], buf_text(&body), body.length);
}

bool scheduler_owes(struct scheduler *scheduler, size_t replica, char *text, size_t size)
{
    for (const struct seen *seen = scheduler->seen; seen != NULL; seen = seen->next) {
        if (seen->place == ASSUMED || seen->place == BINDING)
            snprintf(text, size, "kube-scheduler believes %s to be on %s, and it is not",
                     seen->pod->name, seen->node);
        else if (is_ours_to_place(seen->pod) && !seen->is_hidden &&
                 is_placeable(scheduler, seen, replica))
            snprintf(text, size, "%s fits, but waits (place %d, %u attempts)", seen->pod->name,
                     (int)seen->place, seen->attempts);
        else
            continue;
        return true;
    }
    return false;
}
