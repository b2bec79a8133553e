/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spend - what a plan in the making takes of its namespace's quota, and what that allows.
 *
 * Inside of decide; nobody else includes this. A plan is charged as charges_of_record() charges its
 * record: class by class, the most of its phases, each summed over the devices. Nothing here is
 * called for pods without limits. A partition counts once it is arranged, with what it really has;
 * before that nothing is known of it.
 */
#ifndef TOPOFIT_DECIDE_SPEND_H
#define TOPOFIT_DECIDE_SPEND_H

#include "draft.h"

/* Is every phase of the plan within the room? `over` is written when one is not. */
bool spend_allows(const struct problem *problem, const struct plan *plan,
                  struct quota_shortage *over);

/*
 * Of an ask's candidates those of which any choice keeps the quota, beside what is placed: all but
 * the dearest, as few left out as can be. With devices that differ in memory alone, or in cores
 * alone, there are some whenever a set of candidates keeps the quota.
 *
 * out     the candidates left; when there are none, the cheapest set.
 * return  whether there are any.
 */
bool spend_narrow(const struct problem *problem, const struct plan *plan, size_t ask,
                  device_mask candidates, device_mask *out);

/* Refuse for the quota: curable when the pod alone is within the limit. */
void spend_refuse(const struct quota_shortage *over, struct verdict *verdict);

#endif
