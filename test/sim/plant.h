/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plant - mistakes put in on purpose, in the world around the production code.
 *
 * What cannot be put in from outside is put into a copy of the source by test/sim/plants.sh.
 */
#ifndef TOPOFIT_SIM_PLANT_H
#define TOPOFIT_SIM_PLANT_H

#include "world.h"

#include "topofit/buf.h"

static inline bool plant_is(const struct world *world, enum plant plant)
{
    return world->options.plant == plant;
}

const char *plant_text(enum plant plant);
const char *plant_what(enum plant plant);
bool plant_find(const char *text, enum plant *out);

/* What becomes of a request on its way. The body may become shorter. */
void plant_request(struct world *world, char **path, char *body, size_t *body_length);

/* Is this line of a watch lost? */
bool plant_swallows(struct world *world, const struct buf *line);

#endif
