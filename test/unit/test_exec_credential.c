/* SPDX-License-Identifier: Apache-2.0 */
#include "support/pki.h"
#include "support/scratch.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/exec_credential.h"

#include <poll.h>
#include <stdlib.h>

#define PATIENCE_MS 20000
#define V1 "client.authentication.k8s.io/v1"

/* A plugin that prints the file `answer` of its folder, and keeps what it was asked. */
static const char plugin_text[] =
    "#!/bin/sh\n"
    "cd \"${0%/*}\"\n"
    "echo run >>runs\n"
    "printf '%s|' \"$@\" >arguments\n"
    "printf %s \"$KUBERNETES_EXEC_INFO\" >info\n"
    "tr '\\0' '\\n' </proc/$$/environ | grep -E '^(WORD|KUBERNETES)' | cut -c-20 >words\n"
    "cat answer\n";

struct stage {
    char *folder;
    struct kube_exec exec;
    struct kube_config config;
    struct exec_credential *credential;
};

static int set_up(void **state)
{
    struct stage *stage = xcalloc(1, sizeof *stage);

    stage->folder = scratch_make();
    scratch_put(stage->folder, "plugin", plugin_text);
    stage->exec.api_version = (char *)(uintptr_t)V1;
    stage->exec.command = scratch_path(stage->folder, "plugin");
    stage->config.server = (char *)(uintptr_t)"https://api:6443";
    stage->config.exec = &stage->exec;
    stage->credential = exec_credential_new(&stage->config);
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    exec_credential_free(stage->credential);
    free(stage->exec.command);
    kube_pairs_clear(&stage->exec.variables);
    scratch_remove(stage->folder);
    free(stage);
    return 0;
}

static void answer_with(const struct stage *stage, const char *status)
{
    AUTO_FREE char *text = xasprintf(
        "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":{%s}}", status);

    scratch_put(stage->folder, "answer", text);
}

static unsigned count_runs(const struct stage *stage)
{
    AUTO_FREE char *path = scratch_path(stage->folder, "runs");
    FILE *file = fopen(path, "r");
    unsigned count = 0;

    if (file == NULL)
        return 0;
    for (int c = fgetc(file); c != EOF; c = fgetc(file))
        count += c == '\n';
    fclose(file);
    return count;
}

/* Look until the plugin has ended, if it runs; the time stands still. */
static enum credential_state look(struct stage *stage, uint64_t now_ms, int64_t now_unix_s,
                                  struct error *err)
{
    for (;;) {
        enum credential_state state =
            exec_credential_look(stage->credential, NULL, now_ms, now_unix_s, err);
        struct pollfd polled[2];
        int fds[2];
        size_t count = exec_credential_fds(stage->credential, fds);

        if (state != CREDENTIAL_AWAITED)
            return state;
        for (size_t i = 0; i < count; i++)
            polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
        poll(polled, count, count > 0 ? PATIENCE_MS : 1);
    }
}

static void assert_token(struct stage *stage, uint64_t now_ms, int64_t now_unix_s, const char *want)
{
    struct error err = {0};

    if (look(stage, now_ms, now_unix_s, &err) != CREDENTIAL_READY)
        fail_msg("not ready: %s", err.text);
    assert_string_equal(exec_credential_answer(stage->credential)->token, want);
}

static void assert_missing(struct stage *stage, uint64_t now_ms, int64_t now_unix_s,
                           const char *want)
{
    struct error err = {0};

    assert_int_equal(look(stage, now_ms, now_unix_s, &err), CREDENTIAL_MISSING);
    assert_contains(err.text, want);
    assert_contains(err.text, "exec plugin ");
}

static void assert_file(const struct stage *stage, const char *name, const char *want)
{
    AUTO_FREE char *path = scratch_path(stage->folder, name);
    AUTO_FREE char *text = test_read_file(path, NULL);

    assert_string_equal(text, want);
}

/* --- the question ---------------------------------------------------------------------------- */

static void test_look__runs_the_plugin_as_the_kubeconfig_says(void **state)
{
    char *arguments[] = {(char *)(uintptr_t)"get token", (char *)(uintptr_t)"$HOME", NULL};
    struct stage *stage = *state;

    answer_with(stage, "\"token\":\"t1\"");
    stage->exec.arguments = arguments;
    stage->exec.argument_count = 2;
    kube_pairs_add(&stage->exec.variables, "WORD", "first");
    kube_pairs_add(&stage->exec.variables, "WORD", "a b");
    kube_pairs_add(&stage->exec.variables, "KUBERNETES_EXEC_INFO", "forged");
    setenv("WORD", "ours", 1);
    setenv("KUBERNETES_EXEC_INFO", "ours", 1);
    assert_token(stage, 0, 0, "t1");
    unsetenv("WORD");
    unsetenv("KUBERNETES_EXEC_INFO");
    assert_file(stage, "arguments", "get token|$HOME|");
    /* Each once, wherever it was set before. */
    assert_file(stage, "words", "WORD=a b\nKUBERNETES_EXEC_INFO\n");
    assert_file(stage, "info",
                "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                "\",\"spec\":{\"interactive\":false}}");
}

