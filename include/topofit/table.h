/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table - aligned columns for terminals, as kubectl prints them.
 *
 * Cells are collected row by row and written at once: two blanks between columns, none at the end
 * of a line, wide enough for the widest cell. Control bytes in cells become '?'.
 */
#ifndef TOPOFIT_TABLE_H
#define TOPOFIT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/buf.h"

struct table;

/* headers  [columns] borrowed for the life of the table. */
struct table *table_new(const char *const *headers, size_t columns);
void table_free(struct table *table);
void table_free_pointer(struct table **table);

/* Fill the next cell, row after row; an empty text becomes "-". */
void table_add(struct table *table, const char *text);
void table_addf(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

void table_write(const struct table *table, struct buf *out);

#endif
