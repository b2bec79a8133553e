/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/arrivals_csv.h"

static struct arrivals read_jobs(const char *text)
{
    struct arrivals arrivals = {0};
    struct error err = {0};

    assert_ok(arrivals_csv_read_jobs(text, strlen(text), &arrivals, &err), &err);
    return arrivals;
}

static void test_arrivals_csv_read_jobs__takes_the_columns_of_openb(void **state)
{
    AUTO(arrivals_clear)
    struct arrivals arrivals = read_jobs(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time\n"
        "a,12000,16384,1,1000,,LS,Running,20,30,21\n"
        "b,6000,12288,1,460,V100M16|V100M32,LS,Running,10,,\n"
        "c,500,1024,0,0,,BE,Failed,10,12,11\n");

    (void)state;
    assert_int_equal(arrivals.count, 3);
    assert_string_equal(arrivals.jobs[0].name, "b");
    assert_int_equal(arrivals.jobs[0].arrival_ms, 10000);
    assert_true(arrivals.jobs[0].duration_ms == JOB_STAYS);
    assert_int_equal(arrivals.jobs[0].share, SHARE_MILLI);
    assert_int_equal(arrivals.jobs[0].amount, 460);
    assert_string_equal(arrivals.jobs[0].products, "V100M16,V100M32");
    assert_string_equal(arrivals.jobs[1].name, "c");
    assert_int_equal(arrivals.jobs[1].gpus, 0);
    assert_string_equal(arrivals.jobs[2].name, "a");
    assert_int_equal(arrivals.jobs[2].share, SHARE_WHOLE);
    assert_int_equal(arrivals.jobs[2].duration_ms, 10000);
    assert_int_equal(arrivals.jobs[2].cpu_milli, 12000);
    assert_int_equal(arrivals.jobs[2].memory_mib, 16384);
}

static void test_arrivals_csv_read_jobs__takes_our_own_columns_in_any_order(void **state)
{
    AUTO(arrivals_clear)
    struct arrivals arrivals = read_jobs(
        "gpus,duration_s,arrival_s,gpu_memory,gpu_percent,topology,topology_max_tier,products\n"
        "2,1.5,0.25,,,hard,0,\"A100,H100\"\n"
        "1,60,1,4000,,,,\n"
        "1,60,1,,25,off,,\n");

    (void)state;
    assert_string_equal(arrivals.jobs[0].name, "line-2");
    assert_int_equal(arrivals.jobs[0].arrival_ms, 250);
    assert_int_equal(arrivals.jobs[0].duration_ms, 1500);
    assert_string_equal(arrivals.jobs[0].topology, "hard");
    assert_string_equal(arrivals.jobs[0].max_tier, "0");
    assert_string_equal(arrivals.jobs[0].products, "A100,H100");
    assert_int_equal(arrivals.jobs[0].share, SHARE_WHOLE);
    assert_int_equal(arrivals.jobs[1].share, SHARE_MIB);
    assert_int_equal(arrivals.jobs[1].amount, 4000);
    assert_int_equal(arrivals.jobs[2].share, SHARE_PERCENT);
}

struct wrong {
    const char *text, *complaint;
};

