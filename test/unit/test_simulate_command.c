/* SPDX-License-Identifier: Apache-2.0 */
/* topofit simulate as a person uses it: what it prints, what it says of bad input, how it ends. */
#include "support/command_run.h"
#include "support/scratch.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/cli.h"

#include <stdlib.h>

/* Run `topofit simulate` with these words. */
static struct run run(const char *words)
{
    AUTO_FREE char *all = xasprintf("simulate %s", words);

    return command_run(all);
}

/* A folder with jobs.csv and nodes.csv. */
static char *folder_with(const char *jobs, const char *nodes)
{
    char *folder = scratch_make();

    scratch_put(folder, "jobs.csv", jobs);
    scratch_put(folder, "nodes.csv", nodes);
    return folder;
}

/* Run on a folder's files with more options. */
static struct run run_in(const char *folder, const char *options)
{
    AUTO_FREE char *words = xasprintf("-w %s/jobs.csv -n %s/nodes.csv %s", folder, folder, options);

    return run(words);
}

#define TWO_GPUS "name,gpus\nn1,2\n"

static void test_simulate__compares_three_ways(void **state)
{
    char *folder = folder_with("name,arrival_s,duration_s,gpus\na,0,10,1\nb,5,10,2\n", TWO_GPUS);
    AUTO(run_clear) struct run ran = run_in(folder, "");

    (void)state;
    assert_int_equal(ran.code, EXIT_YES);
    assert_contains(ran.out, "WAY          JOBS  PLACED  NEVER");
    assert_contains(ran.out, "\ntopofit      2     2       0");
    assert_contains(ran.out, "\nfirst-fit    2     2       0");
    assert_contains(ran.out, "\nbest-effort  2     2       0");
    assert_string_equal(ran.err, "");
    scratch_remove(folder);
}

static void test_simulate__only_those_asked_for_in_the_form_asked_for(void **state)
{
    char *folder = folder_with("gpus\n1\n", TWO_GPUS);
    AUTO(run_clear)
    struct run json = run_in(folder, "--only best-effort,topofit --policy spread -o json");
    AUTO(run_clear) struct run csv = run_in(folder, "--only first-fit -o csv --no-departures");

    (void)state;
    assert_int_equal(json.code, EXIT_YES);
    assert_contains(json.out, "\"way\": \"topofit\"");
    assert_contains(json.out, "\"way\": \"best-effort\"");
    assert_null(strstr(json.out, "first-fit"));
    assert_contains(csv.out, "\nfirst-fit,1,1,0,");
    assert_null(strstr(csv.out, "topofit"));
    scratch_remove(folder);
}

static void test_simulate__help_has_examples_and_ends_well(void **state)
{
    AUTO(run_clear) struct run ran = run("--help");

    (void)state;
    assert_int_equal(ran.code, EXIT_YES);
    assert_contains(ran.out, "usage: topofit simulate --workload FILE --nodes FILE");
    assert_contains(ran.out, "Examples:\n  topofit simulate -w jobs.csv -n nodes.csv\n");
}

