/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster learns the mix of pods from those that come, or takes the one it is given. */
#include "support/builders.h"
#include "support/small_cluster.h"
#include "support/test.h"

#include "topofit/mix_tally.h"

static struct cluster *no_pods(void)
{
    return cluster_new(&test_key);
}

/* Kinds in the present picture's mix; 0 when there is none. */
static size_t kinds(struct cluster *cluster)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(cluster);

    return snapshot->mix != NULL ? snapshot->mix->count : 0;
}

static struct pod *numbered_pod(unsigned number, unsigned count)
{
    AUTO_FREE char *name = xasprintf("p%u", number);
    AUTO_FREE char *uid = xasprintf("uid-%u", number);
    struct pod *pod = pod_new("default", name, uid);

    request_wish(&pod->request, (struct wish){.count = count});
    pod->host = (struct host_amounts){4000, 0};
    return pod;
}

/* The watch shows pods of these numbers. */
static void watch(struct cluster *cluster, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        cluster_put_pod(cluster, numbered_pod(i, 1));
}

static void list(struct cluster *cluster, unsigned first, unsigned end)
{
    struct pod *pods[2 * MIX_PODS_MIN];

    for (unsigned i = first; i < end; i++)
        pods[i - first] = numbered_pod(i, 1);
    cluster_announce_pod_list(cluster);
    cluster_replace_pods(cluster, pods, end - first);
}

static void list_nodes(struct cluster *cluster)
{
    struct node *nodes[] = {node_plain("n1", 2, 1000, 1)};

    cluster_replace_nodes(cluster, nodes, 1);
}

/* A mix of one kind that nobody here is of. */
static struct pod_mix *given_mix(void)
{
    struct pod_mix *mix = pod_mix_new(1);
    struct mix_task task = {
        .ask = {.class = &test_class, .count = 7}, .is_whole = true, .share = 1};

    pod_mix_add(mix, &task);
    return mix;
}

static void test_cluster_put_pod__learns_the_mix_once_enough_pods_have_come(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = no_pods();

    (void)state;
    watch(cluster, 0, MIX_PODS_MIN - 1);
    assert_int_equal(kinds(cluster), 0);
    watch(cluster, MIX_PODS_MIN - 1, MIX_PODS_MIN);
    assert_int_equal(kinds(cluster), 1);
}

static void test_cluster_put_pod__what_is_learned_says_what_the_pods_asked_for(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = no_pods();
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = NULL;

    (void)state;
    watch(cluster, 0, MIX_PODS_MIN);
    snapshot = cluster_snapshot(cluster);
    assert_int_equal(snapshot->mix->tasks[0].ask.count, 1);
    assert_ptr_equal(snapshot->mix->tasks[0].ask.class, &test_class);
    assert_true(snapshot->mix->tasks[0].is_whole);
    assert_int_equal(snapshot->mix->tasks[0].host.cpu_milli, 4000);
}

static void test_cluster_put_pod__a_pod_counts_once_however_often_it_changes(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = no_pods();

    (void)state;
    for (unsigned round = 0; round < 10; round++)
        watch(cluster, 0, MIX_PODS_MIN - 1);
    assert_int_equal(kinds(cluster), 0);
}

static void
test_cluster_put_pod__another_uid_under_the_same_name_counts_as_another_pod(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = no_pods();

    (void)state;
    watch(cluster, 0, MIX_PODS_MIN - 1);
    cluster_put_pod(cluster, pod_new("default", "p0", "uid-other"));
    assert_int_equal(kinds(cluster), 0); /* it asks for nothing */
    cluster_put_pod(cluster, small_pod("p0", "uid-another", 0));
    assert_true(kinds(cluster) > 0);
}

static void test_cluster_put_pod__pods_that_have_ended_teach_nothing(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = no_pods();

    (void)state;
    for (unsigned i = 0; i < MIX_PODS_MIN; i++) {
        struct pod *pod = numbered_pod(i, 1);

        pod->finished = true;
        cluster_put_pod(cluster, pod);
    }
    assert_int_equal(kinds(cluster), 0);
}

static void test_cluster_replace_pods__the_first_list_counts_each_pod(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = no_pods();

    (void)state;
    list(cluster, 0, MIX_PODS_MIN);
    assert_int_equal(kinds(cluster), 1);
}

static void test_cluster_replace_pods__who_came_before_the_first_list_counts_once(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = no_pods();

    (void)state;
    watch(cluster, 0, MIX_PODS_MIN - 1);
    list(cluster, 0, MIX_PODS_MIN - 1);
    assert_int_equal(kinds(cluster), 0);
}

static void test_cluster_replace_pods__later_lists_and_the_watch_count_nobody_again(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = no_pods();

    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        list(cluster, 0, MIX_PODS_MIN - 1); /* the nodes are not known yet */
        watch(cluster, 0, MIX_PODS_MIN - 1);
    }
    list_nodes(cluster);
    for (unsigned round = 0; round < 3; round++) {
        list(cluster, 0, MIX_PODS_MIN - 1);
        watch(cluster, 0, MIX_PODS_MIN - 1);
    }
    assert_int_equal(kinds(cluster), 0);
    watch(cluster, 100, 101);
    assert_int_equal(kinds(cluster), 1);
}

static void test_cluster_set_pod_mix__a_given_mix_stays_whoever_comes(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = no_pods();
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = NULL;

    (void)state;
    cluster_set_pod_mix(cluster, given_mix());
    list(cluster, 0, MIX_PODS_MIN);
    list_nodes(cluster);
    list(cluster, 0, MIX_PODS_MIN);
    watch(cluster, 100, 100 + 2 * MIX_PODS_MIN);
    snapshot = cluster_snapshot(cluster);
    assert_int_equal(snapshot->mix->count, 1);
    assert_int_equal(snapshot->mix->tasks[0].ask.count, 7);
}

static void test_cluster_set_pod_mix__a_given_mix_takes_the_place_of_what_was_learned(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = no_pods();
    AUTO(snapshot_unref_pointer) struct snapshot *before = NULL, *after = NULL;

    (void)state;
    watch(cluster, 0, MIX_PODS_MIN);
    before = cluster_snapshot(cluster);
    cluster_set_pod_mix(cluster, given_mix());
    after = cluster_snapshot(cluster);
    assert_int_equal(before->mix->tasks[0].ask.count, 1); /* pictures do not change */
    assert_int_equal(after->mix->tasks[0].ask.count, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cluster_put_pod__learns_the_mix_once_enough_pods_have_come),
        cmocka_unit_test(test_cluster_put_pod__what_is_learned_says_what_the_pods_asked_for),
        cmocka_unit_test(test_cluster_put_pod__a_pod_counts_once_however_often_it_changes),
        cmocka_unit_test(
            test_cluster_put_pod__another_uid_under_the_same_name_counts_as_another_pod),
        cmocka_unit_test(test_cluster_put_pod__pods_that_have_ended_teach_nothing),
        cmocka_unit_test(test_cluster_replace_pods__the_first_list_counts_each_pod),
        cmocka_unit_test(test_cluster_replace_pods__who_came_before_the_first_list_counts_once),
        cmocka_unit_test(test_cluster_replace_pods__later_lists_and_the_watch_count_nobody_again),
        cmocka_unit_test(test_cluster_set_pod_mix__a_given_mix_stays_whoever_comes),
        cmocka_unit_test(test_cluster_set_pod_mix__a_given_mix_takes_the_place_of_what_was_learned),
    };

    return cmocka_run_group_tests_name("cluster_mix", tests, NULL, NULL);
}
