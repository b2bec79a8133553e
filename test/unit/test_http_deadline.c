/* SPDX-License-Identifier: Apache-2.0 */
#include "support/raw_http.h"
#include "support/test.h"
#include "support/tls_peer.h"

#include "topofit/http.h"
#include "topofit/tls_server.h"

#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>

#define LIMIT_MS 300
#define DRIP_MS 20
#define CUT_AFTER_MS 5000 /* far above the limit and what a loaded machine adds */
#define LARGE (16u << 20)

static _Atomic(struct http_call *) pending;

static void hello(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "text/plain", "hello", 5);
}

static void large(void *ctx, const struct http_request *request)
{
    AUTO_FREE char *body = xcalloc(1, LARGE);

    (void)ctx;
    http_answer(request->call, 200, "text/plain", body, LARGE);
}

static void later(void *ctx, const struct http_request *request)
{
    (void)ctx;
    atomic_store(&pending, request->call);
}

static const struct http_route routes[] = {
    {.method = "GET", .path = "/hello", .handle = hello},
    {.method = "POST", .path = "/hello", .handle = hello},
    {.method = "GET", .path = "/large", .handle = large},
    {.method = "GET", .path = "/later", .handle = later},
};

static int start(void **state)
{
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .threads = 2,
                                   .connections_max = 64,
                                   .body_max_bytes = 1u << 20,
                                   .request_timeout_ms = LIMIT_MS,
                                   .idle_timeout_ms = 60000};
    struct error err = {0};

    *state = http_start(&options, &err);
    return *state == NULL ? -1 : 0;
}

static int stop(void **state)
{
    http_stop(*state);
    return 0;
}

static long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * Send `start` at once, then `drip` again and again, slowly but without a pause.
 * return  after how many ms the server cut the connection.
 */
static long drip_until_cut(struct raw_client *client, const char *start_bytes, const char *drip)
{
    long begin = now_ms();

    raw_send_text(client, start_bytes);
    while (now_ms() - begin < CUT_AFTER_MS) {
        if (raw_is_readable_within(client, DRIP_MS))
            return now_ms() - begin;
        raw_try_send(client, drip, strlen(drip));
    }
    fail_msg("not cut within %d ms", CUT_AFTER_MS);
    return 0;
}

static void test_http__cuts_a_request_that_drips_longer_than_the_limit(void **state)
{
    static const struct {
        const char *start, *drip;
    } cases[] = {
        {"G", "E"},                                                              /* request line */
        {"GET /hello HTTP/1.1\r\nHost: x\r\n", "x: y\r\n"},                      /* header */
        {"POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n", "b"}, /* body */
        {"POST /hello HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
         "1\r\nx\r\n"}, /* chunks */
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct raw_client client = raw_connect(http_port(*state));
        long after_ms = drip_until_cut(&client, cases[i].start, cases[i].drip);

        assert_true(after_ms >= LIMIT_MS);
        assert_true(raw_ends_within(&client, CUT_AFTER_MS));
        raw_close(&client);
    }
}

static void test_http__cuts_a_second_request_that_drips_on_a_kept_connection(void **state)
{
    struct raw_client client = raw_connect(http_port(*state));
    struct raw_answer answer = raw_ask(&client, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200);

    raw_answer_clear(&answer);
    assert_true(drip_until_cut(&client, "G", "E") >= LIMIT_MS);
    raw_close(&client);
}

static void test_http__leaves_idle_connections_alone(void **state)
{
    struct raw_client fresh = raw_connect(http_port(*state));
    struct raw_client used = raw_connect(http_port(*state));
    struct raw_answer answer = raw_ask(&used, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200);

    raw_answer_clear(&answer);
    assert_false(raw_is_readable_within(&fresh, 3 * LIMIT_MS)); /* no first_request_timeout_ms */
    answer = raw_ask(&used, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200);
    raw_answer_clear(&answer);
    answer = raw_ask(&fresh, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200);
    raw_answer_clear(&answer);
    raw_close(&fresh);
    raw_close(&used);
}

