/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/intake.h"

#include <stdlib.h>

/* What the API server tells, fed by hand. */
struct told {
    struct cluster *cluster;
    struct intake *intake;
    struct reflector_sink nodes, pods;
};

static struct told begin(void)
{
    struct told told = {.cluster = cluster_new(&test_key)};

    told.intake = intake_new(told.cluster, &test_classes, &(struct intake_listener){0});
    told.nodes = intake_nodes(told.intake);
    told.pods = intake_pods(told.intake);
    return told;
}

static void end(struct told *told)
{
    cluster_check(told->cluster);
    intake_free(told->intake);
    cluster_free(told->cluster);
}

typedef void (*feed)(void *ctx, struct kube_object *object);

static void tell_node(feed feed_object, void *ctx, const char *name)
{
    struct kube_object object;

    kube_object_init(&object, KUBE_NODE);
    free(object.node.meta.name);
    object.node.meta.name = xstrdup(name);
    kube_pairs_add(&object.node.meta.annotations, "topofit.io/inventory",
                   "{\"devices\":[{\"id\":\"GPU-0\",\"memoryMiB\":16384}]}");
    feed_object(ctx, &object);
    kube_object_clear(&object);
}

static void tell_pod(feed feed_object, void *ctx, const char *name, const char *uid)
{
    AUTO_FREE char *record = xasprintf(
        "{\"version\":1,\"podUID\":\"%s\",\"node\":\"n1\",\"tier\":0,\"degraded\":false,"
        "\"containers\":[{\"name\":\"main\",\"kind\":\"app\",\"devices\":[{\"id\":\"GPU-0\","
        "\"memoryMiB\":4096,\"cores\":0,\"slots\":1,\"mode\":\"soft\"}]}]}",
        uid);
    struct kube_object object;

    kube_object_init(&object, KUBE_POD);
    free(object.pod.meta.name);
    free(object.pod.meta.namespace);
    free(object.pod.meta.uid);
    free(object.pod.node_name);
    object.pod.meta.name = xstrdup(name);
    object.pod.meta.namespace = xstrdup("default");
    object.pod.meta.uid = xstrdup(uid);
    object.pod.node_name = xstrdup("n1");
    kube_pairs_add(&object.pod.meta.annotations, "topofit.io/allocation", record);
    feed_object(ctx, &object);
    kube_object_clear(&object);
}

static size_t count_nodes(const struct told *told)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(told->cluster);

    return snapshot->count;
}

static size_t count_pods(const struct told *told)
{
    size_t count = 0;
    struct pod **pods = cluster_pods(told->cluster, &count);

    for (size_t i = 0; i < count; i++)
        pod_unref(pods[i]);
    free(pods);
    return count;
}

static size_t count_holdings(const struct told *told)
{
    size_t counts[HOLDING_BOUND + 1];

    cluster_count_holdings(told->cluster, counts);
    return counts[HOLDING_BOUND];
}

static void test_intake__a_list_counts_when_it_is_complete(void **state)
{
    struct told told = begin();

    (void)state;
    told.nodes.begin(told.nodes.ctx);
    told.pods.begin(told.pods.ctx);
    tell_node(told.nodes.item, told.nodes.ctx, "n1");
    tell_pod(told.pods.item, told.pods.ctx, "a", "1");
    assert_int_equal(count_nodes(&told), 0);
    assert_int_equal(count_holdings(&told), 0);
    told.nodes.commit(told.nodes.ctx);
    assert_false(cluster_is_synced(told.cluster));
    told.pods.commit(told.pods.ctx);
    assert_true(cluster_is_synced(told.cluster));
    assert_int_equal(count_nodes(&told), 1);
    assert_int_equal(count_holdings(&told), 1);
    end(&told);
}

