/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_kube - the daemon and the API server: what goes to the loop, and what comes from it. */
#include "daemon_kube.h"

#include "topofit/file.h"
#include "topofit/mem.h"
#include "topofit/secret.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CONTROLLER_NAME "topofit.io/extender"
#define FALLBACK_NAMESPACE "kube-system"
#define HOST_NAME_MAX_BYTES 256

/* --- what comes from the loop ---------------------------------------------------------------- */

static void log_loop(void *ctx, enum log_level level, const char *text)
{
    struct daemon *daemon = ctx;

    log_event(daemon->log, level, "API server", log_text("detail", text));
}

static void log_node_problem(void *ctx, const char *node, const char *problem)
{
    struct daemon *daemon = ctx;

    log_event(daemon->log, LOG_LEVEL_WARN, "node not understood in full", log_text("node", node),
              log_text("problem", problem));
}

static void log_record_problem(void *ctx, const struct pod *pod)
{
    struct daemon *daemon = ctx;

    log_event(daemon->log, LOG_LEVEL_WARN, "pod's record of devices cannot be read",
              log_text("namespace", pod->namespace), log_text("pod", pod->name),
              log_text("problem", pod->record_problem));
}

static void log_quota_remark(void *ctx, const struct quota *quota, const char *remark)
{
    struct daemon *daemon = ctx;

    log_event(daemon->log, LOG_LEVEL_WARN, "quota does not do what it says",
              log_text("namespace", quota->namespace), log_text("quota", quota->name),
              log_text("problem", remark));
}

/* Several pods claim one device: in the log, and as an Event of the node. */
static void tell_conflict(void *ctx, const struct conflict *conflict)
{
    struct daemon *daemon = ctx;
    AUTO_FREE char *note =
        xasprintf("several pods claim device %s, by their records or by a Binding that is not "
                  "settled: it takes no new pod until only one does",
                  conflict->device);
    const struct cluster_event event = {
        .is_warning = true,
        .reason = "RecordConflict",
        .action = "Watching",
        .note = note,
        .regarding = {.kind = KUBE_NODE,
                      .namespace = "",
                      .name = conflict->node,
                      .uid = conflict->node_uid},
    };

    log_event(daemon->log, LOG_LEVEL_WARN, "several pods claim one device",
              log_text("node", conflict->node), log_text("device", conflict->device));
    if (daemon->loop != NULL)
        kube_loop_add_event(daemon->loop, &event);
}

/* --- what goes to the loop ------------------------------------------------------------------- */

static int check_bind(void *ctx, uint64_t *term, struct error *err)
{
    struct daemon *daemon = ctx;

    return kube_loop_check_bind(daemon->loop, term, err);
}

static int submit_bind(void *ctx, struct bind_job *steal_job, struct error *err)
{
    struct daemon *daemon = ctx;

    return kube_loop_submit_bind(daemon->loop, steal_job, err);
}

void daemon_tell_event(void *ctx, const struct pod_event *event)
{
    struct daemon *daemon = ctx;
    const struct cluster_event told = {
        .is_warning = event->is_warning,
        .reason = event->reason,
        .action = event->action,
        .note = event->note,
        .regarding = {.kind = KUBE_POD,
                      .namespace = event->pod->namespace,
                      .name = event->pod->name,
                      .uid = event->pod->uid},
    };

    if (daemon->loop != NULL)
        kube_loop_add_event(daemon->loop, &told);
}

/* --- start and stop -------------------------------------------------------------------------- */

/* Unique to this process: a successor on the same machine shall not be taken for us. */
static char *choose_identity(void)
{
    char host[HOST_NAME_MAX_BYTES] = "";

    if (gethostname(host, sizeof host - 1) != 0)
        snprintf(host, sizeof host, "topofit");
    return xasprintf("%s_%016" PRIx64, host, secret_number());
}

