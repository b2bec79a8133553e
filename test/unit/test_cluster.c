/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/small_cluster.h"
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/cluster.h"

#include <stdlib.h>

/* --- the life of a pod --------------------------------------------------------------------------
 */

static void test_cluster_put_pod__f28_the_devices_are_free_however_the_pod_ends(void **state)
{
    (void)state;
    for (int end = 0; end < 5; end++) {
        AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
        struct pod *last = small_bound_pod("a", "1", "n1", "GPU-0", 8192);

        cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 8192));
        assert_int_equal(small_used_mib(cluster), 8192);
        last->finished = true;
        if (end == 0)
            cluster_remove_pod(cluster, "default", "a", "1");
        else if (end == 1)
            cluster_put_pod(cluster, pod_ref(last));
        else if (end == 2)
            cluster_replace_pods(cluster, NULL, 0);
        else if (end == 3)
            cluster_put_pod(cluster, small_pod("a", "2", 8192));
        else
            cluster_remove_pod(cluster, "default", "a", NULL);
        assert_int_equal(small_used_mib(cluster), 0);
        cluster_remove_pod(cluster, "default", "a", "1"); /* told twice */
        assert_int_equal(small_used_mib(cluster), 0);
        pod_unref(last);
    }
}

static void test_cluster_remove_pod__f28_an_old_event_leaves_the_namesake_alone(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *found = NULL;

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "2", "n1", "GPU-0", 8192));
    cluster_remove_pod(cluster, "default", "a", "1");
    assert_int_equal(small_used_mib(cluster), 8192);
    found = cluster_find_pod(cluster, "default", "a");
    assert_string_equal(found->uid, "2");
}

static void test_cluster_put_pod__what_a_pod_no_longer_says_is_given_back(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 1000));
    cluster_put_pod(cluster, small_pod("a", "1", 1000));
    assert_int_equal(small_used_mib(cluster), 0);
}

static void test_cluster_put_pod__a_uid_told_twice_belongs_to_the_last_pod(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 1000));
    cluster_put_pod(cluster, small_bound_pod("b", "1", "n1", "GPU-0", 2000));
    assert_int_equal(small_used_mib(cluster), 2000);
    cluster_remove_pod(cluster, "default", "a", NULL);
    assert_int_equal(small_used_mib(cluster), 2000);
}

static void test_cluster_put_pod__a_namesake_that_holds_the_same_leaves_plans_valid(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(snapshot_unref_pointer) struct snapshot *before = NULL, *after = NULL;
    uint64_t freed;

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "uid-1", "n1", "GPU-0", 1000));
    before = cluster_snapshot(cluster);
    freed = cluster_freed(cluster, NULL);
    cluster_put_pod(cluster, small_bound_pod("a", "uid-2", "n1", "GPU-0", 1000));
    after = cluster_snapshot(cluster);
    assert_int_equal(snapshot_version(before, 0), snapshot_version(after, 0));
    assert_int_equal(cluster_freed(cluster, NULL), freed);
    cluster_check(cluster);
}

static void test_cluster_put_pod__f29_a_terminating_pod_holds_until_it_is_gone(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    struct pod *pod = small_bound_pod("b", "1", "n1", "GPU-0", 8192);

    (void)state;
    pod->deleting = true;
    cluster_put_pod(cluster, pod_ref(pod));
    cluster_put_pod(cluster, pod); /* told twice: counted once */
    assert_int_equal(small_used_mib(cluster), 8192);
    assert_int_equal(small_use(cluster, 0).slots, 1);
    cluster_remove_pod(cluster, "default", "b", "1");
    assert_int_equal(small_used_mib(cluster), 0);
}

static void test_cluster_put_pod__f10_counts_less_when_the_init_steps_have_ended(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    struct pod *pod = small_bound_pod("b", "1", "n1", NULL, 0);
    struct pod *later;

    (void)state;
    pod->has_record = true;
    pod->init_done = false;
    free(pod->record.node);
    pod->record.node = xstrdup("n1");
    allocation_add_container(&pod->record, "init", CONTAINER_INIT);
    record_line(&pod->record, "GPU-0", 10240, 0, ISOLATION_SOFT);
    allocation_add_container(&pod->record, "app", CONTAINER_APP);
    record_line(&pod->record, "GPU-0", 4096, 0, ISOLATION_SOFT);
    later = pod_bound(pod, "n1");
    later->init_done = true;
    later->has_record = true;
    allocation_clear(&later->record);
    allocation_copy(&pod->record, &later->record);
    cluster_put_pod(cluster, pod);
    assert_int_equal(small_used_mib(cluster), 10240);
    cluster_put_pod(cluster, later);
    assert_int_equal(small_used_mib(cluster), 4096);
}

