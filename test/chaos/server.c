/* SPDX-License-Identifier: Apache-2.0 */
/* server - an api_model over plain HTTP on the loopback address, with faults. */
#include "connection.h"

#include "topofit/mem.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 128
#define ETCD_MS 300

struct rule {
    unsigned count;
    struct fault_target target;
    struct fault fault;
};

/* A request that is executed some time after it came. */
struct late {
    uint64_t came_ms, at_ms;
    char *method, *path, *type, *body;
    size_t body_length;
    struct connection *asker; /* NULL once it is gone */
};

struct server {
    struct server_options options;
    struct loop_source listener;
    unsigned port;
    struct connection *connections;
    struct rule *rules;
    size_t rule_count, rule_capacity;
    struct late *late;
    size_t late_count, late_capacity;
    uint64_t requests;
};

/* --- life ------------------------------------------------------------------------------------ */

static void on_client(void *ctx, bool can_read, bool can_write)
{
    struct server *server = ctx;
    int fd = accept4(server->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int on = 1;
    struct connection *c;

    (void)can_read;
    (void)can_write;
    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c = connection_new(server, fd);
    c->next = server->connections;
    server->connections = c;
}

static int listen_on_loopback(unsigned *port, struct error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, BACKLOG) != 0 || getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        if (fd >= 0)
            close(fd);
        return error_set(err, ERR_IO, "cannot listen on 127.0.0.1: %s", strerror(errno));
    }
    *port = ntohs(address.sin_port);
    return fd;
}

struct server *server_new(const struct server_options *options, struct error *err)
{
    unsigned port = 0;
    int fd = listen_on_loopback(&port, err);
    struct server *server;

    if (fd < 0)
        return NULL;
    server = xcalloc(1, sizeof *server);
    server->options = *options;
    server->port = port;
    server->listener = (struct loop_source){.fd = fd, .ctx = server, .on_ready = on_client};
    loop_add(options->loop, &server->listener);
    return server;
}

void server_free(struct server *server)
{
    if (server == NULL)
        return;
    while (server->connections != NULL) {
        struct connection *c = server->connections;

        server->connections = c->next;
        connection_free(c);
    }
    server_forget_late(server);
    loop_remove(server->options.loop, &server->listener);
    free(server->late);
    free(server->rules);
    free(server);
}

unsigned server_port(const struct server *server)
{
    return server->port;
}

struct loop *server_loop(struct server *server)
{
    return server->options.loop;
}

/* --- rules ----------------------------------------------------------------------------------- */

void server_add_fault(struct server *server, unsigned count, const struct fault_target *target,
                      const struct fault *fault)
{
    server->rules =
        mem_grow(server->rules, server->rule_count, &server->rule_capacity, sizeof *server->rules);
    server->rules[server->rule_count++] = (struct rule){count, *target, *fault};
}

static void drop_rule(struct server *server, size_t at)
{
    server->rule_count--;
    memmove(&server->rules[at], &server->rules[at + 1],
            (server->rule_count - at) * sizeof *server->rules);
}

struct fault server_choose_fault(struct server *server, const char *method, const char *path)
{
    struct fault fault = {0};

    server->requests++;
    for (size_t i = 0; i < server->rule_count; i++) {
        if (!fault_target_takes(&server->rules[i].target, method, path))
            continue;
        fault = server->rules[i].fault;
        if (--server->rules[i].count == 0)
            drop_rule(server, i);
        break;
    }
    if (server->options.on_request != NULL)
        server->options.on_request(server->options.ctx, method, path, &fault);
    return fault;
}

static bool is_taken(const struct connection *c, const struct fault_target *target)
{
    return connection_is_stream(c) && fault_target_takes(target, c->method, c->path);
}

void server_hurt_streams(struct server *server, const struct fault_target *target,
                         const struct fault *fault)
{
    for (struct connection *c = server->connections; c != NULL; c = c->next) {
        if (is_taken(c, target))
            connection_hurt(c, fault);
    }
}

void server_clear_faults(struct server *server)
{
    server->rule_count = 0;
    for (struct connection *c = server->connections; c != NULL; c = c->next) {
        if (connection_is_stream(c))
            connection_hurt(c, &(struct fault){0});
        else if (c->stage == STAGE_WAITING && !c->waits_to_send && c->due_ms == UINT64_MAX &&
                 c->fault.action != FAULT_LATE)
            connection_reset(c);
    }
}

void server_end_streams(struct server *server)
{
    for (struct connection *c = server->connections; c != NULL; c = c->next) {
        if (connection_is_stream(c))
            connection_end_stream(c);
    }
}

