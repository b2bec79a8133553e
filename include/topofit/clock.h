/* SPDX-License-Identifier: Apache-2.0 */
/* clock - the only reader of the time; everything else gets it as an argument. */
#ifndef TOPOFIT_CLOCK_H
#define TOPOFIT_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Since some moment in the past; never goes back. For waits, deadlines and durations. */
uint64_t clock_monotonic_us(void);
uint64_t clock_monotonic_ms(void);

/* ms since 1970. For people. */
uint64_t clock_unix_ms(void);

/* Processor time that this process has used. */
uint64_t clock_cpu_us(void);

/* The monotonic time in wait_ms from now, for pthread_cond_clockwait and the like. */
struct timespec clock_monotonic_after(uint64_t wait_ms);

#endif
