/* SPDX-License-Identifier: Apache-2.0 */
/* tls_server - the certificate of a listener, and what its clients must show. */
#include "topofit/tls_server.h"

#include "tls_identity.h"
#include "tls_session.h"
#include "topofit/buf.h"
#include "topofit/clock.h"
#include "topofit/file.h"
#include "topofit/mem.h"

#include <gnutls/x509.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define READ_ATTEMPTS 3 /* when the files change while they are read */

struct stamps {
    struct file_stamp of[TLS_FILE_COUNT];
};

struct tls_server {
    struct tls_options options; /* its strings are in `files` */
    struct tls_files files;

    pthread_mutex_t reading; /* the two below; held while files are read */
    uint64_t looked_ms;
    struct stamps stamps;

    pthread_mutex_t lock; /* `identity` and all counts of references */
    struct tls_identity *identity;
};

struct tls_session {
    struct tls_server *server;
    struct tls_identity *identity;
    bool is_known; /* the client's certificate is verified */
    void (*on_greeted)(void *ctx);
    void *ctx;
};

/* --- identities ------------------------------------------------------------------------------ */

static struct tls_identity *identity_ref(struct tls_server *server)
{
    struct tls_identity *identity;

    pthread_mutex_lock(&server->lock);
    identity = server->identity;
    identity->refs++;
    pthread_mutex_unlock(&server->lock);
    return identity;
}

static void identity_unref(struct tls_server *server, struct tls_identity *identity)
{
    bool is_last;

    if (identity == NULL)
        return;
    pthread_mutex_lock(&server->lock);
    identity->refs--;
    is_last = identity->refs == 0;
    pthread_mutex_unlock(&server->lock);
    if (is_last)
        tls_identity_free(identity);
}

/* --- noticing changes ------------------------------------------------------------------------ */

static struct stamps look(const struct tls_server *server)
{
    struct stamps stamps = {0};

    for (int i = 0; i < TLS_FILE_COUNT; i++) {
        if (server->files.path[i][0] != '\0')
            stamps.of[i] = file_stamp_look(server->files.path[i]);
    }
    return stamps;
}

static bool are_equal(const struct stamps *a, const struct stamps *b)
{
    for (int i = 0; i < TLS_FILE_COUNT; i++) {
        if (!file_stamp_equal(&a->of[i], &b->of[i]))
            return false;
    }
    return true;
}

/*
 * Load, and remember what the files looked like before: what is written to them from now on is
 * then a change. When they changed meanwhile, certificate and key may be of two times: once more.
 */
static int read_files(struct tls_server *server, struct tls_identity **out, struct error *err)
{
    int result = 0;

    for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        struct stamps now;

        server->stamps = look(server);
        error_clear(err);
        result = tls_identity_load(&server->files, out, err);
        now = look(server);
        if (result == 0 || are_equal(&server->stamps, &now))
            break;
    }
    return result;
}

static void say(const struct tls_server *server, enum log_level level, const char *event,
                const char *detail)
{
    if (server->options.log != NULL)
        server->options.log(server->options.log_ctx, level, event, detail);
}

static void say_what_is_used(const struct tls_server *server, const struct tls_identity *identity)
{
    AUTO(buf_clear) struct buf text = buf_with_max(4096);
    int64_t now_s = (int64_t)(clock_unix_ms() / 1000);
    bool is_expired = now_s >= identity->expiry_unix_s;
    bool is_early = now_s < identity->begin_unix_s;
    time_t expiry = (time_t)identity->expiry_unix_s;
    char date[32] = "?";
    struct tm parts;

    if (gmtime_r(&expiry, &parts) != NULL)
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    buf_addf(&text, "%s: serial number %s, valid until %s%s%s", server->files.path[TLS_CERT_FILE],
             identity->serial, date, is_expired ? ": EXPIRED" : "",
             is_early ? ", but not yet" : "");
    say(server, is_expired || is_early ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "certificate in use",
        buf_text(&text));
}

static void take(struct tls_server *server, struct tls_identity *steal_identity)
{
    struct tls_identity *old;

    pthread_mutex_lock(&server->lock);
    old = server->identity;
    server->identity = steal_identity;
    pthread_mutex_unlock(&server->lock);
    identity_unref(server, old);
}

/* Under `reading`. */
static bool reload(struct tls_server *server)
{
    struct tls_identity *identity;
    struct error err = {0};

    if (read_files(server, &identity, &err) < 0) {
        say(server, LOG_LEVEL_ERROR, "certificate refused, the old one stays in use", err.text);
        return false;
    }
    say_what_is_used(server, identity);
    take(server, identity);
    return true;
}

bool tls_server_reload(struct tls_server *server)
{
    bool taken;

    pthread_mutex_lock(&server->reading);
    taken = reload(server);
    pthread_mutex_unlock(&server->reading);
    return taken;
}

void tls_server_refresh(struct tls_server *server, uint64_t now_ms)
{
    if (pthread_mutex_trylock(&server->reading) != 0)
        return;
    if (now_ms - server->looked_ms >= server->options.check_interval_ms) {
        struct stamps now = look(server);

        server->looked_ms = now_ms;
        if (!are_equal(&now, &server->stamps))
            reload(server);
    }
    pthread_mutex_unlock(&server->reading);
}

