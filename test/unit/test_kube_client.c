/* SPDX-License-Identifier: Apache-2.0 */
#include "support/pki.h"
#include "support/scratch.h"
#include "support/stand_in.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/clock.h"
#include "topofit/kube_client.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_WAIT_MS 20000

/* How a call ended. */
struct outcome {
    int status;
    bool has_ended, was_sent;
    struct error failure;
};

static void on_begin(void *ctx, int status, unsigned retry_after_s)
{
    struct outcome *outcome = ctx;

    (void)retry_after_s;
    outcome->status = status;
}

static void on_bytes(void *ctx, const char *bytes, size_t length)
{
    (void)ctx;
    (void)bytes;
    (void)length;
}

static void on_end(void *ctx, const struct error *failure, bool was_sent)
{
    struct outcome *outcome = ctx;

    outcome->has_ended = true;
    outcome->was_sent = was_sent;
    if (failure != NULL)
        outcome->failure = *failure;
}

/* Send it and see it through. */
static struct outcome ask(struct kube_client *client, struct kube_request request)
{
    struct outcome outcome = {0};

    request.ctx = &outcome;
    request.on_begin = on_begin;
    request.on_bytes = on_bytes;
    request.on_end = on_end;
    if (request.api.timeout_ms == 0)
        request.api.timeout_ms = ANSWER_WAIT_MS;
    if (kube_client_send(client, &request, &outcome.failure) == NULL)
        return outcome;
    while (!outcome.has_ended)
        kube_client_wait(client, ANSWER_WAIT_MS);
    return outcome;
}

static void assert_status(const struct outcome *outcome, int status)
{
    if (outcome->failure.code != ERR_NONE)
        fail_msg("%s", outcome->failure.text);
    assert_int_equal(outcome->status, status);
}

/* A server and a client of it. */
struct pair {
    char *folder;
    struct pki_pair authority, identity; /* of the server */
    struct pki_pair client_identity;     /* with TLS only */
    struct stand_in *server;
    struct kube_config config;
    struct kube_client *client;
};

static void start_client(struct pair *pair)
{
    struct error err = {0};

    pair->client = kube_client_new(&pair->config, &err);
    assert_non_null(pair->client);
}

/* Without TLS; the client is there. */
static int set_up(void **state)
{
    struct pair *pair = xcalloc(1, sizeof *pair);

    pair->folder = scratch_make();
    pair->server = stand_in_start(NULL, 0);
    pair->config.server = xasprintf("http://127.0.0.1:%u", stand_in_port(pair->server));
    start_client(pair);
    *state = pair;
    return 0;
}

/* With TLS and an authority in a file; the test starts the client. */
static int set_up_tls(void **state)
{
    struct pair *pair = xcalloc(1, sizeof *pair);

    pair->folder = scratch_make();
    pair->authority = pki_authority("authority");
    pair->identity = pki_issue(&pair->authority, "server");
    pair->client_identity = pki_issue(&pair->authority, "client");
    pair->server =
        stand_in_start(&(struct stand_in_tls){pair->identity.certificate, pair->identity.key,
                                              pair->authority.certificate},
                       0);
    pair->config.server = xasprintf("https://127.0.0.1:%u", stand_in_port(pair->server));
    pair->config.ca.file = scratch_path(pair->folder, "ca.crt");
    pair->config.ca.text = xstrdup(pair->authority.certificate);
    scratch_put(pair->folder, "ca.crt", pair->authority.certificate);
    *state = pair;
    return 0;
}

static int tear_down(void **state)
{
    struct pair *pair = *state;

    kube_client_free(pair->client);
    kube_config_clear(&pair->config);
    stand_in_stop(pair->server);
    pki_pair_clear(&pair->authority);
    pki_pair_clear(&pair->identity);
    pki_pair_clear(&pair->client_identity);
    scratch_remove(pair->folder);
    free(pair);
    return 0;
}

static struct outcome get(struct pair *pair)
{
    return ask(pair->client, (struct kube_request){.api.path = "/"});
}

