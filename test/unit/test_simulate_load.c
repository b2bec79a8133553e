/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a simulation; and topofit's own way, which needs a cluster that can bind. */
#include "support/scratch.h"
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/embedded.h"
#include "topofit/history.h"
#include "topofit/simulate_load.h"

#include <stdlib.h>

#define MATRICES TEST_DATA "/topologies/"

/* A topofit in memory with what was read. */
struct loaded {
    struct class_table classes;
    struct embedded_port port;
    struct extender extender;
    struct simulation simulation;
};

static void loaded_clear(struct loaded *loaded)
{
    simulation_clear(&loaded->simulation);
    cluster_free(loaded->extender.cluster);
    history_free(loaded->extender.history);
    gputopo_memo_free(loaded->extender.memo);
    class_table_clear(&loaded->classes);
}

static int load(struct loaded *out, const char *jobs, const char *nodes_name, const char *nodes,
                struct error *err)
{
    const struct hash_key key = {{1, 2}};
    AUTO(buf_clear) struct buf jobs_text = buf_with_max(1 << 20);
    AUTO(buf_clear) struct buf nodes_text = buf_with_max(1 << 20);
    const struct simulate_file jobs_file = {"jobs.csv", &jobs_text};
    const struct simulate_file nodes_file = {nodes_name, &nodes_text};

    *out = (struct loaded){0};
    classes_builtin(&out->classes);
    out->extender = (struct extender){.cluster = cluster_new(&key),
                                      .classes = &out->classes,
                                      .history = history_new(&key),
                                      .memo = gputopo_memo_new(64),
                                      .options.policy = decide_policy_default()};
    out->port = (struct embedded_port){out->extender.cluster, &out->classes};
    out->extender.binder = embedded_bind_port(&out->port);
    buf_add_text(&jobs_text, jobs);
    buf_add_text(&nodes_text, nodes);
    return simulate_load(&jobs_file, &nodes_file, &out->classes, out->extender.cluster,
                         &out->simulation, err);
}

static struct simulate_report run(struct loaded *loaded)
{
    struct simulate_report report;
    struct error err = {0};

    assert_ok(
        simulate_run(&loaded->simulation, SIMULATE_TOPOFIT, &loaded->extender, NULL, &report, &err),
        &err);
    assert_int_equal(report.illegal, 0);
    assert_int_equal(report.refused, 0);
    return report;
}

/* --- loading --------------------------------------------------------------------------------- */

static void test_simulate_load__a_row_is_as_many_nodes_as_it_says(void **state)
{
    static const char nodes[] =
        "name,count,gpus,cpu_milli,memory_mib,model,gpu_memory_mib,topology\n"
        "b,,2,4000,1024,T4,16384,\n"
        "a,12,,,,A40,," MATRICES "16-8xa40-nvlink-bridge-pairs.txt\n";
    AUTO(loaded_clear) struct loaded loaded;
    const struct simulate_machine *machines;
    struct error err = {0};

    (void)state;
    assert_ok(load(&loaded, "gpus\n1\n", "nodes.csv", nodes, &err), &err);
    machines = loaded.simulation.machines;
    assert_int_equal(loaded.simulation.machine_count, 13);
    assert_string_equal(machines[0].node->name, "a-00");
    assert_string_equal(machines[11].node->name, "a-11");
    assert_int_equal(machines[0].node->device_count, 8);
    assert_string_equal(peers_link(machines[0].node->graph, 0, 1)->name, "NV4");
    assert_true(machines[0].cpu_milli == MACHINE_UNLIMITED);
    assert_ptr_equal(machines[0].node->graph, machines[11].node->graph);
    assert_int_equal(machines[12].cpu_milli, 4000);
    assert_int_equal(machines[12].memory_mib, 1024);
    assert_int_equal(machines[12].node->devices[1].memory_mib, 16384);
    assert_string_equal(machines[12].node->devices[1].product->chars, "T4");
}

static void test_simulate_load__a_matrix_is_looked_for_beside_the_list(void **state)
{
    char *folder = scratch_make();
    AUTO_FREE char *list = scratch_path(folder, "nodes.csv");
    AUTO(loaded_clear) struct loaded loaded;
    struct error err = {0};

    (void)state;
    scratch_put(folder, "pair.txt", "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n");
    assert_ok(load(&loaded, "gpus\n1\n", list, "name,topology\nn,pair.txt\n", &err), &err);
    assert_int_equal(loaded.simulation.machines[0].node->device_count, 2);
    scratch_remove(folder);
}

