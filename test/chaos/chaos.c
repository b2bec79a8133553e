/* SPDX-License-Identifier: Apache-2.0 */
/* chaos - a daemon between a hostile API server and an impatient kube-scheduler. */
#include "chaos.h"
#include "chaos_plan.h"
#include "daemon_process.h"
#include "scheduler.h"
#include "script.h"

#include "topofit/mem.h"

#include <jansson.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_LINES 150
#define STEP_LEAST_MS 30
#define STEP_MOST_MS 170
#define START_MS 15000  /* for the daemon to serve */
#define SETTLE_MS 75000 /* for all waits after failures to pass */
#define LOOK_MS 3000
#define STOP_MS 20000
#define DRAIN_TURNS 40
#define HARD_EVERY 25

struct chaos {
    const struct chaos_options *options;
    struct loop loop;
    struct api_model *model;
    struct placement_checker *checker;
    struct server *server;
    struct http_calls *calls;
    struct scheduler *scheduler;
    struct daemon_process daemon;
    struct chaos_plan plan;
    char *kubeconfig;
    char *trace[TRACE_LINES];
    uint64_t traced, began_ms;
    char wrong[1024];
    uint64_t faults; /* requests that were hurt */
    /* the last look at the daemon */
    bool is_looking;
    int look_status;
    char *look_body;
};

/* --- telling --------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void note(struct chaos *chaos, const char *format, ...)
{
    char **place = &chaos->trace[chaos->traced++ % TRACE_LINES];
    AUTO_FREE char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    free(*place);
    *place = xasprintf("%8.3f %s", (double)(loop_now_ms() - chaos->began_ms) / 1000, text);
    if (chaos->options->is_verbose)
        printf("%s\n", *place);
}

static void complain(struct chaos *chaos, const char *text)
{
    if (chaos->wrong[0] != '\0')
        return;
    snprintf(chaos->wrong, sizeof chaos->wrong, "%s", text);
    note(chaos, "WRONG: %s", text);
}

static void check(struct chaos *chaos)
{
    const char *wrong = placement_checker_check(chaos->checker);

    if (wrong != NULL)
        complain(chaos, wrong);
}

static void print_trace(struct chaos *chaos)
{
    uint64_t first = chaos->traced > TRACE_LINES ? chaos->traced - TRACE_LINES : 0;

    if (!chaos->options->is_verbose)
        printf("--- the last steps\n");
    for (uint64_t i = first; i < chaos->traced && !chaos->options->is_verbose; i++)
        printf("%s\n", chaos->trace[i % TRACE_LINES]);
    printf("--- the daemon's log, its end\n%s\n", buf_text(&chaos->daemon.lines));
}

/* --- hooks ----------------------------------------------------------------------------------- */

static void on_request(void *ctx, const char *method, const char *path, const struct fault *fault)
{
    struct chaos *chaos = ctx;

    chaos->faults += fault->action != FAULT_NONE;
    note(chaos, "      %s %.110s%s", method, path, fault->action != FAULT_NONE ? "  <- hurt" : "");
}

/* A refusal that says: this is no request. Lists as streams are asked for on trial. */
static void on_executed(void *ctx, const char *method, const char *path, int status,
                        const char *body)
{
    static const int mistakes[] = {400, 405, 415, 422, 500};

    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        AUTO_FREE char *text = NULL;

        if (status != mistakes[i] || (status == 422 && strstr(path, "sendInitialEvents") != NULL))
            continue;
        text = xasprintf("the daemon asked what no API server understands: %s %s: %s", method, path,
                         body);
        complain(ctx, text);
    }
}

static void before_compact(void *ctx)
{
    check(ctx);
}

static void on_news(void *ctx, const char *line)
{
    note(ctx, "   %s", line);
}

static void on_wrong(void *ctx, const char *text)
{
    complain(ctx, text);
}