/* Ask, and see what the server got. Clear it. */
static void test_send__sends_a_body_while_its_time_lasts(void **state)
{
    struct pair *pair = *state;

    for (unsigned times = 0; times < 2; times++) { /* the second time on the same connection */
        AUTO(stand_in_request_clear) struct stand_in_request got = {0};
        struct outcome outcome = ask(
            pair->client, (struct kube_request){.api.path = "/binding",
                                                .api.body = "{\"a\":1}",
                                                .api.body_length = 7,
                                                .api.body_by_ms = clock_monotonic_ms() + 60000});

        assert_status(&outcome, 200);
        stand_in_last(pair->server, &got);
        assert_string_equal(got.method, "POST");
        assert_string_equal(got.body, "{\"a\":1}");
    }
}

static void test_send__sends_no_body_whose_time_is_over(void **state)
{
    AUTO(stand_in_request_clear) struct stand_in_request got = {0};
    struct pair *pair = *state;
    struct outcome outcome = ask(pair->client, (struct kube_request){.api.path = "/before"});

    assert_status(&outcome, 200);
    outcome = ask(pair->client, (struct kube_request){.api.path = "/binding",
                                                      .api.body = "{\"a\":1}",
                                                      .api.body_length = 7,
                                                      .api.body_by_ms = clock_monotonic_ms()});
    assert_int_equal(outcome.failure.code, ERR_TIMEOUT);
    assert_contains(outcome.failure.text, "not sent in time");
    assert_false(outcome.was_sent);
    stand_in_last(pair->server, &got);
    assert_string_equal(got.path, "/before");
}

static struct stand_in_request get_seen(struct pair *pair, int want_status)
{
    struct outcome outcome = get(pair);
    struct stand_in_request seen;

    assert_status(&outcome, want_status);
    stand_in_last(pair->server, &seen);
    return seen;
}

/* --- what is sent ---------------------------------------------------------------------------- */

static void test_send__uses_the_method_and_content_type_it_is_given(void **state)
{
    static const struct {
        const char *method, *body, *content_type, *want_method, *want_type;
    } cases[] = {
        {NULL, NULL, NULL, "GET", NULL},
        {NULL, "{\"a\":1}", NULL, "POST", "application/json"},
        {"PUT", "{\"a\":1}", NULL, "PUT", "application/json"},
        {"PATCH", "{\"a\":1}", "application/merge-patch+json", "PATCH",
         "application/merge-patch+json"},
        {"DELETE", NULL, NULL, "DELETE", NULL},
    };
    struct pair *pair = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(stand_in_request_clear) struct stand_in_request got = {0};
        struct outcome outcome = ask(
            pair->client, (struct kube_request){
                              .api.path = "/apis/x?y=z",
                              .api.method = cases[i].method,
                              .api.body = cases[i].body,
                              .api.body_length = cases[i].body != NULL ? strlen(cases[i].body) : 0,
                              .api.content_type = cases[i].content_type,
                          });

        assert_status(&outcome, 200);
        stand_in_last(pair->server, &got);
        assert_string_equal(got.method, cases[i].want_method);
        assert_string_equal(got.path, "/apis/x?y=z");
        assert_string_equal(got.body, cases[i].body != NULL ? cases[i].body : "");
        if (cases[i].want_type == NULL) {
            assert_null(strstr(got.headers, "Content-Type:"));
        } else {
            AUTO_FREE char *line = xasprintf("Content-Type: %s\n", cases[i].want_type);

            assert_contains(got.headers, line);
        }
    }
}

static void test_send__impersonates(void **state)
{
    AUTO(stand_in_request_clear) struct stand_in_request seen = {0};
    struct pair *pair = *state;

    kube_pairs_add(&pair->config.impersonation, "Impersonate-User", "jane");
    kube_pairs_add(&pair->config.impersonation, "Impersonate-Group", "g1");
    kube_pairs_add(&pair->config.impersonation, "Impersonate-Group", "g2");
    seen = get_seen(pair, 200);
    assert_contains(seen.headers, "Impersonate-User: jane\n");
    assert_contains(seen.headers, "Impersonate-Group: g1\nImpersonate-Group: g2\n");
}

