/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_call - one request between the server's files. Private to http.
 *
 * http.c receives it and hands it to a handler, http_answer.c makes its answer. Everything is
 * written by the server thread that owns the connection; only `response`, `status` and `state` are
 * written by whoever answers, and `state` orders that.
 */
#ifndef TOPOFIT_EDGE_HTTP_CALL_H
#define TOPOFIT_EDGE_HTTP_CALL_H

#include "topofit/buf.h"
#include "topofit/http.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct MHD_Connection;
struct MHD_Response;
struct peer;

enum call_state {
    CALL_OPEN = 0,  /* not answered; the server thread is not waiting yet */
    CALL_SUSPENDED, /* not answered; the connection sleeps until someone resumes it */
    CALL_ANSWERED,
};

struct http_call {
    struct http_request request;
    struct http_server *server;
    struct http_budget *budget; /* the server's; NULL: none */
    struct MHD_Connection *connection;
    struct peer *peer;
    const struct http_route *route; /* NULL when no path matched */

    bool header_seen;
    bool handed_over;           /* a handler has it; the server waits for its answer */
    const char *target_problem; /* why the target is refused, static; NULL: it is not */
    unsigned refusal;           /* status to refuse with once the body is read, 0 = none */
    struct buf body;
    uint64_t received;   /* bytes of the body so far, those thrown away included */
    size_t answer_bytes; /* that the budget was asked for; written by whoever answers */
    uint64_t header_us;

    _Atomic(enum call_state) state;
    unsigned status;
    struct MHD_Response *response; /* NULL when there was no memory for it */
};

/* An answer with the headers that all of ours carry. The body is copied. NULL without memory. */
struct MHD_Response *http_response(const char *content_type, const char *body, size_t length);
struct MHD_Response *http_problem_response(unsigned status, const char *title, const char *detail);

/* Count a thread that works with the server, so that http_stop waits for it. */
void http_server_hold(struct http_server *server);
void http_server_release(struct http_server *server);

#endif