void server_drop_connections(struct server *server)
{
    for (struct connection *c = server->connections; c != NULL; c = c->next) {
        if (c->stage != STAGE_DEAD)
            connection_reset(c);
    }
}

size_t server_stream_count(const struct server *server)
{
    size_t count = 0;

    for (const struct connection *c = server->connections; c != NULL; c = c->next)
        count += connection_is_stream(c);
    return count;
}

uint64_t server_request_count(const struct server *server)
{
    return server->requests;
}

/* --- executing ------------------------------------------------------------------------------- */

void server_execute(struct server *server, const struct connection *request,
                    struct model_answer *out)
{
    const struct model_request asked = {.method = request->method,
                                        .path = request->path,
                                        .body = request->body,
                                        .body_length = request->body_length,
                                        .content_type = request->type};

    api_model_answer(server->options.model, &asked, loop_now_ms(), out);
    if (server->options.on_executed != NULL)
        server->options.on_executed(server->options.ctx, request->method, request->path,
                                    out->status, buf_text(&out->body));
}

void server_compact(struct server *server)
{
    if (server->options.before_compact != NULL)
        server->options.before_compact(server->options.ctx);
    api_model_compact(server->options.model);
}

static char *copy_text(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

void server_execute_late(struct server *server, struct connection *request, uint64_t at_ms)
{
    server->late =
        mem_grow(server->late, server->late_count, &server->late_capacity, sizeof *server->late);
    server->late[server->late_count++] =
        (struct late){loop_now_ms(),
                      at_ms,
                      xstrdup(request->method),
                      xstrdup(request->path),
                      copy_text(request->type),
                      xstrndup(request->body, request->body_length),
                      request->body_length,
                      request};
}

static void late_clear(struct late *late)
{
    free(late->method);
    free(late->path);
    free(late->type);
    free(late->body);
}

/*
 * The real server ends a request after the time the client allows ("timeout=1500ms", "timeout=3s").
 * What it has sent to etcd by then may still be executed.
 */
static bool is_too_late(const struct late *late)
{
    const char *timeout = strstr(late->path, "timeout=");
    char *unit;
    uint64_t limit_ms;

    if (timeout == NULL)
        return false;
    limit_ms = strtoull(timeout + strlen("timeout="), &unit, 10);
    if (strncmp(unit, "ms", 2) != 0)
        limit_ms *= 1000;
    return late->at_ms - late->came_ms > limit_ms + ETCD_MS;
}

static void execute_late(struct server *server, struct late *late)
{
    AUTO(model_answer_clear) struct model_answer answer = {0};
    const struct model_request asked = {.method = late->method,
                                        .path = late->path,
                                        .body = late->body,
                                        .body_length = late->body_length,
                                        .content_type = late->type};

    if (is_too_late(late))
        model_answer_fail(&answer, 504, "Timeout", "request did not complete within the timeout");
    else
        api_model_answer(server->options.model, &asked, loop_now_ms(), &answer);
    if (late->asker != NULL)
        connection_take_answer(late->asker, &answer);
    api_watch_free(answer.watch);
}

static uint64_t do_late(struct server *server, uint64_t now_ms)
{
    uint64_t due_ms = UINT64_MAX;

    for (size_t i = 0; i < server->late_count;) {
        struct late late = server->late[i];

        if (late.at_ms > now_ms) {
            due_ms = late.at_ms < due_ms ? late.at_ms : due_ms;
            i++;
            continue;
        }
        server->late[i] = server->late[--server->late_count];
        execute_late(server, &late);
        late_clear(&late);
    }
    return due_ms;
}

void server_forget_late(struct server *server)
{
    for (size_t i = 0; i < server->late_count; i++)
        late_clear(&server->late[i]);
    server->late_count = 0;
}

size_t server_late_count(const struct server *server)
{
    return server->late_count;
}

void server_forget_connection(struct server *server, const struct connection *connection)
{
    for (size_t i = 0; i < server->late_count; i++) {
        if (server->late[i].asker == connection)
            server->late[i].asker = NULL;
    }
}

/* --- what is due ----------------------------------------------------------------------------- */

static void bury(struct server *server)
{
    struct connection **place = &server->connections;

    while (*place != NULL) {
        struct connection *c = *place;

        if (c->stage != STAGE_DEAD) {
            place = &c->next;
            continue;
        }
        *place = c->next;
        connection_free(c);
    }
}

uint64_t server_tick(struct server *server, uint64_t now_ms)
{
    uint64_t due_ms;

    bury(server);
    due_ms = do_late(server, now_ms);
    for (struct connection *c = server->connections; c != NULL; c = c->next) {
        uint64_t its_ms = connection_tick(c, now_ms);

        due_ms = its_ms < due_ms ? its_ms : due_ms;
    }
    return due_ms;
}
