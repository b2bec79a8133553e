/* SPDX-License-Identifier: Apache-2.0 */
/* arrivals_csv - jobs and machines from CSV. */
#include "topofit/arrivals_csv.h"

#include "topofit/buf.h"
#include "topofit/csv.h"
#include "topofit/mem.h"
#include "topofit/packing_policy.h"
#include "topofit/peers.h"
#include "topofit/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SUGGESTION_DISTANCE 3
#define SECONDS_MAX 100000000000 /* three thousand years */
#define AMOUNT_MAX (INT64_C(1) << 50)
#define NAME_MAX_BYTES 200 /* so that a number fits behind it. source: RFC 1123, 253 bytes */
#define NO_COLUMN SIZE_MAX

/* A row being read. */
struct row {
    const struct csv *csv;
    size_t number;
    const size_t *columns; /* per field of the table: its column, or NO_COLUMN */
};

/* What a column holds. Fields with the same meaning exclude each other. */
struct field {
    const char *name;
    int meaning;
};

/* --- columns --------------------------------------------------------------------------------- */

static int refuse_column(const struct csv *csv, size_t column, const struct field *fields,
                         struct error *err)
{
    AUTO(buf_clear) struct buf known = buf_with_max(300);
    const char *name = csv_column(csv, column), *nearest = NULL;
    unsigned least = SUGGESTION_DISTANCE + 1;

    for (const struct field *field = fields; field->name != NULL; field++) {
        unsigned distance = text_distance(name, field->name, SUGGESTION_DISTANCE);

        if (distance < least) {
            least = distance;
            nearest = field->name;
        }
        buf_addf(&known, "%s%s", known.length > 0 ? ", " : "", field->name);
    }
    if (nearest != NULL)
        return error_set(err, ERR_INVALID,
                         "header, column %zu: unknown column %.60s; did you mean %s?", column + 1,
                         name, nearest);
    return error_set(err, ERR_INVALID, "header, column %zu: unknown column %.60s; there are %s",
                     column + 1, name, buf_text(&known));
}

/* Which column has which meaning. columns: [meanings] */
static int find_columns(const struct csv *csv, const struct field *fields, size_t *columns,
                        size_t meanings, struct error *err)
{
    for (size_t m = 0; m < meanings; m++)
        columns[m] = NO_COLUMN;
    for (size_t c = 0; c < csv->column_count; c++) {
        const struct field *field = fields;

        while (field->name != NULL && strcmp(field->name, csv_column(csv, c)) != 0)
            field++;
        if (field->name == NULL)
            return refuse_column(csv, c, fields, err);
        if (field->meaning < 0)
            continue;
        if (columns[field->meaning] != NO_COLUMN)
            return error_set(err, ERR_INVALID,
                             "header: columns %s and %s mean the same: leave one out",
                             csv_column(csv, columns[field->meaning]), field->name);
        columns[field->meaning] = c;
    }
    return 0;
}

/* The value of a field, "" when there is no such column. */
static const char *value_of(const struct row *row, int meaning)
{
    size_t column = row->columns[meaning];

    return column == NO_COLUMN ? "" : csv_value(row->csv, row->number, column);
}

static void set_text(char **text, const char *value)
{
    free(*text);
    *text = xstrdup(value);
}

/* --- values ---------------------------------------------------------------------------------- */

/*
 * Digits with at most three decimals, in thousandths. return false for anything else, and beyond
 * what 64 bits hold.
 */
