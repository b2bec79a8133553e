/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster notes about changes: what was freed, what contradicts, what is booked right. */
#include "support/builders.h"
#include "support/small_cluster.h"
#include "support/test.h"

#include "topofit/cluster.h"

#include <stdlib.h>

/* --- what was freed -------------------------------------------------------------------------- */

/* n1 has one device with two slots; pod "a" has 8000 MiB of it, "r" is reserved. */
struct story {
    struct cluster *cluster;
    struct pod *reserved;
    uint64_t token;
};

static struct story *story_new(void)
{
    struct story *story = xcalloc(1, sizeof *story);

    story->cluster = small_cluster(1);
    story->reserved = small_pod("r", "r", 1000);
    cluster_put_pod(story->cluster, small_bound_pod("a", "a", "n1", "GPU-0", 8000));
    assert_int_equal(small_reserve(story->cluster, story->reserved, "GPU-0", 1000, &story->token),
                     0);
    return story;
}

static void story_free(struct story **place)
{
    cluster_check((*place)->cluster);
    pod_unref((*place)->reserved);
    cluster_free((*place)->cluster);
    free(*place);
}

static void pod_goes(struct story *story)
{
    cluster_remove_pod(story->cluster, "default", "a", "a");
}

static void pod_finishes(struct story *story)
{
    struct pod *pod = small_bound_pod("a", "a", "n1", "GPU-0", 8000);

    pod->finished = true;
    cluster_put_pod(story->cluster, pod);
}

static void pod_takes_less(struct story *story)
{
    cluster_put_pod(story->cluster, small_bound_pod("a", "a", "n1", "GPU-0", 7999));
}

static void reservation_ends(struct story *story)
{
    cluster_release(story->cluster, "r", story->token);
}

static void list_lacks_pod(struct story *story)
{
    cluster_replace_pods(story->cluster, NULL, 0);
}

static void unattributed_pod_goes(struct story *story)
{
    cluster_put_pod(story->cluster, small_bound_pod("u", "u", "n1", NULL, 1));
    cluster_remove_pod(story->cluster, "default", "u", "u");
}

static void node_grows(struct story *story)
{
    cluster_put_node(story->cluster, node_plain("n1", 2, 16384, 2));
}

static void test_cluster_freed__tells_the_node_where_a_waiting_pod_could_fit_now(void **state)
{
    static void (*const ends[])(struct story *) = {
        pod_goes,       pod_finishes,          pod_takes_less, reservation_ends,
        list_lacks_pod, unattributed_pod_goes, node_grows};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        AUTO(story_free) struct story *story = story_new();
        AUTO(snapshot_unref_pointer) struct snapshot *before = cluster_snapshot(story->cluster);
        AUTO(snapshot_unref_pointer) struct snapshot *after = NULL;
        AUTO_FREE char *node = xstrdup("old");
        uint64_t version;

        cluster_put_node(story->cluster, node_plain("other", 1, 1, 1));
        ends[i](story);
        version = cluster_freed(story->cluster, &node);
        after = cluster_snapshot(story->cluster);
        assert_string_equal(node, "n1");
        assert_true(before->version < version && version <= after->version);
    }
}

static void pod_comes(struct story *story)
{
    cluster_put_pod(story->cluster, small_bound_pod("c", "c", "n1", "GPU-0", 100));
}

static void watch_confirms(struct story *story)
{
    cluster_put_pod(story->cluster, small_bound_pod("r", "r", "n1", "GPU-0", 1000));
}

static void answer_confirms(struct story *story)
{
    cluster_confirm(story->cluster, "r", story->token);
}

static void node_beats(struct story *story)
{
    cluster_put_node(story->cluster, node_plain("n1", 1, 16384, 2));
}

static void list_repeats(struct story *story)
{
    struct pod *pods[] = {small_bound_pod("a", "a", "n1", "GPU-0", 8000),
                          small_bound_pod("r", "r", "n1", "GPU-0", 1000)};

    cluster_replace_pods(story->cluster, pods, ARRAY_LEN(pods));
}

static void node_goes(struct story *story)
{
    cluster_remove_node(story->cluster, "n1");
}

