/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_report - the reports of a simulation for people and for programs. */
#include "topofit/mem.h"
#include "topofit/simulate.h"
#include "topofit/table.h"

#include <stdio.h>

/* One figure of a report. */
struct figure {
    const char *name;   /* in JSON and CSV */
    const char *header; /* in the table; NULL: not shown there */
    enum { FIGURE_COUNT, FIGURE_SHARE, FIGURE_RATIO, FIGURE_SECONDS } kind;
    size_t offset;
};

#define AT(member) offsetof(struct simulate_report, member)

static const struct figure figures[] = {
    {"jobs", "JOBS", FIGURE_COUNT, AT(jobs)},
    {"placed", "PLACED", FIGURE_COUNT, AT(placed)},
    {"never", "NEVER", FIGURE_COUNT, AT(never)},
    {"allocatedMean", "ALLOCATED", FIGURE_SHARE, AT(alloc_mean)},
    {"allocatedPeak", NULL, FIGURE_SHARE, AT(alloc_peak)},
    {"allocatedAtFullLoad", "AT-100%", FIGURE_SHARE, AT(alloc_full)},
    {"allocatedAtEnd", "END", FIGURE_SHARE, AT(alloc_end)},
    {"fragmentsMean", "FRAGMENTS", FIGURE_SHARE, AT(fragments_mean)},
    {"fragmentsAtEnd", "FRAG-END", FIGURE_SHARE, AT(fragments_end)},
    {"waitMeanSeconds", "WAIT", FIGURE_SECONDS, AT(wait_mean_s)},
    {"waitP50Seconds", NULL, FIGURE_SECONDS, AT(wait_p50_s)},
    {"waitP95Seconds", "WAIT-P95", FIGURE_SECONDS, AT(wait_p95_s)},
    {"waitMaxSeconds", NULL, FIGURE_SECONDS, AT(wait_max_s)},
    {"qualityMean", "QUALITY", FIGURE_RATIO, AT(quality.mean)},
    {"qualityP10", "Q-P10", FIGURE_RATIO, AT(quality.p10)},
    {"qualityP50", NULL, FIGURE_RATIO, AT(quality.p50)},
    {"qualityLeast", NULL, FIGURE_RATIO, AT(quality.least)},
    {"qualityBest", NULL, FIGURE_COUNT, AT(quality.best)},
    {"qualityJobs", NULL, FIGURE_COUNT, AT(quality.jobs)},
    {"illegal", NULL, FIGURE_COUNT, AT(illegal)},
    {"refusedBinds", NULL, FIGURE_COUNT, AT(refused)},
};

static size_t count_of(const struct simulate_report *report, const struct figure *figure)
{
    return *(const size_t *)((const char *)report + figure->offset);
}

static double number_of(const struct simulate_report *report, const struct figure *figure)
{
    return *(const double *)((const char *)report + figure->offset);
}

/* --- JSON and CSV ---------------------------------------------------------------------------- */

/* null: how JSON says that there is no figure; CSV leaves the place empty. */
static void write_plain(const struct simulate_report *report, const struct figure *figure,
                        const char *nothing, struct buf *out)
{
    if (figure->kind == FIGURE_COUNT)
        buf_addf(out, "%zu", count_of(report, figure));
    else if (number_of(report, figure) < 0)
        buf_add_text(out, nothing);
    else
        buf_addf(out, figure->kind == FIGURE_SECONDS ? "%.3f" : "%.6f", number_of(report, figure));
}

static void write_json_quality(const struct simulate_report *report, struct buf *out)
{
    bool any = false;

    buf_add_text(out, ", \"qualityBySize\": {");
    for (unsigned size = 0; size <= DEVICE_MAX; size++) {
        const struct simulate_quality *quality = &report->by_size[size];

        if (quality->jobs == 0)
            continue;
        buf_addf(out,
                 "%s\"%u\": {\"jobs\": %zu, \"best\": %zu, \"mean\": %.6f, \"p10\": %.6f, "
                 "\"p50\": %.6f, \"least\": %.6f}",
                 any ? ", " : "", size, quality->jobs, quality->best, quality->mean, quality->p10,
                 quality->p50, quality->least);
        any = true;
    }
    buf_add_text(out, "}");
}

static void write_json(const struct simulate_report *reports, size_t count, struct buf *out)
{
    buf_add_text(out, "{\"apiVersion\": \"topofit.io/v1\", \"kind\": \"Simulation\", \"ways\": [");
    for (size_t i = 0; i < count; i++) {
        buf_addf(out, "%s\n  {\"way\": \"%s\"", i > 0 ? "," : "",
                 simulate_way_name(reports[i].way));
        for (size_t f = 0; f < ARRAY_LEN(figures); f++) {
            buf_addf(out, ", \"%s\": ", figures[f].name);
            write_plain(&reports[i], &figures[f], "null", out);
        }
        write_json_quality(&reports[i], out);
        buf_add_text(out, "}");
    }
    buf_add_text(out, "\n]}\n");
}

