/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrange - where the partitions that a pod wants go on a divided device. Inside of decide.
 *
 * All asks of the pod on one device are arranged together, by trying all ways: first those whose
 * profiles are no larger than need be, then those that leave most room for large profiles, then
 * the high starts. Asks that never run at the same time may have the same partition.
 * source: docs/concepts/partitions.md
 */
#ifndef TOPOFIT_DECIDE_ARRANGE_H
#define TOPOFIT_DECIDE_ARRANGE_H

#include "topofit/node.h"
#include "topofit/plan.h"
#include "topofit/request.h"

/* Steps of one arrangement at most; what takes more is not looked for any further. */
#define ARRANGE_STEPS_MAX 50000

#define ARRANGE_ASKS_MAX PARTITION_SLICES_MAX /* on one device */

/* A divided device and what is taken of it. */
struct arrange_question {
    const struct request *request;
    const struct device *device; /* divided */
    struct partition_use taken;
    uint32_t asks; /* of the request, a bit each */
};

struct arrangement {
    unsigned count;
    struct planned_partition items[ARRANGE_ASKS_MAX]; /* position is left 0 */
    struct partition_use after;
    bool cut_short; /* there may be a better one */
};

/* Is there a profile of the device that is enough for an ask? */
bool arrange_has_profile(const struct request *request, const struct ask *ask,
                         const struct device *device);

/* Do all asks find a place together? Also false where the steps ran out before one was found. */
bool arrange_is_possible(const struct arrange_question *question);

/* The best arrangement. return false when there is none, or none was found. */
bool arrange_best(const struct arrange_question *question, struct arrangement *out);

/*
 * What large profiles lose by a change, as one number to compare: the largest counts most. 0 =
 * none loses anything.
 */
#define ARRANGE_LOSS_MAX ((1u << 15) - 1)
unsigned arrange_loss(const struct partition_table *table, struct partition_use before,
                      struct partition_use after);

#endif
