/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jitter - reproducible chance, so that many clients do not act in step.
 *
 * The same seed gives the same numbers on every machine. Not for secrets.
 */
#ifndef TOPOFIT_JITTER_H
#define TOPOFIT_JITTER_H

#include <stdint.h>

struct jitter {
    uint64_t state; /* the seed, at first */
};

/* A number of [min, max], evenly; min <= max. */
uint64_t jitter_between(struct jitter *jitter, uint64_t min, uint64_t max);

#endif
