/* SPDX-License-Identifier: Apache-2.0 */
/* kubeconfig - where the API server is, and who we are to it: what the file says. */
#include "topofit/kubeconfig.h"

#include "topofit/base64.h"
#include "topofit/mem.h"
#include "topofit/yaml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void pem_clear(struct kube_pem *pem)
{
    free(pem->file);
    free(pem->text);
    *pem = (struct kube_pem){0};
}

static void drop_credentials(struct kube_config *config)
{
    pem_clear(&config->client_certificate);
    pem_clear(&config->client_key);
    free(config->token);
    free(config->token_file);
    config->token = config->token_file = NULL;
}

void kube_config_clear(struct kube_config *config)
{
    drop_credentials(config);
    pem_clear(&config->ca);
    free(config->origin);
    free(config->server);
    free(config->tls_server_name);
    *config = (struct kube_config){0};
}

/* --- members --------------------------------------------------------------------------------- */

static int complain(const struct yaml_value *at, struct error *err, const char *text,
                    const char *word)
{
    return error_set(err, ERR_INVALID, "line %u, column %u: %s%s", at->line, at->column, text,
                     word);
}

static bool is_absent(const struct yaml_value *value)
{
    if (value == NULL)
        return true;
    if (value->type != YAML_SCALAR)
        return value->count == 0;
    return value->text[0] == '\0' ||
           (!value->quoted && (strcmp(value->text, "null") == 0 || strcmp(value->text, "~") == 0));
}

/* NULL in *out when the member is missing, null or empty. */
static int read_text(const struct yaml_value *map, const char *key, char **out, struct error *err)
{
    const struct yaml_value *value = yaml_get(map, key);

    if (is_absent(value))
        return 0;
    if (value->type != YAML_SCALAR)
        return complain(value, err, "not a text: ", key);
    *out = xstrdup(value->text);
    return 0;
}

static int read_bool(const struct yaml_value *map, const char *key, bool *out, struct error *err)
{
    const struct yaml_value *value = yaml_get(map, key);

    if (is_absent(value))
        return 0;
    if (value->type == YAML_SCALAR && !value->quoted && strcmp(value->text, "true") == 0)
        *out = true;
    else if (value->type != YAML_SCALAR || value->quoted || strcmp(value->text, "false") != 0)
        return complain(value, err, "neither true nor false: ", key);
    return 0;
}

/* A file name, relative to the folder of the kubeconfig. */
static int read_file_name(const struct yaml_value *map, const char *key, const char *path,
                          char **out, struct error *err)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *name = NULL;

    if (read_text(map, key, &name, err) < 0)
        return -(int)err->code;
    if (name == NULL || name[0] == '/' || slash == NULL)
        *out = steal_ptr(&name);
    else
        *out = xasprintf("%.*s/%s", (int)(slash - path), path, name);
    return 0;
}

/* `key`-data wins over `key`, a file. */
static int read_pem(const struct yaml_value *map, const char *key, const char *path,
                    struct kube_pem *out, struct error *err)
{
    AUTO_FREE char *data_key = xasprintf("%s-data", key);
    AUTO_FREE char *encoded = NULL;
    size_t length = 0;

    if (read_text(map, data_key, &encoded, err) < 0)
        return -(int)err->code;
    if (encoded == NULL)
        return read_file_name(map, key, path, &out->file, err);
    if (base64_decode(encoded, &out->text, &length, err) < 0)
        return error_wrap(err, "line %u: %s", yaml_get(map, data_key)->line, data_key);
    if (strlen(out->text) != length || strstr(out->text, "-----BEGIN") == NULL)
        return complain(yaml_get(map, data_key), err, "not a PEM text: ", data_key);
    return 0;
}

/* --- what cannot be honoured ----------------------------------------------------------------- */

static const char *const CLUSTER_UNSUPPORTED[] = {"proxy-url", NULL};
static const char *const USER_UNSUPPORTED[] = {
    "exec",          "auth-provider", "as",       "as-uid", "as-groups",
    "as-user-extra", "username",      "password", NULL,
};

static int refuse_unsupported(const struct yaml_value *map, const char *const *keys,
                              struct error *err)
{
    for (; *keys != NULL; keys++) {
        const struct yaml_value *value = yaml_get(map, *keys);

        if (!is_absent(value))
            return complain(value, err, "not supported yet: ", *keys);
    }
    return 0;
}

/* --- sections -------------------------------------------------------------------------------- */

/* The `member` map of the element of root's `list` that has this name. */
static int find_named(const struct yaml_value *root, const char *list, const char *member,
                      const char *name, const struct yaml_value **out, struct error *err)
{
    const struct yaml_value *elements = yaml_get(root, list);

    for (size_t i = 0; elements != NULL && elements->type == YAML_LIST && i < elements->count;
         i++) {
        const struct yaml_value *element = elements->members[i].value;
        const struct yaml_value *own = element->type == YAML_MAP ? yaml_get(element, "name") : NULL;

        if (own == NULL || own->type != YAML_SCALAR || strcmp(own->text, name) != 0)
            continue;
        *out = yaml_get(element, member);
        if (*out == NULL || (*out)->type != YAML_MAP)
            return complain(element, err, "there is no map of name ", member);
        return 0;
    }
    return error_set(err, ERR_INVALID, "no \"%.100s\" in %s", name, list);
}

