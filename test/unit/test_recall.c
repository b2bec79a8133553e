/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided anew and what is recalled, counted; the module's header is private. */
#include "support/builders.h"
#include "support/harness.h"
#include "support/test.h"
#include "topofit/mem.h"

#include "../../src/extender/recall.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define NODES "n1 n2 n3 n4"
#define NODE_COUNT 4

/* What has been counted since the last time. */
static struct recall_counts since(const struct harness *harness, struct recall_counts *last)
{
    const struct recall_counts now = recall_counts(harness->extender.recall);
    const struct recall_counts more = {
        .kinds_found = now.kinds_found - last->kinds_found,
        .kinds_new = now.kinds_new - last->kinds_new,
        .nodes_same = now.nodes_same - last->nodes_same,
        .nodes_alike = now.nodes_alike - last->nodes_alike,
        .nodes_new = now.nodes_new - last->nodes_new,
        .merits_same = now.merits_same - last->merits_same,
        .merits_new = now.merits_new - last->merits_new,
        .kinds = now.kinds,
        .bytes = now.bytes,
    };

    *last = now;
    return more;
}

/* Four nodes, no two alike, and two pods that ask for the same. */
static struct harness *four_nodes(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "n1", 1, 10000);
    api_node(harness, "n2", 2, 20000);
    api_node(harness, "n3", 3, 30000);
    api_node(harness, "n4", 4, 40000);
    api_pod(harness, "a", "gpu 1, mem 5000, cpu 2");
    api_pod(harness, "b", "gpu 1, mem 5000, cpu 2");
    return harness;
}

static void test_recall__the_second_pod_of_a_kind_needs_no_decision(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    struct recall_counts last = {0}, more;

    (void)state;
    expect_kept(harness, "a", NODES, NODES);
    more = since(harness, &last);
    assert_int_equal(more.kinds_new, 1);
    assert_int_equal(more.nodes_new, NODE_COUNT);
    expect_kept(harness, "b", NODES, NODES);
    more = since(harness, &last);
    assert_int_equal(more.kinds_new, 0);
    assert_int_equal(more.kinds_found, 1);
    assert_int_equal(more.nodes_new, 0);
    assert_int_equal(more.nodes_same, NODE_COUNT);
}

static void test_recall__only_the_node_that_changed_is_decided_anew(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    struct recall_counts last = {0}, more;

    (void)state;
    ask_filter(harness, "a", NODES);
    api_node(harness, "n3", 3, 30000, .unhealthy = "1");
    since(harness, &last);
    ask_filter(harness, "b", NODES);
    more = since(harness, &last);
    assert_int_equal(more.nodes_new, 1);
    assert_int_equal(more.nodes_same, NODE_COUNT - 1);
}

static void test_recall__of_nodes_in_like_state_one_is_decided(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    struct recall_counts last = {0}, more;

    (void)state;
    for (unsigned i = 1; i <= NODE_COUNT; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%u", i);
        api_node(harness, name, 4, 40000);
    }
    api_pod(harness, "a", "gpu 1, mem 5000");
    ask_filter(harness, "a", NODES);
    more = since(harness, &last);
    assert_int_equal(more.nodes_new, 1);
    assert_int_equal(more.nodes_alike, NODE_COUNT - 1);
}

/* No two nodes are alike to a pod that names devices; the same node is the same still. */
static void test_recall__for_pods_that_name_devices_each_node_is_decided_once(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    struct recall_counts last = {0}, more;

    (void)state;
    for (unsigned i = 1; i <= NODE_COUNT; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%u", i);
        api_node(harness, name, 1, 40000);
    }
    api_pod(harness, "a", "gpu 1", .annotations = {"topofit.io/use-devices", "GPU-n2-0"});
    expect_kept(harness, "a", NODES, "n2");
    more = since(harness, &last);
    assert_int_equal(more.nodes_new, NODE_COUNT);
    expect_kept(harness, "a", NODES, "n2");
    assert_int_equal(since(harness, &last).nodes_new, 0);
}

