/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/kube_json.h"

#include <stdlib.h>

static struct kube_object read_pod(const char *json)
{
    struct kube_object object = {0};
    struct error err = {0};

    assert_ok(kube_json_read_object(KUBE_POD, json, strlen(json), &object, &err), &err);
    return object;
}

/* name:kind and flags of each container: a app, i init, s sidecar; + started, 0 ended well. */
static void assert_containers(const char *json, const char *want)
{
    static const char kinds[] = {
        [CONTAINER_APP] = 'a', [CONTAINER_INIT] = 'i', [CONTAINER_SIDECAR] = 's'};
    AUTO(kube_object_clear) struct kube_object object = read_pod(json);
    char got[512] = "";

    for (size_t i = 0; i < object.pod.container_count; i++) {
        const struct kube_container *container = &object.pod.containers[i];
        size_t used = strlen(got);

        snprintf(got + used, sizeof got - used, "%s%s:%c%s%s", i > 0 ? " " : "", container->name,
                 kinds[container->kind], container->started ? "+" : "",
                 container->terminated_ok ? "0" : "");
    }
    assert_string_equal(got, want);
    assert_false(object.pod.truncated);
}

static void test_pod__reads_metadata_spec_and_status(void **state)
{
    AUTO(kube_object_clear)
    struct kube_object object = read_pod(
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":"
        "\"7\","
        "\"labels\":{\"app\":\"x\"},\"annotations\":{\"a/b\":\"{\\\"c\\\":1}\",\"n\":null}},"
        "\"spec\":{\"nodeName\":\"n1\",\"schedulerName\":\"gpu\",\"priority\":-5,"
        "\"schedulingGates\":[{\"name\":\"g\"}]},"
        "\"status\":{\"phase\":\"Pending\",\"nominatedNodeName\":\"n2\"}}");
    const struct kube_pod *pod = &object.pod;

    (void)state;
    assert_string_equal(pod->meta.name, "p");
    assert_string_equal(pod->meta.namespace, "ns");
    assert_string_equal(pod->meta.uid, "u");
    assert_string_equal(pod->meta.resource_version, "7");
    assert_string_equal(kube_pairs_get(&pod->meta.labels, "app"), "x");
    assert_string_equal(kube_pairs_get(&pod->meta.annotations, "a/b"), "{\"c\":1}");
    assert_string_equal(kube_pairs_get(&pod->meta.annotations, "n"), "");
    assert_false(pod->meta.deleting);
    assert_string_equal(pod->node_name, "n1");
    assert_string_equal(pod->scheduler_name, "gpu");
    assert_int_equal(pod->priority, -5);
    assert_true(pod->gated);
    assert_string_equal(pod->phase, "Pending");
    assert_string_equal(pod->nominated_node, "n2");
}

static void test_pod__is_deleting_when_it_has_a_deletion_timestamp(void **state)
{
    AUTO(kube_object_clear)
    struct kube_object deleting =
        read_pod("{\"metadata\":{\"name\":\"p\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}");
    AUTO(kube_object_clear)
    struct kube_object staying =
        read_pod("{\"metadata\":{\"name\":\"p\",\"deletionTimestamp\":null}}");

    (void)state;
    assert_true(deleting.pod.meta.deleting);
    assert_false(staying.pod.meta.deleting);
}

static void test_pod__is_not_gated_by_an_empty_list(void **state)
{
    AUTO(kube_object_clear)
    struct kube_object object =
        read_pod("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"schedulingGates\":[]}}");

    (void)state;
    assert_false(object.pod.gated);
}

static void test_pod__keeps_amounts_as_they_are_written(void **state)
{
    AUTO(kube_object_clear)
    struct kube_object object =
        read_pod("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\","
                 "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\",\"x/mem\":16384,\"x/k\":1.5},"
                 "\"requests\":{\"cpu\":\"500m\"},\"claims\":[{\"name\":\"r\"}]}}]}}");
    const struct kube_container *container = &object.pod.containers[0];

    (void)state;
    assert_int_equal(container->limits.count, 3);
    assert_string_equal(kube_pairs_get(&container->limits, "nvidia.com/gpu"), "2");
    assert_string_equal(kube_pairs_get(&container->limits, "x/mem"), "16384");
    assert_string_equal(kube_pairs_get(&container->limits, "x/k"), "1.5");
    assert_string_equal(kube_pairs_get(&container->requests, "cpu"), "500m");
}

