/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_peer - certificates made on the spot, and a TLS client for tests.
 *
 * Every wait ends after RAW_WAIT_MS.
 */
#ifndef TOPOFIT_TEST_TLS_PEER_H
#define TOPOFIT_TEST_TLS_PEER_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <stdbool.h>
#include <stddef.h>

/* --- certificates ---------------------------------------------------------------------------- */

struct made_cert {
    gnutls_x509_crt_t certificate;
    gnutls_x509_privkey_t key;
    char *cert_pem, *key_pem;
};

struct cert_wish {
    const struct made_cert *issuer; /* NULL: it is an authority, signed by itself */
    unsigned char serial;
    const char *purpose; /* GNUTLS_KP_...; NULL: for anything */
    long begin_s, end_s; /* valid from and until, counted from now; both 0: for a day */
};

/* Free with cert_clear. */
struct made_cert make_cert(struct cert_wish wish);
void cert_clear(struct made_cert *made);

/* --- files ----------------------------------------------------------------------------------- */

/* Write DIRECTORY/NAME. */
void put_file(const char *directory, const char *name, const char *text);

/*
 * What Kubernetes does with a mounted Secret: the files go to a new directory, and the link ..data
 * is switched to it. DIRECTORY/tls.crt, tls.key and ca.crt are links through ..data.
 */
void mount_secret(const char *directory, const char *cert, const char *key, const char *ca);

/* A directory for the files of a test; removed with everything in it by scratch_clear. */
char *scratch_new(void);
void scratch_clear(char **directory);

/* --- the client ------------------------------------------------------------------------------ */

struct tls_wish {
    unsigned port;
    const struct made_cert *authority; /* the server's is verified by it; NULL: not verified */
    const struct made_cert *own;       /* shown when the server asks; NULL: none */
    const char *priorities;            /* NULL = GnuTLS's defaults */
    const char *protocols;             /* for ALPN, separated by blanks; NULL: none */
};

struct tls_client {
    int fd;
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
    bool is_greeted; /* the handshake went well, as far as the client can see */
};

struct tls_client tls_connect(struct tls_wish wish);
void tls_close(struct tls_client *client);

/* Send a request and read its answer. return  its status, 0 when the connection ends first. */
unsigned tls_ask(struct tls_client *client, const char *request);

/* Send nothing, and read until the server ends the connection. return  its last alert, 0: none. */
int tls_farewell(struct tls_client *client);

/* The last byte of the serial number of the server's certificate. */
unsigned tls_serial(const struct tls_client *client);

/* Connect, ask once, close. return  the status, 0 when there was no answer. */
unsigned tls_call(struct tls_wish wish, const char *request);

#endif
