/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_server - the certificate of a listener, and what its clients must show.
 *
 * Read from PEM files, and again when these have changed, as the mounted Secrets of Kubernetes do:
 * whoever connects next gets the new certificate, connections that are open live on with theirs.
 * A set of files is taken as a whole or not at all: one that is broken, half written or does not
 * fit together is refused with one line in the log, and what was in use stays. An expired
 * certificate is taken, and said so: it may be the only one there is.
 *
 * With a client CA, a client must show a certificate that it has signed for clients (extended key
 * usage clientAuth, or none); others are turned away in the handshake, before they can ask
 * anything. The log says why, and so does an alert to the client, if it looks before it sends.
 * TLS 1.2 and 1.3 only. Built on GnuTLS, as libmicrohttpd is.
 *
 * Threads: everything but tls_server_free may be called from any thread, at any time. The files are
 * read by one thread at a time; the others do not wait for it, but go on with what is in use.
 */
#ifndef TOPOFIT_TLS_SERVER_H
#define TOPOFIT_TLS_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/error.h"
#include "topofit/log.h"

struct tls_options {
    const char *cert_file;      /* the server's certificate, then those between it and its CA */
    const char *key_file;       /* its private key, not encrypted */
    const char *client_ca_file; /* "" = clients need no certificate */
    uint64_t check_interval_ms; /* the files are looked at no more often; 0: whenever asked */
    /* event: constant; detail: what is special. May be called from several threads. */
    void (*log)(void *ctx, enum log_level level, const char *event, const char *detail);
    void *log_ctx;
};

struct tls_server;

/*
 * Read the files. Strings of the options are copied.
 *
 * errors  ERR_NOT_FOUND, ERR_DENIED, ERR_IO, ERR_LIMIT for the files, ERR_INVALID for what is in
 *         them; all name the file.
 */
struct tls_server *tls_server_new(const struct tls_options *options, struct error *err);

/* All listeners that use it must have been stopped. NULL is fine. */
void tls_server_free(struct tls_server *server);

/*
 * Take over files that have changed. Called for each new connection of a listener, and to be called
 * by who shows the expiry; between two looks at the files it costs nothing.
 */
void tls_server_refresh(struct tls_server *server, uint64_t now_ms);

/* Read the files now, changed or not. return  false when they were refused, and logged. */
bool tls_server_reload(struct tls_server *server);

/* When the first of the certificates in use expires, in seconds since 1970. */
int64_t tls_server_expiry_unix_s(struct tls_server *server);

#endif