/* --- pods that do not tell what they hold --------------------------------------------------------
 */

static void test_cluster_put_pod__counts_what_no_record_attributes(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(4);
    struct pod *copied = small_bound_pod("b", "2", "n1", "GPU-0", 100);
    struct pod *broken = small_bound_pod("c", "3", "n1", NULL, 100);

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", NULL, 100));
    assert_int_equal(small_unattributed(cluster), 1);
    copied->record.node[1] = '9'; /* a record of another node */
    cluster_put_pod(cluster, copied);
    assert_int_equal(small_unattributed(cluster), 2);
    assert_int_equal(small_used_mib(cluster), 0);
    broken->record_problem = xstrdup("not JSON");
    cluster_put_pod(cluster, broken);
    assert_int_equal(small_unattributed(cluster), 3);
    cluster_remove_pod(cluster, "default", "a", "1");
    cluster_put_pod(cluster,
                    small_bound_pod("c", "3", "n1", "GPU-1", 100)); /* the record is repaired */
    assert_int_equal(small_unattributed(cluster), 1);
    assert_int_equal(small_use(cluster, 1).memory_mib, 100);
}

static void test_cluster_put_pod__absurd_counts_do_not_wrap_around(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(4);
    struct pod *pod = small_bound_pod("a", "1", "n1", NULL, 100);

    (void)state;
    pod->request.asks[0].count = UINT32_MAX;
    cluster_put_pod(cluster, pod);
    cluster_put_pod(cluster, small_bound_pod("b", "2", "n1", NULL, 100));
    assert_true(small_unattributed(cluster) >= 4);
}

static void test_cluster_put_pod__pods_without_devices_do_not_disturb_plans(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    uint64_t before = small_version(cluster);
    size_t holdings = 1;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pod *pod = pod_new("default", "cpu", "9");

        free(pod->node);
        pod->node = xstrdup("n1");
        cluster_put_pod(cluster, pod);
    }
    assert_int_equal(small_version(cluster), before);
    assert_null(cluster_holdings(cluster, NULL, &holdings));
    assert_int_equal(holdings, 0);
}

/* --- lists and nodes ---------------------------------------------------------------------------
 */

static void test_cluster_is_synced__after_both_lists(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = cluster_new(&test_key);

    (void)state;
    cluster_put_node(cluster, node_plain("n1", 1, 1, 1));
    assert_false(cluster_is_synced(cluster));
    cluster_replace_nodes(cluster, NULL, 0);
    assert_false(cluster_is_synced(cluster));
    cluster_replace_pods(cluster, NULL, 0);
    assert_true(cluster_is_synced(cluster));
}

static void test_cluster_replace_pods__a_list_of_what_is_known_leaves_plans_valid(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    struct pod *pods[] = {small_bound_pod("a", "1", "n1", "GPU-0", 1000)};
    uint64_t before;

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 1000));
    before = small_version(cluster);
    cluster_replace_pods(cluster, pods, ARRAY_LEN(pods));
    assert_int_equal(small_version(cluster), before);
    pods[0] = small_bound_pod("a", "1", "n1", "GPU-0", 1001);
    cluster_replace_pods(cluster, pods, ARRAY_LEN(pods));
    assert_int_not_equal(small_version(cluster), before);
    assert_int_equal(small_used_mib(cluster), 1001);
}