static void test_look__tells_the_plugin_the_cluster_when_it_wants_to_know(void **state)
{
    struct stage *stage = *state;

    answer_with(stage, "\"token\":\"t1\"");
    stage->exec.wants_cluster = true;
    stage->config.exec_cluster = (char *)(uintptr_t)"{\"a\":1}";
    assert_token(stage, 0, 0, "t1");
    assert_file(stage, "info",
                "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                "\",\"spec\":{\"interactive\":false,\"cluster\":{\"server\":"
                "\"https://api:6443\",\"config\":{\"a\":1}}}}");
}

static void test_look__does_not_wait_for_the_plugin(void **state)
{
    struct stage *stage = *state;
    struct error err = {0};
    int fds[2];

    scratch_put(stage->folder, "plugin", "#!/bin/sh\nsleep 1000\n");
    assert_int_equal(exec_credential_look(stage->credential, NULL, 0, 0, &err), CREDENTIAL_AWAITED);
    assert_null(exec_credential_answer(stage->credential));
    assert_int_equal(exec_credential_fds(stage->credential, fds), 2);
    assert_int_equal(exec_credential_due_ms(stage->credential, 0), 60000);
    assert_int_equal(exec_credential_look(stage->credential, NULL, 59999, 0, &err),
                     CREDENTIAL_AWAITED);
    assert_int_equal(exec_credential_look(stage->credential, NULL, 60000, 0, &err),
                     CREDENTIAL_MISSING);
    assert_contains(err.text, "it did not end within 60 s");
}

/* --- the answer ------------------------------------------------------------------------------ */

static void test_look__takes_a_certificate(void **state)
{
    AUTO(pki_pair_clear) struct pki_pair authority = pki_authority("a");
    AUTO(pki_pair_clear) struct pki_pair client = pki_issue(&authority, "c");
    AUTO(buf_clear) struct buf status = buf_with_max(1 << 20);
    struct stage *stage = *state;
    struct error err = {0};

    buf_add_text(&status, "\"clientCertificateData\":");
    buf_add_json_string(&status, client.certificate);
    buf_add_text(&status, ",\"clientKeyData\":");
    buf_add_json_string(&status, client.key);
    answer_with(stage, buf_text(&status));
    assert_int_equal(look(stage, 0, 0, &err), CREDENTIAL_READY);
    assert_string_equal(exec_credential_answer(stage->credential)->certificate, client.certificate);
    assert_string_equal(exec_credential_answer(stage->credential)->key, client.key);
}

static void test_look__refuses_a_certificate_with_the_key_of_another(void **state)
{
    AUTO(pki_pair_clear) struct pki_pair one = pki_authority("a");
    AUTO(pki_pair_clear) struct pki_pair other = pki_authority("b");
    AUTO(buf_clear) struct buf status = buf_with_max(1 << 20);
    struct stage *stage = *state;

    buf_add_text(&status, "\"clientCertificateData\":");
    buf_add_json_string(&status, one.certificate);
    buf_add_text(&status, ",\"clientKeyData\":");
    buf_add_json_string(&status, other.key);
    answer_with(stage, buf_text(&status));
    assert_missing(stage, 0, 0, "do not belong together");
}

static void test_look__keeps_a_credential_until_it_expires(void **state)
{
    struct stage *stage = *state;

    answer_with(stage, "\"token\":\"t1\",\"expirationTimestamp\":\"1970-01-01T00:01:40Z\"");
    assert_token(stage, 0, 0, "t1");
    answer_with(stage, "\"token\":\"t2\"");
    assert_token(stage, 99000, 99, "t1");
    assert_int_equal(count_runs(stage), 1);
    assert_token(stage, 100000, 100, "t2");
    assert_token(stage, 10000000, 10000, "t2");
    assert_int_equal(count_runs(stage), 2);
}

static void test_look__runs_the_plugin_again_when_its_credential_is_refused(void **state)
{
    struct stage *stage = *state;

    answer_with(stage, "\"token\":\"t1\"");
    assert_token(stage, 0, 0, "t1");
    exec_credential_on_taken(stage->credential, 1);
    answer_with(stage, "\"token\":\"t2\"");
    exec_credential_on_refused(stage->credential, 1, 10);
    assert_token(stage, 10, 0, "t2");
    /* The answer to a request that was sent before. */
    exec_credential_on_refused(stage->credential, 1, 10);
    assert_token(stage, 1000000, 0, "t2");
    assert_int_equal(count_runs(stage), 2);
}