#define META "{\"metadata\":{\"name\":\"p\"},"
#define INITS \
    "\"initContainers\":[{\"name\":\"i1\"}," \
    "{\"restartPolicy\":\"Always\",\"name\":\"s1\"},{\"name\":\"i2\",\"restartPolicy\":\"Never\"}" \
    "]"
#define APPS "\"containers\":[{\"name\":\"a1\",\"restartPolicy\":\"Always\"},{\"name\":\"a2\"}]"
#define STATUS \
    "\"status\":{\"containerStatuses\":[{\"name\":\"a2\",\"state\":{\"running\":{}}}," \
    "{\"name\":\"a1\",\"state\":{\"waiting\":{\"reason\":\"x\"}}," \
    "\"lastState\":{\"terminated\":{\"exitCode\":0}}}]," \
    "\"initContainerStatuses\":[{\"name\":\"i1\",\"state\":{\"terminated\":{\"exitCode\":0}}}," \
    "{\"state\":{\"running\":{\"startedAt\":\"now\"}},\"name\":\"s1\"}," \
    "{\"name\":\"i2\",\"state\":{\"terminated\":{\"exitCode\":1}}},{\"name\":\"gone\"}]}"

/* F10: phases count one by one, so the order and the kinds must be right. */
static void test_pod__lists_init_containers_first_whatever_the_order_of_the_bytes(void **state)
{
    (void)state;
    assert_containers(META "\"spec\":{" INITS "," APPS "}}", "i1:i s1:s i2:i a1:a a2:a");
    assert_containers(META "\"spec\":{" APPS "," INITS "}}", "i1:i s1:s i2:i a1:a a2:a");
}

static void test_pod__joins_statuses_by_name_also_when_they_come_first(void **state)
{
    static const char want[] = "i1:i+0 s1:s+ i2:i+ a1:a a2:a+";

    (void)state;
    assert_containers(META "\"spec\":{" INITS "," APPS "}," STATUS "}", want);
    assert_containers(META STATUS ",\"spec\":{" APPS "," INITS "}}", want);
}

static void test_pod__takes_the_last_of_a_repeated_list(void **state)
{
    (void)state;
    assert_containers(META "\"spec\":{" INITS ",\"containers\":[{\"name\":\"old\"}]," APPS "}}",
                      "i1:i s1:s i2:i a1:a a2:a");
}

static void test_pod__without_containers_is_read(void **state)
{
    (void)state;
    assert_containers(META "\"spec\":{\"containers\":null},\"status\":{}}", "");
    assert_containers(META "\"spec\":{\"containers\":[]}}", "");
    assert_containers("{\"metadata\":{\"name\":\"p\"}}", "");
}

static char *pod_with_containers(size_t count)
{
    struct buf json = buf_with_max(1 << 20);

    buf_add_text(&json, "{\"spec\":{\"containers\":[");
    for (size_t i = 0; i < count; i++)
        buf_addf(&json, "%s{\"name\":\"c%zu\",\"resources\":{\"limits\":{\"x\":%zu}}}",
                 i > 0 ? "," : "", i, i);
    buf_add_text(&json, "]},\"metadata\":{\"name\":\"p\"}}");
    return buf_steal(&json);
}

static void test_pod__with_too_many_containers_is_read_in_part_and_marked(void **state)
{
    AUTO_FREE char *right = pod_with_containers(REQUEST_CONTAINERS_MAX);
    AUTO_FREE char *wrong = pod_with_containers(REQUEST_CONTAINERS_MAX + 1);
    AUTO(kube_object_clear) struct kube_object whole = read_pod(right);
    AUTO(kube_object_clear) struct kube_object part = read_pod(wrong);

    (void)state;
    assert_false(whole.pod.truncated);
    assert_int_equal(whole.pod.container_count, REQUEST_CONTAINERS_MAX);
    assert_true(part.pod.truncated);
    assert_int_equal(part.pod.container_count, REQUEST_CONTAINERS_MAX);
    assert_string_equal(part.pod.containers[REQUEST_CONTAINERS_MAX - 1].name, "c63");
    assert_string_equal(
        kube_pairs_get(&part.pod.containers[REQUEST_CONTAINERS_MAX - 1].limits, "x"), "63");
}

static char *pod_with_annotation(size_t length)
{
    char *value = xmalloc(length + 1);
    char *json;

    memset(value, 'v', length);
    value[length] = '\0';
    json = xasprintf("{\"metadata\":{\"annotations\":{\"a\":\"1\",\"big\":\"%s\",\"z\":\"2\"},"
                     "\"name\":\"p\"}}",
                     value);
    free(value);
    return json;
}

