/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talk to a real API server through kube_loop, by hand or from a script.
 *
 *     bench_kube_loop KUBECONFIG < commands
 *
 * Prints what the watches bring. Commands, one a line:
 *     bind NAMESPACE/NAME NODE RECORD [UID]   one Binding; RECORD becomes an annotation
 *     bind-all NODE                           all unbound pods at once, with the time it took
 *     status                                  the counters
 *     sleep MS
 */
#include "topofit/clock.h"
#include "topofit/kube_loop.h"
#include "topofit/map.h"
#include "topofit/mem.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RECORD_KEY "topofit.io/allocation"
#define BIND_TIME_MS 6000u
#define BINDS_MAX 128

struct seen {
    struct bench *bench;
    const char *name;
    size_t listed;
};

struct bench {
    pthread_mutex_t mutex; /* for what follows */
    struct map *unbound;   /* namespace/name to uid */
    struct kube_loop *loop;
    size_t open, bound, other;
    atomic_bool is_quiet;
};

static void begin(void *ctx)
{
    struct seen *seen = ctx;

    seen->listed = 0;
}

static void note_pod(struct bench *bench, const struct kube_pod *pod, bool is_gone)
{
    AUTO_FREE char *key = xasprintf("%s/%s", pod->meta.namespace, pod->meta.name);

    pthread_mutex_lock(&bench->mutex);
    if (is_gone || pod->node_name[0] != '\0')
        free(map_remove(bench->unbound, key));
    else
        free(map_put(bench->unbound, key, xstrdup(pod->meta.uid)));
    pthread_mutex_unlock(&bench->mutex);
}

static void item(void *ctx, struct kube_object *object)
{
    struct seen *seen = ctx;

    seen->listed++;
    if (object->kind == KUBE_POD)
        note_pod(seen->bench, &object->pod, false);
}

static void commit(void *ctx)
{
    const struct seen *seen = ctx;

    printf("%s: synced, %zu\n", seen->name, seen->listed);
}

static void show(const struct seen *seen, const char *what, struct kube_object *object)
{
    const struct kube_meta *meta = kube_object_meta(object);
    const char *record = kube_pairs_get(&meta->annotations, RECORD_KEY);

    if (object->kind == KUBE_POD)
        note_pod(seen->bench, &object->pod, strcmp(what, "gone") == 0);
    if (seen->bench->is_quiet)
        return;
    printf("%s: %s %s/%s version %s", seen->name, what, meta->namespace, meta->name,
           meta->resource_version);
    if (object->kind == KUBE_POD)
        printf(" node \"%s\" phase %s record %s", object->pod.node_name, object->pod.phase,
               record != NULL ? record : "-");
    printf("\n");
}

static void upsert(void *ctx, struct kube_object *object)
{
    show(ctx, "is", object);
}

static void forget(void *ctx, struct kube_object *object)
{
    show(ctx, "gone", object);
}

static void print_line(void *ctx, enum log_level level, const char *text)
{
    (void)ctx;
    printf("%s: %s\n", level == LOG_LEVEL_WARN ? "warning" : "info", text);
}

static void on_done(void *ctx, enum bind_outcome outcome, const char *text)
{
    static const char *const words[] = {"BOUND", "FAILED", "UNCLEAR"};
    struct bench *bench = ctx;

    if (!bench->is_quiet || outcome != BIND_BOUND)
        printf("bind: %s %s\n", words[outcome], text);
    pthread_mutex_lock(&bench->mutex);
    bench->open--;
    *(outcome == BIND_BOUND ? &bench->bound : &bench->other) += 1;
    pthread_mutex_unlock(&bench->mutex);
}

static size_t open_binds(struct bench *bench)
{
    size_t open;

    pthread_mutex_lock(&bench->mutex);
    open = bench->open;
    pthread_mutex_unlock(&bench->mutex);
    return open;
}

static void sleep_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static void submit(struct bench *bench, const char *pod, const char *node, const char *record,
                   const char *uid)
{
    const char *slash = strchr(pod, '/');
    AUTO_FREE char *namespace = xstrndup(pod, slash != NULL ? (size_t)(slash - pod) : 0);
    struct bind_job *job = bind_job_new(namespace, slash != NULL ? slash + 1 : pod, uid, node);
    struct error err = {0};

    bind_job_add_annotation(job, RECORD_KEY, record);
    job->record_key = RECORD_KEY;
    job->deadline_ms = clock_monotonic_ms() + BIND_TIME_MS;
    job->done = on_done;
    job->ctx = bench;
    pthread_mutex_lock(&bench->mutex);
    bench->open++;
    pthread_mutex_unlock(&bench->mutex);
    while (kube_loop_submit_bind(bench->loop, job, &err) < 0) {
        error_clear(&err);
        sleep_ms(1);
    }
}

