/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor for cluster.py: an extender that answers everything at once and binds without
 * thinking. It has the daemon's HTTP server and the daemon's client of the API server, and nothing
 * else: no cache, no watch, no record. filter keeps all names, prioritize gives each 0, bind sends
 * the Binding and waits for its answer.
 */
#include "topofit/buf.h"
#include "topofit/http.h"
#include "topofit/kube_client.h"
#include "topofit/kubeconfig.h"
#include "topofit/mem.h"

#include <getopt.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES_MAX (16u << 20)
#define BINDING_BYTES_MAX 4096u
#define BIND_TIMEOUT_MS 6000u
#define TURN_MS 60000u
#define NAMES_KEY "\"NodeNames\":["

/* A Binding on its way. */
struct job {
    struct job *next;
    struct http_call *call;
    char *path, *body;
    int status;
};

/* The daemon's own time for calls of one route, for comparing. */
struct tally {
    uint64_t calls, us;
};

enum { FILTER, PRIORITIZE, BIND, ROUTES };

struct idle {
    struct kube_client *client;
    struct tally tallies[ROUTES]; /* atomically */
    pthread_mutex_t mutex;        /* for the jobs that no one has sent yet */
    struct job *jobs;
};

static const char usage[] =
    "usage: bench_idle_extender --kubeconfig FILE [--listen ADDRESS:PORT]\n"
    "\n"
    "An extender that thinks nothing: all nodes are kept, all get 0 points, and bind sends the\n"
    "Binding. Beside it cluster.py measures the daemon. Ends on SIGTERM.\n"
    "\n"
    "  --kubeconfig  the API server and who we are to it\n"
    "  --listen      for kube-scheduler's calls (default: 127.0.0.1:9901)\n"
    "\n"
    "examples:\n"
    "  build/bench_idle_extender --kubeconfig ~/.kube/config\n"
    "  build/bench_idle_extender --kubeconfig floor.kubeconfig --listen 127.0.0.1:9911\n";

/* --- filter and prioritize ------------------------------------------------------------------- */

/* What stands between the brackets behind the last "NodeNames": the names, quoted. */
static const char *find_names(const struct http_request *request, size_t *length)
{
    const char *found = NULL, *at = request->body, *end;

    while ((at = strstr(at, NAMES_KEY)) != NULL)
        found = at += strlen(NAMES_KEY);
    end = found != NULL ? strchr(found, ']') : NULL;
    *length = end != NULL ? (size_t)(end - found) : 0;
    return found;
}

static void answer(const struct http_request *request, const struct buf *body)
{
    http_answer(request->call, 200, "application/json", body->data, body->length);
}

static void handle_filter(void *ctx, const struct http_request *request)
{
    AUTO(buf_clear) struct buf body = buf_with_max(ANSWER_BYTES_MAX);
    size_t length;
    const char *names = find_names(request, &length);

    (void)ctx;
    buf_add_text(&body, "{\"NodeNames\":[");
    buf_add(&body, names, length);
    buf_add_text(&body, "]}");
    answer(request, &body);
}

static void handle_prioritize(void *ctx, const struct http_request *request)
{
    AUTO(buf_clear) struct buf body = buf_with_max(ANSWER_BYTES_MAX);
    size_t length;
    const char *name = find_names(request, &length), *end = name + length, *comma;

    (void)ctx;
    buf_add_byte(&body, '[');
    for (; name < end; name = comma + 1) {
        comma = memchr(name, ',', (size_t)(end - name));
        comma = comma != NULL ? comma : end;
        buf_add_text(&body, body.length > 1 ? ",{\"Host\":" : "{\"Host\":");
        buf_add(&body, name, (size_t)(comma - name));
        buf_add_text(&body, ",\"Score\":0}");
    }
    buf_add_byte(&body, ']');
    answer(request, &body);
}

/* --- bind ------------------------------------------------------------------------------------ */

static void end_job(struct job *job, const char *failure)
{
    AUTO(buf_clear) struct buf body = buf_with_max(BINDING_BYTES_MAX);

    if (failure == NULL && (job->status < 200 || job->status > 299))
        failure = "the API server refused";
    buf_addf(&body, "{\"Error\":\"%s\"}", failure != NULL ? failure : "");
    http_answer(job->call, 200, "application/json", body.data, body.length);
    free(job->path);
    free(job->body);
    free(job);
}

static void on_begin(void *ctx, int status, unsigned retry_after_s)
{
    struct job *job = ctx;

    (void)retry_after_s;
    job->status = status;
}

static void on_bytes(void *ctx, const char *bytes, size_t length)
{
    (void)ctx, (void)bytes, (void)length;
}

static void on_end(void *ctx, const struct error *failure, bool was_sent)
{
    (void)was_sent;
    end_job(ctx, failure != NULL ? "no answer from the API server" : NULL);
}

/* The Binding that is asked for. return NULL when the question cannot be read. */
static struct job *read_job(const struct http_request *request)
{
    const char *name, *namespace, *uid, *node;
    json_t *asked = json_loadb(request->body, request->body_length, 0, NULL), *binding;
    struct job *job = NULL;

    if (json_unpack(asked, "{s:s,s:s,s:s,s:s}", "PodName", &name, "PodNamespace", &namespace,
                    "PodUID", &uid, "Node", &node) == 0) {
        job = xcalloc(1, sizeof *job);
        job->call = request->call;
        job->path = xasprintf("/api/v1/namespaces/%s/pods/%s/binding", namespace, name);
        binding = json_pack("{s:s,s:s,s:{s:s,s:s,s:s},s:{s:s,s:s,s:s}}", "apiVersion", "v1", "kind",
                            "Binding", "metadata", "name", name, "namespace", namespace, "uid", uid,
                            "target", "apiVersion", "v1", "kind", "Node", "name", node);
        job->body = json_dumps(binding, JSON_COMPACT);
        json_decref(binding);
    }
    json_decref(asked);
    return job;
}

