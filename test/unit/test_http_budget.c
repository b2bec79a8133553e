/* SPDX-License-Identifier: Apache-2.0 */
#include "support/raw_http.h"
#include "support/test.h"

#include "topofit/clock.h"
#include "topofit/http.h"
#include "topofit/http_budget.h"

#include <sched.h>
#include <sys/socket.h>

#define FREE ((size_t)16 * 1024)
#define MAX ((size_t)16 << 20) /* more than the kernel keeps of an answer that nobody takes */
#define BODY_MAX MAX

/* --- the budget ------------------------------------------------------------------------------ */

static void test_http_budget__refuses_what_is_beyond_the_maximum(void **state)
{
    struct http_budget budget = {.max_bytes = 1000, .free_bytes = FREE};

    (void)state;
    assert_true(http_budget_grow(&budget, 0, FREE + 600));
    assert_false(http_budget_grow(&budget, 0, FREE + 401));
    assert_false(http_budget_grow(&budget, FREE + 600, 401));
    assert_int_equal(atomic_load(&budget.refusals), 2);
    assert_true(http_budget_grow(&budget, FREE + 600, 400));
    http_budget_free(&budget, FREE + 1000);
    assert_int_equal(atomic_load(&budget.held_bytes), 0);
    assert_true(http_budget_grow(&budget, 0, FREE + 1000));
}

static void test_http_budget__says_when_something_would_be_refused(void **state)
{
    struct http_budget budget = {.max_bytes = 1000, .free_bytes = FREE};

    (void)state;
    assert_true(http_budget_grow(&budget, 0, FREE + 600));
    assert_true(http_budget_has_room(&budget, FREE + 400));
    assert_false(http_budget_has_room(&budget, FREE + 401));
    assert_false(http_budget_has_room(&budget, UINT64_MAX));
    assert_int_equal(atomic_load(&budget.refusals), 2);
}

static void test_http_budget__does_not_count_what_is_small(void **state)
{
    struct http_budget budget = {.max_bytes = 0, .free_bytes = FREE};

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(http_budget_grow(&budget, 0, FREE / 2));
        assert_true(http_budget_grow(&budget, FREE / 2, FREE / 2));
        assert_false(http_budget_grow(&budget, FREE, 1));
    }
    http_budget_free(&budget, FREE);
    assert_int_equal(atomic_load(&budget.held_bytes), 0);
}

/* --- a server with one ----------------------------------------------------------------------- */

static void echo(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "text/plain", request->body, request->body_length);
}

static void large(void *ctx, const struct http_request *request)
{
    AUTO_FREE char *body = xcalloc(1, MAX * 3 / 4);

    (void)ctx;
    http_answer(request->call, 200, "text/plain", body, MAX * 3 / 4);
}

static const struct http_route routes[] = {
    {.method = "POST", .path = "/echo", .handle = echo},
    {.method = "GET", .path = "/large", .handle = large},
};

static struct http_budget budget;

static int start(void **state)
{
    const struct http_options options = {.listen = "127.0.0.1:0",
                                         .routes = routes,
                                         .route_count = ARRAY_LEN(routes),
                                         .threads = 2,
                                         .connections_max = 64,
                                         .body_max_bytes = BODY_MAX,
                                         .budget = &budget,
                                         .request_timeout_ms = 60000,
                                         .idle_timeout_ms = 60000};
    struct error err = {0};

    atomic_store(&budget.held_bytes, 0);
    atomic_store(&budget.refusals, 0);
    budget.max_bytes = MAX;
    budget.free_bytes = FREE;
    *state = http_start(&options, &err);
    return *state == NULL ? -1 : 0;
}

/* Whatever happened, nothing is held in the end. */
static int stop(void **state)
{
    http_stop(*state);
    return atomic_load(&budget.held_bytes) == 0 ? 0 : -1;
}

/* Send `length` bytes of a body that is said to be `stated` bytes long. */
static struct raw_client send_body(struct http_server *server, size_t stated, size_t length)
{
    struct raw_client client = raw_connect(http_port(server));
    AUTO_FREE char *head =
        xasprintf("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", stated);
    AUTO_FREE char *body = xcalloc(1, length + 1);

    raw_send_text(&client, head);
    raw_try_send(&client, body, length);
    return client;
}

static void expect_status(struct raw_client *client, unsigned want)
{
    struct raw_answer answer = raw_receive(client, true);

    assert_int_equal(answer.status, want);
    raw_answer_clear(&answer);
}

static void wait_until_held(size_t least, size_t most)
{
    uint64_t end_ms = clock_monotonic_ms() + RAW_WAIT_MS;

    while (atomic_load(&budget.held_bytes) < least || atomic_load(&budget.held_bytes) > most) {
        assert_true(clock_monotonic_ms() < end_ms);
        sched_yield();
    }
}

static void test_http__bounds_the_bodies_of_all_connections_together(void **state)
{
    struct raw_client slow = send_body(*state, BODY_MAX, MAX * 3 / 4), second, third, fourth;

    wait_until_held(MAX * 3 / 4 - FREE, MAX);
    second = send_body(*state, MAX / 2, MAX / 2);
    expect_status(&second, 503);
    assert_true(atomic_load(&budget.held_bytes) <= MAX);
    assert_true(atomic_load(&budget.refusals) > 0);
    third = send_body(*state, FREE, FREE);
    expect_status(&third, 200);
    raw_close(&slow);
    wait_until_held(0, 0);
    fourth = send_body(*state, MAX / 2, MAX / 2);
    expect_status(&fourth, 200);
    raw_close(&second);
    raw_close(&third);
    raw_close(&fourth);
}

static void test_http__counts_answers_that_nobody_takes(void **state)
{
    struct raw_client first = raw_connect(http_port(*state));
    struct raw_client second = raw_connect(http_port(*state));
    int small = 4096;

    setsockopt(first.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    raw_send_text(&first, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_until_held(MAX * 3 / 4 - FREE, MAX);
    raw_send_text(&second, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_status(&second, 503);
    raw_close(&first);
    wait_until_held(0, 0);
    raw_send_text(&second, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_status(&second, 200);
    raw_close(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_budget__refuses_what_is_beyond_the_maximum),
        cmocka_unit_test(test_http_budget__says_when_something_would_be_refused),
        cmocka_unit_test(test_http_budget__does_not_count_what_is_small),
        cmocka_unit_test_setup_teardown(test_http__bounds_the_bodies_of_all_connections_together,
                                        start, stop),
        cmocka_unit_test_setup_teardown(test_http__counts_answers_that_nobody_takes, start, stop),
    };

    return cmocka_run_group_tests_name("http_budget", tests, NULL, NULL);
}
