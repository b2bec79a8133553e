/* SPDX-License-Identifier: Apache-2.0 */
#include "support/command_run.h"
#include "support/scratch.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/cli.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>

/* --- usage --------------------------------------------------------------------------------------
 */

static void test_cli_run__tells_its_commands(void **state)
{
    static const char *const words[] = {"", "--help", "-h", "help"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        AUTO(run_clear) struct run ran = command_run(words[i]);

        assert_int_equal(ran.code, EXIT_YES);
        assert_contains(ran.out, "serve");
        assert_contains(ran.out, "explain");
        assert_string_equal(ran.err, "");
    }
}

static void test_cli_run__every_command_has_help(void **state)
{
    static const char *const commands[] = {"serve",   "explain",   "check-config", "completion",
                                           "version", "reference", "simulate"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        AUTO_FREE char *words = xasprintf("%s --help", commands[i]);
        AUTO_FREE char *usage = xasprintf("usage: topofit %s", commands[i]);
        AUTO(run_clear) struct run ran = command_run(words);

        assert_int_equal(ran.code, EXIT_YES);
        assert_contains(ran.out, usage);
    }
}

static void test_cli_run__wrong_usage_is_two_and_helps(void **state)
{
    static const struct {
        const char *words, *complaint;
    } cases[] = {
        {"sevre", "there is no command 'sevre'; did you mean 'serve'?"},
        {"frobnicate", "there is no command 'frobnicate'"},
        {"serve --lisen x", "unknown option --lisen"},
        {"serve --lisen x", "did you mean --listen?"},
        {"serve --lis", "needs a value"},
        {"explain --criterai", "unknown option --criterai; did you mean --criteria?"},
        {"explain --polciy=pack", "did you mean --policy?"},
        {"explain --c", "did you mean --cluster or --config or --criteria?"},
        {"check-config --quite", "did you mean --quiet?"},
        {"explain -f a -f b --cluster c", "-f is given twice: a and b"},
        {"simulate -w a --workload b", "--workload is given twice: a and b"},
        {"serve --cluster a --cluster b", "--cluster is given twice: a and b"},
        {"serve -xyz", "unknown option -x"},
        {"serve --listen=:1 -xyz", "unknown option -x"},
        {"serve --help=x", "unknown option --help=x"},
        {"serve --listen", "--listen needs a value"},
        {"explain -x", "unknown option -x"},
        {"simulate -zw", "unknown option -z"},
        {"check-config -qx", "unknown option -x"},
        {"check-config --quiet=x", "unknown option --quiet=x"},
        {"serve --listen", "needs a value"},
        {"serve extra", "unexpected argument extra"},
        {"serve --kubeconfig a --cluster b", "exclude each other"},
        {"explain", "-f and --cluster are both needed"},
        {"explain -f a --cluster b -o xml", "-o: there is no xml; there are json, text"},
        {"explain -f - --cluster -", "stdin"},
        {"check-config a b", "one file at a time"},
        {"check-config --frob", "unknown option"},
        {"completion", "bash or zsh"},
        {"completion fish", "there is no fish; there are bash, zsh"},
        {"reference", "expected"},
        {"reference colours", "there is no colours; there are annotations, class-keys"},
        {"classes -o pictures", "--output: there is no pictures; there are table, yaml, markdown"},
        {"classes -o table nvidia", "names go with -o yaml only"},
        {"classes --frob", "unknown option"},
        {"completion bsh", "there is no bsh; did you mean bash?"},
        {"reference reason", "there is no reason; did you mean reasons?"},
        {"version extra", "unexpected argument"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(run_clear) struct run ran = command_run(cases[i].words);

        assert_int_equal(ran.code, EXIT_USAGE);
        assert_contains(ran.err, cases[i].complaint);
        assert_contains(ran.err, "--help");
        assert_string_equal(ran.out, "");
    }
}

static void test_cli_run__version_prints_one_line(void **state)
{
    AUTO(run_clear) struct run command = command_run("version");
    AUTO(run_clear) struct run option = command_run("--version");

    (void)state;
    assert_int_equal(command.code, EXIT_YES);
    assert_string_equal(command.out, "topofit " TOPOFIT_VERSION "\n");
    assert_string_equal(option.out, command.out);
}

/* --- check-config and lists ---------------------------------------------------------------------
 */

static void test_cli_run__classes_lists_them_and_shows_what_it_reads_again(void **state)
{
    AUTO(run_clear) struct run list = command_run("classes");
    AUTO(run_clear) struct run all = command_run("classes -o yaml");
    AUTO(scratch_file_remove) char *classes_path = scratch_file(all.out);
    AUTO_FREE char *yaml = xasprintf("classes: {files: [%s]}\n", classes_path);
    AUTO(scratch_file_remove) char *path = scratch_file(yaml);
    AUTO_FREE char *words = xasprintf("classes -o yaml --config %s", path);
    AUTO(run_clear) struct run again = command_run(words);

    (void)state;
    assert_int_equal(list.code, EXIT_YES);
    assert_contains(list.out, "kunlun-vxpu");
    assert_contains(list.out, "kunlunxin.com/vxpu-memory");
    assert_int_equal(all.code, EXIT_YES);
    assert_string_equal(again.out, all.out);
}

/* Whatever takes a configuration reads the class files that it names. */
static void test_cli_run__a_bad_class_file_is_bad_input(void **state)
{
    AUTO(scratch_file_remove)
    char *classes_path = scratch_file("name: nvidia\nmemory:\n  unit: 1\n");
    AUTO_FREE char *yaml = xasprintf("classes: {files: [%s]}\n", classes_path);
    AUTO(scratch_file_remove) char *path = scratch_file(yaml);
    static const char *const commands[] = {"check-config", "classes --config"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        AUTO_FREE char *words = xasprintf("%s %s", commands[i], path);
        AUTO(run_clear) struct run ran = command_run(words);

        assert_int_equal(ran.code, EXIT_BAD_INPUT);
        assert_contains(ran.err, classes_path);
        assert_contains(ran.err, "line 3, column 3: unknown key \"unit\"");
    }
}

static void test_cli_run__a_class_file_that_misspells_a_class_is_told_which(void **state)
{
    AUTO(scratch_file_remove)
    char *classes_path = scratch_file("name: nvidea\nmemory: {unitMiB: 1024}\n");
    AUTO_FREE char *yaml = xasprintf("classes: {files: [%s]}\n", classes_path);
    AUTO(scratch_file_remove) char *path = scratch_file(yaml);
    AUTO_FREE char *words = xasprintf("check-config %s", path);
    AUTO(run_clear) struct run ran = command_run(words);

    (void)state;
    assert_int_equal(ran.code, EXIT_BAD_INPUT);
    assert_contains(ran.err,
                    "line 1, column 7: there is no class nvidea to change; did you mean nvidia?");
}

static void test_cli_run__a_class_that_is_not_there_is_bad_input(void **state)
{
    AUTO(run_clear) struct run ran = command_run("classes nvidia abacus");
    AUTO(run_clear) struct run misspelt = command_run("classes nvidea");

    (void)state;
    assert_int_equal(ran.code, EXIT_BAD_INPUT);
    assert_contains(ran.err, "there is no class abacus; `topofit classes` lists them");
    assert_string_equal(ran.out, "");
    assert_int_equal(misspelt.code, EXIT_BAD_INPUT);
    assert_contains(misspelt.err, "there is no class nvidea; did you mean nvidia?");
}

static void test_cli_run__check_config_prints_what_it_accepts_again(void **state)
{
    AUTO(run_clear) struct run defaults = command_run("check-config");
    AUTO(scratch_file_remove) char *path = scratch_file(defaults.out);
    AUTO_FREE char *words = xasprintf("check-config %s", path);
    AUTO_FREE char *quiet_words = xasprintf("check-config -q %s", path);
    AUTO(run_clear) struct run again = command_run(words);
    AUTO(run_clear) struct run quiet = command_run(quiet_words);

    (void)state;
    assert_int_equal(again.code, EXIT_YES);
    assert_string_equal(again.out, defaults.out);
    assert_int_equal(quiet.code, EXIT_YES);
    assert_string_equal(quiet.out, "");
}

/* Whatever ends the start ends the check. */
static void test_cli_run__check_config_refuses_what_serve_would_refuse(void **state)
{
    static const struct {
        const char *yaml, *complaint;
    } cases[] = {
        {"packing: {workloadFile: /nowhere/jobs.csv}", "packing.workloadFile: /nowhere/jobs.csv"},
        {"packing: {workloadFile: /dev/null}", "packing.workloadFile: /dev/null"},
        {"extender: {tlsCertFile: /nowhere/a, tlsKeyFile: /nowhere/b}",
         "extender.tlsCertFile: /nowhere/a"},
        {"admin: {tlsCertFile: /nowhere/a, tlsKeyFile: /nowhere/b}",
         "admin.tlsCertFile: /nowhere/a"},
        {"kube: {kubeconfig: /nowhere/k}", "kube.kubeconfig: "},
        {"webhook: {guardVisibleDevices: 'nvidia,nvidea'}",
         "webhook.guardVisibleDevices: there is no class nvidea; did you mean nvidia?"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(scratch_file_remove) char *path = scratch_file(cases[i].yaml);
        AUTO_FREE char *words = xasprintf("check-config %s", path);
        AUTO_FREE char *keys = xasprintf("check-config -q --no-files %s", path);
        AUTO(run_clear) struct run ran = command_run(words);
        AUTO(run_clear) struct run alone = command_run(keys);

        assert_int_equal(ran.code, EXIT_BAD_INPUT);
        assert_contains(ran.err, cases[i].complaint);
        assert_string_equal(ran.out, "");
        assert_int_equal(alone.code, EXIT_YES);
    }
}

static void test_cli_run__files_are_relative_to_the_configuration_that_names_them(void **state)
{
    AUTO(scratch_file_remove) char *jobs = scratch_file("name,arrival_s,gpus\na,0,1\n");
    AUTO_FREE char *yaml = xasprintf("packing: {workloadFile: %s}\n", strrchr(jobs, '/') + 1);
    AUTO(scratch_file_remove) char *path = scratch_file(yaml);
    AUTO_FREE char *words = xasprintf("check-config %s", path);
    AUTO(run_clear) struct run ran = command_run(words);

    (void)state;
    assert_string_equal(ran.err, "");
    assert_contains(ran.out, jobs);
}

static void test_cli_run__check_config_names_file_line_and_key(void **state)
{
    AUTO(scratch_file_remove) char *path = scratch_file("extender:\n  lisen: x\n");
    AUTO_FREE char *words = xasprintf("check-config %s", path);
    AUTO(run_clear) struct run ran = command_run(words);

    (void)state;
    assert_int_equal(ran.code, EXIT_BAD_INPUT);
    assert_contains(ran.err, path);
    assert_contains(ran.err, "line 2, column 3: unknown key extender.lisen");
}

static void test_cli_run__a_file_that_is_not_there_is_named_once(void **state)
{
    static const char *const words[] = {
        "check-config /nowhere/x.yaml",
        "explain -f /nowhere/x.yaml --cluster /nowhere/x.yaml",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        AUTO(run_clear) struct run ran = command_run(words[i]);
        const char *named = strstr(ran.err, "/nowhere/x.yaml");

        assert_int_not_equal(ran.code, EXIT_YES);
        assert_non_null(named);
        assert_null(strstr(named + 1, "/nowhere/x.yaml"));
    }
}

static void test_cli_run__reference_lists_names_one_a_line(void **state)
{
    static const struct {
        const char *words, *line;
    } cases[] = {
        {"reference keys", "\ntopology.mode\n"},
        {"reference reasons", "\nInsufficientMemory\n"},
        {"reference annotations", "\ntopofit.io/allocation\n"},
        {"reference endpoints", "/readyz\n"},
        {"reference metrics", "\ntopofit_"},
        {"check-config --list-keys", "\nlog.level\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(run_clear) struct run ran = command_run(cases[i].words);

        assert_int_equal(ran.code, EXIT_YES);
        assert_contains(ran.out, cases[i].line);
    }
}

static void test_cli_run__completion_knows_commands_and_options(void **state)
{
    AUTO(run_clear) struct run bash = command_run("completion bash");
    AUTO(run_clear) struct run zsh = command_run("completion zsh");

    (void)state;
    assert_int_equal(bash.code, EXIT_YES);
    assert_contains(bash.out, "serve explain simulate check-config");
    assert_contains(bash.out, "--kubeconfig");
    assert_contains(zsh.out, "#compdef topofit");
}

/* What bash offers behind these words, the last of which is being typed; one a line. */
static char *offered(const char *words)
{
    AUTO(run_clear) struct run script = command_run("completion bash");
    AUTO(scratch_file_remove) char *path = scratch_file(script.out);
    AUTO_FREE char *command =
        xasprintf("bash -c '. %s; COMP_WORDS=(topofit %s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
                  "_topofit; printf \"%%s\\n\" \"${COMPREPLY[@]}\"'",
                  path, words);
    AUTO(buf_clear) struct buf out = buf_with_max(10000);
    FILE *pipe = popen(command, "r");
    char chunk[1000];
    size_t got;

    assert_non_null(pipe);
    while ((got = fread(chunk, 1, sizeof chunk, pipe)) > 0)
        buf_add(&out, chunk, got);
    pclose(pipe);
    return buf_steal(&out);
}

static void test_cli_run__completion_offers_what_can_stand_there(void **state)
{
    static const struct {
        const char *words, *offers;
    } cases[] = {
        {"expl", "explain\n"},
        {"classes ascend-31", "ascend-310p\n"},
        {"classes nvidia kunlun-", "kunlun-vxpu\n"},
        {"classes --outp", "--output\n"},
        {"simulate --only topo", "topofit\n"},
        {"simulate --only topofit,b", "topofit,best-effort\n"},
        {"simulate --only topofit,best-effort,f", "topofit,best-effort,first-fit\n"},
        {"reference reas", "reasons\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *out = offered(cases[i].words);

        assert_string_equal(out, cases[i].offers);
    }
}

/* --- explain ------------------------------------------------------------------------------------
 */

#define POD(gpus) \
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\n" \
    "spec:\n  containers:\n  - name: main\n    resources: {limits: {nvidia.com/gpu: " gpus "}}\n"

static const char dump[] = "apiVersion: v1\n"
                           "kind: Node\n"
                           "metadata:\n"
                           "  name: n1\n"
                           "  annotations:\n"
                           "    topofit.io/inventory: '{\"devices\":[{\"id\":\"GPU-a\","
                           "\"memoryMiB\":1000},{\"id\":\"GPU-b\",\"memoryMiB\":1000}]}'\n";

static struct run explain(const char *pod, const char *cluster, const char *more)
{
    AUTO(scratch_file_remove) char *pod_path = scratch_file(pod);
    AUTO(scratch_file_remove) char *cluster_path = scratch_file(cluster);
    AUTO_FREE char *words =
        xasprintf("explain -f %s --cluster %s %s", pod_path, cluster_path, more);
    struct run ran = command_run(words);

    return ran;
}

static void test_cli_run__explain_shows_where_a_pod_would_go(void **state)
{
    AUTO(run_clear) struct run fits = explain(POD("2"), dump, "");
    AUTO(run_clear) struct run refused = explain(POD("3"), dump, "");
    AUTO(run_clear) struct run json = explain(POD("1"), dump, "-o json");
    json_t *root = json_loads(json.out, 0, NULL);

    (void)state;
    assert_int_equal(fits.code, EXIT_YES);
    assert_contains(fits.out, "n1");
    assert_contains(fits.out, "0,1");
    assert_int_equal(refused.code, EXIT_NO);
    assert_contains(refused.out, "TooFewDevices");
    assert_int_equal(json.code, EXIT_YES);
    assert_non_null(root);
    assert_contains(json.out, "\"GPU-a\"");
    json_decref(root);
}

static void
test_cli_run__explain_takes_the_first_pod_that_asks_for_devices_and_says_so(void **state)
{
    static const char web[] = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
                              "spec: {containers: [{name: main}]}\n---\n";
    static const char job[] =
        "kind: Deployment\nmetadata: {name: llm, namespace: ml}\nspec: {template: {spec: "
        "{containers: [{name: main, resources: {limits: {nvidia.com/gpu: 3}}}]}}}\n---\n";
    AUTO_FREE char *file = xasprintf("%s%s%s", web, job, POD("1"));
    AUTO_FREE char *both = xasprintf("%s---\n%s", dump, web);
    AUTO(run_clear) struct run several = explain(file, dump, "");
    AUTO(run_clear) struct run one = explain(POD("1"), both, "");
    AUTO(run_clear) struct run none = explain(web, dump, "");

    (void)state;
    assert_int_equal(several.code, EXIT_NO);
    assert_contains(several.err,
                    "pod ml/llm of a Deployment, 2nd of 3 with pods, on 1 node with 0 pods\n");
    assert_contains(several.err, "there is no pod in it, so all GPUs count as free");
    assert_string_equal(one.err, "topofit: pod default/p on 1 node with 1 pod\n");
    assert_contains(none.out, "every node will do");
}

static void test_cli_run__explain_says_what_is_wrong_with_its_files(void **state)
{
    AUTO(run_clear) struct run no_pod = explain(dump, dump, "");
    AUTO(run_clear) struct run broken = explain(POD("1"), "kind: [Node\n", "");
    AUTO(run_clear) struct run empty = explain(POD("1"), "kind: Secret\n", "");

    (void)state;
    assert_int_equal(no_pod.code, EXIT_BAD_INPUT);
    assert_contains(no_pod.err, "no pod in it");
    assert_int_equal(broken.code, EXIT_BAD_INPUT);
    assert_contains(broken.err, "line");
    assert_int_equal(empty.code, EXIT_BAD_INPUT);
}

static void test_cli_run__explain_takes_a_policy_over_the_configured_one(void **state)
{
    AUTO(run_clear) struct run configured = explain(POD("1"), dump, "--criteria");
    AUTO(run_clear) struct run asked = explain(POD("1"), dump, "--criteria --policy spread");
    AUTO(run_clear) struct run misspelt = explain(POD("1"), dump, "--policy spraed");

    (void)state;
    assert_contains(configured.out, "\npack: ");
    assert_contains(asked.out, "\nspread: ");
    assert_int_equal(misspelt.code, EXIT_BAD_INPUT);
    assert_contains(misspelt.err, "--policy: there is no spraed; did you mean spread?");
}

static void test_cli_run__explain_reads_the_mix_that_is_given(void **state)
{
    AUTO(scratch_file_remove)
    char *config = scratch_file("packing: {workloadFile: /nowhere/jobs.csv}\n");
    AUTO_FREE char *option = xasprintf("--config %s", config);
    AUTO(run_clear) struct run ran = explain(POD("1"), dump, option);

    (void)state;
    assert_int_equal(ran.code, EXIT_BAD_INPUT);
    assert_contains(ran.err, "packing.workloadFile: /nowhere/jobs.csv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_run__tells_its_commands),
        cmocka_unit_test(test_cli_run__every_command_has_help),
        cmocka_unit_test(test_cli_run__wrong_usage_is_two_and_helps),
        cmocka_unit_test(test_cli_run__version_prints_one_line),
        cmocka_unit_test(test_cli_run__classes_lists_them_and_shows_what_it_reads_again),
        cmocka_unit_test(test_cli_run__a_bad_class_file_is_bad_input),
        cmocka_unit_test(test_cli_run__a_class_file_that_misspells_a_class_is_told_which),
        cmocka_unit_test(test_cli_run__a_class_that_is_not_there_is_bad_input),
        cmocka_unit_test(test_cli_run__check_config_prints_what_it_accepts_again),
        cmocka_unit_test(test_cli_run__check_config_refuses_what_serve_would_refuse),
        cmocka_unit_test(test_cli_run__files_are_relative_to_the_configuration_that_names_them),
        cmocka_unit_test(test_cli_run__check_config_names_file_line_and_key),
        cmocka_unit_test(test_cli_run__a_file_that_is_not_there_is_named_once),
        cmocka_unit_test(test_cli_run__reference_lists_names_one_a_line),
        cmocka_unit_test(test_cli_run__completion_offers_what_can_stand_there),
        cmocka_unit_test(test_cli_run__completion_knows_commands_and_options),
        cmocka_unit_test(test_cli_run__explain_shows_where_a_pod_would_go),
        cmocka_unit_test(
            test_cli_run__explain_takes_the_first_pod_that_asks_for_devices_and_says_so),
        cmocka_unit_test(test_cli_run__explain_says_what_is_wrong_with_its_files),
        cmocka_unit_test(test_cli_run__explain_takes_a_policy_over_the_configured_one),
        cmocka_unit_test(test_cli_run__explain_reads_the_mix_that_is_given),
    };

    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
