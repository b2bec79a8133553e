/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster makes of quotas: what is used, what is left, and who may wait for it. */
#include "support/builders.h"
#include "support/class_nodes.h"
#include "support/small_cluster.h"
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/cluster.h"
#include "topofit/mem.h"

#define DEVICE_MIB 16384 /* of a small cluster */

static void put(struct cluster *cluster, const char *name, const char *uid, enum quota_kind kind,
                uint64_t amount)
{
    struct quota *quota = quota_new("default", name, uid);

    quota_add_limit(quota, &(struct quota_limit){&test_class, kind, amount});
    cluster_put_quota(cluster, quota);
}

static enum quota_answer ask(struct cluster *cluster, const struct pod *pod, uint64_t *used)
{
    struct quota_shortage shortage = {0};
    struct quota_room room;
    enum quota_answer answer =
        cluster_ask_quota(cluster, pod->namespace, pod->uid, &pod->request, &room, &shortage);

    *used = room.count > 0 ? room.lines[0].used[QUOTA_MEMORY] : 0;
    return answer;
}

static void test_cluster_reserve__books_nothing_beyond_the_quota_on_whatever_node(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(2);
    AUTO(pod_unref_pointer) struct pod *a = small_pod("a", "1", 6000);
    AUTO(pod_unref_pointer) struct pod *b = small_pod("b", "2", 4001);
    AUTO(pod_unref_pointer) struct pod *c = small_pod("c", "3", 4000);
    uint64_t token = 0;

    (void)state;
    put(cluster, "q", "q", QUOTA_MEMORY, 10000);
    assert_int_equal(small_reserve(cluster, a, "GPU-0", 6000, &token), 0);
    assert_int_equal(small_reserve(cluster, b, "GPU-1", 4001, &token), -ERR_CONFLICT);
    assert_int_equal(small_reserve(cluster, c, "GPU-1", 4000, &token), 0);
    cluster_check(cluster);
}

static void test_cluster__reserved_unknown_and_bound_count_until_released(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *a = small_pod("a", "1", 6000);
    AUTO(pod_unref_pointer) struct pod *other = small_pod("b", "2", 1);
    uint64_t token = 0, used;

    (void)state;
    put(cluster, "q", "q", QUOTA_MEMORY, 10000);
    small_reserve(cluster, a, "GPU-0", 6000, &token);
    ask(cluster, other, &used);
    assert_int_equal(used, 6000);
    cluster_mark_unknown(cluster, "1", token);
    ask(cluster, other, &used);
    assert_int_equal(used, 6000);
    ask(cluster, a, &used); /* its own booking is no use by others */
    assert_int_equal(used, 0);
    cluster_release(cluster, "1", token);
    ask(cluster, other, &used);
    assert_int_equal(used, 0);
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 5000));
    ask(cluster, other, &used);
    assert_int_equal(used, 5000);
    cluster_remove_pod(cluster, "default", "a", NULL);
    ask(cluster, other, &used);
    assert_int_equal(used, 0);
}

static void test_cluster__a_pod_without_a_record_counts_with_what_it_asks_for(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *other = small_pod("b", "2", 1);
    uint64_t used;

    (void)state;
    put(cluster, "q", "q", QUOTA_MEMORY, 10000);
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", NULL, 5000));
    ask(cluster, other, &used);
    assert_int_equal(used, 5000);
}

static void test_cluster_ask_quota__looks_at_sizes_only_where_they_matter(void **state)
{
    static const struct {
        uint64_t mib, limit; /* mib 0: a whole device; there are 16384 and 8192 MiB */
        enum quota_answer answer;
    } cases[] = {
        {5000, 5000, QUOTA_KEPT},           {5001, 5000, QUOTA_TOO_BIG}, {0, 16384, QUOTA_KEPT},
        {0, 16383, QUOTA_DEPENDS},          {0, 8192, QUOTA_DEPENDS},    {0, 8191, QUOTA_TOO_BIG},
        {5000, QUOTA_NO_LIMIT, QUOTA_KEPT},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
        AUTO(pod_unref_pointer) struct pod *pod = small_pod("a", "1", cases[i].mib);
        uint64_t used;

        cluster_put_node(cluster, node_plain("n2", 1, DEVICE_MIB / 2, 2));
        put(cluster, "q", "q", QUOTA_MEMORY, cases[i].limit);
        assert_int_equal(ask(cluster, pod, &used), cases[i].answer);
    }
}

