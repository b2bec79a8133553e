/* SPDX-License-Identifier: Apache-2.0 */
/* harness_quota - ResourceQuotas of the made-up API server. */
#include "support/harness.h"

#include "topofit/dialect.h"
#include "topofit/kube_json.h"

#include <stdlib.h>

#define NAMESPACE "default"

/* "a 1, b 2" as {"limits.a": "1", "limits.b": "2"}. New reference. */
static json_t *read_hard(const char *hard)
{
    json_t *limits = json_object();

    while (*hard != '\0') {
        size_t length = strcspn(hard, ",");
        char resource[200], amount[40];
        AUTO_FREE char *key = NULL;

        assert_int_equal(sscanf(hard, " %199[^ ] %39[^, ]", resource, amount), 2);
        key = xasprintf("limits.%s", resource);
        json_object_set_new(limits, key, json_string(amount));
        hard += length + (hard[length] == ',');
    }
    return limits;
}

void api_quota(struct harness *harness, const char *name, const char *hard)
{
    AUTO(kube_object_clear) struct kube_object object = {0};
    json_t *quota = json_pack("{s:s,s:s,s:{s:s,s:s,s:s},s:{s:o}}", "apiVersion", "v1", "kind",
                              "ResourceQuota", "metadata", "namespace", NAMESPACE, "name", name,
                              "uid", name, "spec", "hard", read_hard(hard));
    AUTO_FREE char *text = json_dumps(quota, 0);
    struct error err = {0};

    kube_object_init(&object, KUBE_QUOTA);
    assert_ok(kube_json_read_object(KUBE_QUOTA, text, strlen(text), &object, &err), &err);
    cluster_put_quota(harness->cluster, dialect_quota(&object.quota, &harness->classes));
    json_decref(quota);
}

void api_delete_quota(struct harness *harness, const char *name)
{
    cluster_remove_quota(harness->cluster, NAMESPACE, name, name);
}

uint64_t quota_used(const struct harness *harness, const char *resource)
{
    uint64_t used = UINT64_MAX;
    size_t count;
    struct quota_view *views = cluster_quotas(harness->cluster, &count);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(quota_resource(views[i].class, views[i].kind), resource) == 0)
            used = quota_in_units(views[i].class, views[i].kind, views[i].used);
    }
    quota_views_free(views, count);
    assert_true(used != UINT64_MAX);
    return used;
}
