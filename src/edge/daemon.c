/* SPDX-License-Identifier: Apache-2.0 */
/* daemon - everything that `topofit serve` runs, started and stopped in order. */
#include "topofit/waste.h"
#include "topofit/daemon.h"

#include "daemon_inside.h"
#include "daemon_kube.h"
#include "daemon_metrics.h"
#include "daemon_observer.h"
#include "daemon_tls.h"
#include "topofit/config_files.h"
#include "topofit/admission_json.h"
#include "topofit/file.h"
#include "topofit/mem.h"
#include "topofit/secret.h"
#include "topofit/views.h"

#include <stdlib.h>
#include <sys/resource.h>

#define MEMO_SLOTS 4096
#define ADMIN_THREADS 1
#define EXTENDER_CONNECTIONS_MIN 16
#define EXTENDER_SMALL_BYTES ((size_t)16 * 1024) /* any bind call, and filter of 300 nodes */
#define EXTENDER_FIRST_REQUEST_TIMEOUT_MS 30000
#define ADMIN_CONNECTIONS_MAX 256
#define ADMIN_CLIENT_CONNECTIONS_MAX 32 /* probes of the kubelet have an address of their own */
#define ADMIN_BODY_MAX_BYTES (1u << 20)
#define ADMIN_BODIES_MAX_BYTES VIEW_BYTES_MAX  /* one of the largest views */
#define ADMIN_SMALL_BYTES ((size_t)128 * 1024) /* metrics, and more than that */
#define ADMIN_REQUEST_TIMEOUT_MS 10000
#define ADMIN_FIRST_REQUEST_TIMEOUT_MS 5000
#define ADMIN_IDLE_TIMEOUT_MS 15000
#define WEBHOOK_THREADS 1
#define WEBHOOK_CONNECTIONS_MAX 256        /* of the API servers, which keep what they need */
#define WEBHOOK_CLIENT_CONNECTIONS_MAX 192 /* the rest is for the other addresses */
#define WEBHOOK_BODIES_MAX_BYTES ((size_t)4 * ADMISSION_BYTES_MAX)
#define HANDSHAKE_TIMEOUT_MS 3000 /* some round trips */
#define OTHER_FILES 64            /* log, files, the API server */
#define IDLE_TIMEOUT_MS 120000

/* kube-scheduler hangs up first: a call that crosses our hanging up would fail, and is not retried.
 */
#define SCHEDULER_IDLE_TIMEOUT_MS 90000
_Static_assert(IDLE_TIMEOUT_MS > SCHEDULER_IDLE_TIMEOUT_MS + 10000,
               "kept connections end too soon");

/* --- the cluster ----------------------------------------------------------------------------- */

static int read_dump(struct daemon *daemon, const char *path, struct error *err)
{
    AUTO(buf_clear) struct buf text = buf_with_max(EMBEDDED_BYTES_MAX);

    if (file_read(path, &text, err) < 0)
        return error_pass(err);
    if (embedded_read(daemon->cluster, &daemon->classes, buf_text(&text), text.length, err) < 0)
        return error_wrap(err, "%s", path);
    daemon->embedded = (struct embedded_port){daemon->cluster, &daemon->classes};
    daemon->extender.binder = embedded_bind_port(&daemon->embedded);
    log_event(daemon->log, LOG_LEVEL_INFO, "embedded cluster loaded, no API server is used",
              log_text("file", path));
    return 0;
}

/* --- the listeners --------------------------------------------------------------------------- */

/*
 * How many connections there are files for: the limit of the process is raised as far as it goes,
 * and the other port and the API server keep their share.
 */
static unsigned extender_connections(struct daemon *daemon)
{
    uint64_t wanted = daemon->config->extender_connections_max;
    uint64_t others = ADMIN_CONNECTIONS_MAX + WEBHOOK_CONNECTIONS_MAX +
                      daemon->config->kube_binds_max + OTHER_FILES;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return (unsigned)wanted;
    if (limit.rlim_cur < wanted + others && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max < wanted + others ? limit.rlim_max : wanted + others;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= wanted + others)
        return (unsigned)wanted;
    log_event(daemon->log, LOG_LEVEL_WARN, "too few files for extender.connectionsMax",
              log_number("limit", (int64_t)limit.rlim_cur), log_number("wanted", (int64_t)wanted));
    return limit.rlim_cur > others + EXTENDER_CONNECTIONS_MIN ? (unsigned)(limit.rlim_cur - others)
                                                              : EXTENDER_CONNECTIONS_MIN;
}

/* The largest request always has room, and so has an answer that is as large. */
static size_t bodies_max_bytes(const struct config *config)
{
    uint64_t least_mib = 2 * config->extender_body_max_mib;
    uint64_t mib = config->extender_bodies_max_mib;

    return (size_t)(mib > least_mib ? mib : least_mib) << 20;
}

