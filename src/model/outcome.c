/* SPDX-License-Identifier: Apache-2.0 */
/* outcome - what came out for one pod on one node: a plan, or why not. */
#include "topofit/outcome.h"

#include "topofit/mem.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Many are kept: a refusal needs no room for a plan, nor a plan for partitions that it has not. */
static size_t plan_size(const struct plan *plan)
{
    return offsetof(struct outcome, plan.partitions) +
           plan->partition_count * sizeof *plan->partitions;
}

static size_t refusal_size(void)
{
    return offsetof(struct outcome, verdict) + sizeof(struct verdict);
}

static struct outcome *outcome_new(enum reason reason, size_t size)
{
    struct outcome *outcome = xmalloc(size);

    outcome->references = 1;
    outcome->reason = reason;
    outcome->node = NULL;
    outcome->words = NULL;
    return outcome;
}

struct outcome *outcome_kept(const struct plan *plan)
{
    struct outcome *outcome = outcome_new(REASON_OK, plan_size(plan));

    plan_copy(plan, &outcome->plan);
    return outcome;
}

struct outcome *outcome_refused(const struct verdict *verdict, struct node *node, const char *words)
{
    struct outcome *outcome = outcome_new(verdict->reason, refusal_size());

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
    size_t size = outcome->reason == REASON_OK ? plan_size(&outcome->plan) : refusal_size();

    return mem_block_bytes(size) + mem_text_bytes(outcome->words) +
           (has_own_node ? node_bytes(node) : 0);
}
