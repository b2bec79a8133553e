/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler - plays kube-scheduler: filter, prioritize, bind, and again after events.
 *
 * One pod is filtered at a time, Bindings run side by side. A refused pod waits until something
 * happens in the cluster. It sees the model itself, as a perfect watch would. Answers are held
 * against what is true of all answers, and successes against the model.
 */
#ifndef TOPOFIT_CHAOS_SCHEDULER_H
#define TOPOFIT_CHAOS_SCHEDULER_H

#include "http_call.h"
#include "support/placement_checker.h"

struct scheduler;

struct scheduler_options {
    struct http_calls *calls; /* borrowed, as all here */
    const struct api_model *model;
    struct placement_checker *checker;
    void *ctx;
    void (*on_news)(void *ctx, const char *line);  /* for the trace */
    void (*on_wrong)(void *ctx, const char *text); /* a rule was broken */
};

struct scheduler *scheduler_new(const struct scheduler_options *options);
void scheduler_free(struct scheduler *scheduler);

/* port  of the extender; 0: it does not run. return when to be asked again. */
uint64_t scheduler_tick(struct scheduler *scheduler, unsigned port, uint64_t now_ms);

/* Pods that wait for a node, and those of them whose Binding is under way. */
size_t scheduler_pending(const struct scheduler *scheduler);
size_t scheduler_binding(const struct scheduler *scheduler);

struct scheduler_counts {
    uint64_t filters, binds, bound, refused_binds;
};
struct scheduler_counts scheduler_counts(const struct scheduler *scheduler);

#endif
