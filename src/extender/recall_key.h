/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recall_key - everything that a decision depends on besides the node, as bytes.
 */
#ifndef TOPOFIT_RECALL_KEY_H
#define TOPOFIT_RECALL_KEY_H

#include "topofit/buf.h"
#include "topofit/decide.h"

/* Two requests with equal keys get equal outcomes. return false when it does not fit the buffer. */
bool recall_key_write(struct buf *out, const struct request *request,
                      const struct decide_policy *policy, bool helps);

#endif