/* --- life ------------------------------------------------------------------------------------ */

struct tls_server *tls_server_new(const struct tls_options *options, struct error *err)
{
    struct tls_server *server = xcalloc(1, sizeof *server);

    server->options = *options;
    server->files.path[TLS_CERT_FILE] = xstrdup(options->cert_file);
    server->files.path[TLS_KEY_FILE] = xstrdup(options->key_file);
    server->files.path[TLS_CLIENT_CA_FILE] = xstrdup(options->client_ca_file);
    pthread_mutex_init(&server->reading, NULL);
    pthread_mutex_init(&server->lock, NULL);
    if (read_files(server, &server->identity, err) < 0) {
        tls_server_free(server);
        return NULL;
    }
    say_what_is_used(server, server->identity);
    return server;
}

void tls_server_free(struct tls_server *server)
{
    if (server == NULL)
        return;
    identity_unref(server, server->identity);
    pthread_mutex_destroy(&server->lock);
    pthread_mutex_destroy(&server->reading);
    for (int i = 0; i < TLS_FILE_COUNT; i++)
        free(server->files.path[i]);
    free(server);
}

int64_t tls_server_expiry_unix_s(struct tls_server *server)
{
    int64_t expiry;

    pthread_mutex_lock(&server->lock);
    expiry = server->identity->expiry_unix_s;
    pthread_mutex_unlock(&server->lock);
    return expiry;
}

/* --- sessions -------------------------------------------------------------------------------- */

static int on_finished(gnutls_session_t gnutls, unsigned type, unsigned when, unsigned is_incoming,
                       const gnutls_datum_t *message)
{
    const struct tls_session *session = gnutls_session_get_ptr(gnutls);

    (void)type;
    (void)when;
    (void)message;
    if (!is_incoming)
        return 0;
    /* Cannot be: verify() was not asked. Then nobody comes in. */
    if (session->identity->asks_clients && !session->is_known)
        return GNUTLS_E_CERTIFICATE_REQUIRED;
    session->on_greeted(session->ctx);
    return 0;
}

/* What the client is told. Only TLS 1.3 has a word for a missing certificate. */
static gnutls_alert_description_t alert_for(gnutls_session_t gnutls, unsigned status)
{
    if (gnutls_certificate_get_peers(gnutls, NULL) == NULL)
        return gnutls_protocol_get_version(gnutls) == GNUTLS_TLS1_3 ? GNUTLS_A_CERTIFICATE_REQUIRED
                                                                    : GNUTLS_A_HANDSHAKE_FAILURE;
    if (status & (GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED))
        return GNUTLS_A_CERTIFICATE_EXPIRED;
    if (status & GNUTLS_CERT_SIGNER_NOT_FOUND)
        return GNUTLS_A_UNKNOWN_CA;
    return GNUTLS_A_BAD_CERTIFICATE;
}

static int turn_away(gnutls_session_t gnutls, const struct tls_session *session, int code,
                     unsigned status)
{
    gnutls_datum_t why = {0};

    if (code == 0)
        gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &why, 0);
    say(session->server, LOG_LEVEL_WARN, "client turned away",
        why.data != NULL ? (const char *)why.data : gnutls_strerror(code));
    gnutls_free(why.data);
    /* Else it would only see the connection end. One record always fits into the socket. */
    gnutls_alert_send(gnutls, GNUTLS_AL_FATAL, alert_for(gnutls, status));
    return GNUTLS_E_CERTIFICATE_ERROR;
}

/*
 * Asked about every client of a session with a client CA, also about one that has shown nothing.
 * A certificate that was issued for servers does not make its holder a client of ours.
 */
static int verify(gnutls_session_t gnutls)
{
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};
    struct tls_session *session = gnutls_session_get_ptr(gnutls);
    unsigned status = 0;
    int code = gnutls_certificate_verify_peers(gnutls, &purpose, 1, &status);

    /* Without a certificate the status says that all is well. */
    if (code != 0 || status != 0)
        return turn_away(gnutls, session, code, status);
    session->is_known = true;
    return 0;
}

struct tls_session *tls_session_begin(struct tls_server *server, struct gnutls_session_int *gnutls,
                                      void (*on_greeted)(void *ctx), void *ctx)
{
    struct tls_session *session = xcalloc(1, sizeof *session);

    tls_server_refresh(server, clock_monotonic_ms());
    *session = (struct tls_session){
        .server = server, .identity = identity_ref(server), .on_greeted = on_greeted, .ctx = ctx};
    gnutls_session_set_ptr(gnutls, session);
    gnutls_credentials_set(gnutls, GNUTLS_CRD_CERTIFICATE, session->identity->credentials);
    gnutls_handshake_set_hook_function(gnutls, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST,
                                       on_finished);
    if (session->identity->asks_clients) {
        /* Not REQUIRE, which would end the handshake without a word to the client. */
        gnutls_certificate_server_set_request(gnutls, GNUTLS_CERT_REQUEST);
        gnutls_session_set_verify_function(gnutls, verify);
    }
    return session;
}

void tls_session_end(struct tls_session *session)
{
    if (session == NULL)
        return;
    identity_unref(session->server, session->identity);
    free(session);
}