static void handle_bind(void *ctx, const struct http_request *request)
{
    struct idle *idle = ctx;
    struct job *job = read_job(request);

    if (job == NULL) {
        http_problem(request->call, 400, "not a bind call", "PodName, PodNamespace, PodUID, Node");
        return;
    }
    pthread_mutex_lock(&idle->mutex);
    job->next = idle->jobs;
    idle->jobs = job;
    pthread_mutex_unlock(&idle->mutex);
    kube_client_wakeup(idle->client);
}

static void send_job(struct idle *idle, struct job *job)
{
    struct error err = {0};
    const struct kube_request request = {.api = {.method = "POST",
                                                 .path = job->path,
                                                 .body = job->body,
                                                 .body_length = strlen(job->body),
                                                 .timeout_ms = BIND_TIMEOUT_MS},
                                         .answer_max_bytes = ANSWER_BYTES_MAX,
                                         .ctx = job,
                                         .on_begin = on_begin,
                                         .on_bytes = on_bytes,
                                         .on_end = on_end};

    if (kube_client_send(idle->client, &request, &err) == NULL)
        end_job(job, "no credentials");
}

static void send_jobs(struct idle *idle)
{
    struct job *jobs, *next;

    pthread_mutex_lock(&idle->mutex);
    jobs = idle->jobs;
    idle->jobs = NULL;
    pthread_mutex_unlock(&idle->mutex);
    for (; jobs != NULL; jobs = next) {
        next = jobs->next;
        send_job(idle, jobs);
    }
}

/* --- figures --------------------------------------------------------------------------------- */

static const char *const route_paths[ROUTES] = {"/filter", "/prioritize", "/bind"};

static void on_done(void *ctx, const char *method, const char *route, unsigned status,
                    uint64_t duration_us)
{
    struct idle *idle = ctx;

    (void)method, (void)status;
    for (unsigned i = 0; i < ROUTES; i++) {
        if (strcmp(route, route_paths[i]) != 0)
            continue;
        __atomic_fetch_add(&idle->tallies[i].calls, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&idle->tallies[i].us, duration_us, __ATOMIC_RELAXED);
    }
}

/* {"filter": {"calls": 1, "us": 30}, ...}, sums. */
static void handle_figures(void *ctx, const struct http_request *request)
{
    AUTO(buf_clear) struct buf body = buf_with_max(1024);
    struct idle *idle = ctx;

    for (unsigned i = 0; i < ROUTES; i++)
        buf_addf(&body, "%s\"%s\":{\"calls\":%llu,\"us\":%llu}", i > 0 ? "," : "{",
                 route_paths[i] + 1,
                 (unsigned long long)__atomic_load_n(&idle->tallies[i].calls, __ATOMIC_RELAXED),
                 (unsigned long long)__atomic_load_n(&idle->tallies[i].us, __ATOMIC_RELAXED));
    buf_add_byte(&body, '}');
    answer(request, &body);
}

/* --- all ------------------------------------------------------------------------------------- */

static const struct http_route routes[] = {
    {.method = "POST", .path = "/filter", .any_prefix = true, .handle = handle_filter},
    {.method = "POST", .path = "/prioritize", .any_prefix = true, .handle = handle_prioritize},
    {.method = "POST", .path = "/bind", .any_prefix = true, .handle = handle_bind},
    {.method = "GET", .path = "/figures", .handle = handle_figures},
};

/* Never comes back when all is well. */
static int serve(const char *kubeconfig, const char *listen, struct error *err)
{
    struct kube_environment environment = kube_environment_get();
    struct kube_config config = {0};
    struct idle idle = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    const struct http_options options = {.listen = listen,
                                         .routes = routes,
                                         .route_count = ARRAY_LEN(routes),
                                         .ctx = &idle,
                                         .threads = 2,
                                         .connections_max = 1024,
                                         .body_max_bytes = ANSWER_BYTES_MAX,
                                         .request_timeout_ms = 10000,
                                         .idle_timeout_ms = 120000,
                                         .on_done = on_done};

    if (kubeconfig_load(kubeconfig, &environment, &config, err) < 0)
        return -1;
    idle.client = kube_client_new(&config, err);
    if (idle.client == NULL || http_start(&options, err) == NULL)
        return -1;
    for (;;) {
        send_jobs(&idle);
        kube_client_wait(idle.client, TURN_MS);
    }
}

static const struct option long_options[] = {{"kubeconfig", required_argument, NULL, 'k'},
                                             {"listen", required_argument, NULL, 'l'},
                                             {"help", no_argument, NULL, 'h'},
                                             {NULL, 0, NULL, 0}};

int main(int argc, char **argv)
{
    const char *kubeconfig = NULL, *listen = "127.0.0.1:9901";
    struct error err = {0};
    int option;

    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option == 'k') {
            kubeconfig = optarg;
        } else if (option == 'l') {
            listen = optarg;
        } else {
            fputs(usage, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 2;
        }
    }
    signal(SIGPIPE, SIG_IGN);
    serve(kubeconfig, listen, &err);
    fprintf(stderr, "bench_idle_extender: %s\n", err.text);
    return 1;
}
