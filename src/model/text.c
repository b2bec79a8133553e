/* SPDX-License-Identifier: Apache-2.0 */
/* text - immutable shared strings, and the words people write. */
#include "topofit/text.h"

#include "topofit/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DISTANCE_WORD_MAX 64

struct text *text_new(const char *chars)
{
    size_t size = strlen(chars) + 1;
    struct text *text = xmalloc(sizeof *text + size);

    text->references = 1;
    memcpy(text->chars, chars, size);
    return text;
}

struct text *text_ref(struct text *text)
{
    __atomic_add_fetch(&text->references, 1, __ATOMIC_RELAXED);
    return text;
}

void text_unref(struct text *text)
{
    if (text != NULL && __atomic_sub_fetch(&text->references, 1, __ATOMIC_ACQ_REL) == 0)
        free(text);
}

void text_replace(struct text **place, const char *chars)
{
    text_unref(*place);
    *place = text_new(chars);
}

bool text_equal_nocase(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) != 0;
}

bool text_has_words(const char *name, const char *words)
{
    size_t length = strlen(words);

    if (length == 0)
        return false;
    for (const char *at = name; *at != '\0'; at++) {
        bool starts = at == name || !is_word_char(at[-1]) || !is_word_char(words[0]);

        if (!starts || strncasecmp(at, words, length) != 0)
            continue;
        if (!is_word_char(at[length]) || !is_word_char(words[length - 1]))
            return true;
    }
    return false;
}

static bool has_part(const char *name, const char *part, size_t length)
{
    for (; strlen(name) >= length; name++) {
        if (strncasecmp(name, part, length) == 0)
            return true;
    }
    return false;
}

bool text_matches(const char *name, const char *words)
{
    size_t first = strspn(words, "*"), length = strlen(words);

    if (first == 0 && (length == 0 || words[length - 1] != '*'))
        return text_has_words(name, words);
    while (length > first && words[length - 1] == '*')
        length--;
    return has_part(name, words + first, length - first);
}

bool text_next_item(const char **at, char *item, size_t size)
{
    for (;;) {
        const char *begin = *at + strspn(*at, " \t\r\n,");
        size_t length = strcspn(begin, ",");

        if (*begin == '\0')
            return false;
        *at = begin + length;
        while (length > 0 && strchr(" \t\r\n", begin[length - 1]) != NULL)
            length--;
        if (length == 0)
            continue;
        if (length >= size)
            length = size - 1;
        memcpy(item, begin, length);
        item[length] = '\0';
        return true;
    }
}

static unsigned lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned text_distance(const char *a, const char *b, unsigned limit)
{
    unsigned row[DISTANCE_WORD_MAX + 1], before[DISTANCE_WORD_MAX + 1] = {0}; /* two rows up */
    size_t a_length = strlen(a), b_length = strlen(b);

    if (a_length > DISTANCE_WORD_MAX || b_length > DISTANCE_WORD_MAX)
        return limit + 1;
    for (unsigned j = 0; j <= b_length; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        unsigned diagonal = row[0], corner = 0;

        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            unsigned same = diagonal + (a[i - 1] != b[j - 1]);
            unsigned swap = swapped ? corner + 1 : same;

            corner = before[j - 1];
            before[j - 1] = diagonal;
            diagonal = row[j];
            row[j] = lesser(lesser(same, swap), lesser(row[j], row[j - 1]) + 1);
        }
    }
    return row[b_length] <= limit ? row[b_length] : limit + 1;
}

const char *text_nearest(const char *word, const char *const *words, unsigned limit)
{
    const unsigned third = (unsigned)((strlen(word) + 1) / 3);
    const char *nearest = NULL;
    unsigned least = lesser(limit, third) + 1;

    for (; *words != NULL; words++) {
        unsigned distance = text_distance(word, *words, limit);

        if (distance < least) {
            least = distance;
            nearest = *words;
        }
    }
    return nearest;
}
