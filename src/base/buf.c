/* SPDX-License-Identifier: Apache-2.0 */
/* buf - a byte buffer that grows up to a stated maximum. */
#include "topofit/buf.h"

#include "topofit/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buf buf_with_max(size_t max)
{
    return (struct buf){.max = max};
}

/* Room for `length` more bytes and a NUL; false beyond the maximum. */
static bool reserve(struct buf *buf, size_t length)
{
    size_t need;

    if (buf->overflowed || length > buf->max - buf->length) {
        buf->overflowed = true;
        return false;
    }
    need = buf->length + length + 1;
    if (need > buf->capacity) {
        buf->capacity = buf->capacity * 2 > need ? buf->capacity * 2 : need + 64;
        buf->data = xreallocarray(buf->data, buf->capacity, 1);
    }
    return true;
}

void buf_add(struct buf *buf, const void *bytes, size_t length)
{
    if (!reserve(buf, length))
        return;
    if (length > 0)
        memcpy(buf->data + buf->length, bytes, length);
    buf->length += length;
    buf->data[buf->length] = '\0';
}

char *buf_room(struct buf *buf, size_t length)
{
    return reserve(buf, length) ? buf->data + buf->length : NULL;
}

void buf_fill(struct buf *buf, size_t length)
{
    assert(buf->length + length < buf->capacity);
    buf->length += length;
    buf->data[buf->length] = '\0';
}

void buf_add_text(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_add_byte(struct buf *buf, char byte)
{
    buf_add(buf, &byte, 1);
}

void buf_addf(struct buf *buf, const char *format, ...)
{
    char small[256];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (length < 0 || (size_t)length < sizeof small) {
        buf_add(buf, small, length < 0 ? 0 : (size_t)length);
        return;
    }
    if (!reserve(buf, (size_t)length))
        return;
    va_start(args, format);
    vsnprintf(buf->data + buf->length, (size_t)length + 1, format, args);
    va_end(args);
    buf->length += (size_t)length;
}

/* Length of the valid UTF-8 sequence at `at`, or 0. source: RFC 3629 section 4. */
static size_t utf8_length(const unsigned char *at)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, length;
    } forms[] = {
        {0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (at[0] < forms[i].first_low || at[0] > forms[i].first_high)
            continue;
        if (forms[i].length == 1)
            return 1;
        if (at[1] < forms[i].second_low || at[1] > forms[i].second_high)
            return 0;
        for (size_t k = 2; k < forms[i].length; k++) {
            if ((at[k] & 0xc0) != 0x80)
                return 0;
        }
        return forms[i].length;
    }
    return 0;
}

void buf_add_utf8(struct buf *buf, const char *text, size_t max_bytes)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const unsigned char *at = (const unsigned char *)text;
    size_t added = 0;

    while (*at != '\0') {
        size_t sequence = utf8_length(at);
        size_t length = sequence > 0 ? sequence : strlen(replacement);

        if (length > max_bytes - added)
            break;
        buf_add(buf, sequence > 0 ? (const char *)at : replacement, length);
        added += length;
        at += sequence > 0 ? sequence : 1;
    }
}

/* How many bytes at `at` need no escape. */
static size_t plain_run(const unsigned char *at)
{
    size_t run = 0;

    while (at[run] >= 0x20 && at[run] < 0x7f && at[run] != '"' && at[run] != '\\')
        run++;
    return run;
}

void buf_add_json_string(struct buf *buf, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    buf_add_byte(buf, '"');
    while (*at != '\0') {
        size_t run = plain_run(at);
        size_t sequence;

        buf_add(buf, at, run);
        at += run;
        if (*at == '\0')
            break;
        sequence = utf8_length(at);
        if (*at == '"' || *at == '\\') {
            buf_add_byte(buf, '\\');
            buf_add_byte(buf, (char)*at);
        } else if (*at < 0x20 || *at == 0x7f) {
            buf_addf(buf, "\\u%04x", *at);
        } else if (sequence == 0) {
            buf_add_text(buf, "\xef\xbf\xbd");
        } else {
            buf_add(buf, at, sequence);
        }
        at += sequence > 0 ? sequence : 1;
    }
    buf_add_byte(buf, '"');
}

void buf_drop_front(struct buf *buf, size_t count)
{
    if (count >= buf->length) {
        buf->length = 0;
    } else {
        memmove(buf->data, buf->data + count, buf->length - count);
        buf->length -= count;
    }
    if (buf->data != NULL)
        buf->data[buf->length] = '\0';
}

void buf_reset(struct buf *buf)
{
    buf->length = 0;
    buf->overflowed = false;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

char *buf_steal(struct buf *buf)
{
    char *data = buf->data != NULL ? buf->data : xstrdup("");

    *buf = buf_with_max(buf->max);
    return data;
}

void buf_clear(struct buf *buf)
{
    free(buf->data);
    *buf = buf_with_max(buf->max);
}

const char *buf_text(const struct buf *buf)
{
    return buf->data != NULL ? buf->data : "";
}
