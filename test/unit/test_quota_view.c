/* SPDX-License-Identifier: Apache-2.0 */
/* The quotas of namespaces, as people ask for them. */
#include "support/builders.h"
#include "support/harness.h"

#include "topofit/views.h"

#include <jansson.h>

static void put(struct harness *harness, const char *namespace, const char *name,
                const char *remark)
{
    struct quota *quota = quota_new(namespace, name, name);

    if (remark != NULL)
        quota_add_remark(quota, xstrdup(remark));
    else
        quota_add_limit(quota, &(struct quota_limit){&test_class, QUOTA_MEMORY, 4});
    cluster_put_quota(harness->extender.cluster, quota);
}

static void expect_namespace(const json_t *items, size_t position, const char *namespace,
                             size_t limits, size_t remarks)
{
    const json_t *item = json_array_get(items, position);

    assert_string_equal(json_string_value(json_object_get(item, "namespace")), namespace);
    assert_int_equal(json_array_size(json_object_get(item, "limits")), limits);
    assert_int_equal(json_array_size(json_object_get(item, "remarks")), remarks);
}

static void test_view_quota__has_each_namespace_once_in_order(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO(buf_clear) struct buf out = buf_with_max(1 << 20);
    json_t *document;
    const json_t *items;

    (void)state;
    put(harness, "c", "limit", NULL);
    put(harness, "c", "odd", "is odd");
    put(harness, "b", "odd", "is odd");
    put(harness, "d", "odder", "is odder");
    put(harness, "d", "odd", "is odd");
    put(harness, "a", "limit", NULL);
    view_quota(&harness->extender, (struct moment){0}, VIEW_JSON, &out);
    document = json_loads(buf_text(&out), 0, NULL);
    assert_non_null(document);
    items = json_object_get(document, "items");
    assert_int_equal(json_array_size(items), 4);
    expect_namespace(items, 0, "a", 1, 0);
    expect_namespace(items, 1, "b", 0, 1);
    expect_namespace(items, 2, "c", 1, 1);
    expect_namespace(items, 3, "d", 0, 2);
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_view_quota__has_each_namespace_once_in_order),
    };

    return cmocka_run_group_tests_name("quota_view", tests, NULL, NULL);
}
