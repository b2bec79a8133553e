/* SPDX-License-Identifier: Apache-2.0 */
/* trace - the last steps in words, for whoever looks into a failing seed. */
#ifndef TOPOFIT_SIM_TRACE_H
#define TOPOFIT_SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_LINES 400
#define TRACE_LINE_BYTES 220

struct trace {
    bool prints;           /* every line, at once */
    uint64_t now_ms, step; /* kept by the world */
    uint64_t count;
    char lines[TRACE_LINES][TRACE_LINE_BYTES];
};

void trace_add(struct trace *trace, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print the last lines that are still there, unless all were printed. */
void trace_print(const struct trace *trace);

#endif
