/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hami_slots - which container of a pod each slot of HAMi's list belongs to. For the dialects only.
 */
#ifndef TOPOFIT_HAMI_SLOTS_H
#define TOPOFIT_HAMI_SLOTS_H

#include <stdbool.h>

#include "hami_list.h"
#include "topofit/request.h"

/*
 * Do the devices of both classes stand in one list? So they do of one class, and of two under one
 * key: kinds of devices, or generations, of one plugin. All that is said of a list goes by this.
 */
bool hami_shares_list(const struct device_class *a, const struct device_class *b);

/* What the pod asks for of a list's classes in a container, or NULL. class: any of them. */
const struct ask *hami_ask_of(const struct request *request, const struct device_class *class,
                              size_t container);

/*
 * Find the container of each slot that has devices.
 *
 * HAMi loses empty slots of containers before the first that asks for the vendor (2.10), or behind
 * the last (2.9), so the position of a slot is not enough. Counts, in this order:
 * - the slots with devices are as many as the containers that ask for the list's classes, each with
 * the devices asked for: they belong to those, in order;
 * - there is a slot for each container: by position;
 * - there are fewer: slots are missing at the front. So what is doubtful goes to a container that
 *   runs later rather than to an init container, with which it would end too soon.
 *
 * positions  [list->count], written; of an empty slot nothing is said.
 * errors     ERR_INVALID for more slots than containers
 */
int hami_slots_place(const struct hami_list *list, const struct request *request,
                     const struct device_class *class, size_t *positions, struct error *err);

#endif
