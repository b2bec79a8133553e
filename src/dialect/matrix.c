/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix - see the header. The text is read line by line and word by word. Columns are found by
 * counting, not by place, because pasted text loses its tabs; only the NUMA column is looked up
 * by tabs first, since the CPU column in front of it may be empty.
 */
#include "topofit/matrix.h"

#include "topofit/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX_MAX 12
#define RECENT 4 /* last words of a row that are kept: more columns than stand behind the links */
#define ESCAPE 0x1b

/* --- lines and words
 * ------------------------------------------------------------------------------ */

struct word {
    char text[32]; /* cut to fit; no name or link is that long */
    unsigned line, column;
    unsigned tabs; /* in front of it on its line */
};

struct reader {
    const char *at; /* cleaned text, NUL-terminated */
    unsigned line;
    unsigned column;
    unsigned tabs;
};

/* Length of an escape sequence (ESC [ ... letter) at `at`, or 0. */
static size_t escape_length(const char *at, size_t left)
{
    size_t length = 2;

    if (left < 2 || at[0] != ESCAPE || at[1] != '[')
        return 0;
    while (length < left && (at[length] == ';' || (at[length] >= '0' && at[length] <= '9')))
        length++;
    return length < left ? length + 1 : length;
}

/* A copy of printable bytes, tabs and newlines; the rest becomes blanks, so columns stay right. */
static char *clean(const char *text, size_t length)
{
    char *copy = xmalloc(length + 1);

    for (size_t i = 0; i < length;) {
        size_t escape = escape_length(text + i, length - i);

        if (escape > 0) {
            memset(copy + i, ' ', escape);
            i += escape;
            continue;
        }
        copy[i] = text[i];
        if (text[i] != '\n' && text[i] != '\t' && (text[i] < ' ' || text[i] > '~'))
            copy[i] = ' ';
        i++;
    }
    copy[length] = '\0';
    return copy;
}

/* The next word of this line. return false at its end. */
static bool next_word(struct reader *reader, struct word *word)
{
    size_t length = 0;

    for (; *reader->at == ' ' || *reader->at == '\t'; reader->at++) {
        reader->tabs += *reader->at == '\t';
        reader->column++;
    }
    if (*reader->at == '\n' || *reader->at == '\0')
        return false;
    word->line = reader->line;
    word->column = reader->column;
    word->tabs = reader->tabs;
    for (; strchr(" \t\n", *reader->at) == NULL; reader->at++) {
        if (length < sizeof(word->text) - 1)
            word->text[length++] = *reader->at;
        reader->column++;
    }
    word->text[length] = '\0';
    return true;
}

/* Go to the next line. return false when there is none. */
static bool next_line(struct reader *reader)
{
    while (*reader->at != '\n' && *reader->at != '\0')
        reader->at++;
    if (*reader->at == '\0')
        return false;
    reader->at++;
    reader->line++;
    reader->column = 1;
    reader->tabs = 0;
    return true;
}

/* --- the table
 * ------------------------------------------------------------------------------------ */

struct table {
    struct matrix *out;
    struct peer_graph *graph; /* NULL until the header is complete */
    unsigned n;
    char prefix[PREFIX_MAX];     /* of the devices: "GPU" */
    bool has_all_devices;        /* the header went on to other columns */
    unsigned nics, tail;         /* columns behind the devices: network cards; affinities */
    unsigned numa_from_end;      /* NUMA column, counted from the last one; 0 = none */
    unsigned numa_tabs;          /* tabs in front of it; 0 = the header has none */
    char header_before[32];      /* last header word: "GPU" before "NUMA" is another column */
    device_mask rows;            /* read or begun */
    bool is_open;                /* the next line may go on with this one */
    unsigned row, cells, behind; /* the current row: device, links read, words behind them */
    unsigned row_line, row_end;  /* its last line, and the column behind its last word */
    struct word recent[RECENT];
};