static void test_pod__with_too_much_text_is_read_in_part_and_marked(void **state)
{
    AUTO_FREE char *right = pod_with_annotation(256 << 10);
    AUTO_FREE char *wrong = pod_with_annotation(KUBE_TEXT_MAX_BYTES);
    AUTO(kube_object_clear) struct kube_object whole = read_pod(right);
    AUTO(kube_object_clear) struct kube_object part = read_pod(wrong);

    (void)state;
    assert_false(whole.pod.truncated);
    assert_int_equal(strlen(kube_pairs_get(&whole.pod.meta.annotations, "big")), 256 << 10);
    assert_true(part.pod.truncated);
    assert_null(kube_pairs_get(&part.pod.meta.annotations, "big"));
    assert_string_equal(kube_pairs_get(&part.pod.meta.annotations, "z"), "2");
}

static void test_pod__bounds_the_sum_of_its_texts(void **state)
{
    AUTO(buf_clear) struct buf json = buf_with_max(4 << 20);
    size_t most = KUBE_TEXT_MAX_BYTES / 1000;

    (void)state;
    buf_add_text(&json, "{\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"b\"");
    for (size_t i = 0; i < 2 * most; i++)
        buf_addf(&json, ",\"k%zu\":\"%01000d\"", i, 0);
    buf_add_text(&json, "}}}");
    {
        AUTO(kube_object_clear) struct kube_object object = read_pod(json.data);

        assert_true(object.pod.truncated);
        assert_in_range(object.pod.meta.labels.count, most / 2, most);
    }
}

/* The API server accepts such annotations: one must not end a watch. */
static void test_pod__with_a_nul_in_a_text_is_read_in_part_and_marked(void **state)
{
    AUTO(kube_object_clear)
    struct kube_object object = read_pod(
        "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"bad\":\"a\\u0000b\",\"ok\":\"1\"}},"
        "\"spec\":{\"schedulerName\":\"x\\u0000\"}}");

    (void)state;
    assert_true(object.pod.truncated);
    assert_null(kube_pairs_get(&object.pod.meta.annotations, "bad"));
    assert_string_equal(kube_pairs_get(&object.pod.meta.annotations, "ok"), "1");
    assert_string_equal(object.pod.scheduler_name, "");
}

static void test_pod__with_a_member_of_a_wrong_type_is_refused(void **state)
{
    static const char *const cases[] = {
        META "\"spec\":[]}",
        META "\"spec\":{\"containers\":{}}}",
        META "\"spec\":{\"containers\":[3]}}",
        META "\"spec\":{\"nodeName\":3}}",
        META "\"spec\":{\"priority\":\"3\"}}",
        META "\"spec\":{\"priority\":3000000000}}",
        META "\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"x\":true}}}]}}",
        META "\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"x\":null}}}]}}",
        "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"a\":1}}}",
        "{\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":{}}}}",
        "{\"metadata\":{\"name\":{}}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(kube_object_clear) struct kube_object object = {0};
        struct error err = {0};

        assert_int_equal(kube_json_read_object(KUBE_POD, cases[i], strlen(cases[i]), &object, &err),
                         -ERR_INVALID);
        assert_null(object.pod.meta.name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod__reads_metadata_spec_and_status),
        cmocka_unit_test(test_pod__is_deleting_when_it_has_a_deletion_timestamp),
        cmocka_unit_test(test_pod__is_not_gated_by_an_empty_list),
        cmocka_unit_test(test_pod__keeps_amounts_as_they_are_written),
        cmocka_unit_test(test_pod__lists_init_containers_first_whatever_the_order_of_the_bytes),
        cmocka_unit_test(test_pod__joins_statuses_by_name_also_when_they_come_first),
        cmocka_unit_test(test_pod__takes_the_last_of_a_repeated_list),
        cmocka_unit_test(test_pod__without_containers_is_read),
        cmocka_unit_test(test_pod__with_too_many_containers_is_read_in_part_and_marked),
        cmocka_unit_test(test_pod__with_too_much_text_is_read_in_part_and_marked),
        cmocka_unit_test(test_pod__bounds_the_sum_of_its_texts),
        cmocka_unit_test(test_pod__with_a_nul_in_a_text_is_read_in_part_and_marked),
        cmocka_unit_test(test_pod__with_a_member_of_a_wrong_type_is_refused),
    };

    return cmocka_run_group_tests_name("kube_pod_json", tests, NULL, NULL);
}