static void bind_one(struct bench *bench, char *arguments)
{
    char pod[520], node[260], record[200], uid[64] = "";

    if (sscanf(arguments, "%519s %259s %199s %63s", pod, node, record, uid) < 3) {
        printf("bind NAMESPACE/NAME NODE RECORD [UID]\n");
        return;
    }
    pthread_mutex_lock(&bench->mutex);
    if (uid[0] == '\0' && map_get(bench->unbound, pod) != NULL)
        snprintf(uid, sizeof uid, "%s", (const char *)map_get(bench->unbound, pod));
    pthread_mutex_unlock(&bench->mutex);
    submit(bench, pod, node, record, uid);
    while (open_binds(bench) > 0)
        sleep_ms(1);
}

static void bind_all(struct bench *bench, char *node)
{
    struct map_cursor at = {0};
    char *names[20000], *uids[20000];
    size_t count = 0;
    uint64_t start_ms = clock_monotonic_ms();

    node[strcspn(node, "\n")] = '\0';
    bench->is_quiet = true;
    pthread_mutex_lock(&bench->mutex);
    bench->bound = bench->other = 0;
    while (count < ARRAY_LEN(names) && map_next(bench->unbound, &at)) {
        names[count] = xstrdup(at.key);
        uids[count++] = xstrdup(at.value);
    }
    pthread_mutex_unlock(&bench->mutex);
    for (size_t i = 0; i < count; i++) {
        submit(bench, names[i], node, "all", uids[i]);
        free(names[i]);
        free(uids[i]);
    }
    while (open_binds(bench) > 0)
        sleep_ms(1);
    bench->is_quiet = false;
    printf("bind-all: %zu pods, %zu bound, %zu not, %" PRIu64 " ms\n", count, bench->bound,
           bench->other, clock_monotonic_ms() - start_ms);
}

static void print_counters(const char *name, const struct reflector_counters *c)
{
    printf("%s: synced %d watching %d lists %" PRIu64 " watches %" PRIu64 " events %" PRIu64
           " bookmarks %" PRIu64 " relists %" PRIu64 " errors %" PRIu64 " unreadable %" PRIu64
           " stalls %" PRIu64 " problem \"%s\"\n",
           name, c->synced, c->watching, c->lists, c->watches, c->events, c->bookmarks, c->relists,
           c->errors, c->unreadable, c->stalls, c->problem);
}

static void print_status(struct kube_loop *loop)
{
    struct kube_loop_status status;

    kube_loop_status(loop, &status);
    print_counters("nodes", &status.nodes);
    print_counters("pods", &status.pods);
    printf("binds: posts %" PRIu64 " gets %" PRIu64 " lost %" PRIu64 " bound %" PRIu64
           " failed %" PRIu64 " unclear %" PRIu64 " in flight %zu\n",
           status.binds.posts, status.binds.gets, status.binds.lost, status.binds.bound,
           status.binds.failed, status.binds.unclear, status.binds.in_flight);
}

static void obey(struct bench *bench, char *line)
{
    if (strncmp(line, "bind-all ", 9) == 0)
        bind_all(bench, line + 9);
    else if (strncmp(line, "bind ", 5) == 0)
        bind_one(bench, line + 5);
    else if (strncmp(line, "sleep ", 6) == 0)
        sleep_ms(strtol(line + 6, NULL, 10));
    else if (strncmp(line, "status", 6) == 0)
        print_status(bench->loop);
}

int main(int argc, char **argv)
{
    const struct kube_environment environment = kube_environment_get();
    static const struct hash_key key = {{1, 2}};
    struct bench bench = {.mutex = PTHREAD_MUTEX_INITIALIZER, .unbound = map_new(&key)};
    struct seen nodes = {.bench = &bench, .name = "nodes"};
    struct seen pods = {.bench = &bench, .name = "pods"};
    struct kube_config config = {0};
    struct kube_loop_options options = {
        .steal_config = &config,
        .nodes = {&nodes, begin, item, commit, upsert, forget},
        .pods = {&pods, begin, item, commit, upsert, forget},
        .binds_max = BINDS_MAX,
        .log = print_line,
    };
    struct error err = {0};
    char line[1024];

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (kubeconfig_load(argc > 1 ? argv[1] : NULL, &environment, &config, &err) < 0 ||
        (bench.loop = kube_loop_start(&options, &err)) == NULL) {
        fprintf(stderr, "%s\n", err.text);
        map_free(bench.unbound, free);
        return 1;
    }
    while (fgets(line, sizeof line, stdin) != NULL)
        obey(&bench, line);
    print_status(bench.loop);
    kube_loop_stop(bench.loop);
    map_free(bench.unbound, free);
    return 0;
}