static const char dump[] =
    "# a dump: two nodes, a pod\n"
    "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n  annotations:\n"
    "    topofit.io/inventory: '{\"devices\":[{\"id\":\"GPU-a\",\"memoryMiB\":1000},"
    "{\"id\":\"GPU-b\",\"memoryMiB\":1000}]}'\n"
    "status: {allocatable: {cpu: \"4\", memory: 8Gi}}\n"
    "---\n"
    "apiVersion: v1\nkind: Node\nmetadata: {name: n2}\nspec: {unschedulable: true}\n"
    "---\n"
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: d, uid: u, annotations: {"
    "topofit.io/allocation: "
    "'{\"version\":1,\"node\":\"n1\",\"tier\":0,\"containers\":[{\"name\":\"c\","
    "\"kind\":\"app\",\"devices\":[{\"id\":\"GPU-a\",\"memoryMiB\":1000,\"cores\":100,\"slots\":1,"
    "\"mode\":\"shared\"}]}]}'}}\n"
    "spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 1500m, memory: 1Gi},"
    " limits: {nvidia.com/gpu: 1}}}]}\n";

static void test_simulate_load__a_dump_has_its_pods_and_its_cordons(void **state)
{
    AUTO(loaded_clear) struct loaded loaded;
    struct simulate_report report;
    struct error err = {0};

    (void)state;
    assert_ok(load(&loaded, "gpus\n1\n1\n", "dump.yaml", dump, &err), &err);
    assert_int_equal(loaded.simulation.machine_count, 1);
    assert_int_equal(loaded.simulation.machines[0].cpu_milli, 2500);
    assert_int_equal(loaded.simulation.machines[0].memory_mib, 7168);
    report = run(&loaded);
    assert_int_equal(report.placed, 1);
    assert_int_equal(report.never, 1);
    assert_true(report.alloc_end == 1);
}

static void test_simulate_load__what_is_wrong_is_told_with_file_and_place(void **state)
{
    static const struct {
        const char *jobs, *nodes, *complaint;
    } cases[] = {
        {"gpu\n1\n", "name,gpus\nn,1\n", "jobs.csv: header, column 1: unknown column gpu; did"},
        {"gpus\n-1\n", "name,gpus\nn,1\n", "jobs.csv: line 2, column 1 (gpus): -1 is negative"},
        {"gpus\n", "name,gpus\nn,1\n", "jobs.csv: there are no rows"},
        {"gpus\n1\n", "name,gpu\nn,1\nn,1\n", "nodes.csv: line 3: there is a machine n already"},
        {"gpus\n1\n", "name,gpu\nn,0\n", "nodes.csv: no node has GPUs"},
        {"gpus\n1\n", "", "nodes.csv: it is empty"},
        {"gpus\n1\n", "kind: Node\n", "nodes.csv: "},
        {"gpus,gpu_memory\n1,4\n", "name,gpu\nn,1\n",
         "jobs.csv: line 2: job line-2 asks for gpu_memory, but the nodes do not tell theirs"},
        {"gpus\n1\n", "name,topology\nn,/nowhere/x.txt\n", "nodes.csv: line 2, topology: "},
        {"gpus\n1\n", "name,topology\nn," TEST_DATA "/cases/07-pod-memory-units.yaml\n",
         "nodes.csv: line 2, topology: " TEST_DATA "/cases/07-pod-memory-units.yaml: "},
        {"gpus\n1\n", "name,gpus,topology\nn,4," MATRICES "12-2x5090-phb.txt\n",
         "nodes.csv: line 2: n has 4 GPUs, but the matrix in "},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(loaded_clear) struct loaded loaded;
        struct error err = {0};

        assert_true(load(&loaded, cases[i].jobs, "nodes.csv", cases[i].nodes, &err) < 0);
        assert_contains(err.text, cases[i].complaint);
    }
}

/* --- topofit's way --------------------------------------------------------------------------- */

static const char pairs[] = "name,count,topology\n"
                            "a40,2," MATRICES "16-8xa40-nvlink-bridge-pairs.txt\n";

static void test_simulate_run__topofit_keeps_pairs_together_beside_single_gpus(void **state)
{
    AUTO(loaded_clear) struct loaded loaded;
    struct simulate_report report;
    struct error err = {0};

    (void)state;
    assert_ok(load(&loaded, "gpus\n1\n2\n1\n2\n2\n2\n4\n", "nodes.csv", pairs, &err), &err);
    report = run(&loaded);
    assert_int_equal(report.placed, 7);
    assert_int_equal(report.by_size[2].jobs, 4);
    assert_int_equal(report.by_size[2].best, 4);
}

static void test_simulate_run__topofit_gives_back_what_leaves(void **state)
{
    AUTO(loaded_clear) struct loaded loaded;
    struct simulate_report report;
    struct error err = {0};

    (void)state;
    assert_ok(load(&loaded,
                   "arrival_s,duration_s,gpus,gpu_milli\n"
                   "0,10,8,\n0,10,8,\n1,10,8,\n2,10,1,250\n3,10,0,\n",
                   "nodes.csv", pairs, &err),
              &err);
    report = run(&loaded);
    assert_int_equal(report.placed, 5);
    assert_true(report.wait_max_s == 9);
}

static void test_simulate_run__topofit_honours_what_jobs_demand(void **state)
{
    AUTO(loaded_clear) struct loaded loaded;
    struct simulate_report report;
    struct error err = {0};

    (void)state;
    /* Four GPUs are never all joined by NVLink here. */
    assert_ok(load(&loaded, "gpus,topology,topology_max_tier\n4,hard,0\n2,hard,0\n4,soft,\n",
                   "nodes.csv", pairs, &err),
              &err);
    report = run(&loaded);
    assert_int_equal(report.placed, 2);
    assert_int_equal(report.first_never, 0);
}

/* --- classes --------------------------------------------------------------------------------- */

static void test_simulate_load__jobs_are_of_the_class_that_they_name(void **state)
{
    AUTO(loaded_clear) struct loaded loaded = {0};
    struct error err = {0};
    struct simulate_report report;

    (void)state;
    assert_ok(load(&loaded, "gpus,class\n2,ascend-910b2\n", "n.csv",
                   "name,gpus,class,gpu_memory_mib\nn1,2,ascend-910b2,65536\nn2,6,,1000\n", &err),
              &err);
    report = run(&loaded);
    assert_int_equal(report.placed, 1);
    /* GPUs of other classes are not in the totals. */
    assert_true(report.alloc_peak > 0.999);
}

static void test_simulate_load__classes_that_cannot_be_simulated_are_refused(void **state)
{
    static const struct {
        const char *jobs, *complaint;
    } cases[] = {
        {"gpus,class\n1,nvidia\n0,\n1,amd\n", "simulate one class at a time"},
        {"gpus,class\n1,nvidea\n", "line 2: there is no class nvidea; did you mean nvidia?"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(loaded_clear) struct loaded loaded = {0};
        struct error err = {0};

        assert_int_equal(load(&loaded, cases[i].jobs, "n.csv", "name,gpus\nn,8\n", &err),
                         -ERR_INVALID);
        assert_contains(err.text, cases[i].complaint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simulate_load__jobs_are_of_the_class_that_they_name),
        cmocka_unit_test(test_simulate_load__classes_that_cannot_be_simulated_are_refused),
        cmocka_unit_test(test_simulate_load__a_row_is_as_many_nodes_as_it_says),
        cmocka_unit_test(test_simulate_load__a_matrix_is_looked_for_beside_the_list),
        cmocka_unit_test(test_simulate_load__a_dump_has_its_pods_and_its_cordons),
        cmocka_unit_test(test_simulate_load__what_is_wrong_is_told_with_file_and_place),
        cmocka_unit_test(test_simulate_run__topofit_keeps_pairs_together_beside_single_gpus),
        cmocka_unit_test(test_simulate_run__topofit_gives_back_what_leaves),
        cmocka_unit_test(test_simulate_run__topofit_honours_what_jobs_demand),
    };

    return cmocka_run_group_tests_name("simulate_load", tests, NULL, NULL);
}
