/* SPDX-License-Identifier: Apache-2.0 */
/* The clock, the queue and the figures of a simulation, with ways that need no extender. */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/simulate.h"
#include "topofit/arrivals_csv.h"

#include <stdlib.h>

/* So many machines of two GPUs of 1000 MiB, or of eight in linked pairs; and a workload. */
static struct simulation simulation_of(struct node **nodes, size_t count, const char *jobs)
{
    struct simulation simulation = {.classes = &test_classes, .machine_count = count};
    struct error err = {0};

    simulation.machines = xcalloc(count, sizeof *simulation.machines);
    for (size_t m = 0; m < count; m++)
        simulation.machines[m] = (struct simulate_machine){
            .node = nodes[m], .use = use_none(nodes[m]), .cpu_milli = 4000, .memory_mib = 4000};
    for (size_t m = 0; m < count; m++)
        nodes[m]->host = (struct host_amounts){4000, 4000};
    assert_ok(arrivals_csv_read_jobs(jobs, strlen(jobs), &simulation.arrivals, &err), &err);
    return simulation;
}

static struct simulation two_gpus(const char *jobs)
{
    struct node *node = node_plain("n1", 2, 1000, 1000);

    return simulation_of(&node, 1, jobs);
}

static struct simulation linked_pairs(const char *jobs)
{
    struct node *node = node_8gpu_pairs("n1");

    return simulation_of(&node, 1, jobs);
}

static struct simulate_report run(const struct simulation *simulation, enum simulate_way way)
{
    struct simulate_report report;
    struct error err = {0};

    assert_ok(simulate_run(simulation, way, NULL, NULL, &report, &err), &err);
    assert_int_equal(report.illegal, 0);
    assert_int_equal(report.jobs, simulation->arrivals.count);
    assert_int_equal(report.placed + report.never, report.jobs);
    return report;
}

static void test_simulate_run__a_job_waits_until_enough_have_left(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = two_gpus("name,arrival_s,duration_s,gpus\n"
                                            "a,0,10,1\n"
                                            "b,0,20,1\n"
                                            "c,5,10,2\n");
    struct simulate_report report = run(&simulation, SIMULATE_FIRST_FIT);

    (void)state;
    assert_int_equal(report.placed, 3);
    assert_true(report.wait_max_s == 15 && report.wait_mean_s == 5);
    assert_true(report.wait_p50_s == 0 && report.wait_p95_s == 15);
}

static void test_simulate_run__a_small_job_passes_a_big_one_that_waits(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = two_gpus("name,arrival_s,duration_s,gpus\n"
                                            "a,0,100,1\n"
                                            "big,1,10,2\n"
                                            "small,2,10,1\n");
    struct simulate_report report = run(&simulation, SIMULATE_FIRST_FIT);

    (void)state;
    assert_true(report.wait_max_s == 99 && report.wait_mean_s == 33);
}

static void test_simulate_run__who_came_first_is_asked_first_when_something_leaves(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = two_gpus("name,arrival_s,duration_s,gpus,gpu_milli\n"
                                            "a,0,10,2,\n"
                                            "first,1,10,2,600\n"
                                            "second,2,10,2,500\n"
                                            "third,3,10,2,400\n");
    struct simulate_report report = run(&simulation, SIMULATE_FIRST_FIT);

    (void)state;
    /* first at 10, and third beside it; second when they have left: 9 + 7 + 18 */
    assert_true(report.wait_mean_s == 34.0 / 4);
}

static void test_simulate_run__what_leaves_makes_room_for_what_comes_at_that_moment(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = two_gpus("name,arrival_s,duration_s,gpus\n"
                                            "a,0,10,2\n"
                                            "b,10,0,2\n"
                                            "c,10,5,2\n");
    struct simulate_report report = run(&simulation, SIMULATE_FIRST_FIT);

    (void)state;
    assert_int_equal(report.placed, 3);
    assert_true(report.wait_max_s == 0);
}

static void test_simulate_run__jobs_without_a_duration_stay_and_others_wait_for_ever(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = two_gpus("name,arrival_s,duration_s,gpus\n"
                                            "a,0,,1\n"
                                            "b,1,1,2\n"
                                            "c,2,1,1\n");
    struct simulate_report report = run(&simulation, SIMULATE_FIRST_FIT);

    (void)state;
    assert_int_equal(report.never, 1);
    assert_int_equal(report.first_never, 1);
}

static void test_simulate_run__cpu_and_memory_of_a_node_count(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = two_gpus("name,duration_s,gpus,cpu_milli,memory_mib\n"
                                            "a,10,1,3000,1\n"
                                            "b,10,1,1001,1\n"
                                            "c,10,1,1,3999\n"
                                            "d,10,0,0,1\n");
    struct simulate_report report = run(&simulation, SIMULATE_FIRST_FIT);

    (void)state;
    assert_true(report.wait_max_s == 10);
    assert_true(report.wait_mean_s == 20.0 / 4); /* b for CPU, d for memory */
}

