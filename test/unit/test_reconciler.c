/* SPDX-License-Identifier: Apache-2.0 */
/* The reconciler: what it compares, and what it finds. */
#include "support/builders.h"
#include "support/reconciler_story.h"
#include "support/small_cluster.h"

#include <stdlib.h>

/* --- equal ----------------------------------------------------------------------------------- */

static void test_reconciler__asks_for_the_version_at_which_the_watches_stand(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_new();
    const struct reconciler_report *report = reconciler_report(story->reconciler);

    (void)state;
    tell_event(story, story->pods, EVENT("MODIFIED", POD("a", "4000")));
    assert_false(next_question(story)); /* nobody asked */
    assert_int_equal(report->number, 0);
    reconciler_ask(story->reconciler);
    assert_true(reconciler_next_due_ms(story->reconciler) <= story->now_ms);
    expect_question(story, PATH("nodes", "10"));
    assert_false(next_question(story));
    reply_to_question(story, 200, SAME_NODES);
    expect_question(story, PATH("pods", "7")); /* of the last event */
    reply_to_question(story, 200, SAME_PODS);
    expect_equal(report);
    assert_int_equal(report->number, 1);
    assert_int_equal(report->unix_ms, 5000000 + T0);
    assert_int_equal(report->nodes, 2);
    assert_int_equal(report->pods, 2);
    assert_int_equal(reconciler_counters(story->reconciler)->comparisons, 1);
    assert_false(next_question(story));
    assert_int_equal(reconciler_next_due_ms(story->reconciler), UINT64_MAX);
    assert_non_null(reflector_position(story->nodes)); /* nobody lists again */
    assert_non_null(reflector_position(story->pods));
}

static void test_reconciler__what_the_watch_tells_meanwhile_changes_nothing(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_new();

    (void)state;
    reconciler_ask(story->reconciler);
    expect_question(story, PATH("nodes", "10"));
    tell_event(story, story->nodes, EVENT("DELETED", NODE("n2")));
    tell_event(story, story->nodes, EVENT("MODIFIED", NODE_SIZED("n1", "99")));
    reply_to_question(story, 200, SAME_NODES);
    expect_question(story, PATH("pods", "20"));
    tell_event(story, story->pods, EVENT("DELETED", POD("a", "4000")));
    tell_event(story, story->pods, EVENT("MODIFIED", POD("b", "5000")));
    tell_event(story, story->pods, EVENT("ADDED", POD("c", "100")));
    begin_reply(story, 200, "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"20\"},");
    begin_reply(story, 200, "\"items\":[" PODS "]}");
    reconciler_on_end(story->reconciler, story->request.id, NULL, story->now_ms);
    expect_equal(reconciler_report(story->reconciler));
}

static void test_reconciler__a_list_anew_meanwhile_changes_nothing(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_new();

    (void)state;
    reconciler_ask(story->reconciler);
    assert_true(next_question(story));
    reply_to_question(story, 200, SAME_NODES);
    assert_true(next_question(story));
    reflector_relist(story->pods, story->now_ms);
    answer_list(story, story->pods, LIST("Pod", "30", "", ""));
    reply_to_question(story, 200, SAME_PODS);
    expect_equal(reconciler_report(story->reconciler));
}

static void test_reconciler__follows_pages(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_new();

    (void)state;
    reconciler_ask(story->reconciler);
    expect_question(story, PATH("nodes", "10"));
    reply_to_question(story, 200, LIST("Node", "10", "more", NODE("n1")));
    expect_question(story, "/api/v1/nodes?limit=500&continue=more");
    reply_to_question(story, 200, LIST("Node", "10", "more2", NODE("n2")));
    expect_question(story, "/api/v1/nodes?limit=500&continue=more2");
    reply_to_question(story, 200, LIST("Node", "10", "", ""));
    expect_question(story, PATH("pods", "20"));
    reply_to_question(story, 200, SAME_PODS);
    expect_equal(reconciler_report(story->reconciler));
    assert_int_equal(reconciler_report(story->reconciler)->nodes, 2);
}

/* --- differences ----------------------------------------------------------------------------- */

/* What an event that was lost or taken wrongly leaves in memory. */
static struct pod *pod_like(struct story *story, const char *name)
{
    AUTO(pod_unref_pointer) struct pod *pod = cluster_find_pod(story->cluster, "d", name);
    struct pod *copy = pod_bound(pod, pod->node);

    allocation_clear(&copy->record);
    allocation_copy(&pod->record, &copy->record);
    copy->has_record = true;
    return copy;
}

static void invent_pod(struct story *story)
{
    cluster_put_pod(story->cluster, pod_new("d", "ghost", "u-ghost"));
}

static void move_pod(struct story *story)
{
    struct pod *pod = pod_like(story, "a");

    pod->node[1] = '2';
    cluster_put_pod(story->cluster, pod);
}

static void change_record(struct story *story)
{
    struct pod *pod = pod_like(story, "a");

    pod->record.containers[0].devices[0].memory_mib = 1;
    cluster_put_pod(story->cluster, pod);
}

static void finish_pod(struct story *story)
{
    struct pod *pod = pod_like(story, "a");

    pod->finished = true;
    cluster_put_pod(story->cluster, pod);
}

