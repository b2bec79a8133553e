/* SPDX-License-Identifier: Apache-2.0 */
#include "support/raw_http.h"
#include "support/test.h"
#include "support/tls_peer.h"

#include "topofit/http.h"
#include "topofit/tls_server.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GET "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
#define LARGE (4u << 20)
#define TLS_1_2 "NORMAL:-VERS-ALL:+VERS-TLS1.2"
#define TLS_1_3 "NORMAL:-VERS-ALL:+VERS-TLS1.3"
#define TLS_1_1 "NORMAL:-VERS-ALL:+VERS-TLS1.1:%COMPAT"

/* Certificates for all tests, and the files, the log and the listener of one. */
struct fixture {
    struct made_cert authority, other_authority;
    struct made_cert server, second, expired, client;
    char *directory, *cert_path, *key_path, *ca_path;
    struct tls_server *tls;
    struct http_server *http;
    pthread_mutex_t lock; /* the two below */
    unsigned lines[LOG_LEVEL_ERROR + 1];
    char last[512];
};

/* --- the listener ---------------------------------------------------------------------------- */

static void hello(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "text/plain", "hello", 5);
}

static void echo(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "text/plain", request->body, request->body_length);
}

static void *answer_it(void *argument)
{
    http_answer(argument, 200, "text/plain", "late", 4);
    return NULL;
}

static void later(void *ctx, const struct http_request *request)
{
    pthread_t thread;

    (void)ctx;
    assert_int_equal(pthread_create(&thread, NULL, answer_it, request->call), 0);
    pthread_detach(thread);
}

static const struct http_route routes[] = {
    {.method = "GET", .path = "/hello", .handle = hello},
    {.method = "POST", .path = "/echo", .handle = echo},
    {.method = "GET", .path = "/later", .handle = later},
};

static void listen_with_tls(struct fixture *fixture)
{
    const struct http_options options = {.listen = "127.0.0.1:0",
                                         .tls = fixture->tls,
                                         .routes = routes,
                                         .route_count = ARRAY_LEN(routes),
                                         .threads = 2,
                                         .connections_max = 64,
                                         .body_max_bytes = 16u << 20,
                                         .request_timeout_ms = 10000,
                                         .idle_timeout_ms = 60000};
    struct error err = {0};

    fixture->http = http_start(&options, &err);
    if (fixture->http == NULL)
        fail_msg("%s", err.text);
}

/* Called by the server's threads; a test reads it when their work is known to be done. */
static void count_line(void *ctx, enum log_level level, const char *event, const char *detail)
{
    struct fixture *fixture = ctx;

    pthread_mutex_lock(&fixture->lock);
    fixture->lines[level]++;
    snprintf(fixture->last, sizeof fixture->last, "%s: %s", event, detail);
    pthread_mutex_unlock(&fixture->lock);
}

static struct tls_server *try_open(struct fixture *fixture, bool asks_clients,
                                   uint64_t check_interval_ms, struct error *err)
{
    const struct tls_options options = {.cert_file = fixture->cert_path,
                                        .key_file = fixture->key_path,
                                        .client_ca_file = asks_clients ? fixture->ca_path : "",
                                        .check_interval_ms = check_interval_ms,
                                        .log = count_line,
                                        .log_ctx = fixture};

    return tls_server_new(&options, err);
}

/* Opens the files, which must be good. */
static void open_files(struct fixture *fixture, bool asks_clients, uint64_t check_interval_ms)
{
    struct error err = {0};

    fixture->tls = try_open(fixture, asks_clients, check_interval_ms, &err);
    if (fixture->tls == NULL)
        fail_msg("%s", err.text);
}

static void serve(struct fixture *fixture, bool asks_clients)
{
    open_files(fixture, asks_clients, 0);
    listen_with_tls(fixture);
}

static struct tls_wish to(const struct fixture *fixture)
{
    return (struct tls_wish){.port = http_port(fixture->http), .authority = &fixture->authority};
}

