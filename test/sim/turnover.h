/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turnover - the lead changes while Bindings are under way.
 *
 * What is unlikely when each fault comes by itself: the leader falls just when it has sent a
 * Binding, the others have not heard of its last ones, and it may be back before anybody else has
 * noticed. Everything that happens could happen by itself.
 */
#ifndef TOPOFIT_SIM_TURNOVER_H
#define TOPOFIT_SIM_TURNOVER_H

#include "world.h"

struct turnover *turnover_new(struct world *world);
void turnover_free(struct turnover *turnover);

/* Do people hold their breath? Who waits then goes on waiting, unless topofit gives something away.
 */
bool turnover_is_quiet(const struct turnover *turnover);

/* A replica is about to send a Binding. return true when that Binding is to have a hard time. */
bool turnover_on_binding(struct turnover *turnover, size_t replica);

/*
 * A replica has booked for a Binding that it has not begun to send. return true when it is not to
 * begin before it has lost the lead and found it again.
 */
bool turnover_on_job(struct turnover *turnover, size_t replica);

/*
 * For one planted mistake: a replica has decided to send a Binding, and may be stopped before it
 * does. return for how long; 0: it is not.
 */
uint64_t turnover_on_pause(struct turnover *turnover, size_t replica);

#endif