static int start_extender(struct daemon *daemon, struct error *err)
{
    const struct config *config = daemon->config;
    const struct http_options options = {
        .listen = config->extender_listen,
        .tls = daemon->extender_tls,
        .routes = extender_routes,
        .route_count = extender_route_count,
        .ctx = daemon,
        .threads = (unsigned)config->extender_threads,
        .connections_max = extender_connections(daemon),
        .client_connections_max = (unsigned)config->extender_client_connections_max,
        .body_max_bytes = (size_t)config->extender_body_max_mib << 20,
        .budget = &daemon->extender_budget,
        .request_timeout_ms = config->extender_request_timeout_ms,
        .first_request_timeout_ms = EXTENDER_FIRST_REQUEST_TIMEOUT_MS,
        .handshake_timeout_ms = HANDSHAKE_TIMEOUT_MS,
        .idle_timeout_ms = IDLE_TIMEOUT_MS,
        .on_done = daemon_count_extender_request,
    };

    daemon->extender_budget.max_bytes = bodies_max_bytes(config);
    daemon->extender_budget.free_bytes = EXTENDER_SMALL_BYTES;
    daemon->extender_server = http_start(&options, err);
    return daemon->extender_server != NULL ? 0 : error_wrap(err, "extender.listen");
}

/* API servers call from few addresses, that of a proxy perhaps: one may have most places. */
static int start_webhook(struct daemon *daemon, struct error *err)
{
    const struct http_options options = {
        .listen = daemon->config->webhook_listen,
        .tls = daemon->webhook_tls,
        .routes = webhook_routes,
        .route_count = webhook_route_count,
        .ctx = daemon,
        .threads = WEBHOOK_THREADS,
        .connections_max = WEBHOOK_CONNECTIONS_MAX,
        .client_connections_max = WEBHOOK_CLIENT_CONNECTIONS_MAX,
        .body_max_bytes = ADMISSION_BYTES_MAX,
        .budget = &daemon->webhook_budget,
        .request_timeout_ms = daemon->config->extender_request_timeout_ms,
        .first_request_timeout_ms = EXTENDER_FIRST_REQUEST_TIMEOUT_MS,
        .handshake_timeout_ms = HANDSHAKE_TIMEOUT_MS,
        .idle_timeout_ms = IDLE_TIMEOUT_MS,
        .on_done = daemon_count_webhook_request,
    };

    if (daemon->config->webhook_listen[0] == '\0')
        return 0;
    daemon->webhook_budget.max_bytes = WEBHOOK_BODIES_MAX_BYTES;
    daemon->webhook_budget.free_bytes = EXTENDER_SMALL_BYTES;
    daemon->webhook_server = http_start(&options, err);
    return daemon->webhook_server != NULL ? 0 : error_wrap(err, "webhook.listen");
}

static int start_admin(struct daemon *daemon, struct error *err)
{
    const struct http_options options = {
        .listen = daemon->config->admin_listen,
        .tls = daemon->admin_tls,
        .routes = admin_routes,
        .route_count = admin_route_count,
        .ctx = daemon,
        .threads = ADMIN_THREADS,
        .connections_max = ADMIN_CONNECTIONS_MAX,
        .client_connections_max = ADMIN_CLIENT_CONNECTIONS_MAX,
        .body_max_bytes = ADMIN_BODY_MAX_BYTES,
        .budget = &daemon->admin_budget,
        .request_timeout_ms = ADMIN_REQUEST_TIMEOUT_MS,
        .first_request_timeout_ms = ADMIN_FIRST_REQUEST_TIMEOUT_MS,
        .handshake_timeout_ms = HANDSHAKE_TIMEOUT_MS,
        .idle_timeout_ms = ADMIN_IDLE_TIMEOUT_MS,
        .on_done = daemon_count_admin_request,
    };

    daemon->admin_budget.max_bytes = ADMIN_BODIES_MAX_BYTES;
    daemon->admin_budget.free_bytes = ADMIN_SMALL_BYTES;
    daemon->admin_server = http_start(&options, err);
    return daemon->admin_server != NULL ? 0 : error_wrap(err, "admin.listen");
}

/* --- life ------------------------------------------------------------------------------------ */

/* Eviction helps only where the scheduler can act on it: in tests and simulations today. */
static bool answers_failed_nodes(const struct config *config, bool embedded)
{
    if (config->extender_failed_nodes == FAILED_NODES_AUTO)
        return embedded;
    return config->extender_failed_nodes == FAILED_NODES_ALWAYS;
}

static struct extender_options extender_options(const struct config *config, bool embedded)
{
    return (struct extender_options){
        .policy = config_policy(config),
        .admit = config_admit_policy(config),
        .answer_reviews = config->webhook_enabled,
        .answer_failed_nodes = answers_failed_nodes(config, embedded),
        .answers_best = config->extender_filter_answers == FILTER_ANSWERS_BEST,
        .event_words = config->event_words,
        .bind_timeout_ms = config->extender_bind_timeout_ms,
    };
}

