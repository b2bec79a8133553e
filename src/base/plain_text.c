/* SPDX-License-Identifier: Apache-2.0 */
/* plain_text - bytes that stand in a JSON string as they are, and bytes that are the same. */
#include "topofit/plain_text.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define WORD sizeof(uint64_t)

static uint64_t load(const char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

/*
 * The high bits of bytes that are not plain. Only the lowest one set is certain: what is subtracted
 * below may borrow from the bytes above.
 */
static uint64_t flags_of(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quotes = word ^ ones * '"', slashes = word ^ ones * '\\';

    return (word | (word - ones * ' ') | (quotes - ones) | (slashes - ones)) & highs;
}

size_t plain_span(const char *bytes, size_t length)
{
    char last[WORD] = "        ";
    size_t at = 0;
    uint64_t flags;

    for (; length - at >= WORD; at += WORD) {
        flags = flags_of(load(bytes + at));
        if (flags != 0)
            return at + (size_t)__builtin_ctzll(flags) / 8;
    }
    memcpy(last, bytes + at, length - at);
    flags = flags_of(load(last));
    return flags != 0 ? at + (size_t)__builtin_ctzll(flags) / 8 : length;
}

size_t common_span(const char *a, const char *b, size_t length)
{
    size_t at = 0;

    for (; length - at >= 4 * WORD; at += 4 * WORD) {
        uint64_t differ = 0;

        for (size_t i = 0; i < 4 * WORD; i += WORD)
            differ |= load(a + at + i) ^ load(b + at + i);
        if (differ != 0)
            break;
    }
    for (; length - at >= WORD; at += WORD) {
        uint64_t differ = load(a + at) ^ load(b + at);

        if (differ != 0)
            return at + (size_t)__builtin_ctzll(differ) / 8;
    }
    while (at < length && a[at] == b[at])
        at++;
    return at;
}
