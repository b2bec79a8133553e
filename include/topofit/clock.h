/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock - the only reader of the time; everything else gets it as an argument. From any thread.
 */
#ifndef TOPOFIT_CLOCK_H
#define TOPOFIT_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "topofit/moment.h"

/*
 * Since some moment in the past; never goes back, and goes on while the machine sleeps. For waits,
 * deadlines and durations.
 */
uint64_t clock_monotonic_us(void);
uint64_t clock_monotonic_ms(void);

/* ms since 1970. For people. */
uint64_t clock_unix_ms(void);

/* Now on both clocks. */
struct moment clock_now(void);

/* Processor time that this process has used. */
uint64_t clock_cpu_us(void);

/*
 * The end of a wait that begins now, for condition variables on CLOCK_MONOTONIC alone: that clock
 * stands while the machine sleeps, so it is not to be compared with clock_monotonic_ms().
 */
struct timespec clock_wait_end(uint64_t wait_ms);

#endif
