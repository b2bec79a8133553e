/* SPDX-License-Identifier: Apache-2.0 */
/* metrics - what the daemon counts, in the text format of Prometheus. */
#include "topofit/metrics.h"

#include "topofit/clock.h"
#include "topofit/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAMILY_MAX_BYTES ((size_t)4 * 1024 * 1024)

/* First words of paths that are told apart; the last name stands for all others. */
static const char *const verb_names[] = {
    "filter",  "prioritize", "preempt", "bind",    "webhook", "livez", "readyz",
    "healthz", "metrics",    "version", "configz", "debug",   "other",
};
#define VERB_COUNT ARRAY_LEN(verb_names)
#define VERB_OTHER (VERB_COUNT - 1)

/* Statuses that are told apart; one more place counts all others. */
static const unsigned statuses[] = {200, 400, 404, 405, 413, 500, 501, 503};
#define STATUS_COUNT (ARRAY_LEN(statuses) + 1)

static const char *const listener_names[] = {
    [METRICS_EXTENDER] = "extender",
    [METRICS_ADMIN] = "admin",
    [METRICS_WEBHOOK] = "webhook",
};

static const char *const preempt_names[] = {
    [PREEMPT_KEPT] = "kept",
    [PREEMPT_CHANGED] = "changed",
    [PREEMPT_DROPPED] = "dropped",
};

static const char *const bind_names[] = {
    [BIND_END_BOUND] = "bound",
    [BIND_END_FAILED] = "failed",
    [BIND_END_UNCLEAR] = "unclear",
    [BIND_END_REFUSED] = "refused",
};

static const char *const admission_names[] = {
    [ADMIT_UNCHANGED] = "unchanged",
    [ADMIT_PATCHED] = "patched",
    [ADMIT_REFUSED] = "refused",
};

/* Upper bounds. 5 s is kube-scheduler's default time-out for extenders, so that one is exact. */
static const struct {
    uint64_t us;
    const char *seconds;
} buckets[] = {
    {100, "0.0001"},  {250, "0.00025"},     {500, "0.0005"},  {1000, "0.001"},  {2500, "0.0025"},
    {5000, "0.005"},  {10000, "0.01"},      {25000, "0.025"}, {50000, "0.05"},  {100000, "0.1"},
    {250000, "0.25"}, {500000, "0.5"},      {1000000, "1"},   {2500000, "2.5"}, {5000000, "5"},
    {10000000, "10"}, {UINT64_MAX, "+Inf"},
};

struct histogram {
    atomic_uint_fast64_t counts[ARRAY_LEN(buckets)]; /* each without the ones below it */
    atomic_uint_fast64_t sum_us;
};

struct metrics {
    char *version;
    double start_s;
    atomic_uint_fast64_t requests[METRICS_LISTENER_COUNT][VERB_COUNT][STATUS_COUNT];
    struct histogram durations[VERB_COUNT];
    atomic_uint_fast64_t filter_nodes[REASON_COUNT];
    atomic_uint_fast64_t preempt_nodes[ARRAY_LEN(preempt_names)];
    atomic_uint_fast64_t binds[ARRAY_LEN(bind_names)];
    atomic_uint_fast64_t admissions[ARRAY_LEN(admission_names)];
    atomic_uint_fast64_t admission_rules[ADMIT_RULE_COUNT];
};

/* Samples by family: they may come in any order, but a family stands together. */
struct metrics_writer {
    struct buf samples[METRIC_COUNT];
};

