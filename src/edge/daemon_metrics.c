/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_metrics - what the daemon's parts tell the metrics. */
#include "daemon_metrics.h"

#include "daemon_tls.h"
#include "topofit/mem.h"

/* --- recorded -------------------------------------------------------------------------------- */

void daemon_count_extender_request(void *ctx, const char *method, const char *route,
                                   unsigned status, uint64_t duration_us)
{
    struct daemon *daemon = ctx;

    (void)method;
    metrics_count_request(daemon->metrics, METRICS_EXTENDER, route, status, duration_us);
}

void daemon_count_webhook_request(void *ctx, const char *method, const char *route, unsigned status,
                                  uint64_t duration_us)
{
    struct daemon *daemon = ctx;

    (void)method;
    metrics_count_request(daemon->metrics, METRICS_WEBHOOK, route, status, duration_us);
}

void daemon_count_admin_request(void *ctx, const char *method, const char *route, unsigned status,
                                uint64_t duration_us)
{
    struct daemon *daemon = ctx;

    (void)method;
    metrics_count_request(daemon->metrics, METRICS_ADMIN, route, status, duration_us);
}

/* --- collected ------------------------------------------------------------------------------- */

static void write_number(struct metrics_writer *writer, enum metric metric, const char *label,
                         uint64_t number)
{
    metrics_write(writer, metric, label != NULL ? &label : NULL, (double)number);
}

static void write_watch(struct metrics_writer *writer, const char *kind,
                        const struct reflector_counters *counters)
{
    write_number(writer, METRIC_WATCH_EVENTS, kind, counters->events);
    write_number(writer, METRIC_WATCH_LISTS, kind, counters->lists);
    write_number(writer, METRIC_WATCH_RELISTS, kind, counters->relists);
    write_number(writer, METRIC_WATCH_ERRORS, kind, counters->errors);
    write_number(writer, METRIC_WATCH_STALLS, kind, counters->stalls);
}

static void write_devices(struct metrics_writer *writer, const struct snapshot *snapshot)
{
    uint64_t counts[DEVICE_STATE_COUNT] = {0};

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct node_state *state = snapshot_state(snapshot, i);

        for (unsigned k = 0; k < state->node->device_count; k++)
            counts[device_state(&state->node->devices[k], &state->use.devices[k])]++;
    }
    write_number(writer, METRIC_NODES, NULL, snapshot->count);
    for (unsigned i = 0; i < DEVICE_STATE_COUNT; i++)
        write_number(writer, METRIC_DEVICES, device_state_name((enum device_state)i), counts[i]);
}

static void write_holdings(struct metrics_writer *writer, struct cluster *cluster)
{
    size_t counts[HOLDING_BOUND + 1];

    cluster_count_holdings(cluster, counts);
    write_number(writer, METRIC_HOLDINGS, "reserved", counts[HOLDING_RESERVED]);
    write_number(writer, METRIC_HOLDINGS, "unknown", counts[HOLDING_UNKNOWN]);
    write_number(writer, METRIC_HOLDINGS, "bound", counts[HOLDING_BOUND]);
}

static void write_locks(struct metrics_writer *writer, const struct controller_status *status)
{
    const struct lock_keeper_counters *locks = &status->locks;

    write_number(writer, METRIC_NODE_LOCKS, "taken", locks->taken);
    write_number(writer, METRIC_NODE_LOCKS, "released", locks->released);
    write_number(writer, METRIC_NODE_LOCKS, "conflict", locks->conflicts);
    write_number(writer, METRIC_NODE_LOCKS_WAITING, NULL, status->locks_waiting);
    for (enum lock_end end = 0; end < LOCK_END_COUNT; end++)
        write_number(writer, METRIC_NODE_LOCKS_BROKEN, lock_end_word(end), locks->broken[end]);
}

static void write_quotas(struct metrics_writer *writer, struct cluster *cluster)
{
    size_t count;
    struct quota_view *views = cluster_quotas(cluster, &count);

    for (size_t i = 0; i < count; i++) {
        const struct quota_view *view = &views[i];
        AUTO_FREE char *resource = xasprintf("limits.%s", quota_resource(view->class, view->kind));
        const char *labels[] = {view->namespace, view->quota, resource};

        metrics_write(writer, METRIC_QUOTA_LIMIT, labels,
                      (double)quota_in_units(view->class, view->kind, view->limit));
        metrics_write(writer, METRIC_QUOTA_USED, labels,
                      (double)quota_in_units(view->class, view->kind, view->used));
    }
    quota_views_free(views, count);
}