/* Two uids, one name; two names, one uid: the last of a list counts. */
static void test_cluster_replace_pods__names_and_uids_told_twice_count_once(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    struct pod *pods[] = {
        small_bound_pod("a", "1", "n1", "GPU-0", 1000),
        small_bound_pod("a", "2", "n1", "GPU-0", 2000),
        small_bound_pod("b", "2", "n1", "GPU-0", 4000),
        small_bound_pod("c", "3", "n1", "GPU-0", 8000),
    };
    AUTO(pod_unref_pointer) struct pod *found = NULL;

    (void)state;
    cluster_replace_pods(cluster, pods, ARRAY_LEN(pods));
    assert_int_equal(small_used_mib(cluster), 12000);
    found = cluster_find_pod_by_uid(cluster, "2");
    assert_string_equal(found->name, "b");
    assert_null(cluster_find_pod(cluster, "default", "a"));
    assert_null(cluster_find_pod_by_uid(cluster, "1"));
}

static void test_cluster_put_node__a_heartbeat_changes_nothing(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    uint64_t before = small_version(cluster);

    (void)state;
    cluster_put_node(cluster, node_plain("n1", 1, 16384, 2));
    assert_int_equal(small_version(cluster), before);
    cluster_put_node(cluster, node_plain("n1", 1, 16385, 2));
    assert_int_not_equal(small_version(cluster), before);
}

static void test_cluster_put_node__holdings_outlive_their_node(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 8192));
    cluster_remove_node(cluster, "n1");
    cluster_check(cluster);
    cluster_put_node(cluster, node_plain("n1", 2, 16384, 2));
    assert_int_equal(small_used_mib(cluster), 8192);
}

static void test_cluster_put_node__nodes_wired_and_named_alike_share_what_they_repeat(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = cluster_new(&test_key);
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = NULL;
    const struct node *a, *b, *c;

    (void)state;
    cluster_put_node(cluster, node_8gpu_pairs("a"));
    cluster_put_node(cluster, node_8gpu_pairs("b"));
    cluster_put_node(cluster, node_8gpu_nvswitch("c"));
    snapshot = cluster_snapshot(cluster);
    a = snapshot_find(snapshot, "a")->node;
    b = snapshot_find(snapshot, "b")->node;
    c = snapshot_find(snapshot, "c")->node;
    assert_ptr_equal(a->graph, b->graph);
    assert_ptr_not_equal(a->graph, c->graph);
    assert_int_not_equal(a->graph->serial, 0);
    assert_int_not_equal(a->graph->serial, c->graph->serial);
    assert_ptr_equal(a->devices[0].product, c->devices[7].product);
}

static struct node *node_of_product(const char *name, const char *product)
{
    struct node *node = node_plain(name, 1, 1000, 1);

    text_replace(&node->devices[0].product, product);
    return node;
}

static void test_cluster_check__holds_when_one_of_too_many_products_leaves(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = cluster_new(&test_key);

    (void)state;
    for (unsigned i = 0; i < SCARCITY_PRODUCTS_MAX; i++) {
        AUTO_FREE char *name = xasprintf("n%u", i);
        AUTO_FREE char *product = xasprintf("P%u", i);

        cluster_put_node(cluster, node_of_product(name, product));
    }
    cluster_put_node(cluster, node_of_product("late-1", "A100"));
    cluster_remove_node(cluster, "n0");
    cluster_check(cluster);
    cluster_put_node(cluster, node_of_product("late-2", "A100"));
    cluster_put_node(cluster, node_of_product("late-3", "A100"));
    cluster_remove_node(cluster, "late-1");
    cluster_check(cluster);
}

static void test_cluster_snapshot__does_not_change_and_begins_ordered_by_name(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(snapshot_unref_pointer) struct snapshot *before = NULL;
    AUTO(snapshot_unref_pointer) struct snapshot *after = NULL;

    (void)state;
    cluster_put_node(cluster, node_plain("n10", 1, 1, 1));
    cluster_put_node(cluster, node_plain("a", 1, 1, 1));
    before = cluster_snapshot(cluster);
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 8192));
    cluster_remove_node(cluster, "a");
    after = cluster_snapshot(cluster);
    assert_int_equal(before->count, 3);
    assert_string_equal(snapshot_state(before, 0)->node->name, "a");
    assert_string_equal(snapshot_state(before, 1)->node->name, "n1");
    assert_string_equal(snapshot_state(before, 2)->node->name, "n10");
    assert_int_equal(snapshot_find(before, "n1")->use.devices[0].memory_mib, 0);
    assert_int_equal(after->count, 2);
    assert_null(snapshot_find(after, "a"));
}

