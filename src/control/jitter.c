/* SPDX-License-Identifier: Apache-2.0 */
/* jitter - reproducible chance, so that many clients do not act in step. */
#include "topofit/jitter.h"

#include <assert.h>

/* splitmix64, source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" */
static uint64_t next(struct jitter *jitter)
{
    uint64_t mixed = jitter->state += 0x9e3779b97f4a7c15u;

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

uint64_t jitter_between(struct jitter *jitter, uint64_t min, uint64_t max)
{
    uint64_t span = max - min + 1;

    assert(min <= max);
    /* The bias of the remainder is below 2^-40 for the spans that are asked for here. */
    return span == 0 ? next(jitter) : min + next(jitter) % span;
}