static void test_simulate__wrong_usage_is_two(void **state)
{
    static const struct {
        const char *words, *complaint;
    } cases[] = {
        {"", "--workload and --nodes are both needed"},
        {"-w a.csv", "--workload and --nodes are both needed"},
        {"-w - -n -", "only one of --workload and --nodes can be stdin"},
        {"-w a -n b c", "unexpected argument c"},
        {"-w a -n b --fast", "unknown option --fast"},
        {"-w a -n", "-n needs a value"},
        {"-w a -n b -o yaml", "-o: there is no yaml; there are text, json, csv"},
        {"-w a -n b --only topfit", "--only: there is no topfit; did you mean topofit?"},
        {"-w a -n b --only ,", "--only names nothing"},
        {"-w a -n b -o cvs", "-o: there is no cvs; did you mean csv?"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(run_clear) struct run ran = run(cases[i].words);

        assert_int_equal(ran.code, EXIT_USAGE);
        assert_contains(ran.err, cases[i].complaint);
        assert_string_equal(ran.out, "");
    }
}

static void test_simulate__bad_input_is_four_and_says_where(void **state)
{
    static const struct {
        const char *jobs, *nodes, *options, *complaint;
    } cases[] = {
        {"gpus\n1\n", TWO_GPUS, "--policy spraed", "--policy: there is no spraed; did you mean sp"},
        {"gpus\n1\n", TWO_GPUS, "--policy tidy-up", "there are pack, spread, topology-first"},
        {"gpus\n1\n", TWO_GPUS, "--config /nowhere.yaml", "/nowhere.yaml"},
        {"gpus,prio\n1,1\n", TWO_GPUS, "", "/jobs.csv: header, column 2: unknown column prio"},
        {"gpus\n1\n-2\n", TWO_GPUS, "", "/jobs.csv: line 3, column 1 (gpus): -2 is negative"},
        {"gpus\n", TWO_GPUS, "", "/jobs.csv: there are no rows below the header"},
        {"gpus\n1\n", "name,gpus\n", "", "/nodes.csv: there are no rows below the header"},
        {"name,gpus\nbig,3\n", TWO_GPUS, "", "no job fits on any node of "},
        {"name,gpus\nbig,3\n", TWO_GPUS, "", "The first is big (line 2): compare its GPUs"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *folder = folder_with(cases[i].jobs, cases[i].nodes);
        AUTO(run_clear) struct run ran = run_in(folder, cases[i].options);

        assert_int_equal(ran.code, EXIT_BAD_INPUT);
        assert_contains(ran.err, cases[i].complaint);
        assert_string_equal(ran.out, "");
        scratch_remove(folder);
    }
}

static void test_simulate__some_hopeless_jobs_are_worth_a_word(void **state)
{
    char *folder = folder_with("name,gpus\na,1\nbig,3\nhuge,9\n", TWO_GPUS);
    AUTO(run_clear) struct run ran = run_in(folder, "");

    (void)state;
    assert_int_equal(ran.code, EXIT_YES);
    assert_contains(ran.err, "2 of 3 jobs fit on no node, not even alone; the first is big (line");
    assert_contains(ran.out, "\ntopofit      3     1       2");
    scratch_remove(folder);
}

static void test_simulate__nothing_placed_on_full_nodes_is_one(void **state)
{
    static const char full[] =
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n  annotations:\n"
        "    topofit.io/inventory: '{\"devices\":[{\"id\":\"GPU-a\",\"memoryMiB\":1000}]}'\n"
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: d, uid: u}\n"
        "spec: {nodeName: n1, containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}\n";
    char *folder = folder_with("gpus\n1\n", full);
    AUTO(run_clear) struct run ran = run_in(folder, "");

    (void)state;
    assert_int_equal(ran.code, EXIT_NO);
    assert_contains(ran.out, "\ntopofit      1     0       1");
    scratch_remove(folder);
}

static void test_simulate__the_same_files_give_the_same_answer(void **state)
{
    char *folder = folder_with("arrival_s,duration_s,gpus,gpu_milli\n"
                               "0,9,1,300\n0,9,1,400\n1,5,2,\n2,2,1,700\n3,4,1,\n4,1,0,\n",
                               "name,count,gpus\na,3,2\nb,,1\n");
    AUTO(run_clear) struct run once = run_in(folder, "-o json");
    AUTO(run_clear) struct run again = run_in(folder, "-o json");

    (void)state;
    assert_int_equal(once.code, EXIT_YES);
    assert_string_equal(once.out, again.out);
    scratch_remove(folder);
}

/* A hole of 600 is kept for the job that fills it only where it is known that such jobs come. */
static void test_simulate__a_mix_that_is_given_counts_from_the_first_job_on(void **state)
{
    char *folder =
        folder_with("gpus,gpu_milli\n1,400\n1,300\n1,600\n1,700\n", "name,gpus\na,1\nb,1\n");
    AUTO_FREE char *config = xasprintf("packing: {workloadFile: %s/mix.csv}\n", folder);
    AUTO_FREE char *options = xasprintf("--only topofit --config %s/config.yaml", folder);
    AUTO(run_clear) struct run without = run_in(folder, "--only topofit");
    AUTO(run_clear) struct run missing = {0};
    AUTO(run_clear) struct run given = {0};

    (void)state;
    scratch_put(folder, "config.yaml", config);
    missing = run_in(folder, options);
    scratch_put(folder, "mix.csv", "gpus,gpu_milli\n1,600\n1,700\n");
    given = run_in(folder, options);
    assert_contains(without.out, "\ntopofit  4     3       1");
    assert_int_equal(missing.code, EXIT_BAD_INPUT);
    assert_contains(missing.err, "packing.workloadFile: ");
    assert_contains(given.out, "\ntopofit  4     4       0");
    scratch_remove(folder);
}

static void test_simulate__completion_knows_its_words(void **state)
{
    static const char *const words[] = {"--no-departures", "pack spread topology-first",
                                        "topofit first-fit best-effort", "text json csv"};
    AUTO(run_clear) struct run ran = command_run("completion bash");

    (void)state;
    assert_int_equal(ran.code, EXIT_YES);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_contains(ran.out, words[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simulate__compares_three_ways),
        cmocka_unit_test(test_simulate__only_those_asked_for_in_the_form_asked_for),
        cmocka_unit_test(test_simulate__help_has_examples_and_ends_well),
        cmocka_unit_test(test_simulate__wrong_usage_is_two),
        cmocka_unit_test(test_simulate__bad_input_is_four_and_says_where),
        cmocka_unit_test(test_simulate__some_hopeless_jobs_are_worth_a_word),
        cmocka_unit_test(test_simulate__nothing_placed_on_full_nodes_is_one),
        cmocka_unit_test(test_simulate__the_same_files_give_the_same_answer),
        cmocka_unit_test(test_simulate__a_mix_that_is_given_counts_from_the_first_job_on),
        cmocka_unit_test(test_simulate__completion_knows_its_words),
    };

    return cmocka_run_group_tests_name("simulate_command", tests, NULL, NULL);
}