static void test_cluster_share_words__before_the_nodes_are_put(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = cluster_new(&test_key);
    struct node *nodes[] = {node_plain("n1", 2, 1, 1), node_plain("n2", 2, 1, 1)};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        labels_add(nodes[i]->labels, "zone", "a");
        cluster_share_words(cluster, nodes[i]);
    }
    assert_ptr_equal(nodes[0]->graph, nodes[1]->graph);
    assert_ptr_equal(nodes[0]->labels->items[0].key, nodes[1]->labels->items[0].key);
    cluster_replace_nodes(cluster, nodes, ARRAY_LEN(nodes));
    cluster_check(cluster);
}

static void test_cluster_snapshot__shares_what_has_not_changed(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(snapshot_unref_pointer) struct snapshot *before = NULL;
    AUTO(snapshot_unref_pointer) struct snapshot *after = NULL;
    size_t last = 3 * STATE_CHUNK;

    (void)state;
    for (unsigned i = 0; i < last; i++) {
        AUTO_FREE char *name = xasprintf("z%u", i); /* behind n1 */

        cluster_put_node(cluster, node_plain(name, 1, 1, 1));
    }
    before = cluster_snapshot(cluster);
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 8192));
    after = cluster_snapshot(cluster);
    assert_int_equal(after->count, last + 1);
    assert_ptr_equal(after->names, before->names);
    assert_ptr_not_equal(after->chunks[0], before->chunks[0]);
    assert_ptr_equal(after->chunks[3], before->chunks[3]);
    assert_ptr_equal(snapshot_state(after, 1), snapshot_state(before, 1));
    assert_int_equal(snapshot_state(before, 0)->use.devices[0].memory_mib, 0);
    assert_int_equal(snapshot_state(after, 0)->use.devices[0].memory_mib, 8192);
    assert_int_equal(snapshot_version(after, 0), snapshot_state(after, 0)->version);
    assert_true(after->version > before->version);
}

/* "b a c" from the present picture. Free it. */
static char *order_of(struct cluster *cluster)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(cluster);
    struct buf names = buf_with_max(1000);

    for (size_t i = 0; i < snapshot->count; i++) {
        assert_string_equal(name_table_name(snapshot->names, i),
                            snapshot_state(snapshot, i)->node->name);
        buf_addf(&names, "%s%s", i > 0 ? " " : "", name_table_name(snapshot->names, i));
    }
    return buf_steal(&names);
}

static void expect_order(struct cluster *cluster, const char *want)
{
    AUTO_FREE char *order = order_of(cluster);

    assert_string_equal(order, want);
}

static void test_cluster_follow_order__later_pictures_have_it(void **state)
{
    static const uint32_t wish[] = {2, NAME_NOWHERE, 0, 0};
    AUTO(small_cluster_free) struct cluster *cluster = cluster_new(&test_key);
    AUTO(snapshot_unref_pointer) struct snapshot *before = NULL;

    (void)state;
    for (const char *name = "abcd"; *name != '\0'; name++)
        cluster_put_node(cluster, node_plain((const char[]){*name, '\0'}, 1, 1, 1));
    before = cluster_snapshot(cluster);
    cluster_follow_order(cluster, before, wish, ARRAY_LEN(wish));
    assert_string_equal(snapshot_state(before, 0)->node->name, "a");
    expect_order(cluster, "c a b d");
    cluster_follow_order(cluster, before, wish, ARRAY_LEN(wish)); /* of an old picture */
    expect_order(cluster, "c a b d");
    cluster_remove_node(cluster, "a");
    cluster_put_node(cluster, node_plain("aa", 1, 1, 1));
    expect_order(cluster, "c b d aa");
}

