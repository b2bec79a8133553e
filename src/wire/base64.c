/* SPDX-License-Identifier: Apache-2.0 */
/* base64 - the standard alphabet of RFC 4648. */
#include "topofit/base64.h"

#include "topofit/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* 0..63, or -1. */
static int digit(char c)
{
    const char *found = c != '\0' ? strchr(alphabet, c) : NULL;

    return found != NULL ? (int)(found - alphabet) : -1;
}

int base64_decode(const char *text, char **out, size_t *out_length, struct error *err)
{
    AUTO_FREE char *bytes = xmalloc(strlen(text) / 4 * 3 + 4);
    size_t length = 0, digits = 0, padding = 0;
    uint32_t bits = 0;

    for (const char *at = text; *at != '\0'; at++) {
        if (is_blank(*at))
            continue;
        if (*at == '=') {
            padding++;
            continue;
        }
        if (digit(*at) < 0 || padding > 0)
            return error_set(err, ERR_INVALID, "base64: unexpected character at position %zu",
                             (size_t)(at - text) + 1);
        bits = bits << 6 | (uint32_t)digit(*at);
        if (++digits % 4 != 1)
            bytes[length++] = (char)(bits >> (6 - 2 * ((digits - 1) % 4)) & 0xff);
    }
    if (padding > 2 || (digits + padding) % 4 != 0)
        return error_set(err, ERR_INVALID, "base64: the text is cut, or its padding is wrong");
    if (padding > 0 && (bits & (padding == 1 ? 0x3u : 0xfu)) != 0)
        return error_set(err, ERR_INVALID, "base64: leftover bits at the end");
    bytes[length] = '\0';
    *out = steal_ptr(&bytes);
    *out_length = length;
    return 0;
}

char *base64_encode(const char *bytes, size_t length)
{
    char *text = xmalloc(length / 3 * 4 + 5);
    char *end = text;

    for (size_t i = 0; i < length; i += 3) {
        uint32_t bits = 0;

        for (size_t j = 0; j < 3; j++)
            bits = bits << 8 | (i + j < length ? (unsigned char)bytes[i + j] : 0u);
        for (size_t j = 0; j < 4; j++)
            *end++ = j > length - i ? '=' : alphabet[bits >> (18 - 6 * j) & 0x3f];
    }
    *end = '\0';
    return text;
}
