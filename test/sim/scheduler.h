/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler - kube-scheduler, as far as an extender sees it.
 *
 * It has a late picture of nodes and pods of its own, counts devices by itself (NodeResourcesFit),
 * asks filter and prioritize for one pod at a time, and bind for any number. A pod is assumed where
 * it is being bound; success is believed, and nothing else ends that. Pods that were refused wait
 * for an event, or five minutes; after errors they are tried again after 1 to 10 s. source  facts:
 * kube-scheduler pkg/scheduler/{schedule_one,extender}.go, backend/queue
 */
#ifndef TOPOFIT_SIM_SCHEDULER_H
#define TOPOFIT_SIM_SCHEDULER_H

#include "world.h"

struct scheduler *scheduler_new(struct world *world);
void scheduler_free(struct scheduler *scheduler);

/* The state of the API server has changed. */
void scheduler_on_change(struct scheduler *scheduler);

/* An answer leaves a replica; NULL: it is an error without a body. */
void scheduler_on_answer(struct scheduler *scheduler, uint64_t question, const char *body,
                         size_t length);
/* The connections to a replica break. */
void scheduler_on_crash(struct scheduler *scheduler, size_t replica);

/* Its next questions go to this replica. */
void scheduler_turn_to(struct scheduler *scheduler, size_t replica);

/* Another process takes over: nothing is assumed any more. */
void scheduler_restart(struct scheduler *scheduler);

/*
 * Is a pod waiting that a replica would keep somewhere, or assumed somewhere without being bound?
 * Only meaningful when nothing has happened for a while.
 *
 * text  receives why, when so.
 */
bool scheduler_owes(struct scheduler *scheduler, size_t replica, char *text, size_t size);

#endif