static void nominate_pod(struct story *story)
{
    struct pod *pod = pod_like(story, "a");

    pod->nominated = xstrdup("n9");
    cluster_put_pod(story->cluster, pod);
}

static void delete_pod(struct story *story)
{
    struct pod *pod = pod_like(story, "a");

    pod->deleting = true;
    cluster_put_pod(story->cluster, pod);
}

static void demand_links(struct story *story)
{
    struct pod *pod = pod_like(story, "a");

    pod->request.topology = (struct topology_demand){.has_mode = true, .mode = TOPOLOGY_HARD};
    cluster_put_pod(story->cluster, pod);
}

static void ask_for_more(struct story *story)
{
    struct pod *pod = pod_like(story, "a");

    request_wish(&pod->request, (struct wish){.count = 1});
    cluster_put_pod(story->cluster, pod);
}

static void raise_priority(struct story *story)
{
    struct pod *pod = pod_like(story, "a");

    pod->priority++;
    cluster_put_pod(story->cluster, pod);
}

static void break_ledger(struct story *story)
{
    small_break_ledger(story->cluster, "u-b");
}

static void invent_node(struct story *story)
{
    cluster_put_node(story->cluster, node_plain("n3", 1, 1, 1));
}

static void change_node(struct story *story)
{
    cluster_put_node(story->cluster, node_plain("n2", 1, 1, 1));
}

static const struct {
    void (*plant)(struct story *story);
    bool in_nodes;
    const char *text;
} mistakes[] = {
    {lose_pod, false, "pod d/a: not in memory"},
    {invent_pod, false, "pod d/ghost: in memory only"},
    {move_pod, false, "pod d/a: another state in memory"},
    {change_record, false, "pod d/a: another state in memory"},
    {finish_pod, false, "pod d/a: another state in memory"},
    {delete_pod, false, "pod d/a: another state in memory"},
    {nominate_pod, false, "pod d/a: another state in memory"},
    {demand_links, false, "pod d/a: another state in memory"},
    {ask_for_more, false, "pod d/a: another state in memory"},
    {raise_priority, false, "pod d/a: another state in memory"},
    {break_ledger, false, "pod d/b: the ledger does not hold what its record says"},
    {lose_node, true, "node n2: not in memory"},
    {invent_node, true, "node n3: in memory only"},
    {change_node, true, "node n2: another state in memory"},
};

static void test_reconciler__finds_each_kind_of_mistake(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        AUTO(reconciler_story_free) struct story *story = reconciler_story_new();
        const struct reconciler_report *report;

        mistakes[i].plant(story);
        report = compare(story, SAME_NODES, SAME_PODS);
        assert_int_equal(report->difference_count, 1);
        assert_string_equal(report->differences[0], mistakes[i].text);
        assert_string_equal(report->problem, "");
        assert_int_equal(reconciler_counters(story->reconciler)->differences, 1);
    }
}

static void test_reconciler__lets_what_differs_be_listed_again_and_nothing_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        AUTO(reconciler_story_free) struct story *story = reconciler_story_new();
        struct reflector *wrong = mistakes[i].in_nodes ? story->nodes : story->pods;
        struct reflector *right = mistakes[i].in_nodes ? story->pods : story->nodes;

        mistakes[i].plant(story);
        compare(story, SAME_NODES, SAME_PODS);
        assert_non_null(reflector_position(right));
        assert_null(reflector_position(wrong));
        answer_list(story, wrong, mistakes[i].in_nodes ? SAME_NODES : SAME_PODS);
        open_watch(story, wrong);
        expect_equal(compare(story, SAME_NODES, SAME_PODS)); /* it is cured */
        assert_int_equal(reconciler_report(story->reconciler)->number, 2);
    }
}

static void test_reconciler__counts_all_differences_and_tells_the_first(void **state)
{
    AUTO(reconciler_story_free) struct story *story = reconciler_story_new();
    const struct reconciler_report *report;

    (void)state;
    for (unsigned i = 0; i < RECONCILER_DIFFERENCES_MAX + 10; i++) {
        AUTO_FREE char *name = xasprintf("ghost%u", i);

        cluster_put_pod(story->cluster, pod_new("d", name, name));
    }
    report = compare(story, SAME_NODES, SAME_PODS);
    assert_int_equal(report->difference_count, RECONCILER_DIFFERENCES_MAX + 10);
    for (size_t i = 0; i < RECONCILER_DIFFERENCES_MAX; i++)
        assert_contains(report->differences[i], "in memory only");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reconciler__asks_for_the_version_at_which_the_watches_stand),
        cmocka_unit_test(test_reconciler__what_the_watch_tells_meanwhile_changes_nothing),
        cmocka_unit_test(test_reconciler__a_list_anew_meanwhile_changes_nothing),
        cmocka_unit_test(test_reconciler__follows_pages),
        cmocka_unit_test(test_reconciler__finds_each_kind_of_mistake),
        cmocka_unit_test(test_reconciler__lets_what_differs_be_listed_again_and_nothing_else),
        cmocka_unit_test(test_reconciler__counts_all_differences_and_tells_the_first),
    };

    return cmocka_run_group_tests_name("reconciler", tests, NULL, NULL);
}
