/* SPDX-License-Identifier: Apache-2.0 */
/* exec_credential - the credential that a plugin of a kubeconfig hands out, and its renewal. */
#include "topofit/exec_credential.h"

#include "topofit/backoff.h"
#include "topofit/child.h"
#include "topofit/mem.h"
#include "topofit/pem.h"
#include "topofit/secret.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INFO_VARIABLE "KUBERNETES_EXEC_INFO"
#define INFO_MAX_BYTES (2u << 20) /* the kernel takes less, and says so */

static const struct backoff_limits pauses = {
    .first_ms = 1000,
    .longest_ms = 60000,
    .quiet_ms = 120000,
};

struct exec_credential {
    const struct kube_config *config;
    struct child child;
    struct exec_answer answer;
    unsigned number; /* of the answer; 0: there is none */
    bool is_taken;   /* the server took the answer at least once */
    bool is_refused;
    struct backoff backoff;
    uint64_t not_before_ms; /* the plugin is not started before that */
    struct error failure;   /* of the last run */
};

struct exec_credential *exec_credential_new(const struct kube_config *config)
{
    struct exec_credential *credential = xcalloc(1, sizeof *credential);

    credential->config = config;
    backoff_init(&credential->backoff, &pauses, secret_number());
    return credential;
}

void exec_credential_free(struct exec_credential *credential)
{
    if (credential == NULL)
        return;
    child_clear(&credential->child);
    exec_answer_clear(&credential->answer);
    free(credential);
}

/* --- the start of the plugin ----------------------------------------------------------------- */

struct environment {
    char **lines; /* ended by NULL */
    size_t count, capacity;
};

static void environment_clear(struct environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        free(environment->lines[i]);
    free(environment->lines);
}

static void add_line(struct environment *environment, char *steal_line)
{
    environment->lines = mem_grow(environment->lines, environment->count + 1,
                                  &environment->capacity, sizeof *environment->lines);
    environment->lines[environment->count++] = steal_line;
    environment->lines[environment->count] = NULL;
}

static bool is_set_by(const struct kube_pairs *variables, const char *line)
{
    AUTO_FREE char *name = xstrndup(line, strcspn(line, "="));

    return kube_pairs_get(variables, name) != NULL || strcmp(name, INFO_VARIABLE) == 0;
}

/* Ours, what the kubeconfig sets over it, and what the plugin is asked. */
static void fill_environment(const struct kube_config *config, const char *ca,
                             struct environment *out)
{
    const struct kube_exec *exec = config->exec;
    const struct exec_cluster cluster = {
        .server = config->server,
        .tls_server_name = config->tls_server_name,
        .proxy_url = config->proxy_url,
        .insecure = config->insecure,
        .ca = ca,
        .config = config->exec_cluster,
    };
    AUTO(buf_clear) struct buf info = buf_with_max(INFO_MAX_BYTES);

    for (char **line = environ; *line != NULL; line++) {
        if (!is_set_by(&exec->variables, *line))
            add_line(out, xstrdup(*line));
    }
    for (size_t i = 0; i < exec->variables.count; i++) {
        const struct kube_pair *variable = &exec->variables.items[i];
        bool is_last = kube_pairs_get(&exec->variables, variable->key) == variable->value;

        if (is_last && strcmp(variable->key, INFO_VARIABLE) != 0)
            add_line(out, xasprintf("%s=%s", variable->key, variable->value));
    }
    exec_credential_json_write_info(exec->api_version, exec->wants_cluster ? &cluster : NULL,
                                    &info);
    add_line(out, xasprintf("%s=%s", INFO_VARIABLE, buf_text(&info)));
}

static void fail(struct exec_credential *credential, const struct error *why, uint64_t now_ms)
{
    const struct kube_exec *exec = credential->config->exec;
    bool has_hint = why->code == ERR_NOT_FOUND && exec->install_hint != NULL;

    error_clear(&credential->failure);
    error_set(&credential->failure, ERR_DENIED, "exec plugin %s: %s%s%s", exec->command, why->text,
              has_hint ? "; " : "", has_hint ? exec->install_hint : "");
    credential->not_before_ms = now_ms + backoff_next_ms(&credential->backoff, now_ms);
}