static void write_controller(struct metrics_writer *writer, const struct controller_status *status)
{
    write_watch(writer, "node", &status->nodes.counters);
    write_watch(writer, "pod", &status->pods.counters);
    write_watch(writer, "resourcequota", &status->quotas.counters);
    write_number(writer, METRIC_BINDINGS_SETTLED, NULL, status->binds.settled);
    write_locks(writer, status);
    write_number(writer, METRIC_LEADER, NULL, status->may_bind);
    write_number(writer, METRIC_LEASE_CHANGES, "acquired", status->lease.acquired);
    write_number(writer, METRIC_LEASE_CHANGES, "lost", status->lease.lost);
    write_number(writer, METRIC_LEASE_CHANGES, "handed over", status->lease.handed_over);
    write_number(writer, METRIC_EVENTS, "written", status->events.written);
    write_number(writer, METRIC_EVENTS, "folded", status->events.folded);
    write_number(writer, METRIC_EVENTS, "dropped", status->events.dropped);
    write_number(writer, METRIC_PODS_WOKEN, NULL, status->wakes.woken);
    write_number(writer, METRIC_RECONCILES, "completed", status->reconciles.comparisons);
    write_number(writer, METRIC_RECONCILES, "failed", status->reconciles.failures);
    write_number(writer, METRIC_RECONCILE_DIFFERENCES, NULL, status->reconciles.differences);
}

static void write_recalled(struct metrics_writer *writer, const char *what, const char *result,
                           uint64_t number)
{
    const char *labels[] = {what, result};

    metrics_write(writer, METRIC_RECALLED, labels, (double)number);
}

static void write_recall(struct metrics_writer *writer, struct recall *recall)
{
    const struct recall_counts counts = recall_counts(recall);

    write_recalled(writer, "kind", "hit", counts.kinds_found);
    write_recalled(writer, "kind", "miss", counts.kinds_new);
    write_recalled(writer, "node", "hit", counts.nodes_same + counts.nodes_alike);
    write_recalled(writer, "node", "miss", counts.nodes_new);
    write_recalled(writer, "merit", "hit", counts.merits_same);
    write_recalled(writer, "merit", "miss", counts.merits_new);
    write_number(writer, METRIC_RECALL_KINDS, NULL, counts.kinds);
    write_number(writer, METRIC_RECALL_BYTES, NULL, counts.bytes);
}

static void write_budget(struct metrics_writer *writer, const char *listener,
                         struct http_budget *budget)
{
    write_number(writer, METRIC_HTTP_BODY_BYTES, listener, atomic_load(&budget->held_bytes));
    write_number(writer, METRIC_HTTP_BODIES_REFUSED, listener, atomic_load(&budget->refusals));
}

static void collect(void *ctx, struct metrics_writer *writer)
{
    struct daemon *daemon = ctx;
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(daemon->cluster);
    struct kube_loop_status status = {0};

    if (daemon->loop != NULL)
        kube_loop_status(daemon->loop, &status);
    else
        status.controller.may_bind = true; /* in memory */
    write_budget(writer, "extender", &daemon->extender_budget);
    write_budget(writer, "admin", &daemon->admin_budget);
    write_budget(writer, "webhook", &daemon->webhook_budget);
    write_controller(writer, &status.controller);
    write_number(writer, METRIC_RECORD_CONFLICTS, NULL, cluster_conflicts_seen(daemon->cluster));
    write_number(writer, METRIC_CACHE_SYNCED, NULL, cluster_is_synced(daemon->cluster));
    write_devices(writer, snapshot);
    write_holdings(writer, daemon->cluster);
    write_quotas(writer, daemon->cluster);
    write_recall(writer, daemon->recall);
    daemon_write_tls_metrics(daemon, writer);
}

void daemon_render_metrics(struct daemon *daemon, struct buf *out)
{
    metrics_render(daemon->metrics, collect, daemon, out);
}
