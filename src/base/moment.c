/* SPDX-License-Identifier: Apache-2.0 */
/* moment - one instant on both clocks, and how it is written. */
#include "topofit/moment.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

void moment_write(uint64_t unix_ms, unsigned digits, char text[MOMENT_TEXT_BYTES])
{
    time_t seconds = (time_t)(unix_ms / 1000);
    unsigned ms = (unsigned)(unix_ms % 1000);
    char day[sizeof "2026-01-31T23:59:59"] = "";
    struct tm parts;

    assert(digits == 0 || digits == 3 || digits == 6);
    /* A clock that is set absurdly far ahead leaves the year without four digits. */
    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts) == 0)
        snprintf(day, sizeof day, "9999-12-31T23:59:59");
    if (digits == 0)
        snprintf(text, MOMENT_TEXT_BYTES, "%sZ", day);
    else
        snprintf(text, MOMENT_TEXT_BYTES, "%s.%03u%sZ", day, ms, digits == 6 ? "000" : "");
}
