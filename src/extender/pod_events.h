/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_events - what is told about a pod for people to read. For the use-cases only.
 *
 * Nothing is told of pods that the watch has not shown: whoever simulates (an autoscaler, a person)
 * asks about pods that are not there.
 */
#ifndef TOPOFIT_POD_EVENTS_H
#define TOPOFIT_POD_EVENTS_H

#include "listing.h"
#include "topofit/extender.h"
#include "topofit/history.h"

/* The pod is bound: which devices it holds. */
void tell_assigned(const struct extender *extender, const struct pod *pod, const char *node);

/* The pod is not bound, and why. HAMi's words have an event for it; in ours the scheduler tells. */
void tell_bind_failed(const struct extender *extender, const struct pod *pod, const char *why);

/*
 * Nodes fit, and which is best. Told in HAMi's words alone: in ours the Event of the bound pod
 * tells.
 *
 * unfit  how many were refused.
 */
void tell_fitting(const struct extender *extender, const struct call *call,
                  const struct listing *listing, size_t unfit);

/* No node fits: how many nodes were refused for each reason, and which, as far as noted. */
void tell_unplaced(const struct extender *extender, const struct decision *decision);

#endif
