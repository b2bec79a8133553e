/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_deadline - cuts connections whose request or answer takes too long, counted absolutely.
 *
 * The server library only knows idle time, so a client that sends a byte now and then would stay
 * for ever. One thread looks at all connections several times per limit and shuts down the sockets
 * of those that are late; the library then finds them closed. Idle and handled connections are
 * left alone. Private to http.
 */
#ifndef TOPOFIT_EDGE_HTTP_DEADLINE_H
#define TOPOFIT_EDGE_HTTP_DEADLINE_H

#include "topofit/error.h"

#include <stdbool.h>
#include <stdint.h>

struct deadlines;
struct peer; /* one connection; its owner is the server thread that serves it */

struct deadline_limits {
    uint64_t limit_ms;     /* of a request, and of an answer */
    uint64_t first_ms;     /* from connecting to asking; 0 = none */
    uint64_t handshake_ms; /* of TLS; 0 = limit_ms */
    unsigned places;       /* how many peers there can be */
    unsigned share;        /* ... of one address; 0 = any number */
};

/*
 * While all places are taken, or all of an address's share, those who never asked anything get a
 * second of first_ms only, and who would come takes the place of the oldest one whose handshake is
 * not over.
 *
 * errors  ERR_IO when the thread cannot be started
 */
struct deadlines *deadlines_start(const struct deadline_limits *limits, struct error *err);

/* The end is near: from now on an answer is sent within limit_ms, or cut. */
void deadlines_hurry(struct deadlines *deadlines, uint64_t limit_ms);

/* No peer may be left. NULL is fine. */
void deadlines_stop(struct deadlines *deadlines);

struct sockaddr;

/* May one more come from that address? One whose handshake is not over may be cut for it. */
bool deadlines_admit(struct deadlines *deadlines, const struct sockaddr *address);

/*
 * Watch a connection from its acceptance; remove it before its descriptor is closed.
 *
 * greets  a TLS handshake comes first
 */
struct peer *deadlines_add(struct deadlines *deadlines, int fd, const struct sockaddr *address,
                           bool greets);
void deadlines_remove(struct deadlines *deadlines, struct peer *peer);

/* Where the connection is now. The first byte of a request is noticed without being told. */
void peer_is_greeted(struct peer *peer); /* the TLS handshake is over: idle, not served yet */
void peer_receives(struct peer *peer);   /* keeps the time when the first byte was noticed */
void peer_is_handled(struct peer *peer);
void peer_sends(struct peer *peer);
void peer_is_done(struct peer *peer);

#endif
