/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/small_cluster.h"
#include "support/test.h"

#include "topofit/intake.h"
#include "topofit/reconciler.h"

#include <stdlib.h>

#define T0 1000000u
#define INTERVAL_MS 600000u
#define RETRY_MS 30000u

#define NODE_SIZED(name, mib) \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\",\"resourceVersion\":\"3\"," \
    "\"annotations\":{\"topofit.io/inventory\":\"{\\\"devices\\\":[{\\\"id\\\":\\\"GPU-0\\\"," \
    "\\\"memoryMiB\\\":" mib "}]}\"}}}"
#define NODE(name) NODE_SIZED(name, "16384")
/* Bound to n1; its record gives it so many MiB of the only device there. */
#define POD(name, mib) \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"d\",\"uid\":\"u-" name "\",\"resourceVersion\":\"7\",\"annotations\":{" \
    "\"topofit.io/allocation\":\"{\\\"version\\\":1,\\\"node\\\":\\\"n1\\\",\\\"tier\\\":0," \
    "\\\"degraded\\\":false,\\\"containers\\\":[{\\\"name\\\":\\\"main\\\",\\\"kind\\\":\\\"app" \
    "\\\",\\\"devices\\\":[{\\\"id\\\":\\\"GPU-0\\\",\\\"memoryMiB\\\":" mib \
    ",\\\"cores\\\":0,\\\"slots\\\":1,\\\"mode\\\":\\\"soft\\\"}]}]}\"}},\"spec\":{\"nodeName\":" \
    "\"n1\",\"containers\":[]},\"status\":{\"phase\":\"Running\"}}"
#define LIST(kind, version, token, items) \
    "{\"kind\":\"" kind \
    "List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version \
    "\",\"continue\":\"" token "\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define STATUS(code) \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"the message\",\"reason\":\"X\"," \
    "\"code\":" code "}"

#define NODES NODE("n1") "," NODE("n2")
#define PODS POD("a", "4000") "," POD("b", "4000")
#define PATH(resource, version) \
    "/api/v1/" resource "?limit=500&resourceVersion=" version "&resourceVersionMatch=Exact"

/* --- a story: a cluster that its reflectors keep, and the test as API server ------------------ */

struct story {
    struct cluster *cluster;
    struct intake *intake;
    struct reflector *nodes, *pods;
    struct reconciler *reconciler;
    uint64_t now_ms;
    struct api_request request; /* the last one */
};

static struct reflector *reflector_of(enum kube_kind kind, struct reflector_sink sink)
{
    return reflector_new(&(struct reflector_options){.kind = kind, .sink = sink, .seed = 42});
}

static void send(struct story *story, struct reflector *reflector)
{
    struct reflector_wish wish;

    reflector_next(reflector, story->now_ms, &wish);
    if (wish.action == REFLECTOR_CANCEL)
        reflector_next(reflector, story->now_ms, &wish);
    assert_int_equal(wish.action, REFLECTOR_SEND);
}

static void list(struct story *story, struct reflector *reflector, const char *text)
{
    send(story, reflector);
    reflector_on_begin(reflector, 200, 0, story->now_ms);
    reflector_on_bytes(reflector, text, strlen(text), story->now_ms);
    reflector_on_end(reflector, NULL, story->now_ms);
}

static void open_watch(struct story *story, struct reflector *reflector)
{
    send(story, reflector);
    reflector_on_begin(reflector, 200, 0, story->now_ms);
}

static void watch(struct story *story, struct reflector *reflector, const char *event)
{
    reflector_on_bytes(reflector, event, strlen(event), story->now_ms);
}

/* Both lists are there: nodes n1 and n2 (version 10), pods a and b (20); no watch is open yet. */
static struct story *story_listed(uint64_t interval_ms)
{
    struct story *story = xcalloc(1, sizeof *story);

