/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound - can a pod's asks not fit together whichever way they are placed? Inside of decide.
 *
 * Much cheaper than combine, and it sees most of what does not fit at all: more is wanted than
 * there is, or more large parts than devices can hold.
 */
#ifndef TOPOFIT_DECIDE_BOUND_H
#define TOPOFIT_DECIDE_BOUND_H

#include "draft.h"

/*
 * may     [ask_count] devices that could serve the ask if it were alone.
 * return  false when no combination fits; true says nothing.
 */
bool bound_allows(const struct problem *problem, const device_mask *may);

#endif
