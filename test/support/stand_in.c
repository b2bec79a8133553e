/* SPDX-License-Identifier: Apache-2.0 */
/* stand_in - a server in the place of the API server, for tests of its clients. */
#include "support/stand_in.h"

#include "support/test.h"
#include "topofit/buf.h"

#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>

#define BODY_MAX_BYTES (1u << 20)

struct stand_in {
    struct MHD_Daemon *daemon;
    pthread_mutex_t mutex; /* for what follows */
    struct stand_in_request last;
    unsigned connections;
    unsigned status;
    const char *text;
    const char *location; /* or NULL */
};

void stand_in_request_clear(struct stand_in_request *request)
{
    free(request->method);
    free(request->path);
    free(request->headers);
    free(request->body);
    free(request->peer);
    *request = (struct stand_in_request){0};
}

static enum MHD_Result add_header(void *ctx, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    (void)kind;
    buf_addf(ctx, "%s: %s\n", name, value);
    return MHD_YES;
}

static enum MHD_Result add_argument(void *ctx, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct buf *path = ctx;

    (void)kind;
    buf_addf(path, "%c%s=%s", strchr(buf_text(path), '?') == NULL ? '?' : '&', name, value);
    return MHD_YES;
}

static char *peer_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    const gnutls_datum_t *shown = NULL;
    gnutls_x509_crt_t certificate;
    char name[64] = "";
    size_t length = sizeof name;
    unsigned count = 0;

    if (info != NULL && info->tls_session != NULL)
        shown = gnutls_certificate_get_peers(info->tls_session, &count);
    if (shown == NULL || count == 0)
        return xstrdup("");
    gnutls_x509_crt_init(&certificate);
    gnutls_x509_crt_import(certificate, shown, GNUTLS_X509_FMT_DER);
    gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &length);
    gnutls_x509_crt_deinit(certificate);
    return xstrdup(name);
}

static void remember(struct stand_in *server, struct MHD_Connection *connection, const char *method,
                     const char *url, struct buf *body)
{
    struct buf headers = buf_with_max(BODY_MAX_BYTES), path = buf_with_max(BODY_MAX_BYTES);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    unsigned number = server->last.number;

    MHD_get_connection_values(connection, MHD_HEADER_KIND, add_header, &headers);
    buf_add_text(&path, url);
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_argument, &path);
    stand_in_request_clear(&server->last);
    server->last = (struct stand_in_request){
        .method = xstrdup(method),
        .path = buf_steal(&path),
        .headers = buf_steal(&headers),
        .body = buf_steal(body),
        .peer = peer_of(connection),
        .connection = (unsigned)(uintptr_t)info->socket_context,
        .number = number + 1,
    };
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *length, void **state)
{
    struct stand_in *server = ctx;
    struct buf *body = *state;
    struct MHD_Response *answer;
    enum MHD_Result result;

    (void)version;
    if (body == NULL) {
        *state = xcalloc(1, sizeof *body);
        *(struct buf *)*state = buf_with_max(BODY_MAX_BYTES);
        return MHD_YES;
    }
    if (*length > 0) {
        buf_add(body, bytes, *length);
        *length = 0;
        return MHD_YES;
    }
    pthread_mutex_lock(&server->mutex);
    remember(server, connection, method, url, body);
    answer = MHD_create_response_from_buffer(strlen(server->text), (void *)(uintptr_t)server->text,
                                             MHD_RESPMEM_MUST_COPY);
    if (server->location != NULL)
        MHD_add_response_header(answer, MHD_HTTP_HEADER_LOCATION, server->location);
    result = MHD_queue_response(connection, server->status, answer);
    pthread_mutex_unlock(&server->mutex);
    MHD_destroy_response(answer);
    return result;
}

static void on_request_end(void *ctx, struct MHD_Connection *connection, void **state,
                           enum MHD_RequestTerminationCode why)
{
    struct buf *body = *state;

    (void)ctx;
    (void)connection;
    (void)why;
    if (body != NULL)
        buf_clear(body);
    free(body);
    *state = NULL;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **number,
                          enum MHD_ConnectionNotificationCode what)
{
    struct stand_in *server = ctx;

    (void)connection;
    if (what != MHD_CONNECTION_NOTIFY_STARTED)
        return;
    pthread_mutex_lock(&server->mutex);
    *number = (void *)(uintptr_t)++server->connections;
    pthread_mutex_unlock(&server->mutex);
}

struct stand_in *stand_in_start(const struct stand_in_tls *tls, unsigned port)
{
    struct stand_in *server = xcalloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((in_port_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_OptionItem options[8] = {
        {MHD_OPTION_SOCK_ADDR, 0, &address},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_request_end, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, server},
    };
    size_t count = 3;

    if (tls != NULL) {
        options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0,
                                                   (void *)(uintptr_t)tls->certificate};
        options[count++] =
            (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)tls->key};
    }
    if (tls != NULL && tls->client_ca != NULL)
        options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0,
                                                   (void *)(uintptr_t)tls->client_ca};
    options[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    pthread_mutex_init(&server->mutex, NULL);
    server->status = 200;
    server->text = "{}";
    server->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | (tls != NULL ? MHD_USE_TLS : MHD_NO_FLAG), (uint16_t)port,
        NULL, NULL, on_request, server, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (server->daemon == NULL)
        fail_msg("the server cannot be started on port %u", port);
    return server;
}

void stand_in_stop(struct stand_in *server)
{
    MHD_stop_daemon(server->daemon);
    stand_in_request_clear(&server->last);
    pthread_mutex_destroy(&server->mutex);
    free(server);
}

unsigned stand_in_port(const struct stand_in *server)
{
    return MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void stand_in_answer(struct stand_in *server, unsigned status, const char *text)
{
    pthread_mutex_lock(&server->mutex);
    server->status = status;
    server->text = text;
    pthread_mutex_unlock(&server->mutex);
}

void stand_in_redirect(struct stand_in *server, const char *location)
{
    pthread_mutex_lock(&server->mutex);
    server->status = 307;
    server->location = location;
    pthread_mutex_unlock(&server->mutex);
}

void stand_in_last(struct stand_in *server, struct stand_in_request *out)
{
    pthread_mutex_lock(&server->mutex);
    if (server->last.number == 0)
        fail_msg("no request came in");
    *out = (struct stand_in_request){
        .method = xstrdup(server->last.method),
        .path = xstrdup(server->last.path),
        .headers = xstrdup(server->last.headers),
        .body = xstrdup(server->last.body),
        .peer = xstrdup(server->last.peer),
        .connection = server->last.connection,
        .number = server->last.number,
    };
    pthread_mutex_unlock(&server->mutex);
}
