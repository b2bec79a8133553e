/* SPDX-License-Identifier: Apache-2.0 */
/* kube_call - what is wanted, as libcurl wants to be told. */
#include "kube_call.h"
#include "topofit/clock.h"
#include "topofit/mem.h"

#include <assert.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_MS 10000L
#define KEEPALIVE_IDLE_S 10L
#define KEEPALIVE_INTERVAL_S 5L
#define BUFFER_BYTES (128L << 10)

/*
 * Unacknowledged bytes or probes end a connection after that.
 *
 * A request with a time limit is given up at some point, but the kernel goes on sending what it
 * holds, also for a socket that was closed. A Binding must not arrive long after it was given up
 * and its devices are promised to another pod. A watch sends nothing; it may sit through a short
 * loss of the network.
 */
#define DEAD_PEER_MS 15000

/* --- address --------------------------------------------------------------------------------- */

void kube_address_split(const char *url, unsigned default_port, struct kube_address *out)
{
    const char *host = strstr(url, "://") + 3;
    size_t whole = strcspn(host, "/");
    size_t length = host[0] == '[' ? strcspn(host, "]/") + 1 : strcspn(host, ":/");

    length = length < whole ? length : whole;
    out->host = xstrndup(host, length);
    out->port = default_port;
    if (host[length] == ':')
        out->port = (unsigned)strtoul(host + length + 1, NULL, 10);
    out->path = host + whole;
}

static bool is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "[::1]") == 0;
}

/* libcurl's default ports are others, and its socks5:// would look names up here. */
static char *proxy_for_libcurl(const char *proxy_url)
{
    static const struct {
        const char *scheme, *for_libcurl;
        unsigned port;
    } kinds[] = {
        {"http://", "http://", 80},
        {"https://", "https://", 443},
        {"socks5://", "socks5h://", 1080},
    };
    const char *account = strstr(proxy_url, "://") + 3;
    const char *at = strrchr(account, '@');
    const char *host = at != NULL ? at + 1 : account;
    size_t kind = 0;
    AUTO_FREE char *plain = xasprintf("://%s", host);
    AUTO_FREE char *name = NULL;
    struct kube_address address;

    while (strncmp(proxy_url, kinds[kind].scheme, strlen(kinds[kind].scheme)) != 0) {
        kind++;
        assert(kind < ARRAY_LEN(kinds)); /* the kubeconfig was read */
    }
    kube_address_split(plain, kinds[kind].port, &address);
    name = address.host;
    return xasprintf("%s%.*s%s:%u", kinds[kind].for_libcurl, (int)(host - account), account, name,
                     address.port);
}

char *kube_proxy_choose(const struct kube_config *config, const struct kube_address *server)
{
    if (is_loopback(server->host))
        return xstrdup("");
    return config->proxy_url != NULL ? proxy_for_libcurl(config->proxy_url) : NULL;
}

/* --- the connection -------------------------------------------------------------------------- */

static void set_patience(const struct kube_call *call, curl_socket_t fd)
{
    unsigned dead_ms = call->request.api.timeout_ms > 0 ? call->client->network_ms : DEAD_PEER_MS;

    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof dead_ms);
}

static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    /*
     * What was not sent when a connection is closed, or the process killed, is thrown away. The
     * kernel would go on sending, and a Binding that was given up could be executed after all.
     */
    const struct linger none = {.l_onoff = 1, .l_linger = 0};
    struct kube_call *call = ctx;

    (void)purpose;
    kube_sockets_add(&call->client->sockets, fd);
    set_patience(call, fd);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    return CURL_SOCKOPT_OK;
}

/* Perhaps long after the call that made the connection. */
static int on_close(void *ctx, curl_socket_t fd)
{
    struct kube_client *client = ctx;

    kube_sockets_remove(&client->sockets, fd);
    return close(fd);
}

/*
 * The connection is there, through proxies and with TLS, and the request comes next. A connection
 * that is used again may have been made for a request of the other kind.
 */
static int on_connected(void *ctx, char *peer, char *own, int peer_port, int own_port)
{
    struct kube_call *call = ctx;
    int fd = kube_sockets_find(&call->client->sockets, (unsigned)own_port);

    (void)peer, (void)own, (void)peer_port;
    call->was_sent = true;
    if (fd >= 0)
        set_patience(call, fd);
    return CURL_PREREQFUNC_OK;
}

static void set_proxy(struct kube_call *call)
{
    if (call->client->proxy == NULL)
        return;
    curl_easy_setopt(call->easy, CURLOPT_PROXY, call->client->proxy);
    curl_easy_setopt(call->easy, CURLOPT_NOPROXY, ""); /* what the environment says is void */
}

/* A name to expect in the certificate goes into the URL; where to connect is told beside it. */
static void set_url(struct kube_call *call)
{
    const struct kube_client *client = call->client;
    const char *name = client->config->tls_server_name;
    AUTO_FREE char *url = NULL;

    if (name == NULL)
        url = xasprintf("%s%s", client->config->server, call->request.api.path);
    else
        url = xasprintf("https://%s:%u%s%s", name, client->address.port, client->address.path,
                        call->request.api.path);
    curl_easy_setopt(call->easy, CURLOPT_URL, url);
    curl_easy_setopt(call->easy, CURLOPT_CONNECT_TO, client->connect_to);
}

