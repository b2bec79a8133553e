/* SPDX-License-Identifier: Apache-2.0 */
/* chance - what a seed decides. The same seed gives the same story, on every machine. */
#ifndef TOPOFIT_SIM_CHANCE_H
#define TOPOFIT_SIM_CHANCE_H

#include "topofit/jitter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number of [min, max], evenly. */
static inline uint64_t chance_between(struct jitter *chance, uint64_t min, uint64_t max)
{
    return jitter_between(chance, min, max);
}

/* A number below count, which is not 0. */
static inline size_t chance_pick(struct jitter *chance, size_t count)
{
    return (size_t)jitter_between(chance, 0, count - 1);
}

/* True `parts` times in 10,000. */
static inline bool chance_hits(struct jitter *chance, unsigned parts)
{
    return parts > 0 && jitter_between(chance, 0, 9999) < parts;
}

/* Mostly short, seldom long: up to max_ms, each power of two as likely as the next. */
static inline uint64_t chance_wait_ms(struct jitter *chance, uint64_t max_ms)
{
    unsigned powers = 64 - (unsigned)__builtin_clzll(max_ms | 1);
    uint64_t limit_ms = (uint64_t)1 << jitter_between(chance, 0, powers);

    return jitter_between(chance, 0, limit_ms < max_ms ? limit_ms : max_ms);
}

#endif
