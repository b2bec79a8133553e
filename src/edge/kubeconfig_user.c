/* SPDX-License-Identifier: Apache-2.0 */
/* kubeconfig - where the API server is, and who we are to it: the user section. */
#include "kubeconfig_reading.h"
#include "topofit/buf.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_MAX_BYTES 4096 /* one name or value: what servers take */

#define EXEC_GROUP "client.authentication.k8s.io/"

/* --- impersonation --------------------------------------------------------------------------- */

/* Nothing in it can end a header or begin another. */
static int check_header(const struct yaml_value *at, const char *text, struct error *err)
{
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 127)
            return kubeconfig_complain(at, err, "there is a control character in ", "this text");
    }
    if (strlen(text) > HEADER_MAX_BYTES)
        return kubeconfig_complain(at, err, "this text is too long", "");
    return 0;
}

/* As headers of `name`: one text, or each of a list. */
static int add_headers(const struct yaml_value *value, const char *name, struct kube_config *config,
                       struct error *err)
{
    if (kubeconfig_is_absent(value))
        return 0;
    if (value->type == YAML_MAP)
        return kubeconfig_complain(value, err, "neither a text nor a list: ", name);
    if (value->type == YAML_SCALAR) {
        if (check_header(value, value->text, err) < 0)
            return error_pass(err);
        kube_pairs_add(&config->impersonation, name, value->text);
        return 0;
    }
    for (size_t i = 0; i < value->count; i++) {
        const struct yaml_value *element = value->members[i].value;

        if (element->type != YAML_SCALAR)
            return kubeconfig_complain(element, err, "not a text: ", name);
        if (check_header(element, element->text, err) < 0)
            return error_pass(err);
        kube_pairs_add(&config->impersonation, name, element->text);
    }
    return 0;
}

/* What may not stand in a header's name is percent-encoded, as the API server reads it. */
static char *extra_header(const char *key)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "!#$&'*+-.^_`|~";
    AUTO(buf_clear) struct buf name = buf_with_max(4 * HEADER_MAX_BYTES);

    buf_add_text(&name, "Impersonate-Extra-");
    for (const char *at = key; *at != '\0'; at++) {
        if (strchr(plain, *at) != NULL)
            buf_add_byte(&name, *at);
        else
            buf_addf(&name, "%%%02X", (unsigned)(unsigned char)*at);
    }
    return buf_steal(&name);
}

static int read_extra(const struct yaml_value *extra, struct kube_config *config, struct error *err)
{
    if (kubeconfig_is_absent(extra))
        return 0;
    if (extra->type != YAML_MAP)
        return kubeconfig_complain(extra, err, "not a map: ", "as-user-extra");
    for (size_t i = 0; i < extra->count; i++) {
        const struct yaml_member *member = &extra->members[i];
        AUTO_FREE char *name = NULL;

        if (strlen(member->key) > HEADER_MAX_BYTES)
            return kubeconfig_complain(member->value, err, "the key is too long", "");
        name = extra_header(member->key);
        if (add_headers(member->value, name, config, err) < 0)
            return error_pass(err);
    }
    return 0;
}

int kubeconfig_read_impersonation(const struct yaml_value *user, struct kube_config *config,
                                  struct error *err)
{
    static const struct {
        const char *key, *header;
    } members[] = {
        {"as", "Impersonate-User"},
        {"as-uid", "Impersonate-Uid"},
        {"as-groups", "Impersonate-Group"},
    };

    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        if (add_headers(yaml_get(user, members[i].key), members[i].header, config, err) < 0)
            return error_pass(err);
    }
    if (read_extra(yaml_get(user, "as-user-extra"), config, err) < 0)
        return error_pass(err);
    if (config->impersonation.count > 0 && kubeconfig_is_absent(yaml_get(user, "as")))
        return kubeconfig_complain(user, err, "as-uid, as-groups and as-user-extra need ", "as");
    return 0;
}

/* --- exec ------------------------------------------------------------------------------------ */

static int read_arguments(const struct yaml_value *list, struct kube_exec *out, struct error *err)
{
    if (kubeconfig_is_absent(list))
        return 0;
    if (list->type != YAML_LIST)
        return kubeconfig_complain(list, err, "not a list: ", "args");
    out->arguments = xcalloc(list->count, sizeof *out->arguments);
    for (size_t i = 0; i < list->count; i++) {
        if (list->members[i].value->type != YAML_SCALAR)
            return kubeconfig_complain(list->members[i].value, err, "not a text in ", "args");
        out->arguments[out->argument_count++] = xstrdup(list->members[i].value->text);
    }
    return 0;
}

static int read_variables(const struct yaml_value *list, struct kube_exec *out, struct error *err)
{
    if (kubeconfig_is_absent(list))
        return 0;
    if (list->type != YAML_LIST)
        return kubeconfig_complain(list, err, "not a list: ", "env");
    for (size_t i = 0; i < list->count; i++) {
        const struct yaml_value *element = list->members[i].value;
        AUTO_FREE char *name = NULL;
        AUTO_FREE char *value = NULL;

        if (kubeconfig_read_text(element, "name", &name, err) < 0 ||
            kubeconfig_read_text(element, "value", &value, err) < 0)
            return error_pass(err);
        if (name == NULL || strchr(name, '=') != NULL)
            return kubeconfig_complain(element, err, "env: not a variable's name", "");
        kube_pairs_add(&out->variables, name, value != NULL ? value : "");
    }
    return 0;
}

