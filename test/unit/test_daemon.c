/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon as a whole: what can be changed while it runs, and its end. */
#include "support/raw_http.h"
#include "support/test.h"

#include "topofit/clock.h"
#include "topofit/daemon.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <unistd.h>

#define ASKING 8    /* clients at once */
#define PROBES 1000 /* of each, not waiting for answers */
#define ROUNDS 8
#define LIST_WAIT_MS 20000u /* until the first list has failed; a moment as a rule */

/* A node of one device, and a pod that holds it. */
static const char dump[] =
    "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n  annotations:\n"
    "    topofit.io/inventory: '{\"devices\":[{\"id\":\"GPU-0\",\"memoryMiB\":16384}]}'\n"
    "---\n"
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: d, uid: a}\n"
    "spec:\n  nodeName: n1\n  containers:\n  - name: c\n"
    "    resources: {limits: {nvidia.com/gpu: '1'}}\n";

/* An API server where nobody listens. */
static const char kubeconfig[] = "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
                                 "clusters:\n- name: a\n  cluster: {server: 'http://127.0.0.1:1'}\n"
                                 "contexts:\n- name: a\n  context: {cluster: a, user: a}\n"
                                 "users:\n- name: a\n  user: {}\n";

struct running {
    struct config config;
    struct log *log;
    char path[32];
    struct daemon *daemon;
};

/* Not started yet; `text` is in a file at `path`. */
static struct running *running_plan(const char *text)
{
    struct log_options options = log_options_default();
    struct running *running = xcalloc(1, sizeof *running);
    struct error err = {0};
    int fd;

    options.level = LOG_LEVEL_ERROR;
    running->log = log_new(&options);
    config_defaults(&running->config);
    config_set(&running->config, "extender.listen", "127.0.0.1:0", &err);
    config_set(&running->config, "admin.listen", "127.0.0.1:0", &err);
    config_set(&running->config, "log.level", "error", &err);
    snprintf(running->path, sizeof running->path, "/tmp/topofit-XXXXXX");
    fd = mkstemp(running->path);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    assert_string_equal(err.text, "");
    return running;
}

static struct running *running_new(void)
{
    struct running *running = running_plan(dump);
    struct error err = {0};

    running->daemon = daemon_start(&running->config, running->path, running->log, &err);
    assert_string_equal(err.text, "");
    return running;
}

static struct running *running_new_with_server(void)
{
    struct running *running = running_plan(kubeconfig);
    struct error err = {0};

    config_set(&running->config, "kube.kubeconfig", running->path, &err);
    config_set(&running->config, "leaderElection.enabled", "false", &err);
    running->daemon = daemon_start(&running->config, NULL, running->log, &err);
    assert_string_equal(err.text, "");
    return running;
}

static void running_free(struct running **place)
{
    struct running *running = *place;

    daemon_stop(running->daemon);
    log_free(running->log);
    config_clear(&running->config);
    unlink(running->path);
    free(running);
}