    story->now_ms = T0;
    story->cluster = cluster_new(&test_key);
    story->intake = intake_new(story->cluster, &test_classes, &(struct intake_listener){0});
    story->nodes = reflector_of(KUBE_NODE, intake_nodes(story->intake));
    story->pods = reflector_of(KUBE_POD, intake_pods(story->intake));
    story->reconciler = reconciler_new(&(struct reconciler_options){.cluster = story->cluster,
                                                                    .classes = &test_classes,
                                                                    .nodes = story->nodes,
                                                                    .pods = story->pods,
                                                                    .interval_ms = interval_ms,
                                                                    .seed = 42});
    list(story, story->nodes, LIST("Node", "10", "", NODES));
    list(story, story->pods, LIST("Pod", "20", "", PODS));
    return story;
}

/* Both watches are open. Compared only when asked. */
static struct story *story_new(void)
{
    struct story *story = story_listed(0);

    open_watch(story, story->nodes);
    open_watch(story, story->pods);
    return story;
}

static void story_free(struct story **place)
{
    cluster_check((*place)->cluster);
    reconciler_free((*place)->reconciler);
    reflector_free((*place)->nodes);
    reflector_free((*place)->pods);
    intake_free((*place)->intake);
    cluster_free((*place)->cluster);
    free(*place);
}

static bool next_request(struct story *story)
{
    struct moment now = {story->now_ms, 5000000 + story->now_ms};

    return reconciler_next_request(story->reconciler, now, &story->request);
}

static void expect_request(struct story *story, const char *path)
{
    assert_true(next_request(story));
    assert_string_equal(story->request.method, "GET");
    assert_string_equal(story->request.path, path);
}

static void begin_answer(struct story *story, int status, const char *body)
{
    reconciler_on_begin(story->reconciler, story->request.id, status);
    reconciler_on_bytes(story->reconciler, story->request.id, body, strlen(body));
}

static void answer(struct story *story, int status, const char *body)
{
    begin_answer(story, status, body);
    reconciler_on_end(story->reconciler, story->request.id, NULL, story->now_ms);
}

/* Ask, and let the server have these nodes and pods. */
static const struct reconciler_report *compare(struct story *story, const char *nodes,
                                               const char *pods)
{
    reconciler_ask(story->reconciler);
    assert_true(next_request(story));
    answer(story, 200, nodes);
    assert_true(next_request(story));
    answer(story, 200, pods);
    return reconciler_report(story->reconciler);
}

static void expect_equal(const struct reconciler_report *report)
{
    assert_string_equal(report->problem, "");
    assert_int_equal(report->difference_count, 0);
}

#define SAME_NODES LIST("Node", "10", "", NODES)
#define SAME_PODS LIST("Pod", "20", "", PODS)

/* --- equal ----------------------------------------------------------------------------------- */

static void test_reconciler__asks_for_the_version_at_which_the_watches_stand(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    const struct reconciler_report *report = reconciler_report(story->reconciler);

    (void)state;
    watch(story, story->pods, EVENT("MODIFIED", POD("a", "4000")));
    assert_false(next_request(story)); /* nobody asked */
    assert_int_equal(report->number, 0);
    reconciler_ask(story->reconciler);
    assert_true(reconciler_next_due_ms(story->reconciler) <= story->now_ms);
    expect_request(story, PATH("nodes", "10"));
    assert_false(next_request(story));
    answer(story, 200, SAME_NODES);
    expect_request(story, PATH("pods", "7")); /* of the last event */
    answer(story, 200, SAME_PODS);
    expect_equal(report);
    assert_int_equal(report->number, 1);
    assert_int_equal(report->unix_ms, 5000000 + T0);
    assert_int_equal(report->nodes, 2);
    assert_int_equal(report->pods, 2);
    assert_int_equal(reconciler_counters(story->reconciler)->comparisons, 1);
    assert_false(next_request(story));
    assert_int_equal(reconciler_next_due_ms(story->reconciler), UINT64_MAX);
    assert_non_null(reflector_position(story->nodes)); /* nobody lists again */
    assert_non_null(reflector_position(story->pods));
}

