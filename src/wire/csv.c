/* SPDX-License-Identifier: Apache-2.0 */
/* csv - tables as spreadsheets and data sets write them. */
#include "topofit/csv.h"

#include "topofit/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values are cut out in place: `to` never overtakes `from`. */
struct scanner {
    struct csv *csv;
    char *from, *to;
    unsigned line;
    size_t value_count;
};

static void put_value(struct scanner *scanner, char *value)
{
    struct csv *csv = scanner->csv;

    csv->values =
        mem_grow(csv->values, scanner->value_count, &csv->value_capacity, sizeof *csv->values);
    csv->values[scanner->value_count++] = value;
}

static void put_line(struct scanner *scanner, size_t rows, unsigned line)
{
    struct csv *csv = scanner->csv;

    csv->lines = mem_grow(csv->lines, rows, &csv->line_capacity, sizeof *csv->lines);
    csv->lines[rows] = line;
}

static bool is_end(char c)
{
    return c == '\0' || c == '\n' || c == '\r';
}

static char *trim_end(char *from, char *to)
{
    while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
        to--;
    return to;
}

/* The opening quote was read: up to the closing one. return NULL when there is none. */
static char *scan_quoted(struct scanner *scanner)
{
    char *value = scanner->to;

    for (; *scanner->from != '\0'; scanner->from++) {
        if (*scanner->from == '"' && *++scanner->from != '"')
            return value;
        scanner->line += *scanner->from == '\n';
        *scanner->to++ = *scanner->from;
    }
    return NULL;
}

/* One value, up to the comma or the end of the line behind it. */
static int scan_value(struct scanner *scanner, struct error *err)
{
    unsigned line = scanner->line;
    char *value;

    scanner->from += strspn(scanner->from, " \t");
    if (*scanner->from == '"') {
        scanner->from++;
        value = scan_quoted(scanner);
        if (value == NULL)
            return error_set(err, ERR_INVALID, "line %u: a quote that does not end", line);
        scanner->from += strspn(scanner->from, " \t");
        if (*scanner->from != ',' && !is_end(*scanner->from))
            return error_set(err, ERR_INVALID,
                             "line %u: text behind a closing quote: write \"\" for a quote inside",
                             scanner->line);
    } else {
        value = scanner->to;
        while (*scanner->from != ',' && !is_end(*scanner->from))
            *scanner->to++ = *scanner->from++;
        scanner->to = trim_end(value, scanner->to);
    }
    put_value(scanner, value);
    return 0;
}

/* The values of one line. Each ends where its comma or line end stood, or before. */
static int scan_line(struct scanner *scanner, size_t *count, struct error *err)
{
    char separator;

    *count = 0;
    do {
        if (*count == CSV_COLUMNS_MAX)
            return error_set(err, ERR_LIMIT, "line %u: more than %d columns", scanner->line,
                             CSV_COLUMNS_MAX);
        if (scan_value(scanner, err) < 0)
            return error_pass(err);
        separator = *scanner->from;
        scanner->from += separator != '\0';
        *scanner->to++ = '\0';
        (*count)++;
    } while (separator == ',');
    if (separator == '\r' && *scanner->from == '\n')
        scanner->from++;
    scanner->line += separator != '\0';
    return 0;
}

/* Go on to the next line with something on it. return false at the end. */
static bool skip_to_line(struct scanner *scanner)
{
    while (*scanner->from != '\0') {
        char *end = scanner->from + strspn(scanner->from, " \t\r");

        if (*end != '\n' && *end != '\0' && *scanner->from != '#')
            return true;
        end = scanner->from + strcspn(scanner->from, "\n");
        scanner->line += *end == '\n';
        scanner->from = end + (*end == '\n');
    }
    return false;
}

static int check_header(const struct csv *csv, unsigned line, struct error *err)
{
    for (size_t c = 0; c < csv->column_count; c++) {
        if (csv->values[c][0] == '\0')
            return error_set(err, ERR_INVALID, "line %u: column %zu has no name", line, c + 1);
        for (size_t k = 0; k < c; k++) {
            if (strcmp(csv->values[k], csv->values[c]) == 0)
                return error_set(err, ERR_INVALID, "line %u: columns %zu and %zu are both %.60s",
                                 line, k + 1, c + 1, csv->values[c]);
        }
    }
    return 0;
}

static int scan_row(struct scanner *scanner, struct error *err)
{
    struct csv *csv = scanner->csv;
    unsigned line = scanner->line;
    size_t count;

    if (csv->row_count == CSV_ROWS_MAX)
        return error_set(err, ERR_LIMIT, "line %u: more than %d rows", line, CSV_ROWS_MAX);
    if (scan_line(scanner, &count, err) < 0)
        return error_pass(err);
    if (count != csv->column_count)
        return error_set(err, ERR_INVALID, "line %u: %zu value%s, but the header has %zu", line,
                         count, count == 1 ? "" : "s", csv->column_count);
    put_line(scanner, csv->row_count++, line);
    return 0;
}

int csv_read(const char *bytes, size_t length, struct csv *out, struct error *err)
{
    size_t mark = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    struct scanner scanner = {.csv = out, .line = 1};

    if (length > 0 && memchr(bytes, '\0', length) != NULL)
        return error_set(err, ERR_INVALID, "this is no text: there is a NUL in it");
    /* One byte more: the last value ends behind the text. */
    out->text = xcalloc(1, length - mark + 2);
    if (length > mark)
        memcpy(out->text, bytes + mark, length - mark);
    scanner.from = scanner.to = out->text;
    if (!skip_to_line(&scanner))
        return error_set(err, ERR_INVALID,
                         "it is empty: a line with the names of columns, then "
                         "rows are expected");
    scanner.to = scanner.from;
    if (scan_line(&scanner, &out->column_count, err) < 0 ||
        check_header(out, scanner.line - 1, err) < 0)
        return error_pass(err);
    while (skip_to_line(&scanner)) {
        scanner.to = scanner.from;
        if (scan_row(&scanner, err) < 0)
            return error_pass(err);
    }
    if (out->row_count == 0)
        return error_set(err, ERR_INVALID, "there are no rows below the header");
    return 0;
}

void csv_clear(struct csv *csv)
{
    free(csv->text);
    free(csv->values);
    free(csv->lines);
    *csv = (struct csv){0};
}

const char *csv_column(const struct csv *csv, size_t column)
{
    return csv->values[column];
}

const char *csv_value(const struct csv *csv, size_t row, size_t column)
{
    return csv->values[(row + 1) * csv->column_count + column];
}

unsigned csv_line(const struct csv *csv, size_t row)
{
    return csv->lines[row];
}

int csv_refuse(const struct csv *csv, size_t row, size_t column, struct error *err,
               const char *format, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(err, ERR_INVALID, "line %u, column %zu (%.40s): %s", csv_line(csv, row),
                     column + 1, csv_column(csv, column), text);
}
