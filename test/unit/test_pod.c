/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/pod.h"

#include <stdlib.h>

static void bind_to(struct pod *pod, const char *node)
{
    free(pod->node);
    pod->node = xstrdup(node);
}

static void test_pod_holds_devices__from_binding_to_the_end(void **state)
{
    AUTO(pod_unref_pointer) struct pod *pod = pod_new("ns", "p", "u");

    (void)state;
    assert_false(pod_holds_devices(pod));
    bind_to(pod, "n1");
    assert_true(pod_holds_devices(pod));
    pod->deleting = true; /* its processes still run */
    assert_true(pod_holds_devices(pod));
    pod->finished = true;
    assert_false(pod_holds_devices(pod));
}

static void test_pod_bound__is_the_same_pod_on_a_node_without_a_record(void **state)
{
    AUTO(pod_unref_pointer) struct pod *pod = pod_new("ns", "p", "u");
    AUTO(pod_unref_pointer) struct pod *bound = NULL;

    (void)state;
    pod->priority = 7;
    pod->has_record = true;
    request_wish(&pod->request, (struct wish){.count = 2});
    bound = pod_bound(pod, "n1");
    assert_string_equal(bound->namespace, "ns");
    assert_string_equal(bound->name, "p");
    assert_string_equal(bound->uid, "u");
    assert_string_equal(bound->node, "n1");
    assert_int_equal(bound->priority, 7);
    assert_int_equal(bound->request.ask_count, 1);
    assert_false(bound->has_record);
}

static void test_pod_same_record__compares_presence_readability_and_content(void **state)
{
    AUTO(pod_unref_pointer) struct pod *a = pod_new("ns", "p", "u");
    AUTO(pod_unref_pointer) struct pod *b = pod_new("ns", "p", "u");

    (void)state;
    assert_true(pod_same_record(a, b));
    b->record_problem = xstrdup("line 1");
    assert_false(pod_same_record(a, b));
    a->record_problem = xstrdup("line 2");
    assert_true(pod_same_record(a, b));
    mem_free_pointer(&a->record_problem);
    mem_free_pointer(&b->record_problem);
    a->has_record = true;
    assert_false(pod_same_record(a, b));
    b->has_record = true;
    assert_true(pod_same_record(a, b));
    allocation_add_container(&b->record, "c", CONTAINER_APP);
    assert_false(pod_same_record(a, b));
}

static struct pod *asking_pod(void)
{
    struct pod *pod = pod_new("ns", "p", "u");

    request_wish(&pod->request, (struct wish){.count = 2, .mib = 1000});
    word_list_add(&pod->request.use_devices, "GPU-1");
    return pod;
}

/* One member of a pod is changed. */
enum change {
    NODE,
    NOMINATION,
    START,
    FINISHED,
    DELETING,
    INIT_DONE,
    GATED,
    PRIORITY,
    HOST,
    CONTAINER,
    ASK,
    AMOUNT,
    MODE,
    TIER,
    SOURCE,
    PACKING,
    ISOLATION,
    USE,
    WORD,
    AVOID,
    PRODUCTS,
    AVOID_PRODUCTS,
    PROBLEM,
    RECORD,
    CHANGES,
};

static void change(struct pod *pod, enum change what)
{
    struct request *request = &pod->request;
    const struct ask more = request->asks[0];

    switch (what) {
    case NODE:
        free(pod->node);
        pod->node = xstrdup("n1");
        break;
    case NOMINATION:
        pod->nominated = xstrdup("n1");
        break;
    case START:
        pod->started_s = 1;
        break;
    case FINISHED:
        pod->finished = true;
        break;
    case DELETING:
        pod->deleting = true;
        break;
    case INIT_DONE:
        pod->init_done = true;
        break;
    case GATED:
        pod->gated = true;
        break;
    case PRIORITY:
        pod->priority = -1;
        break;
    case HOST:
        pod->host.cpu_milli = 1;
        break;
    case CONTAINER:
        request_add_container(request, "idle", CONTAINER_APP);
        break;
    case ASK:
        request_add_ask(request, &more);
        break;
    case AMOUNT:
        request->asks[0].memory++;
        break;
    case MODE:
        request->topology.mode = TOPOLOGY_HARD;
        break;
    case TIER:
        request->topology.has_max_tier = true;
        break;
    case SOURCE:
        request->topology.source = SOURCE_NUMA;
        break;
    case PACKING:
        request->has_packing = true;
        break;
    case ISOLATION:
        request->isolation = ISOLATION_HARD;
        break;
    case USE:
        word_list_add(&request->use_devices, "GPU-2");
        break;
    case WORD:
        request->use_devices.items[0][4] = '3';
        break;
    case AVOID:
        word_list_add(&request->avoid_devices, "GPU-2");
        break;
    case PRODUCTS:
        word_list_add(&request->use_products, "A100");
        break;
    case AVOID_PRODUCTS:
        word_list_add(&request->avoid_products, "A100");
        break;
    case PROBLEM:
        request_set_problem(request, "not so");
        break;
    case RECORD:
        pod->has_record = true;
        break;
    case CHANGES:
        break;
    }
}

static void test_pod_equal__sees_each_change(void **state)
{
    (void)state;
    for (unsigned what = 0; what <= CHANGES; what++) {
        AUTO(pod_unref_pointer) struct pod *a = asking_pod();
        AUTO(pod_unref_pointer) struct pod *b = asking_pod();

        change(b, (enum change)what);
        if (pod_equal(a, b) != (what == CHANGES))
            fail_msg("change %u", what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod_holds_devices__from_binding_to_the_end),
        cmocka_unit_test(test_pod_bound__is_the_same_pod_on_a_node_without_a_record),
        cmocka_unit_test(test_pod_equal__sees_each_change),
        cmocka_unit_test(test_pod_same_record__compares_presence_readability_and_content),
    };

    return cmocka_run_group_tests_name("pod", tests, NULL, NULL);
}