static void test_intake__a_list_that_breaks_half_way_changes_nothing(void **state)
{
    struct told told = begin();

    (void)state;
    tell_node(told.nodes.upsert, told.nodes.ctx, "n1");
    tell_pod(told.pods.upsert, told.pods.ctx, "a", "1");
    told.nodes.begin(told.nodes.ctx);
    told.pods.begin(told.pods.ctx);
    tell_node(told.nodes.item, told.nodes.ctx, "half");
    tell_pod(told.pods.item, told.pods.ctx, "half", "2");
    /* ... and the next list begins. */
    told.nodes.begin(told.nodes.ctx);
    told.pods.begin(told.pods.ctx);
    assert_int_equal(count_nodes(&told), 1);
    assert_int_equal(count_holdings(&told), 1);
    tell_node(told.nodes.item, told.nodes.ctx, "n2");
    told.nodes.commit(told.nodes.ctx);
    told.pods.commit(told.pods.ctx);
    assert_int_equal(count_nodes(&told), 1);
    assert_int_equal(count_pods(&told), 0);
    assert_int_equal(count_holdings(&told), 0);
    end(&told);
}

static void test_intake__an_unfinished_list_is_freed_with_it(void **state)
{
    struct told told = begin();

    (void)state;
    told.nodes.begin(told.nodes.ctx);
    told.pods.begin(told.pods.ctx);
    for (int i = 0; i < 100; i++) {
        tell_node(told.nodes.item, told.nodes.ctx, "n");
        tell_pod(told.pods.item, told.pods.ctx, "a", "1");
    }
    end(&told);
}

static void test_intake__events_add_change_and_remove(void **state)
{
    struct told told = begin();

    (void)state;
    tell_node(told.nodes.upsert, told.nodes.ctx, "n1");
    tell_node(told.nodes.upsert, told.nodes.ctx, "n1");
    tell_pod(told.pods.upsert, told.pods.ctx, "a", "1");
    tell_pod(told.pods.upsert, told.pods.ctx, "a", "1");
    assert_int_equal(count_nodes(&told), 1);
    assert_int_equal(count_holdings(&told), 1);
    tell_pod(told.pods.remove, told.pods.ctx, "a", "another");
    assert_int_equal(count_holdings(&told), 1);
    tell_pod(told.pods.remove, told.pods.ctx, "a", "1");
    tell_node(told.nodes.remove, told.nodes.ctx, "n1");
    assert_int_equal(count_nodes(&told), 0);
    assert_int_equal(count_holdings(&told), 0);
    end(&told);
}

static void test_intake__announces_a_list_when_it_begins(void **state)
{
    struct told told = begin();
    AUTO(pod_unref_pointer) struct pod *pod = pod_new("default", "a", "1");
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = NULL;
    AUTO(allocation_clear) struct allocation nothing;
    struct error err = {0};
    uint64_t token = 0;

    (void)state;
    tell_node(told.nodes.upsert, told.nodes.ctx, "n1");
    told.pods.begin(told.pods.ctx);
    snapshot = cluster_snapshot(told.cluster);
    allocation_init(&nothing);
    assert_ok(
        cluster_reserve(told.cluster, pod, &nothing, snapshot_find(snapshot, "n1"), &token, &err),
        &err);
    cluster_confirm(told.cluster, "1", token);
    told.pods.commit(told.pods.ctx); /* may have been answered before the booking */
    assert_int_equal(count_holdings(&told), 1);
    told.pods.begin(told.pods.ctx);
    told.pods.commit(told.pods.ctx);
    assert_int_equal(count_holdings(&told), 0);
    end(&told);
}

static void count_problem(void *ctx, const char *node, const char *problem)
{
    assert_string_equal(node, "n1");
    assert_contains(problem, "topofit.io/inventory");
    ++*(unsigned *)ctx;
}

/* F17: told once, not with every heartbeat. */
static void test_intake__tells_of_a_node_that_is_not_understood_once(void **state)
{
    unsigned problems = 0;
    struct intake_listener listener = {.ctx = &problems, .on_node_problem = count_problem};
    struct cluster *cluster = cluster_new(&test_key);
    struct intake *intake = intake_new(cluster, &test_classes, &listener);
    struct reflector_sink nodes = intake_nodes(intake);

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct kube_object object;

        kube_object_init(&object, KUBE_NODE);
        free(object.node.meta.name);
        object.node.meta.name = xstrdup("n1");
        kube_pairs_add(&object.node.meta.annotations, "topofit.io/inventory", "{");
        nodes.upsert(nodes.ctx, &object);
        kube_object_clear(&object);
    }
    assert_int_equal(problems, 1);
    intake_free(intake);
    cluster_free(cluster);
}

