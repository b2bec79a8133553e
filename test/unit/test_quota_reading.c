/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a ResourceQuota. */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/dialect.h"
#include "topofit/kube_json.h"

#include <stdlib.h>
#include <string.h>

static struct device_class classes_of_test[] = {
    {.name = (char[]){"a"},
     .count_resource = (char[]){"a.com/gpu"},
     .memory_resource = (char[]){"a.com/gpumem"},
     .percent_resource = (char[]){"a.com/gpumem-percentage"},
     .cores_resource = (char[]){"a.com/gpucores"},
     .memory_unit_mib = 1,
     .cores = 100},
    {.name = (char[]){"b"},
     .count_resource = (char[]){"b.com/npu"},
     .memory_resource = (char[]){"b.com/npu-memory"},
     .cores_resource = (char[]){"b.com/npu-core"},
     .memory_unit_mib = 256,
     .cores = 20,
     .cores_percent = true},
};

static void table_free(struct class_table *table)
{
    free(table->resources);
}

static struct class_table table_new(void)
{
    struct class_table table = {.items = classes_of_test, .count = ARRAY_LEN(classes_of_test)};
    struct error err = {0};

    assert_ok(class_table_index(&table, &err), &err);
    return table;
}

static struct quota *read(struct class_table *table, const char *spec)
{
    AUTO(kube_object_clear) struct kube_object object = {0};
    AUTO_FREE char *json = xasprintf("{\"kind\":\"ResourceQuota\",\"metadata\":{\"name\":\"q\","
                                     "\"namespace\":\"ns\",\"uid\":\"u\"},\"spec\":{%s}}",
                                     spec);
    struct error err = {0};

    kube_object_init(&object, KUBE_QUOTA);
    assert_ok(kube_json_read_object(KUBE_QUOTA, json, strlen(json), &object, &err), &err);
    return dialect_quota(&object.quota, table);
}

static void test_dialect_quota__reads_limits_in_the_units_of_the_class(void **state)
{
    static const struct {
        const char *key, *amount;
        uint64_t limit; /* MiB or core units */
    } cases[] = {
        {"limits.a.com/gpumem", "10000", 10000},
        {"limits.a.com/gpumem", "10k", 10000}, /* as the API server writes it */
        {"limits.a.com/gpumem", "2M", 2000000},
        {"limits.a.com/gpumem", "16Gi", 16384},
        {"limits.a.com/gpumem", "0", 0},
        {"limits.a.com/gpumem", "1500m", 1},
        {"limits.a.com/gpumem", "10.00000000000000000001", 10},
        {"limits.a.com/gpumem", "9E9", 9000000000},
        {"limits.a.com/gpucores", "250", 250},
        {"limits.a.com/gpucores", "1k", 1000},
        {"limits.b.com/npu-memory", "10", 2560},
        {"limits.b.com/npu-memory", "1Gi", 1024},
        {"limits.b.com/npu-core", "150", 30}, /* percent of 20 */
    };
    AUTO(table_free) struct class_table table = table_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *spec = xasprintf("\"hard\":{\"%s\":\"%s\"}", cases[i].key, cases[i].amount);
        AUTO(quota_free_pointer) struct quota *quota = read(&table, spec);

        assert_int_equal(quota->limit_count, 1);
        assert_int_equal(quota->limits[0].amount, cases[i].limit);
        assert_int_equal(quota->remark_count, 0);
        assert_string_equal(quota->namespace, "ns");
    }
}

static void test_dialect_quota__what_others_count_is_none_of_its_business(void **state)
{
    AUTO(table_free) struct class_table table = table_new();
    AUTO(quota_free_pointer)
    struct quota *quota =
        read(&table, "\"hard\":{\"pods\":\"5\",\"limits.cpu\":\"4\",\"requests.a.com/gpu\":2,"
                     "\"requests.a.com/gpumem\":\"1k\",\"limits.elsewhere.com/x\":\"1\"}");

    (void)state;
    assert_int_equal(quota->limit_count, 0);
    assert_int_equal(quota->remark_count, 0);
}

static void test_dialect_quota__what_looks_like_a_limit_and_is_none_is_remarked(void **state)
{
    static const struct {
        const char *spec, *words;
    } cases[] = {
        {"\"hard\":{\"limits.a.com/gpu-mem\":\"1\"}", "did you mean limits.a.com/gpumem"},
        {"\"hard\":{\"limits.b.com/gpumem\":\"1\"}", "did you mean limits.b.com/npu-memory"},
        {"\"hard\":{\"limits.a.com/gpu\":\"1\"}", "counts requests.a.com/gpu"},
        {"\"hard\":{\"limits.a.com/gpumem-percentage\":\"1\"}", "against limits.a.com/gpumem"},
    };
    AUTO(table_free) struct class_table table = table_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(quota_free_pointer) struct quota *quota = read(&table, cases[i].spec);

        assert_int_equal(quota->limit_count, 0);
        assert_int_equal(quota->remark_count, 1);
        assert_contains(quota->remarks[0], cases[i].words);
    }
}