static unsigned call_as(const struct fixture *fixture, const struct made_cert *own)
{
    struct tls_wish wish = to(fixture);

    wish.own = own;
    return tls_call(wish, GET);
}

static unsigned serial_served(const struct fixture *fixture)
{
    struct tls_wish wish = to(fixture);
    struct tls_client client;
    unsigned serial;

    wish.own = &fixture->client; /* else some line of the log is yet to come */
    client = tls_connect(wish);
    serial = tls_serial(&client);

    tls_close(&client);
    return serial;
}

static void put_pair(const struct fixture *fixture, const struct made_cert *made)
{
    put_file(fixture->directory, "tls.crt", made->cert_pem);
    put_file(fixture->directory, "tls.key", made->key_pem);
}

/* --- life of a test -------------------------------------------------------------------------- */

static int make_certificates(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof *fixture);
    const struct made_cert *authority = &fixture->authority;

    pthread_mutex_init(&fixture->lock, NULL);
    fixture->authority = make_cert((struct cert_wish){.serial = 1});
    fixture->other_authority = make_cert((struct cert_wish){.serial = 2});
    fixture->server = make_cert(
        (struct cert_wish){.issuer = authority, .serial = 10, .purpose = GNUTLS_KP_TLS_WWW_SERVER});
    fixture->second = make_cert(
        (struct cert_wish){.issuer = authority, .serial = 11, .purpose = GNUTLS_KP_TLS_WWW_SERVER});
    fixture->expired = make_cert(
        (struct cert_wish){.issuer = authority, .serial = 12, .begin_s = -7200, .end_s = -3600});
    fixture->client = make_cert(
        (struct cert_wish){.issuer = authority, .serial = 20, .purpose = GNUTLS_KP_TLS_WWW_CLIENT});
    *state = fixture;
    return 0;
}

static int forget_certificates(void **state)
{
    struct fixture *fixture = *state;

    cert_clear(&fixture->authority);
    cert_clear(&fixture->other_authority);
    cert_clear(&fixture->server);
    cert_clear(&fixture->second);
    cert_clear(&fixture->expired);
    cert_clear(&fixture->client);
    free(fixture);
    return 0;
}

static int begin(void **state)
{
    struct fixture *fixture = *state;

    memset(fixture->lines, 0, sizeof fixture->lines);
    fixture->directory = scratch_new();
    fixture->cert_path = xasprintf("%s/tls.crt", fixture->directory);
    fixture->key_path = xasprintf("%s/tls.key", fixture->directory);
    fixture->ca_path = xasprintf("%s/ca.crt", fixture->directory);
    put_pair(fixture, &fixture->server);
    put_file(fixture->directory, "ca.crt", fixture->authority.cert_pem);
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    http_stop(fixture->http);
    tls_server_free(fixture->tls);
    fixture->http = NULL;
    fixture->tls = NULL;
    free(fixture->cert_path);
    free(fixture->key_path);
    free(fixture->ca_path);
    scratch_clear(&fixture->directory);
    return 0;
}

/* --- what is spoken -------------------------------------------------------------------------- */

static void test_tls_server__speaks_1_2_and_1_3_and_nothing_older(void **state)
{
    static const struct {
        const char *priorities;
        unsigned want_status;
    } cases[] = {{TLS_1_3, 200}, {TLS_1_2, 200}, {TLS_1_1, 0}};

    serve(*state, false);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tls_wish wish = to(*state);

        wish.priorities = cases[i].priorities;
        assert_int_equal(tls_call(wish, GET), cases[i].want_status);
    }
}

