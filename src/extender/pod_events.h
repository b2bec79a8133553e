/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_events - what is told about a pod for people to read. For the use-cases only.
 *
 * Nothing is told of pods that the watch has not shown: whoever simulates (an autoscaler, a person)
 * asks about pods that are not there.
 */
#ifndef TOPOFIT_POD_EVENTS_H
#define TOPOFIT_POD_EVENTS_H

#include "topofit/extender.h"

/* The pod is bound: which devices it holds. */
void tell_assigned(const struct extender *extender, const struct pod *pod);

/* No node fits: how many nodes were refused for each reason. */
void tell_unplaced(const struct extender *extender, const struct pod *pod,
                   const size_t by_reason[REASON_COUNT], size_t nodes);

#endif