static void test_simulate_run__allocation_is_that_over_time_until_the_last_has_come(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = two_gpus("name,arrival_s,duration_s,gpus,gpu_milli\n"
                                            "a,100,10,1,\n"
                                            "b,110,10,2,\n"
                                            "c,130,10,1,500\n");
    struct simulate_report report = run(&simulation, SIMULATE_FIRST_FIT);

    (void)state;
    /* Half for 10 s, all for 10 s, nothing for 10 s. */
    assert_true(report.alloc_mean == 0.5);
    assert_true(report.alloc_peak == 1);
    assert_true(report.alloc_end == 0.25);
    assert_true(report.alloc_full < 0);
}

static void test_simulate_run__where_nothing_leaves_allocation_is_told_at_full_load(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = two_gpus("name,gpus,gpu_milli\n"
                                            "a,1,700\n"
                                            "b,1,700\n"
                                            "c,1,600\n"
                                            "d,1,300\n"
                                            "e,1,300\n");
    struct simulate_report report = run(&simulation, SIMULATE_FIRST_FIT);

    (void)state;
    /* 2000 of 2000 have arrived with c, which fits nowhere. */
    assert_true(report.alloc_full > 0.6999 && report.alloc_full < 0.7001);
    assert_true(report.alloc_end == 1);
    assert_true(report.alloc_mean < 0);
}

static void test_simulate_run__fragments_are_of_what_is_idle(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = two_gpus("name,gpus,gpu_milli\n"
                                            "a,1,600\n"
                                            "b,1,600\n");
    struct simulate_report report = run(&simulation, SIMULATE_FIRST_FIT);

    (void)state;
    assert_true(report.fragments_end == 1);
    assert_true(report.fragments_mean < 0);
}

static void test_simulate_run__first_fit_splits_a_pair_and_best_effort_does_not(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = linked_pairs("name,gpus\none,1\npair,2\n");
    struct simulate_report first = run(&simulation, SIMULATE_FIRST_FIT);
    struct simulate_report best = run(&simulation, SIMULATE_BEST_EFFORT);

    (void)state;
    assert_int_equal(first.quality.jobs, 1);
    assert_true(first.quality.mean == 0.1); /* NODE, 20 of 200 GB/s */
    assert_true(best.quality.mean == 1 && best.quality.best == 1);
    assert_int_equal(best.by_size[2].jobs, 1);
    assert_int_equal(best.by_size[4].jobs, 0);
    assert_true(best.by_size[4].mean < 0);
}

static void test_simulate_run__without_links_there_is_no_quality(void **state)
{
    AUTO(simulation_clear) struct simulation simulation = two_gpus("gpus\n2\n");
    struct simulate_report report = run(&simulation, SIMULATE_BEST_EFFORT);

    (void)state;
    assert_int_equal(report.quality.jobs, 0);
    assert_true(report.quality.mean < 0);
}

static void test_simulate_run__goes_through_the_nodes_by_name(void **state)
{
    struct node *nodes[] = {node_plain("n1", 2, 1000, 1000), node_8gpu_pairs("n2")};
    AUTO(simulation_clear)
    struct simulation simulation = simulation_of(nodes, 2, "gpus,gpu_percent\n2,50\n2,\n2,\n4,\n");
    struct simulate_report report = run(&simulation, SIMULATE_FIRST_FIT);

    (void)state;
    /* The fraction on n1; then 0-1, 2-3 and 4-7 of n2: devices differ in memory, so 50 is percent.
     */
    assert_int_equal(report.placed, 4);
    assert_int_equal(report.by_size[2].jobs, 2);
    assert_int_equal(report.by_size[2].best, 2);
}

static void test_simulate_count_hopeless__are_jobs_that_fit_nowhere_even_alone(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = two_gpus("name,gpus,products,cpu_milli\n"
                                            "a,2,,4000\n"
                                            "b,3,,\n"
                                            "c,1,H100,\n"
                                            "d,0,,4001\n"
                                            "e,3,,\n");
    size_t count, first;
    struct error err = {0};

    (void)state;
    simulation.machines[0].cpu_milli = 0; /* taken by others: not hopeless */
    assert_ok(simulate_count_hopeless(&simulation, &count, &first, &err), &err);
    assert_int_equal(count, 4);
    assert_int_equal(first, 1);
}

static void test_simulate_run__a_job_that_no_pod_can_be_is_told_with_its_line(void **state)
{
    AUTO(buf_clear) struct buf list = buf_with_max(1 << 20);
    struct simulate_report report;
    struct simulation simulation;
    struct error err = {0};

    (void)state;
    buf_add_text(&list, "gpus,products\n1,\n1,\"");
    for (int i = 0; i <= WORD_LIST_MAX; i++)
        buf_addf(&list, "P%d,", i);
    buf_add_text(&list, "\"\n");
    simulation = two_gpus(buf_text(&list));
    assert_true(simulate_run(&simulation, SIMULATE_FIRST_FIT, NULL, NULL, &report, &err) < 0);
    assert_contains(err.text, "line 3: job line-3: ");
    simulation_clear(&simulation);
}

