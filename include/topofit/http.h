/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http - an HTTP server on one address, without the server library's types.
 *
 * A handler gets a whole request (the body is bounded and complete) and answers it, now or later,
 * from any thread, exactly once. Two of these run in the daemon, so that a full extender port
 * never hides the health port. Built on libmicrohttpd.
 *
 * Refused before a handler is asked: bodies over the limit (413) or, with those of the other
 * connections, over the server's budget (503; so are answers), requests whose end is not
 * certain (two Content-Lengths, or one beside a Transfer-Encoding: 400; codings other than chunked:
 * 501), requests without Host (400), unknown paths (404), other methods (405 with Allow).
 *
 * A client that sends its request, or takes its answer, longer than the limit is cut, counted
 * absolutely: a byte now and then does not help. The same goes for a TLS handshake, from
 * connecting on. The time a handler takes is not counted; that is the handler's own affair. Between
 * requests only the idle time-out counts.
 *
 * Threads: handlers run on the server's threads, several at a time, and must not block; those of
 * slow routes run on a thread of their own, and so hold nobody else up. The threads inherit the
 * signal mask of the caller of http_start.
 */
#ifndef TOPOFIT_HTTP_H
#define TOPOFIT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/error.h"

struct http_budget;
struct tls_server;
struct http_call; /* one request on its way to an answer */

/* Valid, with all that it points to, until the call is answered. */
struct http_request {
    const char *method;
    const char *path; /* decoded, without the query */
    const char *rest; /* what follows the route's path when the route is a prefix; else "" */
    const char *body; /* NUL-terminated behind body_length; may hold NULs */
    size_t body_length;
    struct http_call *call;
};

/* The value of a query parameter, decoded, "" for a bare name, or NULL. Of several the first. */
const char *http_query(const struct http_request *request, const char *name);

/* The value of a header field, or NULL. Of several the first. */
const char *http_header(const struct http_request *request, const char *name);

/* Answer a call. Copies body. Each call is answered exactly once. */
void http_answer(struct http_call *call, unsigned status, const char *content_type,
                 const char *body, size_t length);

/* The same without a copy: takes over body, which free() can free. */
void http_answer_steal(struct http_call *call, unsigned status, const char *content_type,
                       char *steal_body, size_t length);

/* An error answer for people and programs: application/problem+json. source: RFC 9457. */
void http_problem(struct http_call *call, unsigned status, const char *title, const char *detail);

/*
 * Where a request goes. The most exact path wins: equal, then behind any prefix, then the longest
 * prefix; routes with the same path share it between methods. GET answers HEAD as well.
 */
struct http_route {
    const char *method; /* "GET", "POST" */
    const char *path;   /* "/filter"; with any_prefix also "/x/y/filter" */
    bool any_prefix;    /* matches at the end of the path, behind any prefix */
    bool is_prefix;     /* matches every path that begins with it */
    bool is_slow;       /* handled one at a time, beside the others; 503 when too many wait */
    void (*handle)(void *ctx, const struct http_request *request);
};

struct http_options {
    const char *listen;     /* see listen_address.h: "127.0.0.1:9901", "[::1]:0", ":9901" */
    struct tls_server *tls; /* borrowed until http_stop; NULL: not encrypted */
    const struct http_route *routes; /* borrowed until http_stop */
    size_t route_count;
    void *ctx;                       /* passed to handlers */
    unsigned threads;                /* at least 1 */
    unsigned connections_max;        /* at least `threads`, which share it; one client more waits */
    unsigned client_connections_max; /* of one address; further ones are closed. 0: any number */
    size_t body_max_bytes;
    struct http_budget
        *budget; /* of all bodies and answers; borrowed until http_stop; NULL: any size */
    uint64_t request_timeout_ms; /* first to last byte of a request, and again of its answer */
    /*
     * From connecting to asking; 0: idle_timeout_ms counts. While all connections are taken it is
     * a second at most: who says nothing makes room for who would.
     */
    uint64_t first_request_timeout_ms;
    /*
     * Of a TLS handshake; 0: request_timeout_ms. While all connections are taken, or all that one
     * address may have, the oldest one that is not over yields to whoever comes.
     */
    uint64_t handshake_timeout_ms;
    uint64_t idle_timeout_ms; /* of a kept-alive connection; over 90 s for kube-scheduler */
    /*
     * Called once per answered request, before the answer is sent, for metrics and logs; may be
     * NULL. Not called for what the library refuses by itself (unreadable requests) nor for cut
     * connections.
     *
     * method       as the client wrote it: not a label for metrics
     * route        the path of the route, "" when none matched
     * duration_us  from the end of the header to the answer
     */
    void (*on_done)(void *ctx, const char *method, const char *route, unsigned status,
                    uint64_t duration_us);
};

struct http_server;

/* errors: ERR_INVALID for the address; ERR_IO when it cannot be listened on. */
struct http_server *http_start(const struct http_options *options, struct error *err);

/* The port that was bound (for ":0"). */
unsigned http_port(const struct http_server *server);

/*
 * Refuse new requests (503), wait until the handlers' calls are answered and the answers sent,
 * close. A client that does not take its answer is waited for two seconds at most. Whoever answers
 * calls must still be running: stop the server first, then them. NULL is fine.
 */
void http_stop(struct http_server *server);

#endif