static void test_send__sends_no_credentials_over_plain_http(void **state)
{
    AUTO(stand_in_request_clear) struct stand_in_request seen = {0};
    struct pair *pair = *state;

    pair->config.token = xstrdup("secret");
    pair->config.user_name = xstrdup("secret");
    seen = get_seen(pair, 200);
    assert_null(strstr(seen.headers, "Authorization"));
}

static void test_send__authenticates_with_user_name_and_password(void **state)
{
    AUTO(stand_in_request_clear) struct stand_in_request seen = {0};
    struct pair *pair = *state;

    pair->config.user_name = xstrdup("Aladdin");
    pair->config.password = xstrdup("open sesame");
    start_client(pair);
    seen = get_seen(pair, 200);
    assert_contains(seen.headers, "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\n");
}

static void test_send__expects_the_name_it_is_told(void **state)
{
    static const struct {
        const char *name;
        bool is_good;
    } cases[] = {{"kube.example", true}, {"other.example", false}};
    struct pair *pair = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct outcome outcome;

        pair->config.tls_server_name = xstrdup(cases[i].name);
        start_client(pair);
        outcome = get(pair);
        assert_int_equal(outcome.failure.code == ERR_NONE, cases[i].is_good);
        assert_int_equal(outcome.was_sent, cases[i].is_good);
        kube_client_free(pair->client);
        pair->client = NULL;
        free(pair->config.tls_server_name);
        pair->config.tls_server_name = NULL;
    }
}

/* --- credentials that are renewed ------------------------------------------------------------ */

static void test_send__reads_the_token_again_after_a_401(void **state)
{
    AUTO(stand_in_request_clear) struct stand_in_request first = {0};
    AUTO(stand_in_request_clear) struct stand_in_request second = {0};
    AUTO(stand_in_request_clear) struct stand_in_request third = {0};
    struct pair *pair = *state;

    pair->config.token_file = scratch_path(pair->folder, "token");
    scratch_put(pair->folder, "token", "one");
    start_client(pair);
    first = get_seen(pair, 200);
    assert_contains(first.headers, "Authorization: Bearer one\n");
    scratch_put(pair->folder, "token", "two");
    stand_in_answer(pair->server, 401, "{}");
    second = get_seen(pair, 401);
    assert_contains(second.headers, "Authorization: Bearer one\n");
    third = get_seen(pair, 401);
    assert_contains(third.headers, "Authorization: Bearer two\n");
    assert_int_equal(third.connection, first.connection);
}

static void put_client_pair(struct pair *pair, const struct pki_pair *identity)
{
    scratch_put(pair->folder, "c.crt", identity->certificate);
    scratch_put(pair->folder, "c.key", identity->key);
}

static void test_send__shows_a_new_client_certificate_on_a_new_connection(void **state)
{
    struct pair *pair = *state;
    AUTO(pki_pair_clear) struct pki_pair fresh = pki_issue(&pair->authority, "fresh");
    AUTO(stand_in_request_clear) struct stand_in_request first = {0};
    AUTO(stand_in_request_clear) struct stand_in_request second = {0};
    AUTO(stand_in_request_clear) struct stand_in_request third = {0};

    pair->config.client_certificate.file = scratch_path(pair->folder, "c.crt");
    pair->config.client_key.file = scratch_path(pair->folder, "c.key");
    pair->config.client_certificate.text = xstrdup(pair->client_identity.certificate);
    pair->config.client_key.text = xstrdup(pair->client_identity.key);
    put_client_pair(pair, &pair->client_identity);
    start_client(pair);
    first = get_seen(pair, 200);
    assert_string_equal(first.peer, "client");
    put_client_pair(pair, &fresh);
    stand_in_answer(pair->server, 401, "{}");
    second = get_seen(pair, 401);
    assert_int_equal(second.connection, first.connection);
    third = get_seen(pair, 401);
    assert_string_equal(third.peer, "fresh");
    assert_int_not_equal(third.connection, first.connection);
}

