/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/metrics.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>

static int open_metrics(void **state)
{
    *state = metrics_new("1.2.3\"\\");
    return 0;
}

static int close_metrics(void **state)
{
    metrics_free(*state);
    return 0;
}

static struct buf render(const struct metrics *metrics, metrics_collect collect)
{
    struct buf out = buf_with_max(8 << 20);

    metrics_render(metrics, collect, NULL, &out);
    assert_false(out.overflowed);
    return out;
}

/* Fails unless the answer holds exactly this line. */
static void check_line(struct metrics *metrics, metrics_collect collect, const char *line)
{
    AUTO(buf_clear) struct buf out = render(metrics, collect);
    AUTO_FREE char *want = xasprintf("\n%s\n", line);

    assert_contains(buf_text(&out), want);
}

static void test_metrics_render__shows_all_recorded_series_at_zero_from_the_start(void **state)
{
    static const char *const lines[] = {
        "topofit_http_requests_total{listener=\"extender\",verb=\"filter\",code=\"200\"} 0",
        "topofit_http_requests_total{listener=\"admin\",verb=\"other\",code=\"other\"} 0",
        "topofit_http_request_duration_seconds_bucket{verb=\"bind\",le=\"0.0001\"} 0",
        "topofit_http_request_duration_seconds_count{verb=\"bind\"} 0",
        "topofit_filter_nodes_total{result=\"kept\",reason=\"OK\"} 0",
        "topofit_filter_nodes_total{result=\"refused\",reason=\"InsufficientMemory\"} 0",
        "topofit_binds_total{outcome=\"unclear\"} 0",
    };

    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        check_line(*state, NULL, lines[i]);
}

static void test_metrics_render__escapes_label_values(void **state)
{
    check_line(*state, NULL, "topofit_build_info{version=\"1.2.3\\\"\\\\\"} 1");
}

