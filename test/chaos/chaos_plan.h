/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chaos_plan - which step comes next: lines for script_step, and what only the run itself can do.
 *
 * Depends on the seed and on what is in the model.
 */
#ifndef TOPOFIT_CHAOS_CHAOS_PLAN_H
#define TOPOFIT_CHAOS_CHAOS_PLAN_H

#include "support/api_model.h"

struct chaos_plan {
    uint64_t chance;     /* the seed, at first */
    unsigned pods;       /* names given so far */
    unsigned hard_every; /* steps between two faults that make the daemon wait */
    unsigned steps_since_hard;
};

/* What a step may be besides lines of a script. */
enum plan_extra { PLAN_NOTHING = 0, PLAN_CRASH, PLAN_RESTART };

/*
 * The next step.
 *
 * out     lines of a script, each with its newline.
 * return  what is to be done after them.
 */
enum plan_extra chaos_plan_next(struct chaos_plan *plan, const struct api_model *model,
                                struct buf *out);

/* Nodes to begin with. */
void chaos_plan_begin(struct chaos_plan *plan, struct buf *out);

#endif