static void test_cluster_freed__takes_nothing_else_for_it(void **state)
{
    static void (*const changes[])(struct story *) = {pod_comes,  watch_confirms, answer_confirms,
                                                      node_beats, list_repeats,   node_goes};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        AUTO(story_free) struct story *story = story_new();
        uint64_t before = cluster_freed(story->cluster, NULL);

        changes[i](story);
        assert_int_equal(cluster_freed(story->cluster, NULL), before);
    }
}

/* Tenants of a device before and after a list; with 0 slots there is none. */
struct tenant {
    uint64_t mib;
    uint16_t cores, slots;
    enum isolation_mode mode;
};

static void list_tenants(struct cluster *cluster, const struct tenant tenants[2])
{
    struct pod *pods[2];
    size_t count = 0;

    for (size_t i = 0; i < 2; i++) {
        AUTO_FREE char *name = xasprintf("%zu", i);
        struct allocated_device *device;

        if (tenants[i].slots == 0)
            continue;
        pods[count] = small_bound_pod(name, name, "n1", "GPU-0", tenants[i].mib);
        device = &pods[count++]->record.containers[0].devices[0];
        device->cores = tenants[i].cores;
        device->slots = tenants[i].slots;
        device->mode = tenants[i].mode;
    }
    cluster_replace_pods(cluster, pods, count);
}

static void test_cluster_freed__looks_at_all_that_keeps_pods_out(void **state)
{
    static const struct {
        struct tenant before[2], after[2];
        bool freed;
    } cases[] = {
        {{{10, 10, 1, ISOLATION_SOFT}}, {{11, 11, 2, ISOLATION_SOFT}}, false},
        {{{10, 10, 1, ISOLATION_SOFT}}, {{9, 11, 2, ISOLATION_SOFT}}, true},
        {{{10, 10, 1, ISOLATION_SOFT}}, {{11, 9, 2, ISOLATION_SOFT}}, true},
        {{{10, 10, 2, ISOLATION_SOFT}}, {{11, 11, 1, ISOLATION_SOFT}}, true},
        {{{10, 10, 1, ISOLATION_SOFT}}, {{10, 10, 1, ISOLATION_HARD}}, true},
        {{{0}}, {{10, 10, 1, ISOLATION_SOFT}}, false},
        /* one tenant of all cores is alone, two of half are not */
        {{{10, 100, 1, ISOLATION_SOFT}},
         {{10, 50, 1, ISOLATION_SOFT}, {10, 50, 1, ISOLATION_SOFT}},
         true},
        /* modes that contradict each other keep all others out */
        {{{10, 1, 1, ISOLATION_HARD}, {10, 1, 1, ISOLATION_SOFT}},
         {{10, 1, 1, ISOLATION_SOFT}, {10, 1, 1, ISOLATION_SOFT}},
         true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
        uint64_t before;

        list_tenants(cluster, cases[i].before);
        before = cluster_freed(cluster, NULL);
        list_tenants(cluster, cases[i].after);
        assert_int_equal(cluster_freed(cluster, NULL) > before, cases[i].freed);
    }
}

/* Nothing becomes free there, but whoever held it may go elsewhere. */
static void test_cluster_freed__counts_what_was_held_on_a_node_that_is_gone(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = cluster_new(&test_key);
    AUTO_FREE char *node = xstrdup("old");
    uint64_t before;

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 1));
    assert_int_equal(cluster_freed(cluster, &node), 0);
    assert_null(node);
    cluster_put_node(cluster, node_plain("n2", 1, 16384, 2));
    before = cluster_freed(cluster, NULL);
    cluster_remove_pod(cluster, "default", "a", "1");
    assert_true(cluster_freed(cluster, &node) > before);
    assert_string_equal(node, "n2");
}

static void test_cluster_put_pod__a_booking_that_the_watch_confirms_leaves_plans_valid(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    uint64_t before = small_version(story->cluster);

    (void)state;
    watch_confirms(story);
    assert_int_equal(small_version(story->cluster), before);
}

/* --- contradictions -------------------------------------------------------------------------- */

static void take_conflict(struct cluster *cluster, const char *device)
{
    AUTO(conflict_clear) struct conflict conflict = {0};

    assert_true(cluster_next_conflict(cluster, &conflict));
    assert_string_equal(conflict.node, "n1");
    assert_non_null(conflict.node_uid);
    assert_string_equal(conflict.device, device);
}