/* host, host:port, [v6], [v6]:port, all with a path behind it or none */
static bool is_plain_address(const char *rest)
{
    size_t host = rest[0] == '[' ? strcspn(rest, "]/") + 1 : strcspn(rest, ":/");
    size_t digits;

    if (strpbrk(rest, " \t\r\n?#@\\\"") != NULL || host <= (rest[0] == '[' ? 2u : 0u) ||
        host > strlen(rest))
        return false;
    if (rest[host] != ':')
        return rest[host] == '\0' || rest[host] == '/';
    digits = strspn(rest + host + 1, "0123456789");
    return digits >= 1 && digits <= 5 && strtoul(rest + host + 1, NULL, 10) <= UINT16_MAX &&
           (rest[host + 1 + digits] == '\0' || rest[host + 1 + digits] == '/');
}

static int check_server(struct kube_config *config, struct error *err)
{
    const char *server = config->server;

    if (server == NULL)
        return error_set(err, ERR_INVALID, "the cluster has no server");
    if (strncmp(server, "https://", 8) != 0 && strncmp(server, "http://", 7) != 0)
        return error_set(err, ERR_INVALID, "server \"%.100s\": neither https:// nor http://",
                         server);
    if (!is_plain_address(strstr(server, "://") + 3))
        return error_set(err, ERR_INVALID, "server \"%.100s\": not a plain address", server);
    for (size_t length = strlen(server); config->server[length - 1] == '/'; length--)
        config->server[length - 1] = '\0';
    return 0;
}

static int read_cluster(const struct yaml_value *cluster, const char *path,
                        struct kube_config *config, struct error *err)
{
    if (refuse_unsupported(cluster, CLUSTER_UNSUPPORTED, err) < 0 ||
        read_text(cluster, "server", &config->server, err) < 0 || check_server(config, err) < 0 ||
        read_text(cluster, "tls-server-name", &config->tls_server_name, err) < 0 ||
        read_bool(cluster, "insecure-skip-tls-verify", &config->insecure, err) < 0 ||
        read_pem(cluster, "certificate-authority", path, &config->ca, err) < 0)
        return -(int)err->code;
    if (config->insecure && (config->ca.file != NULL || config->ca.text != NULL))
        return complain(cluster, err, "insecure-skip-tls-verify together with a ",
                        "certificate-authority: keep one of them");
    return 0;
}

static int read_user(const struct yaml_value *user, const char *path, struct kube_config *config,
                     struct error *err)
{
    bool has_certificate, has_key;

    if (refuse_unsupported(user, USER_UNSUPPORTED, err) < 0 ||
        read_text(user, "token", &config->token, err) < 0 ||
        read_file_name(user, "tokenFile", path, &config->token_file, err) < 0 ||
        read_pem(user, "client-certificate", path, &config->client_certificate, err) < 0 ||
        read_pem(user, "client-key", path, &config->client_key, err) < 0)
        return -(int)err->code;
    has_certificate = config->client_certificate.file || config->client_certificate.text;
    has_key = config->client_key.file || config->client_key.text;
    if (has_certificate != has_key)
        return complain(user, err, "client-certificate and client-key belong together: no ",
                        has_key ? "client-certificate" : "client-key");
    return 0;
}

static int read_root(const struct yaml_value *root, const char *path, struct kube_config *config,
                     struct error *err)
{
    AUTO_FREE char *current = NULL;
    AUTO_FREE char *cluster_name = NULL;
    AUTO_FREE char *user_name = NULL;
    const struct yaml_value *context = NULL;
    const struct yaml_value *section = NULL;

    if (read_text(root, "current-context", &current, err) < 0)
        return -(int)err->code;
    if (current == NULL)
        return error_set(err, ERR_INVALID, "no current-context");
    if (find_named(root, "contexts", "context", current, &context, err) < 0 ||
        read_text(context, "cluster", &cluster_name, err) < 0 ||
        read_text(context, "user", &user_name, err) < 0)
        return -(int)err->code;
    if (cluster_name == NULL)
        return complain(context, err, "the context names no cluster", "");
    if (find_named(root, "clusters", "cluster", cluster_name, &section, err) < 0 ||
        read_cluster(section, path, config, err) < 0)
        return -(int)err->code;
    if (strncmp(config->server, "http://", 7) == 0 || user_name == NULL)
        return 0;
    if (find_named(root, "users", "user", user_name, &section, err) < 0)
        return -(int)err->code;
    return read_user(section, path, config, err);
}

int kubeconfig_parse(const char *bytes, size_t length, const char *path, struct kube_config *out,
                     struct error *err)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    AUTO(yaml_free_pointer) struct yaml_value *documents = NULL;

    if (yaml_read(bytes, length, &documents, err) < 0)
        return error_wrap(err, "kubeconfig %s", path);
    if (documents->count == 0 || documents->members[0].value->type != YAML_MAP)
        return error_set(err, ERR_INVALID, "kubeconfig %s: this is not a map of keys", path);
    if (read_root(documents->members[0].value, path, &config, err) < 0)
        return error_wrap(err, "kubeconfig %s", path);
    config.origin = xasprintf("kubeconfig %s", path);
    *out = config;
    config = (struct kube_config){0};
    return 0;
}
