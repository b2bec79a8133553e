/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_stream - the bytes of a watch to lines, one event each.
 *
 * Bytes arrive in pieces of any size; a line is handed out as soon as its newline is there. Lines
 * that lie whole within a piece are not copied. No I/O. A line longer than the maximum breaks the
 * stream for good: what follows cannot be trusted, the caller lists again.
 */
#ifndef TOPOFIT_WATCH_STREAM_H
#define TOPOFIT_WATCH_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/buf.h"

struct watch_stream {
    struct buf line; /* the beginning of a line whose end has not arrived */
    bool handed_out; /* `line` was returned and may be overwritten now */
};

enum watch_step {
    WATCH_NEEDS_BYTES = 0, /* the piece is used up */
    WATCH_LINE,            /* a line was handed out; ask again */
    WATCH_TOO_LONG,        /* broken; stays so until reset */
};

/* line_max_bytes  longest line accepted, without its newline. */
void watch_stream_init(struct watch_stream *stream, size_t line_max_bytes);

/* Forget everything, as before a new response. */
void watch_stream_reset(struct watch_stream *stream);
void watch_stream_clear(struct watch_stream *stream);

/*
 * The next line of a piece: `while (watch_stream_next(s, &at, &left, &line, &length) ==
 * WATCH_LINE)`.
 *
 * bytes, length  the rest of the piece; moved on past what was used.
 * out_line       without the newline, never empty (blank lines are skipped), not NUL-terminated;
 *                borrowed until the next call or the end of the piece. Written for WATCH_LINE only.
 */
enum watch_step watch_stream_next(struct watch_stream *stream, const char **bytes, size_t *length,
                                  const char **out_line, size_t *out_length);

#endif
