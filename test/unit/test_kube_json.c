/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/kube_json.h"

#include <stdlib.h>

/* The body in a captured exchange: what stands behind the status line. */
static const char *body_of(const char *exchange)
{
    const char *status = strstr(exchange, "-> HTTP ");

    assert_non_null(status);
    return strchr(status, '\n') + 1;
}

static struct error read_error(enum kube_kind kind, const char *json)
{
    AUTO(kube_object_clear) struct kube_object object = {0};
    struct error err = {0};

    assert_true(kube_json_read_object(kind, json, strlen(json), &object, &err) < 0);
    return err;
}

static void test_kube_json_read_object__reads_a_pod_of_a_real_server(void **state)
{
    AUTO_FREE char *exchange = test_read_file(TEST_DATA "/captured/api/pod-get-bound.txt", NULL);
    AUTO(kube_object_clear) struct kube_object object = {0};
    const char *json = body_of(exchange);
    struct error err = {0};

    (void)state;
    assert_ok(kube_json_read_object(KUBE_POD, json, strlen(json), &object, &err), &err);
    assert_string_equal(object.pod.meta.name, "p1");
    assert_string_equal(object.pod.meta.uid, "c1acd88f-a28c-4445-b9c2-73ab9fe53709");
    assert_string_equal(kube_pairs_get(&object.pod.meta.annotations, "topofit.test/gpus"), "GPU-0");
    assert_string_equal(object.pod.node_name, "n0");
    assert_int_equal(object.pod.container_count, 1);
    assert_string_equal(kube_pairs_get(&object.pod.containers[0].limits, "cpu"), "1");
    assert_string_equal(kube_object_meta(&object)->resource_version, "215");
}

static void test_kube_json_read_object__reads_a_node_of_a_real_server(void **state)
{
    AUTO_FREE char *exchange = test_read_file(TEST_DATA "/captured/api/node-get.txt", NULL);
    AUTO(kube_object_clear) struct kube_object object = {0};
    const char *json = body_of(exchange);
    struct error err = {0};

    (void)state;
    assert_ok(kube_json_read_object(KUBE_NODE, json, strlen(json), &object, &err), &err);
    assert_string_equal(kube_object_meta(&object)->name, "n0");
    assert_string_equal(kube_pairs_get(&object.node.allocatable, "example.com/gpu"), "8");
    assert_string_equal(kube_pairs_get(&object.node.meta.labels, "kubernetes.io/os"), "linux");
    assert_false(object.node.unschedulable);
}

static void test_kube_json_read_object__reads_a_cordoned_node(void **state)
{
    static const char json[] = "{\"status\":{\"allocatable\":{\"x\":8}},"
                               "\"spec\":{\"unschedulable\":true},\"metadata\":{\"name\":\"n\"}}";
    AUTO(kube_object_clear) struct kube_object object = {0};
    struct error err = {0};

    (void)state;
    assert_ok(kube_json_read_object(KUBE_NODE, json, strlen(json), &object, &err), &err);
    assert_true(object.node.unschedulable);
    assert_string_equal(kube_pairs_get(&object.node.allocatable, "x"), "8");
}

static void test_kube_json_read_object__refuses_another_kind_and_no_name(void **state)
{
    (void)state;
    assert_contains(read_error(KUBE_POD, "{\"kind\":\"Status\",\"metadata\":{}}").text,
                    "a Pod was expected, not a \"Status\"");
    assert_contains(read_error(KUBE_NODE, "{\"metadata\":{\"name\":\"p\"},\"kind\":\"Pod\"}").text,
                    "a Node was expected");
    assert_contains(read_error(KUBE_POD, "{\"kind\":\"Pod\"}").text, "without a name");
    assert_contains(read_error(KUBE_POD, "{}").text, "without a name");
    assert_int_equal(read_error(KUBE_POD, "[]").code, ERR_INVALID);
    assert_int_equal(read_error(KUBE_NODE, "").code, ERR_INVALID);
}

static void test_kube_json_read_object__leaves_the_output_alone_on_failure(void **state)
{
    AUTO(kube_object_clear) struct kube_object object = {0};
    static const char right[] = "{\"metadata\":{\"name\":\"right\"}}";
    static const char wrong[] = "{\"metadata\":{\"name\":\"wrong\"}";
    struct error err = {0};

    (void)state;
    assert_ok(kube_json_read_object(KUBE_POD, right, strlen(right), &object, &err), &err);
    assert_true(kube_json_read_object(KUBE_POD, wrong, strlen(wrong), &object, &err) < 0);
    assert_string_equal(object.pod.meta.name, "right");
}

static void test_kube_object_init__makes_an_empty_object_of_a_kind(void **state)
{
    AUTO(kube_object_clear) struct kube_object pod, node;

    (void)state;
    kube_object_init(&pod, KUBE_POD);
    kube_object_init(&node, KUBE_NODE);
    assert_string_equal(kube_object_meta(&pod)->uid, "");
    assert_string_equal(kube_object_meta(&node)->uid, "");
    kube_object_clear(&pod);
}

static void test_kube_json_write_binding__says_pod_uid_node_and_annotations(void **state)
{
    struct bind_job *job = bind_job_new("ns", "p", "u-1", "n1");
    AUTO(buf_clear) struct buf out = buf_with_max(10000);

    (void)state;
    bind_job_add_annotation(job, "topofit.io/allocation", "{\"version\":1}");
    bind_job_add_annotation(job, "b", "line\nbreak");
    kube_json_write_binding(&out, job);
    bind_job_free(job);
    assert_string_equal(buf_text(&out),
                        "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\","
                        "\"namespace\":\"ns\",\"uid\":\"u-1\",\"annotations\":{"
                        "\"topofit.io/allocation\":\"{\\\"version\\\":1}\","
                        "\"b\":\"line\\u000abreak\"}},"
                        "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n1\"}}");
}

static void test_kube_json_write_binding__takes_no_annotations(void **state)
{
    struct bind_job *job = bind_job_new("ns", "p", "u", "n");
    AUTO(buf_clear) struct buf out = buf_with_max(10000);

    (void)state;
    kube_json_write_binding(&out, job);
    bind_job_free(job);
    assert_contains(buf_text(&out), "\"annotations\":{}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kube_json_read_object__reads_a_pod_of_a_real_server),
        cmocka_unit_test(test_kube_json_read_object__reads_a_node_of_a_real_server),
        cmocka_unit_test(test_kube_json_read_object__reads_a_cordoned_node),
        cmocka_unit_test(test_kube_json_read_object__refuses_another_kind_and_no_name),
        cmocka_unit_test(test_kube_json_read_object__leaves_the_output_alone_on_failure),
        cmocka_unit_test(test_kube_object_init__makes_an_empty_object_of_a_kind),
        cmocka_unit_test(test_kube_json_write_binding__says_pod_uid_node_and_annotations),
        cmocka_unit_test(test_kube_json_write_binding__takes_no_annotations),
    };

    return cmocka_run_group_tests_name("kube_json", tests, NULL, NULL);
}
