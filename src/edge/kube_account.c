/* SPDX-License-Identifier: Apache-2.0 */
/* kubeconfig - where the API server is, and who we are to it: where that is found, its files. */
#include "topofit/file.h"
#include "topofit/kubeconfig.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMESPACE_MAX_BYTES 256
/* source  kubernetes.io/docs/tasks/run-application/access-api-from-pod */
#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

#define KUBECONFIG_FILES_MAX 32 /* of one $KUBECONFIG */

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static int read_pem_file(struct kube_pem *pem, struct error *err)
{
    AUTO(buf_clear) struct buf text = buf_with_max(KUBE_PEM_MAX_BYTES);

    if (pem->file == NULL || pem->text != NULL)
        return 0;
    if (file_read(pem->file, &text, err) < 0)
        return error_pass(err);
    if (strstr(buf_text(&text), "-----BEGIN") == NULL)
        return error_set(err, ERR_INVALID, "%s: not a PEM file", pem->file);
    pem->text = buf_steal(&text);
    return 0;
}

/* What can be known to fail later is found out now. */
static int read_files(struct kube_config *config, struct error *err)
{
    AUTO_FREE char *token = NULL;

    if (read_pem_file(&config->ca, err) < 0 ||
        read_pem_file(&config->client_certificate, err) < 0 ||
        read_pem_file(&config->client_key, err) < 0 ||
        kube_config_read_token(config, &token, err) < 0)
        return error_wrap(err, "%s", config->origin);
    return 0;
}

/* The files of a ':'-list, as far as they exist. */
struct files {
    struct kubeconfig_text items[KUBECONFIG_FILES_MAX];
    char *owned[2 * KUBECONFIG_FILES_MAX]; /* their paths and bytes */
    size_t count;
};

static void files_clear(struct files *files)
{
    for (size_t i = 0; i < 2 * files->count; i++)
        free(files->owned[i]);
}

static int add_file(struct files *files, const char *path, bool may_be_missing, struct error *err)
{
    AUTO(buf_clear) struct buf text = buf_with_max(KUBECONFIG_MAX_BYTES);

    if (files->count == KUBECONFIG_FILES_MAX)
        return error_set(err, ERR_LIMIT, "more than %d kubeconfigs", KUBECONFIG_FILES_MAX);
    if (file_read(path, &text, err) < 0 && may_be_missing && err->code == ERR_NOT_FOUND) {
        error_clear(err);
        return 0;
    }
    if (err->code != ERR_NONE)
        return error_wrap(err, "kubeconfig");
    files->items[files->count].length = text.length;
    files->items[files->count].path = files->owned[2 * files->count] = xstrdup(path);
    files->items[files->count].bytes = files->owned[2 * files->count + 1] = buf_steal(&text);
    files->count++;
    return 0;
}

static int add_files(struct files *files, const char *list, struct error *err)
{
    bool is_list = strchr(list, ':') != NULL;

    for (const char *at = list; *at != '\0';) {
        size_t length = strcspn(at, ":");
        AUTO_FREE char *path = xstrndup(at, length);

        if (length > 0 && add_file(files, path, is_list, err) < 0)
            return error_pass(err);
        at += length + (at[length] == ':');
    }
    if (files->count == 0)
        return error_set(err, ERR_NOT_FOUND, "kubeconfig: none of these exists: %s", list);
    return 0;
}

static int load_added(struct files *files, struct kube_config *out, struct error *err)
{
    AUTO(kube_config_clear) struct kube_config config = {0};

    if (kubeconfig_parse(files->items, files->count, &config, err) < 0 ||
        read_files(&config, err) < 0)
        return error_pass(err);
    *out = config;
    config = (struct kube_config){0};
    return 0;
}

static int load_file(const char *path, struct kube_config *out, struct error *err)
{
    AUTO(files_clear) struct files files = {0};

    if (add_file(&files, path, false, err) < 0)
        return error_pass(err);
    return load_added(&files, out, err);
}

static int load_files(const char *list, struct kube_config *out, struct error *err)
{
    AUTO(files_clear) struct files files = {0};

    if (add_files(&files, list, err) < 0)
        return error_pass(err);
    return load_added(&files, out, err);
}

