/* SPDX-License-Identifier: Apache-2.0 */
/* kube_client - HTTP calls to one API server, many at a time, in one thread. */
#include "topofit/kube_client.h"

#include "topofit/clock.h"
#include "topofit/mem.h"

#include <curl/curl.h>

#include <assert.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CONNECT_TIMEOUT_MS 10000L
#define DEAD_PEER_MS 15000 /* unacknowledged bytes or probes end a connection after that */
#define KEEPALIVE_IDLE_S 10L
#define KEEPALIVE_INTERVAL_S 5L
#define BUFFER_BYTES (128L << 10)
#define TOKEN_AGE_MS 60000u
#define WAIT_MAX_MS 60000u

struct kube_client {
    const struct kube_config *config;
    CURLM *multi;
    struct kube_call *calls; /* all in flight */
    struct address {
        char *host; /* as in the URL: IPv6 in brackets */
        unsigned port;
        const char *path; /* what follows, borrowed from the configuration */
    } address;
    struct curl_slist *connect_to; /* NULL: where the URL says */
    char *token;
    uint64_t token_read_ms;
    bool token_is_stale;
    bool something_happened; /* a callback ran since the last wait began */
};

struct kube_call {
    struct kube_call *next, *previous;
    struct kube_client *client;
    struct kube_request request; /* its texts are gone once the call is set up */
    CURL *easy;
    struct curl_slist *headers;
    size_t answer_bytes;
    bool has_begun, too_long;
    char why[CURL_ERROR_SIZE];
};

/* --- address --------------------------------------------------------------------------------- */

static void split_server(const char *server, struct address *out)
{
    bool is_tls = strncmp(server, "https://", 8) == 0;
    const char *host = server + (is_tls ? 8 : 7);
    size_t whole = strcspn(host, "/");
    size_t length = host[0] == '[' ? strcspn(host, "]/") + 1 : strcspn(host, ":/");

    length = length < whole ? length : whole;
    out->host = xstrndup(host, length);
    out->port = is_tls ? 443 : 80;
    if (host[length] == ':')
        out->port = (unsigned)strtoul(host + length + 1, NULL, 10);
    out->path = host + whole;
}

static bool is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "[::1]") == 0;
}

/* --- callbacks of libcurl -------------------------------------------------------------------- */

/* The empty line behind the headers of the real answer, not of a 1xx before it. */
static size_t on_header(char *bytes, size_t size, size_t count, void *ctx)
{
    struct kube_call *call = ctx;
    size_t length = size * count;
    long status = 0;
    curl_off_t retry_after_s = 0;

    if (call->has_begun || length == 0 || (bytes[0] != '\r' && bytes[0] != '\n'))
        return length;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200)
        return length;
    curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    if (status == 401)
        call->client->token_is_stale = true;
    call->has_begun = true;
    call->client->something_happened = true;
    call->request.on_begin(call->request.ctx, (int)status,
                           retry_after_s > 0 && retry_after_s < UINT_MAX ? (unsigned)retry_after_s
                                                                         : 0);
    return length;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *ctx)
{
    struct kube_call *call = ctx;
    size_t length = size * count;

    call->answer_bytes += length;
    call->client->something_happened = true;
    if (call->request.answer_max_bytes > 0 && call->answer_bytes > call->request.answer_max_bytes) {
        call->too_long = true;
        return CURL_WRITEFUNC_ERROR;
    }
    call->request.on_bytes(call->request.ctx, bytes, length);
    return length;
}

static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    unsigned dead_ms = DEAD_PEER_MS;

    (void)ctx;
    (void)purpose;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof dead_ms);
    return CURL_SOCKOPT_OK;
}

/* --- setting a call up ----------------------------------------------------------------------- */

static int refresh_token(struct kube_client *client, struct error *err)
{
    uint64_t now_ms = clock_monotonic_ms();
    bool is_due = client->token_is_stale || client->token == NULL ||
                  now_ms - client->token_read_ms >= TOKEN_AGE_MS;

    if (client->config->token_file == NULL && client->token != NULL)
        return 0;
    if (!is_due)
        return 0;
    if (kube_config_read_token(client->config, &client->token, err) < 0) {
        if (client->token == NULL)
            return -(int)err->code;
        error_clear(err); /* the old one may still be good, as long as the file is being replaced */
    }
    client->token_read_ms = now_ms;
    client->token_is_stale = false;
    return 0;
}

static void add_header(struct kube_call *call, const char *name, const char *value)
{
    AUTO_FREE char *line = xasprintf("%s:%s%s", name, value[0] != '\0' ? " " : "", value);
    struct curl_slist *longer = curl_slist_append(call->headers, line);

    assert(longer != NULL);
    call->headers = longer;
}