/* Split "GPU12" into "GPU" and 12. return false for other words, network cards and link words. */
static bool split_name(const char *text, char *prefix, unsigned *index)
{
    size_t length = strcspn(text, "0123456789"), digits = strspn(text + length, "0123456789");
    struct link link;

    if (length == 0 || length >= PREFIX_MAX || digits == 0 || digits > 4 ||
        text[length + digits] != '\0')
        return false;
    for (size_t i = 0; i < length; i++) {
        if (strchr("[]().,:;=<>|*#\"'/", text[i]) != NULL)
            return false;
    }
    memcpy(prefix, text, length);
    prefix[length] = '\0';
    *index = 0;
    for (size_t i = length; i < length + digits; i++)
        *index = *index * 10 + (unsigned)(text[i] - '0');
    return strcmp(prefix, "NIC") != 0 && !matrix_link(text, &link);
}

/* Position of a device's name: n when the header has no such, -1 when it is no device's name. */
static int find_device(const struct table *table, const struct word *word)
{
    char prefix[PREFIX_MAX];
    unsigned index, i = 0;

    if (!split_name(word->text, prefix, &index) || strcmp(prefix, table->prefix) != 0)
        return -1;
    while (i < table->n && table->out->indices[i] != index)
        i++;
    return (int)i;
}

#define fail_at(err, line, column, format, ...) \
    error_set(err, ERR_INVALID, "line %u, column %u: " format, line, column, __VA_ARGS__)

static int add_device(struct table *table, const struct word *word, struct error *err)
{
    int position = find_device(table, word);
    char prefix[PREFIX_MAX];

    if (position < (int)table->n)
        return fail_at(err, word->line, word->column, "%s is there twice", word->text);
    if (table->n == DEVICE_MAX)
        return fail_at(err, word->line, word->column, "more than %d devices", DEVICE_MAX);
    (void)split_name(word->text, prefix, &table->out->indices[table->n]);
    table->n++;
    return 0;
}

/* "CPU Affinity", "NUMA Affinity", "Node Affinity", "GPU NUMA ID", "NUMA", "NIC0", "mlx5_0". */
static void add_other_column(struct table *table, const struct word *word)
{
    bool is_gpu_numa = strcmp(table->header_before, "GPU") == 0;

    if (strcmp(word->text, "Affinity") == 0 || strcmp(word->text, "ID") == 0 || is_gpu_numa)
        return;
    if (strcmp(word->text, "NUMA") == 0 || strcmp(word->text, "Node") == 0) {
        table->numa_tabs = word->tabs;
        table->numa_from_end = 1;
        table->tail++;
    } else if (strcmp(word->text, "CPU") == 0 || strcmp(word->text, "GPU") == 0 ||
               table->tail > 0) {
        table->numa_from_end += table->numa_from_end > 0;
        table->tail++;
    } else {
        table->nics++;
    }
}

static int read_header(struct table *table, struct reader *reader, struct word *word,
                       struct error *err)
{
    do {
        if (!table->has_all_devices && find_device(table, word) >= 0) {
            int status = add_device(table, word, err);

            if (status < 0)
                return status;
        } else {
            table->has_all_devices = true;
            add_other_column(table, word);
        }
        memcpy(table->header_before, word->text, sizeof(table->header_before));
    } while (next_word(reader, word));
    table->is_open = true;
    return 0;
}

/* Is this the header's first line: a device, then another one, another column or nothing? */
static bool starts_header(struct table *table, const struct reader *reader,
                          const struct word *first)
{
    struct reader ahead = *reader;
    struct word second;
    unsigned index;

    if (!split_name(first->text, table->prefix, &index))
        return false;
    return !next_word(&ahead, &second) || find_device(table, &second) >= 0 ||
           strcmp(second.text, "CPU") == 0 || strcmp(second.text, "NUMA") == 0 ||
           strcmp(second.text, "Node") == 0 || strncmp(second.text, "NIC", 3) == 0 ||
           strncmp(second.text, "mlx", 3) == 0;
}

/* Is this a row that stands where a header should? */
static bool starts_row(const struct reader *reader, const struct word *first)
{
    struct reader ahead = *reader;
    struct word second;
    struct link link;
    char prefix[PREFIX_MAX];
    unsigned index;

    return split_name(first->text, prefix, &index) && next_word(&ahead, &second) &&
           (strcmp(second.text, "X") == 0 || matrix_link(second.text, &link));
}