static void write_csv(const struct simulate_report *reports, size_t count, struct buf *out)
{
    buf_add_text(out, "way");
    for (size_t f = 0; f < ARRAY_LEN(figures); f++)
        buf_addf(out, ",%s", figures[f].name);
    buf_add_text(out, "\n");
    for (size_t i = 0; i < count; i++) {
        buf_add_text(out, simulate_way_name(reports[i].way));
        for (size_t f = 0; f < ARRAY_LEN(figures); f++) {
            buf_add_text(out, ",");
            write_plain(&reports[i], &figures[f], "", out);
        }
        buf_add_text(out, "\n");
    }
}

/* --- tables ---------------------------------------------------------------------------------- */

/* "0s", "4.2s", "93s", "17m", "5.3h", "12d": two or three digits tell enough. */
static void write_duration(double seconds, char *text, size_t size)
{
    static const struct {
        double below, unit;
        int decimals;
        char letter;
    } forms[] = {{10, 1, 1, 's'},       {120, 1, 0, 's'},       {7200, 60, 0, 'm'},
                 {36000, 3600, 1, 'h'}, {172800, 3600, 0, 'h'}, {864000, 86400, 1, 'd'},
                 {1e300, 86400, 0, 'd'}};
    size_t form = 0;

    while (form + 1 < ARRAY_LEN(forms) && seconds >= forms[form].below)
        form++;
    if (seconds <= 0)
        snprintf(text, size, "0s");
    else
        snprintf(text, size, "%.*f%c", forms[form].decimals, seconds / forms[form].unit,
                 forms[form].letter);
}

static void add_cell(struct table *table, const struct simulate_report *report,
                     const struct figure *figure)
{
    char text[40];

    if (figure->kind == FIGURE_COUNT) {
        table_addf(table, "%zu", count_of(report, figure));
        return;
    }
    if (figure->kind == FIGURE_SECONDS) {
        write_duration(number_of(report, figure), text, sizeof text);
        table_add(table, text);
        return;
    }
    if (number_of(report, figure) < 0)
        table_add(table, "");
    else if (figure->kind == FIGURE_SHARE)
        table_addf(table, "%.2f%%", 100 * number_of(report, figure));
    else
        table_addf(table, "%.3f", number_of(report, figure));
}

/* Has any of them the figure, and is it shown at all? */
static bool is_shown(const struct simulate_report *reports, size_t count,
                     const struct figure *figure)
{
    for (size_t i = 0; figure->header != NULL && i < count; i++) {
        if (figure->kind == FIGURE_COUNT || number_of(&reports[i], figure) >= 0)
            return true;
    }
    return false;
}

static void write_main_table(const struct simulate_report *reports, size_t count, struct buf *out)
{
    const char *headers[ARRAY_LEN(figures) + 1] = {"WAY"};
    const struct figure *shown[ARRAY_LEN(figures)];
    struct table *table;
    size_t columns = 0;

    for (size_t f = 0; f < ARRAY_LEN(figures); f++) {
        if (!is_shown(reports, count, &figures[f]))
            continue;
        shown[columns++] = &figures[f];
        headers[columns] = figures[f].header;
    }
    table = table_new(headers, columns + 1);
    for (size_t i = 0; i < count; i++) {
        table_add(table, simulate_way_name(reports[i].way));
        for (size_t c = 0; c < columns; c++)
            add_cell(table, &reports[i], shown[c]);
    }
    table_write(table, out);
    table_free(table);
}

/* How well connected, by the number of GPUs: who reads only the mean over all sizes sees little. */
static void write_quality_table(const struct simulate_report *reports, size_t count,
                                struct buf *out)
{
    static const char *const headers[] = {"WAY",  "GPUS",  "JOBS",  "BEST-SET",
                                          "MEAN", "Q-P10", "Q-P50", "WORST"};
    AUTO(table_free_pointer) struct table *table = table_new(headers, ARRAY_LEN(headers));
    bool any = false;

    for (unsigned size = 0; size <= DEVICE_MAX; size++) {
        for (size_t i = 0; i < count; i++) {
            const struct simulate_quality *quality = &reports[i].by_size[size];

            if (quality->jobs == 0)
                continue;
            any = true;
            table_add(table, simulate_way_name(reports[i].way));
            table_addf(table, "%u", size);
            table_addf(table, "%zu", quality->jobs);
            table_addf(table, "%.1f%%", 100.0 * (double)quality->best / (double)quality->jobs);
            table_addf(table, "%.3f", quality->mean);
            table_addf(table, "%.3f", quality->p10);
            table_addf(table, "%.3f", quality->p50);
            table_addf(table, "%.3f", quality->least);
        }
    }
    if (!any)
        return;
    buf_add_text(out, "\nlinks inside the sets, by GPUs of a job:\n");
    table_write(table, out);
}

void simulate_write(const struct simulate_report *reports, size_t count,
                    enum simulate_format format, struct buf *out)
{
    switch (format) {
    case SIMULATE_TABLE:
        write_main_table(reports, count, out);
        write_quality_table(reports, count, out);
        return;
    case SIMULATE_JSON:
        write_json(reports, count, out);
        return;
    case SIMULATE_CSV:
        write_csv(reports, count, out);
        return;
    }
}
