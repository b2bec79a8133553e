/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orphan_finder - bookings of ours that succeeded, and whose pod is never shown.
 *
 * A Binding that succeeded is confirmed by the watch, which shows the pod or its end. Neither comes
 * when the pod was bound and gone again before the server made a list that we had asked for before.
 * Such a booking would be kept for ever. So from time to time we look who is known by our word
 * alone; who was so at the last look already, with the watch open, is looked for in a new list.
 *
 * No I/O, time is an argument. Not thread-safe.
 */
#ifndef TOPOFIT_ORPHAN_FINDER_H
#define TOPOFIT_ORPHAN_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/cluster.h"

#define ORPHAN_LOOK_MS 15000u /* between two looks: no open watch is late by that much */

struct orphan_finder;

/* cluster is borrowed. */
struct orphan_finder *orphan_finder_new(struct cluster *cluster);
void orphan_finder_free(struct orphan_finder *finder);

/*
 * Look, if it is time to. With the watch of the pods closed, what was seen is forgotten.
 *
 * return  true when the pods should be listed again.
 */
bool orphan_finder_look(struct orphan_finder *finder, bool watch_is_open, uint64_t now_ms);
uint64_t orphan_finder_next_due_ms(const struct orphan_finder *finder);

#endif
