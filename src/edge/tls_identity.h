/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_identity - what the files of a listener's certificate hold. Private to tls_server.
 */
#ifndef TOPOFIT_EDGE_TLS_IDENTITY_H
#define TOPOFIT_EDGE_TLS_IDENTITY_H

#include "topofit/error.h"

#include <gnutls/gnutls.h>

#include <stdbool.h>
#include <stdint.h>

#define TLS_SERIAL_MAX_BYTES 64

enum tls_file { TLS_CERT_FILE = 0, TLS_KEY_FILE, TLS_CLIENT_CA_FILE, TLS_FILE_COUNT };

struct tls_files {
    char *path[TLS_FILE_COUNT]; /* "" = no such file is used; owned */
};

/* What the files held at one time. Immutable; shared by the connections that began with it. */
struct tls_identity {
    gnutls_certificate_credentials_t credentials;
    bool asks_clients;
    int64_t begin_unix_s, expiry_unix_s; /* valid from and until, the narrowest of the chain */
    char serial[2 * TLS_SERIAL_MAX_BYTES + 1]; /* of the first certificate, hexadecimal */
    unsigned refs;                             /* of its owner, under the owner's lock */
};

/*
 * Read the files and see that they fit together.
 *
 * out     with one reference
 * errors  as tls_server_new
 */
int tls_identity_load(const struct tls_files *files, struct tls_identity **out, struct error *err);

/* Nobody may have a reference any more. NULL is fine. */
void tls_identity_free(struct tls_identity *identity);

#endif
