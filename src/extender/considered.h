/* SPDX-License-Identifier: Apache-2.0 */
/*
 * considered - what came out for a node, and what is answered for it. For the extender only.
 *
 * Immutable. Owned by what made it, a call or what is remembered of such calls, and shared by all
 * nodes it is true of.
 */
#ifndef TOPOFIT_CONSIDERED_H
#define TOPOFIT_CONSIDERED_H

#include "topofit/extender_json.h"
#include "topofit/outcome.h"

struct considered {
    struct node_answer answer; /* first: lists of answers go to the writer as they are */
    enum reason reason;
    struct outcome *outcome; /* one reference */
};

/* The whole of which it is the answer. */
static inline const struct considered *considered_of(const struct node_answer *answer)
{
    return (const struct considered *)answer;
}

/* words: why not, for kube-scheduler; NULL when the node is kept. */
struct considered *considered_new(struct outcome *steal_outcome, enum node_fate fate,
                                  const char *words);
void considered_free(struct considered *considered);

/* How much memory it takes, its outcome as if it were nobody else's. */
size_t considered_bytes(const struct considered *considered);

#endif
