/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/kube_words.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/dialect.h"

/* The request of a pod of one GPU with one annotation. */
static struct request read_one(const char *key, const char *value)
{
    AUTO(kube_pod_clear) struct kube_pod pod;
    struct request request;

    kube_pod_init(&pod);
    kube_pod_ask(&pod, CONTAINER_APP, "nvidia.com/gpu=1");
    kube_pod_annotate(&pod, key, value);
    dialect_request(&pod, &test_classes, &request);
    return request;
}

static void test_read_demands__reads_each_word(void **state)
{
    static const struct {
        const char *key, *value;
        struct topology_demand topology;
        enum isolation_mode isolation;
    } cases[] = {
        {"topofit.io/topology", "hard", {.has_mode = true, .mode = TOPOLOGY_HARD}, ISOLATION_NONE},
        {"topofit.io/topology", "Soft", {.has_mode = true, .mode = TOPOLOGY_SOFT}, ISOLATION_NONE},
        {"topofit.io/topology", "off", {.has_mode = true, .mode = TOPOLOGY_OFF}, ISOLATION_NONE},
        /* W6: the strictest tier can be asked for */
        {"topofit.io/topology-max-tier", "0", {.has_max_tier = true}, ISOLATION_NONE},
        {"topofit.io/topology-max-tier",
         "2",
         {.has_max_tier = true, .max_tier = TIER_CROSS},
         ISOLATION_NONE},
        {"topofit.io/topology-source",
         "vendor",
         {.has_source = true, .source = SOURCE_VENDOR},
         ISOLATION_NONE},
        {"topofit.io/topology-source",
         "numa",
         {.has_source = true, .source = SOURCE_NUMA},
         ISOLATION_NONE},
        {"topofit.io/isolation", "soft", {0}, ISOLATION_SOFT},
        {"topofit.io/isolation", "hard", {0}, ISOLATION_HARD},
        {"topofit.io/isolation", "partitioned", {0}, ISOLATION_PARTITIONED},
        {"topofit.io/isolation", "shared", {0}, ISOLATION_SHARED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request = read_one(cases[i].key, cases[i].value);
        const struct topology_demand *got = &request.topology, *want = &cases[i].topology;

        assert_null(request.problem);
        assert_int_equal(got->has_mode, want->has_mode);
        assert_int_equal(got->mode, want->mode);
        assert_int_equal(got->has_max_tier, want->has_max_tier);
        assert_int_equal(got->max_tier, want->max_tier);
        assert_int_equal(got->has_source, want->has_source);
        assert_int_equal(got->source, want->source);
        assert_int_equal(request.isolation, cases[i].isolation);
    }
}

static void test_read_demands__an_unknown_word_is_a_problem_that_names_the_choice(void **state)
{
    static const struct {
        const char *key, *value, *expected;
    } cases[] = {
        {"topofit.io/topology", "strict", "hard, soft or off"},
        {"topofit.io/topology", "", "hard, soft or off"},
        {"topofit.io/topology-max-tier", "3", "0, 1 or 2"},
        {"topofit.io/topology-max-tier", "-1", "0, 1 or 2"},
        {"topofit.io/topology-source", "both", "auto, vendor or numa"},
        {"topofit.io/isolation", "mig", "soft, hard, partitioned or shared"},
        {"topofit.io/packing-policy", "binpack", "pack, spread or topology-first"},
        {"topofit.io/packing-policy", "", "pack, spread or topology-first"},
        {"topofit.io/packing-policy", "pack,spread", "pack, spread or topology-first"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request = read_one(cases[i].key, cases[i].value);

        assert_non_null(request.problem);
        assert_contains(request.problem, cases[i].key);
        assert_contains(request.problem, cases[i].value);
        assert_contains(request.problem, cases[i].expected);
    }
}

static void test_read_demands__reads_each_packing_policy(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PACKING_POLICY_COUNT; i++) {
        const char *word = packing_policy_name((enum packing_policy)i);
        AUTO(request_clear) struct request request = read_one("topofit.io/packing-policy", word);
        AUTO(request_clear) struct request silent = read_one("topofit.io/topology", "soft");

        assert_null(request.problem);
        assert_true(request.has_packing);
        assert_int_equal(request.packing, i);
        assert_false(silent.has_packing);
    }
}

static void test_read_demands__splits_lists_and_skips_empty_items(void **state)
{
    AUTO(request_clear) struct request list = read_one("topofit.io/use-products", "h20, A10,");
    AUTO(request_clear) struct request empty = read_one("topofit.io/use-products", " , ,");
    AUTO(request_clear) struct request use = read_one("topofit.io/use-devices", "GPU-a");
    AUTO(request_clear) struct request avoid = read_one("topofit.io/avoid-devices", "GPU-b");
    AUTO(request_clear) struct request not = read_one("topofit.io/avoid-products", "A10");

    (void)state;
    assert_int_equal(list.use_products.count, 2);
    assert_string_equal(list.use_products.items[0], "A10");
    assert_string_equal(list.use_products.items[1], "h20");
    assert_int_equal(empty.use_products.count, 0);
    assert_true(word_list_has(&use.use_devices, "GPU-a"));
    assert_true(word_list_has(&avoid.avoid_devices, "GPU-b"));
    assert_true(word_list_has(&not.avoid_products, "A10"));
}

/* A comma list of `count` different items of `length` bytes each; the caller frees it. */
static char *long_list(unsigned count, size_t length)
{
    struct buf list = buf_with_max((length + 1) * count);

    for (unsigned i = 0; i < count; i++)
        buf_addf(&list, "%s%0*u", i > 0 ? "," : "", (int)length, i);
    return buf_steal(&list);
}

static void test_read_demands__a_list_has_bounds_and_names_them(void **state)
{
    static const struct {
        unsigned count;
        size_t length;
        const char *problem; /* or NULL */
    } cases[] = {
        {WORD_LIST_MAX, 40, NULL},          {WORD_LIST_MAX + 1, 40, "lists more than 1000 items"},
        {2, WORD_BYTES_MAX, NULL},          {2, WORD_BYTES_MAX + 1, "longer than 256 bytes"},
        {1, 5000, "longer than 256 bytes"},
    };
    static const char *const keys[] = {"topofit.io/use-devices", "topofit.io/avoid-devices",
                                       "topofit.io/use-products", "topofit.io/avoid-products"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(keys); i++) {
        AUTO_FREE char *list = long_list(cases[i / 4].count, cases[i / 4].length);
        AUTO(request_clear) struct request request = read_one(keys[i % 4], list);

        if (cases[i / 4].problem == NULL) {
            assert_null(request.problem);
            continue;
        }
        assert_non_null(request.problem);
        assert_contains(request.problem, keys[i % 4]);
        assert_contains(request.problem, cases[i / 4].problem);
    }
}

static void test_read_demands__of_a_pod_without_devices_concern_nobody(void **state)
{
    AUTO(kube_pod_clear) struct kube_pod pod;
    AUTO(request_clear) struct request request;

    (void)state;
    kube_pod_init(&pod);
    kube_pod_ask(&pod, CONTAINER_APP, "cpu=1");
    kube_pod_annotate(&pod, "topofit.io/topology", "nonsense");
    dialect_request(&pod, &test_classes, &request);
    assert_false(request_wants_devices(&request));
}

/* What users are told about is what is read. */
static void test_dialect_native__lists_the_keys_it_reads(void **state)
{
    static const char *const keys[] = {
        "topofit.io/inventory",   "topofit.io/topology",       "topofit.io/cordoned-devices",
        "topofit.io/use-devices", "topofit.io/avoid-products", "topofit.io/allocation",
        "topofit.io/isolation",   "devices.topofit.io/",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        bool found = false;

        for (size_t k = 0; dialect_native.annotations[k] != NULL; k++)
            found = found || strcmp(dialect_native.annotations[k], keys[i]) == 0;
        assert_true(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_demands__reads_each_word),
        cmocka_unit_test(test_read_demands__reads_each_packing_policy),
        cmocka_unit_test(test_read_demands__an_unknown_word_is_a_problem_that_names_the_choice),
        cmocka_unit_test(test_read_demands__splits_lists_and_skips_empty_items),
        cmocka_unit_test(test_read_demands__a_list_has_bounds_and_names_them),
        cmocka_unit_test(test_read_demands__of_a_pod_without_devices_concern_nobody),
        cmocka_unit_test(test_dialect_native__lists_the_keys_it_reads),
    };

    return cmocka_run_group_tests_name("native", tests, NULL, NULL);
}
