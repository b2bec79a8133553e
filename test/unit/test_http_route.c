/* SPDX-License-Identifier: Apache-2.0 */
#include "support/raw_http.h"
#include "support/test.h"

#include "topofit/http.h"

#define GET(target) "GET " target " HTTP/1.1\r\nHost: x\r\n\r\n"

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

static void rest(void *ctx, const struct http_request *request)
{
    (void)ctx;
    http_answer(request->call, 200, "text/plain", request->rest, strlen(request->rest));
}

static void query(void *ctx, const struct http_request *request)
{
    const char *value = http_query(request, "q");

    (void)ctx;
    value = value != NULL ? value : "(none)";
    http_answer(request->call, 200, "text/plain", value, strlen(value));
}

static void accepted(void *ctx, const struct http_request *request)
{
    const char *value = http_header(request, "accept");

    (void)ctx;
    value = value != NULL ? value : "(none)";
    http_answer(request->call, 200, "text/plain", value, strlen(value));
}

static const struct http_route routes[] = {
    {.method = "GET", .path = "/hello", .handle = hello},
    {.method = "POST", .path = "/filter", .any_prefix = true, .handle = echo},
    {.method = "GET", .path = "/debug/", .is_prefix = true, .handle = rest},
    {.method = "GET", .path = "/debug/pods/", .is_prefix = true, .handle = rest},
    {.method = "GET", .path = "/debug/pods", .handle = hello},
    {.method = "PUT", .path = "/debug/pods", .handle = echo},
    {.method = "GET", .path = "/query", .handle = query},
    {.method = "GET", .path = "/accept", .handle = accepted},
};

static int start(void **state)
{
    struct http_options options = {.listen = "127.0.0.1:0",
                                   .routes = routes,
                                   .route_count = ARRAY_LEN(routes),
                                   .threads = 1,
                                   .connections_max = 10,
                                   .body_max_bytes = 1000,
                                   .request_timeout_ms = 10000,
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

/* One request on a connection of its own; checks status and body. */
static void check(void **state, const char *bytes, unsigned want_status, const char *want_body)
{
    struct raw_client client = raw_connect(http_port(*state));
    struct raw_answer answer = raw_ask(&client, bytes, want_status);

    assert_string_equal(answer.body, want_body);
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_http__hands_a_request_to_the_most_exact_route(void **state)
{
    check(state, GET("/hello"), 200, "hello");
    check(state, GET("/debug/pods"), 200, "hello");
    check(state, GET("/debug/pods/a/b"), 200, "a/b");
    check(state, GET("/debug/nodes"), 200, "nodes");
    check(state, GET("/debug/"), 200, "");
    check(state, GET("/debug/a%20b%2Fc"), 200, "a b/c");
    check(state, "PUT /debug/pods HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", 200, "x");
}

static void test_http__answers_a_verb_behind_any_prefix(void **state)
{
    static const char *const targets[] = {"/filter", "/a/filter", "/a/b/filter", "//filter"};

    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        char bytes[128];

        snprintf(bytes, sizeof bytes, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok",
                 targets[i]);
        check(state, bytes, 200, "ok");
    }
}

static void test_http__answers_404_for_unknown_paths(void **state)
{
    static const char *const targets[] = {"/", "/hell", "/hello/", "/xfilter", "/filter/x", "*"};

    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        char bytes[128];

        snprintf(bytes, sizeof bytes, GET("%s"), targets[i]);
        check(state, bytes, 404,
              "{\"title\":\"Not Found\",\"status\":404,\"detail\":\"no such path\"}");
    }
}

static void test_http__answers_405_with_the_methods_that_exist(void **state)
{
    static const struct {
        const char *bytes, *want;
    } cases[] = {
        {GET("/filter"), "\r\nAllow: POST\r\n"},
        {"DELETE /hello HTTP/1.1\r\nHost: x\r\n\r\n", "\r\nAllow: GET, HEAD\r\n"},
        {"POST /debug/pods HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
         "\r\nAllow: GET, HEAD, PUT\r\n"},
        {"BREW /x/filter HTTP/1.1\r\nHost: x\r\n\r\n", "\r\nAllow: POST\r\n"},
    };
    struct raw_client client = raw_connect(http_port(*state));

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct raw_answer answer = raw_ask(&client, cases[i].bytes, 405);

        assert_contains(answer.header, cases[i].want);
        raw_answer_clear(&answer);
    }
    raw_close(&client);
}

static void test_http__answers_head_without_a_body(void **state)
{
    struct raw_client client = raw_connect(http_port(*state));
    struct raw_answer answer;

    raw_send_text(&client, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    answer = raw_receive(&client, false);
    assert_int_equal(answer.status, 200);
    raw_answer_clear(&answer);
    answer = raw_ask(&client, GET("/hello"), 200);
    assert_string_equal(answer.body, "hello");
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void test_http_query__decodes_the_first_value_of_a_name(void **state)
{
    static const struct {
        const char *target, *want;
    } cases[] = {
        {"/query", "(none)"},
        {"/query?", "(none)"},
        {"/query?qq=1", "(none)"},
        {"/query?q", ""},
        {"/query?q=", ""},
        {"/query?q=a", "a"},
        {"/query?x=1&q=a&q=b", "a"},
        {"/query?q=a%20b+c", "a b c"},
        {"/query?q=%c3%a9", "\xc3\xa9"},
        {"/query?q=a%26b%3Dc", "a&b=c"},
        {"/query?q&x=1", ""},
        {"/query?q=%zz%2", "%zz%2"},
        {"/query?q=/a?b", "/a?b"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char bytes[128];

        snprintf(bytes, sizeof bytes, GET("%s"), cases[i].target);
        check(state, bytes, 200, cases[i].want);
    }
}

static void test_http_header__finds_a_field_in_any_case(void **state)
{
    check(state, "GET /accept HTTP/1.1\r\nHost: x\r\nACCEPT: text/plain\r\n\r\n", 200,
          "text/plain");
    check(state, GET("/accept"), 200, "(none)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http__hands_a_request_to_the_most_exact_route),
        cmocka_unit_test(test_http__answers_a_verb_behind_any_prefix),
        cmocka_unit_test(test_http__answers_404_for_unknown_paths),
        cmocka_unit_test(test_http__answers_405_with_the_methods_that_exist),
        cmocka_unit_test(test_http__answers_head_without_a_body),
        cmocka_unit_test(test_http_query__decodes_the_first_value_of_a_name),
        cmocka_unit_test(test_http_header__finds_a_field_in_any_case),
    };

    return cmocka_run_group_tests_name("http_route", tests, start, stop);
}
