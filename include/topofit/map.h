/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map - strings to pointers, with a keyed hash.
 *
 * Keys come from outside (pod and node names), so the hash is SipHash-1-3 under a key that only
 * this process knows. Iteration follows insertion, never the hash: nothing that is decided may
 * depend on hash order. An entry takes some 32 bytes and its key. Not thread-safe: the owner of a
 * map locks.
 */
#ifndef TOPOFIT_MAP_H
#define TOPOFIT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The secret of a process; tests use a constant. */
struct hash_key {
    uint64_t word[2];
};

/* SipHash-1-3 of `length` bytes. source: Aumasson and Bernstein, "SipHash" (2012). */
uint64_t hash_bytes(const struct hash_key *key, const void *bytes, size_t length);

struct map;

struct map *map_new(const struct hash_key *key);

/*
 * One that does not copy keys: each lives in its value, say, and at least as long as its entry.
 * Where map_put() replaces a value, the key that came with it is referred to from then on.
 */
struct map *map_new_borrowing(const struct hash_key *key);

/* free_value  called for every value still in the map, or NULL. */
void map_free(struct map *map, void (*free_value)(void *value));

/* The value of a key, or NULL. Values are never NULL. */
void *map_get(const struct map *map, const char *key);

/* Set the value of a key (the key is copied, but see above). return the value it had before, or
 * NULL. */
void *map_put(struct map *map, const char *key, void *value);

/* Remove a key. return the value it had, or NULL. */
void *map_remove(struct map *map, const char *key);

size_t map_count(const struct map *map);

/*
 * Step through the entries in insertion order: `struct map_cursor at = {0};
 * while (map_next(map, &at)) use(at.key, at.value);`. The entry just returned may be removed
 * inside the loop; any other change is not allowed.
 */
struct map_cursor {
    const char *key; /* borrowed from the map */
    void *value;
    size_t next;
};
bool map_next(const struct map *map, struct map_cursor *at);

#endif
