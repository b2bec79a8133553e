/* SPDX-License-Identifier: Apache-2.0 */
/*
 * combine - is there any way to place all asks of a pod together? Inside of decide.
 *
 * A depth-first search over asks and devices. It knows what fits and what hard topology allows,
 * and prefers nothing. Devices of the same size, use and asks are tried once, and so are asks that
 * want the same.
 */
#ifndef TOPOFIT_DECIDE_COMBINE_H
#define TOPOFIT_DECIDE_COMBINE_H

#include "draft.h"

/*
 * return  whether a combination was found. `false` is exact unless the effort says that it was cut
 *         short, or pods hold devices nobody can name.
 * plan    its sets are written when one was found, and emptied else.
 */
bool combine(const struct problem *problem, struct plan *plan);

#endif