static bool parse_thousandths(const char *text, uint64_t *out)
{
    uint64_t number = 0;
    unsigned decimals = 0;
    bool has_point = false;

    if (*text < '0' || *text > '9')
        return false;
    for (; *text != '\0'; text++) {
        if (*text == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (*text < '0' || *text > '9' || number > UINT64_MAX / 100000)
            return false;
        if (has_point && decimals == 3)
            continue; /* finer than we count */
        number = number * 10 + (uint64_t)(*text - '0');
        decimals += has_point;
    }
    for (; decimals < 3; decimals++)
        number *= 10;
    *out = number;
    return true;
}

/* A number in thousandths within [min, max] whole units; an empty value leaves *out alone. */
static int read_thousandths(const struct row *row, int meaning, uint64_t min, uint64_t max,
                            uint64_t *out, struct error *err)
{
    const char *text = value_of(row, meaning);
    uint64_t number;

    if (text[0] == '\0')
        return 0;
    if (text[0] == '-')
        return csv_refuse(row->csv, row->number, row->columns[meaning], err,
                          "%.40s is negative: write a number from %" PRIu64 " to %" PRIu64, text,
                          min, max);
    if (!parse_thousandths(text, &number) || number < min * 1000 || number > max * 1000)
        return csv_refuse(row->csv, row->number, row->columns[meaning], err,
                          "\"%.40s\" is no number from %" PRIu64 " to %" PRIu64, text, min, max);
    *out = number;
    return 0;
}

static int read_whole(const struct row *row, int meaning, uint64_t min, uint64_t max, uint64_t *out,
                      struct error *err)
{
    uint64_t number = 0;

    if (value_of(row, meaning)[0] == '\0')
        return 0;
    if (read_thousandths(row, meaning, min, max, &number, err) < 0)
        return error_pass(err);
    if (number % 1000 != 0)
        return csv_refuse(row->csv, row->number, row->columns[meaning], err,
                          "\"%.40s\" is not a whole number", value_of(row, meaning));
    *out = number / 1000;
    return 0;
}

static int read_count(const struct row *row, int meaning, uint64_t min, uint64_t max, unsigned *out,
                      struct error *err)
{
    uint64_t number = *out;

    if (read_whole(row, meaning, min, max, &number, err) < 0)
        return error_pass(err);
    *out = (unsigned)number;
    return 0;
}

/* One of a few words, or nothing. */
static int read_word(const struct row *row, int meaning, const char *const *words, char **out,
                     struct error *err)
{
    AUTO(buf_clear) struct buf known = buf_with_max(200);
    const char *text = value_of(row, meaning);

    for (; *words != NULL; words++) {
        if (text[0] == '\0' || text_equal_nocase(text, *words)) {
            set_text(out, text);
            return 0;
        }
        buf_addf(&known, "%s%s", known.length > 0 ? ", " : "", *words);
    }
    return csv_refuse(row->csv, row->number, row->columns[meaning], err,
                      "\"%.40s\" is none of %s, nor empty", text, buf_text(&known));
}

static int read_name(const struct row *row, int meaning, char **out, struct error *err)
{
    const char *text = value_of(row, meaning);

    if (strlen(text) > NAME_MAX_BYTES)
        return csv_refuse(row->csv, row->number, row->columns[meaning], err,
                          "the name is longer than %d bytes", NAME_MAX_BYTES);
    set_text(out, text);
    return 0;
}

/* --- jobs ------------------------------------------------------------------------------------ */

enum job_meaning {
    JOB_NAME = 0,
    JOB_ARRIVAL,
    JOB_DURATION,
    JOB_DELETION,
    JOB_GPUS,
    JOB_CLASS,
    JOB_MILLI,
    JOB_MIB,
    JOB_PERCENT,
    JOB_CPU,
    JOB_MEMORY,
    JOB_PRODUCTS,
    JOB_TOPOLOGY,
    JOB_MAX_TIER,
    JOB_POLICY,
    JOB_MEANINGS
};

#define NOT_LOOKED_AT (-1)

static const struct field job_fields[] = {
    {"name", JOB_NAME},
    {"arrival_s", JOB_ARRIVAL},
    {"duration_s", JOB_DURATION},
    {"gpus", JOB_GPUS},
    {"class", JOB_CLASS},
    {"gpu_milli", JOB_MILLI},
    {"gpu_memory", JOB_MIB},
    {"gpu_percent", JOB_PERCENT},
    {"cpu_milli", JOB_CPU},
    {"memory_mib", JOB_MEMORY},
    {"products", JOB_PRODUCTS},
    {"topology", JOB_TOPOLOGY},
    {"topology_max_tier", JOB_MAX_TIER},
    {"policy", JOB_POLICY},
    /* openb */
    {"num_gpu", JOB_GPUS},
    {"gpu_spec", JOB_PRODUCTS},
    {"creation_time", JOB_ARRIVAL},
    {"deletion_time", JOB_DELETION},
    {"scheduled_time", NOT_LOOKED_AT},
    {"qos", NOT_LOOKED_AT},
    {"pod_phase", NOT_LOOKED_AT},
    {0},
};

static int check_job_columns(const size_t *columns, struct error *err)
{
    if (columns[JOB_GPUS] == NO_COLUMN)
        return error_set(err, ERR_INVALID,
                         "header: there is no column gpus (or num_gpu): how many GPUs a job wants");
    if (columns[JOB_DURATION] != NO_COLUMN && columns[JOB_DELETION] != NO_COLUMN)
        return error_set(err, ERR_INVALID,
                         "header: duration_s and deletion_time mean the same: leave one out");
    return 0;
}

static int read_times(const struct row *row, struct job *job, struct error *err)
{
    uint64_t deletion_ms = JOB_STAYS;

    if (read_thousandths(row, JOB_ARRIVAL, 0, SECONDS_MAX, &job->arrival_ms, err) < 0 ||
        read_thousandths(row, JOB_DURATION, 0, SECONDS_MAX, &job->duration_ms, err) < 0 ||
        read_thousandths(row, JOB_DELETION, 0, SECONDS_MAX, &deletion_ms, err) < 0)
        return error_pass(err);
    if (deletion_ms == JOB_STAYS)
        return 0;
    if (deletion_ms < job->arrival_ms)
        return csv_refuse(row->csv, row->number, row->columns[JOB_DELETION], err,
                          "%s is before the job arrives", value_of(row, JOB_DELETION));
    job->duration_ms = deletion_ms - job->arrival_ms;
    return 0;
}

/* What it wants of each GPU, told in one of three ways. A whole GPU told as a share is whole. */
static int read_share(const struct row *row, struct job *job, struct error *err)
{
    static const struct {
        int meaning;
        enum job_share share;
        uint64_t max, whole;
    } ways[] = {{JOB_MILLI, SHARE_MILLI, 1000, 1000},
                {JOB_MIB, SHARE_MIB, AMOUNT_MAX, 0},
                {JOB_PERCENT, SHARE_PERCENT, 100, 100}};

    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        const char *text = value_of(row, ways[i].meaning);
        uint64_t amount = 0;

        /* openb says 0 of pods without GPUs. */
        if (read_whole(row, ways[i].meaning, job->gpus > 0 ? 1 : 0, ways[i].max, &amount, err) < 0)
            return error_pass(err);
        if (text[0] == '\0' || amount == 0)
            continue;
        if (job->amount > 0)
            return csv_refuse(row->csv, row->number, row->columns[ways[i].meaning], err,
                              "what the job wants of each GPU is told twice: leave one empty");
        job->amount = amount;
        job->share = amount == ways[i].whole ? SHARE_WHOLE : ways[i].share;
    }
    return 0;
}