static char *written(const struct simulation *simulation, enum simulate_format format)
{
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 16);
    struct simulate_report reports[] = {run(simulation, SIMULATE_FIRST_FIT),
                                        run(simulation, SIMULATE_BEST_EFFORT)};

    simulate_write(reports, ARRAY_LEN(reports), format, &out);
    return buf_steal(&out);
}

static void test_simulate_write__the_same_input_gives_the_same_output(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = linked_pairs("name,arrival_s,duration_s,gpus\n"
                                                "a,0,7,1\nb,1,8,2\nc,1,3,4\nd,2,9,2\ne,3,5,8\n");

    (void)state;
    for (unsigned format = SIMULATE_TABLE; format <= SIMULATE_CSV; format++) {
        AUTO_FREE char *once = written(&simulation, (enum simulate_format)format);
        AUTO_FREE char *again = written(&simulation, (enum simulate_format)format);

        assert_string_equal(once, again);
    }
}

static void test_simulate_write__the_table_leaves_out_what_nobody_has(void **state)
{
    AUTO(simulation_clear)
    struct simulation simulation = linked_pairs("name,arrival_s,duration_s,gpus\n"
                                                "a,0,50,1\nb,1,8,2\nc,2,4,8\n");
    AUTO_FREE char *text = written(&simulation, SIMULATE_TABLE);

    (void)state;
    assert_string_equal(
        text, "WAY          JOBS  PLACED  NEVER  ALLOCATED  END     FRAGMENTS  FRAG-END  WAIT  "
              "WAIT-P95  QUALITY  Q-P10\n"
              "first-fit    3     3       0      25.00%     37.50%  33.33%     33.33%    16s   48s "
              "      0.550    0.100\n"
              "best-effort  3     3       0      25.00%     37.50%  33.33%     33.33%    16s   48s "
              "      1.000    1.000\n"
              "\n"
              "links inside the sets, by GPUs of a job:\n"
              "WAY          GPUS  JOBS  BEST-SET  MEAN   Q-P10  Q-P50  WORST\n"
              "first-fit    2     1     0.0%      0.100  0.100  0.100  0.100\n"
              "best-effort  2     1     100.0%    1.000  1.000  1.000  1.000\n"
              "first-fit    8     1     100.0%    1.000  1.000  1.000  1.000\n"
              "best-effort  8     1     100.0%    1.000  1.000  1.000  1.000\n");
}

static void test_simulate_write__programs_get_every_figure_by_name(void **state)
{
    AUTO(simulation_clear) struct simulation simulation = two_gpus("gpus\n1\n");
    AUTO_FREE char *json = written(&simulation, SIMULATE_JSON);
    AUTO_FREE char *csv = written(&simulation, SIMULATE_CSV);

    (void)state;
    assert_contains(json, "{\"way\": \"first-fit\", \"jobs\": 1, \"placed\": 1, \"never\": 0");
    assert_contains(json, "\"allocatedMean\": null");
    assert_contains(json, "\"qualityBySize\": {}");
    assert_contains(csv, "way,jobs,placed,never,allocatedMean,");
    assert_contains(csv, "\nbest-effort,1,1,0,,0.500000,");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simulate_run__a_job_waits_until_enough_have_left),
        cmocka_unit_test(test_simulate_run__a_small_job_passes_a_big_one_that_waits),
        cmocka_unit_test(test_simulate_run__who_came_first_is_asked_first_when_something_leaves),
        cmocka_unit_test(test_simulate_run__what_leaves_makes_room_for_what_comes_at_that_moment),
        cmocka_unit_test(test_simulate_run__jobs_without_a_duration_stay_and_others_wait_for_ever),
        cmocka_unit_test(test_simulate_run__cpu_and_memory_of_a_node_count),
        cmocka_unit_test(test_simulate_run__allocation_is_that_over_time_until_the_last_has_come),
        cmocka_unit_test(test_simulate_run__where_nothing_leaves_allocation_is_told_at_full_load),
        cmocka_unit_test(test_simulate_run__fragments_are_of_what_is_idle),
        cmocka_unit_test(test_simulate_run__first_fit_splits_a_pair_and_best_effort_does_not),
        cmocka_unit_test(test_simulate_run__without_links_there_is_no_quality),
        cmocka_unit_test(test_simulate_run__goes_through_the_nodes_by_name),
        cmocka_unit_test(test_simulate_count_hopeless__are_jobs_that_fit_nowhere_even_alone),
        cmocka_unit_test(test_simulate_run__a_job_that_no_pod_can_be_is_told_with_its_line),
        cmocka_unit_test(test_simulate_write__the_same_input_gives_the_same_output),
        cmocka_unit_test(test_simulate_write__the_table_leaves_out_what_nobody_has),
        cmocka_unit_test(test_simulate_write__programs_get_every_figure_by_name),
    };

    return cmocka_run_group_tests_name("simulate", tests, NULL, NULL);
}
