/* SPDX-License-Identifier: Apache-2.0 */
/* Routes that take long, beside those that must not wait. */
#include "support/raw_http.h"
#include "support/test.h"

#include "topofit/http.h"

#include <pthread.h>
#include <stdlib.h>

#define GET(target) "GET " target " HTTP/1.1\r\nHost: x\r\n\r\n"
#define WAITING 8 /* HTTP_LANE_CALLS_MAX */

/* A server with one thread, whose slow handler stands still while the gate is closed. */
struct fixture {
    struct http_server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_closed;
    unsigned begun;
};

static void fast(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "text/plain", "fast", 4);
}

static void slow(void *ctx, const struct http_request *request)
{
    struct fixture *fixture = ctx;
    const char *word = http_query(request, "word");

    pthread_mutex_lock(&fixture->lock);
    fixture->begun++;
    pthread_cond_broadcast(&fixture->changed);
    while (fixture->is_closed)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    pthread_mutex_unlock(&fixture->lock);
    http_answer(request->call, 200, "text/plain", word, strlen(word));
}

static const struct http_route routes[] = {
    {.method = "GET", .path = "/fast", .handle = fast},
    {.method = "GET", .path = "/slow", .is_slow = true, .handle = slow},
};

static void close_gate(struct fixture *fixture)
{
    pthread_mutex_lock(&fixture->lock);
    fixture->is_closed = true;
    pthread_mutex_unlock(&fixture->lock);
}

static void open_gate(struct fixture *fixture)
{
    pthread_mutex_lock(&fixture->lock);
    fixture->is_closed = false;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
}

/* Ask for the slow answer, and wait until its handler runs. */
static struct raw_client begin_slow(struct fixture *fixture)
{
    struct raw_client client = raw_connect(http_port(fixture->server));
    unsigned before;

    pthread_mutex_lock(&fixture->lock);
    before = fixture->begun;
    raw_send_text(&client, GET("/slow?word=first"));
    while (fixture->begun == before)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    pthread_mutex_unlock(&fixture->lock);
    return client;
}

static int start(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof *fixture);
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .ctx = fixture,
                                   .threads = 1,
                                   .connections_max = 100,
                                   .body_max_bytes = 1000,
                                   .request_timeout_ms = 10000,
                                   .idle_timeout_ms = 60000};
    struct error err = {0};

    pthread_mutex_init(&fixture->lock, NULL);
    pthread_cond_init(&fixture->changed, NULL);
    fixture->server = http_start(&options, &err);
    *state = fixture;
    return fixture->server == NULL ? -1 : 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    open_gate(fixture);
    http_stop(fixture->server);
    pthread_cond_destroy(&fixture->changed);
    pthread_mutex_destroy(&fixture->lock);
    free(fixture);
    return 0;
}

static void expect(struct raw_client *client, unsigned status, const char *part)
{
    struct raw_answer answer = raw_receive(client, true);

    assert_int_equal(answer.status, status);
    assert_contains(answer.body, part);
    raw_answer_clear(&answer);
}

static void test_http__answers_others_while_a_slow_route_is_handled(void **state)
{
    struct fixture *fixture = *state;
    struct raw_client first, other;

    close_gate(fixture);
    first = begin_slow(fixture);
    other = raw_connect(http_port(fixture->server));
    for (int i = 0; i < 3; i++) {
        raw_send_text(&other, GET("/fast"));
        expect(&other, 200, "fast");
    }
    open_gate(fixture);
    expect(&first, 200, "first");
    raw_close(&first);
    raw_close(&other);
}

/* Which of the clients is answered first. */
static size_t first_answered(struct raw_client *clients, size_t count)
{
    for (int round = 0; round < RAW_WAIT_MS; round++) {
        for (size_t i = 0; i < count; i++) {
            if (raw_is_readable_within(&clients[i], 1))
                return i;
        }
    }
    fail_msg("none is answered");
    return 0;
}

static void test_http__refuses_who_would_wait_too_long_for_a_slow_route(void **state)
{
    struct fixture *fixture = *state;
    struct raw_client first, others[WAITING + 1];
    size_t refused;

    close_gate(fixture);
    first = begin_slow(fixture);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        others[i] = raw_connect(http_port(fixture->server));
        raw_send_text(&others[i], GET("/slow?word=waited"));
    }
    refused = first_answered(others, ARRAY_LEN(others));
    expect(&others[refused], 503, "too much at once");
    raw_send_text(&others[refused], GET("/fast"));
    expect(&others[refused], 200, "fast");
    open_gate(fixture);
    expect(&first, 200, "first");
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (i != refused)
            expect(&others[i], 200, "waited");
        raw_close(&others[i]);
    }
    raw_close(&first);
}

static void test_http_stop__sees_slow_calls_through_also_of_clients_that_left(void **state)
{
    struct fixture *fixture = *state;
    struct raw_client first, gone;

    close_gate(fixture);
    first = begin_slow(fixture);
    gone = raw_connect(http_port(fixture->server));
    raw_send_text(&gone, GET("/slow?word=gone"));
    raw_abort(&gone);
    open_gate(fixture);
    http_stop(fixture->server);
    fixture->server = NULL;
    expect(&first, 200, "first");
    raw_close(&first);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(test_http__answers_others_while_a_slow_route_is_handled),
        TEST(test_http__refuses_who_would_wait_too_long_for_a_slow_route),
        TEST(test_http_stop__sees_slow_calls_through_also_of_clients_that_left),
    };
#undef TEST

    return cmocka_run_group_tests_name("http_lane", tests, NULL, NULL);
}