static void test_tls_server__never_agrees_on_http_2(void **state)
{
    static const struct {
        const char *offered, *want; /* "" = nothing is chosen */
    } cases[] = {{"h2 http/1.1", "http/1.1"}, {"h2", ""}, {"", ""}};

    serve(*state, false);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tls_wish wish = to(*state);
        struct tls_client client;
        gnutls_datum_t chosen = {0};
        AUTO_FREE char *text = NULL;

        wish.protocols = cases[i].offered;
        client = tls_connect(wish);
        gnutls_alpn_get_selected_protocol(client.session, &chosen);
        text = xstrndup(chosen.size > 0 ? (const char *)chosen.data : "", chosen.size);
        assert_string_equal(text, cases[i].want);
        assert_int_equal(tls_ask(&client, GET), 200);
        tls_close(&client);
    }
}

static void test_tls_server__does_not_answer_plain_requests(void **state)
{
    struct fixture *fixture = *state;
    struct raw_client client;

    serve(fixture, false);
    client = raw_connect(http_port(fixture->http));
    raw_send_text(&client, GET);
    assert_true(raw_ends_within(&client, RAW_WAIT_MS));
    raw_close(&client);
}

static void test_tls_server__carries_bodies_and_answers_that_come_late(void **state)
{
    AUTO_FREE char *body = xcalloc(1, LARGE + 1);
    AUTO_FREE char *request = NULL;
    struct tls_client client;

    serve(*state, false);
    memset(body, 'x', LARGE);
    request =
        xasprintf("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %u\r\n\r\n%s", LARGE, body);
    client = tls_connect(to(*state));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tls_ask(&client, request), 200);
        assert_int_equal(tls_ask(&client, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    }
    tls_close(&client);
}

/* --- clients --------------------------------------------------------------------------------- */

static void test_tls_server__asks_no_client_for_a_certificate_without_a_ca(void **state)
{
    serve(*state, false);
    assert_int_equal(call_as(*state, NULL), 200);
}

static void test_tls_server__lets_in_who_holds_a_client_certificate_of_the_ca(void **state)
{
    struct fixture *fixture = *state;
    const struct {
        struct cert_wish wish;
        unsigned want_status;
    } cases[] = {
        {{&fixture->authority, 30, GNUTLS_KP_TLS_WWW_CLIENT, 0, 0}, 200},
        {{&fixture->authority, 31, NULL, 0, 0}, 200},
        {{&fixture->authority, 32, GNUTLS_KP_TLS_WWW_SERVER, 0, 0}, 0},
        {{&fixture->authority, 33, GNUTLS_KP_TLS_WWW_CLIENT, -7200, -3600}, 0},
        {{&fixture->authority, 34, GNUTLS_KP_TLS_WWW_CLIENT, 3600, 7200}, 0},
        {{&fixture->other_authority, 35, GNUTLS_KP_TLS_WWW_CLIENT, 0, 0}, 0},
        {{NULL, 36, GNUTLS_KP_TLS_WWW_CLIENT, 0, 0}, 0},
    };
    const char *const versions[] = {TLS_1_2, TLS_1_3};

    serve(fixture, true);
    for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(versions); i++) {
        AUTO(cert_clear) struct made_cert own = make_cert(cases[i / 2].wish);
        struct tls_wish wish = to(fixture);

        wish.own = &own;
        wish.priorities = versions[i % 2];
        if (tls_call(wish, GET) != cases[i / 2].want_status)
            fail_msg("case %zu, %s", i / 2, wish.priorities);
    }
}

static void test_tls_server__turns_away_who_shows_no_certificate(void **state)
{
    const char *const versions[] = {TLS_1_2, TLS_1_3};

    serve(*state, true);
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct tls_wish wish = to(*state);

        wish.priorities = versions[i];
        assert_int_equal(tls_call(wish, GET), 0);
    }
}

