/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_tls - the certificates of the daemon's listeners. */
#include "daemon_tls.h"

#include "topofit/clock.h"
#include "topofit/tls_server.h"

/* What a client that connects may have to wait for: a look at three files. */
#define CHECK_INTERVAL_MS 2000

static void log_extender(void *ctx, enum log_level level, const char *event, const char *detail)
{
    log_event(ctx, level, event, log_text("port", "extender"), log_text("detail", detail));
}

static void log_admin(void *ctx, enum log_level level, const char *event, const char *detail)
{
    log_event(ctx, level, event, log_text("port", "admin"), log_text("detail", detail));
}

static void log_webhook(void *ctx, enum log_level level, const char *event, const char *detail)
{
    log_event(ctx, level, event, log_text("port", "webhook"), log_text("detail", detail));
}

/* Without a certificate in the configuration there is nothing to open. */
static int open_listener(const struct tls_options *options, const char *key,
                         struct tls_server **out, struct error *err)
{
    if (options->cert_file[0] == '\0')
        return 0;
    *out = tls_server_new(options, err);
    return *out != NULL ? 0 : error_wrap(err, "%s", key);
}

int daemon_open_tls(struct daemon *daemon, struct error *err)
{
    const struct config *config = daemon->config;
    const struct tls_options extender = {.cert_file = config->extender_tls_cert_file,
                                         .key_file = config->extender_tls_key_file,
                                         .client_ca_file = config->extender_client_ca_file,
                                         .check_interval_ms = CHECK_INTERVAL_MS,
                                         .log = log_extender,
                                         .log_ctx = daemon->log};
    const struct tls_options admin = {.cert_file = config->admin_tls_cert_file,
                                      .key_file = config->admin_tls_key_file,
                                      .client_ca_file = "",
                                      .check_interval_ms = CHECK_INTERVAL_MS,
                                      .log = log_admin,
                                      .log_ctx = daemon->log};
    const struct tls_options webhook = {.cert_file = config->webhook_tls_cert_file,
                                        .key_file = config->webhook_tls_key_file,
                                        .client_ca_file = "",
                                        .check_interval_ms = CHECK_INTERVAL_MS,
                                        .log = log_webhook,
                                        .log_ctx = daemon->log};

    if (config_is_unguarded(config))
        log_event(daemon->log, LOG_LEVEL_WARN,
                  "the extender port asks nobody who they are: who reaches it can bind pods",
                  log_text("listen", config->extender_listen));
    if (open_listener(&extender, "extender.tlsCertFile", &daemon->extender_tls, err) < 0 ||
        open_listener(&webhook, "webhook.tlsCertFile", &daemon->webhook_tls, err) < 0)
        return error_pass(err);
    return open_listener(&admin, "admin.tlsCertFile", &daemon->admin_tls, err);
}

void daemon_close_tls(struct daemon *daemon)
{
    tls_server_free(daemon->extender_tls);
    tls_server_free(daemon->admin_tls);
    tls_server_free(daemon->webhook_tls);
}

void daemon_reload_tls(struct daemon *daemon)
{
    if (daemon->extender_tls != NULL)
        tls_server_reload(daemon->extender_tls);
    if (daemon->admin_tls != NULL)
        tls_server_reload(daemon->admin_tls);
    if (daemon->webhook_tls != NULL)
        tls_server_reload(daemon->webhook_tls);
}

static void write_expiry(struct metrics_writer *writer, const char *listener,
                         struct tls_server *tls)
{
    if (tls == NULL)
        return;
    tls_server_refresh(tls, clock_monotonic_ms());
    metrics_write(writer, METRIC_TLS_EXPIRY, &listener, (double)tls_server_expiry_unix_s(tls));
}

void daemon_write_tls_metrics(struct daemon *daemon, struct metrics_writer *writer)
{
    write_expiry(writer, "extender", daemon->extender_tls);
    write_expiry(writer, "admin", daemon->admin_tls);
    write_expiry(writer, "webhook", daemon->webhook_tls);
}