/* Kubernetes puts it beside the token; without it the caller has a default. */
static char *read_namespace(const char *dir)
{
    AUTO(buf_clear) struct buf text = buf_with_max(NAMESPACE_MAX_BYTES);
    AUTO_FREE char *path = xasprintf("%s/namespace", dir);
    struct error err = {0};
    const char *begin;

    if (file_read(path, &text, &err) < 0)
        return NULL;
    begin = buf_text(&text);
    return xstrndup(begin, strcspn(begin, " \t\r\n"));
}

static int load_account(const struct kube_environment *environment, const char *dir,
                        struct kube_config *out, struct error *err)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    bool is_ipv6 = strchr(environment->service_host, ':') != NULL;
    const char *port = is_set(environment->service_port) ? environment->service_port : "443";

    config.origin = xstrdup("the account of this pod");
    config.server =
        xasprintf(is_ipv6 ? "https://[%s]:%s" : "https://%s:%s", environment->service_host, port);
    config.ca.file = xasprintf("%s/ca.crt", dir);
    config.token_file = xasprintf("%s/token", dir);
    config.namespace = read_namespace(dir);
    if (read_files(&config, err) < 0)
        return error_pass(err);
    *out = config;
    config = (struct kube_config){0};
    return 0;
}

struct kube_environment kube_environment_get(void)
{
    return (struct kube_environment){
        .kubeconfig = getenv("KUBECONFIG"),
        .home = getenv("HOME"),
        .service_host = getenv("KUBERNETES_SERVICE_HOST"),
        .service_port = getenv("KUBERNETES_SERVICE_PORT"),
    };
}

int kubeconfig_load(const char *path, const struct kube_environment *environment,
                    struct kube_config *out, struct error *err)
{
    const char *dir = is_set(environment->account_dir) ? environment->account_dir : ACCOUNT_DIR;
    AUTO_FREE char *account_token = xasprintf("%s/token", dir);
    AUTO_FREE char *in_home = NULL;

    if (is_set(path))
        return load_file(path, out, err);
    if (is_set(environment->kubeconfig))
        return load_files(environment->kubeconfig, out, err);
    if (is_set(environment->service_host) && access(account_token, F_OK) == 0)
        return load_account(environment, dir, out, err);
    if (is_set(environment->home))
        in_home = xasprintf("%s/.kube/config", environment->home);
    if (in_home != NULL && access(in_home, F_OK) == 0)
        return load_file(in_home, out, err);
    return error_set(
        err, ERR_NOT_FOUND,
        "no kubeconfig: name one, set KUBECONFIG, have ~/.kube/config, or run in a pod "
        "that has a service account token%s%s%s. Without a cluster: serve "
        "--cluster FILE",
        is_set(environment->service_host) ? " (there is no " : "",
        is_set(environment->service_host) ? account_token : "",
        is_set(environment->service_host) ? ")" : "");
}

int kube_config_read_token(const struct kube_config *config, char **out, struct error *err)
{
    AUTO(buf_clear) struct buf text = buf_with_max(KUBE_TOKEN_MAX_BYTES);
    const char *begin;
    size_t length;

    if (config->token_file != NULL && file_read(config->token_file, &text, err) < 0)
        return error_wrap(err, "token");
    if (config->token_file == NULL && config->token != NULL)
        buf_add_text(&text, config->token);
    begin = buf_text(&text) + strspn(buf_text(&text), " \t\r\n");
    length = strlen(begin);
    while (length > 0 && strchr(" \t\r\n", begin[length - 1]) != NULL)
        length--;
    if (config->token_file != NULL && length == 0)
        return error_set(err, ERR_INVALID, "token: %s is empty", config->token_file);
    if (strlen(buf_text(&text)) != text.length)
        return error_set(err, ERR_INVALID, "token: it has a NUL");
    if (strcspn(begin, "\r\n") < length)
        return error_set(err, ERR_INVALID, "token: it has more than one line");
    free(*out);
    *out = length > 0 ? xstrndup(begin, length) : NULL;
    return 0;
}
