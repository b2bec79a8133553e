/* SPDX-License-Identifier: Apache-2.0 */
/* word_list - words that a person listed: ids of devices, words of products. */
#include "topofit/word_list.h"

#include "topofit/mem.h"
#include "topofit/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where a word is, or where it belongs; *found tells which. */
static size_t find_word(const struct word_list *list, const char *word, bool *found)
{
    size_t low = 0, high = list->count;

    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcasecmp(list->items[middle], word);

        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool word_list_add(struct word_list *list, const char *word)
{
    bool found;
    size_t at = find_word(list, word, &found);

    if (found)
        return true;
    if (list->count == WORD_LIST_MAX || strlen(word) > WORD_BYTES_MAX)
        return false;
    list->items = xreallocarray(list->items, list->count + 1, sizeof *list->items);
    memmove(&list->items[at + 1], &list->items[at], (list->count - at) * sizeof *list->items);
    list->items[at] = xstrdup(word);
    list->count++;
    return true;
}

bool word_list_has(const struct word_list *list, const char *word)
{
    bool found;

    find_word(list, word, &found);
    return found;
}

bool word_list_equal(const struct word_list *a, const struct word_list *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    }
    return true;
}

bool word_list_describes(const struct word_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++) {
        if (text_matches(text, list->items[i]))
            return true;
    }
    return false;
}

void word_list_join(const struct word_list *list, char *text, size_t size)
{
    size_t length = 0;

    if (size > 0)
        text[0] = '\0';
    for (size_t i = 0; i < list->count && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%s", i > 0 ? ", " : "",
                                   list->items[i]);
}

void word_list_clear(struct word_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct word_list){0};
}

struct word_list word_list_copy(const struct word_list *from)
{
    struct word_list to = {.items = xcalloc(from->count, sizeof *to.items), .count = from->count};

    for (size_t i = 0; i < from->count; i++)
        to.items[i] = xstrdup(from->items[i]);
    return to;
}

size_t word_list_bytes(const struct word_list *list)
{
    size_t bytes = list->items != NULL ? mem_block_bytes(list->count * sizeof *list->items) : 0;

    for (size_t i = 0; i < list->count; i++)
        bytes += mem_text_bytes(list->items[i]);
    return bytes;
}