static void expect_no_conflict(struct cluster *cluster)
{
    struct conflict conflict = {0};

    assert_false(cluster_next_conflict(cluster, &conflict));
    assert_null(conflict.node);
}

static void test_cluster_next_conflict__tells_of_a_contradiction_once(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(2);
    struct pod *again = small_bound_pod("b", "2", "n1", "GPU-1", 10000);

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-1", 10000));
    expect_no_conflict(cluster);
    cluster_put_pod(cluster, small_bound_pod("b", "2", "n1", "GPU-1", 10000));
    assert_int_equal(small_use(cluster, 1).memory_mib, 20000); /* both are kept */
    assert_true(small_use(cluster, 1).conflicted);
    take_conflict(cluster, "GPU-1");
    again->init_done = false; /* which changes what it holds, and not who is right */
    cluster_put_pod(cluster, again);
    cluster_put_pod(cluster, small_bound_pod("c", "3", "n1", "GPU-0", 1));
    cluster_put_node(cluster, node_plain("n1", 2, 16385, 2));
    expect_no_conflict(cluster);
    assert_int_equal(cluster_conflicts_seen(cluster), 1);
}

static void test_cluster_next_conflict__a_cured_one_that_comes_back_is_told_again(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 10000));
    for (unsigned times = 1; times <= 2; times++) {
        cluster_put_pod(cluster, small_bound_pod("b", "2", "n1", "GPU-0", 10000));
        take_conflict(cluster, "GPU-0");
        expect_no_conflict(cluster);
        assert_int_equal(cluster_conflicts_seen(cluster), times);
        cluster_remove_pod(cluster, "default", "b", "2");
        assert_false(small_use(cluster, 0).conflicted);
    }
}

static void test_cluster_next_conflict__keeps_few_and_counts_all(void **state)
{
    enum { CONFLICTS = 30, KEPT = 16 };
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(CONFLICTS);
    unsigned told = 0;

    (void)state;
    for (unsigned i = 0; i < CONFLICTS; i++) {
        AUTO_FREE char *device = xasprintf("GPU-%u", i);
        AUTO_FREE char *a = xasprintf("a%u", i), *b = xasprintf("b%u", i);

        cluster_put_pod(cluster, small_bound_pod(a, a, "n1", device, 10000));
        cluster_put_pod(cluster, small_bound_pod(b, b, "n1", device, 10000));
    }
    for (struct conflict conflict; cluster_next_conflict(cluster, &conflict); told++)
        conflict_clear(&conflict);
    assert_int_equal(told, KEPT);
    assert_int_equal(cluster_conflicts_seen(cluster), CONFLICTS);
}

/* Decided on the reservation's own state, so it makes none; and a node that comes late has them. */
static void test_cluster_next_conflict__finds_what_was_there_before_the_node(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = cluster_new(&test_key);

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 10000));
    cluster_put_pod(cluster, small_bound_pod("b", "2", "n1", "GPU-0", 10000));
    expect_no_conflict(cluster);
    cluster_put_node(cluster, node_plain("n1", 1, 16384, 2));
    take_conflict(cluster, "GPU-0");
}

/* --- pictures -------------------------------------------------------------------------------- */

/* How many of `want` pods are booked wrongly. */
static unsigned count_wrong(struct cluster *cluster, size_t want)
{
    size_t count;
    AUTO_FREE struct pod_picture *pictures = cluster_picture_pods(cluster, &count);
    unsigned wrong = 0;

    assert_int_equal(count, want);
    for (size_t i = 0; i < count; i++) {
        wrong += !pictures[i].booked_right;
        pod_unref(pictures[i].pod);
    }
    return wrong;
}