static void test_look__pauses_when_a_fresh_credential_is_refused(void **state)
{
    struct stage *stage = *state;

    answer_with(stage, "\"token\":\"t1\"");
    assert_token(stage, 0, 0, "t1");
    exec_credential_on_refused(stage->credential, 1, 0);
    answer_with(stage, "\"token\":\"t2\"");
    assert_token(stage, 999, 0, "t1");
    assert_token(stage, 2000, 0, "t2");
    assert_int_equal(count_runs(stage), 2);
}

static void test_look__pauses_longer_and_longer_while_the_plugin_fails(void **state)
{
    static const uint64_t pauses_ms[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    struct stage *stage = *state;
    uint64_t now_ms = 0;

    scratch_put(stage->folder, "plugin",
                "#!/bin/sh\necho run >>\"${0%/*}\"/runs\necho no network >&2\nexit 1\n");
    for (unsigned i = 0; i < ARRAY_LEN(pauses_ms); i++) {
        assert_missing(stage, now_ms, 0, "it ended with exit status 1: no network");
        assert_int_equal(count_runs(stage), i + 1);
        assert_missing(stage, now_ms + pauses_ms[i] - 1, 0, "no network");
        assert_int_equal(count_runs(stage), i + 1);
        now_ms += 2 * pauses_ms[i];
    }
    scratch_put(stage->folder, "plugin", plugin_text);
    answer_with(stage, "\"token\":\"t1\"");
    assert_token(stage, now_ms, 0, "t1");
}

static void test_look__uses_what_it_has_while_the_plugin_cannot_renew_it(void **state)
{
    struct stage *stage = *state;

    answer_with(stage, "\"token\":\"t1\",\"expirationTimestamp\":\"1970-01-01T00:01:40Z\"");
    assert_token(stage, 0, 0, "t1");
    exec_credential_on_taken(stage->credential, 1);
    answer_with(stage, "");
    exec_credential_on_refused(stage->credential, 1, 0);
    assert_token(stage, 0, 0, "t1");
    assert_int_equal(count_runs(stage), 2);
    assert_missing(stage, 100, 100, "neither a token nor a certificate");
}

static void test_look__does_not_take_an_expired_credential(void **state)
{
    struct stage *stage = *state;

    answer_with(stage, "\"token\":\"t1\",\"expirationTimestamp\":\"1970-01-01T00:01:40Z\"");
    assert_missing(stage, 0, 100, "has expired already");
    assert_missing(stage, 1, 100, "has expired already");
    assert_int_equal(count_runs(stage), 1);
}

static void test_look__gives_the_hint_when_there_is_no_such_plugin(void **state)
{
    struct stage *stage = *state;

    free(stage->exec.command);
    stage->exec.command = xstrdup("/nonexistent/plugin");
    stage->exec.install_hint = (char *)(uintptr_t)"get it at example.org";
    assert_missing(stage, 0, 0, "No such file or directory; get it at example.org");
}

static void test_look__bounds_what_the_plugin_writes(void **state)
{
    struct stage *stage = *state;

    scratch_put(stage->folder, "plugin", "#!/bin/sh\nhead -c 65537 /dev/zero\n");
    assert_missing(stage, 0, 0, "it wrote more than 65536 bytes");
}

int main(void)
{
#define ON_STAGE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_STAGE(test_look__runs_the_plugin_as_the_kubeconfig_says),
        ON_STAGE(test_look__tells_the_plugin_the_cluster_when_it_wants_to_know),
        ON_STAGE(test_look__does_not_wait_for_the_plugin),
        ON_STAGE(test_look__takes_a_certificate),
        ON_STAGE(test_look__refuses_a_certificate_with_the_key_of_another),
        ON_STAGE(test_look__keeps_a_credential_until_it_expires),
        ON_STAGE(test_look__runs_the_plugin_again_when_its_credential_is_refused),
        ON_STAGE(test_look__pauses_when_a_fresh_credential_is_refused),
        ON_STAGE(test_look__pauses_longer_and_longer_while_the_plugin_fails),
        ON_STAGE(test_look__uses_what_it_has_while_the_plugin_cannot_renew_it),
        ON_STAGE(test_look__does_not_take_an_expired_credential),
        ON_STAGE(test_look__gives_the_hint_when_there_is_no_such_plugin),
        ON_STAGE(test_look__bounds_what_the_plugin_writes),
    };

    return cmocka_run_group_tests_name("exec_credential", tests, NULL, NULL);
}