static void test_arrivals_csv_read_jobs__what_is_wrong_is_told_with_its_place(void **state)
{
    static const struct wrong cases[] = {
        {"name,gpu\na,1\n", "header, column 2: unknown column gpu; did you mean gpus?"},
        {"gpus,gpu_mili\n1,5\n", "column 2: unknown column gpu_mili; did you mean gpu_milli?"},
        {"gpus,favourite_colour\n1,5\n", "unknown column favourite_colour; there are name, "},
        {"name,cpu_milli\na,1\n", "there is no column gpus"},
        {"gpus,num_gpu\n1,1\n", "gpus and num_gpu mean the same"},
        {"gpus,duration_s,deletion_time\n1,1,1\n", "mean the same"},
        {"gpus,cpu_milli\n1,2\n1,-4\n", "line 3, column 2 (cpu_milli): -4 is negative"},
        {"gpus\n1.5\n", "line 2, column 1 (gpus): \"1.5\" is not a whole number"},
        {"gpus\n65\n", "\"65\" is no number from 0 to 64"},
        {"gpus\nmany\n", "\"many\" is no number"},
        {"gpus\n99999999999999999999999\n", "is no number"},
        {"gpus,gpu_milli\n1,1001\n", "no number from 1 to 1000"},
        {"gpus,gpu_milli\n1,0\n", "no number from 1 to 1000"},
        {"gpus,gpu_milli,gpu_percent\n1,500,50\n", "column 3 (gpu_percent): what the job wants"},
        {"gpus,topology\n1,tight\n", "\"tight\" is none of hard, soft, off"},
        {"gpus,policy\n1,pakc\n", "\"pakc\" is none of pack, spread, topology-first"},
        {"gpus,creation_time,deletion_time\n1,9,8\n", "8 is before the job arrives"},
        {"gpus\n", "there are no rows"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(arrivals_clear) struct arrivals arrivals = {0};
        struct error err = {0};

        assert_true(arrivals_csv_read_jobs(cases[i].text, strlen(cases[i].text), &arrivals, &err) <
                    0);
        assert_contains(err.text, cases[i].complaint);
    }
}

static void test_arrivals_csv_read_machines__takes_openb_and_our_own(void **state)
{
    static const char text[] = "sn,cpu_milli,memory_mib,gpu,model,count,topology,gpu_memory_mib\n"
                               "n1,96000,393216,8,G2,,,\n"
                               "dgx,,,,V100,10,dgx.txt,32510\n";
    AUTO(machine_list_clear) struct machine_list list = {0};
    struct error err = {0};

    (void)state;
    assert_ok(arrivals_csv_read_machines(text, strlen(text), &list, &err), &err);
    assert_int_equal(list.count, 2);
    assert_true(list.has_gpu_memory);
    assert_int_equal(list.machines[0].gpus, 8);
    assert_int_equal(list.machines[0].cpu_milli, 96000);
    assert_int_equal(list.machines[0].gpu_memory_mib, MACHINE_GPU_MEMORY_MIB);
    assert_false(list.machines[0].numbered);
    assert_true(list.machines[1].numbered && !list.machines[1].has_gpus);
    assert_int_equal(list.machines[1].count, 10);
    assert_true(list.machines[1].cpu_milli == MACHINE_UNLIMITED);
    assert_string_equal(list.machines[1].topology, "dgx.txt");
}

static void test_arrivals_csv_read_machines__what_is_wrong_is_told_with_its_place(void **state)
{
    static const struct wrong cases[] = {
        {"sn,gpus,gpu\nn,1,1\n", "gpus and gpu mean the same"},
        {"sn,modle\nn,1\n", "did you mean model?"},
        {"gpus\n1\n", "there is no column name (or sn)"},
        {"sn,gpu\n,1\n", "line 2, column 1 (sn): the machine has no name"},
        {"sn,cpu_milli\nn,1\n", "line 2: n has neither gpus nor topology"},
        {"sn,gpu,count\nn,1,0\n", "\"0\" is no number from 1"},
        {"sn,gpu,count\na,1,19999\nb,1,2\n", "line 3: more than 20000 machines"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(machine_list_clear) struct machine_list list = {0};
        struct error err = {0};

        assert_true(arrivals_csv_read_machines(cases[i].text, strlen(cases[i].text), &list, &err) <
                    0);
        assert_contains(err.text, cases[i].complaint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrivals_csv_read_jobs__takes_the_columns_of_openb),
        cmocka_unit_test(test_arrivals_csv_read_jobs__takes_our_own_columns_in_any_order),
        cmocka_unit_test(test_arrivals_csv_read_jobs__what_is_wrong_is_told_with_its_place),
        cmocka_unit_test(test_arrivals_csv_read_machines__takes_openb_and_our_own),
        cmocka_unit_test(test_arrivals_csv_read_machines__what_is_wrong_is_told_with_its_place),
    };

    return cmocka_run_group_tests_name("arrivals_csv", tests, NULL, NULL);
}
