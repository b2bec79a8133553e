/* SPDX-License-Identifier: Apache-2.0 */
/* trace - the last steps in words. */
#include "trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void trace_add(struct trace *trace, const char *format, ...)
{
    char *line = trace->lines[trace->count++ % TRACE_LINES];
    va_list arguments;
    int used;

    used = snprintf(line, TRACE_LINE_BYTES, "%6" PRIu64 " %8" PRIu64 ".%03u  ", trace->step,
                    trace->now_ms / 1000, (unsigned)(trace->now_ms % 1000));
    va_start(arguments, format);
    vsnprintf(line + used, (size_t)(TRACE_LINE_BYTES - used), format, arguments);
    va_end(arguments);
    if (trace->prints)
        puts(line);
}

void trace_print(const struct trace *trace)
{
    uint64_t first = trace->count > TRACE_LINES ? trace->count - TRACE_LINES : 0;

    if (trace->prints)
        return;
    for (uint64_t i = first; i < trace->count; i++)
        puts(trace->lines[i % TRACE_LINES]);
}
