/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_tally - learning the workload from the pods that arrive.
 *
 * Counts kinds of pods, at most WORKLOAD_KINDS_MAX. All counts are halved when there are
 * WORKLOAD_PODS_MAX of them, so what was long ago is forgotten. Nothing is said before
 * WORKLOAD_PODS_MIN pods have come: a guess from a few would be worse than none. Not thread-safe:
 * the owner locks.
 *
 * source  docs/concepts/packing.md#the-workload
 */
#ifndef TOPOFIT_WORKLOAD_TALLY_H
#define TOPOFIT_WORKLOAD_TALLY_H

#include <stdint.h>

#include "topofit/map.h"
#include "topofit/workload.h"

#define WORKLOAD_KINDS_MAX 1024
#define WORKLOAD_PODS_MAX 16384
#define WORKLOAD_PODS_MIN 256

struct workload_tally;
struct workload_tally *workload_tally_new(const struct hash_key *key);
void workload_tally_free(struct workload_tally *tally);

/* A pod has come. One without devices, or whose request cannot be read, does not count. */
void workload_tally_add(struct workload_tally *tally, const struct request *request,
                        struct host_amounts host);

/* Is there so much news since the last summary (or at all) that another is worth making? */
bool workload_tally_has_news(const struct workload_tally *tally);

/*
 * The most frequent kinds that together make up 95 % of what was counted; NULL when nothing was.
 * One reference for the caller.
 *
 * source  the target workload of Weng et al., "Beware of Fragmentation", USENIX ATC 2023
 */
struct workload *workload_tally_summary(struct workload_tally *tally);

#endif
