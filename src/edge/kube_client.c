/* SPDX-License-Identifier: Apache-2.0 */
/* kube_client - HTTP calls to one API server, many at a time, in one thread. */
#include "topofit/kube_client.h"

#include "kube_call.h"
#include "topofit/clock.h"
#include "topofit/mem.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MAX_MS 60000u

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
    kube_credentials_on_answer(call->client->credentials, call->credential_number, (int)status,
                               clock_monotonic_ms());
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

/* --- how a call begins ----------------------------------------------------------------------- */

static enum credential_state look_at_credentials(struct kube_client *client, struct error *err)
{
    return kube_credentials_look(client->credentials, clock_monotonic_ms(),
                                 (int64_t)(clock_unix_ms() / 1000), err);
}

/* What is left of its time; libcurl takes 0 for any. */
static void set_time_left(struct kube_call *call)
{
    uint64_t now_ms = clock_monotonic_ms();
    uint64_t left_ms = call->deadline_ms > now_ms ? call->deadline_ms - now_ms : 1;

    if (call->deadline_ms != UINT64_MAX)
        curl_easy_setopt(call->easy, CURLOPT_TIMEOUT_MS,
                         left_ms < LONG_MAX ? (long)left_ms : LONG_MAX);
}

/* Hand it to libcurl. A call that it did not take would never end: that is a bug, or no memory. */
static void begin_call(struct kube_call *call)
{
    CURLMcode code;

    call->is_waiting = false;
    kube_call_set_credentials(call);
    set_time_left(call);
    code = curl_multi_add_handle(call->client->multi, call->easy);
    assert(code == CURLM_OK);
}

