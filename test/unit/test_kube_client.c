/* SPDX-License-Identifier: Apache-2.0 */
#include "support/stand_in.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/kube_client.h"

#include <stdlib.h>

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
    if (request.timeout_ms == 0)
        request.timeout_ms = ANSWER_WAIT_MS;
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

/* A server without TLS and a client of it. */
struct pair {
    struct stand_in *server;
    struct kube_config config;
    struct kube_client *client;
};

static int set_up(void **state)
{
    struct pair *pair = xcalloc(1, sizeof *pair);
    struct error err = {0};

    pair->server = stand_in_start(NULL, 0);
    pair->config.server = xasprintf("http://127.0.0.1:%u", stand_in_port(pair->server));
    pair->client = kube_client_new(&pair->config, &err);
    assert_non_null(pair->client);
    *state = pair;
    return 0;
}

static int tear_down(void **state)
{
    struct pair *pair = *state;

    kube_client_free(pair->client);
    kube_config_clear(&pair->config);
    stand_in_stop(pair->server);
    free(pair);
    return 0;
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
        struct outcome outcome =
            ask(pair->client, (struct kube_request){
                                  .path = "/apis/x?y=z",
                                  .method = cases[i].method,
                                  .body = cases[i].body,
                                  .body_length = cases[i].body != NULL ? strlen(cases[i].body) : 0,
                                  .content_type = cases[i].content_type,
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

int main(void)
{
#define WITH_PAIR(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_PAIR(test_send__uses_the_method_and_content_type_it_is_given),
    };

    return cmocka_run_group_tests_name("kube_client", tests, NULL, NULL);
}
