/* SPDX-License-Identifier: Apache-2.0 */
/* table - aligned columns for terminals. */
#include "topofit/table.h"

#include "topofit/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL_MAX 1024

struct table {
    const char *const *headers;
    size_t columns;
    char **cells;
    size_t count, capacity;
};

struct table *table_new(const char *const *headers, size_t columns)
{
    struct table *table = xcalloc(1, sizeof *table);

    assert(columns > 0);
    table->headers = headers;
    table->columns = columns;
    return table;
}

void table_free(struct table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table);
}

void table_free_pointer(struct table **table)
{
    table_free(*table);
}

void table_add(struct table *table, const char *text)
{
    char *cell = xstrdup(text[0] != '\0' ? text : "-");

    for (char *at = cell; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    }
    table->cells = mem_grow(table->cells, table->count, &table->capacity, sizeof *table->cells);
    table->cells[table->count++] = cell;
}

void table_addf(struct table *table, const char *format, ...)
{
    char text[CELL_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    table_add(table, text);
}

static size_t width_of(const struct table *table, size_t column)
{
    size_t width = strlen(table->headers[column]);

    for (size_t i = column; i < table->count; i += table->columns) {
        if (strlen(table->cells[i]) > width)
            width = strlen(table->cells[i]);
    }
    return width;
}

void table_write(const struct table *table, struct buf *out)
{
    size_t *widths = xcalloc(table->columns, sizeof *widths);

    assert(table->count % table->columns == 0);
    for (size_t c = 0; c < table->columns; c++)
        widths[c] = width_of(table, c);
    for (size_t i = 0; i < table->columns + table->count; i++) {
        size_t column = i % table->columns;
        const char *text =
            i < table->columns ? table->headers[i] : table->cells[i - table->columns];

        if (column + 1 == table->columns)
            buf_addf(out, "%s\n", text);
        else
            buf_addf(out, "%-*s", (int)widths[column] + 2, text);
    }
    free(widths);
}
