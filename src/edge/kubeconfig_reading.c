/* SPDX-License-Identifier: Apache-2.0 */
/* kubeconfig_reading - members of a kubeconfig's maps, with errors that name their place. */
#include "kubeconfig_reading.h"

#include "topofit/base64.h"
#include "topofit/mem.h"

#include <string.h>

int kubeconfig_complain(const struct yaml_value *at, struct error *err, const char *text,
                        const char *word)
{
    return error_set(err, ERR_INVALID, "line %u, column %u: %s%s", at->line, at->column, text,
                     word);
}

bool kubeconfig_is_absent(const struct yaml_value *value)
{
    if (value == NULL)
        return true;
    if (value->type != YAML_SCALAR)
        return value->count == 0;
    return value->text[0] == '\0' ||
           (!value->quoted && (strcmp(value->text, "null") == 0 || strcmp(value->text, "~") == 0));
}

int kubeconfig_read_text(const struct yaml_value *map, const char *key, char **out,
                         struct error *err)
{
    const struct yaml_value *value = yaml_get(map, key);

    if (kubeconfig_is_absent(value))
        return 0;
    if (value->type != YAML_SCALAR)
        return kubeconfig_complain(value, err, "not a text: ", key);
    *out = xstrdup(value->text);
    return 0;
}

int kubeconfig_read_bool(const struct yaml_value *map, const char *key, bool *out,
                         struct error *err)
{
    const struct yaml_value *value = yaml_get(map, key);

    if (kubeconfig_is_absent(value))
        return 0;
    if (value->type == YAML_SCALAR && !value->quoted && strcmp(value->text, "true") == 0)
        *out = true;
    else if (value->type != YAML_SCALAR || value->quoted || strcmp(value->text, "false") != 0)
        return kubeconfig_complain(value, err, "neither true nor false: ", key);
    return 0;
}

char *kubeconfig_resolve(const char *name, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (name[0] == '/' || slash == NULL)
        return xstrdup(name);
    return xasprintf("%.*s/%s", (int)(slash - path), path, name);
}

int kubeconfig_read_file_name(const struct yaml_value *map, const char *key, const char *path,
                              char **out, struct error *err)
{
    AUTO_FREE char *name = NULL;

    if (kubeconfig_read_text(map, key, &name, err) < 0)
        return error_pass(err);
    if (name != NULL)
        *out = kubeconfig_resolve(name, path);
    return 0;
}

int kubeconfig_read_pem(const struct yaml_value *map, const char *key, const char *path,
                        struct kube_pem *out, struct error *err)
{
    AUTO_FREE char *data_key = xasprintf("%s-data", key);
    AUTO_FREE char *encoded = NULL;
    size_t length = 0;

    if (kubeconfig_read_text(map, data_key, &encoded, err) < 0)
        return error_pass(err);
    if (encoded == NULL)
        return kubeconfig_read_file_name(map, key, path, &out->file, err);
    if (base64_decode(encoded, &out->text, &length, err) < 0)
        return error_wrap(err, "line %u: %s", yaml_get(map, data_key)->line, data_key);
    if (strlen(out->text) != length || strstr(out->text, "-----BEGIN") == NULL)
        return kubeconfig_complain(yaml_get(map, data_key), err, "not a PEM text: ", data_key);
    return 0;
}
