/* SPDX-License-Identifier: Apache-2.0 */
/* quantity - Kubernetes amounts as text. */
#include "topofit/quantity.h"

#include "topofit/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define DIGITS_MAX 19          /* significant digits; any 19 fit into 64 bits */
#define EXPONENT_MAX 100000000 /* beyond it nothing but zero is in any range */
#define BYTES_PER_MIB (1u << 20)
#define AMBIGUOUS_BELOW_MIB 16

/* mantissa * 10^ten * 2^two. The mantissa does not end in 0 unless it is 0. */
struct amount {
    uint64_t mantissa;
    int ten;
    int two;
    bool has_unit; /* a suffix that, on memory, means bytes */
    bool negative;
    bool inexact; /* it is a little more: digits beyond the maximum are cut off */
};

/* source: k8s.io/apimachinery pkg/api/resource, grammar in the comment on Quantity */
static const struct {
    const char *word;
    int ten, two;
    bool is_unit;
} suffixes[] = {
    {"", 0, 0, false},   {"n", -9, 0, false}, {"u", -6, 0, false}, {"m", -3, 0, false},
    {"k", 3, 0, false},  {"M", 6, 0, true},   {"G", 9, 0, true},   {"T", 12, 0, true},
    {"P", 15, 0, true},  {"E", 18, 0, true},  {"Ki", 0, 10, true}, {"Mi", 0, 20, true},
    {"Gi", 0, 30, true}, {"Ti", 0, 40, true}, {"Pi", 0, 50, true}, {"Ei", 0, 60, true},
};

static int refuse(const char *text, struct error *err)
{
    return error_set(err, ERR_INVALID, "\"%.40s\" is no amount (write it like 8, 16Gi or 20k)",
                     text);
}

static int refuse_big(const char *text, struct error *err)
{
    return error_set(err, ERR_LIMIT, "\"%.40s\" is too big", text);
}

/*
 * "1M" is what the API server makes of 1000000 without a unit. So few bytes were never meant, and
 * so many MiB are more than any device has: ask, rather than book a million times too little.
 */
static int refuse_ambiguous(const char *text, struct error *err)
{
    return error_set(err, ERR_INVALID, "\"%.40s\" is ambiguous (write bytes with Mi or Gi)", text);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits with at most one point, the mantissa growing; the position behind them, or NULL. */
static const char *read_digits(const char *at, struct amount *out)
{
    unsigned significant = 0, zeros = 0;
    bool point = false, any = false;

    for (; is_digit(*at) || (*at == '.' && !point); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        any = true;
        out->ten -= point;
        if (*at == '0') { /* zeros count once a digit follows; until then they only shift */
            zeros += significant > 0;
            continue;
        }
        if (significant + zeros + 1 > DIGITS_MAX) {
            out->inexact = true;
            zeros++;
            continue;
        }
        for (; zeros > 0; zeros--, significant++)
            out->mantissa *= 10;
        out->mantissa = out->mantissa * 10 + (uint64_t)(*at - '0');
        significant++;
    }
    out->ten += (int)zeros;
    return any ? at : NULL;
}

/* "3", "+3", "-3" behind an e; the position behind it, or NULL. */
static const char *read_exponent(const char *at, struct amount *out)
{
    bool negative = *at == '-';
    int exponent = 0;

    if (*at == '+' || *at == '-')
        at++;
    if (!is_digit(*at))
        return NULL;
    for (; is_digit(*at); at++) {
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (*at - '0');
    }
    out->ten += negative ? -exponent : exponent;
    return at;
}

static bool read_suffix(const char *at, struct amount *out)
{
    /* "1E" is an exa, "1E3" a thousand. */
    if ((*at == 'e' || *at == 'E') && at[1] != '\0' && at[1] != 'i') {
        at = read_exponent(at + 1, out);
        return at != NULL && *at == '\0';
    }
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        if (strcmp(suffixes[i].word, at) != 0)
            continue;
        out->ten += suffixes[i].ten;
        out->two = suffixes[i].two;
        out->has_unit = suffixes[i].is_unit;
        return true;
    }
    return false;
}

