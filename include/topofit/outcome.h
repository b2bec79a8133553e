/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcome - what came out for one pod on one node: a plan, or why not.
 *
 * Immutable and counted atomically: pods that ask alike and nodes that are alike share one, and the
 * history of decisions refers to them. What people read is written only when somebody asks.
 */
#ifndef TOPOFIT_OUTCOME_H
#define TOPOFIT_OUTCOME_H

#include <stddef.h>

#include "topofit/plan.h"

struct outcome {
    unsigned references;
    enum reason reason; /* REASON_OK: there is a plan, else a verdict */
    struct node *node;  /* one that it is true of, or NULL; only its devices and problem count */
    char *words;        /* to be said in place of the verdict's numbers, or NULL */
    union {
        struct plan plan; /* no more of it than plan_copy() copies */
        struct verdict verdict;
    };
};

struct outcome *outcome_kept(const struct plan *plan);

/* node: a reference is taken; may be NULL when there are words. words: copied, or NULL. */
struct outcome *outcome_refused(const struct verdict *verdict, struct node *node,
                                const char *words);

struct outcome *outcome_ref(struct outcome *outcome);
void outcome_unref(struct outcome *outcome);

/* One line for people on why not, with the numbers. Written to text[size], cut to fit. */
void outcome_describe(const struct outcome *outcome, char *text, size_t size);

/* How much memory it takes; of its node, what is nobody else's. */
size_t outcome_bytes(const struct outcome *outcome);

#endif
