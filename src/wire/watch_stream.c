/* SPDX-License-Identifier: Apache-2.0 */
/* watch_stream - the bytes of a watch to lines, one event each. */
#include "topofit/watch_stream.h"

#include <assert.h>
#include <string.h>

void watch_stream_init(struct watch_stream *stream, size_t line_max_bytes)
{
    assert(line_max_bytes > 0);
    *stream = (struct watch_stream){.line = buf_with_max(line_max_bytes)};
}

void watch_stream_reset(struct watch_stream *stream)
{
    buf_reset(&stream->line);
    stream->handed_out = false;
}

void watch_stream_clear(struct watch_stream *stream)
{
    buf_clear(&stream->line);
    *stream = (struct watch_stream){0};
}

static size_t without_return(const char *line, size_t length)
{
    return length > 0 && line[length - 1] == '\r' ? length - 1 : length;
}

/* One line ends at `end`. Joins it to what came before, if anything did. */
static void join_line(struct watch_stream *stream, const char *bytes, size_t length,
                      const char **out_line, size_t *out_length)
{
    if (stream->line.length == 0 && length <= stream->line.max) {
        *out_line = bytes;
        *out_length = length;
        return;
    }
    buf_add(&stream->line, bytes, length);
    stream->handed_out = true;
    *out_line = stream->line.data;
    *out_length = stream->line.length;
}

enum watch_step watch_stream_next(struct watch_stream *stream, const char **bytes, size_t *length,
                                  const char **out_line, size_t *out_length)
{
    while (*length > 0 && !stream->line.overflowed) {
        const char *newline = memchr(*bytes, '\n', *length);
        size_t part = newline != NULL ? (size_t)(newline - *bytes) : *length;
        const char *line = NULL;
        size_t line_length = 0;

        if (stream->handed_out)
            watch_stream_reset(stream);
        if (newline == NULL)
            buf_add(&stream->line, *bytes, part);
        else
            join_line(stream, *bytes, part, &line, &line_length);
        *bytes += part + (newline != NULL);
        *length -= part + (newline != NULL);
        line_length = line != NULL ? without_return(line, line_length) : 0;
        if (line_length > 0 && !stream->line.overflowed) {
            *out_line = line;
            *out_length = line_length;
            return WATCH_LINE;
        }
    }
    return stream->line.overflowed ? WATCH_TOO_LONG : WATCH_NEEDS_BYTES;
}
