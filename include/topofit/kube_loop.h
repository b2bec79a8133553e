/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_loop - the thread that talks to the API server.
 *
 * Owns a client, a reflector for nodes, one for pods, and a binder; moves bytes between them and
 * reads the clock for them. kube_loop_submit_bind and kube_loop_status may be called from any
 * thread; the sinks, the `done` of bind jobs and `log` are called from the loop's thread and must
 * not call kube_loop_stop.
 */
#ifndef TOPOFIT_KUBE_LOOP_H
#define TOPOFIT_KUBE_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "topofit/bind_job.h"
#include "topofit/binder.h"
#include "topofit/error.h"
#include "topofit/kubeconfig.h"
#include "topofit/log.h"
#include "topofit/reflector.h"

struct kube_loop_options {
    struct kube_config *steal_config; /* taken over, also on failure; empty afterwards */
    struct reflector_sink nodes;
    struct reflector_sink pods; /* of unfinished pods: one that finishes is removed */
    size_t binds_max;           /* Bindings in flight at once */
    uint64_t seed;              /* for waits and watch times; 0: a secret one */
    /* One line about a change: a failure is told once, not with every attempt. */
    void (*log)(void *ctx, enum log_level level, const char *text);
    void *log_ctx;
};

struct kube_loop_status {
    struct reflector_counters nodes, pods;
    struct binder_counters binds;
};

struct kube_loop;

/* errors: ERR_INVALID for a configuration that cannot be used, ERR_IO when no thread starts. */
struct kube_loop *kube_loop_start(const struct kube_loop_options *options, struct error *err);

/*
 * Take no more jobs, see those in flight through (at most until their deadlines), end the thread.
 * Every job's `done` has been called on return. NULL is fine.
 */
void kube_loop_stop(struct kube_loop *loop);

/*
 * Take over a job; its `done` comes later. A job that cannot be (bad names, too much text) is
 * BIND_FAILED. deadline_ms is of clock_monotonic_ms().
 *
 * errors  ERR_BUSY when binds_max are in flight or the loop is stopping; the job stays the
 *         caller's.
 */
int kube_loop_submit_bind(struct kube_loop *loop, struct bind_job *steal_job, struct error *err);

/* The counters as of the last time something happened. */
void kube_loop_status(struct kube_loop *loop, struct kube_loop_status *out);

#endif
