/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/harness.h"

#include "topofit/views.h"

#define USE_PRODUCTS "topofit.io/use-products"

static json_t *mix_json(struct harness *harness)
{
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);
    json_t *json;

    view_mix(&harness->extender, (struct moment){.unix_ms = 1780000000000}, VIEW_JSON, &out);
    json = json_loads(buf_text(&out), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    return json;
}

static char *mix_text(struct harness *harness)
{
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);

    view_mix(&harness->extender, (struct moment){0}, VIEW_TEXT, &out);
    return buf_steal(&out);
}

/* So many pods come. */
static void come(struct harness *harness, const char *name, unsigned count, const char *wants,
                 const char *product)
{
    for (unsigned i = 0; i < count; i++) {
        AUTO_FREE char *pod = xasprintf("%s-%u", name, i);

        api_pod(harness, pod, wants,
                .annotations = {product != NULL ? USE_PRODUCTS : "x.io/none",
                                product != NULL ? product : ""});
    }
}

/* Three of four pods take a third of a device, the fourth two A100s. */
static struct harness *learned(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 2, 1000, .product = "NVIDIA T4");
    api_node(harness, "n2", 2, 1000, .product = "NVIDIA A100");
    come(harness, "part", 30, "gpu 1, pct 33, cores 20, cpu 1500m", NULL);
    come(harness, "pair", 10, "gpu 2, cpu 8", "A100");
    return harness;
}

static void test_view_mix__a_document_lists_the_kinds_of_pods(void **state)
{
    AUTO(harness_free) struct harness *harness = learned();
    json_t *json = mix_json(harness);
    const json_t *items = json_object_get(json, "items");
    const json_t *part = json_array_get(items, 0), *pair = json_array_get(items, 1);

    (void)state;
    assert_string_equal(json_string_value(json_object_get(json, "kind")), "PodMix");
    assert_string_equal(json_string_value(json_object_get(json, "source")), "learned");
    assert_int_equal(json_integer_value(json_object_get(json, "pods")), 40);
    assert_int_equal(json_array_size(items), 2);
    assert_true(json_real_value(json_object_get(part, "share")) > 0.7);
    assert_string_equal(json_string_value(json_object_get(part, "class")), "nvidia");
    assert_int_equal(json_integer_value(json_object_get(part, "count")), 1);
    assert_int_equal(json_integer_value(json_object_get(part, "memoryPercent")), 33);
    assert_int_equal(json_integer_value(json_object_get(part, "cores")), 20);
    assert_int_equal(json_integer_value(json_object_get(part, "cpuMilli")), 1500);
    assert_true(json_is_false(json_object_get(part, "whole")));
    assert_int_equal(json_array_size(json_object_get(part, "useProducts")), 0);
    assert_int_equal(json_integer_value(json_object_get(pair, "count")), 2);
    assert_true(json_is_true(json_object_get(pair, "whole")));
    assert_string_equal(json_string_value(json_array_get(json_object_get(pair, "useProducts"), 0)),
                        "A100");
    assert_int_equal(json_array_size(json_object_get(pair, "avoidProducts")), 0);
    json_decref(json);
}

static void
test_view_mix__a_document_says_what_products_cost_those_who_need_not_take_them(void **state)
{
    AUTO(harness_free) struct harness *harness = learned();
    json_t *json = mix_json(harness);
    const json_t *products = json_object_get(json, "products");
    const json_t *a100 = json_array_get(products, 0), *t4 = json_array_get(products, 1);

    (void)state;
    assert_int_equal(json_array_size(products), 2); /* by name */
    assert_string_equal(json_string_value(json_object_get(a100, "product")), "NVIDIA A100");
    assert_string_equal(json_string_value(json_object_get(t4, "product")), "NVIDIA T4");
    assert_int_equal(json_integer_value(json_object_get(a100, "devices")), 2);
    assert_int_equal(json_integer_value(json_object_get(a100, "idleMilli")), 2000);
    assert_true(json_real_value(json_object_get(a100, "charge")) > 5);
    assert_true(json_real_value(json_object_get(t4, "charge")) < 0.001);
    json_decref(json);
}

static void test_view_mix__a_table_has_the_same(void **state)
{
    AUTO(harness_free) struct harness *harness = learned();
    AUTO_FREE char *text = mix_text(harness);

    (void)state;
    assert_contains(text, "learned from 40 pods with GPUs\n\n"
                          "SHARE  REQUEST                           CPU    PRODUCTS\n");
    assert_contains(text, "1 nvidia x 33% memory x 20 cores  1.500  -\n");
    assert_contains(text, "2 nvidia                          8.000  A100\n");
    assert_contains(text, "\n\nPRODUCT      GPUS  IDLE   CHARGE\nNVIDIA A100  2     2.000  ");
    assert_contains(text, "NVIDIA T4    2     2.000  0.00\n");
}

static void test_view_mix__before_enough_pods_have_come_it_says_how_many_are_missing(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO_FREE char *text = NULL;
    json_t *json;

    (void)state;
    come(harness, "p", 7, "gpu 1", NULL);
    text = mix_text(harness);
    assert_string_equal(text, "nothing is known: 7 of 16 pods with GPUs have come\n");
    json = mix_json(harness);
    assert_string_equal(json_string_value(json_object_get(json, "source")), "none");
    assert_int_equal(json_integer_value(json_object_get(json, "pods")), 7);
    assert_int_equal(json_array_size(json_object_get(json, "items")), 0);
    json_decref(json);
}

static void test_view_mix__a_given_mix_says_so(void **state)
{
    AUTO(harness_free) struct harness *harness = learned();
    struct pod_mix *mix = pod_mix_new(1);
    struct mix_task task = {
        .ask = {.class = &test_class, .count = 1, .memory_kind = MEMORY_MIB, .memory = 500},
        .is_whole = true,
        .share = 1};
    AUTO_FREE char *text = NULL;
    json_t *json;

    (void)state;
    word_list_add(&task.avoid_products, "T4");
    pod_mix_add(mix, &task);
    cluster_set_pod_mix(harness->cluster, mix);
    text = mix_text(harness);
    assert_contains(text, "given (packing.workloadFile): nothing is learned\n");
    assert_contains(text, "100.0%  1 nvidia x 500 MiB, whole  0.000  not T4\n");
    json = mix_json(harness);
    assert_string_equal(json_string_value(json_object_get(json, "source")), "given");
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_view_mix__a_document_lists_the_kinds_of_pods),
        cmocka_unit_test(
            test_view_mix__a_document_says_what_products_cost_those_who_need_not_take_them),
        cmocka_unit_test(test_view_mix__a_table_has_the_same),
        cmocka_unit_test(test_view_mix__before_enough_pods_have_come_it_says_how_many_are_missing),
        cmocka_unit_test(test_view_mix__a_given_mix_says_so),
    };

    return cmocka_run_group_tests_name("mix_view", tests, NULL, NULL);
}