/* A word that a person must be at hand for is refused: nobody sits at a daemon. */
static int check_mode(const struct yaml_value *exec, const struct kube_exec *out, struct error *err)
{
    const struct yaml_value *at = yaml_get(exec, "interactiveMode");
    AUTO_FREE char *mode = NULL;

    if (kubeconfig_read_text(exec, "interactiveMode", &mode, err) < 0)
        return error_pass(err);
    if (mode == NULL && strcmp(out->api_version, EXEC_GROUP "v1") == 0)
        return kubeconfig_complain(exec, err, "exec: v1 requires ", "interactiveMode");
    if (mode == NULL || strcmp(mode, "Never") == 0 || strcmp(mode, "IfAvailable") == 0)
        return 0;
    if (strcmp(mode, "Always") == 0)
        return kubeconfig_complain(at, err,
                                   "exec: a plugin that must ask a person cannot be used: "
                                   "interactiveMode is ",
                                   mode);
    return kubeconfig_complain(at, err,
                               "interactiveMode is neither Never, IfAvailable nor Always: ", mode);
}

/* A plain name is looked for in PATH; one with a slash is relative to the kubeconfig. */
static int read_command(const struct yaml_value *exec, const char *path, struct kube_exec *out,
                        struct error *err)
{
    AUTO_FREE char *name = NULL;

    if (kubeconfig_read_text(exec, "command", &name, err) < 0)
        return error_pass(err);
    if (name == NULL)
        return kubeconfig_complain(exec, err, "exec: there is no ", "command");
    out->command = strchr(name, '/') != NULL ? kubeconfig_resolve(name, path) : steal_ptr(&name);
    return 0;
}

static int check_version(const struct yaml_value *exec, const struct kube_exec *out,
                         struct error *err)
{
    if (out->api_version == NULL)
        return kubeconfig_complain(exec, err, "exec: there is no ", "apiVersion");
    if (strcmp(out->api_version, EXEC_GROUP "v1") != 0 &&
        strcmp(out->api_version, EXEC_GROUP "v1beta1") != 0)
        return kubeconfig_complain(yaml_get(exec, "apiVersion"), err,
                                   "exec: the apiVersion is neither " EXEC_GROUP
                                   "v1 nor " EXEC_GROUP "v1beta1: ",
                                   out->api_version);
    return 0;
}

static int read_exec(const struct yaml_value *exec, const char *path, struct kube_config *config,
                     struct error *err)
{
    struct kube_exec *out;

    if (kubeconfig_is_absent(exec))
        return 0;
    if (exec->type != YAML_MAP)
        return kubeconfig_complain(exec, err, "not a map: ", "exec");
    out = config->exec = xcalloc(1, sizeof *out);
    if (kubeconfig_read_text(exec, "apiVersion", &out->api_version, err) < 0 ||
        check_version(exec, out, err) < 0 || read_command(exec, path, out, err) < 0 ||
        read_arguments(yaml_get(exec, "args"), out, err) < 0 ||
        read_variables(yaml_get(exec, "env"), out, err) < 0 ||
        kubeconfig_read_text(exec, "installHint", &out->install_hint, err) < 0 ||
        kubeconfig_read_bool(exec, "provideClusterInfo", &out->wants_cluster, err) < 0 ||
        check_mode(exec, out, err) < 0)
        return error_pass(err);
    return 0;
}

/* --- the whole ------------------------------------------------------------------------------- */

static int check_pair(const struct yaml_value *user, const struct kube_config *config,
                      struct error *err)
{
    bool has_certificate = config->client_certificate.file || config->client_certificate.text;
    bool has_key = config->client_key.file || config->client_key.text;

    if (has_certificate != has_key)
        return kubeconfig_complain(user, err,
                                   "client-certificate and client-key belong together: no ",
                                   has_key ? "client-certificate" : "client-key");
    return 0;
}

/* Which of two would count is hard to tell, so there may be one only. */
static int check_one_way(const struct yaml_value *user, const struct kube_config *config,
                         struct error *err)
{
    bool has_token = config->token != NULL || config->token_file != NULL;

    if (has_token && config->user_name != NULL)
        return kubeconfig_complain(user, err,
                                   "a token together with a username: ", "keep one of them");
    if (config->password != NULL && config->user_name == NULL)
        return kubeconfig_complain(user, err, "there is a password and no ", "username");
    if (config->exec != NULL &&
        (has_token || config->user_name != NULL || config->client_certificate.file != NULL ||
         config->client_certificate.text != NULL))
        return kubeconfig_complain(user, err,
                                   "exec together with other credentials: ", "keep one of them");
    return 0;
}

int kubeconfig_read_user(const struct yaml_value *user, const char *path,
                         struct kube_config *config, struct error *err)
{
    const struct yaml_value *provider = yaml_get(user, "auth-provider");

    /* client-go dropped the providers in 1.26; exec plugins took their place. */
    if (!kubeconfig_is_absent(provider))
        return kubeconfig_complain(provider, err,
                                   "not supported, use exec instead: ", "auth-provider");
    if (kubeconfig_read_text(user, "token", &config->token, err) < 0 ||
        kubeconfig_read_file_name(user, "tokenFile", path, &config->token_file, err) < 0 ||
        kubeconfig_read_pem(user, "client-certificate", path, &config->client_certificate, err) <
            0 ||
        kubeconfig_read_pem(user, "client-key", path, &config->client_key, err) < 0 ||
        kubeconfig_read_text(user, "username", &config->user_name, err) < 0 ||
        kubeconfig_read_text(user, "password", &config->password, err) < 0 ||
        read_exec(yaml_get(user, "exec"), path, config, err) < 0 ||
        check_pair(user, config, err) < 0)
        return error_pass(err);
    return check_one_way(user, config, err);
}