static void keep_line(void *ctx, enum log_level level, const char *text)
{
    char *line = ctx;

    snprintf(line, ERROR_TEXT_MAX, "%d %s", (int)level, text);
}

static void test_set_log__is_told_of_renewals(void **state)
{
    struct pair *pair = *state;
    AUTO(pki_pair_clear) struct pki_pair authority = pki_authority("next");
    char line[ERROR_TEXT_MAX] = "", want[ERROR_TEXT_MAX];

    scratch_put(pair->folder, "ca.crt", authority.certificate);
    start_client(pair);
    kube_client_set_log(pair->client, keep_line, line);
    get(pair);
    snprintf(want, sizeof want, "%d certificate-authority: read again", (int)LOG_LEVEL_INFO);
    assert_string_equal(line, want);
}

static void restart_with(struct pair *pair, const struct pki_pair *identity)
{
    unsigned port = stand_in_port(pair->server);

    stand_in_stop(pair->server);
    pair->server =
        stand_in_start(&(struct stand_in_tls){identity->certificate, identity->key, NULL}, port);
}

static void test_send__believes_a_new_authority_after_a_failure(void **state)
{
    struct pair *pair = *state;
    AUTO(pki_pair_clear) struct pki_pair authority = pki_authority("next");
    AUTO(pki_pair_clear) struct pki_pair identity = pki_issue(&authority, "server");
    struct outcome outcome;

    start_client(pair);
    outcome = get(pair);
    assert_status(&outcome, 200);
    restart_with(pair, &identity);
    outcome = get(pair);
    assert_int_equal(outcome.failure.code, ERR_IO);
    assert_contains(outcome.failure.text, "does certificate-authority belong to this server?");
    assert_false(outcome.was_sent);
    scratch_put(pair->folder, "ca.crt", authority.certificate);
    outcome = get(pair);
    assert_status(&outcome, 200);
}

static void test_send__does_not_use_a_connection_that_an_old_authority_vouched_for(void **state)
{
    struct pair *pair = *state;
    AUTO(pki_pair_clear) struct pki_pair authority = pki_authority("next");
    struct outcome outcome;

    start_client(pair);
    stand_in_answer(pair->server, 401, "{}");
    outcome = get(pair);
    assert_status(&outcome, 401);
    scratch_put(pair->folder, "ca.crt", authority.certificate);
    outcome = get(pair);
    assert_int_equal(outcome.failure.code, ERR_IO);
    assert_false(outcome.was_sent);
}

/* --- exec plugins ---------------------------------------------------------------------------- */

#define V1 "client.authentication.k8s.io/v1"

/* A plugin in the client's configuration. */
static void use_plugin(struct pair *pair, const char *script)
{
    AUTO_FREE char *text = xasprintf("#!/bin/sh\ncd \"${0%%/*}\"\n%s\n", script);

    scratch_put(pair->folder, "plugin", text);
    pair->config.exec = xcalloc(1, sizeof *pair->config.exec);
    pair->config.exec->api_version = xstrdup(V1);
    pair->config.exec->command = scratch_path(pair->folder, "plugin");
    start_client(pair);
}

static void put_answer(struct pair *pair, const char *token)
{
    AUTO_FREE char *text = xasprintf("{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\","
                                     "\"status\":{\"token\":\"%s\"}}",
                                     token);

    scratch_put(pair->folder, "answer", text);
}

static struct kube_request request_for(struct outcome *outcome)
{
    return (struct kube_request){
        .api.path = "/",
        .ctx = outcome,
        .on_begin = on_begin,
        .on_bytes = on_bytes,
        .on_end = on_end,
    };
}

