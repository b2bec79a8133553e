/* SPDX-License-Identifier: Apache-2.0 */
/* http - an HTTP server on one address: its life, and the way of a request to a handler. */
#include "topofit/http.h"

#include "http_call.h"
#include "http_deadline.h"
#include "http_framing.h"
#include "http_lane.h"
#include "http_route.h"
#include "tls_session.h"
#include "topofit/clock.h"
#include "topofit/http_budget.h"
#include "topofit/listen_address.h"
#include "topofit/mem.h"

#include <gnutls/abstract.h>
#include <microhttpd.h>

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Taken in full for every connection; bodies are streamed through it. */
#define CONNECTION_MEMORY_BYTES (32 * 1024)

/*
 * A refused body up to this size is read and thrown away, so that the client gets its answer and
 * keeps its connection; a longer one is not waited for.
 */
#define DISCARD_MAX_BYTES ((uint64_t)1024 * 1024)

/* Whoever stops the server has more to do, and not for ever: give the Lease up, say. */
#define STOP_SENDING_MS 2000

#define PARAMETERS_MAX 64
#define PARAMETERS_MAX_TEXT "64"

/*
 * Room that is made for a body when its header states its length; a longer one grows as it comes.
 * So much at most is taken for what a client only promises.
 */
#define BODY_ROOM_MAX_BYTES ((uint64_t)1024 * 1024)

struct http_server {
    struct http_options options;
    struct MHD_Daemon *daemon;
    struct deadlines *deadlines;
    struct http_lane *lane; /* NULL when no route is slow */
    unsigned port;

    pthread_mutex_t lock; /* the three below; never held across a call out of this file */
    pthread_cond_t idle;
    unsigned busy; /* calls handed over and not done, and threads inside an answer */
    bool stopping;
};

/* What the library keeps for us with a connection. */
struct client {
    struct peer *peer;
    struct tls_session *tls; /* NULL on a plain port */
    struct http_call *call;  /* owned: the library drops some requests without telling */
};

/* --- who is busy with the server -------------------------------------------------------------- */

void http_server_hold(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->busy++;
    pthread_mutex_unlock(&server->lock);
}

void http_server_release(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->busy--;
    if (server->busy == 0)
        pthread_cond_signal(&server->idle);
    pthread_mutex_unlock(&server->lock);
}

/* As hold, unless the server is stopping. */
static bool admit(struct http_server *server)
{
    bool admitted;

    pthread_mutex_lock(&server->lock);
    admitted = !server->stopping;
    if (admitted)
        server->busy++;
    pthread_mutex_unlock(&server->lock);
    return admitted;
}

/* --- the way of a request --------------------------------------------------------------------- */

static enum MHD_Result queue(struct http_call *call, unsigned status, struct MHD_Response *response)
{
    const struct http_options *options = &call->server->options;
    enum MHD_Result result;

