/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_loop - the thread that talks to the API server.
 *
 * Owns a client and a controller; moves bytes between them and reads the clock for it. One thread
 * starts, stops and frees it; the other functions may be called from any thread until
 * kube_loop_free begins, also on a loop that was stopped. The controller's sinks, `done` and
 * `settled` of bind jobs and `log` are called from the loop's thread and must not call
 * kube_loop_stop or kube_loop_free. What is unclear or under way at the very end is told from
 * within kube_loop_free, in the thread of its caller: `settled` and `log` must be safe there, too.
 */
#ifndef TOPOFIT_KUBE_LOOP_H
#define TOPOFIT_KUBE_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "topofit/controller.h"
#include "topofit/error.h"
#include "topofit/kubeconfig.h"
#include "topofit/log.h"

struct kube_loop_options {
    struct kube_config *steal_config;     /* taken over, also on failure; empty afterwards */
    struct controller_options controller; /* seed 0: a secret one */
    /* One line about a change: a failure is told once, not with every attempt. */
    void (*log)(void *ctx, enum log_level level, const char *text);
    void *log_ctx;
};

struct kube_loop_status {
    struct controller_status controller;
    uint64_t turned_ms; /* when the loop last came round; it does so every few seconds */
};

struct kube_loop;

/*
 * A loop without its thread: nothing is sent or called yet, so that its owner can say where it is
 * to those whom the thread will call. May tell `log` what is wrong from the beginning.
 *
 * errors  ERR_INVALID for a configuration that cannot be used.
 */
struct kube_loop *kube_loop_new(const struct kube_loop_options *options, struct error *err);

/*
 * Start the thread, once. No job or comparison may be handed over before.
 *
 * errors  ERR_IO when no thread starts; the loop can only be freed then.
 */
int kube_loop_start(struct kube_loop *loop, struct error *err);

/*
 * Take no more jobs, see those in flight through (at most until their deadlines), write the last
 * events, give the lease up, end the thread. On return every job's `done` and every on_report has
 * been called. The loop stays, for those who still ask: it refuses (ERR_BUSY) jobs and comparisons,
 * drops events, and shows its last status. NULL and a loop that was stopped are fine.
 */
void kube_loop_stop(struct kube_loop *loop);

/* Stop it, if that was not done, and give everything back. NULL is fine. */
void kube_loop_free(struct kube_loop *loop);

/*
 * May a job be submitted now? A topofit that does not lead asks for the lead then.
 *
 * term    receives the term of our lead, for the job; see bind_job.h.
 * errors  ERR_BUSY with a text for kube-scheduler.
 */
int kube_loop_check_bind(struct kube_loop *loop, uint64_t *term, struct error *err);

/*
 * Take over a job; its `done` comes later. A job that cannot be (bad names, too much text, no lead
 * any more) is BIND_FAILED. deadline_ms is of clock_monotonic_ms().
 *
 * errors  ERR_BUSY when binds_max are in flight or the loop is stopping; the job stays the
 *         caller's.
 */
int kube_loop_submit_bind(struct kube_loop *loop, struct bind_job *steal_job, struct error *err);

/*
 * Tell an event. Never waits: what is too much for one turn of the loop never reaches the event
 * queue, and is counted in the status as dropped all the same. After kube_loop_stop nothing is
 * written any more.
 */
void kube_loop_add_event(struct kube_loop *loop, const struct cluster_event *event);

/*
 * Compare with the API server now.
 *
 * on_report  called once from the loop's thread: with the report of a comparison that began after
 *            this call, or with NULL when there is none after KUBE_LOOP_REPORT_MS or at the end.
 * errors     ERR_BUSY when KUBE_LOOP_ASKERS_MAX wait already or the loop is stopping; on_report is
 *            not called then.
 */
typedef void (*kube_loop_on_report)(void *ctx, const struct reconciler_report *report);
int kube_loop_reconcile(struct kube_loop *loop, kube_loop_on_report on_report, void *ctx,
                        struct error *err);
#define KUBE_LOOP_ASKERS_MAX 16
#define KUBE_LOOP_REPORT_MS 30000u

/* The counters as of the last time something happened. */
void kube_loop_status(struct kube_loop *loop, struct kube_loop_status *out);

/* It has not come round for KUBE_LOOP_STUCK_MS, and will not: taking a huge list over is quicker.
 */
#define KUBE_LOOP_STUCK_MS 60000u
bool kube_loop_is_stuck(const struct kube_loop_status *status, uint64_t now_ms);

#endif
