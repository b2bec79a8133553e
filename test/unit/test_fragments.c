/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragments of machines of the openb cluster for the published default arrivals, and one case of
 * the tests of its simulator.
 * source: github.com/hkust-adsl/kubernetes-scheduler-simulator, frag_test.go
 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/fragments.h"
#include "topofit/arrivals_csv.h"

#include <math.h>
#include <stdlib.h>

#define MILLI 1000

/* A workload with the request of each job; a device has 1000 MiB, so that MiB are thousandths. */
struct trace {
    struct arrivals arrivals;
    struct request *requests;
    const struct request **borrowed;
    struct typical_jobs typical;
};

static void trace_clear(struct trace *trace)
{
    typical_jobs_clear(&trace->typical);
    for (size_t i = 0; i < trace->arrivals.count; i++)
        request_clear(&trace->requests[i]);
    free(trace->requests);
    free(trace->borrowed);
    arrivals_clear(&trace->arrivals);
}

static void add_products(struct request *request, const char *products)
{
    char item[64];

    while (text_next_item(&products, item, sizeof item))
        assert_true(word_list_add(&request->use_products, item));
}

static struct trace read_trace(const char *text, size_t length)
{
    struct trace trace = {0};
    struct error err = {0};

    assert_ok(arrivals_csv_read_jobs(text, length, &trace.arrivals, &err), &err);
    trace.requests = xcalloc(trace.arrivals.count, sizeof *trace.requests);
    trace.borrowed = xcalloc(trace.arrivals.count, sizeof(*trace.borrowed));
    for (size_t i = 0; i < trace.arrivals.count; i++) {
        const struct job *job = &trace.arrivals.jobs[i];
        uint64_t mib = job->share == SHARE_WHOLE ? 0 : job->amount;

        request_init(&trace.requests[i]);
        request_wish(&trace.requests[i], (struct wish){.count = job->gpus, .mib = mib});
        add_products(&trace.requests[i], job->products);
        trace.borrowed[i] = &trace.requests[i];
    }
    typical_jobs_learn(&trace.arrivals, trace.borrowed, &trace.typical);
    return trace;
}

static struct trace default_trace(void)
{
    size_t length;
    AUTO_FREE char *text = test_read_file(TEST_DATA "/openb/openb_pod_list_default.csv", &length);

    return read_trace(text, length);
}

/* A machine with devices of which so many thousandths are left. */
static double fragments(const struct trace *trace, const char *model, uint64_t cpu_left,
                        const unsigned *left, unsigned count)
{
    struct node *node = node_plain("n", count, MILLI, 1000);
    struct node_use use = use_none(node);
    double result;

    for (unsigned i = 0; i < count; i++) {
        text_unref(node->devices[i].product);
        node->devices[i].product = text_new(model);
        if (left[i] < MILLI)
            use_take(&use, node, i, MILLI - left[i], 0, ISOLATION_SOFT);
    }
    result = fragments_of(&trace->typical, node, &use, cpu_left);
    node_unref(node);
    return result;
}

static void test_typical_jobs_learn__are_those_published_of_the_default_workload(void **state)
{
    AUTO(trace_clear) struct trace trace = default_trace();
    size_t covered = 0;

    (void)state;
    assert_int_equal(trace.typical.count, 35);
    for (size_t i = 0; i < trace.typical.count; i++)
        covered += trace.typical.items[i].count;
    assert_true(fabs((double)covered / (double)trace.arrivals.count - 0.95265) < 0.00001);
}

static void test_fragments_of__are_those_published(void **state)
{
    static const struct {
        const char *model;
        uint64_t cpu_left;
        unsigned count, left[8];
        double fragments;
    } cases[] = {
        {"G2", 96000, 8, {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}, 1087.818697},
        {"P100", 64000, 2, {1000, 1000}, 271.954674},
        {"G2", 50000, 8, {1000, 1000, 500}, 679.500386},
        {"T4", 0, 2, {1000, 500}, 1500},
    };
    AUTO(trace_clear) struct trace trace = default_trace();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double got =
            fragments(&trace, cases[i].model, cases[i].cpu_left, cases[i].left, cases[i].count);

        if (fabs(got - cases[i].fragments) > 0.000001)
            fail_msg("case %zu: %f, not %f", i, got, cases[i].fragments);
    }
}

static void test_fragments_of__one_kind_of_job_by_hand(void **state)
{
    static const char text[] = "gpus,gpu_milli,cpu_milli,products\n1,465,6000,A\n";
    static const unsigned left[] = {200, 1000, 1000, 500};
    AUTO(trace_clear) struct trace trace = read_trace(text, strlen(text));

    (void)state;
    /* It fits on three, and cannot use the 200 of the first. */
    assert_true(fragments(&trace, "A", 6000, left, 4) == 200);
    /* Too little CPU, or the wrong model: all that is idle is of no use. */
    assert_true(fragments(&trace, "A", 5999, left, 4) == 2700);
    assert_true(fragments(&trace, "B", 6000, left, 4) == 2700);
}

static void test_fragments_idle_milli__devices_that_nobody_can_have_are_not_idle(void **state)
{
    struct node *node = node_plain("n", 1, MILLI, 10);
    struct device_use use = {0};

    (void)state;
    assert_true(fragments_idle_milli(&node->devices[0], &use) == 1000);
    use.memory_mib = 250;
    use.cores = 40;
    assert_true(fragments_idle_milli(&node->devices[0], &use) == 600);
    use.exclusive = true;
    assert_true(fragments_idle_milli(&node->devices[0], &use) == 0);
    use = (struct device_use){0};
    node->devices[0].cordoned = true;
    assert_true(fragments_idle_milli(&node->devices[0], &use) == 0);
    node_unref(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_typical_jobs_learn__are_those_published_of_the_default_workload),
        cmocka_unit_test(test_fragments_of__are_those_published),
        cmocka_unit_test(test_fragments_of__one_kind_of_job_by_hand),
        cmocka_unit_test(test_fragments_idle_milli__devices_that_nobody_can_have_are_not_idle),
    };

    return cmocka_run_group_tests_name("fragments", tests, NULL, NULL);
}
