/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version_book - the resourceVersion of each node, as the watch shows it. For control only.
 *
 * Sixteen bytes a place, and no names: a name stands in it as its keyed hash of 64 bits. Two names
 * with one hash would share a version, and the API server would refuse a write that carries it.
 * Not thread-safe.
 */
#ifndef TOPOFIT_VERSION_BOOK_H
#define TOPOFIT_VERSION_BOOK_H

#include "topofit/map.h"

#include <stddef.h>
#include <stdint.h>

struct version_place {
    uint64_t name, version; /* name 0: free; version 0: its node is gone */
};

struct version_book {
    struct hash_key key;
    struct version_place *places;
    size_t capacity, taken; /* a power of two; those with a name */
};

void version_book_init(struct version_book *book, const struct hash_key *key);
void version_book_clear(struct version_book *book);

/* version 0: the node is gone. */
void version_book_put(struct version_book *book, const char *node, uint64_t version);

/* 0: not known. */
uint64_t version_book_get(const struct version_book *book, const char *node);

#endif
