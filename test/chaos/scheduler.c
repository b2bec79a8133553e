/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler - plays kube-scheduler: filter, prioritize, bind, and again after events. */
#include "scheduler.h"

#include "topofit/mem.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX (16u << 20)
#define FILTER_TIMEOUT_MS 3000
#define BIND_TIMEOUT_MS 4000
#define BACKOFF_MS 150
#define BOOT_WAIT_MS 50
#define FLUSH_MS 3000 /* refused pods are tried again though nothing happened */

enum task_stage { TASK_WAITS = 0, TASK_REFUSED, TASK_FILTERS, TASK_RANKS, TASK_BINDS };

struct task {
    uint64_t id;
    char *namespace, *name, *uid;
    char *node; /* chosen */
    enum task_stage stage;
    uint64_t at_ms; /* WAITS until then; REFUSED since then */
    char **asked;   /* names in the question */
    size_t asked_count;
};

struct scheduler {
    struct scheduler_options options;
    struct task *tasks;
    size_t count, capacity;
    uint64_t last_id;
    uint64_t next_pod, next_node; /* in the logs of the model */
    unsigned port;
    struct scheduler_counts counts;
};

/* --- life ------------------------------------------------------------------------------------ */

struct scheduler *scheduler_new(const struct scheduler_options *options)
{
    struct scheduler *s = xcalloc(1, sizeof *s);

    s->options = *options;
    return s;
}

static void forget_question(struct task *task)
{
    for (size_t i = 0; i < task->asked_count; i++)
        free(task->asked[i]);
    free(task->asked);
    task->asked = NULL;
    task->asked_count = 0;
}

static void drop_task(struct scheduler *s, size_t at)
{
    struct task *task = &s->tasks[at];

    forget_question(task);
    free(task->namespace);
    free(task->name);
    free(task->uid);
    free(task->node);
    s->count--;
    memmove(task, task + 1, (s->count - at) * sizeof *task);
}

void scheduler_free(struct scheduler *s)
{
    if (s == NULL)
        return;
    while (s->count > 0)
        drop_task(s, s->count - 1);
    free(s->tasks);
    free(s);
}

__attribute__((format(printf, 2, 3))) static void tell(struct scheduler *s, const char *format, ...)
{
    AUTO_FREE char *line = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&line, format, arguments) > 0)
        s->options.on_news(s->options.ctx, line);
    va_end(arguments);
}

__attribute__((format(printf, 2, 3))) static void complain(struct scheduler *s, const char *format,
                                                           ...)
{
    AUTO_FREE char *line = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&line, format, arguments) > 0)
        s->options.on_wrong(s->options.ctx, line);
    va_end(arguments);
}

/* --- pods ------------------------------------------------------------------------------------ */

static struct task *find_task(struct scheduler *s, uint64_t id)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->tasks[i].id == id)
            return &s->tasks[i];
    }
    return NULL;
}

static struct task *task_of_uid(struct scheduler *s, const char *uid)
{
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->tasks[i].uid, uid) == 0)
            return &s->tasks[i];
    }
    return NULL;
}

/* The pod as it is now; NULL when it is gone, another one, bound, or not to be scheduled. */
static const struct api_object *pod_to_schedule(const struct scheduler *s, const struct task *task)
{
    const struct api_object *pod =
        api_model_find(s->options.model, API_POD, task->namespace, task->name);

    if (pod == NULL || strcmp(pod->uid, task->uid) != 0 || pod->node_name[0] != '\0' ||
        pod->deleting || pod->gates != NULL)
        return NULL;
    return pod;
}

static void learn_pod(struct scheduler *s, const struct api_object *pod)
{
    struct task *task;

    if (strcmp(pod->scheduler_name, API_SCHEDULER) != 0 || pod->node_name[0] != '\0' ||
        task_of_uid(s, pod->uid) != NULL)
        return;
    s->tasks = mem_grow(s->tasks, s->count, &s->capacity, sizeof *s->tasks);
    task = &s->tasks[s->count++];
    *task = (struct task){.id = ++s->last_id,
                          .namespace = xstrdup(pod->namespace),
                          .name = xstrdup(pod->name),
                          .uid = xstrdup(pod->uid)};
}

/* Something happened: whoever was refused may fit now. */
static void wake_refused(struct scheduler *s, uint64_t now_ms)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->tasks[i].stage != TASK_REFUSED)
            continue;
        s->tasks[i].stage = TASK_WAITS;
        s->tasks[i].at_ms = now_ms + BACKOFF_MS;
    }
}