static void test_recall__another_policy_is_another_kind(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    struct recall_counts last = {0}, more;

    (void)state;
    ask_filter(harness, "a", NODES);
    since(harness, &last);
    harness->extender.options.policy.packing = PACKING_SPREAD;
    ask_filter(harness, "b", NODES);
    more = since(harness, &last);
    assert_int_equal(more.kinds_new, 1);
    assert_int_equal(more.nodes_new, NODE_COUNT);
}

/* --- merits ---------------------------------------------------------------------------------- */

static void test_recall__merits_are_recalled_and_new_for_the_node_that_changed(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    struct recall_counts last = {0}, more;

    (void)state;
    ask_prioritize(harness, "a", NODES);
    assert_int_equal(since(harness, &last).merits_new, NODE_COUNT);
    ask_prioritize(harness, "b", NODES);
    more = since(harness, &last);
    assert_int_equal(more.merits_new, 0);
    assert_int_equal(more.merits_same, NODE_COUNT);
    api_node(harness, "n3", 3, 30000, .unhealthy = "1");
    ask_prioritize(harness, "a", NODES);
    more = since(harness, &last);
    assert_int_equal(more.merits_new, 1);
    assert_int_equal(more.nodes_new, 1);
}

static void test_recall__pods_that_differ_in_cpu_share_decisions_and_no_merits(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    struct recall_counts last = {0}, more;

    (void)state;
    api_pod(harness, "c", "gpu 1, mem 5000, cpu 8");
    ask_prioritize(harness, "a", NODES);
    since(harness, &last);
    ask_prioritize(harness, "c", NODES);
    more = since(harness, &last);
    assert_int_equal(more.kinds_found, 1);
    assert_int_equal(more.nodes_new, 0);
    assert_int_equal(more.merits_new, NODE_COUNT);
    ask_prioritize(harness, "a", NODES);
    assert_int_equal(since(harness, &last).merits_new, 0);
}

static void test_recall__another_mix_makes_all_merits_anew(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    struct recall_counts last = {0}, more;
    size_t before;

    (void)state;
    ask_prioritize(harness, "a", NODES);
    cluster_set_pod_mix(harness->cluster, pod_mix_new(0));
    before = since(harness, &last).bytes;
    ask_prioritize(harness, "a", NODES);
    more = since(harness, &last);
    assert_int_equal(more.merits_new, NODE_COUNT);
    assert_int_equal(more.nodes_new, 0);
    /* Those under the mix of before are of no use any more. */
    assert_in_range(more.bytes, before, before + mem_block_bytes(sizeof(struct pod_mix)));
}

/* The limits that the next call of a pod's kind begins with. */
static struct rank_limits limits_for(struct harness *harness, const char *name)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(harness->cluster);
    AUTO(pod_unref_pointer)
    struct pod *pod = cluster_find_pod(harness->cluster, "default", name);
    struct kind *kind =
        recall_kind(harness->extender.recall, &pod->request, &harness->extender.options.policy,
                    harness->extender.options.answer_failed_nodes);
    struct rank_limits limits;

    kind_recall_merits(kind, snapshot, pod->host, NULL, 0, NULL, NULL, &limits);
    kind_unref(kind);
    return limits;
}