static void test_tls_server__tells_both_sides_why_a_client_is_turned_away(void **state)
{
    struct fixture *fixture = *state;
    const struct {
        struct cert_wish wish; /* serial 0: no certificate */
        const char *priorities;
        gnutls_alert_description_t want_alert;
        const char *want_line;
    } cases[] = {
        {{0}, TLS_1_3, GNUTLS_A_CERTIFICATE_REQUIRED, "client turned away: No certificate"},
        {{0}, TLS_1_2, GNUTLS_A_HANDSHAKE_FAILURE, "client turned away: No certificate"},
        {{&fixture->other_authority, 50, NULL, 0, 0},
         TLS_1_3,
         GNUTLS_A_UNKNOWN_CA,
         "issuer is unknown"},
        {{&fixture->authority, 51, NULL, -7200, -3600},
         TLS_1_3,
         GNUTLS_A_CERTIFICATE_EXPIRED,
         "expired"},
        {{&fixture->authority, 52, GNUTLS_KP_TLS_WWW_SERVER, 0, 0},
         TLS_1_2,
         GNUTLS_A_BAD_CERTIFICATE,
         "purpose"},
    };

    serve(fixture, true);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool shows_one = cases[i].wish.serial != 0;
        AUTO(cert_clear) struct made_cert own = {0};
        struct tls_wish wish = to(fixture);
        struct tls_client client;

        if (shows_one)
            own = make_cert(cases[i].wish);
        wish.own = shows_one ? &own : NULL;
        wish.priorities = cases[i].priorities;
        client = tls_connect(wish);
        assert_int_equal(tls_farewell(&client), cases[i].want_alert);
        pthread_mutex_lock(&fixture->lock);
        assert_int_equal(fixture->lines[LOG_LEVEL_WARN], i + 1);
        assert_contains(fixture->last, cases[i].want_line);
        pthread_mutex_unlock(&fixture->lock);
        tls_close(&client);
    }
}

/* --- files that change ----------------------------------------------------------------------- */

static void test_tls_server__shows_the_new_certificate_to_who_connects_next(void **state)
{
    struct fixture *fixture = *state;
    struct tls_client open_one;

    serve(fixture, false);
    open_one = tls_connect(to(fixture));
    assert_int_equal(tls_serial(&open_one), 10);
    put_pair(fixture, &fixture->second);
    assert_int_equal(serial_served(fixture), 11);
    assert_int_equal(tls_ask(&open_one, GET), 200);
    tls_close(&open_one);
}

static void test_tls_server__reads_the_client_ca_again(void **state)
{
    struct fixture *fixture = *state;
    AUTO(cert_clear)
    struct made_cert other =
        make_cert((struct cert_wish){.issuer = &fixture->other_authority, .serial = 40});

    serve(fixture, true);
    assert_int_equal(call_as(fixture, &fixture->client), 200);
    assert_int_equal(call_as(fixture, &other), 0);
    put_file(fixture->directory, "ca.crt", fixture->other_authority.cert_pem);
    assert_int_equal(call_as(fixture, &other), 200);
    assert_int_equal(call_as(fixture, &fixture->client), 0);
}

static void test_tls_server__keeps_the_old_set_when_the_new_one_is_broken(void **state)
{
    struct fixture *fixture = *state;
    AUTO_FREE char *half_cert =
        xstrndup(fixture->second.cert_pem, strlen(fixture->second.cert_pem) / 2);
    AUTO_FREE char *half_key =
        xstrndup(fixture->second.key_pem, strlen(fixture->second.key_pem) / 2);
    const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"tls.key", fixture->second.key_pem, "is not the key of the first certificate in"},
        {"tls.crt", fixture->second.cert_pem, "is not the key of the first certificate in"},
        {"tls.crt", "", "tls.crt"},
        {"tls.crt", "no PEM", "tls.crt"},
        {"tls.crt", half_cert, "tls.crt"},
        {"tls.key", "", "tls.key"},
        {"tls.key", half_key, "tls.key"},
        {"ca.crt", "", "ca.crt"},
        {"ca.crt", half_cert, "ca.crt"},
        {"ca.crt", NULL, "ca.crt"},
    };

    serve(fixture, true);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        unsigned lines = fixture->lines[LOG_LEVEL_ERROR];

        if (cases[i].text != NULL)
            put_file(fixture->directory, cases[i].name, cases[i].text);
        else
            unlink(fixture->ca_path);
        for (int k = 0; k < 3; k++)
            assert_int_equal(call_as(fixture, &fixture->client), 200);
        assert_int_equal(fixture->lines[LOG_LEVEL_ERROR], lines + 1);
        assert_contains(fixture->last, "certificate refused, the old one stays in use");
        assert_contains(fixture->last, cases[i].want);
        assert_int_equal(serial_served(fixture), 10);
        put_pair(fixture, &fixture->server);
        put_file(fixture->directory, "ca.crt", fixture->authority.cert_pem);
        assert_int_equal(call_as(fixture, &fixture->client), 200);
    }
}