static const struct metric_info infos[] = {
#define X(id, type_, name_, labels_, help_) \
    [METRIC_##id] = {.name = name_, .type = METRIC_##type_, .labels = labels_, .help = help_},
    METRICS(X)
#undef X
};

static const char *const type_names[] = {
    [METRIC_COUNTER] = "counter",
    [METRIC_GAUGE] = "gauge",
    [METRIC_HISTOGRAM] = "histogram",
};

void metrics_each(void (*visit)(void *ctx, const struct metric_info *info), void *ctx)
{
    for (size_t i = 0; i < ARRAY_LEN(infos); i++)
        visit(ctx, &infos[i]);
}

struct metrics *metrics_new(const char *version)
{
    struct metrics *metrics = xcalloc(1, sizeof *metrics);

    metrics->version = xstrdup(version);
    metrics->start_s = (double)clock_unix_ms() / 1000;
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    if (metrics == NULL)
        return;
    free(metrics->version);
    free(metrics);
}

/* --- recording -------------------------------------------------------------------------------- */

static void add(atomic_uint_fast64_t *counter, uint64_t amount)
{
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

static uint64_t load(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* The position of the path's first word in verb_names. */
static size_t verb_of(const char *route)
{
    const char *word = route + (route[0] == '/');
    size_t length = strcspn(word, "/");

    for (size_t i = 0; i < VERB_OTHER; i++) {
        if (strlen(verb_names[i]) == length && strncmp(word, verb_names[i], length) == 0)
            return i;
    }
    return VERB_OTHER;
}

static size_t status_index(unsigned status)
{
    size_t i = 0;

    while (i < ARRAY_LEN(statuses) && statuses[i] != status)
        i++;
    return i;
}

static void observe(struct histogram *histogram, uint64_t us)
{
    size_t i = 0;

    while (us > buckets[i].us)
        i++;
    add(&histogram->counts[i], 1);
    add(&histogram->sum_us, us);
}

void metrics_count_request(struct metrics *metrics, enum metrics_listener listener,
                           const char *route, unsigned status, uint64_t duration_us)
{
    size_t verb = verb_of(route);

    add(&metrics->requests[listener][verb][status_index(status)], 1);
    observe(&metrics->durations[verb], duration_us);
}

void metrics_count_filter(struct metrics *metrics, enum reason reason, uint64_t nodes)
{
    add(&metrics->filter_nodes[reason], nodes);
}

void metrics_count_preempt(struct metrics *metrics, enum preempt_end end, uint64_t nodes)
{
    add(&metrics->preempt_nodes[end], nodes);
}

void metrics_count_bind(struct metrics *metrics, enum bind_end end)
{
    add(&metrics->binds[end], 1);
}

void metrics_count_admission(struct metrics *metrics, enum admit_end end, unsigned acted)
{
    add(&metrics->admissions[end], 1);
    for (unsigned rule = 0; rule < ADMIT_RULE_COUNT; rule++)
        add(&metrics->admission_rules[rule], acted >> rule & 1);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* A label value between quotes. source: exposition format, "comments, help text, and type". */
static void add_escaped(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            buf_add_text(out, "\\n");
        else if (*text == '"' || *text == '\\')
            buf_addf(out, "\\%c", *text);
        else
            buf_add_byte(out, *text);
    }
}

/* `{a="x",b="y",le="0.1"}`; le may be NULL. */
static void add_labels(struct buf *out, const char *names, const char *const *values,
                       const char *le)
{
    bool first = true;

    if (*names == '\0' && le == NULL)
        return;
    buf_add_byte(out, '{');
    for (size_t i = 0; *names != '\0'; i++, first = false) {
        size_t length = strcspn(names, ",");

        buf_addf(out, "%s%.*s=\"", first ? "" : ",", (int)length, names);
        add_escaped(out, values[i]);
        buf_add_byte(out, '"');
        names += length + (names[length] == ',');
    }
    if (le != NULL)
        buf_addf(out, "%sle=\"%s\"", first ? "" : ",", le);
    buf_add_byte(out, '}');
}

/* One line. suffix and le are for the parts of a histogram. */
static void add_sample(struct metrics_writer *writer, enum metric metric, const char *suffix,
                       const char *const *label_values, const char *le)
{
    struct buf *out = &writer->samples[metric];

    buf_addf(out, "%s%s", infos[metric].name, suffix);
    add_labels(out, infos[metric].labels, label_values, le);
}

void metrics_write(struct metrics_writer *writer, enum metric metric,
                   const char *const *label_values, double value)
{
    assert((label_values == NULL) == (infos[metric].labels[0] == '\0'));
    add_sample(writer, metric, "", label_values, NULL);
    buf_addf(&writer->samples[metric], " %.15g\n", value);
}

static void write_count(struct metrics_writer *writer, enum metric metric,
                        const char *const *label_values, uint64_t value)
{
    add_sample(writer, metric, "", label_values, NULL);
    buf_addf(&writer->samples[metric], " %" PRIu64 "\n", value);
}

/* The count is the sum of the buckets as read, so that the two always agree. */
static void write_histogram(struct metrics_writer *writer, enum metric metric,
                            const char *const *label_values, const struct histogram *histogram)
{
    struct buf *out = &writer->samples[metric];
    uint64_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(buckets); i++) {
        count += load(&histogram->counts[i]);
        add_sample(writer, metric, "_bucket", label_values, buckets[i].seconds);
        buf_addf(out, " %" PRIu64 "\n", count);
    }
    add_sample(writer, metric, "_sum", label_values, NULL);
    buf_addf(out, " %.6f\n", (double)load(&histogram->sum_us) / 1e6);
    add_sample(writer, metric, "_count", label_values, NULL);
    buf_addf(out, " %" PRIu64 "\n", count);
}

static void write_requests(struct metrics_writer *writer, const struct metrics *metrics,
                           enum metrics_listener listener)
{
    for (size_t i = 0; i < VERB_COUNT * STATUS_COUNT; i++) {
        size_t verb = i / STATUS_COUNT, status = i % STATUS_COUNT;
        char code[16] = "other";
        const char *values[] = {listener_names[listener], verb_names[verb], code};

        if (status < ARRAY_LEN(statuses))
            snprintf(code, sizeof code, "%u", statuses[status]);
        write_count(writer, METRIC_HTTP_REQUESTS, values,
                    load(&metrics->requests[listener][verb][status]));
    }
}

static void write_durations(struct metrics_writer *writer, const struct metrics *metrics)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        write_histogram(writer, METRIC_HTTP_DURATION, &verb_names[i], &metrics->durations[i]);
}

static void write_decisions(struct metrics_writer *writer, const struct metrics *metrics)
{
    for (size_t i = 0; i < REASON_COUNT; i++) {
        const char *values[] = {i == REASON_OK ? "kept" : "refused", reason_name((enum reason)i)};

        write_count(writer, METRIC_FILTER_NODES, values, load(&metrics->filter_nodes[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(preempt_names); i++)
        write_count(writer, METRIC_PREEMPT_NODES, &preempt_names[i],
                    load(&metrics->preempt_nodes[i]));
    for (size_t i = 0; i < ARRAY_LEN(bind_names); i++)
        write_count(writer, METRIC_BINDS, &bind_names[i], load(&metrics->binds[i]));
}

static void write_admissions(struct metrics_writer *writer, const struct metrics *metrics)
{
    for (size_t i = 0; i < ARRAY_LEN(admission_names); i++)
        write_count(writer, METRIC_ADMISSIONS, &admission_names[i], load(&metrics->admissions[i]));
    for (unsigned i = 0; i < ADMIT_RULE_COUNT; i++) {
        const char *rule = admit_rule_name((enum admit_rule)i);

        write_count(writer, METRIC_ADMISSION_RULES, &rule, load(&metrics->admission_rules[i]));
    }
}

/* Resident memory, or 0 when the kernel does not say. source: proc(5), statm. */
static double resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    long pages = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void write_process(struct metrics_writer *writer, const struct metrics *metrics)
{
    const char *version[] = {metrics->version};

    metrics_write(writer, METRIC_BUILD_INFO, version, 1);
    metrics_write(writer, METRIC_PROCESS_CPU, NULL, (double)clock_cpu_us() / 1e6);
    metrics_write(writer, METRIC_PROCESS_MEMORY, NULL, resident_bytes());
    metrics_write(writer, METRIC_PROCESS_START, NULL, metrics->start_s);
}

/* A family with its heading; nothing when it has no samples, or more than fit. */
static void add_family(struct buf *out, const struct metric_info *info, const struct buf *samples)
{
    if (samples->length == 0 || samples->overflowed)
        return;
    buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", info->name, info->help, info->name,
             type_names[info->type]);
    buf_add(out, samples->data, samples->length);
}

void metrics_render(const struct metrics *metrics, metrics_collect collect, void *ctx,
                    struct buf *out)
{
    struct metrics_writer writer;

    for (size_t i = 0; i < METRIC_COUNT; i++)
        writer.samples[i] = buf_with_max(FAMILY_MAX_BYTES);
    write_requests(&writer, metrics, METRICS_EXTENDER);
    write_requests(&writer, metrics, METRICS_ADMIN);
    write_requests(&writer, metrics, METRICS_WEBHOOK);
    write_durations(&writer, metrics);
    write_decisions(&writer, metrics);
    write_admissions(&writer, metrics);
    write_process(&writer, metrics);
    if (collect != NULL)
        collect(ctx, &writer);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        add_family(out, &infos[i], &writer.samples[i]);
        buf_clear(&writer.samples[i]);
    }
}