    if (response == NULL)
        return MHD_NO;
    if (options->on_done != NULL)
        options->on_done(options->ctx, call->request.method,
                         call->route != NULL ? call->route->path : "", status,
                         clock_monotonic_us() - call->header_us);
    peer_sends(call->peer);
    result = MHD_queue_response(call->connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static void add_allow(const struct http_call *call, struct MHD_Response *response)
{
    const struct http_options *options = &call->server->options;
    AUTO(buf_clear) struct buf allow = buf_with_max(256);

    http_route_allow(options->routes, options->route_count, call->route->path, &allow);
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, buf_text(&allow));
}

/* closes  the connection ends with the answer: the rest of the request is not read. */
static enum MHD_Result refuse(struct http_call *call, unsigned status, const char *detail,
                              bool closes)
{
    struct MHD_Response *response =
        http_problem_response(status, MHD_get_reason_phrase_for(status), detail);

    if (response != NULL && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        add_allow(call, response);
    if (response != NULL && closes)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    return queue(call, status, response);
}

static const char *refusal_detail(unsigned status)
{
    switch (status) {
    case MHD_HTTP_NOT_FOUND:
        return "no such path";
    case MHD_HTTP_SERVICE_UNAVAILABLE:
        return "too many large requests and answers are under way";
    case MHD_HTTP_METHOD_NOT_ALLOWED:
        return "this path answers the methods in the Allow header only";
    default:
        return "the body is larger than the limit";
    }
}

/* Find the route; the status to refuse with when there is none, else 0. */
static unsigned route(struct http_call *call)
{
    const struct http_options *options = &call->server->options;
    const struct http_request *request = &call->request;
    const struct http_route *found;

    call->route = http_route_find(options->routes, options->route_count, request->path);
    if (call->route == NULL)
        return MHD_HTTP_NOT_FOUND;
    found = http_route_method(options->routes, options->route_count, call->route->path,
                              request->method);
    if (found == NULL)
        return MHD_HTTP_METHOD_NOT_ALLOWED;
    call->route = found;
    if (found->is_prefix)
        call->request.rest = request->path + strlen(found->path);
    return 0;
}

/* The status to refuse a body of that length with before it is sent, else 0. */
static unsigned judge_length(struct http_call *call, uint64_t length)
{
    if (length > call->body.max)
        return MHD_HTTP_CONTENT_TOO_LARGE;
    return http_budget_has_room(call->budget, length) ? 0 : MHD_HTTP_SERVICE_UNAVAILABLE;
}

/* The header is complete: refuse what can be refused before the body is on its way. */
static enum MHD_Result see_header(struct http_call *call, const char *path, const char *method)
{
    struct http_framing framing = http_framing_judge(call->connection);
    bool is_unwanted = false; /* the body: it is not even read to be thrown away */

    call->header_seen = true;
    call->header_us = clock_monotonic_us();
    peer_receives(call->peer);
    call->request =
        (struct http_request){.method = method, .path = path, .rest = "", .body = "", .call = call};
    call->refusal = route(call);
    if (framing.refusal != 0)
        return refuse(call, framing.refusal, framing.problem, true);
    if (call->target_problem != NULL)
        return refuse(call, MHD_HTTP_BAD_REQUEST, call->target_problem, true);
    if (call->refusal == 0) {
        call->refusal = judge_length(call, framing.content_length);
        is_unwanted = call->refusal != 0;
    }
    if (is_unwanted || (call->refusal != 0 && framing.content_length > DISCARD_MAX_BYTES))
        return refuse(call, call->refusal, refusal_detail(call->refusal), true);
    if (call->refusal == 0 && framing.content_length <= BODY_ROOM_MAX_BYTES)
        buf_room(&call->body, (size_t)framing.content_length);
    return MHD_YES;
}

static void drop_body(struct http_call *call)
{
    http_budget_free(call->budget, call->body.length);
    buf_clear(&call->body);
}

/* The status to refuse with when a part of the body cannot be kept, else 0. */
static unsigned keep_body(struct http_call *call, const char *bytes, size_t length)
{
    if (length > call->body.max - call->body.length)
        return MHD_HTTP_CONTENT_TOO_LARGE;
    if (!http_budget_grow(call->budget, call->body.length, length))
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    buf_add(&call->body, bytes, length);
    return 0;
}

/*
 * A part of the body. One that turns out too long cannot be answered before its end: it is thrown
 * away, and when that goes on for too long the connection is cut.
 */
static enum MHD_Result take_body(struct http_call *call, const char *bytes, size_t *length)
{
    call->received += *length;
    if (call->refusal == 0) {
        call->refusal = keep_body(call, bytes, *length);
        if (call->refusal != 0) {
            drop_body(call);
            call->received = 0;
        }
    }
    *length = 0;
    if (call->refusal != 0 && call->received > DISCARD_MAX_BYTES)
        return MHD_NO;
    return MHD_YES;
}

static enum MHD_Result send_answer(struct http_call *call)
{
    struct MHD_Response *response = call->response;

    call->response = NULL;
    drop_body(call);
    return queue(call, call->status, response);
}

static void handle(struct http_call *call)
{
    struct http_server *server = call->server;

    if (!call->route->is_slow)
        call->route->handle(server->options.ctx, &call->request);
    else if (!http_lane_add(server->lane, call))
        http_problem(call, MHD_HTTP_SERVICE_UNAVAILABLE, "too much at once",
                     "too many answers that take long are wanted; try again");
}

/*
 * Let the handler answer. When it has not on return, the connection is suspended, and only then
 * the call says so: an answer that came in between finds it open and leaves the resuming to us.
 * Once the call says suspended it may be answered, sent and freed at any time.
 */
static enum MHD_Result hand_over(struct http_call *call)
{
    struct MHD_Connection *connection = call->connection;
    enum call_state open = CALL_OPEN;

    if (!admit(call->server))
        return refuse(call, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is stopping", true);
    call->handed_over = true;
    call->request.body = buf_text(&call->body);
    call->request.body_length = call->body.length;
    peer_is_handled(call->peer);
    handle(call);
    if (atomic_load(&call->state) == CALL_ANSWERED)
        return send_answer(call);
    MHD_suspend_connection(connection);
    if (!atomic_compare_exchange_strong(&call->state, &open, CALL_SUSPENDED))
        MHD_resume_connection(connection);
    return MHD_YES;
}

/* --- what the library calls ------------------------------------------------------------------- */

static struct client *client_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/*
 * The end of a request, whichever way it is learnt: on_completed, or else the next request or the
 * end of the connection. For the library says nothing of a request that it has found fault with
 * twice, say with more cookies than it has room for, and then with the Host that it threw away.
 */
static void end_call(struct client *client)
{
    struct http_call *call = client->call;

    if (call == NULL)
        return;
    client->call = NULL;
    peer_is_done(call->peer);
    if (call->response != NULL)
        MHD_destroy_response(call->response);
    if (call->handed_over)
        http_server_release(call->server);
    drop_body(call);
    http_budget_free(call->budget, call->answer_bytes);
    free(call);
}

static void on_greeted(void *ctx)
{
    struct client *client = ctx;

    peer_is_greeted(client->peer);
}

static struct client *meet(struct http_server *server, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *from =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct client *client = xcalloc(1, sizeof *client);

    client->peer =
        deadlines_add(server->deadlines, info->connect_fd, from != NULL ? from->client_addr : NULL,
                      server->options.tls != NULL);
    if (server->options.tls != NULL) {
        info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        client->tls = tls_session_begin(server->options.tls, info->tls_session, on_greeted, client);
    }
    return client;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_server *server = ctx;
    struct client *client = *place;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *place = meet(server, connection);
        return;
    }
    end_call(client);
    deadlines_remove(server->deadlines, client->peer);
    tls_session_end(client->tls);
    free(client);
}

/*
 * The library splits the query once we return. With thousands of parameters it runs out of the
 * connection's memory, and then neither answers nor closes: it gets none of them to split. The
 * bytes are its own, and not constant.
 *
 * return  what is wrong, static, or NULL.
 */
static const char *judge_target(const char *target)
{
    const char *query = strchr(target, '?');
    unsigned parameters = 1;

    for (const char *at = query; at != NULL && *at != '\0'; at++)
        parameters += *at == '&';
    if (parameters > PARAMETERS_MAX) {
        ((char *)query)[1] = '\0';
        return "more than " PARAMETERS_MAX_TEXT " parameters";
    }
    return strstr(target, "%00") != NULL ? "%00 in the target" : NULL;
}

/* The request line is read. target is NULL when it is missing. */
static void *on_target(void *ctx, const char *target, struct MHD_Connection *connection)
{
    struct http_server *server = ctx;
    struct client *client = client_of(connection);
    struct http_call *call = xcalloc(1, sizeof *call);

    end_call(client);
    client->call = call;
    call->server = server;
    call->budget = server->options.budget;
    call->connection = connection;
    call->peer = client->peer;
    call->target_problem = target != NULL ? judge_target(target) : NULL;
    call->body = buf_with_max(server->options.body_max_bytes);
    return call;
}

/* Called with the header, with each part of the body, at its end, and when a call is resumed. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *length, void **call_place)
{
    struct http_call *call = *call_place;

    (void)ctx;
    (void)connection;
    (void)version;
    if (call->handed_over)
        return send_answer(call);
    if (!call->header_seen)
        return see_header(call, path, method);
    if (*length > 0)
        return take_body(call, bytes, length);
    if (call->refusal != 0)
        return refuse(call, call->refusal, refusal_detail(call->refusal), false);
    return hand_over(call);
}

/* The answer is sent, or the connection is gone. */
static void on_completed(void *ctx, struct MHD_Connection *connection, void **call_place,
                         enum MHD_RequestTerminationCode how)
{
    (void)ctx;
    (void)how;
    *call_place = NULL;
    end_call(client_of(connection));
}

/* --- life ------------------------------------------------------------------------------------- */

/*
 * The library wants certificates from the start. It has none from us: each session gets its own in
 * tls_session_begin, and one that did not would fail here.
 */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *authorities, int count,
                          const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                          gnutls_pcert_st **certificates, unsigned *certificate_count,
                          gnutls_privkey_t *key)
{
    (void)session;
    (void)authorities;
    (void)count;
    (void)algorithms;
    (void)algorithm_count;
    (void)certificates;
    (void)certificate_count;
    (void)key;
    return -1;
}

/* The library's own limit for an address would count those whose place is another's already. */
static enum MHD_Result on_accept(void *ctx, const struct sockaddr *address, socklen_t length)
{
    struct http_server *server = ctx;

