/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text - immutable shared strings, and the words people write.
 *
 * struct text is reference counted (atomically): product names and label values that thousands of
 * nodes repeat are stored once. The functions below it are the only places that compare words or
 * split lists that a person wrote.
 */
#ifndef TOPOFIT_TEXT_H
#define TOPOFIT_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

struct text {
    unsigned references;
    char chars[]; /* NUL-terminated */
};

/* A new shared string with one reference. */
struct text *text_new(const char *chars);
struct text *text_ref(struct text *text);
void text_unref(struct text *text);

/* Put a new text in the place of one. */
void text_replace(struct text **place, const char *chars);

/* Equal without regard to ASCII case. */
bool text_equal_nocase(const char *a, const char *b);

/*
 * Does the whole word or run of words `words` occur in `name`, case aside? Words are runs of
 * letters and digits: "A100" is in "NVIDIA A100-SXM4-80GB", "A10" is not.
 */
bool text_has_words(const char *name, const char *words);

/*
 * The same, but for words with a star at an end: "*A10*", "A10*" and "*A10" ask for the text
 * between the stars as any part of the name, case aside. Stars alone match everything.
 */
bool text_matches(const char *name, const char *words);

/*
 * Split a comma list: `const char *at = list; while (text_next_item(&at, item, sizeof item)) ...`.
 * Blanks around items go away, empty items are skipped, and an item longer than the space is cut.
 */
bool text_next_item(const char **at, char *item, size_t size);

/* Edits from one short word to another, letters swapped being one; at most `limit` + 1. */
unsigned text_distance(const char *a, const char *b, unsigned limit);

/*
 * Of the words, up to NULL, the nearest within `limit` edits, the first on ties. Of a short word
 * not more than a third may be wrong: else everything is near. NULL: none is.
 */
const char *text_nearest(const char *word, const char *const *words, unsigned limit);

/* --- many names in one text ------------------------------------------------------------------ */

#define NAME_NOWHERE UINT32_MAX

/* Where a name stands in a text; length without quotes. */
struct name_at {
    uint32_t start, length;
};

/* All borrowed. */
struct name_list {
    const char *text; /* "a","b", - each name in quotes and with a comma behind, without escapes */
    size_t length;
    const struct name_at *places; /* [count] */
    size_t count, longest;        /* bytes of the longest name */
};

/* Names that a question is likely to have, in about this order. */
struct likely_names {
    struct name_list list;
    const uint32_t *order; /* [order_count] positions in the list; NULL: all, as they stand there */
    size_t order_count;
    /* Find names[count] of a text; positions receives where each is in the list, or NAME_NOWHERE.
     */
    void (*find)(const void *ctx, const char *text, const struct name_at *names, size_t count,
                 uint32_t *positions);
    const void *ctx;
};

#endif
