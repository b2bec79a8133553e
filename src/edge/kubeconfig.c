/* SPDX-License-Identifier: Apache-2.0 */
/* kubeconfig - where the API server is, and who we are to it: what the files say. */
#include "topofit/kubeconfig.h"

#include "kubeconfig_reading.h"
#include "topofit/buf.h"
#include "topofit/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Where a cluster says what only its exec plugin understands. */
#define EXEC_EXTENSION "client.authentication.k8s.io/exec"

static void pem_clear(struct kube_pem *pem)
{
    free(pem->file);
    free(pem->text);
    *pem = (struct kube_pem){0};
}

static void exec_free(struct kube_exec *exec)
{
    if (exec == NULL)
        return;
    for (size_t i = 0; i < exec->argument_count; i++)
        free(exec->arguments[i]);
    free(exec->arguments);
    kube_pairs_clear(&exec->variables);
    free(exec->api_version);
    free(exec->command);
    free(exec->install_hint);
    free(exec);
}

void kube_config_clear(struct kube_config *config)
{
    pem_clear(&config->ca);
    pem_clear(&config->client_certificate);
    pem_clear(&config->client_key);
    exec_free(config->exec);
    kube_pairs_clear(&config->impersonation);
    free(config->exec_cluster);
    free(config->origin);
    free(config->server);
    free(config->namespace);
    free(config->tls_server_name);
    free(config->proxy_url);
    free(config->token);
    free(config->token_file);
    free(config->user_name);
    free(config->password);
    *config = (struct kube_config){0};
}

/* --- all files together ---------------------------------------------------------------------- */

/* One of the files, as read. */
struct document {
    const char *path;
    struct yaml_value *documents; /* owned */
    const struct yaml_value *root;
};

struct documents {
    struct document *items;
    size_t count;
};

static void documents_clear(struct documents *all)
{
    for (size_t i = 0; i < all->count; i++)
        yaml_value_free(all->items[i].documents);
    free(all->items);
}

static int read_document(const struct kubeconfig_text *text, struct document *out,
                         struct error *err)
{
    out->path = text->path;
    if (yaml_read(text->bytes, text->length, &out->documents, err) < 0)
        return error_wrap(err, "kubeconfig %s", text->path);
    if (out->documents->count == 0 || out->documents->members[0].value->type != YAML_MAP)
        return error_set(err, ERR_INVALID, "kubeconfig %s: this is not a map of keys", text->path);
    out->root = out->documents->members[0].value;
    return 0;
}

/* A section of some file. */
struct section {
    const char *path;
    const struct yaml_value *map;
};

/* The element of root's `list` that has this name, or NULL. */
static const struct yaml_value *find_element(const struct yaml_value *root, const char *list,
                                             const char *name)
{
    const struct yaml_value *elements = yaml_get(root, list);

    for (size_t i = 0; elements != NULL && elements->type == YAML_LIST && i < elements->count;
         i++) {
        const struct yaml_value *element = elements->members[i].value;
        const struct yaml_value *own = element->type == YAML_MAP ? yaml_get(element, "name") : NULL;

        if (own != NULL && own->type == YAML_SCALAR && strcmp(own->text, name) == 0)
            return element;
    }
    return NULL;
}

/* The `member` map of the first element with this name; that of later files is not looked at. */
static int find_named(const struct documents *all, const char *list, const char *member,
                      const char *name, struct section *out, struct error *err)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct yaml_value *element = find_element(all->items[i].root, list, name);

        if (element == NULL)
            continue;
        *out = (struct section){all->items[i].path, yaml_get(element, member)};
        if (out->map == NULL || out->map->type != YAML_MAP) {
            kubeconfig_complain(element, err, "there is no map of name ", member);
            return error_wrap(err, "kubeconfig %s", out->path);
        }
        return 0;
    }
    error_set(err, ERR_INVALID, "no \"%.100s\" in %s", name, list);
    return error_wrap(err, "kubeconfig %s%s", all->items[0].path,
                      all->count > 1 ? " and those behind it" : "");
}

/* --- the cluster ----------------------------------------------------------------------------- */

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

/* Go's client takes these three and no others, and so do we. */
static int check_proxy(const struct yaml_value *cluster, const struct kube_config *config,
                       struct error *err)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://"};
    const struct yaml_value *at = yaml_get(cluster, "proxy-url");

    if (config->proxy_url == NULL)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t length = strlen(schemes[i]);
        const char *account = strrchr(config->proxy_url, '@');

        if (strncmp(config->proxy_url, schemes[i], length) != 0)
            continue;
        if (strpbrk(config->proxy_url, " \t\r\n") == NULL &&
            is_plain_address(account != NULL ? account + 1 : config->proxy_url + length))
            return 0;
        return kubeconfig_complain(at, err, "proxy-url: not a plain address", "");
    }
    return kubeconfig_complain(at, err, "proxy-url: neither http://, https:// nor socks5://", "");
}

