/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_choice - which cores of a device a container has, where its runtime addresses them singly.
 *
 * Decisions count cores; which they are matters to nobody but the runtime (AWS Neuron). So they are
 * chosen when a plan becomes a record, from what is free then: the lowest.
 */
#ifndef TOPOFIT_CORE_CHOICE_H
#define TOPOFIT_CORE_CHOICE_H

#include "topofit/grant.h"

#define CORES_ADDRESSED_MAX 32 /* of one device; those of larger ones are not chosen */

/*
 * Set core_mask of all devices of an allocation whose class addresses cores (hami.coresAsMask).
 * Containers that run together get cores of their own; use is of the others.
 */
void cores_choose(struct allocation *allocation, const struct node *node,
                  const struct node_use *use);

#endif