/* "A|B" and "A,B" */
static void read_products(const struct row *row, struct job *job)
{
    set_text(&job->products, value_of(row, JOB_PRODUCTS));
    for (char *at = job->products; *at != '\0'; at++) {
        if (*at == '|')
            *at = ',';
    }
}

static int read_job(const struct row *row, struct job *job, struct error *err)
{
    static const char *const modes[] = {"hard", "soft", "off", NULL};
    static const char *const tiers[] = {"0", "1", "2", NULL};

    job->line = csv_line(row->csv, row->number);
    if (read_name(row, JOB_NAME, &job->name, err) < 0 || read_times(row, job, err) < 0 ||
        read_count(row, JOB_GPUS, 0, DEVICE_MAX, &job->gpus, err) < 0 ||
        read_share(row, job, err) < 0 ||
        read_whole(row, JOB_CPU, 0, AMOUNT_MAX, &job->cpu_milli, err) < 0 ||
        read_whole(row, JOB_MEMORY, 0, AMOUNT_MAX, &job->memory_mib, err) < 0 ||
        read_word(row, JOB_TOPOLOGY, modes, &job->topology, err) < 0 ||
        read_word(row, JOB_MAX_TIER, tiers, &job->max_tier, err) < 0 ||
        read_word(row, JOB_POLICY, packing_policy_names(), &job->policy, err) < 0)
        return error_pass(err);
    set_text(&job->class, value_of(row, JOB_CLASS));
    read_products(row, job);
    if (job->name[0] == '\0') {
        free(job->name);
        job->name = xasprintf("line-%u", job->line);
    }
    return 0;
}

int arrivals_csv_read_jobs(const char *bytes, size_t length, struct arrivals *out,
                           struct error *err)
{
    AUTO(csv_clear) struct csv csv = {0};
    size_t columns[JOB_MEANINGS];

