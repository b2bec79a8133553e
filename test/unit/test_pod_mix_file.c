/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/scratch.h"
#include "support/test.h"

#include "topofit/pod_mix_file.h"

static int read_mix(const char *text, struct pod_mix **out, struct error *err)
{
    char *folder = scratch_make();
    AUTO_FREE char *path = scratch_path(folder, "jobs.csv");
    int result;

    scratch_put(folder, "jobs.csv", text);
    result = pod_mix_file_read(path, &test_classes, out, err);
    scratch_remove(folder);
    return result;
}

static void test_pod_mix_file_read__counts_each_job_once(void **state)
{
    struct error err = {0};
    struct pod_mix *mix = NULL;

    (void)state;
    assert_ok(read_mix("gpus,gpu_milli,cpu_milli,products\n"
                       "1,,4000,\n"
                       "1,495,2000,A100|H100\n"
                       "1,,4000,\n"
                       "0,,9000,\n",
                       &mix, &err),
              &err);
    assert_int_equal(mix->count, 2);
    assert_true(mix->tasks[0].is_whole);
    assert_int_equal(mix->tasks[0].host.cpu_milli, 4000);
    assert_true(mix->tasks[0].share > 0.66 && mix->tasks[0].share < 0.67);
    assert_int_equal(mix->tasks[1].ask.memory_kind, MEMORY_PERCENT);
    assert_int_equal(mix->tasks[1].ask.memory, 50);
    assert_int_equal(mix->tasks[1].use_products.count, 2);
    pod_mix_unref(mix);
}

static void test_pod_mix_file_read__refuses_what_says_nothing(void **state)
{
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"gpus,colour\n1,red\n", "colour"},
        {"gpus\n-1\n", "line 2, column 1 (gpus)"},
        {"gpus\n", "no rows"},
        {"", "it is empty"},
        {"gpus\n0\n", "no job wants a GPU"},
        {"gpus,class\n1,nvidea\n", "line 2: there is no class nvidea; did you mean nvidia?"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        struct pod_mix *mix = NULL;

        assert_int_equal(read_mix(cases[i].text, &mix, &err), -ERR_INVALID);
        assert_contains(err.text, cases[i].complaint);
        assert_contains(err.text, "jobs.csv");
        assert_null(mix);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod_mix_file_read__counts_each_job_once),
        cmocka_unit_test(test_pod_mix_file_read__refuses_what_says_nothing),
    };

    return cmocka_run_group_tests_name("pod_mix_file", tests, NULL, NULL);
}
