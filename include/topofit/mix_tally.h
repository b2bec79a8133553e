/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mix_tally - learning the mix from the pods that arrive.
 *
 * Counts kinds of pods, at most MIX_KINDS_MAX. All counts are halved when there are
 * MIX_PODS_MAX of them, so what was long ago is forgotten. Nothing is said before
 * MIX_PODS_MIN pods have come: a guess from a few would be worse than none. Not thread-safe:
 * the owner locks.
 *
 * source  docs/concepts/packing.md#the-mix-of-pods
 */
#ifndef TOPOFIT_MIX_TALLY_H
#define TOPOFIT_MIX_TALLY_H

#include <stdint.h>

#include "topofit/map.h"
#include "topofit/pod_mix.h"

#define MIX_KINDS_MAX 1024
#define MIX_PODS_MAX 16384
#define MIX_PODS_MIN 16

struct mix_tally;
struct mix_tally *mix_tally_new(const struct hash_key *key);
void mix_tally_free(struct mix_tally *tally);

/* A pod has come. One without devices, or whose request cannot be read, does not count. */
void mix_tally_add(struct mix_tally *tally, const struct request *request,
                   struct host_amounts host);

/* How many count, those forgotten left out. */
uint64_t mix_tally_pods(const struct mix_tally *tally);

/* Is there so much news since the last summary (or at all) that another is worth making? */
bool mix_tally_has_news(const struct mix_tally *tally);

/*
 * The most frequent kinds that together make up 95 % of what was counted; NULL when nothing was.
 * One reference for the caller.
 *
 * source  the target mix of Weng et al., "Beware of Fragmentation", USENIX ATC 2023
 */
struct pod_mix *mix_tally_summary(struct mix_tally *tally);

#endif
