/* SPDX-License-Identifier: Apache-2.0 */
/* config_files - the files that a configuration names. */
#include "topofit/config_files.h"

#include "topofit/class_files.h"
#include "topofit/kubeconfig.h"
#include "topofit/mem.h"
#include "topofit/pod_mix_file.h"
#include "topofit/text.h"
#include "topofit/tls_server.h"

#define CLASS_NAME_MAX 128
#define SUGGESTION_DISTANCE 3

/* --- classes and jobs ------------------------------------------------------------------------ */

void config_files_clear(struct config_files *files)
{
    pod_mix_unref(files->mix);
    class_table_clear(&files->classes);
    *files = (struct config_files){0};
}

static int refuse_class(const struct class_table *classes, const char *name, struct error *err)
{
    const char *nearest = class_nearest(classes, name, SUGGESTION_DISTANCE);

    return error_set(err, ERR_INVALID, "webhook.guardVisibleDevices: there is no class %s%s%s%s",
                     name, nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "?" : "");
}

/* The guard's classes are a list of names, and a name that is none would guard nothing. */
static int check_guarded(const struct config *config, const struct class_table *classes,
                         struct error *err)
{
    const char *at = config->webhook_guarded_classes;
    char name[CLASS_NAME_MAX];

    while (text_next_item(&at, name, sizeof name)) {
        const struct device_class *class = class_find(classes, name);

        if (class == NULL)
            return refuse_class(classes, name, err);
        if (class->visible_variable == NULL)
            return error_set(err, ERR_INVALID,
                             "webhook.guardVisibleDevices: class %s has no webhook.visibleVariable",
                             name);
    }
    return 0;
}

int config_files_read(const struct config *config, struct config_files *out, struct error *err)
{
    AUTO(config_files_clear) struct config_files files = {0};
    const char *jobs = config->packing_workload_file;

    if (class_files_read(config, &files.classes, err) < 0 ||
        check_guarded(config, &files.classes, err) < 0)
        return error_pass(err);
    if (jobs[0] != '\0' && pod_mix_file_read(jobs, &files.classes, &files.mix, err) < 0)
        return error_wrap(err, "packing.workloadFile");
    *out = files;
    files = (struct config_files){0};
    return 0;
}

/* --- who we are ------------------------------------------------------------------------------ */

static void say_nothing(void *ctx, enum log_level level, const char *event, const char *detail)
{
    (void)ctx, (void)level, (void)event, (void)detail;
}

static int check_certificate(const char *key, const char *cert_file, const char *key_file,
                             const char *client_ca_file, struct error *err)
{
    const struct tls_options options = {.cert_file = cert_file,
                                        .key_file = key_file,
                                        .client_ca_file = client_ca_file,
                                        .log = say_nothing};
    struct tls_server *server;

    if (cert_file[0] == '\0')
        return 0;
    server = tls_server_new(&options, err);
    if (server == NULL)
        return error_wrap(err, "%s", key);
    tls_server_free(server);
    return 0;
}

static int check_kubeconfig(const char *path, struct error *err)
{
    static const struct kube_environment nothing;
    AUTO(kube_config_clear) struct kube_config config = {0};

    if (path[0] != '\0' && kubeconfig_load(path, &nothing, &config, err) < 0)
        return error_wrap(err, "kube.kubeconfig");
    return 0;
}

int config_files_check(const struct config *config, struct error *err)
{
    AUTO(config_files_clear) struct config_files files = {0};

    if (config_files_read(config, &files, err) < 0 ||
        check_certificate("extender.tlsCertFile", config->extender_tls_cert_file,
                          config->extender_tls_key_file, config->extender_client_ca_file,
                          err) < 0 ||
        check_certificate("webhook.tlsCertFile", config->webhook_tls_cert_file,
                          config->webhook_tls_key_file, "", err) < 0 ||
        check_certificate("admin.tlsCertFile", config->admin_tls_cert_file,
                          config->admin_tls_key_file, "", err) < 0)
        return error_pass(err);
    return check_kubeconfig(config->kube_kubeconfig, err);
}
