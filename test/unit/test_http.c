/* SPDX-License-Identifier: Apache-2.0 */
#include "support/raw_http.h"
#include "support/test.h"

#include "topofit/http.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define GET(target) "GET " target " HTTP/1.1\r\nHost: x\r\n\r\n"
#define LARGE (8u << 20)
#define QUEUE_MAX 1024

/* A server, the calls that wait for an answer, and what on_done was told last. */
struct fixture {
    struct http_server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct http_call *queue[QUEUE_MAX];
    unsigned queued, taken;
    atomic_uint done_count;
    unsigned done_status;
    char done_route[64];
};

static void hello(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "text/plain", "hello", 5);
}

static void echo(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "application/json", request->body, request->body_length);
}

static void problem(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_problem(request->call, 422, "Not so", "say \"please\"");
}

/* Leave the call to whoever takes it. */
static void later(void *ctx, const struct http_request *request)
{
    struct fixture *fixture = ctx;

    pthread_mutex_lock(&fixture->lock);
    assert_true(fixture->queued - fixture->taken < QUEUE_MAX);
    fixture->queue[fixture->queued++ % QUEUE_MAX] = request->call;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
}

static struct http_call *take(struct fixture *fixture)
{
    struct http_call *call;

    pthread_mutex_lock(&fixture->lock);
    while (fixture->taken == fixture->queued)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    call = fixture->queue[fixture->taken++ % QUEUE_MAX];
    pthread_mutex_unlock(&fixture->lock);
    return call;
}

static void on_done(void *ctx, const char *method, const char *route, unsigned status,
                    uint64_t duration_us)
{
    struct fixture *fixture = ctx;

    (void)method;
    (void)duration_us;
    pthread_mutex_lock(&fixture->lock);
    fixture->done_status = status;
    snprintf(fixture->done_route, sizeof fixture->done_route, "%s", route);
    pthread_mutex_unlock(&fixture->lock);
    atomic_fetch_add(&fixture->done_count, 1);
}

static const struct http_route routes[] = {
    {.method = "GET", .path = "/hello", .handle = hello},
    {.method = "POST", .path = "/echo", .handle = echo},
    {.method = "GET", .path = "/problem", .handle = problem},
    {.method = "POST", .path = "/later", .handle = later},
};

static int start(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof *fixture);
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .ctx = fixture,
                                   .threads = 2,
                                   .connections_max = 1000,
                                   .body_max_bytes = 16u << 20,
                                   .request_timeout_ms = 10000,
                                   .idle_timeout_ms = 60000,
                                   .on_done = on_done};
    struct error err = {0};

    pthread_mutex_init(&fixture->lock, NULL);
    pthread_cond_init(&fixture->changed, NULL);
    fixture->server = http_start(&options, &err);
    if (fixture->server == NULL)
        print_error("%s\n", err.text);
    *state = fixture;
    return fixture->server == NULL ? -1 : 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    http_stop(fixture->server);
    pthread_cond_destroy(&fixture->changed);
    pthread_mutex_destroy(&fixture->lock);
    free(fixture);
    return 0;
}

static struct raw_client connect_to(void **state)
{
    struct fixture *fixture = *state;

    return raw_connect(http_port(fixture->server));
}