static void set_connection(struct kube_call *call)
{
    CURL *easy = call->easy;

    /* On a shared HTTP/2 connection a burst of Bindings starves the watches. */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, call->request.api.fresh_connection ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, call);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, call->client);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

/* --- the request ----------------------------------------------------------------------------- */

static void add_header(struct kube_call *call, const char *name, const char *value)
{
    AUTO_FREE char *line = xasprintf("%s:%s%s", name, value[0] != '\0' ? " " : "", value);
    struct curl_slist *longer = curl_slist_append(call->headers, line);

    assert(longer != NULL);
    call->headers = longer;
}

/* With a name to expect in the certificate, that name stands in the URL. */
static void set_headers(struct kube_call *call)
{
    const struct kube_client *client = call->client;
    const struct api_request *request = &call->request.api;
    const struct kube_pairs *impersonation = &client->config->impersonation;
    AUTO_FREE char *host = xasprintf("%s:%u", client->address.host, client->address.port);

    add_header(call, "Accept", "application/json");
    add_header(call, "Expect", "");
    if (request->body != NULL)
        add_header(call, "Content-Type",
                   request->content_type != NULL ? request->content_type : "application/json");
    if (client->config->tls_server_name != NULL)
        add_header(call, "Host", host);
    for (size_t i = 0; i < impersonation->count; i++)
        add_header(call, impersonation->items[i].key, impersonation->items[i].value);
}

/* The last look at the clock before bytes are written. A server executes nothing without a body. */
static size_t on_body(char *bytes, size_t size, size_t count, void *ctx)
{
    struct kube_call *call = ctx;
    size_t room = size * count;
    size_t left = call->late_body.length - call->body_done;
    size_t length = left < room ? left : room;

    call->too_late = clock_monotonic_ms() >= call->request.api.body_by_ms;
    if (call->too_late) {
        call->was_sent = call->body_done > 0;
        return CURL_READFUNC_ABORT;
    }
    memcpy(bytes, buf_text(&call->late_body) + call->body_done, length);
    call->body_done += length;
    return length;
}

/*
 * libcurl wants to start over when a connection that it used again was closed before the answer.
 * What it has written may have been executed all the same: whoever asked must hear of it.
 */
static int on_rewind(void *ctx, curl_off_t offset, int origin)
{
    const struct kube_call *call = ctx;
    bool is_unread = origin == SEEK_SET && offset == 0 && call->body_done == 0;

    return is_unread ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static void set_body(struct kube_call *call)
{
    const struct api_request *request = &call->request.api;
    CURL *easy = call->easy;

    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
    if (request->body_by_ms == 0) {
        curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body);
        return;
    }
    call->late_body = buf_with_max(request->body_length + 1);
    buf_add(&call->late_body, request->body, request->body_length);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_READDATA, call);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_rewind);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, call);
}

static void set_exchange(struct kube_call *call)
{
    const struct api_request *request = &call->request.api;
    CURL *easy = call->easy;

    if (request->body != NULL)
        set_body(call);
    if (request->method != NULL)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "topofit/" TOPOFIT_VERSION);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->why);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
}

void kube_call_set_up(struct kube_call *call)
{
    set_headers(call);
    set_url(call);
    set_connection(call);
    set_proxy(call);
    set_exchange(call);
}

/* --- credentials ----------------------------------------------------------------------------- */

/* Copied: the text may be renewed while the call is in flight. */
static void set_pem(CURL *easy, CURLoption option, const char *text)
{
    struct curl_blob blob = {.data = (void *)(uintptr_t)text, .flags = CURL_BLOB_COPY};

    if (text == NULL)
        return;
    blob.len = strlen(text);
    curl_easy_setopt(easy, option, &blob);
}

/*
 * libcurl uses a connection again only for the same certificates, compared byte by byte; so after
 * a renewal the next request makes a new one.
 */
static void set_tls(struct kube_call *call)
{
    const struct kube_credentials *credentials = call->client->credentials;
    bool is_insecure = call->client->config->insecure;

    if (kube_credentials_ca(credentials) != NULL) {
        /* Otherwise the system's certificates would be accepted beside the cluster's. */
        curl_easy_setopt(call->easy, CURLOPT_CAPATH, NULL);
        set_pem(call->easy, CURLOPT_CAINFO_BLOB, kube_credentials_ca(credentials));
    }
    set_pem(call->easy, CURLOPT_SSLCERT_BLOB, kube_credentials_certificate(credentials));
    set_pem(call->easy, CURLOPT_SSLKEY_BLOB, kube_credentials_key(credentials));
    curl_easy_setopt(call->easy, CURLOPT_SSL_VERIFYPEER, is_insecure ? 0L : 1L);
    curl_easy_setopt(call->easy, CURLOPT_SSL_VERIFYHOST, is_insecure ? 0L : 2L);
}

/* Never over plain HTTP: anybody on the way could read it. */
static void set_authorization(struct kube_call *call)
{
    AUTO_FREE char *value = kube_credentials_authorization(call->client->credentials);

    if (value != NULL && strncmp(call->client->config->server, "https://", 8) == 0)
        add_header(call, "Authorization", value);
}

void kube_call_set_credentials(struct kube_call *call)
{
    call->credential_number = kube_credentials_number(call->client->credentials);
    set_authorization(call);
    set_tls(call);
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
}