static void test_send__waits_for_the_plugin_and_nothing_waits_for_it_meanwhile(void **state)
{
    AUTO(stand_in_request_clear) struct stand_in_request seen = {0};
    struct pair *pair = *state;
    AUTO_FREE char *gate = scratch_path(pair->folder, "gate");
    struct outcome outcome = {0}, dropped = {0};
    struct kube_request request = request_for(&outcome), other = request_for(&dropped);
    struct error err = {0};
    struct kube_call *call;
    int fd;

    assert_int_equal(mkfifo(gate, 0600), 0);
    put_answer(pair, "t1");
    use_plugin(pair, "read word <gate; cat answer");
    assert_non_null(kube_client_send(pair->client, &request, &err));
    call = kube_client_send(pair->client, &other, &err);
    assert_non_null(call);
    kube_client_wait(pair->client, 1);
    kube_client_wait(pair->client, 1);
    assert_false(outcome.has_ended);
    kube_client_cancel(pair->client, call);
    fd = open(gate, O_WRONLY);
    assert_int_equal(write(fd, "go\n", 3), 3);
    close(fd);
    while (!outcome.has_ended)
        kube_client_wait(pair->client, ANSWER_WAIT_MS);
    assert_status(&outcome, 200);
    assert_false(dropped.has_ended);
    stand_in_last(pair->server, &seen);
    assert_contains(seen.headers, "Authorization: Bearer t1\n");
    assert_int_equal(seen.number, 1);
}

static void test_send__runs_the_plugin_again_after_a_401(void **state)
{
    AUTO(stand_in_request_clear) struct stand_in_request seen = {0};
    struct pair *pair = *state;
    struct outcome outcome;

    put_answer(pair, "t1");
    use_plugin(pair, "cat answer");
    outcome = get(pair);
    assert_status(&outcome, 200);
    put_answer(pair, "t2");
    stand_in_answer(pair->server, 401, "{}");
    outcome = get(pair);
    assert_status(&outcome, 401);
    stand_in_answer(pair->server, 200, "{}");
    seen = get_seen(pair, 200);
    assert_contains(seen.headers, "Authorization: Bearer t2\n");
}

