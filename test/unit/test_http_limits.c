/* SPDX-License-Identifier: Apache-2.0 */
/* What a server bears: the length of headers, how many connections there are, how long they idle.
 */
#include "support/raw_http.h"
#include "support/test.h"

#include "topofit/http.h"

#include <malloc.h>
#include <stdlib.h>

#define GET "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
#define IDLE_MS 1000
#define SOON_MS 400 /* an answer on a loaded machine takes less */

static void hello(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "text/plain", "hello", 5);
}

static const struct http_route routes[] = {{.method = "GET", .path = "/hello", .handle = hello}};

static void stop_server(struct http_server **server)
{
    http_stop(*server);
}

static struct http_server *start_server(unsigned connections, unsigned of_one_client)
{
    const struct http_options options = {.listen = "127.0.0.1:0",
                                         .routes = routes,
                                         .route_count = ARRAY_LEN(routes),
                                         .threads = 1,
                                         .connections_max = connections,
                                         .client_connections_max = of_one_client,
                                         .body_max_bytes = 1000,
                                         .request_timeout_ms = 10000,
                                         .idle_timeout_ms = IDLE_MS};
    struct error err = {0};
    struct http_server *server = http_start(&options, &err);

    if (server == NULL)
        fail_msg("%s", err.text);
    return server;
}

static void ask(struct raw_client *client)
{
    struct raw_answer answer = raw_ask(client, GET, 200);

    raw_answer_clear(&answer);
}

static void test_http__refuses_a_header_that_does_not_fit(void **state)
{
    static const struct {
        size_t length;
        unsigned want_status;
    } cases[] = {{8 << 10, 200}, {64 << 10, 431}};
    AUTO(stop_server) struct http_server *server = start_server(8, 0);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *value = xcalloc(1, cases[i].length + 1);
        AUTO_FREE char *request = NULL;
        struct raw_client client = raw_connect(http_port(server));
        struct raw_answer answer;

        memset(value, 'x', cases[i].length);
        request = xasprintf("GET /hello HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\n\r\n", value);
        raw_try_send(&client, request, strlen(request));
        answer = raw_receive(&client, true);
        assert_int_equal(answer.status, cases[i].want_status);
        raw_answer_clear(&answer);
        if (cases[i].want_status != 200)
            assert_true(raw_ends_within(&client, RAW_WAIT_MS));
        raw_close(&client);
    }
}

/* `start`, `count` times `part`, `end`. Free it. */
static char *repeated(const char *start, const char *part, size_t count, const char *end)
{
    struct buf text = buf_with_max(1u << 20);

    buf_add_text(&text, start);
    for (size_t i = 0; i < count; i++)
        buf_add_text(&text, part);
    buf_add_text(&text, end);
    assert_false(text.overflowed);
    return buf_steal(&text);
}

/* What the library runs out of memory with; of some of these it says nothing to us. */
static const struct {
    const char *start, *part;
    size_t count;
    const char *end;
    unsigned want_status; /* 0: the connection may be closed without an answer */
} greedy[] = {
    {"GET /hello HTTP/1.1\r\nHost: x\r\nCookie: ", "a;", 1000, "\r\n\r\n", 0},
    {"GET /hello HTTP/1.1\r\nHost: x\r\nCookie: ", "a;", 6000, "\r\n\r\n", 0},
    {"GET /hello HTTP/1.1\r\nHost: x\r\nCookie: ", "a=b;", 3000, "\r\n\r\n", 0},
    {"GET /hello HTTP/1.1\r\nCookie: ", "a=b,", 1000, "\r\n\r\n", 0},
    {"GET /hello HTTP/1.0\r\nCookie: ", "a;", 1000, "\r\n\r\n", 0},
    {"GET /hello HTTP/1.0\r\nContent-Length: x\r\nCookie: ", "a;", 1000, "\r\n\r\n", 0},
    {"POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\nCookie: ", "a;", 1000, "\r\n\r\nabc",
     0},
    {"GET /hello HTTP/1.1\r\nHost: x\r\n", "A: b\r\n", 5000, "\r\n", 431},
    {"GET /hello HTTP/1.1\r\nHost: x\r\nX: ", "a b\r\n ", 3000, "\r\n\r\n", 0},
    {"GET /hello?", "a&", 9000, " HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET /hello?", "a=b&", 300, " HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET /hello?", "a&", 9000, " HTTP/1.0\r\n\r\n", 400},
    {"GET /", "a", 40000, " HTTP/1.1\r\nHost: x\r\n\r\n", 414},
    {"GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: ", "9", 40, "\r\n\r\n", 413},
    {"POST /hello HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n", 5000,
     "\r\n", 0},
};

