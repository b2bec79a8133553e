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

#include <stdint.h>

struct deadlines;
struct peer; /* one connection; its owner is the server thread that serves it */

/*
 * places  while there are so many peers or more, those that never asked anything get a second of
 *         first_limit_ms only
 * errors  ERR_IO when the thread cannot be started
 */
struct deadlines *deadlines_start(uint64_t limit_ms, uint64_t first_limit_ms, unsigned places,
                                  struct error *err);

/* The end is near: from now on an answer is sent within limit_ms, or cut. */
void deadlines_hurry(struct deadlines *deadlines, uint64_t limit_ms);

/* No peer may be left. NULL is fine. */
void deadlines_stop(struct deadlines *deadlines);

/* Watch a connection from its acceptance; remove it before its descriptor is closed. */
struct peer *deadlines_add(struct deadlines *deadlines, int fd);
void deadlines_remove(struct deadlines *deadlines, struct peer *peer);

/* Where the connection is now. The first byte of a request is noticed without being told. */
void peer_is_greeted(struct peer *peer); /* the TLS handshake is over: idle, not served yet */
void peer_receives(struct peer *peer);   /* keeps the time when the first byte was noticed */
void peer_is_handled(struct peer *peer);
void peer_sends(struct peer *peer);
void peer_is_done(struct peer *peer);

#endif
