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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod_holds_devices__from_binding_to_the_end),
        cmocka_unit_test(test_pod_bound__is_the_same_pod_on_a_node_without_a_record),
        cmocka_unit_test(test_pod_same_record__compares_presence_readability_and_content),
    };

    return cmocka_run_group_tests_name("pod", tests, NULL, NULL);
}