static int parse(const char *text, struct amount *out, struct error *err)
{
    const char *at = text;

    *out = (struct amount){.negative = *at == '-'};
    if (*at == '+' || *at == '-')
        at++;
    at = read_digits(at, out);
    if (at == NULL || !read_suffix(at, out))
        return refuse(text, err);
    if (out->negative && out->mantissa > 0)
        return error_set(err, ERR_INVALID, "\"%.40s\" is negative", text);
    return 0;
}

/* The amount without its fraction; out_rest tells whether there was one. False when too big. */
static bool to_whole(const struct amount *amount, unsigned __int128 *out, bool *out_rest)
{
    unsigned __int128 value = (unsigned __int128)amount->mantissa << amount->two;
    int ten = amount->ten;

    *out_rest = amount->inexact;
    for (; ten > 0 && value > 0; ten--) {
        if (value > ~(unsigned __int128)0 / 10)
            return false;
        value *= 10;
    }
    for (; ten < 0 && value > 0; ten++) {
        *out_rest |= value % 10 != 0;
        value /= 10;
    }
    *out = value;
    return true;
}

static int refuse_fraction(const char *text, struct error *err)
{
    return error_set(err, ERR_INVALID, "\"%.40s\" is not a whole number", text);
}

int quantity_parse_count(const char *text, uint64_t *out, struct error *err)
{
    unsigned __int128 value;
    struct amount amount;
    bool rest;

    if (parse(text, &amount, err) < 0)
        return -(int)err->code;
    if (!to_whole(&amount, &value, &rest) || value > UINT32_MAX)
        return refuse_big(text, err);
    if (rest)
        return refuse_fraction(text, err);
    *out = (uint64_t)value;
    return 0;
}

int quantity_parse_memory(const char *text, uint64_t *out, bool *out_has_unit, struct error *err)
{
    unsigned __int128 value;
    struct amount amount;
    bool rest;

    if (parse(text, &amount, err) < 0)
        return -(int)err->code;
    if (!to_whole(&amount, &value, &rest))
        return refuse_big(text, err);
    if (amount.has_unit)
        value = (value + rest + BYTES_PER_MIB - 1) / BYTES_PER_MIB;
    else if (rest)
        return refuse_fraction(text, err);
    if (value > INT64_MAX)
        return refuse_big(text, err);
    if (amount.has_unit && amount.two == 0 && value > 0 && value < AMBIGUOUS_BELOW_MIB)
        return refuse_ambiguous(text, err);
    *out = (uint64_t)value;
    *out_has_unit = amount.has_unit;
    return 0;
}

/* Times 10^ten, rounded up. */
static int parse_scaled(const char *text, int ten, uint64_t *out, struct error *err)
{
    unsigned __int128 value;
    struct amount amount;
    bool rest;

    if (parse(text, &amount, err) < 0)
        return -(int)err->code;
    amount.ten += ten;
    if (!to_whole(&amount, &value, &rest) || value + rest > INT64_MAX)
        return refuse_big(text, err);
    *out = (uint64_t)value + rest;
    return 0;
}

int quantity_parse_milli(const char *text, uint64_t *out, struct error *err)
{
    return parse_scaled(text, 3, out, err);
}

int quantity_parse_bytes(const char *text, uint64_t *out, struct error *err)
{
    return parse_scaled(text, 0, out, err);
}

int quantity_parse_total_mib(const char *text, uint64_t unit_mib, uint64_t *out, struct error *err)
{
    unsigned __int128 value, mib;
    struct amount amount;
    bool rest;

    *out = UINT64_MAX;
    if (parse(text, &amount, err) < 0)
        return -(int)err->code;
    if (!to_whole(&amount, &value, &rest))
        return 0;
    mib = value / BYTES_PER_MIB;
    if (!amount.has_unit || (amount.two == 0 && mib < AMBIGUOUS_BELOW_MIB))
        mib = value > UINT64_MAX ? UINT64_MAX : value * unit_mib;
    if (mib < UINT64_MAX)
        *out = (uint64_t)mib;
    return 0;
}
