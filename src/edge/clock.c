/* SPDX-License-Identifier: Apache-2.0 */
/* clock - the only reader of the time. */
#include "topofit/clock.h"

static uint64_t read_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* A machine that sleeps does not stop the time of others: a lease runs out meanwhile. */
uint64_t clock_monotonic_us(void)
{
    return read_us(CLOCK_BOOTTIME);
}

uint64_t clock_monotonic_ms(void)
{
    return read_us(CLOCK_BOOTTIME) / 1000;
}

uint64_t clock_unix_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}

struct moment clock_now(void)
{
    return (struct moment){.monotonic_ms = clock_monotonic_ms(), .unix_ms = clock_unix_ms()};
}

uint64_t clock_cpu_us(void)
{
    return read_us(CLOCK_PROCESS_CPUTIME_ID);
}

struct timespec clock_wait_end(uint64_t wait_ms)
{
    uint64_t at_us = read_us(CLOCK_MONOTONIC) + wait_ms * 1000; /* what condition variables take */

    return (struct timespec){.tv_sec = (time_t)(at_us / 1000000),
                             .tv_nsec = (long)(at_us % 1000000) * 1000};
}
