/* SPDX-License-Identifier: Apache-2.0 */
#include "support/raw_http.h"
#include "support/test.h"

#include "topofit/http.h"

#include <stdlib.h>

#define BODY_MAX 1000
#define POST "POST /echo HTTP/1.1\r\nHost: x\r\n"

static void echo(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "text/plain", request->body, request->body_length);
}

static const struct http_route routes[] = {{.method = "POST", .path = "/echo", .handle = echo}};

static int start(void **state)
{
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .threads = 2,
                                   .connections_max = 64,
                                   .body_max_bytes = BODY_MAX,
                                   .request_timeout_ms = 10000,
                                   .idle_timeout_ms = 60000};
    struct error err = {0};

    *state = http_start(&options, &err);
    if (*state == NULL)
        print_error("%s\n", err.text);
    return *state == NULL ? -1 : 0;
}

static int stop(void **state)
{
    http_stop(*state);
    return 0;
}

static void test_http__answers_requests_of_certain_length_and_refuses_the_others(void **state)
{
    static const struct {
        const char *bytes;
        unsigned want_status;
    } cases[] = {
        {POST "Content-Length: 3\r\n\r\nabc", 200},
        {POST "Content-Length: 0\r\n\r\n", 200},
        {POST "\r\n", 200},
        {POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 200},
        {POST "transfer-encoding: Chunked\r\n\r\n0\r\n\r\n", 200},
        {POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400},
        {POST "Content-Length: 3\r\ncontent-length: 4\r\n\r\nabc", 400},
        {POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        {POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        {POST "Transfer-Encoding: gzip\r\n\r\nabc", 501},
        {POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
        {POST "Transfer-Encoding: identity\r\n\r\n", 501},
        {POST "Content-Length : 3\r\n\r\nabc", 400},
        {POST "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n", 400},
        {POST "Content-Length: -1\r\n\r\n", 400},
        {POST "Content-Length: 4x\r\n\r\nabcd", 400},
        {POST "Content-Length: 1, 1\r\n\r\na", 400},
        {POST "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
        {"POST /echo HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400}, /* no Host */
        {"GET /echo%00x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct raw_client client = raw_connect(http_port(*state));
        struct raw_answer answer;

        raw_send_text(&client, cases[i].bytes);
        answer = raw_receive(&client, true);
        if (answer.status != cases[i].want_status)
            fail_msg("%u for %s", answer.status, cases[i].bytes);
        raw_answer_clear(&answer);
        raw_close(&client);
    }
}

static void test_http__closes_the_connection_after_an_uncertain_request(void **state)
{
    struct raw_client client = raw_connect(http_port(*state));
    struct raw_answer answer =
        raw_ask(&client,
                POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                     "POST /echo HTTP/1.1\r\nHost: x\r\n\r\n",
                400);

    assert_contains(answer.header, "Connection: close");
    raw_answer_clear(&answer);
    assert_int_equal(client.in.length, 0);
    assert_true(raw_ends_within(&client, RAW_WAIT_MS));
    raw_close(&client);
}

static void test_http__refuses_a_long_body_by_its_stated_length_without_reading_it(void **state)
{
    struct raw_client client = raw_connect(http_port(*state));
    struct raw_answer answer = raw_ask(&client, POST "Content-Length: 1001\r\n\r\n", 413);

    assert_contains(answer.header, "application/problem+json");
    assert_contains(answer.body, "\"status\":413");
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_http__takes_a_body_of_exactly_the_limit(void **state)
{
    struct raw_client client = raw_connect(http_port(*state));
    char body[BODY_MAX + 1] = {0};
    struct raw_answer answer;

    memset(body, 'x', BODY_MAX);
    raw_send_text(&client, POST "Content-Length: 1000\r\n\r\n");
    answer = raw_ask(&client, body, 200);
    assert_string_equal(answer.body, body);
    raw_answer_clear(&answer);
    raw_close(&client);
}

/* One chunk of `size` bytes; false when the server has cut the connection. */
static bool send_chunk(struct raw_client *client, size_t size)
{
    char head[32];
    AUTO_FREE char *bytes = xcalloc(size, 1);

    snprintf(head, sizeof head, "%zx\r\n", size);
    return raw_try_send(client, head, strlen(head)) && raw_try_send(client, bytes, size) &&
           raw_try_send(client, "\r\n", 2);
}

static void test_http__answers_413_after_a_chunked_body_over_the_limit(void **state)
{
    struct raw_client client = raw_connect(http_port(*state));
    struct raw_answer answer;

    raw_send_text(&client, POST "Transfer-Encoding: chunked\r\n\r\n");
    assert_true(send_chunk(&client, BODY_MAX + 1));
    answer = raw_ask(&client, "0\r\n\r\n", 413);
    raw_answer_clear(&answer);
    answer = raw_ask(&client, POST "Content-Length: 2\r\n\r\nok", 200);
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_http__cuts_a_chunked_body_that_does_not_end(void **state)
{
    struct raw_client client = raw_connect(http_port(*state));
    size_t chunks = 0;

    raw_send_text(&client, POST "Transfer-Encoding: chunked\r\n\r\n");
    while (chunks < 10000 && send_chunk(&client, 65536))
        chunks++;
    assert_true(chunks < 10000);
    raw_close(&client);
}

static void test_http__reads_a_refused_body_to_keep_the_connection(void **state)
{
    struct raw_client client = raw_connect(http_port(*state));
    struct raw_answer answer;

    answer =
        raw_ask(&client, "POST /no HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde", 404);
    raw_answer_clear(&answer);
    answer = raw_ask(&client, POST "Content-Length: 2\r\n\r\nok", 200);
    assert_string_equal(answer.body, "ok");
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_http__does_not_wait_for_a_huge_body_of_an_unknown_path(void **state)
{
    struct raw_client client = raw_connect(http_port(*state));
    struct raw_answer answer =
        raw_ask(&client, "POST /no HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n", 404);

    raw_answer_clear(&answer);
    raw_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http__answers_requests_of_certain_length_and_refuses_the_others),
        cmocka_unit_test(test_http__closes_the_connection_after_an_uncertain_request),
        cmocka_unit_test(test_http__refuses_a_long_body_by_its_stated_length_without_reading_it),
        cmocka_unit_test(test_http__takes_a_body_of_exactly_the_limit),
        cmocka_unit_test(test_http__answers_413_after_a_chunked_body_over_the_limit),
        cmocka_unit_test(test_http__cuts_a_chunked_body_that_does_not_end),
        cmocka_unit_test(test_http__reads_a_refused_body_to_keep_the_connection),
        cmocka_unit_test(test_http__does_not_wait_for_a_huge_body_of_an_unknown_path),
    };

    return cmocka_run_group_tests_name("http_framing", tests, start, stop);
}
