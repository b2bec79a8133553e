/* SPDX-License-Identifier: Apache-2.0 */
/* version_book - the resourceVersion of each node, as the watch shows it. */
#include "version_book.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 64

void version_book_init(struct version_book *book, const struct hash_key *key)
{
    *book = (struct version_book){.key = *key};
}

void version_book_clear(struct version_book *book)
{
    free(book->places);
    *book = (struct version_book){.key = book->key};
}

/* The place of a name, or the free one where it would stand. There is always a free one. */
static struct version_place *find(const struct version_book *book, uint64_t name)
{
    size_t mask = book->capacity - 1, i = (size_t)name & mask;

    while (book->places[i].name != 0 && book->places[i].name != name)
        i = (i + 1) & mask;
    return &book->places[i];
}

/* Those that are gone are left behind. */
static void rebuild(struct version_book *book)
{
    struct version_book old = *book;
    size_t living = 0;

    for (size_t i = 0; i < old.capacity; i++)
        living += old.places[i].version != 0;
    book->capacity = CAPACITY_FIRST;
    while (book->capacity < 2 * (living + 1))
        book->capacity *= 2;
    book->places = xcalloc(book->capacity, sizeof *book->places);
    book->taken = living;
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.places[i].version != 0)
            *find(book, old.places[i].name) = old.places[i];
    }
    free(old.places);
}

static uint64_t name_of(const struct version_book *book, const char *node)
{
    uint64_t hash = hash_bytes(&book->key, node, strlen(node));

    return hash != 0 ? hash : 1;
}

void version_book_put(struct version_book *book, const char *node, uint64_t version)
{
    uint64_t name = name_of(book, node);
    struct version_place *place;

    if (4 * (book->taken + 1) > 3 * book->capacity)
        rebuild(book);
    place = find(book, name);
    book->taken += place->name == 0;
    *place = (struct version_place){name, version};
}

uint64_t version_book_get(const struct version_book *book, const char *node)
{
    return book->capacity > 0 ? find(book, name_of(book, node))->version : 0;
}
