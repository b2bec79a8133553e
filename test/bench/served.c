/* SPDX-License-Identifier: Apache-2.0 */
/* served - what is measured: the daemon, and the floor beneath it, each a child process. */
#include "served.h"

#include "topofit/config.h"
#include "topofit/http.h"
#include "topofit/mem.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FLOOR_BYTES_MAX (64u << 20)

static void give_up(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* Start a child; its end of the pipe is *out in the child and our end in us. */
static int begin_child(int *out)
{
    int ends[2], pid;

    if (pipe(ends) != 0)
        give_up("no pipe");
    fflush(stdout);
    pid = fork();
    if (pid < 0)
        give_up("no child");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
    } else {
        close(ends[1]);
    }
    *out = ends[pid == 0];
    return pid;
}

/* --- the daemon ------------------------------------------------------------------------------ */

/* "... serving version=0.1.0 port=123 adminPort=456". The pipe stays open for what is logged. */
static void read_ports(int log, struct served *out)
{
    FILE *lines = fdopen(log, "r");
    char line[4096];

    while (lines != NULL && fgets(line, sizeof line, lines) != NULL) {
        const char *port = strstr(line, " port="), *admin = strstr(line, "adminPort=");

        if (port != NULL && admin != NULL) {
            out->port = (unsigned)strtoul(port + strlen(" port="), NULL, 10);
            out->admin_port = (unsigned)strtoul(admin + strlen("adminPort="), NULL, 10);
            return;
        }
        fputs(line, stderr);
    }
    give_up("the daemon did not start");
}

struct served served_daemon(const char *program, const char *dump)
{
    struct served served = {0};
    int log;

    served.pid = begin_child(&log);
    if (served.pid == 0) {
        dup2(log, STDERR_FILENO);
        execl(program, program, "serve", "--cluster", dump, "--listen", "127.0.0.1:0",
              "--admin-listen", "127.0.0.1:0", (char *)NULL);
        fprintf(stderr, "cannot run %s\n", program);
        _exit(127);
    }
    read_ports(log, &served);
    return served;
}

/* --- the floor ------------------------------------------------------------------------------- */

/* Not even the copy of a body that is there: whatever stands in memory is the answer. */
static void answer_length(void *ctx, const struct http_request *request)
{
    size_t length = strtoul(request->rest, NULL, 10);

    (void)ctx;
    length = length < FLOOR_BYTES_MAX ? length : FLOOR_BYTES_MAX;
    http_answer_steal(request->call, 200, "application/json", xmalloc(length), length);
}

static const struct http_route floor_routes[] = {
    {.method = "POST", .path = "/floor/", .is_prefix = true, .handle = answer_length}};

/* As edge/daemon.c sets up the extender's port. */
static void be_floor(int ready)
{
    AUTO(config_clear) struct config config;
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = floor_routes,
                                   .route_count = ARRAY_LEN(floor_routes),
                                   .idle_timeout_ms = 120000};
    struct error err = {0};
    struct http_server *server;
    unsigned port = 0;

    config_defaults(&config);
    options.threads = (unsigned)config.extender_threads;
    options.connections_max = (unsigned)config.extender_connections_max;
    options.body_max_bytes = (size_t)config.extender_body_max_mib << 20;
    options.request_timeout_ms = config.extender_request_timeout_ms;
    server = http_start(&options, &err);
    if (server != NULL)
        port = http_port(server);
    if (write(ready, &port, sizeof port) != sizeof port)
        _exit(1);
    for (;;)
        pause();
}

struct served served_floor(void)
{
    struct served served = {0};
    int ready;

    served.pid = begin_child(&ready);
    if (served.pid == 0)
        be_floor(ready);
    if (read(ready, &served.port, sizeof served.port) != sizeof served.port || served.port == 0)
        give_up("the floor did not start");
    close(ready);
    return served;
}

/* --- what they use --------------------------------------------------------------------------- */

static size_t status_kib(int pid, const char *field)
{
    char path[64], line[256];
    size_t kib = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", pid);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, strlen(field)) == 0)
            kib = strtoul(line + strlen(field) + 1, NULL, 10);
    }
    if (file != NULL)
        fclose(file);
    return kib;
}

struct served_cost served_cost(const struct served *served)
{
    struct served_cost cost = {.resident_kib = status_kib(served->pid, "VmRSS"),
                               .peak_kib = status_kib(served->pid, "VmHWM")};
    struct timespec used = {0};
    clockid_t clock;

    if (clock_getcpuclockid(served->pid, &clock) == 0 && clock_gettime(clock, &used) == 0)
        cost.cpu_us = (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
    return cost;
}

void served_stop(struct served *served)
{
    kill(served->pid, SIGKILL);
    waitpid(served->pid, NULL, 0);
    *served = (struct served){0};
}