static void test_send__shows_the_certificate_that_the_plugin_hands_out(void **state)
{
    AUTO(stand_in_request_clear) struct stand_in_request seen = {0};
    AUTO(buf_clear) struct buf text = buf_with_max(1 << 20);
    struct pair *pair = *state;

    buf_add_text(&text, "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":{"
                        "\"clientCertificateData\":");
    buf_add_json_string(&text, pair->client_identity.certificate);
    buf_add_text(&text, ",\"clientKeyData\":");
    buf_add_json_string(&text, pair->client_identity.key);
    buf_add_text(&text, "}}");
    scratch_put(pair->folder, "answer", buf_text(&text));
    use_plugin(pair, "cat answer");
    seen = get_seen(pair, 200);
    assert_string_equal(seen.peer, "client");
    assert_null(strstr(seen.headers, "Authorization"));
}

static void test_send__was_not_sent_when_the_plugin_fails(void **state)
{
    struct pair *pair = *state;
    struct outcome outcome;

    use_plugin(pair, "echo not logged in >&2; exit 1");
    outcome = get(pair);
    assert_true(outcome.has_ended);
    assert_false(outcome.was_sent);
    assert_contains(outcome.failure.text, "/plugin: it ended with exit status 1: not logged in");
    outcome = get(pair);
    assert_false(outcome.has_ended);
    assert_contains(outcome.failure.text, "not logged in");
}

static void test_send__gives_up_in_time_when_the_plugin_takes_too_long(void **state)
{
    struct pair *pair = *state;
    struct outcome outcome;

    use_plugin(pair, "exec sleep 1000");
    outcome = ask(pair->client, (struct kube_request){.api.path = "/", .api.timeout_ms = 20});
    assert_true(outcome.has_ended);
    assert_false(outcome.was_sent);
    assert_int_equal(outcome.failure.code, ERR_TIMEOUT);
    assert_contains(outcome.failure.text, "gave no credential in time");
}

static void test_free__ends_calls_that_wait_for_the_plugin(void **state)
{
    struct pair *pair = *state;
    struct outcome outcome = {0};
    struct kube_request request = request_for(&outcome);
    struct error err = {0};

    use_plugin(pair, "exec sleep 1000");
    assert_non_null(kube_client_send(pair->client, &request, &err));
    kube_client_free(pair->client);
    pair->client = NULL;
    assert_true(outcome.has_ended);
    assert_false(outcome.was_sent);
}

/* --- proxies --------------------------------------------------------------------------------- */

/* Behind a client of its own, since the name of the server is another one. */
static struct outcome ask_elsewhere(const char *server, const char *proxy_url)
{
    struct kube_config config = {0};
    struct kube_client *client;
    struct outcome outcome;
    struct error err = {0};

    config.server = xstrdup(server);
    config.proxy_url = proxy_url != NULL ? xstrdup(proxy_url) : NULL;
    client = kube_client_new(&config, &err);
    assert_non_null(client);
    outcome = ask(client, (struct kube_request){.api.path = "/path"});
    kube_client_free(client);
    kube_config_clear(&config);
    return outcome;
}

static void test_proxy__is_asked_to_connect(void **state)
{
    AUTO(stand_in_request_clear) struct stand_in_request seen = {0};
    struct pair *pair = *state;
    AUTO_FREE char *proxy = xasprintf("http://u:p@127.0.0.1:%u", stand_in_port(pair->server));
    struct outcome outcome;

    stand_in_answer(pair->server, 403, "{}");
    outcome = ask_elsewhere("https://api.invalid:6443", proxy);
    assert_int_equal(outcome.failure.code, ERR_IO);
    assert_contains(outcome.failure.text, "https://api.invalid:6443 by its proxy-url: ");
    assert_contains(outcome.failure.text, "403");
    assert_null(strstr(outcome.failure.text, "u:p"));
    assert_false(outcome.was_sent);
    stand_in_last(pair->server, &seen);
    assert_string_equal(seen.method, "CONNECT");
    assert_contains(seen.headers, "Host: api.invalid:6443\n");
    assert_contains(seen.headers, "Proxy-Authorization: Basic dTpw\n");
}

static void test_proxy__of_the_kubeconfig_wins_over_the_environment(void **state)
{
    AUTO(stand_in_request_clear) struct stand_in_request seen = {0};
    struct pair *pair = *state;
    AUTO_FREE char *proxy = xasprintf("http://127.0.0.1:%u", stand_in_port(pair->server));
    struct outcome outcome;

    setenv("https_proxy", "http://127.0.0.1:1", 1);
    setenv("no_proxy", "api.invalid", 1);
    outcome = ask_elsewhere("https://api.invalid", proxy);
    unsetenv("https_proxy");
    unsetenv("no_proxy");
    assert_int_equal(outcome.failure.code, ERR_IO);
    stand_in_last(pair->server, &seen);
    assert_string_equal(seen.method, "CONNECT");
}

static void test_proxy__of_the_environment_is_asked_otherwise(void **state)
{
    AUTO(stand_in_request_clear) struct stand_in_request seen = {0};
    struct pair *pair = *state;
    AUTO_FREE char *proxy = xasprintf("http://127.0.0.1:%u", stand_in_port(pair->server));

    stand_in_answer(pair->server, 403, "{}");
    setenv("HTTPS_PROXY", proxy, 1);
    ask_elsewhere("https://api.invalid", NULL);
    unsetenv("HTTPS_PROXY");
    stand_in_last(pair->server, &seen);
    assert_string_equal(seen.method, "CONNECT");
}

static void test_proxy__is_never_asked_for_loopback_addresses(void **state)
{
    struct pair *pair = *state;
    AUTO_FREE char *by_number = xasprintf("http://127.0.0.1:%u", stand_in_port(pair->server));
    AUTO_FREE char *by_name = xasprintf("http://localhost:%u", stand_in_port(pair->server));
    const char *const servers[] = {by_number, by_name};

    setenv("http_proxy", "http://127.0.0.1:1", 1);
    for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
        struct outcome outcome = ask_elsewhere(servers[i], NULL);

        assert_status(&outcome, 200);
        outcome = ask_elsewhere(servers[i], "http://127.0.0.1:1");
        assert_status(&outcome, 200);
    }
    unsetenv("http_proxy");
}