static void read_exec_extension(const struct yaml_value *cluster, struct kube_config *config)
{
    const struct yaml_value *element = find_element(cluster, "extensions", EXEC_EXTENSION);
    const struct yaml_value *value = element != NULL ? yaml_get(element, "extension") : NULL;
    AUTO(buf_clear) struct buf text = buf_with_max(KUBECONFIG_MAX_BYTES);

    if (value == NULL)
        return;
    yaml_write_json(value, &text);
    if (!text.overflowed)
        config->exec_cluster = buf_steal(&text);
}

static int read_cluster(const struct section *section, struct kube_config *config,
                        struct error *err)
{
    const struct yaml_value *cluster = section->map;

    if (kubeconfig_read_text(cluster, "server", &config->server, err) < 0 ||
        check_server(config, err) < 0 ||
        kubeconfig_read_text(cluster, "tls-server-name", &config->tls_server_name, err) < 0 ||
        kubeconfig_read_text(cluster, "proxy-url", &config->proxy_url, err) < 0 ||
        check_proxy(cluster, config, err) < 0 ||
        kubeconfig_read_bool(cluster, "insecure-skip-tls-verify", &config->insecure, err) < 0 ||
        kubeconfig_read_pem(cluster, "certificate-authority", section->path, &config->ca, err) < 0)
        return error_pass(err);
    if (config->insecure && (config->ca.file != NULL || config->ca.text != NULL))
        return kubeconfig_complain(cluster, err, "insecure-skip-tls-verify together with a ",
                                   "certificate-authority: keep one of them");
    read_exec_extension(cluster, config);
    return 0;
}

/* --- the whole ------------------------------------------------------------------------------- */

static int find_context(const struct documents *all, struct section *out, struct error *err)
{
    AUTO_FREE char *current = NULL;

    for (size_t i = 0; i < all->count && current == NULL; i++) {
        if (kubeconfig_read_text(all->items[i].root, "current-context", &current, err) < 0)
            return error_wrap(err, "kubeconfig %s", all->items[i].path);
    }
    if (current == NULL)
        return error_set(err, ERR_INVALID, "kubeconfig %s: no current-context", all->items[0].path);
    return find_named(all, "contexts", "context", current, out, err);
}

static int read_context(const struct section *context, char **cluster, char **user,
                        struct error *err)
{
    if (kubeconfig_read_text(context->map, "cluster", cluster, err) < 0 ||
        kubeconfig_read_text(context->map, "user", user, err) < 0)
        return error_pass(err);
    if (*cluster == NULL)
        return kubeconfig_complain(context->map, err, "the context names no cluster", "");
    return 0;
}

/* With http:// there are no credentials: anybody on the way could read them. */
static int read_user(const struct section *user, struct kube_config *config, struct error *err)
{
    if (kubeconfig_read_impersonation(user->map, config, err) < 0)
        return error_pass(err);
    if (strncmp(config->server, "http://", 7) == 0)
        return 0;
    return kubeconfig_read_user(user->map, user->path, config, err);
}

static int read_all(const struct documents *all, struct kube_config *config, struct error *err)
{
    AUTO_FREE char *cluster_name = NULL;
    AUTO_FREE char *user_name = NULL;
    struct section context, cluster, user;

    if (find_context(all, &context, err) < 0)
        return error_pass(err);
    if (read_context(&context, &cluster_name, &user_name, err) < 0 ||
        kubeconfig_read_text(context.map, "namespace", &config->namespace, err) < 0)
        return error_wrap(err, "kubeconfig %s", context.path);
    if (find_named(all, "clusters", "cluster", cluster_name, &cluster, err) < 0)
        return error_pass(err);
    if (read_cluster(&cluster, config, err) < 0)
        return error_wrap(err, "kubeconfig %s", cluster.path);
    if (user_name == NULL)
        return 0;
    if (find_named(all, "users", "user", user_name, &user, err) < 0)
        return error_pass(err);
    if (read_user(&user, config, err) < 0)
        return error_wrap(err, "kubeconfig %s", user.path);
    return 0;
}

int kubeconfig_parse(const struct kubeconfig_text *texts, size_t count, struct kube_config *out,
                     struct error *err)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    AUTO(documents_clear) struct documents all = {0};

    all.items = xcalloc(count, sizeof *all.items);
    for (; all.count < count; all.count++) {
        if (read_document(&texts[all.count], &all.items[all.count], err) < 0) {
            all.count++;
            return error_pass(err);
        }
    }
    if (read_all(&all, &config, err) < 0)
        return error_pass(err);
    config.origin = xasprintf("kubeconfig %s%s", texts[0].path, count > 1 ? " and others" : "");
    *out = config;
    config = (struct kube_config){0};
    return 0;
}
