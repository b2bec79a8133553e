/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/kube_words.h"
#include "support/test.h"

#include "topofit/dialect.h"

#include <stdlib.h>

static void set_text(char **field, const char *text)
{
    free(*field);
    *field = xstrdup(text);
}

static void test_dialect_node__keeps_labels_sorted_and_the_cordon(void **state)
{
    AUTO(kube_node_clear) struct kube_node kube;
    AUTO(node_unref_pointer) struct node *node = NULL;

    (void)state;
    kube_node_init(&kube);
    set_text(&kube.meta.name, "n1");
    set_text(&kube.meta.uid, "u1");
    kube.unschedulable = true;
    kube_pairs_add(&kube.meta.labels, "zone", "a");
    kube_pairs_add(&kube.meta.labels, "arch", "arm64");
    node = dialect_node(&kube, &test_classes);
    assert_string_equal(node->name, "n1");
    assert_string_equal(node->uid, "u1");
    assert_true(node->unschedulable);
    assert_false(node->has_inventory);
    assert_string_equal(node->labels->items[0].key->chars, "arch");
    assert_string_equal(node_label(node, "zone"), "a");
}

static struct kube_container *add_container(struct kube_pod *kube, enum container_kind kind,
                                            const char *cpu, const char *memory)
{
    struct kube_container *container;

    kube->containers = mem_grow(kube->containers, kube->container_count, &kube->container_capacity,
                                sizeof *kube->containers);
    container = &kube->containers[kube->container_count++];
    *container = (struct kube_container){.name = xstrdup("c"), .kind = kind};
    kube_pairs_add(&container->requests, "cpu", cpu);
    kube_pairs_add(&container->requests, "memory", memory);
    return container;
}

static void test_dialect_pod__takes_of_its_host_what_its_greatest_phase_takes(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod kube;
    AUTO(pod_unref_pointer) struct pod *pod = NULL;

    (void)state;
    kube_pod_init(&kube);
    add_container(&kube, CONTAINER_SIDECAR, "100m", "1Gi");
    add_container(&kube, CONTAINER_INIT, "3", "1Gi");
    add_container(&kube, CONTAINER_APP, "1", "2Gi");
    add_container(&kube, CONTAINER_APP, "1500m", "1");
    kube_pairs_add(&kube.overhead, "cpu", "50m");
    pod = dialect_pod(&kube, &test_classes);
    assert_int_equal(pod->host.cpu_milli, 3100 + 50);
    assert_int_equal(pod->host.memory_mib, 3 * 1024 + 1);
}

static void test_dialect_pod__takes_of_its_host_what_it_asks_as_a_whole(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod kube;
    AUTO(pod_unref_pointer) struct pod *pod = NULL;

    (void)state;
    kube_pod_init(&kube);
    add_container(&kube, CONTAINER_APP, "1", "2Gi");
    kube_pairs_add(&kube.requests, "cpu", "4");
    pod = dialect_pod(&kube, &test_classes);
    assert_int_equal(pod->host.cpu_milli, 4000);
    assert_int_equal(pod->host.memory_mib, 2048);
}

static void test_dialect_node__has_the_host_that_is_allocatable(void **state)
{
    AUTO(kube_node_clear) struct kube_node kube;
    AUTO(node_unref_pointer) struct node *node = NULL;

    (void)state;
    kube_node_init(&kube);
    kube_pairs_add(&kube.allocatable, "cpu", "95500m");
    kube_pairs_add(&kube.allocatable, "memory", "lots");
    node = dialect_node(&kube, &test_classes);
    assert_int_equal(node->host.cpu_milli, 95500);
    assert_int_equal(node->host.memory_mib, 0);
}