/* --- quotas ---------------------------------------------------------------------------------- */

static void count_remark(void *ctx, const struct quota *quota, const char *remark)
{
    (void)quota;
    assert_contains(remark, "limits.nvidia.com/gpu-mem is not counted");
    (*(unsigned *)ctx)++;
}

static void tell_quota(feed feed_object, void *ctx, const char *resource, const char *amount)
{
    AUTO_FREE char *key = xasprintf("limits.%s", resource);
    struct kube_object object;

    kube_object_init(&object, KUBE_QUOTA);
    free(object.quota.meta.name);
    free(object.quota.meta.namespace);
    object.quota.meta.name = xstrdup("q");
    object.quota.meta.namespace = xstrdup("default");
    kube_pairs_add(&object.quota.hard, key, amount);
    feed_object(ctx, &object);
    kube_object_clear(&object);
}

/* F31: told once, not with every change of the object's status, nor with every list. */
static void test_intake__tells_of_a_misspelled_limit_once(void **state)
{
    unsigned remarks = 0;
    struct intake_listener listener = {.ctx = &remarks, .on_quota_remark = count_remark};
    struct cluster *cluster = cluster_new(&test_key);
    struct intake *intake = intake_new(cluster, &test_classes, &listener);
    struct reflector_sink quotas = intake_quotas(intake);

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        quotas.begin(quotas.ctx);
        tell_quota(quotas.item, quotas.ctx, "nvidia.com/gpu-mem", "1");
        quotas.commit(quotas.ctx);
        tell_quota(quotas.upsert, quotas.ctx, "nvidia.com/gpu-mem", "1");
    }
    assert_int_equal(remarks, 1);
    tell_quota(quotas.upsert, quotas.ctx, "nvidia.com/gpumem", "1");
    tell_quota(quotas.upsert, quotas.ctx, "nvidia.com/gpu-mem", "1");
    assert_int_equal(remarks, 2);
    quotas.begin(quotas.ctx); /* never completed */
    tell_quota(quotas.item, quotas.ctx, "nvidia.com/gpumem", "1");
    intake_free(intake);
    cluster_free(cluster);
}

static void test_intake__quotas_come_change_and_go(void **state)
{
    struct told told = begin();
    struct reflector_sink quotas = intake_quotas(told.intake);
    struct quota_view *views;
    size_t count;

    (void)state;
    tell_quota(quotas.upsert, quotas.ctx, "nvidia.com/gpumem", "10k");
    tell_quota(quotas.upsert, quotas.ctx, "nvidia.com/gpumem", "9k");
    views = cluster_quotas(told.cluster, &count);
    assert_int_equal(count, 1);
    assert_int_equal(views[0].limit, 9000);
    quota_views_free(views, count);
    tell_quota(quotas.remove, quotas.ctx, "nvidia.com/gpumem", "9k");
    views = cluster_quotas(told.cluster, &count);
    assert_int_equal(count, 0);
    quota_views_free(views, count);
    end(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intake__a_list_counts_when_it_is_complete),
        cmocka_unit_test(test_intake__a_list_that_breaks_half_way_changes_nothing),
        cmocka_unit_test(test_intake__an_unfinished_list_is_freed_with_it),
        cmocka_unit_test(test_intake__events_add_change_and_remove),
        cmocka_unit_test(test_intake__announces_a_list_when_it_begins),
        cmocka_unit_test(test_intake__tells_of_a_node_that_is_not_understood_once),
        cmocka_unit_test(test_intake__tells_of_a_misspelled_limit_once),
        cmocka_unit_test(test_intake__quotas_come_change_and_go),
    };

    return cmocka_run_group_tests_name("intake", tests, NULL, NULL);
}