/*
 * The key's file is a pipe with the first bytes of the key: whoever has taken them has read the
 * certificate, and waits for the rest.
 */
#define FIRST_BYTES 10

struct renewal {
    struct fixture *fixture;
    int pipe;
};

static void put_in(const struct renewal *renewal, const char *text, size_t length)
{
    if (write(renewal->pipe, text, length) != (ssize_t)length)
        abort();
}

static void *renew_while_the_key_is_read(void *argument)
{
    struct renewal *renewal = argument;
    const char *key = renewal->fixture->second.key_pem;
    int unread = 1;

    while (unread > 0 && ioctl(renewal->pipe, FIONREAD, &unread) == 0)
        sched_yield();
    unlink(renewal->fixture->key_path);
    put_pair(renewal->fixture, &renewal->fixture->second);
    put_in(renewal, key + FIRST_BYTES, strlen(key) - FIRST_BYTES);
    close(renewal->pipe);
    return NULL;
}

static void test_tls_server__reads_once_more_what_is_renewed_while_it_reads(void **state)
{
    struct fixture *fixture = *state;
    struct renewal renewal = {.fixture = fixture};
    pthread_t thread;

    unlink(fixture->key_path);
    assert_int_equal(mkfifo(fixture->key_path, 0600), 0);
    renewal.pipe = open(fixture->key_path, O_RDWR | O_CLOEXEC);
    put_in(&renewal, fixture->second.key_pem, FIRST_BYTES);
    assert_int_equal(pthread_create(&thread, NULL, renew_while_the_key_is_read, &renewal), 0);
    open_files(fixture, false, 0);
    pthread_join(thread, NULL);
    assert_contains(fixture->last, "serial number 0b");
    assert_int_equal(fixture->lines[LOG_LEVEL_ERROR], 0);
}

static void test_tls_server_new__says_what_is_wrong_with_which_file(void **state)
{
    struct fixture *fixture = *state;
    const struct {
        const char *name, *text;
        enum error_code want;
    } cases[] = {
        {"tls.crt", NULL, ERR_NOT_FOUND},
        {"tls.key", NULL, ERR_NOT_FOUND},
        {"ca.crt", NULL, ERR_NOT_FOUND},
        {"tls.crt", "no PEM", ERR_INVALID},
        {"tls.key", "no PEM", ERR_INVALID},
        {"ca.crt", "no PEM", ERR_INVALID},
        {"tls.key", fixture->second.key_pem, ERR_INVALID},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *path = xasprintf("%s/%s", fixture->directory, cases[i].name);
        struct error err = {0};

        if (cases[i].text != NULL)
            put_file(fixture->directory, cases[i].name, cases[i].text);
        else
            unlink(path);
        assert_null(try_open(fixture, true, 0, &err));
        assert_int_equal(err.code, cases[i].want);
        assert_contains(err.text, path);
        put_pair(fixture, &fixture->server);
        put_file(fixture->directory, "ca.crt", fixture->authority.cert_pem);
    }
}