static void test_cluster_ask_quota__others_in_the_way_are_told_from_a_limit_too_small(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *pod = small_pod("b", "2", 6000);
    uint64_t used;

    (void)state;
    put(cluster, "q", "q", QUOTA_MEMORY, 10000);
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 5000));
    assert_int_equal(ask(cluster, pod, &used), QUOTA_EXCEEDED);
    put(cluster, "q", "q", QUOTA_MEMORY, 5999);
    assert_int_equal(ask(cluster, pod, &used), QUOTA_TOO_BIG);
}

/* A partition has more than was asked for, or less than its name says. */
static void test_cluster_ask_quota__of_divided_devices_only_a_node_can_tell(void **state)
{
    static const struct {
        const char *profile;
        uint64_t mib, limit;
        enum quota_answer answer;
    } cases[] = {
        {"1g.5gb", 0, 5120, QUOTA_DEPENDS},
        {"1g.5gb", 0, 0, QUOTA_DEPENDS},
        {NULL, 100, 40000, QUOTA_DEPENDS},
        {NULL, 100, 99, QUOTA_TOO_BIG},
    };
    AUTO(class_table_clear) struct class_table classes = {0};
    const struct device_class *class;

    (void)state;
    classes_builtin(&classes);
    class = class_find(&classes, "nvidia");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(small_cluster_free) struct cluster *cluster = cluster_new(&test_key);
        AUTO(pod_unref_pointer) struct pod *pod = pod_new("default", "a", "1");
        struct node *node = node_of_class(class, 1, 40960, 7);
        struct quota *quota = quota_new("default", "q", "q");
        uint64_t used;

        node_divide(node, table_of(class, "NVIDIA A100-SXM4-40GB"));
        cluster_put_node(cluster, node);
        quota_add_limit(quota, &(struct quota_limit){class, QUOTA_MEMORY, cases[i].limit});
        cluster_put_quota(cluster, quota);
        request_profile(&pod->request, class, CONTAINER_APP, cases[i].profile, cases[i].mib);
        assert_int_equal(ask(cluster, pod, &used), cases[i].answer);
    }
}

/* --- waking ---------------------------------------------------------------------------------- */

static void test_cluster_freed__more_quota_is_a_change_to_wait_for_and_less_is_none(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    uint64_t before;

    (void)state;
    put(cluster, "q", "q", QUOTA_MEMORY, 10000);
    before = cluster_freed(cluster, NULL);
    put(cluster, "q", "q", QUOTA_MEMORY, 10000); /* the status changed */
    put(cluster, "q", "q", QUOTA_MEMORY, 9000);
    put(cluster, "another", "another", QUOTA_MEMORY, 1);
    assert_int_equal(cluster_freed(cluster, NULL), before);
    put(cluster, "q", "q", QUOTA_MEMORY, 9001);
    assert_true(cluster_freed(cluster, NULL) > before);
    before = cluster_freed(cluster, NULL);
    put(cluster, "q", "q", QUOTA_CORES, 1); /* memory is not limited any more */
    assert_true(cluster_freed(cluster, NULL) > before);
    before = cluster_freed(cluster, NULL);
    cluster_remove_quota(cluster, "default", "q", "an older one");
    assert_int_equal(cluster_freed(cluster, NULL), before);
    cluster_remove_quota(cluster, "default", "q", "q");
    assert_true(cluster_freed(cluster, NULL) > before);
}

static void test_cluster_replace_quotas__what_is_missing_from_a_list_is_gone(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    struct quota *listed = quota_new("elsewhere", "r", "r");
    uint64_t before;
    size_t count;
    struct quota_view *views;

    (void)state;
    quota_add_limit(listed, &(struct quota_limit){&test_class, QUOTA_CORES, 300});
    put(cluster, "q", "q", QUOTA_MEMORY, 10000);
    before = cluster_freed(cluster, NULL);
    cluster_replace_quotas(cluster, &listed, 1);
    assert_true(cluster_freed(cluster, NULL) > before);
    views = cluster_quotas(cluster, &count);
    assert_int_equal(count, 1);
    assert_string_equal(views[0].namespace, "elsewhere");
    assert_int_equal(views[0].limit, 300);
    quota_views_free(views, count);
}