static void test_dialect_quota__an_amount_that_cannot_be_read_allows_nothing(void **state)
{
    static const char *const amounts[] = {"x", "-1", "1Gib", ""};
    AUTO(table_free) struct class_table table = table_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
        AUTO_FREE char *spec = xasprintf("\"hard\":{\"limits.a.com/gpumem\":\"%s\"}", amounts[i]);
        AUTO(quota_free_pointer) struct quota *quota = read(&table, spec);

        assert_int_equal(quota->limit_count, 1);
        assert_int_equal(quota->limits[0].amount, 0);
        assert_contains(quota->remarks[0], "limits.a.com/gpumem");
    }
}

static void test_dialect_quota__more_than_there_can_be_is_no_limit(void **state)
{
    AUTO(table_free) struct class_table table = table_new();
    AUTO(quota_free_pointer)
    struct quota *quota = read(&table, "\"hard\":{\"limits.a.com/gpumem\":\"99e30\","
                                       "\"limits.a.com/gpucores\":\"99999999999999999999999\"}");

    (void)state;
    assert_int_equal(quota->limit_count, 0);
    assert_int_equal(quota->remark_count, 0);
}

static void test_dialect_quota__scopes_that_are_not_known_are_remarked(void **state)
{
    static const struct {
        const char *spec;
        size_t known;
    } scopes[] = {
        {"\"scopes\":[\"NotTerminating\"]", 1},
        {"\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\","
         "\"operator\":\"In\",\"values\":[\"high\"]}]}",
         1},
        {"\"scopes\":[\"CrossNamespacePodAffinity\"]", 0},
        {"\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\","
         "\"operator\":\"Gt\",\"values\":[\"high\"]}]}",
         0},
    };
    AUTO(table_free) struct class_table table = table_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
        AUTO_FREE char *spec =
            xasprintf("\"hard\":{\"limits.a.com/gpumem\":\"1\"},%s", scopes[i].spec);
        AUTO(quota_free_pointer) struct quota *quota = read(&table, spec);

        assert_int_equal(quota->limit_count, 1);
        assert_int_equal(quota->scope_count, scopes[i].known);
        assert_int_equal(quota->remark_count, 1 - scopes[i].known);
        if (quota->remark_count > 0)
            assert_contains(quota->remarks[0], "is not looked at");
    }
}

static void test_dialect_quota__a_scope_that_is_cut_counts_everybody(void **state)
{
    AUTO(table_free) struct class_table table = table_new();
    AUTO(buf_clear) struct buf spec = buf_with_max(65536);
    const struct quota_traits last = {.priority_class = (char[]){"p1499"}};

    (void)state;
    buf_add_text(&spec, "\"hard\":{\"limits.a.com/gpumem\":\"1\"},\"scopeSelector\":"
                        "{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\","
                        "\"operator\":\"In\",\"values\":[\"p\"");
    for (unsigned i = 0; i < 1500; i++)
        buf_addf(&spec, ",\"p%u\"", i);
    buf_add_text(&spec, "]}]}");
    {
        AUTO(quota_free_pointer) struct quota *quota = read(&table, buf_text(&spec));

        assert_true(quota_covers(quota, &last));
        assert_int_equal(quota->scope_count, 0);
        assert_contains(quota->remarks[0], "has too many values");
    }
}

static void test_dialect_quota__cores_with_too_many_digits_allow_nothing(void **state)
{
    AUTO(table_free) struct class_table table = table_new();
    AUTO(quota_free_pointer)
    struct quota *quota =
        read(&table, "\"hard\":{\"limits.a.com/gpucores\":\"10.00000000000000000001\"}");

    (void)state;
    assert_int_equal(quota->limit_count, 1);
    assert_int_equal(quota->limits[0].amount, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dialect_quota__reads_limits_in_the_units_of_the_class),
        cmocka_unit_test(test_dialect_quota__what_others_count_is_none_of_its_business),
        cmocka_unit_test(test_dialect_quota__what_looks_like_a_limit_and_is_none_is_remarked),
        cmocka_unit_test(test_dialect_quota__an_amount_that_cannot_be_read_allows_nothing),
        cmocka_unit_test(test_dialect_quota__more_than_there_can_be_is_no_limit),
        cmocka_unit_test(test_dialect_quota__scopes_that_are_not_known_are_remarked),
        cmocka_unit_test(test_dialect_quota__a_scope_that_is_cut_counts_everybody),
        cmocka_unit_test(test_dialect_quota__cores_with_too_many_digits_allow_nothing),
    };

    return cmocka_run_group_tests_name("quota_reading", tests, NULL, NULL);
}