static void set_headers(struct kube_call *call)
{
    const struct kube_client *client = call->client;
    AUTO_FREE char *host = xasprintf("%s:%u", client->address.host, client->address.port);
    AUTO_FREE char *bearer = xasprintf("Bearer %s", client->token != NULL ? client->token : "");

    add_header(call, "Accept", "application/json");
    add_header(call, "Expect", "");
    if (call->request.body != NULL)
        add_header(call, "Content-Type",
                   call->request.content_type != NULL ? call->request.content_type
                                                      : "application/json");
    if (client->token != NULL && strncmp(client->config->server, "https://", 8) == 0)
        add_header(call, "Authorization", bearer);
    if (client->config->tls_server_name != NULL)
        add_header(call, "Host", host);
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
}

static void set_pem(CURL *easy, CURLoption option, const struct kube_pem *pem)
{
    struct curl_blob blob = {.data = pem->text, .flags = CURL_BLOB_NOCOPY};

    if (pem->text == NULL)
        return;
    blob.len = strlen(pem->text);
    curl_easy_setopt(easy, option, &blob);
}

static void set_tls(struct kube_call *call)
{
    const struct kube_config *config = call->client->config;

    if (config->ca.text != NULL) {
        /* Otherwise the system's certificates would be accepted beside the cluster's. */
        curl_easy_setopt(call->easy, CURLOPT_CAPATH, NULL);
        set_pem(call->easy, CURLOPT_CAINFO_BLOB, &config->ca);
    }
    set_pem(call->easy, CURLOPT_SSLCERT_BLOB, &config->client_certificate);
    set_pem(call->easy, CURLOPT_SSLKEY_BLOB, &config->client_key);
    curl_easy_setopt(call->easy, CURLOPT_SSL_VERIFYPEER, config->insecure ? 0L : 1L);
    curl_easy_setopt(call->easy, CURLOPT_SSL_VERIFYHOST, config->insecure ? 0L : 2L);
}

/* A name to expect in the certificate goes into the URL; where to connect is told beside it. */
static void set_url(struct kube_call *call)
{
    const struct kube_client *client = call->client;
    const char *name = client->config->tls_server_name;
    AUTO_FREE char *url = NULL;

    if (name == NULL)
        url = xasprintf("%s%s", client->config->server, call->request.path);
    else
        url = xasprintf("https://%s:%u%s%s", name, client->address.port, client->address.path,
                        call->request.path);
    curl_easy_setopt(call->easy, CURLOPT_URL, url);
    curl_easy_setopt(call->easy, CURLOPT_CONNECT_TO, client->connect_to);
}

static void set_connection(struct kube_call *call)
{
    CURL *easy = call->easy;

    /* On a shared HTTP/2 connection a burst of Bindings starves the watches. */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, call->request.fresh_connection ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (is_loopback(call->client->address.host))
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
}

static void set_exchange(struct kube_call *call)
{
    const struct kube_request *request = &call->request;
    CURL *easy = call->easy;

    if (request->body != NULL) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
        curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body);
    }
    if (request->method != NULL)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                     request->timeout_ms < LONG_MAX ? (long)request->timeout_ms : LONG_MAX);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "topofit/" TOPOFIT_VERSION);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->why);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
}

static void call_free(struct kube_call *call)
{
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        call->client->calls = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
    curl_multi_remove_handle(call->client->multi, call->easy);
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    free(call);
}

struct kube_call *kube_client_send(struct kube_client *client, const struct kube_request *request,
                                   struct error *err)
{
    struct kube_call *call;

    if (refresh_token(client, err) < 0)
        return NULL;
    call = xcalloc(1, sizeof *call);
    call->client = client;
    call->request = *request;
    call->easy = curl_easy_init();
    assert(call->easy != NULL);
    set_headers(call);
    set_url(call);
    set_connection(call);
    set_tls(call);
    set_exchange(call);
    call->request.path = call->request.body = NULL;
    call->request.method = call->request.content_type = NULL;
    call->next = client->calls;
    if (client->calls != NULL)
        client->calls->previous = call;
    client->calls = call;
    curl_multi_add_handle(client->multi, call->easy);
    return call;
}

void kube_client_cancel(struct kube_client *client, struct kube_call *call)
{
    (void)client;
    call_free(call);
}

/* --- how a call ends ------------------------------------------------------------------------- */