static void put_for_class(struct cluster *cluster, const char *name, uint64_t amount)
{
    struct quota *quota = quota_new("default", name, name);
    struct quota_scope scope = {.kind = SCOPE_PRIORITY_CLASS, .op = SCOPE_IN};

    quota_scope_add_value(&scope, name);
    quota_scope_finish(&scope);
    quota_steal_scope(quota, &scope);
    quota_add_limit(quota, &(struct quota_limit){&test_class, QUOTA_MEMORY, amount});
    cluster_put_quota(cluster, quota);
}

static struct pod *pod_of_class(const char *name, const char *uid, uint64_t mib, const char *class)
{
    struct pod *pod = small_pod(name, uid, mib);

    pod->request.traits.priority_class = xstrdup(class);
    return pod;
}

static void test_cluster_reserve__a_quota_with_scopes_counts_those_it_is_for(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(2);
    AUTO(pod_unref_pointer) struct pod *low = pod_of_class("a", "1", 6000, "low");
    AUTO(pod_unref_pointer) struct pod *high = pod_of_class("b", "2", 6000, "high");
    AUTO(pod_unref_pointer) struct pod *more = pod_of_class("c", "3", 5000, "high");
    AUTO(pod_unref_pointer) struct pod *none = small_pod("d", "4", 5000);
    uint64_t token = 0, used;

    (void)state;
    put_for_class(cluster, "low", 7000);
    put_for_class(cluster, "high", 10000);
    assert_int_equal(small_reserve(cluster, low, "GPU-0", 6000, &token), 0);
    assert_int_equal(small_reserve(cluster, high, "GPU-0", 6000, &token), 0);
    assert_int_equal(ask(cluster, more, &used), QUOTA_EXCEEDED);
    assert_int_equal(used, 6000);
    assert_int_equal(small_reserve(cluster, more, "GPU-1", 5000, &token), -ERR_CONFLICT);
    assert_int_equal(small_reserve(cluster, none, "GPU-1", 5000, &token), 0);
    cluster_check(cluster);
}

static void test_cluster__of_quotas_with_other_pods_that_counts_which_leaves_least(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(2);
    AUTO(pod_unref_pointer) struct pod *other = pod_of_class("a", "1", 9000, "low");
    AUTO(pod_unref_pointer) struct pod *high = pod_of_class("b", "2", 2000, "high");
    uint64_t token = 0, used;

    (void)state;
    put(cluster, "all", "all", QUOTA_MEMORY, 10000);
    put_for_class(cluster, "high", 3000);
    assert_int_equal(ask(cluster, high, &used), QUOTA_KEPT);
    small_reserve(cluster, other, "GPU-0", 9000, &token);
    assert_int_equal(ask(cluster, high, &used), QUOTA_EXCEEDED); /* 1000 left of all */
    assert_int_equal(used, 9000);
}

static void test_cluster_quotas__of_several_objects_the_tightest_is_named(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    struct quota_view *views;
    size_t count;

    (void)state;
    put(cluster, "a", "a", QUOTA_MEMORY, 10000);
    put(cluster, "b", "b", QUOTA_MEMORY, 9000);
    put(cluster, "c", "c", QUOTA_MEMORY, 11000);
    views = cluster_quotas(cluster, &count);
    assert_int_equal(count, 1);
    assert_int_equal(views[0].limit, 9000);
    assert_string_equal(views[0].quota, "b");
    quota_views_free(views, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cluster_reserve__books_nothing_beyond_the_quota_on_whatever_node),
        cmocka_unit_test(test_cluster__reserved_unknown_and_bound_count_until_released),
        cmocka_unit_test(test_cluster__a_pod_without_a_record_counts_with_what_it_asks_for),
        cmocka_unit_test(test_cluster_ask_quota__looks_at_sizes_only_where_they_matter),
        cmocka_unit_test(test_cluster_ask_quota__others_in_the_way_are_told_from_a_limit_too_small),
        cmocka_unit_test(test_cluster_ask_quota__of_divided_devices_only_a_node_can_tell),
        cmocka_unit_test(test_cluster_freed__more_quota_is_a_change_to_wait_for_and_less_is_none),
        cmocka_unit_test(test_cluster_replace_quotas__what_is_missing_from_a_list_is_gone),
        cmocka_unit_test(test_cluster_reserve__a_quota_with_scopes_counts_those_it_is_for),
        cmocka_unit_test(test_cluster__of_quotas_with_other_pods_that_counts_which_leaves_least),
        cmocka_unit_test(test_cluster_quotas__of_several_objects_the_tightest_is_named),
    };

    return cmocka_run_group_tests_name("quotas", tests, NULL, NULL);
}
