/* SPDX-License-Identifier: Apache-2.0 */
/* kube_client against the hostile server: what it says of requests whose answer is lost. */
#include "chaos/script.h"
#include "support/test.h"

#include "topofit/kube_client.h"

#include <stdlib.h>

#define PATIENCE_MS 5000
#define BIND_PATH "/api/v1/namespaces/default/pods/a/binding"
#define BINDING "{\"metadata\":{\"name\":\"a\"},\"target\":{\"name\":\"n1\"}}"

struct pair {
    struct loop loop;
    struct script_world script;
    struct kube_config config;
    struct kube_client *client;
};

struct outcome {
    int status;
    bool has_ended, has_failed, was_sent;
};

static void step(struct pair *pair, const char *line)
{
    struct error err = {0};
    uint64_t wait_ms;

    assert_ok(script_step(&pair->script, line, &wait_ms, &err), &err);
}

static int set_up(void **state)
{
    struct pair *pair = xcalloc(1, sizeof *pair);
    struct error err = {0};

    pair->loop = loop_open();
    pair->script.model = api_model_new(0);
    pair->script.server = server_new(
        &(struct server_options){.loop = &pair->loop, .model = pair->script.model}, &err);
    assert_non_null(pair->script.server);
    pair->config.server = xasprintf("http://127.0.0.1:%u", server_port(pair->script.server));
    pair->client = kube_client_new(&pair->config, &err);
    assert_non_null(pair->client);
    step(pair, "pod a 1 0");
    *state = pair;
    return 0;
}

static int tear_down(void **state)
{
    struct pair *pair = *state;

    kube_client_free(pair->client);
    kube_config_clear(&pair->config);
    server_free(pair->script.server);
    api_model_free(pair->script.model);
    loop_close(&pair->loop);
    free(pair);
    return 0;
}

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
    outcome->has_failed = failure != NULL;
    outcome->was_sent = was_sent;
}

/* Client and server take turns. */
static struct outcome ask(struct pair *pair, const char *path, const char *body)
{
    struct outcome outcome = {0};
    struct kube_request request = {.api.path = path,
                                   .api.body = body,
                                   .api.body_length = body != NULL ? strlen(body) : 0,
                                   .api.body_by_ms = body != NULL ? loop_now_ms() + PATIENCE_MS : 0,
                                   .api.timeout_ms = PATIENCE_MS,
                                   .ctx = &outcome,
                                   .on_begin = on_begin,
                                   .on_bytes = on_bytes,
                                   .on_end = on_end};
    struct error err = {0};

    assert_non_null(kube_client_send(pair->client, &request, &err));
    while (!outcome.has_ended) {
        kube_client_wait(pair->client, 1);
        loop_turn(&pair->loop, 0);
        server_tick(pair->script.server, loop_now_ms());
    }
    return outcome;
}

/* libcurl likes to send again what a connection that it used again has swallowed. */
static void test_binding__is_sent_once_though_the_connection_dies(void **state)
{
    static const char *const faults[] = {"fault 1 bind executed-reset", "fault 1 bind eof"};
    struct pair *pair = *state;

    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct outcome outcome = ask(pair, "/version", NULL);
        uint64_t before = server_request_count(pair->script.server);

        assert_int_equal(outcome.status, 200);
        step(pair, faults[i]);
        outcome = ask(pair, BIND_PATH, BINDING);
        assert_int_equal(server_request_count(pair->script.server), before + 1);
        assert_true(outcome.has_failed);
        assert_true(outcome.was_sent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_binding__is_sent_once_though_the_connection_dies,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
