/* SPDX-License-Identifier: Apache-2.0 */
/* backoff - how long to wait after a failure. */
#include "topofit/backoff.h"

#include <assert.h>

void backoff_init(struct backoff *backoff, const struct backoff_limits *limits, uint64_t seed)
{
    assert(limits->first_ms > 0 && limits->longest_ms >= 2 * limits->first_ms);
    *backoff = (struct backoff){.limits = *limits, .jitter = {seed}};
}

uint64_t backoff_next_ms(struct backoff *backoff, uint64_t now_ms)
{
    uint64_t half = backoff->limits.longest_ms / 2;

    if (backoff->base_ms == 0 || now_ms - backoff->last_ms >= backoff->limits.quiet_ms)
        backoff->base_ms = backoff->limits.first_ms;
    else
        backoff->base_ms = backoff->base_ms < half / 2 ? backoff->base_ms * 2 : half;
    backoff->last_ms = now_ms;
    return jitter_between(&backoff->jitter, backoff->base_ms, 2 * backoff->base_ms);
}
