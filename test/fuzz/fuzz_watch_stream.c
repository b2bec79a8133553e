/* SPDX-License-Identifier: Apache-2.0 */
/* A watch in pieces: the same lines as in one piece, and every line is read as an event. */
#include "topofit/kube_json.h"
#include "topofit/mem.h"
#include "topofit/watch_stream.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define LINE_MAX_BYTES 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Feed in pieces of `piece` bytes; return whether the stream broke. */
static bool feed(const char *bytes, size_t size, size_t piece, struct buf *lines)
{
    AUTO(watch_stream_clear) struct watch_stream stream;
    enum watch_step step = WATCH_NEEDS_BYTES;

    watch_stream_init(&stream, LINE_MAX_BYTES);
    for (size_t at = 0; at < size && step != WATCH_TOO_LONG; at += piece) {
        const char *next = bytes + at;
        size_t left = size - at < piece ? size - at : piece;
        const char *line;
        size_t length;

        while ((step = watch_stream_next(&stream, &next, &left, &line, &length)) == WATCH_LINE) {
            assert(length > 0 && length <= LINE_MAX_BYTES && memchr(line, '\n', length) == NULL);
            buf_add(lines, line, length);
            buf_add_byte(lines, '\n');
        }
    }
    return step == WATCH_TOO_LONG;
}

static void read_events(const char *lines)
{
    for (; *lines != '\0' && strchr(lines, '\n') != NULL; lines = strchr(lines, '\n') + 1) {
        for (enum kube_kind kind = KUBE_NODE; kind < KUBE_KINDS; kind++) {
            AUTO(kube_event_clear) struct kube_event event = {0};
            struct error err = {0};

            if (kube_json_read_event(kind, lines, strcspn(lines, "\n"), &event, &err) < 0)
                assert(err.code != ERR_NONE && err.text[0] != '\0');
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t piece = size > 0 ? 1 + data[0] % 32u : 1;
    AUTO(buf_clear) struct buf whole = buf_with_max(2 * size + 2);
    AUTO(buf_clear) struct buf pieces = buf_with_max(2 * size + 2);
    bool is_broken = feed((const char *)data, size, size + 1, &whole);

    assert(feed((const char *)data, size, piece, &pieces) == is_broken);
    assert(whole.length == pieces.length);
    assert(whole.length == 0 || memcmp(whole.data, pieces.data, whole.length) == 0);
    read_events(buf_text(&whole));
    return 0;
}