/* A SOCKS proxy that refuses everything, once. */
struct socks {
    int listener;
    unsigned char request[64];
    ssize_t length;
};

static void *run_socks(void *ctx)
{
    struct socks *socks = ctx;
    int fd = accept(socks->listener, NULL, NULL);
    unsigned char greeting[64];

    if (fd < 0 || recv(fd, greeting, sizeof greeting, 0) < 3)
        return NULL;
    send(fd, "\5\0", 2, MSG_NOSIGNAL);
    socks->length = recv(fd, socks->request, sizeof socks->request, 0);
    send(fd, "\5\2\0\1\0\0\0\0\0\0", 10, MSG_NOSIGNAL);
    close(fd);
    return NULL;
}

/* source: RFC 1928, section 4 */
static void test_proxy__of_socks_looks_the_name_up_itself(void **state)
{
    static const unsigned char want[] = "\5\1\0\3\013api.invalid\31\53"; /* port 6443 */
    struct socks socks = {.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    AUTO_FREE char *proxy = NULL;
    struct outcome outcome;
    pthread_t thread;

    (void)state;
    assert_int_equal(bind(socks.listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(socks.listener, 1), 0);
    assert_int_equal(getsockname(socks.listener, (struct sockaddr *)&address, &length), 0);
    proxy = xasprintf("socks5://127.0.0.1:%u", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&thread, NULL, run_socks, &socks), 0);
    outcome = ask_elsewhere("https://api.invalid:6443", proxy);
    shutdown(socks.listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(socks.listener);
    assert_int_equal(outcome.failure.code, ERR_IO);
    assert_false(outcome.was_sent);
    assert_int_equal(socks.length, sizeof want - 1);
    assert_memory_equal(socks.request, want, sizeof want - 1);
}

/* --- dead peers ------------------------------------------------------------------------------ */

/* The option on the client's side of the only connection to the server; in ms. */
static unsigned user_timeout_ms(unsigned port)
{
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_in peer = {0};
        socklen_t length = sizeof peer, size = sizeof(unsigned);
        unsigned value = 0;

        if (getpeername(fd, (struct sockaddr *)&peer, &length) != 0 || peer.sin_family != AF_INET ||
            ntohs(peer.sin_port) != port)
            continue;
        assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &size), 0);
        return value;
    }
    fail_msg("there is no connection to port %u", port);
    return 0;
}

static void test_send__gives_up_unacknowledged_bytes_sooner_with_a_time_limit(void **state)
{
    static const struct {
        uint64_t timeout_ms;
        unsigned want_ms;
    } cases[] = {{0, 15000}, {10000, 5000}, {0, 15000}};
    struct pair *pair = *state;

    /* All on one connection. */
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(stand_in_request_clear) struct stand_in_request seen = {0};
        struct outcome outcome = {0};
        struct kube_request request = request_for(&outcome);
        struct error err = {0};

        request.api.timeout_ms = cases[i].timeout_ms;
        assert_non_null(kube_client_send(pair->client, &request, &err));
        while (!outcome.has_ended)
            kube_client_wait(pair->client, ANSWER_WAIT_MS);
        assert_int_equal(user_timeout_ms(stand_in_port(pair->server)), cases[i].want_ms);
        stand_in_last(pair->server, &seen);
        assert_int_equal(seen.connection, 1);
    }
}

static void test_send__does_not_follow_redirects(void **state)
{
    AUTO(stand_in_request_clear) struct stand_in_request seen = {0};
    struct pair *pair = *state;

    stand_in_redirect(pair->server, "/elsewhere");
    seen = get_seen(pair, 307);
    assert_string_equal(seen.path, "/");
    assert_int_equal(seen.number, 1);
}