static void test_recall__the_limits_of_the_last_ranking_are_learned(void **state)
{
    AUTO(harness_free) struct harness *harness = four_nodes();
    struct rank_limits none = {0}, first, second;

    (void)state;
    first = limits_for(harness, "a");
    assert_memory_equal(&first, &none, sizeof none);
    ask_prioritize(harness, "a", NODES);
    first = limits_for(harness, "b");
    assert_memory_not_equal(&first, &none, sizeof none);
    ask_prioritize(harness, "b", NODES);
    second = limits_for(harness, "a");
    assert_memory_equal(&first, &second, sizeof first);
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* The kind of pods that want so many MiB. */
static struct kind *kind_number(struct recall *recall, unsigned number)
{
    const struct decide_policy policy = decide_policy_default();
    struct request request = request_of((struct wish){.count = 1, .mib = number + 1});
    struct kind *kind = recall_kind(recall, &request, &policy, false);

    request_clear(&request);
    return kind;
}

static void use_kinds(struct recall *recall, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        kind_unref(kind_number(recall, i));
}

static void test_recall_kind__as_many_as_are_remembered_may_come_in_turns(void **state)
{
    struct recall *recall = recall_new();

    (void)state;
    for (unsigned round = 0; round < 3; round++)
        use_kinds(recall, 0, RECALL_KINDS_MAX);
    assert_int_equal(recall_counts(recall).kinds_new, RECALL_KINDS_MAX);
    assert_int_equal(recall_counts(recall).kinds_found, 2 * RECALL_KINDS_MAX);
    recall_free(recall);
}

static void test_recall_kind__forgets_the_least_recently_used(void **state)
{
    struct recall *recall = recall_new();
    uint64_t before;

    (void)state;
    use_kinds(recall, 0, RECALL_KINDS_MAX);
    use_kinds(recall, 0, 1); /* not the oldest any more */
    use_kinds(recall, RECALL_KINDS_MAX, RECALL_KINDS_MAX + 1);
    assert_int_equal(recall_counts(recall).kinds, RECALL_KINDS_MAX);
    before = recall_counts(recall).kinds_new;
    use_kinds(recall, 0, 1);
    use_kinds(recall, 2, RECALL_KINDS_MAX + 1);
    assert_int_equal(recall_counts(recall).kinds_new, before);
    use_kinds(recall, 1, 2);
    assert_int_equal(recall_counts(recall).kinds_new, before + 1);
    recall_free(recall);
}

static struct snapshot *picture_of(struct cluster *cluster, unsigned count)
{
    AUTO_FREE struct node **nodes = xcalloc(count, sizeof(*nodes));

    for (unsigned i = 0; i < count; i++) {
        char name[16];

        snprintf(name, sizeof name, "n%05u", i);
        nodes[i] = node_plain(name, 1, 1000, 10);
    }
    cluster_replace_nodes(cluster, nodes, count);
    return cluster_snapshot(cluster);
}

/* On a large cluster kinds are large: fewer are kept, the last ones. */
static void test_recall_kind__is_bounded_in_bytes_as_well(void **state)
{
    struct cluster *cluster = cluster_new(&test_key);
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = picture_of(cluster, 10000);
    struct recall *recall = recall_new();
    size_t each = 0;
    uint64_t before;

    (void)state;
    for (unsigned i = 0; i < RECALL_KINDS_MAX; i++) {
        struct kind *kind = kind_number(recall, i);
        struct rank_limits limits;

        assert_true(recall_counts(recall).bytes <= RECALL_BYTES_MAX);
        for (uint64_t cpu = 1; cpu <= RECALL_HOSTS_MAX; cpu++)
            kind_recall_merits(kind, snapshot, (struct host_amounts){cpu, 1}, NULL, 0, NULL, NULL,
                               &limits);
        each = each > 0 ? each : recall_counts(recall).bytes;
        assert_true(recall_counts(recall).bytes <= RECALL_BYTES_MAX + each);
        kind_unref(kind);
    }
    assert_in_range(recall_counts(recall).kinds, RECALL_BYTES_MAX / each - 1, RECALL_KINDS_MAX / 2);
    before = recall_counts(recall).kinds_new;
    use_kinds(recall, RECALL_KINDS_MAX - 10, RECALL_KINDS_MAX);
    assert_int_equal(recall_counts(recall).kinds_new, before);
    recall_free(recall);
    cluster_free(cluster);
}

/* What the allocator has given out; the same as before where a sanitizer has taken its place. */
static size_t heap_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static struct considered *refusal(void)
{
    char words[500] = {0};

    memset(words, 'x', sizeof words - 1);
    return considered_new(outcome_refused(&(struct verdict){.reason = REASON_MEMORY}, NULL, words),
                          NODE_REFUSED, words);
}

static void test_recall_counts__its_bytes_are_those_of_the_allocator(void **state)
{
    struct cluster *cluster = cluster_new(&test_key);
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = picture_of(cluster, 1000);
    struct recall *recall = recall_new();
    size_t before = heap_bytes(), taken, counted;
    struct kind *kind = kind_number(recall, 0);
    struct rank_limits limits;

    (void)state;
    for (uint32_t i = 0; i < snapshot->count; i++)
        assert_non_null(kind_learn(kind, snapshot, i, refusal()));
    kind_recall_merits(kind, snapshot, (struct host_amounts){1, 1}, NULL, 0, NULL, NULL, &limits);
    taken = heap_bytes() - before;
    counted = recall_counts(recall).bytes;
    assert_true(counted > snapshot->count * 1000);
    if (taken > 0)
        assert_in_range(counted, taken * 9 / 10, taken * 12 / 10);
    kind_unref(kind);
    recall_free(recall);
    cluster_free(cluster);
}

static void test_recall_kind__one_without_room_begins_anew(void **state)
{
    struct cluster *cluster = cluster_new(&test_key);
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = picture_of(cluster, 1);
    struct recall *recall = recall_new();
    struct kind *kind = kind_number(recall, 0), *anew;
    struct considered *one_more = refusal();

    (void)state;
    while (kind_learn(kind, snapshot, 0, one_more) != NULL)
        one_more = refusal();
    considered_free(one_more);
    anew = kind_number(recall, 0);
    assert_ptr_not_equal(anew, kind);
    assert_int_equal(recall_counts(recall).kinds_new, 2);
    assert_int_equal(recall_counts(recall).kinds, 1);
    kind_unref(anew);
    kind_unref(kind);
    recall_free(recall);
    cluster_free(cluster);
}

static void test_recall__without_one_nothing_is_remembered(void **state)
{
    const struct recall_counts none = {0}, counts = recall_counts(NULL);

    (void)state;
    assert_memory_equal(&counts, &none, sizeof none);
    assert_null(kind_number(NULL, 0));
    recall_free(NULL);
    kind_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recall__the_second_pod_of_a_kind_needs_no_decision),
        cmocka_unit_test(test_recall__only_the_node_that_changed_is_decided_anew),
        cmocka_unit_test(test_recall__of_nodes_in_like_state_one_is_decided),
        cmocka_unit_test(test_recall__for_pods_that_name_devices_each_node_is_decided_once),
        cmocka_unit_test(test_recall__another_policy_is_another_kind),
        cmocka_unit_test(test_recall__merits_are_recalled_and_new_for_the_node_that_changed),
        cmocka_unit_test(test_recall__pods_that_differ_in_cpu_share_decisions_and_no_merits),
        cmocka_unit_test(test_recall__another_mix_makes_all_merits_anew),
        cmocka_unit_test(test_recall__the_limits_of_the_last_ranking_are_learned),
        cmocka_unit_test(test_recall_kind__as_many_as_are_remembered_may_come_in_turns),
        cmocka_unit_test(test_recall_kind__forgets_the_least_recently_used),
        cmocka_unit_test(test_recall_kind__is_bounded_in_bytes_as_well),
        cmocka_unit_test(test_recall_counts__its_bytes_are_those_of_the_allocator),
        cmocka_unit_test(test_recall_kind__one_without_room_begins_anew),
        cmocka_unit_test(test_recall__without_one_nothing_is_remembered),
    };

    return cmocka_run_group_tests_name("recall", tests, NULL, NULL);
}