static void test_http__does_not_count_the_time_of_the_handler(void **state)
{
    struct raw_client client = raw_connect(http_port(*state));
    struct raw_answer answer;

    raw_send_text(&client, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_false(raw_is_readable_within(&client, 3 * LIMIT_MS));
    http_answer(atomic_load(&pending), 200, "text/plain", "late", 4);
    answer = raw_receive(&client, true);
    assert_string_equal(answer.body, "late");
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_http__cuts_a_client_that_does_not_take_its_answer(void **state)
{
    struct raw_client client = raw_connect(http_port(*state));
    long begin = now_ms();
    size_t got = 0;

    raw_send_text(&client, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    while (now_ms() - begin < 4 * LIMIT_MS) {
        struct raw_client other = raw_connect(http_port(*state));

        /* Passing the time without a sleep: this connection stays silent. */
        raw_is_readable_within(&other, DRIP_MS);
        raw_close(&other);
    }
    for (ssize_t part = 1; part > 0; got += (size_t)part) {
        static char bytes[65536];

        part = recv(client.fd, bytes, sizeof bytes, 0);
        if (part < 0)
            break;
    }
    assert_true(got < LARGE);
    raw_close(&client);
}

static void test_http__ends_a_connection_whose_client_sends_no_more(void **state)
{
    for (unsigned i = 0; i < 20; i++) {
        struct raw_client client = raw_connect(http_port(*state));
        struct raw_answer answer;

        raw_send_text(&client, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        shutdown(client.fd, SHUT_WR);
        answer = raw_receive(&client, true);
        assert_int_equal(answer.status, 200);
        raw_answer_clear(&answer);
        assert_true(raw_ends_within(&client, CUT_AFTER_MS));
        raw_close(&client);
    }
}

static void test_http__cuts_a_connection_that_never_asks_anything_if_told_so(void **state)
{
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .threads = 1,
                                   .connections_max = 64,
                                   .body_max_bytes = 1024,
                                   .request_timeout_ms = LIMIT_MS,
                                   .first_request_timeout_ms = LIMIT_MS,
                                   .idle_timeout_ms = 60000};
    struct error err = {0};
    struct http_server *server = http_start(&options, &err);
    struct raw_client used = raw_connect(http_port(server));
    struct raw_answer answer = raw_ask(&used, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200);
    struct raw_client silent = raw_connect(http_port(server));

    (void)state;
    raw_answer_clear(&answer);
    assert_true(raw_is_readable_within(&silent, CUT_AFTER_MS));
    answer = raw_ask(&used, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200);
    raw_answer_clear(&answer);
    raw_close(&silent);
    raw_close(&used);
    http_stop(server);
}

static void test_http__takes_the_place_of_a_silent_client_for_one_that_asks(void **state)
{
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .threads = 2,
                                   .connections_max = 5,
                                   .body_max_bytes = 1024,
                                   .request_timeout_ms = LIMIT_MS,
                                   .first_request_timeout_ms = 60000,
                                   .idle_timeout_ms = 60000};
    struct error err = {0};
    struct http_server *server = http_start(&options, &err);
    struct raw_client used = raw_connect(http_port(server)), silent[6], late;
    struct raw_answer answer = raw_ask(&used, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200);

    (void)state;
    raw_answer_clear(&answer);
    for (size_t i = 0; i < ARRAY_LEN(silent); i++)
        silent[i] = raw_connect(http_port(server));
    late = raw_connect(http_port(server));
    answer = raw_ask(&late, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200);
    raw_answer_clear(&answer);
    answer = raw_ask(&used, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 200);
    raw_answer_clear(&answer);
    for (size_t i = 0; i < ARRAY_LEN(silent); i++)
        raw_close(&silent[i]);
    raw_close(&used);
    raw_close(&late);
    http_stop(server);
}

static void test_http_stop__does_not_wait_long_for_a_client_that_takes_no_answer(void **state)
{
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .threads = 2,
                                   .connections_max = 8,
                                   .body_max_bytes = 1024,
                                   .request_timeout_ms = 600000,
                                   .idle_timeout_ms = 60000};
    struct error err = {0};
    struct http_server *server = http_start(&options, &err);
    struct raw_client client = raw_connect(http_port(server));
    int small = 4096;
    long begin;

    (void)state;
    setsockopt(client.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    raw_send_text(&client, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(raw_is_readable_within(&client, RAW_WAIT_MS));
    begin = now_ms();
    http_stop(server);
    assert_true(now_ms() - begin < CUT_AFTER_MS);
    raw_close(&client);
}

/* --- with TLS -------------------------------------------------------------------------------- */

struct encrypted {
    char *directory;
    struct tls_server *tls;
    struct http_server *http;
};

static struct encrypted start_encrypted(uint64_t first_request_timeout_ms)
{
    AUTO(cert_clear) struct made_cert made = make_cert((struct cert_wish){.serial = 1});
    struct encrypted server = {.directory = scratch_new()};
    AUTO_FREE char *cert_path = xasprintf("%s/tls.crt", server.directory);
    AUTO_FREE char *key_path = xasprintf("%s/tls.key", server.directory);
    const struct tls_options files = {
        .cert_file = cert_path, .key_file = key_path, .client_ca_file = ""};
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .threads = 2,
                                   .connections_max = 64,
                                   .body_max_bytes = 1u << 20,
                                   .request_timeout_ms = LIMIT_MS,
                                   .first_request_timeout_ms = first_request_timeout_ms,
                                   .idle_timeout_ms = 60000};
    struct error err = {0};

    put_file(server.directory, "tls.crt", made.cert_pem);
    put_file(server.directory, "tls.key", made.key_pem);
    options.tls = server.tls = tls_server_new(&files, &err);
    assert_non_null(server.tls);
    server.http = http_start(&options, &err);
    assert_non_null(server.http);
    return server;
}

static void stop_encrypted(struct encrypted *server)
{
    http_stop(server->http);
    tls_server_free(server->tls);
    scratch_clear(&server->directory);
}

#define PLACES 8
#define HELLO "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

/*
 * Eight places, so many of them for one address. All are taken by silent clients from 127.0.0.host,
 * in all or up to their share; then somebody on 127.0.0.1 asks.
 */
static void ask_beside_silent_clients(unsigned share, unsigned host)
{
    AUTO(stop_encrypted) struct encrypted server = start_encrypted(0);
    const struct http_options options = {.listen = "127.0.0.1:0",
                                         .tls = server.tls,
                                         .routes = routes,
                                         .route_count = ARRAY_LEN(routes),
                                         .threads = 1,
                                         .connections_max = PLACES,
                                         .client_connections_max = share,
                                         .body_max_bytes = 1u << 20,
                                         .request_timeout_ms = 60000,
                                         .handshake_timeout_ms = 60000,
                                         .idle_timeout_ms = 60000};
    struct raw_client silent[PLACES];
    struct error err = {0};
    struct http_server *small = http_start(&options, &err);
    long begin = now_ms();

    assert_non_null(small);
    for (unsigned i = 0; i < PLACES; i++) {
        silent[i] = raw_connect_from(host, http_port(small));
        raw_try_send(&silent[i], "\x16\x03\x01", i % 2 * 3); /* or with a beginning */
    }
    assert_int_equal(tls_call((struct tls_wish){.port = http_port(small)}, HELLO), 200);
    assert_true(now_ms() - begin < CUT_AFTER_MS);
    for (unsigned i = 0; i < PLACES; i++)
        raw_close(&silent[i]);
    http_stop(small);
}

static void test_http__silent_clients_leave_the_places_of_other_addresses(void **state)
{
    (void)state;
    ask_beside_silent_clients(PLACES / 2, 2);
}

static void test_http__the_oldest_silent_client_yields_to_another_of_its_address(void **state)
{
    (void)state;
    ask_beside_silent_clients(PLACES / 2, 1);
}

static void test_http__the_oldest_silent_client_yields_when_all_places_are_taken(void **state)
{
    (void)state;
    ask_beside_silent_clients(0, 2);
}

static void test_http__cuts_a_tls_handshake_that_drips_longer_than_the_limit(void **state)
{
    AUTO(stop_encrypted) struct encrypted server = start_encrypted(0);
    struct raw_client client = raw_connect(http_port(server.http));

    (void)state;
    /* The beginning of a record with 16,129 bytes of a ClientHello. */
    assert_true(drip_until_cut(&client, "\x16\x03\x01\x3f\x01\x01", "\x01") >= LIMIT_MS);
    assert_true(raw_ends_within(&client, CUT_AFTER_MS));
    raw_close(&client);
}

static void test_http__cuts_a_client_that_does_not_begin_its_tls_handshake(void **state)
{
    AUTO(stop_encrypted) struct encrypted server = start_encrypted(0);
    struct raw_client client = raw_connect(http_port(server.http));

    (void)state;
    assert_false(raw_is_readable_within(&client, LIMIT_MS / 2));
    assert_true(raw_ends_within(&client, CUT_AFTER_MS));
    raw_close(&client);
}

static void test_http__cuts_a_request_that_drips_through_tls(void **state)
{
    AUTO(stop_encrypted) struct encrypted server = start_encrypted(0);
    struct tls_client client = tls_connect((struct tls_wish){.port = http_port(server.http)});
    struct raw_client seen = {.fd = client.fd};
    long begin = now_ms();
    bool is_cut = false;

    (void)state;
    assert_true(client.is_greeted);
    while (!is_cut && now_ms() - begin < CUT_AFTER_MS) {
        char byte;

        gnutls_record_send(client.session, "G", 1);
        is_cut = raw_is_readable_within(&seen, DRIP_MS) && recv(client.fd, &byte, 1, MSG_PEEK) <= 0;
    }
    assert_true(is_cut);
    assert_true(now_ms() - begin >= LIMIT_MS);
    tls_close(&client);
}

static void test_http__leaves_idle_connections_alone_after_a_tls_handshake(void **state)
{
    AUTO(stop_encrypted) struct encrypted server = start_encrypted(0);
    struct tls_client client = tls_connect((struct tls_wish){.port = http_port(server.http)});
    struct raw_client seen = {.fd = client.fd};

    (void)state;
    assert_true(client.is_greeted);
    for (int i = 0; i < 2; i++) {
        assert_false(raw_is_readable_within(&seen, 3 * LIMIT_MS));
        assert_int_equal(tls_ask(&client, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    }
    tls_close(&client);
}

static void test_http__counts_a_tls_handshake_as_no_request(void **state)
{
    AUTO(stop_encrypted) struct encrypted server = start_encrypted(LIMIT_MS);
    struct tls_client client = tls_connect((struct tls_wish){.port = http_port(server.http)});
    struct raw_client seen = {.fd = client.fd};

    (void)state;
    assert_true(client.is_greeted);
    assert_true(raw_ends_within(&seen, CUT_AFTER_MS));
    tls_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http__silent_clients_leave_the_places_of_other_addresses),
        cmocka_unit_test(test_http__the_oldest_silent_client_yields_to_another_of_its_address),
        cmocka_unit_test(test_http__the_oldest_silent_client_yields_when_all_places_are_taken),
        cmocka_unit_test(test_http__cuts_a_request_that_drips_longer_than_the_limit),
        cmocka_unit_test(test_http__cuts_a_second_request_that_drips_on_a_kept_connection),
        cmocka_unit_test(test_http__leaves_idle_connections_alone),
        cmocka_unit_test(test_http__cuts_a_connection_that_never_asks_anything_if_told_so),
        cmocka_unit_test(test_http__takes_the_place_of_a_silent_client_for_one_that_asks),
        cmocka_unit_test(test_http__ends_a_connection_whose_client_sends_no_more),
        cmocka_unit_test(test_http__does_not_count_the_time_of_the_handler),
        cmocka_unit_test(test_http__cuts_a_client_that_does_not_take_its_answer),
        cmocka_unit_test(test_http_stop__does_not_wait_long_for_a_client_that_takes_no_answer),
        cmocka_unit_test(test_http__cuts_a_tls_handshake_that_drips_longer_than_the_limit),
        cmocka_unit_test(test_http__cuts_a_client_that_does_not_begin_its_tls_handshake),
        cmocka_unit_test(test_http__cuts_a_request_that_drips_through_tls),
        cmocka_unit_test(test_http__leaves_idle_connections_alone_after_a_tls_handshake),
        cmocka_unit_test(test_http__counts_a_tls_handshake_as_no_request),
    };

    return cmocka_run_group_tests_name("http_deadline", tests, start, stop);
}
