/* SPDX-License-Identifier: Apache-2.0 */
/*
 * word_list - words that a person listed: ids of devices, words of products.
 */
#ifndef TOPOFIT_WORD_LIST_H
#define TOPOFIT_WORD_LIST_H

#include <stdbool.h>
#include <stddef.h>

#define WORD_LIST_MAX 1000 /* words of one list */
#define WORD_BYTES_MAX 256 /* bytes of one word */

/* Words that a person listed, sorted without regard to ASCII case, each once. Zeroed: empty. */
struct word_list {
    char **items;
    size_t count;
};

/*
 * Add a copy of a word; one that is there already is left out. return false when the list is full
 * or the word is longer than WORD_BYTES_MAX.
 */
bool word_list_add(struct word_list *list, const char *word);

struct word_list word_list_copy(const struct word_list *list);
void word_list_clear(struct word_list *list);

/* The same words, case included. */
bool word_list_equal(const struct word_list *a, const struct word_list *b);

/* Is the word in the list, case aside? */
bool word_list_has(const struct word_list *list, const char *word);

/*
 * Has the text the words of one of the list's items? An item with a star at an end ("*A10*") only
 * has to be a part of the text.
 */
bool word_list_describes(const struct word_list *list, const char *text);

/* "a, b, c", cut to fit text[size]; "" for an empty list. */
void word_list_join(const struct word_list *list, char *text, size_t size);

/* How much memory its words take. */
size_t word_list_bytes(const struct word_list *list);

#endif