/* --- time ------------------------------------------------------------------------------------ */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void turn(struct chaos *chaos, uint64_t until_ms)
{
    uint64_t now_ms = loop_now_ms(), due_ms = until_ms;

    due_ms = earlier(due_ms, server_tick(chaos->server, now_ms));
    due_ms = earlier(due_ms, http_calls_tick(chaos->calls, now_ms));
    due_ms = earlier(due_ms, scheduler_tick(chaos->scheduler, chaos->daemon.port, now_ms));
    due_ms = earlier(due_ms, server_tick(chaos->server, now_ms));
    loop_turn(&chaos->loop, due_ms > now_ms ? (unsigned)(due_ms - now_ms) : 0);
    check(chaos);
}

static void run_for(struct chaos *chaos, uint64_t wait_ms)
{
    uint64_t until_ms = loop_now_ms() + wait_ms;

    while (loop_now_ms() < until_ms && chaos->wrong[0] == '\0')
        turn(chaos, until_ms);
}

/* --- the daemon ------------------------------------------------------------------------------ */

static bool start_daemon(struct chaos *chaos, struct error *err)
{
    uint64_t until_ms = loop_now_ms() + START_MS;

    if (daemon_process_start(&chaos->daemon, err) < 0)
        return false;
    while (chaos->daemon.port == 0 && loop_now_ms() < until_ms)
        turn(chaos, until_ms);
    if (chaos->daemon.port == 0)
        error_set(err, ERR_IO, "the daemon does not serve: %.300s", buf_text(&chaos->daemon.lines));
    note(chaos, "daemon %d serves", chaos->daemon.pid);
    return chaos->daemon.port != 0;
}

/*
 * What was on its way must have arrived before the next daemon lists: a Binding that is executed
 * later is a gap that docs/concepts/ledger.md tells of.
 */
static void settle_orphans(struct chaos *chaos)
{
    chaos->daemon.port = 0;
    server_forget_late(chaos->server);
    for (int i = 0; i < DRAIN_TURNS; i++)
        turn(chaos, loop_now_ms());
    server_forget_late(chaos->server);
    server_drop_connections(chaos->server);
}

static void restart_daemon(struct chaos *chaos, bool crashes)
{
    struct error err = {0};

    if (crashes) {
        note(chaos, "kill -9");
        daemon_process_kill(&chaos->daemon);
    } else {
        note(chaos, "stop");
        server_clear_faults(chaos->server);
        if (daemon_process_stop(&chaos->daemon, STOP_MS) != 0)
            complain(chaos, "the daemon did not stop in order");
    }
    settle_orphans(chaos);
    if (!start_daemon(chaos, &err))
        complain(chaos, err.text);
}

/* --- looking at it --------------------------------------------------------------------------- */

static void on_look(void *ctx, uint64_t tag, int status, const char *body)
{
    struct chaos *chaos = ctx;

    (void)tag;
    chaos->is_looking = false;
    chaos->look_status = status;
    free(chaos->look_body);
    chaos->look_body = xstrdup(body);
}

/* What the daemon says at its admin port; NULL when it does not. The caller unrefs it. */
static json_t *look(struct chaos *chaos, const char *path)
{
    chaos->is_looking = true;
    http_call(chaos->calls, chaos->daemon.admin_port, path, NULL, LOOK_MS, on_look, chaos, 0);
    while (chaos->is_looking)
        turn(chaos, loop_now_ms() + LOOK_MS);
    return chaos->look_status == 200 ? json_loads(chaos->look_body, 0, NULL) : NULL;
}

/* Does the daemon hold what the API server holds? return why not (borrowed), or NULL. */
static const char *compare(struct chaos *chaos)
{
    json_t *document = look(chaos, "/debug/pods"), *item;
    const json_t *items = json_object_get(document, "items");
    struct placement_seen *seen = xcalloc(json_array_size(items) + 1, sizeof *seen);
    const char *wrong = "the daemon does not answer /debug/pods";
    size_t i, count = 0;

    json_array_foreach(items, i, item)
    {
        const json_t *placement = json_object_get(item, "placement");

        if (placement != NULL)
            seen[count++] =
                (struct placement_seen){json_string_value(json_object_get(item, "uid")),
                                        json_string_value(json_object_get(placement, "node"))};
    }
    if (document != NULL)
        wrong = placement_checker_compare(chaos->checker, seen, count);
    free(seen);
    json_decref(document);
    return wrong;
}

