/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moment - one instant on both clocks, and how it is written for people and for the API server.
 *
 * Plain data; nothing here reads a clock.
 */
#ifndef TOPOFIT_MOMENT_H
#define TOPOFIT_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

/* Deadlines and waits use the first, what is written down uses the second. */
struct moment {
    uint64_t monotonic_ms; /* goes on while the machine sleeps; starts anywhere */
    uint64_t unix_ms;      /* may jump when somebody sets the clock */
};

#define MOMENT_TEXT_BYTES 40

/*
 * RFC 3339 in UTC with 0, 3 or 6 digits behind the second: "2026-01-31T23:59:59.123Z".
 *
 * The API server takes a MicroTime with exactly six digits only.
 * source  k8s.io/apimachinery/pkg/apis/meta/v1/micro_time.go
 */
void moment_write(uint64_t unix_ms, unsigned digits, char text[MOMENT_TEXT_BYTES]);

/*
 * Seconds since 1970 of a time as RFC 3339, section 5.6, has it, in any zone; parts of a second are
 * dropped. return false when it is none; *unix_s is not written then.
 */
bool moment_read(const char *text, int64_t *unix_s);

#endif