    (void)length;
    return deadlines_admit(server->deadlines, address) ? MHD_YES : MHD_NO;
}

static struct MHD_Daemon *start_daemon(struct http_server *server, int socket)
{
    const struct http_options *options = &server->options;
    const struct MHD_OptionItem items[] = {
        {MHD_OPTION_LISTEN_SOCKET, socket, NULL},
        {MHD_OPTION_THREAD_POOL_SIZE, options->threads, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, options->connections_max, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY_BYTES, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)((options->idle_timeout_ms + 999) / 1000), NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, server},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, server},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_target, server},
        /* In an array, a function that is an option's only argument goes where pointers go. */
        {options->tls != NULL ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END, 0, no_certificate},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (char *)TLS_PRIORITIES},
        {MHD_OPTION_END, 0, NULL},
    };
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;

    if (options->tls != NULL)
        flags |= MHD_USE_TLS;
    return MHD_start_daemon(flags, 0, on_accept, server, on_request, server, MHD_OPTION_ARRAY,
                            items, MHD_OPTION_END);
}

static void destroy(struct http_server *server)
{
    http_lane_stop(server->lane);
    deadlines_stop(server->deadlines);
    pthread_cond_destroy(&server->idle);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

/* The threads beside the library's. */
static int start_helpers(struct http_server *server, struct error *err)
{
    const struct http_options *options = &server->options;
    const struct deadline_limits limits = {.limit_ms = options->request_timeout_ms,
                                           .first_ms = options->first_request_timeout_ms,
                                           .handshake_ms = options->handshake_timeout_ms,
                                           .places = options->connections_max,
                                           .share = options->client_connections_max};
    bool has_slow = false;

    for (size_t i = 0; i < options->route_count; i++)
        has_slow = has_slow || options->routes[i].is_slow;
    server->deadlines = deadlines_start(&limits, err);
    if (server->deadlines == NULL)
        return -(int)err->code;
    if (has_slow)
        server->lane = http_lane_start(options->ctx, err);
    return has_slow && server->lane == NULL ? -(int)err->code : 0;
}

/* Takes over the socket. */
static struct http_server *start_on(const struct http_options *options, int socket,
                                    struct error *err)
{
    struct http_server *server = xcalloc(1, sizeof *server);

    server->options = *options;
    server->port = listen_address_port(socket);
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->idle, NULL);
    if (start_helpers(server, err) < 0) {
        close(socket);
        destroy(server);
        return NULL;
    }
    server->daemon = start_daemon(server, socket); /* which closes the socket if it fails */
    if (server->daemon == NULL) {
        error_set(err, ERR_IO, "cannot start the HTTP server: %s", strerrordesc_np(errno));
        destroy(server);
        return NULL;
    }
    return server;
}

struct http_server *http_start(const struct http_options *options, struct error *err)
{
    struct listen_address address;
    int socket;

    assert(options->threads > 0 && options->connections_max >= options->threads);
    assert(options->request_timeout_ms > 0 && options->idle_timeout_ms > 0);
    if (listen_address_parse(options->listen, &address, err) < 0)
        return NULL;
    if (listen_address_open(&address, &socket, err) < 0) {
        error_wrap(err, "cannot listen on %s", options->listen);
        return NULL;
    }
    return start_on(options, socket, err);
}

unsigned http_port(const struct http_server *server)
{
    return server->port;
}

void http_stop(struct http_server *server)
{
    if (server == NULL)
        return;
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    pthread_mutex_unlock(&server->lock);
    deadlines_hurry(server->deadlines, STOP_SENDING_MS);
    pthread_mutex_lock(&server->lock);
    while (server->busy > 0)
        pthread_cond_wait(&server->idle, &server->lock);
    pthread_mutex_unlock(&server->lock);
    MHD_stop_daemon(server->daemon);
    destroy(server);
}
