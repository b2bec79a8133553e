/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusal_text - what kube-scheduler is told of a refusal. For the extender only.
 */
#ifndef TOPOFIT_REFUSAL_TEXT_H
#define TOPOFIT_REFUSAL_TEXT_H

#include "topofit/plan.h"

/*
 * The reason's own text, with what never changes while pod and node stay as they are. Numbers stay
 * out: a text that changes is retried at once (facts in docs/reference/reasons.md).
 *
 * node    may be NULL for reasons that say nothing of a node.
 * return  the caller frees it.
 */
char *refusal_text(const struct request *request, const struct node *node,
                   const struct verdict *verdict);

#endif