static void test_http__answers_or_closes_at_once_when_a_header_takes_all_memory(void **state)
{
    AUTO(stop_server) struct http_server *server = start_server(8, 0);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(greedy); i++) {
        AUTO_FREE char *request =
            repeated(greedy[i].start, greedy[i].part, greedy[i].count, greedy[i].end);
        struct raw_client client = raw_connect(http_port(server));

        raw_try_send(&client, request, strlen(request));
        if (greedy[i].want_status != 0) {
            struct raw_answer answer = raw_receive(&client, true);

            assert_int_equal(answer.status, greedy[i].want_status);
            raw_answer_clear(&answer);
        }
        if (!raw_ends_within(&client, IDLE_MS * 3 / 4))
            fail_msg("case %zu: open", i);
        raw_close(&client);
    }
}

#define DROPS 300

/* Under AddressSanitizer the figures are 0, and it looks for leaks itself. */
static void test_http__keeps_nothing_of_requests_that_the_library_drops(void **state)
{
    AUTO(stop_server) struct http_server *server = start_server(8, 0);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(greedy); i++) {
        AUTO_FREE char *request =
            repeated(greedy[i].start, greedy[i].part, greedy[i].count, greedy[i].end);
        size_t before = 0;

        for (int round = 0; round < DROPS; round++) {
            struct raw_client client = raw_connect(http_port(server));

            raw_try_send(&client, request, strlen(request));
            assert_true(raw_ends_within(&client, RAW_WAIT_MS));
            raw_close(&client);
            if (round == DROPS / 10)
                before = mallinfo2().uordblks;
        }
        if (mallinfo2().uordblks > before + DROPS * sizeof(void *))
            fail_msg("case %zu: %zu bytes more", i, mallinfo2().uordblks - before);
    }
}

static void test_http__lets_one_client_more_than_the_limit_wait_for_a_place(void **state)
{
    AUTO(stop_server) struct http_server *server = start_server(2, 0);
    struct raw_client first = raw_connect(http_port(server));
    struct raw_client second = raw_connect(http_port(server));
    struct raw_client third;

    (void)state;
    ask(&first);
    ask(&second);
    third = raw_connect(http_port(server));
    raw_send_text(&third, GET);
    assert_false(raw_is_readable_within(&third, SOON_MS));
    raw_close(&first);
    assert_true(raw_is_readable_within(&third, RAW_WAIT_MS));
    raw_close(&second);
    raw_close(&third);
}

static void test_http__closes_connections_of_one_address_beyond_its_share(void **state)
{
    AUTO(stop_server) struct http_server *server = start_server(8, 2);
    struct raw_client first = raw_connect(http_port(server));
    struct raw_client second = raw_connect(http_port(server));
    struct raw_client third;

    (void)state;
    ask(&first);
    ask(&second);
    third = raw_connect(http_port(server));
    assert_true(raw_ends_within(&third, SOON_MS));
    ask(&second);
    raw_close(&first);
    raw_close(&second);
    raw_close(&third);
}

static void test_http__closes_a_kept_connection_after_the_idle_time_and_not_before(void **state)
{
    AUTO(stop_server) struct http_server *server = start_server(8, 0);
    struct raw_client client = raw_connect(http_port(server));

    (void)state;
    for (int i = 0; i < 3; i++) {
        ask(&client);
        assert_false(raw_is_readable_within(&client, IDLE_MS / 2));
    }
    assert_true(raw_ends_within(&client, RAW_WAIT_MS));
    raw_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http__refuses_a_header_that_does_not_fit),
        cmocka_unit_test(test_http__answers_or_closes_at_once_when_a_header_takes_all_memory),
        cmocka_unit_test(test_http__keeps_nothing_of_requests_that_the_library_drops),
        cmocka_unit_test(test_http__lets_one_client_more_than_the_limit_wait_for_a_place),
        cmocka_unit_test(test_http__closes_connections_of_one_address_beyond_its_share),
        cmocka_unit_test(test_http__closes_a_kept_connection_after_the_idle_time_and_not_before),
    };

    return cmocka_run_group_tests_name("http_limits", tests, NULL, NULL);
}