/* --- rows
 * ----------------------------------------------------------------------------------------- */

static bool is_self(const char *text)
{
    return strcmp(text, "X") == 0 || strcmp(text, "0") == 0 || strcmp(text, "-") == 0 ||
           strcmp(text, "N/A") == 0 || strcmp(text, "SELF") == 0;
}

static int read_cell(struct table *table, const struct word *word, struct error *err)
{
    unsigned row = table->row, column = table->cells++;
    const unsigned *indices = table->out->indices;
    struct link link = {.tier = TIER_UNKNOWN};

    if (row == column && !is_self(word->text))
        return fail_at(err, word->line, word->column, "%s%u with itself is X, not %s",
                       table->prefix, indices[row], word->text);
    if (row == column)
        return 0;
    if (strcmp(word->text, "X") == 0)
        return fail_at(err, word->line, word->column, "%s%u with %s%u cannot be X", table->prefix,
                       indices[row], table->prefix, indices[column]);
    if (!matrix_link(word->text, &link)) {
        memcpy(link.name, word->text, sizeof(link.name) - 1);
        if (table->out->warning[0] == '\0')
            snprintf(table->out->warning, sizeof(table->out->warning),
                     "line %u, column %u: link %s is not known, taken as the slowest", word->line,
                     word->column, word->text);
    }
    peers_note_link(table->graph, row, column, &link);
    return 0;
}

/* The first id of "1", "0-1" or "0,3-9,11-17"; NUMA_UNKNOWN for all else. */
static int first_id(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    int id = 0;

    if (digits == 0 || digits > 4 || strchr(",-", text[digits]) == NULL)
        return NUMA_UNKNOWN;
    for (size_t i = 0; i < digits; i++)
        id = id * 10 + (text[i] - '0');
    return id;
}

/* The word in the NUMA column: by tabs where both lines have them, else counted from the end. */
static const struct word *numa_word(const struct table *table)
{
    unsigned kept = table->behind < RECENT ? table->behind : RECENT;
    unsigned columns = table->behind > table->nics ? table->behind - table->nics : 0;
    const struct word *found = NULL;
    bool has_tabs = table->numa_tabs > 0;

    for (unsigned i = 0; i < kept; i++) {
        has_tabs = has_tabs && table->recent[i].tabs > 0;
        if (table->recent[i].tabs == table->numa_tabs)
            found = &table->recent[i];
    }
    if (has_tabs)
        return found;
    if (table->numa_from_end == 0 || table->numa_from_end > columns || table->numa_from_end > kept)
        return NULL;
    return &table->recent[kept - table->numa_from_end];
}

static int end_row(struct table *table, struct error *err)
{
    const struct word *numa;

    if (table->graph == NULL)
        return 0;
    if (table->cells < table->n)
        return fail_at(err, table->row_line, table->row_end, "the row of %s%u has %u of %u links",
                       table->prefix, table->out->indices[table->row], table->cells, table->n);
    numa = numa_word(table);
    if (numa != NULL)
        peers_set_numa(table->graph, table->row, first_id(numa->text));
    return 0;
}

/* Keep the last few words behind the links, oldest first. */
static void keep_recent(struct table *table, const struct word *word)
{
    if (table->behind >= RECENT)
        memmove(table->recent, table->recent + 1, (RECENT - 1) * sizeof(*table->recent));
    table->recent[table->behind < RECENT ? table->behind : RECENT - 1] = *word;
    table->behind++;
}

static int read_row_words(struct table *table, struct reader *reader, struct word *word,
                          struct error *err)
{
    int status = 0;

    do {
        if (table->cells == table->n)
            keep_recent(table, word);
        else
            status = read_cell(table, word, err);
        if (status < 0)
            return status;
        table->row_line = word->line;
        table->row_end = reader->column;
    } while (next_word(reader, word));
    table->is_open = true;
    return 0;
}

static int start_row(struct table *table, unsigned row, struct reader *reader, struct word *word,
                     struct error *err)
{
    int status = end_row(table, err);