static void test_cluster_follow_order__tires_of_ever_new_orders(void **state)
{
    static const uint32_t reverse[] = {1, 0};
    AUTO(small_cluster_free) struct cluster *cluster = cluster_new(&test_key);
    AUTO_FREE char *last = xstrdup("");
    unsigned changes = 0;

    (void)state;
    cluster_put_node(cluster, node_plain("a", 1, 1, 1));
    cluster_put_node(cluster, node_plain("b", 1, 1, 1));
    for (unsigned i = 0; i < 1000; i++) {
        AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(cluster);
        char *order;

        cluster_follow_order(cluster, snapshot, reverse, ARRAY_LEN(reverse));
        order = order_of(cluster);
        changes += strcmp(order, last) != 0;
        free(last);
        last = order;
    }
    assert_in_range(changes, 3, 6);
}

static void test_cluster_sum_use__answers_for_a_node_as_the_question_has_it(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = cluster_new(&test_key);
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 2, 16384, 2);
    struct node_use use;

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-1", 8192));
    cluster_sum_use(cluster, node, NULL, &use);
    assert_int_equal(use.device_count, 2);
    assert_int_equal(use.devices[1].memory_mib, 8192);
    cluster_sum_use(cluster, node, "1", &use);
    assert_int_equal(use.devices[1].memory_mib, 0);
}

static void test_cluster_holdings__are_copies_ordered_by_name(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(2);
    size_t count = 0;
    struct holding_view *views;

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("b", "1", "n1", "GPU-0", 1));
    cluster_put_pod(cluster, small_bound_pod("a", "2", "n1", "GPU-1", 1));
    cluster_put_pod(cluster, small_bound_pod("c", "3", "n2", "GPU-1", 1));
    views = cluster_holdings(cluster, "n1", &count);
    assert_int_equal(count, 2);
    assert_string_equal(views[0].name, "a");
    assert_string_equal(views[0].allocation.containers[0].devices[0].id, "GPU-1");
    assert_string_equal(views[1].name, "b");
    holding_views_free(views, count);
    views = cluster_holdings(cluster, NULL, &count);
    assert_int_equal(count, 3);
    holding_views_free(views, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cluster_put_pod__f28_the_devices_are_free_however_the_pod_ends),
        cmocka_unit_test(test_cluster_remove_pod__f28_an_old_event_leaves_the_namesake_alone),
        cmocka_unit_test(test_cluster_put_pod__what_a_pod_no_longer_says_is_given_back),
        cmocka_unit_test(test_cluster_put_pod__a_uid_told_twice_belongs_to_the_last_pod),
        cmocka_unit_test(test_cluster_put_pod__a_namesake_that_holds_the_same_leaves_plans_valid),
        cmocka_unit_test(test_cluster_put_pod__f29_a_terminating_pod_holds_until_it_is_gone),
        cmocka_unit_test(test_cluster_put_pod__f10_counts_less_when_the_init_steps_have_ended),
        cmocka_unit_test(test_cluster_put_pod__counts_what_no_record_attributes),
        cmocka_unit_test(test_cluster_put_pod__absurd_counts_do_not_wrap_around),
        cmocka_unit_test(test_cluster_put_pod__pods_without_devices_do_not_disturb_plans),
        cmocka_unit_test(test_cluster_is_synced__after_both_lists),
        cmocka_unit_test(test_cluster_replace_pods__a_list_of_what_is_known_leaves_plans_valid),
        cmocka_unit_test(test_cluster_replace_pods__names_and_uids_told_twice_count_once),
        cmocka_unit_test(test_cluster_put_node__a_heartbeat_changes_nothing),
        cmocka_unit_test(test_cluster_put_node__holdings_outlive_their_node),
        cmocka_unit_test(test_cluster_put_node__nodes_wired_and_named_alike_share_what_they_repeat),
        cmocka_unit_test(test_cluster_check__holds_when_one_of_too_many_products_leaves),
        cmocka_unit_test(test_cluster_snapshot__does_not_change_and_begins_ordered_by_name),
        cmocka_unit_test(test_cluster_share_words__before_the_nodes_are_put),
        cmocka_unit_test(test_cluster_snapshot__shares_what_has_not_changed),
        cmocka_unit_test(test_cluster_follow_order__later_pictures_have_it),
        cmocka_unit_test(test_cluster_follow_order__tires_of_ever_new_orders),
        cmocka_unit_test(test_cluster_sum_use__answers_for_a_node_as_the_question_has_it),
        cmocka_unit_test(test_cluster_holdings__are_copies_ordered_by_name),
    };

    return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