static void test_metrics_count_request__counts_by_listener_verb_and_status(void **state)
{
    static const struct {
        const char *route;
        unsigned status;
        const char *want;
    } cases[] = {
        {"/filter", 200, "verb=\"filter\",code=\"200\""},
        {"/debug/nodes/", 404, "verb=\"debug\",code=\"404\""},
        {"/debug", 404, "verb=\"debug\",code=\"404\""},
        {"", 404, "verb=\"other\",code=\"404\""},
        {"/", 200, "verb=\"other\",code=\"200\""},
        {"/filters", 200, "verb=\"other\",code=\"200\""},
        {"/fil", 200, "verb=\"other\",code=\"200\""},
        {"/bind", 418, "verb=\"bind\",code=\"other\""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct metrics *metrics = metrics_new("x");
        char line[256];

        metrics_count_request(metrics, METRICS_ADMIN, cases[i].route, cases[i].status, 1);
        metrics_count_request(metrics, METRICS_ADMIN, cases[i].route, cases[i].status, 1);
        snprintf(line, sizeof line, "topofit_http_requests_total{listener=\"admin\",%s} 2",
                 cases[i].want);
        check_line(metrics, NULL, line);
        metrics_free(metrics);
    }
    (void)state;
}

static void test_metrics_count_request__observes_durations_in_cumulative_buckets(void **state)
{
    static const char *const lines[] = {
        "topofit_http_request_duration_seconds_bucket{verb=\"filter\",le=\"0.0001\"} 1",
        "topofit_http_request_duration_seconds_bucket{verb=\"filter\",le=\"0.00025\"} 2",
        "topofit_http_request_duration_seconds_bucket{verb=\"filter\",le=\"2.5\"} 2",
        "topofit_http_request_duration_seconds_bucket{verb=\"filter\",le=\"5\"} 3",
        "topofit_http_request_duration_seconds_bucket{verb=\"filter\",le=\"10\"} 3",
        "topofit_http_request_duration_seconds_bucket{verb=\"filter\",le=\"+Inf\"} 4",
        "topofit_http_request_duration_seconds_sum{verb=\"filter\"} 65.000201",
        "topofit_http_request_duration_seconds_count{verb=\"filter\"} 4",
    };

    metrics_count_request(*state, METRICS_EXTENDER, "/filter", 200, 100);
    metrics_count_request(*state, METRICS_EXTENDER, "/filter", 200, 101);
    metrics_count_request(*state, METRICS_EXTENDER, "/filter", 200, 5000000);
    metrics_count_request(*state, METRICS_EXTENDER, "/filter", 200, 60000000);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        check_line(*state, NULL, lines[i]);
}

static void test_metrics_count_filter__adds_nodes_to_their_reason(void **state)
{
    metrics_count_filter(*state, REASON_OK, 3);
    metrics_count_filter(*state, REASON_TOPOLOGY, 40);
    metrics_count_filter(*state, REASON_TOPOLOGY, 2);
    check_line(*state, NULL, "topofit_filter_nodes_total{result=\"kept\",reason=\"OK\"} 3");
    check_line(*state, NULL,
               "topofit_filter_nodes_total{result=\"refused\",reason=\"TopologyUnsatisfied\"} 42");
}

static void test_metrics_count_admission__counts_results_and_the_rules_that_acted(void **state)
{
    static const char *const lines[] = {
        "topofit_admissions_total{result=\"patched\"} 1",
        "topofit_admissions_total{result=\"refused\"} 1",
        "topofit_admissions_total{result=\"unchanged\"} 0",
        "topofit_admission_rules_total{rule=\"amounts\"} 1",
        "topofit_admission_rules_total{rule=\"privileged\"} 1",
        "topofit_admission_rules_total{rule=\"node-name\"} 0",
    };

    metrics_count_admission(*state, ADMIT_PATCHED, 1u << ADMIT_SCHEDULER | 1u << ADMIT_AMOUNTS);
    metrics_count_admission(*state, ADMIT_REFUSED, 1u << ADMIT_PRIVILEGED);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        check_line(*state, NULL, lines[i]);
}

static void test_metrics_count_bind__counts_by_outcome(void **state)
{
    metrics_count_bind(*state, BIND_END_REFUSED);
    check_line(*state, NULL, "topofit_binds_total{outcome=\"refused\"} 1");
    check_line(*state, NULL, "topofit_binds_total{outcome=\"bound\"} 0");
}

static void collect(void *ctx, struct metrics_writer *writer)
{
    static const char *const nodes[] = {"nodes"}, *const pods[] = {"pods"};
    static const char *const idle[] = {"idle"};

    (void)ctx;
    metrics_write(writer, METRIC_NODES, NULL, 5000);
    metrics_write(writer, METRIC_WATCH_EVENTS, nodes, 123456789012);
    metrics_write(writer, METRIC_DEVICES, idle, 0);
    metrics_write(writer, METRIC_WATCH_EVENTS, pods, 7);
}

static void test_metrics_write__adds_what_is_collected_on_demand(void **state)
{
    check_line(*state, collect, "topofit_nodes 5000");
    check_line(*state, collect, "topofit_devices{state=\"idle\"} 0");
    check_line(*state, collect,
               "# HELP topofit_watch_events_total Events received from the API server's watches.\n"
               "# TYPE topofit_watch_events_total counter\n"
               "topofit_watch_events_total{kind=\"nodes\"} 123456789012\n"
               "topofit_watch_events_total{kind=\"pods\"} 7");
}

static void test_metrics_render__leaves_out_families_without_samples(void **state)
{
    AUTO(buf_clear) struct buf out = render(*state, NULL);

    assert_null(strstr(buf_text(&out), "topofit_holdings"));
}

/* The value of the sample whose line starts with `name`. */
static double value_of(const char *text, const char *name)
{
    AUTO_FREE char *start = xasprintf("\n%s ", name);
    const char *line = strstr(text, start);

    assert_non_null(line);
    return strtod(line + strlen(start), NULL);
}

static void test_metrics_render__tells_about_the_process(void **state)
{
    AUTO(buf_clear) struct buf out = render(*state, NULL);
    const char *text = buf_text(&out);

    assert_true(value_of(text, "process_resident_memory_bytes") > 100000);
    assert_true(value_of(text, "process_start_time_seconds") > 1.7e9);
    assert_true(value_of(text, "process_cpu_seconds_total") > 0);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static void check_convention(void *ctx, const struct metric_info *info)
{
    unsigned *count = ctx;

    (*count)++;
    for (const char *at = info->name; *at != '\0'; at++)
        assert_true(islower((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '_');
    assert_true(strncmp(info->name, "topofit_", 8) == 0 || strncmp(info->name, "process_", 8) == 0);
    assert_int_equal(ends_with(info->name, "_total"), info->type == METRIC_COUNTER);
    if (info->type == METRIC_HISTOGRAM)
        assert_true(ends_with(info->name, "_seconds") || ends_with(info->name, "_bytes"));
    assert_true(ends_with(info->help, "."));
    assert_null(strchr(info->help, '\n'));
    assert_null(strchr(info->labels, ' '));
}

static void test_metrics_each__lists_names_that_follow_the_conventions(void **state)
{
    unsigned count = 0;

    (void)state;
    metrics_each(check_convention, &count);
    assert_int_equal(count, METRIC_COUNT);
}

#define THREADS 4
#define ROUNDS 5000

static void *record(void *metrics)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        metrics_count_request(metrics, METRICS_EXTENDER, "/bind", 200, i);
        metrics_count_filter(metrics, REASON_OK, 2);
    }
    return NULL;
}

static void test_metrics__loses_nothing_between_threads(void **state)
{
    pthread_t threads[THREADS];
    char line[128];

    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, record, *state);
    for (size_t i = 0; i < THREADS; i++) {
        struct buf out = render(*state, collect);

        buf_clear(&out);
        pthread_join(threads[i], NULL);
    }
    snprintf(line, sizeof line, "topofit_http_request_duration_seconds_count{verb=\"bind\"} %u",
             THREADS * ROUNDS);
    check_line(*state, NULL, line);
    snprintf(line, sizeof line, "topofit_filter_nodes_total{result=\"kept\",reason=\"OK\"} %u",
             THREADS * ROUNDS * 2);
    check_line(*state, NULL, line);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_metrics, close_metrics)
    const struct CMUnitTest tests[] = {
        TEST(test_metrics_render__shows_all_recorded_series_at_zero_from_the_start),
        TEST(test_metrics_render__escapes_label_values),
        TEST(test_metrics_count_request__counts_by_listener_verb_and_status),
        TEST(test_metrics_count_request__observes_durations_in_cumulative_buckets),
        TEST(test_metrics_count_filter__adds_nodes_to_their_reason),
        TEST(test_metrics_count_admission__counts_results_and_the_rules_that_acted),
        TEST(test_metrics_count_bind__counts_by_outcome),
        TEST(test_metrics_write__adds_what_is_collected_on_demand),
        TEST(test_metrics_render__leaves_out_families_without_samples),
        TEST(test_metrics_render__tells_about_the_process),
        TEST(test_metrics_each__lists_names_that_follow_the_conventions),
        TEST(test_metrics__loses_nothing_between_threads),
    };
#undef TEST

    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