static void start(struct exec_credential *credential, const char *ca, uint64_t now_ms)
{
    const struct kube_exec *exec = credential->config->exec;
    AUTO_FREE char **arguments = xcalloc(exec->argument_count + 1, sizeof *arguments);
    AUTO(environment_clear) struct environment environment = {0};
    struct child_plan plan = {
        .command = exec->command,
        .arguments = arguments,
        .output_max_bytes = EXEC_OUTPUT_MAX_BYTES,
        .time_max_ms = EXEC_TIME_MAX_MS,
    };
    struct error err = {0};

    for (size_t i = 0; i < exec->argument_count; i++)
        arguments[i] = exec->arguments[i];
    fill_environment(credential->config, ca, &environment);
    plan.environment = environment.lines;
    if (child_start(&credential->child, &plan, now_ms, &err) < 0)
        fail(credential, &err, now_ms);
}

/* --- its answer ------------------------------------------------------------------------------ */

static int read_answer(const struct exec_credential *credential, int64_t now_unix_s,
                       struct exec_answer *out, struct error *err)
{
    const struct buf *output = &credential->child.output;
    AUTO(exec_answer_clear) struct exec_answer answer = {0};

    if (exec_credential_json_read(buf_text(output), output->length,
                                  credential->config->exec->api_version, &answer, err) < 0)
        return error_pass(err);
    if (answer.certificate != NULL && pem_check_pair(answer.certificate, answer.key, err) < 0)
        return error_wrap(err, "what it wrote is no credential");
    if (answer.expires_unix_s <= now_unix_s)
        return error_set(err, ERR_INVALID, "the credential it wrote has expired already");
    *out = answer;
    answer = (struct exec_answer){0};
    return 0;
}

static void take_end(struct exec_credential *credential, struct error *how, uint64_t now_ms,
                     int64_t now_unix_s)
{
    struct exec_answer answer = {0};

    if (how->code != ERR_NONE || read_answer(credential, now_unix_s, &answer, how) < 0) {
        fail(credential, how, now_ms);
    } else {
        exec_answer_clear(&credential->answer);
        credential->answer = answer;
        credential->number++;
        credential->is_taken = credential->is_refused = false;
        error_clear(&credential->failure);
    }
    child_clear(&credential->child);
}

enum credential_state exec_credential_look(struct exec_credential *credential, const char *ca,
                                           uint64_t now_ms, int64_t now_unix_s, struct error *err)
{
    struct error how = {0};
    bool is_good;

    if (credential->child.pid != 0 && child_step(&credential->child, now_ms, &how))
        take_end(credential, &how, now_ms, now_unix_s);
    is_good = credential->number > 0 && now_unix_s < credential->answer.expires_unix_s;
    if (is_good && !credential->is_refused)
        return CREDENTIAL_READY;
    if (credential->child.pid == 0 && now_ms >= credential->not_before_ms)
        start(credential, ca, now_ms);
    if (credential->child.pid != 0)
        return CREDENTIAL_AWAITED;
    /* The server may think better of it meanwhile. */
    if (is_good)
        return CREDENTIAL_READY;
    *err = credential->failure;
    return CREDENTIAL_MISSING;
}

const struct exec_answer *exec_credential_answer(const struct exec_credential *credential)
{
    return credential->number > 0 ? &credential->answer : NULL;
}

const struct error *exec_credential_failure(const struct exec_credential *credential)
{
    return &credential->failure;
}

unsigned exec_credential_number(const struct exec_credential *credential)
{
    return credential->number;
}

void exec_credential_on_taken(struct exec_credential *credential, unsigned number)
{
    if (number == credential->number)
        credential->is_taken = true;
}

void exec_credential_on_refused(struct exec_credential *credential, unsigned number,
                                uint64_t now_ms)
{
    if (number != credential->number || credential->is_refused)
        return;
    credential->is_refused = true;
    error_clear(&credential->failure);
    error_set(&credential->failure, ERR_DENIED,
              "exec plugin %s: the API server refuses the credential that it gave",
              credential->config->exec->command);
    /* A fresh one will hardly do better. */
    if (!credential->is_taken)
        credential->not_before_ms = now_ms + backoff_next_ms(&credential->backoff, now_ms);
}

size_t exec_credential_fds(const struct exec_credential *credential, int fds[2])
{
    return child_fds(&credential->child, fds);
}

uint64_t exec_credential_due_ms(const struct exec_credential *credential, uint64_t now_ms)
{
    return child_due_ms(&credential->child, now_ms);
}
