/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stopwatch - how long something takes that is too short to be measured once.
 *
 * On a machine that does other things as well: the median of many pieces, each long enough for
 * the clock.
 */
#ifndef TOPOFIT_BENCH_STOPWATCH_H
#define TOPOFIT_BENCH_STOPWATCH_H

/*
 * Nanoseconds of one run: the median over up to 51 pieces of at least 20 us, fewer of them when
 * budget_ms is used up, but never fewer than 3. It runs once before the clock does.
 */
double stopwatch_ns(void (*run)(void *ctx), void *ctx, unsigned budget_ms);

#endif
