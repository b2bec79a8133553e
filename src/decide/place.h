/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place - one ask on a node: its candidates, the rule of its class, and the best set. Inside of
 * decide.
 */
#ifndef TOPOFIT_DECIDE_PLACE_H
#define TOPOFIT_DECIDE_PLACE_H

#include "draft.h"

/*
 * Place one ask beside those that a plan has placed.
 *
 * plan     its tier, quality and degraded are kept up; its sets are not.
 * verdict  its reason tells whether it went.
 * return   the set, or 0.
 */
device_mask place_ask(const struct problem *problem, size_t ask, struct plan *plan,
                      struct verdict *verdict);

/* What links a given set has goes into the plan. */
void place_note_links(const struct problem *problem, size_t ask, device_mask set,
                      struct plan *plan);

/* Of the devices that an ask could have, those that its rule allows beside the placed asks. */
device_mask place_beside(const struct problem *problem, const struct plan *plan, size_t ask,
                         device_mask candidates);

/* Does its rule allow an ask this set, beside the placed asks? */
bool place_allows(const struct problem *problem, const struct plan *plan, size_t ask,
                  device_mask set);

#endif
