/* SPDX-License-Identifier: Apache-2.0 */
#include "support/raw_http.h"
#include "support/test.h"
#include "support/tls_peer.h"

#include "topofit/daemon.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define LIVEZ "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
#define FILTER "POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
#define REVIEW(path) \
    "POST " path " HTTP/1.1\r\nHost: x\r\nContent-Length: 83\r\n\r\n" \
    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/" \
    "v1\",\"request\":{\"uid\":\"u\"}}"
#define PLACES 16 /* the least extender.connectionsMax */

/* A daemon in embedded mode, with one bare node. */
struct fixture {
    struct made_cert authority, server, client;
    char *directory, *dump;
    struct config config;
    struct log *log;
    int silent;
    struct daemon *daemon;
};

static void set(struct fixture *fixture, const char *key, const char *value)
{
    struct error err = {0};

    assert_ok(config_set(&fixture->config, key, value, &err), &err);
}

static void set_file(struct fixture *fixture, const char *key, const char *name)
{
    AUTO_FREE char *path = xasprintf("%s/%s", fixture->directory, name);

    set(fixture, key, path);
}

static int begin(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof *fixture);
    struct log_options options = log_options_default();

    fixture->authority = make_cert((struct cert_wish){.serial = 1});
    fixture->server = make_cert((struct cert_wish){.issuer = &fixture->authority, .serial = 10});
    fixture->client = make_cert((struct cert_wish){.issuer = &fixture->authority, .serial = 20});
    fixture->directory = scratch_new();
    put_file(fixture->directory, "dump.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n");
    mount_secret(fixture->directory, fixture->server.cert_pem, fixture->server.key_pem,
                 fixture->authority.cert_pem);
    fixture->dump = xasprintf("%s/dump.yaml", fixture->directory);
    fixture->silent = open("/dev/null", O_WRONLY | O_CLOEXEC);
    options.fd = fixture->silent;
    fixture->log = log_new(&options);
    config_defaults(&fixture->config);
    set(fixture, "extender.listen", "127.0.0.1:0");
    set(fixture, "admin.listen", "127.0.0.1:0");
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    daemon_stop(fixture->daemon);
    config_clear(&fixture->config);
    log_free(fixture->log);
    close(fixture->silent);
    free(fixture->dump);
    scratch_clear(&fixture->directory);
    cert_clear(&fixture->authority);
    cert_clear(&fixture->server);
    cert_clear(&fixture->client);
    free(fixture);
    return 0;
}

static void start(struct fixture *fixture)
{
    struct error err = {0};

    fixture->daemon = daemon_start(&fixture->config, fixture->dump, fixture->log, &err);
    if (fixture->daemon == NULL)
        fail_msg("%s", err.text);
}

static void encrypt(struct fixture *fixture)
{
    set_file(fixture, "extender.tlsCertFile", "tls.crt");
    set_file(fixture, "extender.tlsKeyFile", "tls.key");
    set_file(fixture, "extender.clientCaFile", "ca.crt");
    set_file(fixture, "admin.tlsCertFile", "tls.crt");
    set_file(fixture, "admin.tlsKeyFile", "tls.key");
}

static struct tls_wish to(const struct fixture *fixture, unsigned port, bool shows_own)
{
    return (struct tls_wish){
        .port = port, .authority = &fixture->authority, .own = shows_own ? &fixture->client : NULL};
}

/* --- who may ask ----------------------------------------------------------------------------- */