static void test_tls_server_new__takes_an_expired_certificate_and_says_so(void **state)
{
    struct fixture *fixture = *state;
    struct tls_wish wish;

    put_pair(fixture, &fixture->expired);
    serve(fixture, false);
    assert_int_equal(fixture->lines[LOG_LEVEL_WARN], 1);
    assert_contains(fixture->last, "EXPIRED");
    wish = to(fixture);
    wish.authority = NULL;
    assert_int_equal(tls_call(wish, GET), 200);
}

static void test_tls_server_expiry__is_that_of_the_first_to_expire_of_the_chain(void **state)
{
    struct fixture *fixture = *state;
    AUTO_FREE char *chain = xasprintf("%s%s", fixture->server.cert_pem, fixture->expired.cert_pem);
    int64_t expiry;

    open_files(fixture, false, 0);
    expiry = tls_server_expiry_unix_s(fixture->tls);
    assert_int_equal(expiry, gnutls_x509_crt_get_expiration_time(fixture->server.certificate));
    put_file(fixture->directory, "tls.crt", chain);
    tls_server_refresh(fixture->tls, 1);
    expiry = tls_server_expiry_unix_s(fixture->tls);
    assert_int_equal(expiry, gnutls_x509_crt_get_expiration_time(fixture->expired.certificate));
}

static void test_tls_server_refresh__looks_at_the_files_once_per_interval(void **state)
{
    struct fixture *fixture = *state;

    open_files(fixture, false, 2000);
    tls_server_refresh(fixture->tls, 10000);
    put_pair(fixture, &fixture->second);
    tls_server_refresh(fixture->tls, 11999);
    assert_int_equal(fixture->lines[LOG_LEVEL_INFO], 1);
    tls_server_refresh(fixture->tls, 12000);
    assert_int_equal(fixture->lines[LOG_LEVEL_INFO], 2);
    assert_contains(fixture->last, "serial number 0b");
}

static void test_tls_server_reload__does_not_wait_for_the_interval(void **state)
{
    struct fixture *fixture = *state;

    open_files(fixture, false, 3600000);
    tls_server_refresh(fixture->tls, 3600000);
    put_pair(fixture, &fixture->second);
    assert_true(tls_server_reload(fixture->tls));
    assert_contains(fixture->last, "serial number 0b");
    put_file(fixture->directory, "tls.key", "no PEM");
    assert_false(tls_server_reload(fixture->tls));
    assert_int_equal(fixture->lines[LOG_LEVEL_ERROR], 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_tls_server__speaks_1_2_and_1_3_and_nothing_older),
        TEST(test_tls_server__never_agrees_on_http_2),
        TEST(test_tls_server__does_not_answer_plain_requests),
        TEST(test_tls_server__carries_bodies_and_answers_that_come_late),
        TEST(test_tls_server__asks_no_client_for_a_certificate_without_a_ca),
        TEST(test_tls_server__lets_in_who_holds_a_client_certificate_of_the_ca),
        TEST(test_tls_server__turns_away_who_shows_no_certificate),
        TEST(test_tls_server__tells_both_sides_why_a_client_is_turned_away),
        TEST(test_tls_server__shows_the_new_certificate_to_who_connects_next),
        TEST(test_tls_server__reads_the_client_ca_again),
        TEST(test_tls_server__keeps_the_old_set_when_the_new_one_is_broken),
        TEST(test_tls_server__reads_once_more_what_is_renewed_while_it_reads),
        TEST(test_tls_server_new__says_what_is_wrong_with_which_file),
        TEST(test_tls_server_new__takes_an_expired_certificate_and_says_so),
        TEST(test_tls_server_expiry__is_that_of_the_first_to_expire_of_the_chain),
        TEST(test_tls_server_refresh__looks_at_the_files_once_per_interval),
        TEST(test_tls_server_reload__does_not_wait_for_the_interval),
    };

    return cmocka_run_group_tests_name("tls_server", tests, make_certificates, forget_certificates);
}