static void test_reconciler__what_the_watch_tells_meanwhile_changes_nothing(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    reconciler_ask(story->reconciler);
    expect_request(story, PATH("nodes", "10"));
    watch(story, story->nodes, EVENT("DELETED", NODE("n2")));
    watch(story, story->nodes, EVENT("MODIFIED", NODE_SIZED("n1", "99")));
    answer(story, 200, SAME_NODES);
    expect_request(story, PATH("pods", "20"));
    watch(story, story->pods, EVENT("DELETED", POD("a", "4000")));
    watch(story, story->pods, EVENT("MODIFIED", POD("b", "5000")));
    watch(story, story->pods, EVENT("ADDED", POD("c", "100")));
    begin_answer(story, 200, "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"20\"},");
    begin_answer(story, 200, "\"items\":[" PODS "]}");
    reconciler_on_end(story->reconciler, story->request.id, NULL, story->now_ms);
    expect_equal(reconciler_report(story->reconciler));
}

static void test_reconciler__a_list_anew_meanwhile_changes_nothing(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    reconciler_ask(story->reconciler);
    assert_true(next_request(story));
    answer(story, 200, SAME_NODES);
    assert_true(next_request(story));
    reflector_relist(story->pods, story->now_ms);
    list(story, story->pods, LIST("Pod", "30", "", ""));
    answer(story, 200, SAME_PODS);
    expect_equal(reconciler_report(story->reconciler));
}

static void test_reconciler__follows_pages(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    reconciler_ask(story->reconciler);
    expect_request(story, PATH("nodes", "10"));
    answer(story, 200, LIST("Node", "10", "more", NODE("n1")));
    expect_request(story, "/api/v1/nodes?limit=500&continue=more");
    answer(story, 200, LIST("Node", "10", "more2", NODE("n2")));
    expect_request(story, "/api/v1/nodes?limit=500&continue=more2");
    answer(story, 200, LIST("Node", "10", "", ""));
    expect_request(story, PATH("pods", "20"));
    answer(story, 200, SAME_PODS);
    expect_equal(reconciler_report(story->reconciler));
    assert_int_equal(reconciler_report(story->reconciler)->nodes, 2);
}

/* --- differences ----------------------------------------------------------------------------- */

/* What an event that was lost or taken wrongly leaves in memory. */
static void lose_pod(struct story *story)
{
    cluster_remove_pod(story->cluster, "d", "a", "u-a");
}

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

static void delete_pod(struct story *story)
{
    struct pod *pod = pod_like(story, "a");

    pod->deleting = true;
    cluster_put_pod(story->cluster, pod);
}

static void break_ledger(struct story *story)
{
    small_break_ledger(story->cluster, "u-b");
}

static void lose_node(struct story *story)
{
    cluster_remove_node(story->cluster, "n2");
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
    {break_ledger, false, "pod d/b: the ledger does not hold what its record says"},
    {lose_node, true, "node n2: not in memory"},
    {invent_node, true, "node n3: in memory only"},
    {change_node, true, "node n2: another state in memory"},
};

static void test_reconciler__finds_each_kind_of_mistake(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        AUTO(story_free) struct story *story = story_new();
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
        AUTO(story_free) struct story *story = story_new();
        struct reflector *wrong = mistakes[i].in_nodes ? story->nodes : story->pods;
        struct reflector *right = mistakes[i].in_nodes ? story->pods : story->nodes;

        mistakes[i].plant(story);
        compare(story, SAME_NODES, SAME_PODS);
        assert_non_null(reflector_position(right));
        assert_null(reflector_position(wrong));
        list(story, wrong, mistakes[i].in_nodes ? SAME_NODES : SAME_PODS);
        open_watch(story, wrong);
        expect_equal(compare(story, SAME_NODES, SAME_PODS)); /* it is cured */
        assert_int_equal(reconciler_report(story->reconciler)->number, 2);
    }
}

