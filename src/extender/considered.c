/* SPDX-License-Identifier: Apache-2.0 */
/* considered - what came out for a node, and what is answered for it. */
#include "considered.h"

#include "topofit/mem.h"

#include <stdlib.h>

struct considered *considered_new(struct outcome *steal_outcome, enum node_fate fate,
                                  const char *words)
{
    struct considered *considered = xcalloc(1, sizeof *considered);

    considered->reason = steal_outcome->reason;
    considered->outcome = steal_outcome;
    if (fate != NODE_KEPT)
        considered->answer = node_answer_refusal(fate, words);
    return considered;
}

void considered_free(struct considered *considered)
{
    if (considered == NULL)
        return;
    node_answer_clear(&considered->answer);
    outcome_unref(considered->outcome);
    free(considered);
}

size_t considered_bytes(const struct considered *considered)
{
    return mem_block_bytes(sizeof *considered) + node_answer_bytes(&considered->answer) +
           outcome_bytes(considered->outcome);
}
