/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender - the use-cases: what kube-scheduler asks, from request bytes to answer bytes.
 *
 * admit looks at the pod and the quotas of its namespace. filter, prioritize and preempt are
 * functions of (snapshot, pod, nodes): no I/O, no promise. bind decides again, reserves, and hands
 * the Binding to a port; the answer comes later, through a callback. Safe to call from any thread.
 */
#ifndef TOPOFIT_EXTENDER_H
#define TOPOFIT_EXTENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/admit.h"
#include "topofit/bind_job.h"
#include "topofit/buf.h"
#include "topofit/cluster.h"
#include "topofit/decide.h"
#include "topofit/device_class.h"
#include "topofit/gputopo_memo.h"
#include "topofit/history.h"
#include "topofit/moment.h"
#include "topofit/waste_memo.h"

/* Decisions remembered between calls; what they depend on is part of what is remembered. */
struct recall;
struct recall *recall_new(void);
void recall_free(struct recall *recall);

/* What calls found in it so far, and what they had to do anew; and what it holds now. */
struct recall_counts {
    uint64_t kinds_found, kinds_new;             /* of pods: calls */
    uint64_t nodes_same, nodes_alike, nodes_new; /* decided before, like another, decided now */
    uint64_t merits_same, merits_new;            /* of nodes */
    size_t kinds, bytes;
};
struct recall_counts recall_counts(struct recall *recall); /* NULL: zeros */

/* Where Bindings go: the API server (edge) or memory (embedded mode). Never blocks. */
struct bind_port {
    void *ctx;
    /*
     * May a job be submitted now? NULL: always.
     *
     * term    receives what the job is to carry: devices that are booked from now on are booked in
     *         this term of our lead, and in no other they are certainly free.
     * errors  ERR_BUSY, why not, for kube-scheduler.
     */
    int (*check)(void *ctx, uint64_t *term, struct error *err);
    /* errors: ERR_BUSY when too many are in flight; then the job stays the caller's. */
    int (*submit)(void *ctx, struct bind_job *steal_job, struct error *err);
};

/* How a bind call ended, for counting. */
enum bind_end { BIND_END_BOUND = 0, BIND_END_FAILED, BIND_END_UNCLEAR, BIND_END_REFUSED };

/* What became of a node that kube-scheduler proposed to evict pods from. */
enum preempt_end {
    PREEMPT_KEPT = 0, /* answered as proposed */
    PREEMPT_CHANGED,  /* answered with other victims */
    PREEMPT_DROPPED,  /* not in the answer: no eviction helps, or nothing is known of it */
};
#define PREEMPT_END_COUNT 3

/* How a bind call ended, with what is to be told of it. All borrowed. */
struct bind_report {
    enum bind_end end;
    const char *namespace, *name, *node; /* as asked for; may be "" */
    const char *text;                    /* why not; "" when bound */
};

/* What became of a pod that is being created. All borrowed. */
struct admission_report {
    const struct admit_verdict *verdict;
    const char *namespace, *name; /* the name may be the beginning of one, or "" */
    bool dry_run;                 /* nothing is created in the end */
};

/* Something about a pod that people should read in `kubectl describe`. All borrowed. */
struct pod_event {
    const struct pod *pod;
    bool is_warning;
    const char *reason, *action; /* CamelCase words: docs/reference/events.md */
    const char *note;
};

/* Who counts and tells what happens. All may be NULL; called from any thread, must not block. */
struct observer {
    void *ctx;
    void (*on_event)(void *ctx, const struct pod_event *event);
    void (*on_filtered)(void *ctx, enum reason reason, size_t nodes); /* REASON_OK = kept */
    void (*on_preempted)(void *ctx, enum preempt_end end, size_t nodes);
    void (*on_bind_end)(void *ctx, const struct bind_report *report);
    void (*on_admitted)(void *ctx, const struct admission_report *report);
};

/* In whose words pods are told of. source: docs/reference/events.md */
enum event_words {
    EVENT_WORDS_TOPOFIT = 0,
    EVENT_WORDS_HAMI, /* reasons and notes as HAMi's scheduler writes them */
};

struct extender_options {
    struct decide_policy policy;
    struct admit_policy admit; /* its texts outlive every call */
    bool answer_reviews;       /* false: the webhook is switched off */
    bool answer_failed_nodes;  /* curable refusals go to FailedNodes (docs/reference/reasons.md) */
    bool answers_best; /* filter keeps the best node alone, for who does not ask prioritize */
    enum event_words event_words;
    uint64_t bind_timeout_ms; /* how long a Binding may take before it is unclear */
};

struct extender {
    struct cluster *cluster; /* borrowed, as everything here */
    const struct class_table *classes;
    struct gputopo_memo *memo;
    struct waste_memo *waste_memo; /* may be NULL */
    struct history *history;
    struct recall *recall; /* decisions of earlier calls; NULL: each is made anew */
    struct bind_port binder;
    struct observer observer;
    struct extender_options options;
};

/*
 * Answer a filter or prioritize call.
 *
 * now     for the record; nothing is decided by it.
 * out     the complete body.
 * errors  ERR_INVALID or ERR_LIMIT when the request is not what it should be. Semantic failures of
 *         filter are part of the answer (Error); prioritize has no place for them, so there they
 *         are errors, and ERR_BUSY before the first complete list.
 */
int extender_filter(struct extender *extender, const char *bytes, size_t length, struct moment now,
                    struct buf *out, struct error *err);
int extender_prioritize(struct extender *extender, const char *bytes, size_t length,
                        struct moment now, struct buf *out, struct error *err);

/*
 * Answer a preempt call: for each node proposed whom to evict, or nothing when no eviction helps.
 * What it means is in docs/concepts/preemption.md.
 *
 * errors  ERR_INVALID or ERR_LIMIT as above, also for no Pod, for both forms of victims and for
 *         neither; ERR_BUSY before the first complete list. The answer has no place for a text.
 */
int extender_preempt(struct extender *extender, const char *bytes, size_t length, struct moment now,
                     struct buf *out, struct error *err);

/*
 * Answer an AdmissionReview about a pod that is being created; whatever else it is about is
 * allowed. Has no side effects. docs/reference/webhook.md
 *
 * errors  ERR_INVALID, ERR_LIMIT: no review, or what is to be a pod is none.
 */
int extender_admit(struct extender *extender, const char *bytes, size_t length, struct moment now,
                   struct buf *out, struct error *err);

/*
 * Answer a bind call, sooner or later.
 *
 * extender  copied; what it borrows must outlive the answer.
 * done    called exactly once with the complete body, from any thread, possibly before this
 *         function returns. Not called when an error is returned.
 */
typedef void (*extender_on_bound)(void *ctx, const char *body, size_t length);
int extender_bind(struct extender *extender, const char *bytes, size_t length, struct moment now,
                  extender_on_bound done, void *ctx, struct error *err);

#endif
