/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_session - a connection's share of a tls_server. Private to http.
 */
#ifndef TOPOFIT_EDGE_TLS_SESSION_H
#define TOPOFIT_EDGE_TLS_SESSION_H

#include "topofit/tls_server.h"

/* Forward secrecy always; the two versions that are not broken. In GnuTLS's words. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:%SERVER_PRECEDENCE"

struct gnutls_session_int; /* GnuTLS's session: gnutls_session_t points to it */
struct tls_session;

/*
 * Give a new session the certificates in use, before its handshake.
 *
 * on_greeted  called once the client has done its part of the handshake, in the thread that serves
 *             the connection
 */
struct tls_session *tls_session_begin(struct tls_server *server, struct gnutls_session_int *gnutls,
                                      void (*on_greeted)(void *ctx), void *ctx);

/* The handshake will not be gone on with. NULL is fine. */
void tls_session_end(struct tls_session *session);

#endif
