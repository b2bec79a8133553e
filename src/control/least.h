/* SPDX-License-Identifier: Apache-2.0 */
/*
 * least - the least and the most of two numbers: of deadlines, the sooner and the later.
 */
#ifndef TOPOFIT_LEAST_H
#define TOPOFIT_LEAST_H

#include <stdint.h>

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