static void test_cluster_picture_pods__all_are_booked_right_whatever_they_say(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    struct pod *copied = small_bound_pod("copied", "3", "n1", "GPU-0", 1);
    struct pod *broken = small_bound_pod("broken", "4", "n1", NULL, 1);
    struct pod *finished = small_bound_pod("finished", "5", "n1", "GPU-0", 1);
    struct pod *plain = small_bound_pod("plain", "6", "n1", NULL, 1);

    (void)state;
    assert_int_equal(count_wrong(story->cluster, 1), 0);
    cluster_put_pod(story->cluster, small_pod("r", "r", 1000)); /* booked, not bound */
    assert_int_equal(count_wrong(story->cluster, 2), 0);
    watch_confirms(story);
    copied->record.node[1] = '9';
    broken->record_problem = xstrdup("cannot be read");
    finished->finished = true;
    request_clear(&plain->request);
    request_init(&plain->request);
    cluster_put_pod(story->cluster, copied);
    cluster_put_pod(story->cluster, broken);
    cluster_put_pod(story->cluster, finished);
    cluster_put_pod(story->cluster, plain);
    cluster_put_pod(story->cluster, small_bound_pod("elsewhere", "7", "n9", "GPU-0", 1));
    assert_int_equal(count_wrong(story->cluster, 7), 0);
}

/* A pod without a record takes so many devices as it asks for, also when it asks for more later. */
static void test_cluster_put_pod__counts_anew_when_an_unattributed_pod_asks_for_more(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(4);
    struct pod *more = small_bound_pod("a", "1", "n1", NULL, 1);

    (void)state;
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", NULL, 1));
    more->request.asks[0].count = 3;
    cluster_put_pod(cluster, more);
    assert_int_equal(small_unattributed(cluster), 3);
    assert_int_equal(count_wrong(cluster, 1), 0);
}

/* Most versions of a pod tell of its status only: they must not pile up. */
static void test_cluster_put_pod__lets_an_earlier_version_go_that_says_the_same(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer)
    struct pod *earlier = pod_ref(small_bound_pod("a", "1", "n1", "GPU-0", 8192));
    struct pod *later = small_bound_pod("a", "1", "n1", "GPU-0", 8192);

    (void)state;
    cluster_put_pod(cluster, earlier);
    later->handed_out = true;
    cluster_put_pod(cluster, later);
    assert_int_equal(earlier->references, 1);
    assert_int_equal(small_used_mib(cluster), 8192);
    cluster_remove_pod(cluster, "default", "a", "1");
    assert_int_equal(small_used_mib(cluster), 0);
}

static void test_cluster_picture_pods__shows_a_ledger_that_says_something_else(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    small_break_ledger(story->cluster, "a");
    assert_int_equal(count_wrong(story->cluster, 1), 1);
}

static void test_cluster_picture_nodes__shows_all_nodes(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO_FREE struct node **nodes = NULL;
    size_t count;

    (void)state;
    cluster_put_node(cluster, node_plain("n2", 1, 1, 1));
    cluster_remove_node(cluster, "n1");
    nodes = cluster_picture_nodes(cluster, &count);
    assert_int_equal(count, 1);
    assert_string_equal(nodes[0]->name, "n2");
    cluster_remove_node(cluster, "n2"); /* and outlive them */
    assert_string_equal(nodes[0]->name, "n2");
    node_unref(nodes[0]);
}

/* --- the host -------------------------------------------------------------------------------- */

static struct pod *pod_with_host(const char *name, const char *node, uint64_t cpu_milli)
{
    struct pod *pod = pod_new("default", name, name);

    free(pod->node);
    pod->node = xstrdup(node);
    pod->host.cpu_milli = cpu_milli;
    return pod;
}

static uint64_t cpu_used(struct cluster *cluster, uint64_t *version, uint64_t *rank_version)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(cluster);
    const struct node_state *state = snapshot_find(snapshot, "n1");

    *version = state->version;
    *rank_version = state->rank_version;
    return state->rank.host_used.cpu_milli;
}

static void test_cluster__host_used_is_the_sum_over_bound_pods_until_they_end(void **state)
{
    struct cluster *cluster = small_cluster(1);
    struct pod *finished = pod_with_host("a", "n1", 100);
    uint64_t version, rank_version;

    (void)state;
    cluster_put_pod(cluster, pod_with_host("a", "n1", 100));
    cluster_put_pod(cluster, pod_with_host("b", "n1", 20));
    cluster_put_pod(cluster, pod_with_host("c", "", 3));
    cluster_put_pod(cluster, pod_with_host("d", "elsewhere", 4));
    assert_int_equal(cpu_used(cluster, &version, &rank_version), 120);
    finished->finished = true;
    cluster_put_pod(cluster, finished);
    assert_int_equal(cpu_used(cluster, &version, &rank_version), 20);
    cluster_remove_pod(cluster, "default", "b", "b");
    assert_int_equal(cpu_used(cluster, &version, &rank_version), 0);
    cluster_check(cluster);
    cluster_free(cluster);
}