/* A Binding of ours succeeded for a pod of which the watch has shown the end already. */
static void test_reconciler__finds_who_holds_devices_and_is_no_pod_the_second_time(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    struct pod *ghost = small_pod("ghost", "u-ghost", 4000);
    const struct reconciler_report *report;
    uint64_t token;

    (void)state;
    assert_int_equal(small_reserve(story->cluster, ghost, "GPU-0", 4000, &token), 0);
    expect_equal(compare(story, SAME_NODES, SAME_PODS)); /* its Binding is on its way */
    cluster_confirm(story->cluster, "u-ghost", token);
    expect_equal(compare(story, SAME_NODES, SAME_PODS)); /* the watch may be late */
    report = compare(story, SAME_NODES, SAME_PODS);
    assert_int_equal(report->difference_count, 1);
    assert_string_equal(report->differences[0],
                        "pod with uid u-ghost: holds devices in memory, and there is no such pod");
    list(story, story->pods, SAME_PODS);
    open_watch(story, story->pods);
    expect_equal(compare(story, SAME_NODES, SAME_PODS));
    assert_int_equal(small_used_mib(story->cluster), 8000);
    pod_unref(ghost);
}

static void test_reconciler__counts_all_differences_and_tells_the_first(void **state)
{
    AUTO(story_free) struct story *story = story_new();
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

/* --- failures -------------------------------------------------------------------------------- */

#define CUT_LIST "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"20\"},\"items\":["

static void test_reconciler__finds_no_differences_in_answers_that_fail(void **state)
{
    static const struct {
        int status;
        const char *body, *failure, *problem;
    } cases[] = {
        {410, STATUS("410"), NULL, "comparing pods: the message"},
        {500, "upstream is gone", NULL, "comparing pods: upstream is gone"},
        {504, "", NULL, "comparing pods: no explanation"},
        {200, CUT_LIST, "connection reset", "comparing pods: connection reset"},
        {200, CUT_LIST, NULL, "comparing pods: "},
        {200, CUT_LIST POD("z", "1") ",]}", NULL, "comparing pods: "},
        {200, "{}", NULL, "comparing pods: "},
        {200, SAME_NODES, NULL, "comparing pods: "},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(story_free) struct story *story = story_new();
        const struct reconciler_report *report = reconciler_report(story->reconciler);
        struct error err = {0};

        if (cases[i].failure != NULL)
            error_set(&err, ERR_IO, "%s", cases[i].failure);
        lose_pod(story);
        reconciler_ask(story->reconciler);
        assert_true(next_request(story));
        answer(story, 200, SAME_NODES);
        assert_true(next_request(story));
        begin_answer(story, cases[i].status, cases[i].body);
        reconciler_on_end(story->reconciler, story->request.id,
                          cases[i].failure != NULL ? &err : NULL, story->now_ms);
        assert_memory_equal(report->problem, cases[i].problem, strlen(cases[i].problem));
        assert_int_equal(report->difference_count, 0);
        assert_int_equal(report->number, 1);
        assert_int_equal(reconciler_counters(story->reconciler)->failures, 1);
        assert_int_equal(reconciler_counters(story->reconciler)->comparisons, 0);
        assert_non_null(reflector_position(story->pods));
        assert_false(next_request(story));
    }
}

static void test_reconciler__a_failure_before_any_answer_is_told_as_well(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    struct error err = {0};

    (void)state;
    error_set(&err, ERR_IO, "no connection");
    reconciler_ask(story->reconciler);
    assert_true(next_request(story));
    reconciler_on_end(story->reconciler, story->request.id, &err, story->now_ms);
    assert_string_equal(reconciler_report(story->reconciler)->problem,
                        "comparing nodes: no connection");
}

static void test_reconciler__keeps_what_was_found_before_a_failure(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    const struct reconciler_report *report = reconciler_report(story->reconciler);

    (void)state;
    lose_node(story);
    reconciler_ask(story->reconciler);
    assert_true(next_request(story));
    answer(story, 200, SAME_NODES);
    assert_true(next_request(story));
    answer(story, 500, STATUS("500"));
    assert_int_equal(report->difference_count, 1);
    assert_string_equal(report->differences[0], "node n2: not in memory");
    assert_string_equal(report->problem, "comparing pods: the message");
    assert_null(reflector_position(story->nodes));
}

static void test_reconciler__ignores_answers_to_other_requests(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    reconciler_ask(story->reconciler);
    assert_true(next_request(story));
    story->request.id++;
    answer(story, 500, STATUS("500"));
    assert_int_equal(reconciler_report(story->reconciler)->number, 0);
    story->request.id--;
    answer(story, 200, SAME_NODES);
    expect_request(story, PATH("pods", "20")); /* dropped while it is in flight */
    begin_answer(story, 200, CUT_LIST);
}

/* --- when ------------------------------------------------------------------------------------ */

static void test_reconciler__waits_until_both_watches_are_open(void **state)
{
    AUTO(story_free) struct story *story = story_listed(INTERVAL_MS);

    (void)state;
    reconciler_ask(story->reconciler);
    assert_false(next_request(story));
    open_watch(story, story->nodes);
    assert_false(next_request(story));
    story->now_ms += 2 * INTERVAL_MS;
    assert_false(next_request(story));
    /* Not a time that has passed: that would be a hot loop. */
    assert_int_equal(reconciler_next_due_ms(story->reconciler), UINT64_MAX);
    open_watch(story, story->pods);
    expect_request(story, PATH("nodes", "10"));
    answer(story, 200, SAME_NODES);
    reflector_relist(story->pods, story->now_ms);
    assert_false(next_request(story));
    assert_int_equal(reconciler_next_due_ms(story->reconciler), UINT64_MAX);
    list(story, story->pods, LIST("Pod", "30", "", PODS));
    assert_false(next_request(story));
    open_watch(story, story->pods);
    expect_request(story, PATH("pods", "30"));
    assert_int_equal(reconciler_next_due_ms(story->reconciler), UINT64_MAX);
}

/* Let time pass until the next request; at_least, and a quarter more at most. */
static void expect_wait(struct story *story, uint64_t at_least_ms)
{
    uint64_t due_ms;

    assert_false(next_request(story));
    due_ms = reconciler_next_due_ms(story->reconciler);
    assert_in_range(due_ms - story->now_ms, at_least_ms, at_least_ms + at_least_ms / 4);
    story->now_ms = due_ms - 1;
    assert_false(next_request(story));
    story->now_ms++;
    assert_true(next_request(story));
}

static void test_reconciler__compares_after_each_interval_and_sooner_after_a_failure(void **state)
{
    AUTO(story_free) struct story *story = story_listed(INTERVAL_MS);

    (void)state;
    open_watch(story, story->nodes);
    open_watch(story, story->pods);
    expect_wait(story, INTERVAL_MS); /* the lists are fresh */
    answer(story, 200, SAME_NODES);
    assert_true(next_request(story));
    answer(story, 200, SAME_PODS);
    expect_wait(story, INTERVAL_MS);
    answer(story, 410, STATUS("410"));
    expect_wait(story, RETRY_MS);
    answer(story, 200, SAME_NODES);
    assert_true(next_request(story));
    answer(story, 200, SAME_PODS);
    expect_equal(reconciler_report(story->reconciler));
    expect_wait(story, INTERVAL_MS);
}

static void test_reconciler__who_asks_during_a_comparison_gets_one_that_begins_later(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    reconciler_ask(story->reconciler);
    assert_true(next_request(story));
    reconciler_ask(story->reconciler);
    answer(story, 200, SAME_NODES);
    assert_true(next_request(story));
    answer(story, 200, SAME_PODS);
    expect_request(story, PATH("nodes", "10"));
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
        cmocka_unit_test(test_reconciler__finds_who_holds_devices_and_is_no_pod_the_second_time),
        cmocka_unit_test(test_reconciler__counts_all_differences_and_tells_the_first),
        cmocka_unit_test(test_reconciler__finds_no_differences_in_answers_that_fail),
        cmocka_unit_test(test_reconciler__a_failure_before_any_answer_is_told_as_well),
        cmocka_unit_test(test_reconciler__keeps_what_was_found_before_a_failure),
        cmocka_unit_test(test_reconciler__ignores_answers_to_other_requests),
        cmocka_unit_test(test_reconciler__waits_until_both_watches_are_open),
        cmocka_unit_test(test_reconciler__compares_after_each_interval_and_sooner_after_a_failure),
        cmocka_unit_test(test_reconciler__who_asks_during_a_comparison_gets_one_that_begins_later),
    };

    return cmocka_run_group_tests_name("reconciler", tests, NULL, NULL);
}