static void follow_pods(struct scheduler *s, uint64_t now_ms)
{
    const struct api_model *model = s->options.model;

    if (s->next_pod < api_model_first(model, API_POD)) {
        for (size_t i = 0; i < api_model_count(model, API_POD); i++)
            learn_pod(s, api_model_get(model, API_POD, i));
        s->next_pod = api_model_end(model, API_POD);
        wake_refused(s, now_ms);
    }
    while (s->next_pod < api_model_end(model, API_POD)) {
        const struct api_change *change = api_model_change(model, API_POD, s->next_pod++);

        if (!change->is_deletion)
            learn_pod(s, change->after);
        if (change->before != NULL && change->before->node_name[0] != '\0')
            wake_refused(s, now_ms);
    }
}

static void follow(struct scheduler *s, uint64_t now_ms)
{
    follow_pods(s, now_ms);
    if (s->next_node != api_model_end(s->options.model, API_NODE))
        wake_refused(s, now_ms);
    s->next_node = api_model_end(s->options.model, API_NODE);
    for (size_t i = 0; i < s->count;) {
        struct task *task = &s->tasks[i];

        if ((task->stage == TASK_WAITS || task->stage == TASK_REFUSED) &&
            pod_to_schedule(s, task) == NULL) {
            drop_task(s, i);
            continue;
        }
        if (task->stage == TASK_REFUSED && now_ms - task->at_ms >= FLUSH_MS)
            task->stage = TASK_WAITS;
        i++;
    }
}

/* --- how a task goes on ---------------------------------------------------------------------- */

static void wait_again(struct task *task, enum task_stage stage)
{
    forget_question(task);
    task->stage = stage;
    task->at_ms = loop_now_ms() + (stage == TASK_WAITS ? BACKOFF_MS : 0);
}

static void add_names(struct buf *out, const struct task *task)
{
    for (size_t i = 0; i < task->asked_count; i++) {
        buf_add_byte(out, i == 0 ? '[' : ',');
        buf_add_json_string(out, task->asked[i]);
    }
    buf_add_byte(out, ']');
}

static void ask(struct scheduler *s, struct task *task, const char *path, http_on_answer done)
{
    const struct api_object *pod = pod_to_schedule(s, task);
    AUTO(buf_clear) struct buf body = buf_with_max(BODY_MAX);

    if (pod == NULL) {
        wait_again(task, TASK_WAITS);
        return;
    }
    buf_addf(&body, "{\"Pod\":%s,\"Nodes\":null,\"NodeNames\":", pod->json);
    add_names(&body, task);
    buf_add_byte(&body, '}');
    http_call(s->options.calls, s->port, path, buf_text(&body), FILTER_TIMEOUT_MS, done, s,
              task->id);
}

/* --- bind ------------------------------------------------------------------------------------ */

static void on_bound(void *ctx, uint64_t id, int status, const char *body)
{
    struct scheduler *s = ctx;
    struct task *task = find_task(s, id);
    json_t *json = status == 200 ? json_loads(body, 0, NULL) : NULL;
    const char *error = json_string_value(json_object_get(json, "Error"));
    const char *wrong;

    tell(s, "bind of %s (%s) to %s: HTTP %d %s", task->name, task->uid, task->node, status, body);
    if (status == 200 && error == NULL)
        complain(s, "bind answered what is no answer: %s", body);
    if (error != NULL) {
        wrong = placement_checker_bind_answered(s->options.checker, task->uid, task->node, error);
        if (wrong != NULL)
            complain(s, "%s", wrong);
        s->counts.bound += error[0] == '\0';
        s->counts.refused_binds += error[0] != '\0';
    }
    wait_again(task, TASK_WAITS);
    json_decref(json);
}

static void bind_to(struct scheduler *s, struct task *task, const char *node)
{
    AUTO(buf_clear) struct buf body = buf_with_max(BODY_MAX);

    free(task->node);
    task->node = xstrdup(node);
    task->stage = TASK_BINDS;
    s->counts.binds++;
    buf_addf(&body,
             "{\"PodName\":\"%s\",\"PodNamespace\":\"%s\",\"PodUID\":\"%s\",\"Node\":\"%s\"}",
             task->name, task->namespace, task->uid, node);
    http_call(s->options.calls, s->port, "/bind", buf_text(&body), BIND_TIMEOUT_MS, on_bound, s,
              task->id);
}

/* --- prioritize ------------------------------------------------------------------------------ */

/* The best host; NULL when the answer is none. */
static const char *best_host(struct scheduler *s, const struct task *task, const json_t *scores)
{
    const char *best = NULL;
    json_int_t best_score = -1;
    const json_t *row;
    size_t i;

    if (json_array_size(scores) != task->asked_count)
        complain(s, "prioritize scored %zu of %zu nodes", json_array_size(scores),
                 task->asked_count);
    json_array_foreach(scores, i, row)
    {
        json_int_t score = json_integer_value(json_object_get(row, "Score"));

        if (score < 0 || score > 10)
            complain(s, "prioritize gave the score %lld", score);
        if (score > best_score) {
            best_score = score;
            best = json_string_value(json_object_get(row, "Host"));
        }
    }
    return best;
}

