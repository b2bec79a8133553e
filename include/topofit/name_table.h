/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_table - the names of all nodes in one piece of memory, and where each of them is.
 *
 * kube-scheduler names every node in each call, in about the same order each time. A table that has
 * this order matches a question's names as one text, and goes along memory.
 *
 * Immutable, and reference counted atomically: any thread may use one without a lock.
 */
#ifndef TOPOFIT_NAME_TABLE_H
#define TOPOFIT_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "topofit/map.h"
#include "topofit/text.h"

struct name_table;

/*
 * names  [count] different names, in the order that gives them their positions; copied.
 * key    of the hash.
 */
struct name_table *name_table_new(const struct hash_key *key, const char *const *names,
                                  size_t count);
struct name_table *name_table_ref(struct name_table *table);
void name_table_unref(struct name_table *table);

size_t name_table_count(const struct name_table *table);

/* The name at a position. Borrowed. */
const char *name_table_name(const struct name_table *table, size_t position);

/* The position of a name (length bytes, no NUL needed), or NAME_NOWHERE. */
uint32_t name_table_find(const struct name_table *table, const char *name, size_t length);

/* The names to find a question's names by. Borrowed from the table. */
struct likely_names name_table_likely(const struct name_table *table);

#endif
