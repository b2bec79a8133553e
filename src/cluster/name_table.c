/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_table - the names of all nodes in one piece of memory, and where each of them is.
 *
 * The hash is a folded multiplication under a key that only this process knows: a quarter of what
 * SipHash takes for such short keys, and it decides nothing but how long a search goes on.
 */
#include "topofit/name_table.h"

#include "topofit/mem.h"
#include "topofit/plain_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIND_TOGETHER 32u

struct name_table {
    unsigned references;
    uint32_t count;
    struct hash_key key;
    char *text;             /* the names, each with a NUL */
    uint32_t *starts;       /* [count] in text */
    char *list;             /* the names as a name_list has them */
    struct name_at *places; /* [count] in list */
    size_t list_length, longest;
    bool is_plain;   /* no name needs an escape */
    uint32_t *slots; /* position + 1 by hash, open addressing; 0 is free */
    uint32_t slot_mask;
};

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t load(const char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

static uint64_t hash_name(const struct hash_key *key, const char *name, size_t length)
{
    uint64_t hash = key->word[0] ^ length, last = 0;
    size_t at = 0;

    for (; at + sizeof last < length; at += sizeof last)
        hash = fold(hash ^ load(name + at), key->word[1] | 1);
    /* The last bytes overlap those before them: no copy of an odd length. */
    if (length >= sizeof last)
        last = load(name + length - sizeof last);
    else
        memcpy(&last, name, length);
    hash = fold(hash ^ last, key->word[1] | 1);
    return fold(hash, 0x9e3779b97f4a7c15u);
}

static void add_slot(struct name_table *table, uint32_t position)
{
    const struct name_at *place = &table->places[position];
    uint64_t at = hash_name(&table->key, table->list + place->start, place->length);

    while (table->slots[at & table->slot_mask] != 0)
        at++;
    table->slots[at & table->slot_mask] = position + 1;
}

static void add_name(struct name_table *table, size_t i, const char *name, size_t *text_used)
{
    size_t length = strlen(name);
    char *at = table->list + table->list_length;

    table->starts[i] = (uint32_t)*text_used;
    memcpy(table->text + *text_used, name, length + 1);
    *text_used += length + 1;
    at[0] = '"';
    memcpy(at + 1, name, length);
    at[length + 1] = '"';
    at[length + 2] = ',';
    table->places[i] = (struct name_at){(uint32_t)table->list_length + 1, (uint32_t)length};
    table->list_length += length + 3;
    table->longest = length > table->longest ? length : table->longest;
    table->is_plain = table->is_plain && plain_span(name, length) == length;
}

static void copy_names(struct name_table *table, const char *const *names)
{
    size_t bytes = 0, used = 0;

    for (size_t i = 0; i < table->count; i++)
        bytes += strlen(names[i]) + strlen("\"\",");
    assert(bytes < UINT32_MAX);
    table->text = xmalloc(bytes + 1);
    table->list = xmalloc(bytes + 1);
    table->starts = xcalloc(table->count + 1, sizeof *table->starts);
    table->places = xcalloc(table->count + 1, sizeof *table->places);
    table->is_plain = true;
    for (size_t i = 0; i < table->count; i++)
        add_name(table, i, names[i], &used);
}

struct name_table *name_table_new(const struct hash_key *key, const char *const *names,
                                  size_t count)
{
    struct name_table *table = xcalloc(1, sizeof *table);
    uint32_t slots = 8;

    assert(count < UINT32_MAX / 4);
    *table = (struct name_table){.references = 1, .count = (uint32_t)count, .key = *key};
    copy_names(table, names);
    while (slots < count * 2)
        slots *= 2;
    table->slots = xcalloc(slots, sizeof *table->slots);
    table->slot_mask = slots - 1;
    for (uint32_t i = 0; i < count; i++)
        add_slot(table, i);
    return table;
}

struct name_table *name_table_ref(struct name_table *table)
{
    __atomic_add_fetch(&table->references, 1, __ATOMIC_RELAXED);
    return table;
}

void name_table_unref(struct name_table *table)
{
    if (table == NULL || __atomic_sub_fetch(&table->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(table->text);
    free(table->starts);
    free(table->list);
    free(table->places);
    free(table->slots);
    free(table);
}

size_t name_table_count(const struct name_table *table)
{
    return table->count;
}

const char *name_table_name(const struct name_table *table, size_t position)
{
    return table->text + table->starts[position];
}

/* The position of a name with that hash. */
static uint32_t find(const struct name_table *table, uint64_t hash, const char *name, size_t length)
{
    for (uint64_t at = hash; table->slots[at & table->slot_mask] != 0; at++) {
        uint32_t position = table->slots[at & table->slot_mask] - 1;
        const struct name_at *place = &table->places[position];

        if (place->length == length && is_same_text(table->list + place->start, name, length))
            return position;
    }
    return NAME_NOWHERE;
}

uint32_t name_table_find(const struct name_table *table, const char *name, size_t length)
{
    return find(table, hash_name(&table->key, name, length), name, length);
}

/*
 * With tens of thousands of names each step of a search is a cache miss. The steps of several
 * searches go side by side.
 */
static void find_few(const struct name_table *table, const char *text, const struct name_at *names,
                     size_t count, uint32_t *positions)
{
    uint64_t hashes[FIND_TOGETHER];

    for (size_t i = 0; i < count; i++) {
        hashes[i] = hash_name(&table->key, text + names[i].start, names[i].length);
        __builtin_prefetch(&table->slots[hashes[i] & table->slot_mask]);
    }
    for (size_t i = 0; i < count; i++) {
        positions[i] = table->slots[hashes[i] & table->slot_mask];
        __builtin_prefetch(&table->places[positions[i] > 0 ? positions[i] - 1 : 0]);
    }
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(table->list +
                           table->places[positions[i] > 0 ? positions[i] - 1 : 0].start);
    for (size_t i = 0; i < count; i++)
        positions[i] = find(table, hashes[i], text + names[i].start, names[i].length);
}

static void find_all(const void *ctx, const char *text, const struct name_at *names, size_t count,
                     uint32_t *positions)
{
    for (size_t done = 0; done < count; done += FIND_TOGETHER)
        find_few(ctx, text, names + done,
                 count - done < FIND_TOGETHER ? count - done : FIND_TOGETHER, positions + done);
}

struct likely_names name_table_likely(const struct name_table *table)
{
    return (struct likely_names){.list = {.text = table->list,
                                          .length = table->list_length,
                                          .places = table->places,
                                          .longest = table->longest,
                                          .count = table->is_plain ? table->count : 0},
                                 .find = find_all,
                                 .ctx = table};
}
