/* SPDX-License-Identifier: Apache-2.0 */
/* outcome - what came out for one pod on one node: a plan, or why not. */
#include "topofit/outcome.h"

#include "topofit/mem.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Many are kept, and a refusal needs no room for a plan. */
static size_t size_of(enum reason reason)
{
    size_t head = offsetof(struct outcome, plan);

    return head + (reason == REASON_OK ? sizeof(struct plan) : sizeof(struct verdict));
}

static struct outcome *outcome_new(enum reason reason)
{
    struct outcome *outcome = xmalloc(size_of(reason));

    outcome->references = 1;
    outcome->reason = reason;
    outcome->node = NULL;
    outcome->words = NULL;
    return outcome;
}

struct outcome *outcome_kept(const struct plan *plan)
{
    struct outcome *outcome = outcome_new(REASON_OK);

    outcome->plan = *plan;
    return outcome;
}

struct outcome *outcome_refused(const struct verdict *verdict, struct node *node, const char *words)
{
    struct outcome *outcome = outcome_new(verdict->reason);

    assert(verdict->reason != REASON_OK && (node != NULL || words != NULL));
    outcome->verdict = *verdict;
    outcome->node = node != NULL ? node_ref(node) : NULL;
    outcome->words = words != NULL ? xstrdup(words) : NULL;
    return outcome;
}

struct outcome *outcome_ref(struct outcome *outcome)
{
    __atomic_add_fetch(&outcome->references, 1, __ATOMIC_RELAXED);
    return outcome;
}

void outcome_unref(struct outcome *outcome)
{
    if (outcome == NULL || __atomic_sub_fetch(&outcome->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    node_unref(outcome->node);
    free(outcome->words);
    free(outcome);
}

void outcome_describe(const struct outcome *outcome, char *text, size_t size)
{
    if (outcome->reason == REASON_OK || outcome->words != NULL)
        snprintf(text, size, "%s",
                 outcome->words != NULL ? outcome->words : reason_text(outcome->reason));
    else
        verdict_describe(&outcome->verdict, outcome->node, text, size);
}

size_t outcome_bytes(const struct outcome *outcome)
{
    const struct node *node = outcome->node;
    bool has_own_node = node != NULL && __atomic_load_n(&node->references, __ATOMIC_RELAXED) == 1;

    return mem_block_bytes(size_of(outcome->reason)) + mem_text_bytes(outcome->words) +
           (has_own_node ? node_bytes(node) : 0);
}
