/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_observer - what becomes of what the extender tells while it answers. */
#include "daemon_observer.h"

#include "daemon_kube.h"

static void count_filtered(void *ctx, enum reason reason, size_t nodes)
{
    struct daemon *daemon = ctx;

    metrics_count_filter(daemon->metrics, reason, nodes);
}

static void count_preempted(void *ctx, enum preempt_end end, size_t nodes)
{
    struct daemon *daemon = ctx;

    metrics_count_preempt(daemon->metrics, end, nodes);
}

static void take_bind(void *ctx, const struct bind_report *report)
{
    static const char *const events[] = {
        [BIND_END_BOUND] = "pod bound",
        [BIND_END_FAILED] = "bind failed",
        [BIND_END_UNCLEAR] = "bind unclear",
        [BIND_END_REFUSED] = "bind refused",
    };
    struct daemon *daemon = ctx;
    bool is_bound = report->end == BIND_END_BOUND;

    metrics_count_bind(daemon->metrics, report->end);
    log_event(daemon->log, is_bound ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, events[report->end],
              log_text("namespace", report->namespace), log_text("pod", report->name),
              log_text("node", report->node), log_text("problem", report->text));
}

static void take_admission(void *ctx, const struct admission_report *report)
{
    struct daemon *daemon = ctx;
    const struct admit_verdict *verdict = report->verdict;

    metrics_count_admission(daemon->metrics, verdict->end, verdict->acted);
    if (verdict->end == ADMIT_REFUSED)
        log_event(daemon->log, LOG_LEVEL_INFO, "pod refused",
                  log_text("namespace", report->namespace), log_text("pod", report->name),
                  log_text("problem", verdict->message));
}

struct observer daemon_observer(struct daemon *daemon)
{
    return (struct observer){.ctx = daemon,
                             .on_event = daemon_tell_event,
                             .on_filtered = count_filtered,
                             .on_preempted = count_preempted,
                             .on_bind_end = take_bind,
                             .on_admitted = take_admission};
}