static void test_dialect_pod__is_finished_when_its_phase_says_so(void **state)
{
    static const struct {
        const char *phase;
        bool finished;
    } cases[] = {{"Pending", false}, {"Running", false},  {"Unknown", false}, {"", false},
                 {"Failed", true},   {"Succeeded", true}, {"failed", false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(kube_pod_clear) struct kube_pod kube;
        AUTO(pod_unref_pointer) struct pod *pod = NULL;

        kube_pod_init(&kube);
        set_text(&kube.phase, cases[i].phase);
        pod = dialect_pod(&kube, &test_classes);
        assert_int_equal(pod->finished, cases[i].finished);
    }
}

static void test_dialect_pod__init_is_done_when_all_steps_ended_well(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod kube;

    (void)state;
    kube_pod_init(&kube);
    kube_pod_ask(&kube, CONTAINER_INIT, "");
    kube_pod_ask(&kube, CONTAINER_SIDECAR, ""); /* never ends */
    kube_pod_ask(&kube, CONTAINER_INIT, "");
    kube_pod_ask(&kube, CONTAINER_APP, "");
    for (int ended = 0; ended < 4; ended++) {
        AUTO(pod_unref_pointer) struct pod *pod = NULL;

        kube.containers[0].terminated_ok = ended & 1;
        kube.containers[2].terminated_ok = ended & 2;
        pod = dialect_pod(&kube, &test_classes);
        assert_int_equal(pod->init_done, ended == 3);
    }
}

static void test_dialect_pod__has_its_devices_when_it_runs_or_its_bind_phase_says_so(void **state)
{
    static const struct {
        const char *node, *phase, *bind_phase;
        bool handed_out;
    } cases[] = {
        {"n1", "Pending", NULL, false},
        {"n1", "Pending", "allocating", false},
        {"n1", "Pending", "success", true},
        {"n1", "Pending", "failed", true},
        {"n1", "Pending", "nonsense", false},
        {"n1", "Running", "allocating", true},
        {"n1", "Running", NULL, true},
        {"n1", "Failed", "allocating", true},
        {"n1", "", NULL, false},
        {"", "Pending", "success", false}, /* of a try before */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(kube_pod_clear) struct kube_pod kube;
        AUTO(pod_unref_pointer) struct pod *pod = NULL;

        kube_pod_init(&kube);
        set_text(&kube.node_name, cases[i].node);
        set_text(&kube.phase, cases[i].phase);
        if (cases[i].bind_phase != NULL)
            kube_pairs_add(&kube.meta.annotations, "hami.io/bind-phase", cases[i].bind_phase);
        pod = dialect_pod(&kube, &test_classes);
        assert_int_equal(pod->handed_out, cases[i].handed_out);
    }
}

static void test_dialect_pod__carries_over_what_kubernetes_says(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod kube;
    AUTO(pod_unref_pointer) struct pod *pod = NULL;

    (void)state;
    kube_pod_init(&kube);
    set_text(&kube.meta.namespace, "ns");
    set_text(&kube.meta.name, "p");
    set_text(&kube.meta.uid, "u");
    set_text(&kube.node_name, "n1");
    kube.meta.deleting = kube.gated = true;
    kube.priority = -7;
    pod = dialect_pod(&kube, &test_classes);
    assert_string_equal(pod->namespace, "ns");
    assert_string_equal(pod->node, "n1");
    assert_true(pod->deleting && pod->gated && pod->init_done);
    assert_int_equal(pod->priority, -7);
    assert_false(pod->has_record);
    assert_null(pod->record_problem);
}

static void test_dialect_pod__keeps_why_a_record_cannot_be_read(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod kube;
    AUTO(pod_unref_pointer) struct pod *pod = NULL;

    (void)state;
    kube_pod_init(&kube);
    kube_pod_annotate(&kube, dialect_record_key(), "{\"version\":1,");
    pod = dialect_pod(&kube, &test_classes);
    assert_false(pod->has_record);
    assert_contains(pod->record_problem, "line 1");
}

static void test_dialect_request__a_pod_that_was_cut_cannot_be_served(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod kube;
    AUTO(request_clear) struct request request;

    (void)state;
    kube_pod_init(&kube);
    kube_pod_ask(&kube, CONTAINER_APP, "nvidia.com/gpu=1");
    kube.truncated = true;
    dialect_request(&kube, &test_classes, &request);
    assert_non_null(request.problem);
}

static void test_dialect_request__a_pod_without_room_for_its_record_cannot_be_served(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod kube;
    AUTO(request_clear) struct request request;
    AUTO_FREE char *long_text = xcalloc(64 * 1024 + 1, 1);

    (void)state;
    memset(long_text, 'x', 64 * 1024);
    kube_pod_init(&kube);
    kube_pod_ask(&kube, CONTAINER_APP, "nvidia.com/gpu=1");
    kube_pairs_add(&kube.meta.annotations, "example.com/long", long_text);
    dialect_request(&kube, &test_classes, &request);
    assert_contains(request.problem, "annotations");
}

/* Nothing is decided about it, so whole lists of devices are not worth their memory. */
static void test_dialect_pod__with_a_problem_keeps_no_lists_of_devices(void **state)
{
    (void)state;
    for (unsigned broken = 0; broken < 2; broken++) {
        AUTO(kube_pod_clear) struct kube_pod kube;
        AUTO(pod_unref_pointer) struct pod *pod = NULL;

        kube_pod_init(&kube);
        kube_pod_ask(&kube, CONTAINER_APP, "nvidia.com/gpu=1");
        kube_pairs_add(&kube.meta.annotations, "topofit.io/use-devices", "GPU-a,GPU-b");
        kube_pairs_add(&kube.meta.annotations, "topofit.io/topology", broken ? "x" : "hard");
        pod = dialect_pod(&kube, &test_classes);
        assert_int_equal(pod->request.problem != NULL, broken);
        assert_int_equal(pod->request.use_devices.count, broken ? 0 : 2);
    }
}

static void test_dialect_node__that_was_cut_gives_nothing_out(void **state)
{
    AUTO(kube_node_clear) struct kube_node kube;
    AUTO(node_unref_pointer) struct node *node = NULL;

    (void)state;
    kube_node_init(&kube);
    kube_pairs_add(&kube.meta.annotations, "topofit.io/inventory",
                   "{\"devices\":[{\"id\":\"a\",\"memoryMiB\":1}]}");
    kube.truncated = true; /* a cordon was left out, say */
    node = dialect_node(&kube, &test_classes);
    assert_int_equal(node->device_count, 0);
    assert_non_null(node->problem);
}

static void test_dialect_write_record__writes_what_is_read_back(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod kube;
    AUTO(pod_unref_pointer) struct pod *pod = NULL;
    AUTO(allocation_clear) struct allocation record;
    struct error err = {0};

    (void)state;
    allocation_init(&record);
    set_text(&record.node, "n1");
    allocation_add_container(&record, "main", CONTAINER_APP);
    record_line(&record, "GPU-a", 1, 2, ISOLATION_HARD);
    kube_pod_init(&kube);
    assert_ok(dialect_write_record(&(struct dialect_placement){.allocation = &record},
                                   &kube.meta.annotations, &err),
              &err);
    assert_non_null(kube_pairs_get(&kube.meta.annotations, dialect_record_key()));
    pod = dialect_pod(&kube, &test_classes);
    assert_true(pod->has_record);
    assert_true(allocation_equal(&pod->record, &record));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dialect_node__keeps_labels_sorted_and_the_cordon),
        cmocka_unit_test(test_dialect_pod__takes_of_its_host_what_its_greatest_phase_takes),
        cmocka_unit_test(test_dialect_pod__takes_of_its_host_what_it_asks_as_a_whole),
        cmocka_unit_test(test_dialect_node__has_the_host_that_is_allocatable),
        cmocka_unit_test(test_dialect_pod__is_finished_when_its_phase_says_so),
        cmocka_unit_test(test_dialect_pod__init_is_done_when_all_steps_ended_well),
        cmocka_unit_test(test_dialect_pod__has_its_devices_when_it_runs_or_its_bind_phase_says_so),
        cmocka_unit_test(test_dialect_pod__carries_over_what_kubernetes_says),
        cmocka_unit_test(test_dialect_pod__keeps_why_a_record_cannot_be_read),
        cmocka_unit_test(test_dialect_request__a_pod_that_was_cut_cannot_be_served),
        cmocka_unit_test(test_dialect_request__a_pod_without_room_for_its_record_cannot_be_served),
        cmocka_unit_test(test_dialect_pod__with_a_problem_keeps_no_lists_of_devices),
        cmocka_unit_test(test_dialect_node__that_was_cut_gives_nothing_out),
        cmocka_unit_test(test_dialect_write_record__writes_what_is_read_back),
    };

    return cmocka_run_group_tests_name("dialect", tests, NULL, NULL);
}
