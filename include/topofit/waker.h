/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waker - lets kube-scheduler try waiting pods again when only we know that they may fit now.
 *
 * kube-scheduler retries a pod that we refused when it sees an event of the cluster, and else after
 * five minutes. Two things escape it: what frees devices in our memory alone (a Binding that failed
 * in the end, a conflict that was cured), and a pod that it asked us about before our watch had
 * told us of the event that woke it. So when something was freed after a pod had been refused, and
 * kube-scheduler has not asked again since, an annotation of the node is changed: an event that it
 * sees. At most once a second, and never for pods that were refused in the present state. After a
 * start, once, also for pods that a topofit before may have refused.
 *
 * A state machine without I/O, as the binder. Not thread-safe.
 * source  pkg/scheduler/framework/types.go (UpdateNodeAnnotation)
 */
#ifndef TOPOFIT_WAKER_H
#define TOPOFIT_WAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/api_call.h"
#include "topofit/cluster.h"
#include "topofit/history.h"
#include "topofit/moment.h"

/* The annotation of nodes whose change is the event; its value is a time, for people. */
#define WAKER_ANNOTATION "topofit.io/capacity-freed"

struct waker_counters {
    uint64_t woken;  /* nodes changed */
    uint64_t errors; /* requests lost or refused */
};

struct waker;

/*
 * cluster  borrowed for the waker's life, as history.
 * seed     of the waits after failures.
 */
struct waker *waker_new(struct cluster *cluster, struct history *history, uint64_t seed);

/* What it wanted to do is forgotten. NULL is fine. */
void waker_free(struct waker *waker);

/* As those of the binder. */
bool waker_next_request(struct waker *waker, struct moment now, struct api_request *out);
uint64_t waker_next_due_ms(const struct waker *waker);
void waker_on_answer(struct waker *waker, uint64_t id, const struct api_answer *answer,
                     uint64_t now_ms);
void waker_on_loss(struct waker *waker, uint64_t id, bool was_sent, const char *why,
                   uint64_t now_ms);

/* What is wrong and what to do, "" when all is well. Borrowed; changes with every call. */
const char *waker_problem(const struct waker *waker);

/* Borrowed; changes with every call. */
const struct waker_counters *waker_counters(const struct waker *waker);

#endif