static void build(struct daemon *daemon, bool embedded)
{
    secret_fill(&daemon->key, sizeof daemon->key);
    pthread_mutex_init(&daemon->reload_lock, NULL);
    daemon->cluster = cluster_new(&daemon->key);
    daemon->history = history_new(&daemon->key);
    daemon->memo = gputopo_memo_new(MEMO_SLOTS);
    daemon->waste_memo = waste_memo_new();
    daemon->recall = recall_new();
    daemon->metrics = metrics_new(TOPOFIT_VERSION);
    daemon->extender = (struct extender){
        .cluster = daemon->cluster,
        .classes = &daemon->classes,
        .memo = daemon->memo,
        .waste_memo = daemon->waste_memo,
        .history = daemon->history,
        .recall = daemon->recall,
        .observer = daemon_observer(daemon),
        .options = extender_options(daemon->config, embedded),
    };
}

struct daemon *daemon_start(struct config *config, const char *cluster_file, struct log *log,
                            struct error *err)
{
    struct config_files files;
    struct daemon *daemon;
    int result;

    if (config_check(config, err) < 0 || config_files_read(config, &files, err) < 0)
        return NULL;
    daemon = xcalloc(1, sizeof *daemon);
    daemon->config = config;
    daemon->log = log;
    daemon->classes = files.classes;
    build(daemon, cluster_file != NULL);
    if (files.mix != NULL)
        cluster_set_pod_mix(daemon->cluster, files.mix);
    result = daemon_open_tls(daemon, err);
    if (result == 0)
        result = cluster_file != NULL ? read_dump(daemon, cluster_file, err)
                                      : daemon_start_kube(daemon, err);
    if (result < 0 || start_extender(daemon, err) < 0 || start_webhook(daemon, err) < 0 ||
        start_admin(daemon, err) < 0) {
        daemon_stop(daemon);
        return NULL;
    }
    return daemon;
}

/* --- reloading ------------------------------------------------------------------------------- */

struct extender daemon_extender(struct daemon *daemon)
{
    struct extender extender;

    pthread_mutex_lock(&daemon->reload_lock);
    extender = daemon->extender;
    pthread_mutex_unlock(&daemon->reload_lock);
    return extender;
}

/* Keys that differ and are not taken over; told when no call waits for us any more. */
struct fixed_keys {
    const char *names[CONFIG_KEYS_MAX];
    size_t count;
};

static void note_fixed(void *ctx, const char *key)
{
    struct fixed_keys *fixed = ctx;

    fixed->names[fixed->count++] = key;
}

static void tell_fixed(struct log *log, const struct fixed_keys *fixed)
{
    for (size_t i = 0; i < fixed->count; i++)
        log_event(log, LOG_LEVEL_WARN, "this key is taken over by a restart only",
                  log_text("key", fixed->names[i]));
}

void daemon_reload(struct daemon *daemon, const struct config *fresh)
{
    bool embedded = daemon->loop == NULL;
    struct fixed_keys fixed = {.count = 0};
    size_t taken;

    pthread_mutex_lock(&daemon->reload_lock);
    taken = config_reload(daemon->config, fresh, note_fixed, &fixed);
    daemon->extender.options = extender_options(daemon->config, embedded);
    pthread_mutex_unlock(&daemon->reload_lock);
    tell_fixed(daemon->log, &fixed);
    log_configure(daemon->log, daemon->config->log_level, daemon->config->log_format);
    log_event(daemon->log, LOG_LEVEL_INFO, "configuration reloaded",
              log_number("changed", (int64_t)taken));
}

unsigned daemon_extender_port(const struct daemon *daemon)
{
    return http_port(daemon->extender_server);
}

unsigned daemon_webhook_port(const struct daemon *daemon)
{
    return daemon->webhook_server != NULL ? http_port(daemon->webhook_server) : 0;
}

unsigned daemon_admin_port(const struct daemon *daemon)
{
    return http_port(daemon->admin_server);
}

const char *daemon_endpoint(size_t number)
{
    if (number < extender_route_count)
        return extender_routes[number].path;
    number -= extender_route_count;
    return number < admin_route_count ? admin_routes[number].path : NULL;
}

void daemon_stop(struct daemon *daemon)
{
    if (daemon == NULL)
        return;
    __atomic_store_n(&daemon->stopping, true, __ATOMIC_RELAXED);
    http_stop(daemon->webhook_server);
    http_stop(daemon->extender_server);
    daemon_stop_kube(daemon);
    http_stop(daemon->admin_server); /* so long people can watch the end */
    daemon_free_kube(daemon);
    daemon_close_tls(daemon);
    waste_memo_free(daemon->waste_memo);
    recall_free(daemon->recall);
    gputopo_memo_free(daemon->memo);
    history_free(daemon->history);
    cluster_free(daemon->cluster);
    metrics_free(daemon->metrics);
    class_table_clear(&daemon->classes);
    pthread_mutex_destroy(&daemon->reload_lock);
    free(daemon);
}