/* One request on a connection of its own; checks status and body. */
static void check(void **state, const char *bytes, unsigned want_status, const char *want_body)
{
    struct raw_client client = connect_to(state);
    struct raw_answer answer = raw_ask(&client, bytes, want_status);

    if (want_body != NULL)
        assert_string_equal(answer.body, want_body);
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_http__answers_carry_length_type_and_no_caching(void **state)
{
    struct raw_client client = connect_to(state);
    struct raw_answer answer = raw_ask(&client, GET("/hello"), 200);

    assert_contains(answer.header, "\r\nContent-Length: 5\r\n");
    assert_contains(answer.header, "\r\nContent-Type: text/plain\r\n");
    assert_contains(answer.header, "\r\nCache-Control: no-store\r\n");
    assert_contains(answer.header, "\r\nX-Content-Type-Options: nosniff\r\n");
    assert_null(strstr(answer.header, "chunked"));
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_http_problem__is_json_for_people_and_programs(void **state)
{
    struct raw_client client = connect_to(state);
    struct raw_answer answer = raw_ask(&client, GET("/problem"), 422);

    assert_contains(answer.header, "\r\nContent-Type: application/problem+json\r\n");
    assert_string_equal(answer.body, "{\"title\":\"Not so\",\"status\":422,"
                                     "\"detail\":\"say \\\"please\\\"\"}");
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_http__serves_many_requests_on_one_connection(void **state)
{
    struct raw_client client = connect_to(state);

    for (unsigned i = 0; i < 200; i++) {
        char bytes[128], want[16];
        struct raw_answer answer;

        snprintf(want, sizeof want, "n%u", i);
        snprintf(bytes, sizeof bytes,
                 "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s", strlen(want),
                 want);
        answer = raw_ask(&client, bytes, 200);
        assert_string_equal(answer.body, want);
        raw_answer_clear(&answer);
    }
    raw_close(&client);
}

static void test_http__answers_pipelined_requests_in_order(void **state)
{
    struct raw_client client = connect_to(state);
    struct raw_answer answer;

    raw_send_text(&client,
                  GET("/hello") GET("/problem")
                      GET("/no") "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nlast");
    answer = raw_receive(&client, true);
    assert_string_equal(answer.body, "hello");
    raw_answer_clear(&answer);
    answer = raw_receive(&client, true);
    assert_int_equal(answer.status, 422);
    raw_answer_clear(&answer);
    answer = raw_receive(&client, true);
    assert_int_equal(answer.status, 404);
    raw_answer_clear(&answer);
    answer = raw_receive(&client, true);
    assert_string_equal(answer.body, "last");
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_http__carries_large_bodies_both_ways(void **state)
{
    struct raw_client client = connect_to(state);
    AUTO_FREE char *body = xmalloc(LARGE);
    struct raw_answer answer;
    char header[128];

    for (size_t i = 0; i < LARGE; i++)
        body[i] = (char)(i * 7 + i / 4096);
    snprintf(header, sizeof header, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %u\r\n\r\n",
             LARGE);
    raw_send_text(&client, header);
    raw_send(&client, body, LARGE);
    answer = raw_receive(&client, true);
    assert_int_equal(answer.length, LARGE);
    assert_memory_equal(answer.body, body, LARGE);
    raw_answer_clear(&answer);
    raw_close(&client);
}

#define LATER "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"

static void test_http_answer__may_come_from_another_thread_later(void **state)
{
    struct raw_client client = connect_to(state);
    struct raw_answer answer;

    raw_send_text(&client, LATER);
    http_answer(take(*state), 201, "text/plain", "done", 4);
    answer = raw_receive(&client, true);
    assert_int_equal(answer.status, 201);
    assert_string_equal(answer.body, "done");
    raw_answer_clear(&answer);
    raw_close(&client);
}

/* Answers calls as fast as they come, so that many answers overtake the handler's return. */
static void *answer_calls(void *ctx)
{
    struct fixture *fixture = ctx;

    for (struct http_call *call = take(fixture); call != NULL; call = take(fixture))
        http_answer(call, 200, "text/plain", "raced", 5);
    return NULL;
}

static void push(struct fixture *fixture, struct http_call *call)
{
    pthread_mutex_lock(&fixture->lock);
    fixture->queue[fixture->queued++ % QUEUE_MAX] = call;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
}

static void test_http_answer__may_overtake_the_return_of_the_handler(void **state)
{
    struct raw_client clients[8];
    pthread_t workers[2];

    for (size_t i = 0; i < ARRAY_LEN(workers); i++)
        pthread_create(&workers[i], NULL, answer_calls, *state);
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        clients[i] = connect_to(state);
    for (unsigned round = 0; round < 500; round++) {
        for (size_t i = 0; i < ARRAY_LEN(clients); i++)
            raw_send_text(&clients[i], LATER);
        for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
            struct raw_answer answer = raw_receive(&clients[i], true);

            assert_string_equal(answer.body, "raced");
            raw_answer_clear(&answer);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        raw_close(&clients[i]);
    for (size_t i = 0; i < ARRAY_LEN(workers); i++)
        push(*state, NULL);
    for (size_t i = 0; i < ARRAY_LEN(workers); i++)
        pthread_join(workers[i], NULL);
}

static void test_http_answer__is_harmless_when_the_client_is_gone(void **state)
{
    AUTO_FREE char *body = xcalloc(1, LARGE);

    for (unsigned i = 0; i < 20; i++) {
        struct raw_client client = connect_to(state);
        struct http_call *call;

        raw_send_text(&client, LATER);
        call = take(*state);
        if (i % 2 == 0)
            raw_abort(&client);
        else
            raw_close(&client);
        http_answer(call, 200, "text/plain", body, LARGE);
    }
    check(state, GET("/hello"), 200, "hello");
}

static void test_http__survives_clients_that_leave_in_the_middle(void **state)
{
    static const char *const starts[] = {
        "",
        "G",
        "GET /hello HTTP/1.1\r\n",
        "GET /hello HTTP/1.1\r\nHost: x\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    };

    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        struct raw_client client = connect_to(state);

        raw_send_text(&client, starts[i]);
        raw_abort(&client);
    }
    check(state, GET("/hello"), 200, "hello");
}

static void test_http__serves_hundreds_of_connections_at_once(void **state)
{
    enum { CLIENTS = 300 };
    static struct raw_client clients[CLIENTS];

    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = connect_to(state);
    for (size_t i = 0; i < CLIENTS; i++)
        raw_send_text(&clients[i], i % 3 == 0 ? LATER : GET("/hello"));
    for (size_t i = 0; i < CLIENTS; i += 3)
        http_answer(take(*state), 200, "text/plain", "later", 5);
    for (size_t i = 0; i < CLIENTS; i++) {
        struct raw_answer answer = raw_receive(&clients[i], true);

        assert_string_equal(answer.body, i % 3 == 0 ? "later" : "hello");
        raw_answer_clear(&answer);
        raw_close(&clients[i]);
    }
}

static void test_http__reports_each_answer_before_the_client_has_it(void **state)
{
    struct fixture *fixture = *state;
    unsigned before = atomic_load(&fixture->done_count);

    check(state, GET("/hello"), 200, "hello");
    assert_int_equal(atomic_load(&fixture->done_count), before + 1);
    assert_int_equal(fixture->done_status, 200);
    assert_string_equal(fixture->done_route, "/hello");
    check(state, GET("/no"), 404, NULL);
    assert_int_equal(atomic_load(&fixture->done_count), before + 2);
    assert_int_equal(fixture->done_status, 404);
    assert_string_equal(fixture->done_route, "");
}

static void *stop_server(void *server)
{
    http_stop(server);
    return NULL;
}

/* Ask on new connections until the server says that it is stopping. */
static void wait_until_stopping(void **state)
{
    unsigned status = 200;

    while (status != 503) {
        struct raw_client client = connect_to(state);
        struct raw_answer answer;

        raw_send_text(&client, GET("/hello"));
        answer = raw_receive(&client, true);
        status = answer.status;
        if (status == 503)
            assert_contains(answer.header, "Connection: close");
        raw_answer_clear(&answer);
        raw_close(&client);
    }
}

static void test_http_stop__waits_for_calls_in_flight_and_refuses_new_ones(void **state)
{
    struct fixture *fixture = *state;
    struct raw_client client = connect_to(state);
    struct raw_answer answer;
    struct http_call *call;
    pthread_t stopper;

    raw_send_text(&client, LATER);
    call = take(fixture);
    pthread_create(&stopper, NULL, stop_server, fixture->server);
    wait_until_stopping(state);
    http_answer(call, 200, "text/plain", "kept", 4);
    answer = raw_receive(&client, true);
    assert_string_equal(answer.body, "kept");
    raw_answer_clear(&answer);
    pthread_join(stopper, NULL);
    fixture->server = NULL;
    assert_true(raw_ends_within(&client, RAW_WAIT_MS));
    raw_close(&client);
}

static void test_http_stop__ends_idle_and_half_sent_connections(void **state)
{
    struct fixture *fixture = *state;
    struct raw_client idle = connect_to(state), half = connect_to(state);
    struct raw_answer answer = raw_ask(&idle, GET("/hello"), 200);

    raw_answer_clear(&answer);
    raw_send_text(&half, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nab");
    http_stop(fixture->server);
    fixture->server = NULL;
    assert_true(raw_ends_within(&idle, RAW_WAIT_MS));
    assert_true(raw_ends_within(&half, RAW_WAIT_MS));
    raw_close(&idle);
    raw_close(&half);
}

static void test_http_start__says_why_it_cannot_listen(void **state)
{
    struct fixture *fixture = *state;
    struct http_options options = {.routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .threads = 1,
                                   .connections_max = 10,
                                   .request_timeout_ms = 1000,
                                   .idle_timeout_ms = 1000};
    char taken[32];
    struct error err = {0};

    snprintf(taken, sizeof taken, "127.0.0.1:%u", http_port(fixture->server));
    options.listen = taken;
    assert_null(http_start(&options, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_contains(err.text, taken);
    assert_contains(err.text, "Address already in use");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(test_http__answers_carry_length_type_and_no_caching),
        TEST(test_http_problem__is_json_for_people_and_programs),
        TEST(test_http__serves_many_requests_on_one_connection),
        TEST(test_http__answers_pipelined_requests_in_order),
        TEST(test_http__carries_large_bodies_both_ways),
        TEST(test_http_answer__may_come_from_another_thread_later),
        TEST(test_http_answer__may_overtake_the_return_of_the_handler),
        TEST(test_http_answer__is_harmless_when_the_client_is_gone),
        TEST(test_http__survives_clients_that_leave_in_the_middle),
        TEST(test_http__serves_hundreds_of_connections_at_once),
        TEST(test_http__reports_each_answer_before_the_client_has_it),
        TEST(test_http_stop__waits_for_calls_in_flight_and_refuses_new_ones),
        TEST(test_http_stop__ends_idle_and_half_sent_connections),
        TEST(test_http_start__says_why_it_cannot_listen),
    };
#undef TEST

    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