/* --- steps ----------------------------------------------------------------------------------- */

static void do_line(struct chaos *chaos, const char *line)
{
    const struct script_world world = {chaos->model, chaos->server};
    struct error err = {0};
    uint64_t wait_ms;

    note(chaos, "%s", line);
    /* The pod may have gone by itself meanwhile: a step that cannot be done is none. */
    if (script_step(&world, line, &wait_ms, &err) < 0 && err.code != ERR_NOT_FOUND)
        complain(chaos, err.text);
    else
        run_for(chaos, wait_ms);
}

static void do_lines(struct chaos *chaos, struct buf *lines)
{
    AUTO_FREE char *text = buf_steal(lines);
    char *rest = text, *line;

    while ((line = strsep(&rest, "\n")) != NULL) {
        if (line[0] != '\0')
            do_line(chaos, line);
    }
    check(chaos);
}

static void do_steps(struct chaos *chaos)
{
    struct buf lines = buf_with_max(1u << 16);

    chaos_plan_begin(&chaos->plan, &lines);
    do_lines(chaos, &lines);
    for (unsigned step = 1; step <= chaos->options->steps && chaos->wrong[0] == '\0'; step++) {
        enum plan_extra extra = chaos_plan_next(&chaos->plan, chaos->model, &lines);

        note(chaos, "step %u", step);
        do_lines(chaos, &lines);
        if (extra != PLAN_NOTHING)
            restart_daemon(chaos, extra == PLAN_CRASH);
        run_for(chaos, STEP_LEAST_MS + chaos->plan.chance % (STEP_MOST_MS - STEP_LEAST_MS));
        if (daemon_process_has_ended(&chaos->daemon))
            complain(chaos, "the daemon has ended");
    }
    buf_clear(&lines);
}

/* --- the end --------------------------------------------------------------------------------- */

static void remove_unbound(struct chaos *chaos)
{
    for (size_t i = api_model_count(chaos->model, API_POD); i > 0; i--) {
        const struct api_object *pod = api_model_get(chaos->model, API_POD, i - 1);

        if (pod->node_name[0] == '\0') {
            AUTO_FREE char *line = xasprintf("remove %s", pod->name);

            do_line(chaos, line);
        }
    }
}

/* Wait until nothing is on its way and both sides agree. */
static void settle(struct chaos *chaos)
{
    uint64_t until_ms = loop_now_ms() + SETTLE_MS;
    const char *difference = "";

    note(chaos, "settling");
    do_line(chaos, "heal");
    while (scheduler_binding(chaos->scheduler) > 0 || server_late_count(chaos->server) > 0)
        turn(chaos, loop_now_ms() + LOOK_MS);
    remove_unbound(chaos);
    while (difference != NULL && loop_now_ms() < until_ms && chaos->wrong[0] == '\0') {
        run_for(chaos, 100);
        difference = compare(chaos);
    }
    if (difference != NULL)
        complain(chaos, difference);
    note(chaos, "settled, %zu pods hold devices", placement_checker_held_count(chaos->checker));
}

/* After all that, an ordinary pod on an ordinary node must be placed. */
static void place_one_more(struct chaos *chaos)
{
    uint64_t until_ms = loop_now_ms() + SETTLE_MS;
    const struct api_object *pod;

    do_line(chaos, "node fresh 2 1000");
    do_line(chaos, "pod last 1 500");
    do {
        run_for(chaos, 50);
        pod = api_model_find(chaos->model, API_POD, "default", "last");
    } while (pod->node_name[0] == '\0' && loop_now_ms() < until_ms && chaos->wrong[0] == '\0');
    if (pod->node_name[0] == '\0')
        complain(chaos, "afterwards, an ordinary pod was not placed");
}