static const char *lease_namespace(const struct config *config, const char *own)
{
    if (config->lease_namespace[0] != '\0')
        return config->lease_namespace;
    return own != NULL && own[0] != '\0' ? own : FALLBACK_NAMESPACE;
}

/* own: the namespace of the pod or of the kubeconfig, or NULL. */
static struct lease_options lease_options(const struct config *config, const char *own,
                                          const char *identity)
{
    return (struct lease_options){
        .namespace = lease_namespace(config, own),
        .name = config->lease_name,
        .identity = identity,
        .duration_ms = config->lease_duration_ms,
        .renew_deadline_ms = config->lease_renew_deadline_ms,
        .retry_ms = config->lease_retry_period_ms,
    };
}

static struct intake *new_intake(struct daemon *daemon)
{
    return intake_new(daemon->cluster, &daemon->classes,
                      &(struct intake_listener){.ctx = daemon,
                                                .on_node_problem = log_node_problem,
                                                .on_record_problem = log_record_problem,
                                                .on_quota_remark = log_quota_remark,
                                                .on_conflict = tell_conflict});
}

static int start_loop(struct daemon *daemon, struct kube_config *steal_config, struct error *err)
{
    const struct config *config = daemon->config;
    AUTO_FREE char *identity = choose_identity();
    AUTO_FREE char *own = steal_config->namespace != NULL ? xstrdup(steal_config->namespace) : NULL;
    const struct lease_options lease = lease_options(config, own, identity);
    const struct event_queue_options events = {
        .controller = CONTROLLER_NAME,
        .instance = identity,
        .burst = (unsigned)config->events_burst,
        .per_second = (unsigned)config->events_per_second,
    };
    const struct kube_loop_options options = {
        .steal_config = steal_config,
        .controller = {.intake = daemon->intake,
                       .key = daemon->key,
                       .cluster = daemon->cluster,
                       .history = daemon->history,
                       .binds_max = config->kube_binds_max,
                       .streams_lists = config->kube_watch_list,
                       .node_lock_timeout_ms = config->kube_node_lock_timeout_ms,
                       .reads_quotas = config->quota_enabled,
                       .reconcile_interval_ms = config->kube_reconcile_interval_ms,
                       .wakes = config->kube_wake_pods,
                       .lease = config->lease_enabled ? &lease : NULL,
                       .events = config->events_enabled ? &events : NULL},
        .log = log_loop,
        .log_ctx = daemon,
    };

    if (config->lease_enabled && lease_check_options(&lease, err) < 0)
        return error_wrap(err, "leaderElection");
    if (config->lease_enabled)
        log_event(daemon->log, LOG_LEVEL_INFO, "taking part in the election of a leader",
                  log_text("identity", identity), log_text("namespace", lease.namespace),
                  log_text("lease", lease.name));
    /* Its thread looks for the loop in the daemon as soon as it has something to tell. */
    daemon->loop = kube_loop_new(&options, err);
    return daemon->loop != NULL ? kube_loop_start(daemon->loop, err) : error_pass(err);
}

int daemon_start_kube(struct daemon *daemon, struct error *err)
{
    const char *path = daemon->config->kube_kubeconfig;
    struct kube_environment environment = kube_environment_get();
    AUTO(kube_config_clear) struct kube_config config = {0};

    if (kubeconfig_load(path[0] != '\0' ? path : NULL, &environment, &config, err) < 0)
        return error_pass(err);
    log_event(daemon->log, LOG_LEVEL_INFO, "watching the cluster",
              log_text("server", config.server), log_text("from", config.origin));
    daemon->intake = new_intake(daemon);
    daemon->extender.binder =
        (struct bind_port){.ctx = daemon, .check = check_bind, .submit = submit_bind};
    return start_loop(daemon, &config, err);
}

void daemon_stop_kube(struct daemon *daemon)
{
    kube_loop_stop(daemon->loop);
}

void daemon_free_kube(struct daemon *daemon)
{
    kube_loop_free(daemon->loop);
    intake_free(daemon->intake);
}