static void on_scores(void *ctx, uint64_t id, int status, const char *body)
{
    struct scheduler *s = ctx;
    struct task *task = find_task(s, id);
    json_t *scores = status == 200 ? json_loads(body, 0, NULL) : NULL;
    const char *host = json_is_array(scores) ? best_host(s, task, scores) : NULL;

    /* Without scores kube-scheduler goes on. */
    bind_to(s, task, host != NULL ? host : task->asked[0]);
    json_decref(scores);
}

/* --- filter ---------------------------------------------------------------------------------- */

static bool is_kept(const json_t *names, const char *node)
{
    const json_t *name;
    size_t i;

    json_array_foreach(names, i, name)
    {
        if (strcmp(json_string_value(name), node) == 0)
            return true;
    }
    return false;
}

/* Each node must be in exactly one group. The question becomes what was kept. */
static void take_kept(struct scheduler *s, struct task *task, const json_t *answer)
{
    const json_t *names = json_object_get(answer, "NodeNames");
    const json_t *failed = json_object_get(answer, "FailedNodes");
    const json_t *never = json_object_get(answer, "FailedAndUnresolvableNodes");
    size_t kept = 0, asked = task->asked_count;

    if (json_array_size(names) + json_object_size(failed) + json_object_size(never) != asked)
        complain(s, "filter: %zu nodes were asked about, and %zu, %zu, %zu answered", asked,
                 json_array_size(names), json_object_size(failed), json_object_size(never));
    for (size_t i = 0; i < asked; i++) {
        char *node = task->asked[i];
        int groups = is_kept(names, node) + (json_object_get(failed, node) != NULL) +
                     (json_object_get(never, node) != NULL);

        if (groups != 1)
            complain(s, "filter: node %s is in %d groups", node, groups);
        if (is_kept(names, node))
            task->asked[kept++] = node;
        else
            free(node);
    }
    task->asked_count = kept;
}

static void on_filtered(void *ctx, uint64_t id, int status, const char *body)
{
    struct scheduler *s = ctx;
    struct task *task = find_task(s, id);
    json_t *answer = status == 200 ? json_loads(body, 0, NULL) : NULL;
    const char *error = json_string_value(json_object_get(answer, "Error"));

    if (status == 200 && error == NULL)
        complain(s, "filter answered what is no answer: %s", body);
    if (error == NULL || error[0] != '\0') {
        wait_again(task, TASK_WAITS);
    } else {
        take_kept(s, task, answer);
        if (task->asked_count == 0) {
            wait_again(task, TASK_REFUSED);
        } else if (task->asked_count == 1) {
            bind_to(s, task, task->asked[0]);
        } else {
            task->stage = TASK_RANKS;
            ask(s, task, "/prioritize", on_scores);
        }
    }
    json_decref(answer);
}

static void begin(struct scheduler *s, struct task *task)
{
    size_t count = api_model_count(s->options.model, API_NODE);

    forget_question(task);
    task->asked = xcalloc(count + 1, sizeof *task->asked);
    for (size_t i = 0; i < count; i++)
        task->asked[task->asked_count++] =
            xstrdup(api_model_get(s->options.model, API_NODE, i)->name);
    if (count == 0) {
        wait_again(task, TASK_REFUSED);
        return;
    }
    task->stage = TASK_FILTERS;
    s->counts.filters++;
    ask(s, task, "/filter", on_filtered);
}

/* --- turns ----------------------------------------------------------------------------------- */

static bool is_busy(const struct scheduler *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->tasks[i].stage == TASK_FILTERS || s->tasks[i].stage == TASK_RANKS)
            return true;
    }
    return false;
}

uint64_t scheduler_tick(struct scheduler *s, unsigned port, uint64_t now_ms)
{
    struct task *first = NULL;

    s->port = port;
    follow(s, now_ms);
    if (port == 0)
        return now_ms + BOOT_WAIT_MS;
    for (size_t i = 0; i < s->count; i++) {
        if (s->tasks[i].stage == TASK_WAITS && (first == NULL || s->tasks[i].at_ms < first->at_ms))
            first = &s->tasks[i];
    }
    if (first == NULL || is_busy(s))
        return now_ms + FLUSH_MS / 4;
    if (first->at_ms > now_ms)
        return first->at_ms;
    begin(s, first);
    return now_ms;
}

size_t scheduler_pending(const struct scheduler *s)
{
    return s->count;
}

size_t scheduler_binding(const struct scheduler *s)
{
    size_t count = 0;

    for (size_t i = 0; i < s->count; i++)
        count += s->tasks[i].stage == TASK_BINDS;
    return count;
}

struct scheduler_counts scheduler_counts(const struct scheduler *s)
{
    return s->counts;
}