/* Failures before the first byte of a request; all others may come after the last. */
static bool is_before_sending(CURLcode code, CURL *easy)
{
    static const CURLcode codes[] = {
        CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
        CURLE_SSL_CONNECT_ERROR,     CURLE_SSL_CERTPROBLEM,      CURLE_PEER_FAILED_VERIFICATION,
        CURLE_SSL_CACERT_BADFILE,    CURLE_SSL_CIPHER,           CURLE_URL_MALFORMAT,
        CURLE_UNSUPPORTED_PROTOCOL,
    };
    curl_off_t pretransfer_us = 0;
    long sent_bytes = 0;

    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent_bytes);
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &pretransfer_us);
    if (sent_bytes > 0 || pretransfer_us > 0)
        return false;
    if (code == CURLE_OPERATION_TIMEDOUT)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (codes[i] == code)
            return true;
    }
    return false;
}

static const char *advice(CURLcode code, const struct kube_call *call)
{
    const struct kube_config *config = call->client->config;
    bool has_credentials = config->client_certificate.text != NULL || config->token != NULL ||
                           config->token_file != NULL;
    long verify_result = 0;

    curl_easy_getinfo(call->easy, CURLINFO_SSL_VERIFYRESULT, &verify_result);
    /* 1 is what libcurl starts with: the chain is good, so it is the name that is not. */
    if (code == CURLE_PEER_FAILED_VERIFICATION && verify_result <= 1)
        return "; tls-server-name tells which name to expect";
    if (code == CURLE_PEER_FAILED_VERIFICATION && config->ca.text != NULL)
        return "; does certificate-authority belong to this server?";
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return "; the configuration names no certificate-authority";
    if (code == CURLE_SSL_CERTPROBLEM)
        return "; client-certificate and client-key do not fit, or are not PEM";
    if ((code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING) && !has_credentials)
        return "; a server that wants credentials may close like this, and there are none";
    return "";
}

/* The texts shall not change from attempt to attempt: libcurl's would, where it tells times. */
static int describe(CURLcode code, const struct kube_call *call, struct error *err)
{
    const char *server = call->client->config->server;
    const char *why = call->why[0] != '\0' ? call->why : curl_easy_strerror(code);
    long number = 0;

    if (call->too_long)
        return error_set(err, ERR_LIMIT, "the answer is longer than %zu bytes",
                         call->request.answer_max_bytes);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return error_set(err, ERR_TIMEOUT, "%s: no answer in time", server);
    curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &number);
    if (code == CURLE_COULDNT_CONNECT)
        why = number != 0 ? strerror((int)number) : curl_easy_strerror(code);
    return error_set(err, ERR_IO, "%s: %s%s", server, why, advice(code, call));
}

static void end_call(struct kube_call *call, CURLcode code)
{
    bool was_sent = !is_before_sending(code, call->easy);
    void (*on_end)(void *, const struct error *, bool) = call->request.on_end;
    void *ctx = call->request.ctx;
    struct error err = {0};

    if (code != CURLE_OK)
        describe(code, call, &err);
    call_free(call);
    on_end(ctx, err.code != ERR_NONE ? &err : NULL, was_sent);
}

static void end_calls(struct kube_client *client)
{
    struct kube_call *call = NULL;
    CURLMsg *message;
    CURLcode code;
    int left;

    while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
        client->something_happened = true;
        end_call(call, code);
    }
}

void kube_client_wait(struct kube_client *client, uint64_t timeout_ms)
{
    int running;

    client->something_happened = false;
    curl_multi_perform(client->multi, &running);
    end_calls(client);
    if (client->something_happened)
        return;
    curl_multi_poll(client->multi, NULL, 0,
                    (int)(timeout_ms < WAIT_MAX_MS ? timeout_ms : WAIT_MAX_MS), NULL);
    curl_multi_perform(client->multi, &running);
    end_calls(client);
}

void kube_client_wakeup(struct kube_client *client)
{
    curl_multi_wakeup(client->multi);
}

/* --- the client ------------------------------------------------------------------------------ */

struct kube_client *kube_client_new(const struct kube_config *config, struct error *err)
{
    struct kube_client *client;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        error_set(err, ERR_INVALID, "libcurl cannot be used");
        return NULL;
    }
    client = xcalloc(1, sizeof *client);
    client->config = config;
    client->multi = curl_multi_init();
    assert(client->multi != NULL);
    split_server(config->server, &client->address);
    if (config->tls_server_name != NULL) {
        AUTO_FREE char *rule =
            xasprintf("%s:%u:%s:%u", config->tls_server_name, client->address.port,
                      client->address.host, client->address.port);

        client->connect_to = curl_slist_append(NULL, rule);
    }
    return client;
}

void kube_client_free(struct kube_client *client)
{
    if (client == NULL)
        return;
    while (client->calls != NULL)
        end_call(client->calls, CURLE_ABORTED_BY_CALLBACK);
    curl_multi_cleanup(client->multi);
    curl_slist_free_all(client->connect_to);
    curl_global_cleanup();
    free(client->address.host);
    free(client->token);
    free(client);
}
