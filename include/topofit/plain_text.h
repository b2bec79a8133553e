/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_text - bytes that stand in a JSON string as they are, and bytes that are the same.
 *
 * Plain is printable ASCII without quote and backslash (and DEL): no escape, no character of more
 * than one byte. Looked at eight at a time and more.
 */
#ifndef TOPOFIT_PLAIN_TEXT_H
#define TOPOFIT_PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How many plain bytes there are at the start of bytes[length]. */
size_t plain_span(const char *bytes, size_t length);

/* How many bytes two texts, of `length` bytes each, have in common at their start. */
size_t common_span(const char *a, const char *b, size_t length);

static inline uint64_t text_difference(const char *a, const char *b)
{
    uint64_t x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x ^ y;
}

/*
 * Are two texts of that length the same? In line for what names of nodes are like: up to 32 bytes
 * need no call, and some of them are compared twice.
 */
static inline bool is_same_text(const char *a, const char *b, size_t length)
{
    if (length < 16 || length > 32)
        return memcmp(a, b, length) == 0;
    return (text_difference(a, b) | text_difference(a + 8, b + 8) |
            text_difference(a + length - 16, b + length - 16) |
            text_difference(a + length - 8, b + length - 8)) == 0;
}

#endif