    if (csv_read(bytes, length, &csv, err) < 0 ||
        find_columns(&csv, job_fields, columns, JOB_MEANINGS, err) < 0 ||
        check_job_columns(columns, err) < 0)
        return error_pass(err);
    for (size_t i = 0; i < csv.row_count; i++) {
        const struct row row = {&csv, i, columns};

        if (read_job(&row, arrivals_add(out), err) < 0)
            return error_pass(err);
    }
    arrivals_sort(out);
    return 0;
}

/* --- machines -------------------------------------------------------------------------------- */

enum machine_meaning {
    MACHINE_NAME = 0,
    MACHINE_COUNT,
    MACHINE_CPU,
    MACHINE_MEMORY,
    MACHINE_GPUS,
    MACHINE_GPU_MEMORY,
    MACHINE_CLASS,
    MACHINE_MODEL,
    MACHINE_TOPOLOGY,
    MACHINE_MEANINGS
};

static const struct field machine_fields[] = {
    {"name", MACHINE_NAME},
    {"count", MACHINE_COUNT},
    {"cpu_milli", MACHINE_CPU},
    {"memory_mib", MACHINE_MEMORY},
    {"gpus", MACHINE_GPUS},
    {"gpu_memory_mib", MACHINE_GPU_MEMORY},
    {"class", MACHINE_CLASS},
    {"model", MACHINE_MODEL},
    {"topology", MACHINE_TOPOLOGY},
    /* openb */
    {"sn", MACHINE_NAME},
    {"gpu", MACHINE_GPUS},
    {0},
};

static int read_machine(const struct row *row, struct machine *machine, struct error *err)
{
    machine->line = csv_line(row->csv, row->number);
    machine->numbered = value_of(row, MACHINE_COUNT)[0] != '\0';
    machine->has_gpus = value_of(row, MACHINE_GPUS)[0] != '\0';
    if (read_name(row, MACHINE_NAME, &machine->name, err) < 0 ||
        read_count(row, MACHINE_COUNT, 1, MACHINES_MAX, &machine->count, err) < 0 ||
        read_whole(row, MACHINE_CPU, 1, AMOUNT_MAX, &machine->cpu_milli, err) < 0 ||
        read_whole(row, MACHINE_MEMORY, 1, AMOUNT_MAX, &machine->memory_mib, err) < 0 ||
        read_count(row, MACHINE_GPUS, 0, DEVICE_MAX, &machine->gpus, err) < 0 ||
        read_whole(row, MACHINE_GPU_MEMORY, 1, AMOUNT_MAX, &machine->gpu_memory_mib, err) < 0)
        return error_pass(err);
    set_text(&machine->class, value_of(row, MACHINE_CLASS));
    set_text(&machine->model, value_of(row, MACHINE_MODEL));
    set_text(&machine->topology, value_of(row, MACHINE_TOPOLOGY));
    if (machine->name[0] == '\0')
        return csv_refuse(row->csv, row->number, row->columns[MACHINE_NAME], err,
                          "the machine has no name");
    if (!machine->has_gpus && machine->topology[0] == '\0')
        return error_set(err, ERR_INVALID,
                         "line %u: %.60s has neither gpus nor topology: how many GPUs are in it?",
                         machine->line, machine->name);
    return 0;
}

int arrivals_csv_read_machines(const char *bytes, size_t length, struct machine_list *out,
                               struct error *err)
{
    AUTO(csv_clear) struct csv csv = {0};
    size_t columns[MACHINE_MEANINGS];
    size_t total = 0;

    if (csv_read(bytes, length, &csv, err) < 0 ||
        find_columns(&csv, machine_fields, columns, MACHINE_MEANINGS, err) < 0)
        return error_pass(err);
    if (columns[MACHINE_NAME] == NO_COLUMN)
        return error_set(err, ERR_INVALID, "header: there is no column name (or sn)");
    out->has_gpu_memory = columns[MACHINE_GPU_MEMORY] != NO_COLUMN;
    for (size_t i = 0; i < csv.row_count; i++) {
        const struct row row = {&csv, i, columns};
        struct machine *machine = machine_list_add(out);

        if (read_machine(&row, machine, err) < 0)
            return error_pass(err);
        total += machine->count;
        if (total > MACHINES_MAX)
            return error_set(err, ERR_LIMIT, "line %u: more than %d machines", machine->line,
                             MACHINES_MAX);
    }
    return 0;
}
