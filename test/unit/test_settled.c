/* SPDX-License-Identifier: Apache-2.0 */
/* How long the pods of a node have run, as ranking sees it. */
#include "support/small_cluster.h"
#include "support/test.h"

#include "topofit/cluster.h"
#include "topofit/rank_facts.h"

#define START_S 1700000000u
#define HOUR_S 3600u

static void test_settled__doubles_from_step_to_step(void **state)
{
    static const struct {
        uint64_t hours;
        unsigned settled;
    } cases[] = {{1, 1}, {3, 2}, {7, 3}, {15, 4}, {31, 5}, {63, 6}, {127, 7}, {100000, 7}};

    (void)state;
    assert_int_equal(settled_0_7(START_S, START_S), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const uint64_t reached_s = START_S + cases[i].hours * HOUR_S;

        assert_int_equal(settled_0_7(START_S, reached_s), cases[i].settled);
        if (cases[i].hours < 1000)
            assert_int_equal(settled_0_7(START_S, reached_s - 1), cases[i].settled - 1);
    }
}

static void test_settled__is_nothing_where_the_start_is_unknown_or_to_come(void **state)
{
    (void)state;
    assert_int_equal(settled_0_7(0, START_S), 0);
    assert_int_equal(settled_0_7(START_S, START_S - HOUR_S), 0);
    assert_int_equal(settled_0_7(START_S, 0), 0);
    assert_int_equal(settled_0_7(1, UINT64_MAX), SETTLED_MAX);
}

/* --- in the cluster -------------------------------------------------------------------------- */

static struct rank_facts facts_at(struct cluster *cluster, uint64_t now_s)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = NULL;

    cluster_tell_time(cluster, now_s * 1000);
    snapshot = cluster_snapshot(cluster);
    return snapshot_find(snapshot, "n1")->rank;
}

static void put_pod_of(struct cluster *cluster, const char *name, uint64_t started_s)
{
    struct pod *pod = small_bound_pod(name, name, "n1", "GPU-0", 1000);

    pod->started_s = started_s;
    cluster_put_pod(cluster, pod);
}

static void test_cluster__a_node_is_as_settled_as_its_oldest_pod(void **state)
{
    struct cluster *cluster = small_cluster(1);

    (void)state;
    assert_int_equal(facts_at(cluster, START_S).settled_0_7, 0);
    put_pod_of(cluster, "old", START_S - 3 * HOUR_S);
    put_pod_of(cluster, "young", START_S - HOUR_S);
    assert_int_equal(facts_at(cluster, START_S).settled_0_7, 2);
    cluster_remove_pod(cluster, "default", "old", "old");
    assert_int_equal(facts_at(cluster, START_S).settled_0_7, 1);
    cluster_check(cluster);
    cluster_free(cluster);
}

static void test_cluster__a_node_settles_as_time_goes_by_and_plans_stay_valid(void **state)
{
    struct cluster *cluster = small_cluster(1);
    AUTO(snapshot_unref_pointer) struct snapshot *before = NULL, *after = NULL;

    (void)state;
    put_pod_of(cluster, "a", START_S);
    assert_int_equal(facts_at(cluster, START_S).settled_0_7, 0);
    before = cluster_snapshot(cluster);
    assert_int_equal(facts_at(cluster, START_S + 7 * HOUR_S).settled_0_7, 3);
    after = cluster_snapshot(cluster);
    assert_int_equal(snapshot_version(before, 0), snapshot_version(after, 0));
    assert_true(snapshot_rank_version(before, 0) < snapshot_rank_version(after, 0));
    cluster_check(cluster);
    cluster_free(cluster);
}

static void test_cluster__a_clock_that_is_set_back_makes_nodes_younger(void **state)
{
    struct cluster *cluster = small_cluster(1);

    (void)state;
    put_pod_of(cluster, "a", START_S);
    assert_int_equal(facts_at(cluster, START_S + 40 * HOUR_S).settled_0_7, 5);
    assert_int_equal(facts_at(cluster, START_S + HOUR_S).settled_0_7, 1);
    cluster_free(cluster);
}

/* A kubelet says when a pod started; before that, and without one, the booking counts. */
static void test_cluster__a_pod_runs_since_it_was_booked_until_its_start_is_told(void **state)
{
    struct cluster *cluster = small_cluster(1);
    struct pod *pod = small_pod("a", "a", 1000);
    uint64_t token;

    (void)state;
    assert_int_equal(facts_at(cluster, START_S).settled_0_7, 0);
    assert_int_equal(small_reserve(cluster, pod, "GPU-0", 1000, &token), 0);
    cluster_confirm(cluster, "a", token);
    assert_int_equal(facts_at(cluster, START_S + HOUR_S).settled_0_7, 1);
    put_pod_of(cluster, "a", 0);
    assert_int_equal(facts_at(cluster, START_S + HOUR_S).settled_0_7, 1);
    put_pod_of(cluster, "a", START_S + HOUR_S);
    assert_int_equal(facts_at(cluster, START_S + HOUR_S).settled_0_7, 0);
    cluster_check(cluster);
    pod_unref(pod);
    cluster_free(cluster);
}

/* A kubelet has not told their start yet, and the list does not say when they were first seen. */
static void test_cluster__a_list_does_not_make_pods_younger(void **state)
{
    struct cluster *cluster = small_cluster(2);
    struct pod *pods[2];

    (void)state;
    assert_int_equal(facts_at(cluster, START_S).settled_0_7, 0);
    put_pod_of(cluster, "a", 0);
    assert_int_equal(facts_at(cluster, START_S + 31 * HOUR_S).settled_0_7, 5);
    pods[0] = small_bound_pod("a", "a", "n1", "GPU-0", 1000);
    pods[1] = small_bound_pod("new", "new", "n1", "GPU-1", 1000);
    cluster_announce_pod_list(cluster);
    cluster_replace_pods(cluster, pods, 2);
    assert_int_equal(facts_at(cluster, START_S + 31 * HOUR_S).settled_0_7, 5);
    cluster_remove_pod(cluster, "default", "a", "a");
    assert_int_equal(facts_at(cluster, START_S + 32 * HOUR_S).settled_0_7, 1);
    cluster_check(cluster);
    cluster_free(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settled__doubles_from_step_to_step),
        cmocka_unit_test(test_settled__is_nothing_where_the_start_is_unknown_or_to_come),
        cmocka_unit_test(test_cluster__a_node_is_as_settled_as_its_oldest_pod),
        cmocka_unit_test(test_cluster__a_node_settles_as_time_goes_by_and_plans_stay_valid),
        cmocka_unit_test(test_cluster__a_clock_that_is_set_back_makes_nodes_younger),
        cmocka_unit_test(test_cluster__a_pod_runs_since_it_was_booked_until_its_start_is_told),
        cmocka_unit_test(test_cluster__a_list_does_not_make_pods_younger),
    };

    return cmocka_run_group_tests_name("settled", tests, NULL, NULL);
}
