/* SPDX-License-Identifier: Apache-2.0 */
/* ResourceQuotas, wherever they stand. */
#include "support/test.h"

#include "topofit/kube_json.h"
#include "topofit/kube_path.h"

#define META \
    "\"metadata\":{\"name\":\"q\",\"namespace\":\"team\",\"uid\":\"u\",\"resourceVersion\":\"7\"}"
#define HARD "\"hard\":{\"limits.nvidia.com/gpumem\":\"10k\",\"pods\":5}"
/* What the API server says of use is not looked at. */
#define QUOTA \
    "{\"kind\":\"ResourceQuota\"," META ",\"spec\":{" HARD \
    "},\"status\":{\"hard\":{\"pods\":\"9\"},\"used\":{\"pods\":\"1\"}}}"

static void assert_quota(const struct kube_object *object)
{
    assert_int_equal(object->kind, KUBE_QUOTA);
    assert_string_equal(object->quota.meta.name, "q");
    assert_string_equal(object->quota.meta.namespace, "team");
    assert_string_equal(object->quota.meta.uid, "u");
    assert_string_equal(kube_pairs_get(&object->quota.hard, "limits.nvidia.com/gpumem"), "10k");
    assert_string_equal(kube_pairs_get(&object->quota.hard, "pods"), "5");
    assert_int_equal(object->quota.scope_count, 0);
    assert_false(object->quota.truncated);
}

static void note_quota(void *ctx, struct kube_object *object)
{
    assert_quota(object);
    (*(unsigned *)ctx)++;
}

static void test_quota__is_read_alone_in_a_list_in_a_dump_and_in_an_event(void **state)
{
    static const char list[] = "{\"kind\":\"ResourceQuotaList\",\"metadata\":{"
                               "\"resourceVersion\":\"9\"},\"items\":[" QUOTA "]}";
    static const char dump[] = "{\"kind\":\"List\",\"items\":[" QUOTA "]}";
    static const char event[] = "{\"type\":\"ADDED\",\"object\":" QUOTA "}";
    AUTO(kube_object_clear) struct kube_object object = {0};
    AUTO(kube_list_meta_clear) struct kube_list_meta meta = {0};
    AUTO(kube_event_clear) struct kube_event read = {0};
    struct kube_list_reader *reader;
    struct error err = {0};
    unsigned count = 0;

    (void)state;
    assert_ok(kube_json_read_object(KUBE_QUOTA, QUOTA, strlen(QUOTA), &object, &err), &err);
    assert_quota(&object);
    reader = kube_list_reader_new(KUBE_QUOTA, note_quota, &count);
    assert_ok(kube_list_reader_feed(reader, list, strlen(list), &err), &err);
    assert_ok(kube_list_reader_finish(reader, &meta, &err), &err);
    kube_list_reader_free(reader);
    assert_ok(kube_json_read_dump(dump, strlen(dump), note_quota, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_ok(kube_json_read_event(KUBE_QUOTA, event, strlen(event), &read, &err), &err);
    assert_int_equal(read.type, KUBE_ADDED);
    assert_quota(&read.object);
}

static void test_quota__events_are_also_bookmarks_and_errors(void **state)
{
    static const char bookmark[] =
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ResourceQuota\",\"metadata\":{"
        "\"resourceVersion\":\"12\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}";
    static const char error[] = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
                                "\"reason\":\"Expired\",\"message\":\"too old\"}}";
    AUTO(kube_event_clear) struct kube_event event = {0};
    struct error err = {0};

    (void)state;
    assert_ok(kube_json_read_event(KUBE_QUOTA, bookmark, strlen(bookmark), &event, &err), &err);
    assert_true(event.initial_events_end);
    assert_string_equal(kube_object_meta(&event.object)->resource_version, "12");
    assert_ok(kube_json_read_event(KUBE_QUOTA, error, strlen(error), &event, &err), &err);
    assert_int_equal(event.status.code, 410);
}

static void expect_scope(const struct kube_scope *scope, const char *name, const char *op,
                         const char *value)
{
    assert_string_equal(scope->name, name);
    assert_string_equal(scope->op, op);
    assert_int_equal(scope->value_count > 0, value != NULL);
    if (value != NULL)
        assert_string_equal(scope->values[scope->value_count - 1], value);
}

static void test_quota__scopes_are_seen_in_both_forms(void **state)
{
    static const struct {
        const char *spec;
        const char *name, *op, *value; /* of the last scope; NULL: none */
    } cases[] = {
        {"\"scopes\":[\"Terminating\",\"BestEffort\"]", "BestEffort", "", NULL},
        {"\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\"}]}",
         "PriorityClass", "", NULL},
        {"\"scopeSelector\":{\"matchExpressions\":[{\"values\":[\"low\",\"high\"],\"operator\":"
         "\"In\",\"scopeName\":\"PriorityClass\"}]}",
         "PriorityClass", "In", "high"},
        {"\"scopes\":[]", NULL, NULL, NULL},
        {"\"scopeSelector\":{\"matchExpressions\":[]}", NULL, NULL, NULL},
        {"\"scopes\":null,\"scopeSelector\":null", NULL, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *json = xasprintf("{" META ",\"spec\":{%s}}", cases[i].spec);
        AUTO(kube_object_clear) struct kube_object object = {0};
        struct error err = {0};

        assert_ok(kube_json_read_object(KUBE_QUOTA, json, strlen(json), &object, &err), &err);
        assert_int_equal(object.quota.scope_count > 0, cases[i].name != NULL);
        if (cases[i].name != NULL)
            expect_scope(&object.quota.scopes[object.quota.scope_count - 1], cases[i].name,
                         cases[i].op, cases[i].value);
    }
}

static void test_quota__is_not_mistaken_for_another_kind(void **state)
{
    AUTO(kube_object_clear) struct kube_object object = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(kube_json_read_object(KUBE_POD, QUOTA, strlen(QUOTA), &object, &err),
                     -ERR_INVALID);
    assert_contains(err.text, "a Pod was expected");
    assert_string_equal(kube_kind_name(KUBE_QUOTA), "ResourceQuota");
    assert_string_equal(kube_path_resource(KUBE_QUOTA), "resourcequotas");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota__is_read_alone_in_a_list_in_a_dump_and_in_an_event),
        cmocka_unit_test(test_quota__events_are_also_bookmarks_and_errors),
        cmocka_unit_test(test_quota__scopes_are_seen_in_both_forms),
        cmocka_unit_test(test_quota__is_not_mistaken_for_another_kind),
    };

    return cmocka_run_group_tests_name("kube_quota_json", tests, NULL, NULL);
}
