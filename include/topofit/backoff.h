/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backoff - how long to wait after a failure.
 *
 * Waits double from failure to failure, with chance added, up to a longest wait; a quiet time
 * without failures starts them anew. Plain data; time is an argument.
 */
#ifndef TOPOFIT_BACKOFF_H
#define TOPOFIT_BACKOFF_H

#include <stdint.h>

#include "topofit/jitter.h"

struct backoff_limits {
    uint64_t first_ms;   /* shortest first wait */
    uint64_t longest_ms; /* no wait is longer */
    uint64_t quiet_ms;   /* without failures for so long, the next wait is a first one again */
};

struct backoff {
    struct backoff_limits limits;
    struct jitter jitter;
    uint64_t base_ms; /* 0: the next wait is the first */
    uint64_t last_ms; /* when the last failure was */
};

void backoff_init(struct backoff *backoff, const struct backoff_limits *limits, uint64_t seed);

/*
 * A failure happened now: how long to wait.
 *
 * return  ms in [base, 2 * base], where base is first_ms, then doubles; when 2 * base reaches
 *         longest_ms, in [longest_ms / 2, longest_ms].
 * source  client-go wait.Backoff with jitter factor 1, and the reset of its backoff manager.
 */
uint64_t backoff_next_ms(struct backoff *backoff, uint64_t now_ms);

#endif
