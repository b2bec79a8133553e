/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/kube_json.h"

static void note_object(void *ctx, struct kube_object *object)
{
    buf_addf(ctx, "%s:%s ", object->kind == KUBE_POD ? "pod" : "node",
             kube_object_meta(object)->name);
}

static void test_kube_json_read_dump__reads_nodes_and_pods_of_lists_and_alone(void **state)
{
    static const struct {
        const char *json;
        const char *want;
    } cases[] = {
        {"{\"apiVersion\":\"v1\",\"items\":[\n"
         "  {\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\"}} ,\n"
         "  {\"metadata\":{\"name\":\"c\"},\"kind\":\"ConfigMap\",\"spec\":7},"
         "{\"metadata\":{\"name\":\"p1\",\"annotations\":{\"a\":\"}{\"}},\"kind\":\"Pod\"}],"
         "\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"\"}}",
         "node:n1 pod:p1 "},
        {"{\"items\":[{\"metadata\":{\"name\":\"n1\"}}],\"kind\":\"NodeList\"}", "node:n1 "},
        {"{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"p1\"}}]}", "pod:p1 "},
        {"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p1\"}}", "pod:p1 "},
        {"{\"metadata\":{\"name\":\"n1\"},\"kind\":\"Node\"}", "node:n1 "},
        {"{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\"}}", ""},
        {"{\"kind\":\"List\",\"items\":[]}", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf_clear) struct buf objects = buf_with_max(1000);
        struct error err = {0};

        assert_ok(
            kube_json_read_dump(cases[i].json, strlen(cases[i].json), note_object, &objects, &err),
            &err);
        assert_string_equal(buf_text(&objects), cases[i].want);
    }
}

/* The last pod, and whether it is a template. */
static void keep_template(void *ctx, struct kube_object *object)
{
    struct kube_object *kept = ctx;

    assert_true(object->is_template);
    kube_object_clear(kept);
    *kept = *object;
    kube_object_init(object, KUBE_POD);
}

static void test_kube_json_read_dump__reads_what_makes_pods_as_templates_of_its_name(void **state)
{
#define TEMPLATE \
    "\"template\":{\"metadata\":{\"name\":\"not-this\",\"annotations\":{\"a\":\"inner\"}}," \
    "\"spec\":{\"containers\":[{\"name\":\"c\"}]}}"
    static const char *const specs[][2] = {
        {"Deployment", "{\"replicas\":2," TEMPLATE "}"},
        {"StatefulSet", "{" TEMPLATE "}"},
        {"DaemonSet", "{" TEMPLATE "}"},
        {"ReplicaSet", "{" TEMPLATE "}"},
        {"Job", "{" TEMPLATE "}"},
        {"CronJob", "{\"jobTemplate\":{\"spec\":{" TEMPLATE "}}}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        AUTO(buf_clear) struct buf json = buf_with_max(1000);
        AUTO(kube_object_clear) struct kube_object pod = {0};
        struct error err = {0};

        buf_addf(&json,
                 "{\"kind\":\"%s\",\"spec\":%s,\"metadata\":{\"name\":\"w\",\"namespace\":\"ml\","
                 "\"uid\":\"u\",\"annotations\":{\"a\":\"outer\"}}}",
                 specs[i][0], specs[i][1]);
        assert_ok(kube_json_read_dump(buf_text(&json), json.length, keep_template, &pod, &err),
                  &err);
        assert_string_equal(pod.pod.meta.name, "w");
        assert_string_equal(pod.pod.meta.namespace, "ml");
        assert_string_equal(pod.pod.meta.uid, "");
        assert_string_equal(kube_pairs_get(&pod.pod.meta.annotations, "a"), "inner");
        assert_int_equal(pod.pod.container_count, 1);
    }
}

static void test_kube_json_read_dump__says_which_item_is_wrong(void **state)
{
    static const struct {
        const char *json;
        const char *part;
    } cases[] = {
        {"{\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}},"
         "{\"kind\":\"Node\"}]}",
         "item 2 at byte 63: a Node without a name"},
        {"{\"kind\":\"List\",\"items\":[{\"metadata\":{\"name\":\"p\"}}]}",
         "item 1 at byte 24: no kind"},
        {"{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":7}}]}",
         "item 1 at byte 27: byte 21: \"name\": a string was expected"},
        {"{}", "neither a kind nor items"},
        {"[]", "should be an object"},
        {"{\"items\":[{\"kind\":7}]}", "\"kind\": a string was expected"},
        {"{\"items\":[", "byte 10"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf_clear) struct buf objects = buf_with_max(1000);
        struct error err = {0};

        assert_int_equal(
            kube_json_read_dump(cases[i].json, strlen(cases[i].json), note_object, &objects, &err),
            -ERR_INVALID);
        assert_contains(err.text, cases[i].part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kube_json_read_dump__reads_nodes_and_pods_of_lists_and_alone),
        cmocka_unit_test(test_kube_json_read_dump__reads_what_makes_pods_as_templates_of_its_name),
        cmocka_unit_test(test_kube_json_read_dump__says_which_item_is_wrong),
    };

    return cmocka_run_group_tests_name("kube_dump_json", tests, NULL, NULL);
}
