/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/kube_object.h"

static void test_kube_pairs_get__finds_the_last_of_a_repeated_key(void **state)
{
    AUTO(kube_pairs_clear) struct kube_pairs pairs = {0};

    (void)state;
    kube_pairs_add(&pairs, "a", "1");
    kube_pairs_add(&pairs, "b", "2");
    kube_pairs_add(&pairs, "a", "3");
    assert_string_equal(kube_pairs_get(&pairs, "a"), "3");
    assert_string_equal(kube_pairs_get(&pairs, "b"), "2");
    assert_null(kube_pairs_get(&pairs, "c"));
}

static void test_kube_pairs_get__finds_nothing_in_an_empty_list(void **state)
{
    (void)state;
    assert_null(kube_pairs_get(&(struct kube_pairs){0}, "a"));
}

static void test_kube_pairs_add__copies_key_and_value(void **state)
{
    AUTO(kube_pairs_clear) struct kube_pairs pairs = {0};
    char key[] = "key", value[] = "value";

    (void)state;
    kube_pairs_add(&pairs, key, value);
    key[0] = value[0] = 'x';
    assert_string_equal(kube_pairs_get(&pairs, "key"), "value");
}

static void test_kube_pod_init__leaves_no_string_null(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod pod;

    (void)state;
    kube_pod_init(&pod);
    assert_string_equal(pod.meta.name, "");
    assert_string_equal(pod.meta.namespace, "");
    assert_string_equal(pod.meta.uid, "");
    assert_string_equal(pod.meta.resource_version, "");
    assert_string_equal(pod.node_name, "");
    assert_string_equal(pod.phase, "");
    assert_string_equal(pod.nominated_node, "");
    assert_string_equal(pod.scheduler_name, "");
}

static void test_kube_node_init__leaves_no_string_null(void **state)
{
    AUTO(kube_node_clear) struct kube_node node;

    (void)state;
    kube_node_init(&node);
    assert_string_equal(node.meta.name, "");
    assert_string_equal(node.meta.resource_version, "");
}

static void test_clear__accepts_zeroed_and_cleared_objects(void **state)
{
    struct kube_pod pod = {0};
    struct kube_node node = {0};

    (void)state;
    kube_pod_clear(&pod);
    kube_node_clear(&node);
    kube_pod_init(&pod);
    kube_pod_clear(&pod);
    kube_pod_clear(&pod);
    assert_null(pod.meta.name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kube_pairs_get__finds_the_last_of_a_repeated_key),
        cmocka_unit_test(test_kube_pairs_get__finds_nothing_in_an_empty_list),
        cmocka_unit_test(test_kube_pairs_add__copies_key_and_value),
        cmocka_unit_test(test_kube_pod_init__leaves_no_string_null),
        cmocka_unit_test(test_kube_node_init__leaves_no_string_null),
        cmocka_unit_test(test_clear__accepts_zeroed_and_cleared_objects),
    };

    return cmocka_run_group_tests_name("kube_object", tests, NULL, NULL);
}
