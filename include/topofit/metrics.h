/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics - what the daemon counts, in the text format of Prometheus.
 *
 * One table names every metric. Two kinds of them: recorded where things happen, by atomic
 * additions without a lock; and collected when someone asks, by a callback that reads the owner's
 * state and writes samples. All combinations of recorded labels are shown from the start, at 0.
 *
 * Labels are closed lists, never names of pods or clients.
 *
 * source: Prometheus exposition format 0.0.4; names as in the Prometheus "metric and label naming"
 * guide.
 */
#ifndef TOPOFIT_METRICS_H
#define TOPOFIT_METRICS_H

#include <stdint.h>

#include "topofit/buf.h"
#include "topofit/extender.h"
#include "topofit/reason.h"

/* X(identifier, type, name, labels, help) in the order of the answer. */
#define METRICS(X) \
    X(BUILD_INFO, GAUGE, "topofit_build_info", "version", "Always 1; tells the version.") \
    X(HTTP_REQUESTS, COUNTER, "topofit_http_requests_total", "listener,verb,code", \
      "HTTP requests answered.") \
    X(HTTP_DURATION, HISTOGRAM, "topofit_http_request_duration_seconds", "verb", \
      "Time from the end of a request's header to its answer.") \
    X(HTTP_BODY_BYTES, GAUGE, "topofit_http_body_bytes", "listener", \
      "Bytes of large requests and answers held now.") \
    X(HTTP_BODIES_REFUSED, COUNTER, "topofit_http_bodies_refused_total", "listener", \
      "Large requests and answers refused because there were too many.") \
    X(FILTER_NODES, COUNTER, "topofit_filter_nodes_total", "result,reason", \
      "Nodes that filter judged, by whether they were kept and why not.") \
    X(RECALLED, COUNTER, "topofit_recalled_total", "what,result", \
      "What calls found remembered of earlier ones, and what they had to do anew.") \
    X(RECALL_KINDS, GAUGE, "topofit_recall_kinds", "", "Kinds of pods remembered.") \
    X(RECALL_BYTES, GAUGE, "topofit_recall_bytes", "", "Memory that they take.") \
    X(PREEMPT_NODES, COUNTER, "topofit_preempt_nodes_total", "result", \
      "Nodes proposed for preemption, by what was answered for them.") \
    X(BINDS, COUNTER, "topofit_binds_total", "outcome", "Bind calls by how they ended.") \
    X(ADMISSIONS, COUNTER, "topofit_admissions_total", "result", \
      "Pods that the webhook was asked about, by what became of them.") \
    X(ADMISSION_RULES, COUNTER, "topofit_admission_rules_total", "rule", \
      "Times that a rule of the webhook left, edited, refused or warned of a pod.") \
    X(WATCH_EVENTS, COUNTER, "topofit_watch_events_total", "kind", \
      "Events received from the API server's watches.") \
    X(WATCH_LISTS, COUNTER, "topofit_watch_lists_total", "kind", \
      "Complete lists fetched from the API server.") \
    X(WATCH_RELISTS, COUNTER, "topofit_watch_relists_total", "kind", \
      "Lists begun because the position in the watch was lost.") \
    X(WATCH_ERRORS, COUNTER, "topofit_watch_errors_total", "kind", \
      "Lists and watches that failed.") \
    X(WATCH_STALLS, COUNTER, "topofit_watch_stalls_total", "kind", \
      "Lists and watches given up because no byte came.") \
    X(CACHE_SYNCED, GAUGE, "topofit_cache_synced", "", \
      "1 when nodes and pods have been listed completely at least once.") \
    X(NODES, GAUGE, "topofit_nodes", "", "Nodes known.") \
    X(DEVICES, GAUGE, "topofit_devices", "state", \
      "Devices known, each in one state: idle, in use, unhealthy, cordoned, conflicted.") \
    X(HOLDINGS, GAUGE, "topofit_holdings", "state", \
      "Pods that hold devices, by how certain that is.") \
    X(RECORD_CONFLICTS, COUNTER, "topofit_record_conflicts_total", "", \
      "Devices that came to be claimed by records which cannot all be true.") \
    X(QUOTA_LIMIT, GAUGE, "topofit_quota_limit", "namespace,quota,resource", \
      "Limits of namespaces in force, in the units of the resource.") \
    X(QUOTA_USED, GAUGE, "topofit_quota_used", "namespace,quota,resource", \
      "What counts against such a limit, in the same units.") \
    X(BINDINGS_SETTLED, COUNTER, "topofit_bindings_settled_total", "", \
      "Bindings whose unclear end was found out later.") \
    X(NODE_LOCKS, COUNTER, "topofit_node_locks_total", "change", \
      "Locks on nodes for device plugins: taken, released in vain, refused by a newer version.") \
    X(NODE_LOCKS_BROKEN, COUNTER, "topofit_node_locks_broken_total", "why", \
      "Locks of other pods that meant nothing any more.") \
    X(NODE_LOCKS_WAITING, GAUGE, "topofit_node_locks_waiting", "", \
      "Bindings that wait for the lock of their node.") \
    X(LEADER, GAUGE, "topofit_leader", "", "1 while this topofit may bind.") \
    X(LEASE_CHANGES, COUNTER, "topofit_lease_changes_total", "change", \
      "Times this topofit took the Lease, lost it, or handed it over.") \
    X(EVENTS, COUNTER, "topofit_events_total", "result", "Events told, by what became of them.") \
    X(PODS_WOKEN, COUNTER, "topofit_wakeups_total", "", \
      "Changes of a node's annotation so that kube-scheduler tries waiting pods again.") \
    X(RECONCILES, COUNTER, "topofit_reconciles_total", "result", \
      "Comparisons of memory with the API server.") \
    X(RECONCILE_DIFFERENCES, COUNTER, "topofit_reconcile_differences_total", "", \
      "Differences that comparisons found, and repaired.") \
    X(TLS_EXPIRY, GAUGE, "topofit_tls_certificate_expiry_timestamp_seconds", "listener", \
      "When the first certificate of the port's chain expires, since the Unix epoch.") \
    X(PROCESS_CPU, COUNTER, "process_cpu_seconds_total", "", "User and system CPU time spent.") \
    X(PROCESS_MEMORY, GAUGE, "process_resident_memory_bytes", "", "Resident memory size.") \
    X(PROCESS_START, GAUGE, "process_start_time_seconds", "", \
      "Start time of the process since the Unix epoch.")