    if (status < 0)
        return status;
    if (row == table->n)
        return fail_at(err, word->line, word->column, "%s is not in the header", word->text);
    if (mask_has(table->rows, row))
        return fail_at(err, word->line, word->column, "%s has two rows", word->text);
    if (table->graph == NULL)
        table->graph = peers_new(table->n);
    table->row = row;
    table->rows |= mask_of(row);
    table->cells = table->behind = 0;
    table->is_open = true;
    table->row_line = word->line;
    table->row_end = reader->column;
    return next_word(reader, word) ? read_row_words(table, reader, word, err) : 0;
}

/* May a line that starts with this word be the wrapped end of the current row? */
static bool continues_row(const struct table *table, const struct word *word)
{
    bool wants_links = table->cells < table->n || table->behind < table->nics;
    struct link link;

    if (!table->is_open || table->rows == 0)
        return false;
    if (wants_links)
        return strcmp(word->text, "X") == 0 || matrix_link(word->text, &link);
    return table->behind < table->nics + table->tail &&
           ((word->text[0] >= '0' && word->text[0] <= '9') || strcmp(word->text, "N/A") == 0);
}

/* --- the whole text
 * ------------------------------------------------------------------------------- */

/* Read one line whose first word is `word`. return 0 or negative. */
static int read_line(struct table *table, struct reader *reader, struct word *word,
                     struct error *err)
{
    int device = table->n > 0 ? find_device(table, word) : -1;

    if (table->n == 0) {
        if (starts_header(table, reader, word))
            return read_header(table, reader, word, err);
        if (starts_row(reader, word))
            return fail_at(err, word->line, word->column,
                           "no header of devices before the row of %s", word->text);
        return 0;
    }
    /* A name that the header has begins a row; a new one before the first row is a wrapped header.
     */
    if (device >= 0 &&
        ((unsigned)device < table->n || table->rows != 0 || starts_row(reader, word)))
        return start_row(table, (unsigned)device, reader, word, err);
    if (table->rows == 0 && table->is_open) {
        int status = read_header(table, reader, word, err);

        table->numa_tabs = 0;
        return status;
    }
    if (continues_row(table, word))
        return read_row_words(table, reader, word, err);
    table->is_open = false;
    return 0;
}

static bool is_complete(const struct table *table)
{
    return table->n > 0 && table->rows == mask_below(table->n) && table->cells == table->n &&
           !table->is_open;
}

static int read_lines(struct table *table, struct reader *reader, struct error *err)
{
    struct word word;
    int status = 0;

    /* What stands behind the table (a legend, further tables) is not looked at. */
    do {
        if (!next_word(reader, &word))
            table->is_open = false;
        else if (word.text[0] != '#')
            status = read_line(table, reader, &word, err);
        if (status < 0)
            return status;
    } while (!is_complete(table) && next_line(reader));
    if (table->n == 0)
        return fail_at(err, reader->line, 1u, "%s", "no header of devices");
    status = end_row(table, err);
    if (status < 0)
        return status;
    if (table->rows != mask_below(table->n))
        return fail_at(err, reader->line, 1u, "the row of %s%u is missing", table->prefix,
                       table->out->indices[mask_first(~table->rows)]);
    return 0;
}

int matrix_read(const char *text, size_t length, struct matrix *out, struct error *err)
{
    AUTO_FREE char *copy = NULL;
    struct matrix matrix = {0};
    struct table table = {.out = &matrix};
    struct reader reader = {.line = 1, .column = 1};
    int status;

    if (length > MATRIX_BYTES_MAX)
        return error_set(err, ERR_LIMIT, "a matrix of %zu bytes, at most %d are read", length,
                         MATRIX_BYTES_MAX);
    copy = clean(text, length);
    reader.at = copy;
    status = read_lines(&table, &reader, err);
    if (status < 0) {
        peers_unref(table.graph);
        return status;
    }
    peers_finish(table.graph);
    matrix.graph = table.graph;
    *out = matrix;
    return 0;
}

void matrix_clear(struct matrix *matrix)
{
    peers_unref(matrix->graph);
    *matrix = (struct matrix){0};
}