static void set_callbacks(struct kube_call *call)
{
    curl_easy_setopt(call->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(call->easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(call->easy, CURLOPT_WRITEDATA, call);
}

static struct kube_call *call_new(struct kube_client *client, const struct kube_request *request)
{
    struct kube_call *call = xcalloc(1, sizeof *call);

    call->client = client;
    call->request = *request;
    call->is_waiting = true;
    call->deadline_ms =
        request->api.timeout_ms > 0 ? clock_monotonic_ms() + request->api.timeout_ms : UINT64_MAX;
    call->easy = curl_easy_init();
    assert(call->easy != NULL);
    kube_call_set_up(call);
    set_callbacks(call);
    call->request.api.path = call->request.api.body = NULL;
    call->request.api.method = call->request.api.content_type = NULL;
    call->next = client->calls;
    if (client->calls != NULL)
        client->calls->previous = call;
    client->calls = call;
    return call;
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
    buf_clear(&call->late_body);
    free(call);
}

struct kube_call *kube_client_send(struct kube_client *client, const struct kube_request *request,
                                   struct error *err)
{
    enum credential_state state = look_at_credentials(client, err);
    struct kube_call *call;

    if (state == CREDENTIAL_MISSING)
        return NULL;
    call = call_new(client, request);
    if (state == CREDENTIAL_READY)
        begin_call(call);
    return call;
}

void kube_client_cancel(struct kube_client *client, struct kube_call *call)
{
    (void)client;
    call_free(call);
}

/* --- how a call ends ------------------------------------------------------------------------- */

static void report_end(struct kube_call *call, const struct error *failure, bool was_sent)
{
    void (*on_end)(void *, const struct error *, bool) = call->request.on_end;
    void *ctx = call->request.ctx;

    call->client->something_happened = true;
    call_free(call);
    on_end(ctx, failure, was_sent);
}

static void end_call(struct kube_call *call, CURLcode code)
{
    bool is_about_connection = code != CURLE_OK && code != CURLE_OPERATION_TIMEDOUT &&
                               code != CURLE_ABORTED_BY_CALLBACK && !call->too_long &&
                               !call->too_late;
    struct error err = {0};

    if (is_about_connection)
        kube_credentials_on_failure(call->client->credentials);
    if (code != CURLE_OK)
        kube_call_describe(call, code, &err);
    report_end(call, code != CURLE_OK ? &err : NULL, call->was_sent);
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
        end_call(call, code);
    }
}

/* --- calls that wait for credentials --------------------------------------------------------- */

/* One that waits, and has no time left at now_ms; or NULL. */
static struct kube_call *find_waiting(const struct kube_client *client, uint64_t now_ms)
{
    for (struct kube_call *call = client->calls; call != NULL; call = call->next) {
        if (call->is_waiting && now_ms >= call->deadline_ms)
            return call;
    }
    return NULL;
}

/* Callbacks may send and cancel calls, so after each the search begins anew. */
static void serve_waiting(struct kube_client *client)
{
    struct error err = {0};
    struct kube_call *call;

    if (find_waiting(client, UINT64_MAX) == NULL &&
        kube_credentials_fds(client->credentials, (int[2]){0}) == 0)
        return;
    switch (look_at_credentials(client, &err)) {
    case CREDENTIAL_READY:
        while ((call = find_waiting(client, UINT64_MAX)) != NULL)
            begin_call(call);
        break;
    case CREDENTIAL_AWAITED:
        while ((call = find_waiting(client, clock_monotonic_ms())) != NULL)
            end_call(call, CURLE_OPERATION_TIMEDOUT);
        break;
    case CREDENTIAL_MISSING:
        while ((call = find_waiting(client, UINT64_MAX)) != NULL)
            report_end(call, &err, false);
        break;
    }
}

static uint64_t next_due_ms(const struct kube_client *client, uint64_t now_ms)
{
    uint64_t due_ms = kube_credentials_due_ms(client->credentials, now_ms);

    for (const struct kube_call *call = client->calls; call != NULL; call = call->next) {
        if (call->is_waiting && call->deadline_ms < due_ms)
            due_ms = call->deadline_ms;
    }
    return due_ms;
}

static void poll_all(struct kube_client *client, uint64_t timeout_ms)
{
    uint64_t now_ms = clock_monotonic_ms();
    uint64_t due_ms = next_due_ms(client, now_ms);
    uint64_t left_ms = due_ms > now_ms ? due_ms - now_ms : 0;
    struct curl_waitfd extra[2] = {0};
    int fds[2];
    size_t count = kube_credentials_fds(client->credentials, fds);

    for (size_t i = 0; i < count; i++)
        extra[i] = (struct curl_waitfd){.fd = fds[i], .events = CURL_WAIT_POLLIN};
    timeout_ms = timeout_ms < left_ms ? timeout_ms : left_ms;
    curl_multi_poll(client->multi, extra, (unsigned)count,
                    (int)(timeout_ms < WAIT_MAX_MS ? timeout_ms : WAIT_MAX_MS), NULL);
}

static void move_bytes(struct kube_client *client)
{
    int running;
    CURLMcode code;

    serve_waiting(client);
    code = curl_multi_perform(client->multi, &running);
    assert(code == CURLM_OK); /* what goes wrong with one call is that call's end */
    end_calls(client);
}

void kube_client_wait(struct kube_client *client, uint64_t timeout_ms)
{
    client->something_happened = false;
    move_bytes(client);
    if (client->something_happened)
        return;
    poll_all(client, timeout_ms);
    move_bytes(client);
}

void kube_client_wakeup(struct kube_client *client)
{
    curl_multi_wakeup(client->multi);
}

/* --- the client ------------------------------------------------------------------------------ */

struct kube_client *kube_client_new(const struct kube_config *config, struct error *err)
{
    bool is_tls = strncmp(config->server, "https://", 8) == 0;
    struct kube_client *client;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        error_set(err, ERR_INVALID, "libcurl cannot be used");
        return NULL;
    }
    client = xcalloc(1, sizeof *client);
    client->config = config;
    client->network_ms = API_NETWORK_MS;
    client->multi = curl_multi_init();
    assert(client->multi != NULL);
    client->credentials = kube_credentials_new(config);
    kube_address_split(config->server, is_tls ? 443 : 80, &client->address);
    client->proxy = kube_proxy_choose(config, &client->address);
    if (config->tls_server_name != NULL) {
        AUTO_FREE char *rule =
            xasprintf("%s:%u:%s:%u", config->tls_server_name, client->address.port,
                      client->address.host, client->address.port);

        client->connect_to = curl_slist_append(NULL, rule);
        assert(client->connect_to != NULL); /* without it another name would be connected to */
    }
    return client;
}

void kube_client_set_log(struct kube_client *client,
                         void (*log)(void *ctx, enum log_level level, const char *text), void *ctx)
{
    kube_credentials_set_log(client->credentials, log, ctx);
}

void kube_client_set_network_ms(struct kube_client *client, uint64_t network_ms)
{
    client->network_ms = (unsigned)network_ms;
}

void kube_client_free(struct kube_client *client)
{
    if (client == NULL)
        return;
    while (client->calls != NULL)
        end_call(client->calls, CURLE_ABORTED_BY_CALLBACK);
    curl_multi_cleanup(client->multi);
    kube_sockets_clear(&client->sockets);
    curl_slist_free_all(client->connect_to);
    curl_global_cleanup();
    kube_credentials_free(client->credentials);
    free(client->address.host);
    free(client->proxy);
    free(client);
}
