/* SPDX-License-Identifier: Apache-2.0 */
/* map - strings to pointers, with a keyed hash. */
#include "topofit/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Every look-up passes a hash of ours, so uthash's own function is never used. */
#define HASH_FUNCTION(key, length, hash) ((hash) = 0)
#define uthash_fatal(message) abort()
#include <uthash.h>

#include "topofit/mem.h"

struct entry {
    UT_hash_handle hh;
    void *value;
    char key[];
};

struct map {
    struct hash_key key;
    struct entry *entries;
};

static uint64_t rotate_left(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate_left(v[1], 13) ^ v[0];
    v[0] = rotate_left(v[0], 32);
    v[2] += v[3];
    v[3] = rotate_left(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate_left(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate_left(v[1], 17) ^ v[2];
    v[2] = rotate_left(v[2], 32);
}

uint64_t hash_bytes(const struct hash_key *key, const void *bytes, size_t length)
{
    uint64_t v[4] = {key->word[0] ^ 0x736f6d6570736575u, key->word[1] ^ 0x646f72616e646f6du,
                     key->word[0] ^ 0x6c7967656e657261u, key->word[1] ^ 0x7465646279746573u};
    const unsigned char *at = bytes;
    uint64_t last = (uint64_t)length << 56;
    uint64_t word;

    for (size_t left = length; left >= 8; left -= 8, at += 8) {
        word = 0;
        for (unsigned i = 0; i < 8; i++)
            word |= (uint64_t)at[i] << (8 * i);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    for (unsigned i = 0; i < length % 8; i++)
        last |= (uint64_t)at[i] << (8 * i);
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (unsigned i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static unsigned hash_of(const struct map *map, const char *key, size_t length)
{
    return (unsigned)hash_bytes(&map->key, key, length);
}

static struct entry *find(const struct map *map, const char *key)
{
    struct entry *found = NULL;
    size_t length = strlen(key);

    HASH_FIND_BYHASHVALUE(hh, map->entries, key, (unsigned)length, hash_of(map, key, length),
                          found);
    return found;
}

static void *take_out(struct map *map, struct entry *entry)
{
    void *value = entry->value;

    HASH_DELETE(hh, map->entries, entry);
    free(entry);
    return value;
}

struct map *map_new(const struct hash_key *key)
{
    struct map *map = xcalloc(1, sizeof *map);

    map->key = *key;
    return map;
}

void map_free(struct map *map, void (*free_value)(void *value))
{
    if (map == NULL)
        return;
    while (map->entries != NULL) {
        void *value = take_out(map, map->entries);

        if (free_value != NULL)
            free_value(value);
    }
    free(map);
}

void *map_get(const struct map *map, const char *key)
{
    struct entry *entry = find(map, key);

    return entry != NULL ? entry->value : NULL;
}

void *map_put(struct map *map, const char *key, void *value)
{
    struct entry *entry = find(map, key);
    size_t length = strlen(key);
    void *before = NULL;

    assert(value != NULL);
    if (entry != NULL) {
        before = entry->value;
        entry->value = value;
        return before;
    }
    entry = xcalloc(1, sizeof *entry + length + 1);
    entry->value = value;
    memcpy(entry->key, key, length);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, map->entries, entry->key, (unsigned)length,
                                hash_of(map, key, length), entry);
    return NULL;
}

void *map_remove(struct map *map, const char *key)
{
    struct entry *entry = find(map, key);

    return entry != NULL ? take_out(map, entry) : NULL;
}

size_t map_count(const struct map *map)
{
    return HASH_COUNT(map->entries);
}

bool map_next(const struct map *map, struct map_cursor *at)
{
    struct entry *entry = at->started ? at->next : map->entries;

    at->started = true;
    if (entry == NULL)
        return false;
    at->key = entry->key;
    at->value = entry->value;
    at->next = entry->hh.next;
    return true;
}