enum metric {
#define X(id, type, name, labels, help) METRIC_##id,
    METRICS(X)
#undef X
        METRIC_COUNT
};

enum metric_type { METRIC_COUNTER = 0, METRIC_GAUGE, METRIC_HISTOGRAM };

/* A row of the table, for the documentation's check. Static storage. */
struct metric_info {
    const char *name;
    enum metric_type type;
    const char *labels; /* comma list; "" without labels */
    const char *help;
};
void metrics_each(void (*visit)(void *ctx, const struct metric_info *info), void *ctx);

enum metrics_listener {
    METRICS_EXTENDER = 0,
    METRICS_ADMIN,
    METRICS_WEBHOOK,
    METRICS_LISTENER_COUNT,
};

struct metrics;

/* version  of the program, for topofit_build_info; copied. The start time is now. */
struct metrics *metrics_new(const char *version);
void metrics_free(struct metrics *metrics);

/* --- recording: from any thread, without waiting ---------------------------------------------- */

/* An answered request, as http_options.on_done tells it; route "" is none. */
void metrics_count_request(struct metrics *metrics, enum metrics_listener listener,
                           const char *route, unsigned status, uint64_t duration_us);

/* Nodes that filter judged with that reason; REASON_OK counts the kept ones. */
void metrics_count_filter(struct metrics *metrics, enum reason reason, uint64_t nodes);

/* Nodes that a preempt call ended with. */
void metrics_count_preempt(struct metrics *metrics, enum preempt_end end, uint64_t nodes);

void metrics_count_bind(struct metrics *metrics, enum bind_end end);

/* What became of a pod that is being created; bit r of acted: rule r had a part in it. */
void metrics_count_admission(struct metrics *metrics, enum admit_end end, unsigned acted);

/* --- the answer ------------------------------------------------------------------------------- */

struct metrics_writer;

/*
 * Write one sample of a collected counter or gauge; in any order, each label combination once.
 *
 * label_values  one for each label of the metric, in the table's order; NULL without labels.
 */
void metrics_write(struct metrics_writer *writer, enum metric metric,
                   const char *const *label_values, double value);

/* Writes what is collected; called once per answer, in the thread that asked. */
typedef void (*metrics_collect)(void *ctx, struct metrics_writer *writer);

/* The whole answer; its content type is METRICS_CONTENT_TYPE. collect may be NULL. */
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
void metrics_render(const struct metrics *metrics, metrics_collect collect, void *ctx,
                    struct buf *out);

#endif