static void test_daemon_start__refuses_an_extender_port_that_others_reach_unasked(void **state)
{
    struct fixture *fixture = *state;
    struct error err = {0};

    set(fixture, "extender.listen", "0.0.0.0:0");
    assert_null(daemon_start(&fixture->config, fixture->dump, fixture->log, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_contains(err.text, "extender.listen");
    assert_contains(err.text, "extender.allowUnauthenticated");
}

static void test_daemon_start__opens_that_port_when_clients_must_show_a_certificate(void **state)
{
    struct fixture *fixture = *state;
    unsigned port;

    set(fixture, "extender.listen", "0.0.0.0:0");
    encrypt(fixture);
    start(fixture);
    port = daemon_extender_port(fixture->daemon);
    assert_int_equal(tls_call(to(fixture, port, true), FILTER), 200);
    assert_int_equal(tls_call(to(fixture, port, false), FILTER), 0);
}

static void test_daemon_start__opens_that_port_when_told_that_others_guard_it(void **state)
{
    struct fixture *fixture = *state;
    struct raw_client client;
    struct raw_answer answer;

    set(fixture, "extender.listen", "0.0.0.0:0");
    set(fixture, "extender.allowUnauthenticated", "true");
    start(fixture);
    client = raw_connect(daemon_extender_port(fixture->daemon));
    answer = raw_ask(&client, FILTER, 200);
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_daemon_start__names_the_key_and_the_file_it_cannot_use(void **state)
{
    static const char *const groups[] = {"extender", "admin"};
    struct fixture *fixture = *state;

    encrypt(fixture);
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        AUTO_FREE char *key = xasprintf("%s.tlsCertFile", groups[i]);
        struct error err = {0};

        set(fixture, key, "/nowhere/tls.crt");
        assert_null(daemon_start(&fixture->config, fixture->dump, fixture->log, &err));
        assert_contains(err.text, key);
        assert_contains(err.text, "/nowhere/tls.crt");
        set_file(fixture, key, "tls.crt");
    }
}

/* --- certificates ---------------------------------------------------------------------------- */

static void
test_daemon__encrypts_the_admin_port_and_asks_nobody_there_for_a_certificate(void **state)
{
    struct fixture *fixture = *state;
    unsigned port;

    encrypt(fixture);
    start(fixture);
    port = daemon_admin_port(fixture->daemon);
    assert_int_equal(tls_call(to(fixture, port, false), LIVEZ), 200);
}

static unsigned serial_at(const struct fixture *fixture, unsigned port)
{
    struct tls_client client = tls_connect(to(fixture, port, true));
    unsigned serial = tls_serial(&client);

    tls_close(&client);
    return serial;
}

static void test_daemon_reload_tls__reads_the_certificates_of_both_ports(void **state)
{
    struct fixture *fixture = *state;
    AUTO(cert_clear)
    struct made_cert next =
        make_cert((struct cert_wish){.issuer = &fixture->authority, .serial = 11});

    encrypt(fixture);
    start(fixture);
    assert_int_equal(serial_at(fixture, daemon_extender_port(fixture->daemon)), 10);
    assert_int_equal(serial_at(fixture, daemon_admin_port(fixture->daemon)), 10);
    mount_secret(fixture->directory, next.cert_pem, next.key_pem, fixture->authority.cert_pem);
    daemon_reload_tls(fixture->daemon);
    assert_int_equal(serial_at(fixture, daemon_extender_port(fixture->daemon)), 11);
    assert_int_equal(serial_at(fixture, daemon_admin_port(fixture->daemon)), 11);
}

/* The answer to GET /metrics on a port without TLS. */
static char *metrics_of(const struct fixture *fixture)
{
    struct raw_client client = raw_connect(daemon_admin_port(fixture->daemon));
    struct raw_answer answer = raw_ask(&client, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 200);
    char *body = xstrdup(answer.body);

    raw_answer_clear(&answer);
    raw_close(&client);
    return body;
}

static void test_daemon__tells_when_a_certificate_expires(void **state)
{
    struct fixture *fixture = *state;
    AUTO_FREE char *body = NULL;
    AUTO_FREE char *line =
        xasprintf("\ntopofit_tls_certificate_expiry_timestamp_seconds{listener=\"extender\"} %ld\n",
                  (long)gnutls_x509_crt_get_expiration_time(fixture->server.certificate));

    encrypt(fixture);
    set(fixture, "admin.tlsCertFile", "");
    set(fixture, "admin.tlsKeyFile", "");
    start(fixture);
    body = metrics_of(fixture);
    assert_contains(body, line);
    assert_null(strstr(body, "seconds{listener=\"admin\"}"));
}

/* --- the webhook ----------------------------------------------------------------------------- */

static void open_webhook(struct fixture *fixture)
{
    set(fixture, "webhook.listen", "127.0.0.1:0");
    set_file(fixture, "webhook.tlsCertFile", "tls.crt");
    set_file(fixture, "webhook.tlsKeyFile", "tls.key");
}

static void test_daemon__answers_reviews_and_nothing_else_on_the_webhooks_port(void **state)
{
    struct fixture *fixture = *state;
    unsigned port;

    open_webhook(fixture);
    start(fixture);
    port = daemon_webhook_port(fixture->daemon);
    assert_int_equal(tls_call(to(fixture, port, false), REVIEW("/webhook")), 200);
    assert_int_equal(tls_call(to(fixture, port, false), REVIEW("/any/prefix/webhook")), 200);
    assert_int_equal(tls_call(to(fixture, port, false), FILTER), 404);
    assert_int_equal(tls_call(to(fixture, port, false), LIVEZ), 404);
}

static void test_daemon__answers_reviews_on_the_extender_port_too(void **state)
{
    struct fixture *fixture = *state;
    struct raw_client client;
    struct raw_answer answer;

    start(fixture);
    assert_int_equal(daemon_webhook_port(fixture->daemon), 0);
    client = raw_connect(daemon_extender_port(fixture->daemon));
    answer = raw_ask(&client, REVIEW("/webhook"), 200);
    assert_contains(answer.body, "\"uid\":\"u\",\"allowed\":true");
    raw_answer_clear(&answer);
    answer =
        raw_ask(&client, "POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", 400);
    assert_contains(answer.body, "AdmissionReview is expected");
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_daemon__answers_no_reviews_when_that_is_switched_off(void **state)
{
    struct fixture *fixture = *state;
    struct raw_client client;
    struct raw_answer answer;

    set(fixture, "webhook.enabled", "false");
    start(fixture);
    client = raw_connect(daemon_extender_port(fixture->daemon));
    answer = raw_ask(&client, REVIEW("/webhook"), 404);
    assert_contains(answer.body, "webhook.enabled");
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_daemon_start__knows_the_classes_that_the_guard_names(void **state)
{
    struct fixture *fixture = *state;
    struct error err = {0};

    set(fixture, "webhook.guardVisibleDevices", "nvidia, nvidea");
    assert_null(daemon_start(&fixture->config, fixture->dump, fixture->log, &err));
    assert_contains(err.text, "webhook.guardVisibleDevices: there is no class nvidea");
}

/* --- a full extender port -------------------------------------------------------------------- */

static void test_daemon__answers_on_the_admin_port_while_the_extender_port_is_full(void **state)
{
    struct fixture *fixture = *state;
    struct raw_client dripping[PLACES + 4], late;

    set(fixture, "extender.connectionsMax", "16");
    start(fixture);
    for (size_t i = 0; i < ARRAY_LEN(dripping); i++) {
        dripping[i] = raw_connect(daemon_extender_port(fixture->daemon));
        raw_send_text(&dripping[i], "P");
    }
    late = raw_connect(daemon_extender_port(fixture->daemon));
    raw_send_text(&late, FILTER);
    assert_false(raw_is_readable_within(&late, 400));
    for (int round = 0; round < 5; round++) {
        struct raw_client admin = raw_connect(daemon_admin_port(fixture->daemon));
        struct raw_answer answer = raw_ask(&admin, LIVEZ, 200);

        raw_answer_clear(&answer);
        raw_close(&admin);
        for (size_t i = 0; i < ARRAY_LEN(dripping); i++)
            raw_try_send(&dripping[i], "O", 1);
    }
    assert_false(raw_is_readable_within(&late, 10));
    for (size_t i = 0; i < ARRAY_LEN(dripping); i++)
        raw_close(&dripping[i]);
    raw_close(&late);
}

static void test_daemon__gives_one_address_its_share_of_the_extender_port(void **state)
{
    struct fixture *fixture = *state;
    struct raw_client clients[3];

    set(fixture, "extender.clientConnectionsMax", "2");
    start(fixture);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        clients[i] = raw_connect(daemon_extender_port(fixture->daemon));
    assert_true(raw_ends_within(&clients[2], RAW_WAIT_MS));
    assert_false(raw_is_readable_within(&clients[0], 10));
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        raw_close(&clients[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_daemon_start__refuses_an_extender_port_that_others_reach_unasked),
        TEST(test_daemon_start__opens_that_port_when_clients_must_show_a_certificate),
        TEST(test_daemon_start__opens_that_port_when_told_that_others_guard_it),
        TEST(test_daemon_start__names_the_key_and_the_file_it_cannot_use),
        TEST(test_daemon__encrypts_the_admin_port_and_asks_nobody_there_for_a_certificate),
        TEST(test_daemon_reload_tls__reads_the_certificates_of_both_ports),
        TEST(test_daemon__tells_when_a_certificate_expires),
        TEST(test_daemon__answers_reviews_and_nothing_else_on_the_webhooks_port),
        TEST(test_daemon__answers_reviews_on_the_extender_port_too),
        TEST(test_daemon__answers_no_reviews_when_that_is_switched_off),
        TEST(test_daemon_start__knows_the_classes_that_the_guard_names),
        TEST(test_daemon__gives_one_address_its_share_of_the_extender_port),
        TEST(test_daemon__answers_on_the_admin_port_while_the_extender_port_is_full),
    };

    return cmocka_run_group_tests_name("daemon_tls", tests, NULL, NULL);
}