static void stop(struct chaos *chaos)
{
    if (chaos->wrong[0] == '\0' && daemon_process_stop(&chaos->daemon, STOP_MS) != 0)
        complain(chaos, "the daemon did not stop in order");
}

/* --- life ------------------------------------------------------------------------------------ */

static int write_kubeconfig(struct chaos *chaos, struct error *err)
{
    FILE *file;

    chaos->kubeconfig = xasprintf("%s/kubeconfig", chaos->options->directory);
    file = fopen(chaos->kubeconfig, "w");
    if (file == NULL)
        return error_set(err, ERR_IO, "%s cannot be written", chaos->kubeconfig);
    fprintf(file,
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
            "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:%u\"}}]\n"
            "users: [{name: u, user: {}}]\n"
            "contexts: [{name: c, context: {cluster: c, user: u}}]\n",
            server_port(chaos->server));
    fclose(file);
    return 0;
}

static int open_all(struct chaos *chaos, struct error *err)
{
    chaos->loop = loop_open();
    chaos->model = api_model_new(0);
    chaos->checker = placement_checker_new(chaos->model, API_SCHEDULER);
    chaos->calls = http_calls_new(&chaos->loop);
    chaos->scheduler = scheduler_new(&(struct scheduler_options){.calls = chaos->calls,
                                                                 .model = chaos->model,
                                                                 .checker = chaos->checker,
                                                                 .ctx = chaos,
                                                                 .on_news = on_news,
                                                                 .on_wrong = on_wrong});
    chaos->server = server_new(&(struct server_options){.loop = &chaos->loop,
                                                        .model = chaos->model,
                                                        .ctx = chaos,
                                                        .on_request = on_request,
                                                        .on_executed = on_executed,
                                                        .before_compact = before_compact},
                               err);
    if (chaos->server == NULL || write_kubeconfig(chaos, err) < 0)
        return -(int)err->code;
    chaos->daemon = daemon_process_of(&chaos->loop, chaos->options->program, chaos->options->config,
                                      chaos->kubeconfig);
    return 0;
}

static void close_all(struct chaos *chaos)
{
    daemon_process_clear(&chaos->daemon);
    http_calls_free(chaos->calls);
    scheduler_free(chaos->scheduler);
    server_free(chaos->server);
    placement_checker_free(chaos->checker);
    api_model_free(chaos->model);
    loop_close(&chaos->loop);
    for (size_t i = 0; i < TRACE_LINES; i++)
        free(chaos->trace[i]);
    free(chaos->kubeconfig);
    free(chaos->look_body);
}

static void report(struct chaos *chaos)
{
    struct scheduler_counts counts = scheduler_counts(chaos->scheduler);

    if (chaos->wrong[0] != '\0') {
        print_trace(chaos);
        printf("chaos: WRONG: %s\n", chaos->wrong);
    }
    printf("chaos: seed %" PRIu64 ", %u steps, %.1f s: %" PRIu64 " filter calls, %" PRIu64
           " binds, %" PRIu64 " pods bound; %" PRIu64 " requests to the API server, %" PRIu64
           " hurt\n",
           chaos->options->seed, chaos->options->steps,
           (double)(loop_now_ms() - chaos->began_ms) / 1000, counts.filters, counts.binds,
           counts.bound, server_request_count(chaos->server), chaos->faults);
}

int chaos_run(const struct chaos_options *options, bool *out_is_well, struct error *err)
{
    struct chaos chaos = {.options = options,
                          .plan = {.chance = options->seed, .hard_every = HARD_EVERY},
                          .began_ms = loop_now_ms(),
                          .daemon = {.log = {.fd = -1}}};
    bool can_run = open_all(&chaos, err) == 0 && start_daemon(&chaos, err);

    if (can_run) {
        do_steps(&chaos);
        if (chaos.wrong[0] == '\0')
            settle(&chaos);
        if (chaos.wrong[0] == '\0')
            place_one_more(&chaos);
        stop(&chaos);
        report(&chaos);
        *out_is_well = chaos.wrong[0] == '\0';
    }
    close_all(&chaos);
    return can_run ? 0 : -(int)err->code;
}
