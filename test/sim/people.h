/* SPDX-License-Identifier: Apache-2.0 */
/*
 * people - all others: who creates and deletes pods, what becomes of nodes, other schedulers.
 *
 * Pods of theirs that topofit has no part in are called "other-...".
 */
#ifndef TOPOFIT_SIM_PEOPLE_H
#define TOPOFIT_SIM_PEOPLE_H

#include "world.h"

#define PEOPLE_OTHER "other-" /* how their pods' names begin */

/* Makes the nodes. */
struct people *people_new(struct world *world);
void people_free(struct people *people);

/* A round begins: they change their habits. In calm they do nothing, but what they began ends. */
void people_begin(struct people *people);

/* Nothing of theirs is under way: no pod ends, none is about to run. */
bool people_are_done(const struct people *people);

/* So many pods come at once, if there are names left. */
void people_crowd(struct people *people, size_t count);

#endif
