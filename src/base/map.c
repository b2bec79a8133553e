/* SPDX-License-Identifier: Apache-2.0 */
/* map - strings to pointers, with a keyed hash. */
#include "topofit/map.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "topofit/mem.h"

struct entry {
    const char *key; /* owned by the map unless it borrows keys */
    void *value;     /* NULL: it was removed */
};

/* Where to look for a key: open addressing, and no hash is computed twice. */
struct slot {
    uint32_t hash;
    uint32_t place; /* in entries, from 1; 0: free */
};

struct map {
    struct hash_key key;
    struct entry *entries; /* [used] in the order of insertion */
    struct slot *slots;    /* [slot_mask + 1] twice as many as entries; NULL without entries */
    uint32_t slot_mask;
    bool borrows_keys;
    size_t count, used, capacity;
    size_t first; /* there is nothing before it */
};

static uint64_t rotate_left(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static uint64_t load_word(const unsigned char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return le64toh(word);
}

static inline void sip_round(uint64_t v[4])
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
        word = load_word(at);
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

static uint32_t hash_of(const struct map *map, const char *key)
{
    return (uint32_t)hash_bytes(&map->key, key, strlen(key));
}

/* --- slots ----------------------------------------------------------------------------------- */

/* The slot of a key, or the free one where it would go. There must be slots. */
static struct slot *find_slot(const struct map *map, const char *key, uint32_t hash)
{
    uint32_t at = hash & map->slot_mask;

    for (; map->slots[at].place != 0; at = (at + 1) & map->slot_mask) {
        const struct slot *slot = &map->slots[at];

        if (slot->hash == hash && strcmp(map->entries[slot->place - 1].key, key) == 0)
            break;
    }
    return &map->slots[at];
}

static struct entry *find(const struct map *map, const char *key)
{
    uint32_t place = map->count > 0 ? find_slot(map, key, hash_of(map, key))->place : 0;

    return place > 0 ? &map->entries[place - 1] : NULL;
}

/* Those behind it that had to step over it move up, so that searches may end at a free slot. */
static void free_slot(struct map *map, struct slot *slot)
{
    uint32_t mask = map->slot_mask, hole = (uint32_t)(slot - map->slots);

    for (uint32_t at = (hole + 1) & mask; map->slots[at].place != 0; at = (at + 1) & mask) {
        if (((at - map->slots[at].hash) & mask) < ((at - hole) & mask))
            continue;
        map->slots[hole] = map->slots[at];
        hole = at;
    }
    map->slots[hole].place = 0;
}

/* --- room ------------------------------------------------------------------------------------ */

/* Close the gaps that were left by removed entries; places[old] becomes the new one, from 1. */
static void close_gaps(struct map *map, uint32_t *places)
{
    size_t kept = 0;

    for (size_t i = map->first; i < map->used; i++) {
        if (map->entries[i].value == NULL)
            continue;
        map->entries[kept++] = map->entries[i];
        places[i] = (uint32_t)kept;
    }
    map->first = 0;
    map->used = kept;
}

/* The slots are made anew, for `capacity` entries: a power of two, as mem_grow() has it. */
static void spread(struct map *map, const uint32_t *places)
{
    uint32_t count = (uint32_t)map->capacity * 2,
             before = map->slots != NULL ? map->slot_mask + 1 : 0;
    struct slot *old = map->slots;

    assert((count & (count - 1)) == 0);
    map->slots = xcalloc(count, sizeof *map->slots);
    map->slot_mask = count - 1;
    for (uint32_t i = 0; i < before; i++) {
        uint32_t at = old[i].hash & map->slot_mask;

        if (old[i].place == 0)
            continue;
        while (map->slots[at].place != 0)
            at = (at + 1) & map->slot_mask;
        map->slots[at] = (struct slot){old[i].hash, places[old[i].place - 1]};
    }
    free(old);
}

/* Gaps are closed when there is no room left, and it grows unless there were many. */
static void make_room(struct map *map)
{
    AUTO_FREE uint32_t *places = NULL;

    if (map->used < map->capacity)
        return;
    assert(map->capacity < UINT32_MAX / 4);
    places = xcalloc(map->used, sizeof *places);
    close_gaps(map, places);
    if (map->used >= map->capacity / 4 * 3)
        map->entries = mem_grow(map->entries, map->capacity, &map->capacity, sizeof *map->entries);
    spread(map, places);
}

/* --- map ------------------------------------------------------------------------------------- */

struct map *map_new(const struct hash_key *key)
{
    struct map *map = xcalloc(1, sizeof *map);

    map->key = *key;
    return map;
}

struct map *map_new_borrowing(const struct hash_key *key)
{
    struct map *map = map_new(key);

    map->borrows_keys = true;
    return map;
}

static void free_key(const struct map *map, struct entry *entry)
{
    if (!map->borrows_keys)
        free((char *)entry->key);
}

void map_free(struct map *map, void (*free_value)(void *value))
{
    if (map == NULL)
        return;
    for (size_t i = map->first; i < map->used; i++) {
        if (map->entries[i].value == NULL)
            continue;
        free_key(map, &map->entries[i]);
        if (free_value != NULL)
            free_value(map->entries[i].value);
    }
    free(map->entries);
    free(map->slots);
    free(map);
}

void *map_get(const struct map *map, const char *key)
{
    struct entry *entry = find(map, key);

    return entry != NULL ? entry->value : NULL;
}

/* Set the value of a key that is there. return the value before. */
static void *replace(const struct map *map, struct entry *entry, const char *key, void *value)
{
    void *before = entry->value;

    if (map->borrows_keys)
        entry->key = key;
    entry->value = value;
    return before;
}

void *map_put(struct map *map, const char *key, void *value)
{
    uint32_t hash = hash_of(map, key);
    struct slot *slot;

    assert(value != NULL);
    make_room(map);
    slot = find_slot(map, key, hash);
    if (slot->place > 0)
        return replace(map, &map->entries[slot->place - 1], key, value);
    map->entries[map->used++] = (struct entry){map->borrows_keys ? key : xstrdup(key), value};
    *slot = (struct slot){hash, (uint32_t)map->used};
    map->count++;
    return NULL;
}

void *map_remove(struct map *map, const char *key)
{
    struct slot *slot = map->count > 0 ? find_slot(map, key, hash_of(map, key)) : NULL;
    struct entry *entry;
    void *value;

    if (slot == NULL || slot->place == 0)
        return NULL;
    entry = &map->entries[slot->place - 1];
    value = entry->value;
    free_slot(map, slot);
    free_key(map, entry);
    *entry = (struct entry){0};
    map->count--;
    while (map->first < map->used && map->entries[map->first].value == NULL)
        map->first++;
    return value;
}

size_t map_count(const struct map *map)
{
    return map->count;
}

bool map_next(const struct map *map, struct map_cursor *at)
{
    size_t i = at->next > map->first ? at->next : map->first;

    while (i < map->used && map->entries[i].value == NULL)
        i++;
    at->next = i + (i < map->used);
    if (i == map->used)
        return false;
    at->key = map->entries[i].key;
    at->value = map->entries[i].value;
    return true;
}