/* The body of an answer of the admin port. Free it. */
static char *get_with_status(struct running *running, const char *path, unsigned status)
{
    struct raw_client client = raw_connect(daemon_admin_port(running->daemon));
    AUTO_FREE char *request = xasprintf("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    struct raw_answer answer = raw_ask(&client, request, status);
    char *body = xstrdup(answer.body);

    raw_answer_clear(&answer);
    raw_close(&client);
    return body;
}

static char *get(struct running *running, const char *path)
{
    return get_with_status(running, path, 200);
}

/* The answer of filter about another pod: it would fit if the first one left. Free it. */
static char *ask_filter(struct running *running)
{
    static const char body[] = "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":"
                               "\"u\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"
                               "\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}},\"NodeNames\":[\"n1\"]}";
    struct raw_client client = raw_connect(daemon_extender_port(running->daemon));
    AUTO_FREE char *request = xasprintf("POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: %zu"
                                        "\r\n\r\n%s",
                                        sizeof body - 1, body);
    struct raw_answer answer = raw_ask(&client, request, 200);
    char *text = xstrdup(answer.body);

    raw_answer_clear(&answer);
    raw_close(&client);
    return text;
}

static void test_reload__changes_how_the_next_call_is_answered(void **state)
{
    AUTO(running_free) struct running *running = running_new();
    AUTO(config_clear) struct config fresh;
    AUTO_FREE char *before = ask_filter(running);
    AUTO_FREE char *after = NULL;
    AUTO_FREE char *shown = NULL;
    struct error err = {0};

    (void)state;
    assert_contains(before, "\"FailedNodes\":{\"n1\"");
    config_defaults(&fresh);
    config_set(&fresh, "extender.failedNodes", "never", &err);
    config_set(&fresh, "log.level", "error", &err);
    daemon_reload(running->daemon, &fresh);
    after = ask_filter(running);
    assert_contains(after, "\"FailedAndUnresolvableNodes\":{\"n1\"");
    shown = get(running, "/configz");
    assert_contains(shown, "never");
    assert_contains(shown, "127.0.0.1:0"); /* of the start: what is not taken over is not shown */
}

static void test_cache_diff__says_that_a_dump_has_nothing_to_compare_with(void **state)
{
    AUTO(running_free) struct running *running = running_new();
    struct raw_client client = raw_connect(daemon_admin_port(running->daemon));
    struct raw_answer answer =
        raw_ask(&client, "GET /debug/cache/diff HTTP/1.1\r\nHost: x\r\n\r\n", 404);

    (void)state;
    assert_contains(answer.body, "no API server");
    raw_answer_clear(&answer);
    raw_close(&client);
}

static void stop_amid_probes(const struct buf *probes)
{
    struct raw_client clients[ASKING];
    AUTO(running_free) struct running *running = running_new_with_server();

    for (size_t i = 0; i < ASKING; i++) {
        clients[i] = raw_connect(daemon_admin_port(running->daemon));
        raw_send(&clients[i], probes->data, probes->length);
    }
    daemon_stop(running->daemon);
    running->daemon = NULL;
    for (size_t i = 0; i < ASKING; i++)
        raw_close(&clients[i]);
}

/* The sanitizers see it if a probe finds a loop that is gone; not every time. */
static void test_debug_mix__answers_as_document_and_as_text(void **state)
{
    AUTO(running_free) struct running *running = running_new();
    AUTO_FREE char *document = get(running, "/debug/mix");
    AUTO_FREE char *text = get(running, "/debug/mix?format=text");

    (void)state;
    assert_contains(document, "\"kind\": \"PodMix\"");
    assert_contains(text, "of 16 pods with GPUs have come");
}

static void test_stop__serves_the_admin_port_until_its_end(void **state)
{
    AUTO(buf_clear) struct buf probes = buf_with_max(PROBES * 64);

    (void)state;
    for (unsigned i = 0; i < PROBES; i++)
        buf_add_text(&probes, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    for (unsigned i = 0; i < ROUNDS; i++)
        stop_amid_probes(&probes);
}

/* Who waits for a comparison when the loop ends is told so. */
static void test_stop__answers_who_waits_for_a_comparison(void **state)
{
    AUTO(running_free) struct running *running = running_new_with_server();
    struct raw_client client = raw_connect(daemon_admin_port(running->daemon));
    struct raw_answer answer;

    (void)state;
    raw_send_text(&client, "GET /debug/cache/diff HTTP/1.1\r\nHost: x\r\n\r\n");
    free(get(running, "/livez")); /* one thread serves both: the other came before */
    daemon_stop(running->daemon);
    running->daemon = NULL;
    answer = raw_receive(&client, true);
    assert_int_equal(answer.status, 503);
    assert_contains(answer.body, "not compared");
    raw_answer_clear(&answer);
    raw_close(&client);
}

/* Who cannot list looks there first, and is not sent on to the log. */
static void test_readyz__says_why_nothing_could_be_listed(void **state)
{
    AUTO(running_free) struct running *running = running_new_with_server();
    uint64_t end_ms = clock_monotonic_ms() + LIST_WAIT_MS;
    bool told = false;

    (void)state;
    while (!told && clock_monotonic_ms() < end_ms) {
        AUTO_FREE char *body = get_with_status(running, "/readyz", 503);

        told = strstr(body, "listed completely yet: list of nodes: ") != NULL;
    }
    assert_true(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reload__changes_how_the_next_call_is_answered),
        cmocka_unit_test(test_cache_diff__says_that_a_dump_has_nothing_to_compare_with),
        cmocka_unit_test(test_debug_mix__answers_as_document_and_as_text),
        cmocka_unit_test(test_stop__serves_the_admin_port_until_its_end),
        cmocka_unit_test(test_stop__answers_who_waits_for_a_comparison),
        cmocka_unit_test(test_readyz__says_why_nothing_could_be_listed),
    };

    return cmocka_run_group_tests_name("daemon", tests, NULL, NULL);
}
