/* SPDX-License-Identifier: Apache-2.0 */
/* moment - one instant on both clocks, and how it is written. */
#include "topofit/moment.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
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

/* "Z", "+hh:mm" or "-hh:mm", in seconds east of Greenwich. */
static bool read_zone(const char *text, int64_t *out)
{
    unsigned hours, minutes;
    int length = 0;

    *out = 0;
    if ((text[0] == 'Z' || text[0] == 'z') && text[1] == '\0')
        return true;
    if ((text[0] != '+' && text[0] != '-') || strspn(text + 1, "0123456789:") != 5 ||
        sscanf(text + 1, "%2u:%2u%n", &hours, &minutes, &length) != 2 || length != 5 ||
        text[6] != '\0' || hours > 23 || minutes > 59)
        return false;
    *out = (text[0] == '-' ? -60 : 60) * (int64_t)(hours * 60 + minutes);
    return true;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leaps = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leaps);
}

bool moment_read(const char *text, int64_t *out)
{
    static const char shape[] = "dddd-dd-ddtdd:dd:dd";
    struct tm parts = {0};
    int64_t zone_s;

    for (size_t i = 0; shape[i] != '\0'; i++) {
        if (shape[i] == 'd' ? text[i] < '0' || text[i] > '9'
                            : text[i] != shape[i] && !(shape[i] == 't' && text[i] == 'T'))
            return false;
    }
    if (sscanf(text, "%4d-%2d-%2d%*c%2d:%2d:%2d", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
               &parts.tm_hour, &parts.tm_min, &parts.tm_sec) != 6 ||
        parts.tm_mon < 1 || parts.tm_mon > 12 || parts.tm_mday < 1 ||
        parts.tm_mday > days_in(parts.tm_year, parts.tm_mon) || parts.tm_hour > 23 ||
        parts.tm_min > 59 || parts.tm_sec > 60)
        return false;
    text += sizeof shape - 1;
    if (text[0] == '.') {
        size_t digits = strspn(text + 1, "0123456789");

        if (digits == 0)
            return false;
        text += 1 + digits;
    }
    if (!read_zone(text, &zone_s))
        return false;
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    *out = (int64_t)timegm(&parts) - zone_s;
    return true;
}
