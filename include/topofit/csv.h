/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv - tables as spreadsheets and data sets write them: values between commas, names on top.
 *
 * No I/O. Quotes as in RFC 4180 ("a, b", a "" inside is one quote); lines end with LF or CRLF; a
 * byte order mark, empty lines and lines that begin with # are skipped; blanks around a value that
 * is not quoted go away. Every row has as many values as the header. Every error says where.
 */
#ifndef TOPOFIT_CSV_H
#define TOPOFIT_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/error.h"

#define CSV_COLUMNS_MAX 64
#define CSV_ROWS_MAX 1000000

struct csv {
    char *text;    /* owned; the values stand in it */
    char **values; /* [(row_count + 1) * column_count]: the header, then the rows */
    unsigned *lines;
    size_t column_count, row_count, line_capacity, value_capacity;
};

/*
 * Read a table.
 *
 * out     zeroed; the caller clears it, also on failure.
 * errors  ERR_INVALID with the line: no header, no rows, a row with more or fewer values, a quote
 *         that does not end, a NUL, a column without a name; ERR_LIMIT for too many rows or
 * columns.
 */
int csv_read(const char *bytes, size_t length, struct csv *out, struct error *err);
void csv_clear(struct csv *csv);

/* The name of a column; a value ("" when empty). Borrowed. */
const char *csv_column(const struct csv *csv, size_t column);
const char *csv_value(const struct csv *csv, size_t row, size_t column);

/* The line of a row in the file. */
unsigned csv_line(const struct csv *csv, size_t row);

/* Refuse a value: "line 7, column 3 (gpus): " and the text. return -ERR_INVALID. */
int csv_refuse(const struct csv *csv, size_t row, size_t column, struct error *err,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