static void test_cluster__pods_without_devices_change_the_rank_version_only(void **state)
{
    struct cluster *cluster = small_cluster(1);
    uint64_t version, rank_version, version_after, rank_version_after;

    (void)state;
    cpu_used(cluster, &version, &rank_version);
    cluster_put_pod(cluster, pod_with_host("a", "n1", 100));
    cpu_used(cluster, &version_after, &rank_version_after);
    assert_int_equal(version_after, version);
    assert_true(rank_version_after > rank_version);
    cluster_free(cluster);
}

static void test_cluster__a_reserved_pod_loads_the_host_once(void **state)
{
    struct cluster *cluster = small_cluster(1);
    struct pod *pod = small_pod("r", "r", 1000), *bound;
    uint64_t version, rank_version, token;

    (void)state;
    pod->host.cpu_milli = 7;
    assert_int_equal(small_reserve(cluster, pod, "GPU-0", 1000, &token), 0);
    assert_int_equal(cpu_used(cluster, &version, &rank_version), 7);
    cluster_confirm(cluster, "r", token);
    bound = small_bound_pod("r", "r", "n1", "GPU-0", 1000);
    bound->host.cpu_milli = 7;
    cluster_put_pod(cluster, bound);
    assert_int_equal(cpu_used(cluster, &version, &rank_version), 7);
    cluster_check(cluster);
    pod_unref(pod);
    cluster_free(cluster);
}

static void test_cluster_replace_pods__counts_hosts_anew(void **state)
{
    struct cluster *cluster = small_cluster(1);
    struct pod *listed = pod_with_host("b", "n1", 5);
    uint64_t version, rank_version;

    (void)state;
    cluster_put_pod(cluster, pod_with_host("a", "n1", 100));
    cluster_replace_pods(cluster, &listed, 1);
    assert_int_equal(cpu_used(cluster, &version, &rank_version), 5);
    cluster_check(cluster);
    cluster_free(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cluster_freed__tells_the_node_where_a_waiting_pod_could_fit_now),
        cmocka_unit_test(test_cluster_freed__takes_nothing_else_for_it),
        cmocka_unit_test(test_cluster_freed__looks_at_all_that_keeps_pods_out),
        cmocka_unit_test(test_cluster_freed__counts_what_was_held_on_a_node_that_is_gone),
        cmocka_unit_test(
            test_cluster_put_pod__a_booking_that_the_watch_confirms_leaves_plans_valid),
        cmocka_unit_test(test_cluster_next_conflict__tells_of_a_contradiction_once),
        cmocka_unit_test(test_cluster_next_conflict__a_cured_one_that_comes_back_is_told_again),
        cmocka_unit_test(test_cluster_next_conflict__keeps_few_and_counts_all),
        cmocka_unit_test(test_cluster_next_conflict__finds_what_was_there_before_the_node),
        cmocka_unit_test(test_cluster_picture_pods__all_are_booked_right_whatever_they_say),
        cmocka_unit_test(test_cluster_put_pod__counts_anew_when_an_unattributed_pod_asks_for_more),
        cmocka_unit_test(test_cluster_put_pod__lets_an_earlier_version_go_that_says_the_same),
        cmocka_unit_test(test_cluster_picture_pods__shows_a_ledger_that_says_something_else),
        cmocka_unit_test(test_cluster_picture_nodes__shows_all_nodes),
        cmocka_unit_test(test_cluster__host_used_is_the_sum_over_bound_pods_until_they_end),
        cmocka_unit_test(test_cluster__pods_without_devices_change_the_rank_version_only),
        cmocka_unit_test(test_cluster__a_reserved_pod_loads_the_host_once),
        cmocka_unit_test(test_cluster_replace_pods__counts_hosts_anew),
    };

    return cmocka_run_group_tests_name("cluster_pods", tests, NULL, NULL);
}