/* --- what is given up ------------------------------------------------------------------------ */

/* A listening socket that nobody answers on, as the client's server. */
static int listen_as_server(struct kube_config *config)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    config->server = xasprintf("http://127.0.0.1:%u", ntohs(address.sin_port));
    return fd;
}

/* Let the client work until something of its request has arrived; the server's end of it. */
static int wait_for_request(struct kube_client *client, int listener)
{
    char byte;
    int fd = -1;

    for (int round = 0; round < ANSWER_WAIT_MS / 10; round++) {
        kube_client_wait(client, 10);
        if (fd < 0)
            fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1)
            return fd;
    }
    fail_msg("no request came");
    return -1;
}

/* Read to the end. 0 or errno. */
static int drain(int fd)
{
    char bytes[4096];
    ssize_t got;

    do
        got = recv(fd, bytes, sizeof bytes, 0);
    while (got > 0);
    return got == 0 ? 0 : errno;
}

static void test_cancel__throws_away_what_the_kernel_has_not_sent_yet(void **state)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct kube_request request = {.api.path = "/x", .on_begin = on_begin, .on_end = on_end};
    struct error err = {0};
    int listener = listen_as_server(&config);
    struct kube_client *client = kube_client_new(&config, &err);
    struct kube_call *call = kube_client_send(client, &request, &err);
    int fd = wait_for_request(client, listener);

    (void)state;
    kube_client_cancel(client, call);
    /* An ordinary close would go on sending, and then end the connection politely. */
    assert_int_equal(drain(fd), ECONNRESET);
    kube_client_free(client);
    close(fd);
    close(listener);
}

int main(void)
{
#define PLAIN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define SECURE(test) cmocka_unit_test_setup_teardown(test, set_up_tls, tear_down)
    const struct CMUnitTest tests[] = {
        PLAIN(test_send__uses_the_method_and_content_type_it_is_given),
        PLAIN(test_send__sends_a_body_while_its_time_lasts),
        PLAIN(test_send__sends_no_body_whose_time_is_over),
        PLAIN(test_send__impersonates),
        PLAIN(test_send__sends_no_credentials_over_plain_http),
        SECURE(test_send__authenticates_with_user_name_and_password),
        SECURE(test_send__expects_the_name_it_is_told),
        SECURE(test_send__reads_the_token_again_after_a_401),
        SECURE(test_send__shows_a_new_client_certificate_on_a_new_connection),
        SECURE(test_set_log__is_told_of_renewals),
        SECURE(test_send__believes_a_new_authority_after_a_failure),
        SECURE(test_send__does_not_use_a_connection_that_an_old_authority_vouched_for),
        SECURE(test_send__waits_for_the_plugin_and_nothing_waits_for_it_meanwhile),
        SECURE(test_send__runs_the_plugin_again_after_a_401),
        SECURE(test_send__shows_the_certificate_that_the_plugin_hands_out),
        SECURE(test_send__was_not_sent_when_the_plugin_fails),
        SECURE(test_send__gives_up_in_time_when_the_plugin_takes_too_long),
        SECURE(test_free__ends_calls_that_wait_for_the_plugin),
        PLAIN(test_proxy__is_asked_to_connect),
        PLAIN(test_proxy__of_the_kubeconfig_wins_over_the_environment),
        PLAIN(test_proxy__of_the_environment_is_asked_otherwise),
        PLAIN(test_proxy__is_never_asked_for_loopback_addresses),
        PLAIN(test_proxy__of_socks_looks_the_name_up_itself),
        PLAIN(test_send__gives_up_unacknowledged_bytes_sooner_with_a_time_limit),
        PLAIN(test_send__does_not_follow_redirects),
        cmocka_unit_test(test_cancel__throws_away_what_the_kernel_has_not_sent_yet),
    };

    return cmocka_run_group_tests_name("kube_client", tests, NULL, NULL);
}
