/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubeconfig_reading - members of a kubeconfig's maps, with errors that name their place.
 *
 * A member that is missing, null or empty leaves the output alone. path is that of the kubeconfig
 * the map stands in: relative file names are relative to its folder.
 */
#ifndef TOPOFIT_KUBECONFIG_READING_H
#define TOPOFIT_KUBECONFIG_READING_H

#include "topofit/kubeconfig.h"
#include "topofit/yaml.h"

int kubeconfig_complain(const struct yaml_value *at, struct error *err, const char *text,
                        const char *word);
bool kubeconfig_is_absent(const struct yaml_value *value);
int kubeconfig_read_text(const struct yaml_value *map, const char *key, char **out,
                         struct error *err);
int kubeconfig_read_bool(const struct yaml_value *map, const char *key, bool *out,
                         struct error *err);
int kubeconfig_read_file_name(const struct yaml_value *map, const char *key, const char *path,
                              char **out, struct error *err);

/* `key`-data wins over `key`, a file. */
int kubeconfig_read_pem(const struct yaml_value *map, const char *key, const char *path,
                        struct kube_pem *out, struct error *err);

/* A name as it stands there, relative to the folder of the kubeconfig. The caller frees it. */
char *kubeconfig_resolve(const char *name, const char *path);

/* Who we act as: all that a user section says of impersonation. */
int kubeconfig_read_impersonation(const struct yaml_value *user, struct kube_config *config,
                                  struct error *err);

/* The credentials of a user section. */
int kubeconfig_read_user(const struct yaml_value *user, const char *path,
                         struct kube_config *config, struct error *err);

#endif
