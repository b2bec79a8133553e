/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/small_cluster.h"
#include "support/test.h"

#include "topofit/waker.h"

#include <stdlib.h>

#define T0 1000000u
#define UNIX_T0 UINT64_C(1767225600000) /* 2026-01-01T00:00:00Z, when every story begins */
#define DELAY_MS 250u
#define STATUS(code, reason) \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"the message\",\"reason\":\"" reason \
    "\",\"code\":" code "}"

/* A waker, a made-up time, and the test as API server and kube-scheduler. */
struct story {
    struct cluster *cluster;
    struct history *history;
    struct waker *waker;
    uint64_t now_ms;
    struct api_request request; /* the last one */
};

/* kube-scheduler asks about a pod, and it fits nowhere (or on `kept` nodes). */
static void ask_about(struct story *story, const char *name, unsigned kept)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(story->cluster);
    struct decision decision = {.pod = pod_new("default", name, name),
                                .monotonic_ms = story->now_ms,
                                .version = snapshot->version,
                                .considered = 1,
                                .kept = kept};

    history_put(story->history, &decision);
}

/* Node n1, no pods, and the lists that say so have arrived. */
static struct story *story_started(void)
{
    struct story *story = xcalloc(1, sizeof *story);
    struct node *node = node_plain("n1", 1, 16384, 2);

    story->now_ms = T0 - 2 * DELAY_MS;
    story->cluster = cluster_new(&test_key);
    story->history = history_new(&test_key);
    story->waker = waker_new(story->cluster, story->history, 42);
    cluster_replace_nodes(story->cluster, &node, 1);
    cluster_announce_pod_list(story->cluster);
    cluster_replace_pods(story->cluster, NULL, 0);
    return story;
}

static void story_free(struct story **place)
{
    cluster_check((*place)->cluster);
    waker_free((*place)->waker);
    history_free((*place)->history);
    cluster_free((*place)->cluster);
    free(*place);
}

static void free_pod(struct story *story, const char *name)
{
    cluster_remove_pod(story->cluster, "default", name, name);
}

static bool next_request(struct story *story)
{
    struct moment now = {story->now_ms, UNIX_T0 + story->now_ms - T0};

    return waker_next_request(story->waker, now, &story->request);
}

/* Let time pass for so long as the waker says. return whether it sends something then. */
static bool wait_for_request(struct story *story)
{
    if (next_request(story))
        return true;
    if (waker_next_due_ms(story->waker) == UINT64_MAX)
        return false;
    assert_true(waker_next_due_ms(story->waker) > story->now_ms);
    story->now_ms = waker_next_due_ms(story->waker);
    return next_request(story);
}

/* Node n1 is full; pod "w" was refused and waits. Nothing was freed since. */
static struct story *story_new(void)
{
    struct story *story = story_started();

    assert_false(wait_for_request(story)); /* nobody waits yet */
    story->now_ms = T0;
    cluster_put_pod(story->cluster, small_bound_pod("a", "a", "n1", "GPU-0", 4000));
    cluster_put_pod(story->cluster, small_bound_pod("b", "b", "n1", "GPU-0", 4000));
    cluster_put_pod(story->cluster, small_pod("w", "w", 1000));
    ask_about(story, "w", 0);
    return story;
}

static void reply(struct story *story, int status, const char *body)
{
    struct api_answer answer = {.status = status, .body = body, .body_length = strlen(body)};

    waker_on_answer(story->waker, story->request.id, &answer, story->now_ms);
}

/* Nothing is sent, and nothing is planned. */
static void expect_rest(struct story *story)
{
    assert_false(wait_for_request(story));
    assert_int_equal(waker_next_due_ms(story->waker), UINT64_MAX);
    assert_string_equal(waker_problem(story->waker), "");
}

/* --- when somebody is woken ------------------------------------------------------------------ */

static void test_waker__changes_an_annotation_of_the_node_where_something_was_freed(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    free_pod(story, "a");
    assert_true(wait_for_request(story));
    assert_int_equal(story->now_ms, T0 + DELAY_MS);
    assert_string_equal(story->request.method, "PATCH");
    assert_string_equal(story->request.path, "/api/v1/nodes/n1");
    assert_string_equal(story->request.content_type, "application/merge-patch+json");
    assert_string_equal(story->request.body,
                        "{\"metadata\":{\"annotations\":{\"topofit.io/capacity-freed\":"
                        "\"2026-01-01T00:00:00.250Z\"}}}");
    assert_int_equal(story->request.body_length, strlen(story->request.body));
    reply(story, 200, "{}");
    assert_int_equal(waker_counters(story->waker)->woken, 1);
    expect_rest(story);
}

/* What a topofit before us knew of refusals is gone with it. */
static void test_waker__wakes_once_who_waited_when_it_was_started(void **state)
{
    AUTO(story_free) struct story *story = story_started();

    (void)state;
    cluster_put_pod(story->cluster, small_pod("w", "w", 1000));
    assert_true(wait_for_request(story));
    reply(story, 200, "{}");
    expect_rest(story);
    cluster_put_node(story->cluster, node_plain("n1", 1, 16384, 3));
    expect_rest(story); /* nobody was refused since */
}

static void test_waker__waits_for_the_lists(void **state)
{
    AUTO(story_free) struct story *story = xcalloc(1, sizeof *story);

    (void)state;
    story->now_ms = T0;
    story->cluster = cluster_new(&test_key);
    story->history = history_new(&test_key);
    story->waker = waker_new(story->cluster, story->history, 42);
    cluster_put_node(story->cluster, node_plain("n1", 1, 16384, 2));
    cluster_put_pod(story->cluster, small_pod("w", "w", 1000));
    expect_rest(story);
}

static void test_waker__leaves_all_in_peace_while_nothing_is_freed(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    expect_rest(story); /* a and b came before w was refused */
    cluster_put_pod(story->cluster, small_bound_pod("c", "c", "n1", "GPU-0", 1));
    expect_rest(story);
}

static void test_waker__gives_the_scheduler_time_to_ask_by_itself(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    free_pod(story, "a");
    assert_false(next_request(story));
    assert_int_equal(waker_next_due_ms(story->waker), T0 + DELAY_MS);
    story->now_ms += DELAY_MS - 1;
    assert_false(next_request(story));
    ask_about(story, "w", 0); /* refused in the present state */
    story->now_ms++;
    assert_false(next_request(story));
    expect_rest(story);
}

static void test_waker__leaves_pods_alone_that_fitted_somewhere(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    ask_about(story, "w", 1);
    free_pod(story, "a");
    expect_rest(story);
}

static void test_waker__leaves_pods_alone_that_wait_no_longer(void **state)
{
    (void)state;
    for (int end = 0; end < 4; end++) {
        AUTO(story_free) struct story *story = story_new();
        struct pod *last = small_pod("w", "w", 1000);

        last->deleting = end == 0;
        last->finished = end == 1;
        if (end == 2) {
            free(last->node);
            last->node = xstrdup("n9"); /* bound by somebody else */
        }
        cluster_put_pod(story->cluster, last);
        if (end == 3) {
            free_pod(story, "w");
            story->now_ms += 180000; /* and is looked for no longer */
        }
        free_pod(story, "a");
        expect_rest(story);
    }
}

/* Then the watch is late, which is when somebody has to be woken. */
static void
test_waker__takes_a_pod_that_the_watch_has_not_shown_to_wait_for_half_a_minute(void **state)
{
    static const struct {
        uint64_t after_ms;
        bool wakes;
    } cases[] = {{0, true}, {29999 - DELAY_MS, true}, {30000 - DELAY_MS, false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(story_free) struct story *story = story_new();

        free_pod(story, "w");
        ask_about(story, "unseen", 0);
        ask_about(story, "w", 1);
        story->now_ms += cases[i].after_ms;
        free_pod(story, "a");
        assert_int_equal(wait_for_request(story), cases[i].wakes);
    }
}

/* The watch had fallen silent; what was freed meanwhile is no news any more when it is back. */
static void test_waker__takes_a_pod_to_wait_once_a_late_watch_shows_it(void **state)
{
    static const struct {
        uint64_t late_ms;
        bool wakes;
    } cases[] = {{31000, true}, {150000, true}, {179000, true}, {186000, false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(story_free) struct story *story = story_new();
        const uint64_t asked_ms = story->now_ms;

        free_pod(story, "w");
        ask_about(story, "late", 0);
        ask_about(story, "w", 1);
        story->now_ms += 31000;
        free_pod(story, "a");
        assert_false(wait_for_request(story));
        while (story->now_ms < asked_ms + cases[i].late_ms) {
            story->now_ms += 1000;
            assert_false(next_request(story));
        }
        cluster_put_pod(story->cluster, small_pod("late", "late", 1000));
        story->now_ms += 5000;
        assert_int_equal(next_request(story), cases[i].wakes);
    }
}

static void test_waker__what_is_freed_while_a_late_watch_is_waited_for_wakes_at_once(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    ask_about(story, "late", 0);
    ask_about(story, "w", 1);
    story->now_ms += 31000;
    free_pod(story, "a");
    assert_false(wait_for_request(story));
    ask_about(story, "w", 0);
    free_pod(story, "b");
    assert_false(next_request(story));
    story->now_ms += DELAY_MS;
    assert_true(next_request(story));
}

static void test_waker__wakes_when_a_reservation_is_given_back(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    AUTO(pod_unref_pointer) struct pod *pod = small_pod("r", "r", 1000);
    uint64_t token;

    (void)state;
    free_pod(story, "a");
    assert_int_equal(small_reserve(story->cluster, pod, "GPU-0", 1000, &token), 0);
    ask_about(story, "w", 0);
    expect_rest(story);
    cluster_release(story->cluster, "r", token);
    assert_true(wait_for_request(story));
}

static void test_waker__takes_no_change_of_its_own_for_a_freeing(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    free_pod(story, "a");
    assert_true(wait_for_request(story));
    /* The watch shows the annotation, which is nothing that we keep of a node. */
    cluster_put_node(story->cluster, node_plain("n1", 1, 16384, 2));
    reply(story, 200, "{}");
    story->now_ms += 5000;
    expect_rest(story);
}

/* --- how often ------------------------------------------------------------------------------- */

static void test_waker__changes_nodes_at_most_once_a_second(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    free_pod(story, "a");
    assert_true(wait_for_request(story));
    story->now_ms += 20;
    reply(story, 200, "{}");
    free_pod(story, "b");
    assert_true(wait_for_request(story));
    assert_int_equal(story->now_ms, T0 + DELAY_MS + 20 + 1000);
}

static void test_waker__answers_many_freeings_with_one_change(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    free_pod(story, "a");
    assert_false(next_request(story));
    free_pod(story, "b");
    assert_true(wait_for_request(story));
    assert_int_equal(story->now_ms, T0 + DELAY_MS);
    reply(story, 200, "{}");
    expect_rest(story);
}

static void test_waker__remembers_what_is_freed_while_a_request_is_on_its_way(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    free_pod(story, "a");
    assert_true(wait_for_request(story));
    free_pod(story, "b");
    assert_false(next_request(story));
    assert_int_equal(waker_next_due_ms(story->waker), UINT64_MAX);
    reply(story, 200, "{}");
    assert_true(wait_for_request(story));
}

/* --- failures -------------------------------------------------------------------------------- */

static void test_waker__tries_again_later_and_later(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    uint64_t waited_ms = 0;

    (void)state;
    free_pod(story, "a");
    assert_true(wait_for_request(story));
    for (unsigned failures = 1; failures <= 4; failures++) {
        uint64_t at_ms = story->now_ms;

        if (failures % 2 == 0)
            reply(story, 500, STATUS("500", "InternalError"));
        else
            waker_on_loss(story->waker, story->request.id, true, "connection reset", at_ms);
        assert_contains(waker_problem(story->waker), failures % 2 == 0
                                                         ? "waking waiting pods: the message"
                                                         : "waking waiting pods: connection reset");
        assert_int_equal(waker_counters(story->waker)->errors, failures);
        assert_true(wait_for_request(story));
        assert_true(story->now_ms - at_ms >= 1000 && story->now_ms - at_ms >= waited_ms);
        waited_ms = story->now_ms - at_ms;
    }
    reply(story, 200, "{}");
    assert_string_equal(waker_problem(story->waker), "");
    assert_int_equal(waker_counters(story->waker)->woken, 1);
    expect_rest(story);
}

static void test_waker__gives_up_a_failed_change_that_nobody_waits_for_any_more(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    free_pod(story, "a");
    assert_true(wait_for_request(story));
    waker_on_loss(story->waker, story->request.id, false, "no connection", story->now_ms);
    ask_about(story, "w", 0);
    expect_rest(story);
}

static void test_waker__says_which_right_is_missing(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    free_pod(story, "a");
    assert_true(wait_for_request(story));
    reply(story, 403, STATUS("403", "Forbidden"));
    assert_contains(waker_problem(story->waker), "the message");
    assert_contains(waker_problem(story->waker), "verb patch on nodes");
    assert_contains(waker_problem(story->waker), "kube.wakePods");
}

/* Its deletion may be an event of long ago, before the scheduler asked. */
static void test_waker__changes_another_node_when_that_one_is_gone(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    cluster_put_node(story->cluster, node_plain("n2", 1, 16384, 2));
    free_pod(story, "a");
    assert_true(wait_for_request(story));
    assert_string_equal(story->request.path, "/api/v1/nodes/n1");
    reply(story, 404, STATUS("404", "NotFound"));
    cluster_remove_node(story->cluster, "n1");
    assert_true(wait_for_request(story));
    assert_string_equal(story->request.path, "/api/v1/nodes/n2");
    reply(story, 200, "{}");
    assert_int_equal(waker_counters(story->waker)->woken, 1);
    assert_int_equal(waker_counters(story->waker)->errors, 0);
    expect_rest(story);
}

static void test_waker__rests_when_there_is_no_node_left(void **state)
{
    AUTO(story_free) struct story *story = story_new();

    (void)state;
    free_pod(story, "a");
    cluster_remove_node(story->cluster, "n1");
    expect_rest(story);
}

static void test_waker__ignores_answers_to_other_requests(void **state)
{
    AUTO(story_free) struct story *story = story_new();
    struct api_answer answer = {.status = 500, .body = ""};

    (void)state;
    free_pod(story, "a");
    assert_true(wait_for_request(story));
    waker_on_answer(story->waker, story->request.id + 1, &answer, story->now_ms);
    waker_on_loss(story->waker, story->request.id + 1, true, "late", story->now_ms);
    assert_int_equal(waker_counters(story->waker)->errors, 0);
    assert_false(next_request(story)); /* the one in flight still is */
    reply(story, 200, "{}");
    assert_int_equal(waker_counters(story->waker)->woken, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waker__changes_an_annotation_of_the_node_where_something_was_freed),
        cmocka_unit_test(test_waker__wakes_once_who_waited_when_it_was_started),
        cmocka_unit_test(test_waker__waits_for_the_lists),
        cmocka_unit_test(test_waker__leaves_all_in_peace_while_nothing_is_freed),
        cmocka_unit_test(test_waker__gives_the_scheduler_time_to_ask_by_itself),
        cmocka_unit_test(test_waker__leaves_pods_alone_that_fitted_somewhere),
        cmocka_unit_test(test_waker__leaves_pods_alone_that_wait_no_longer),
        cmocka_unit_test(
            test_waker__takes_a_pod_that_the_watch_has_not_shown_to_wait_for_half_a_minute),
        cmocka_unit_test(test_waker__takes_a_pod_to_wait_once_a_late_watch_shows_it),
        cmocka_unit_test(test_waker__what_is_freed_while_a_late_watch_is_waited_for_wakes_at_once),
        cmocka_unit_test(test_waker__wakes_when_a_reservation_is_given_back),
        cmocka_unit_test(test_waker__takes_no_change_of_its_own_for_a_freeing),
        cmocka_unit_test(test_waker__changes_nodes_at_most_once_a_second),
        cmocka_unit_test(test_waker__answers_many_freeings_with_one_change),
        cmocka_unit_test(test_waker__remembers_what_is_freed_while_a_request_is_on_its_way),
        cmocka_unit_test(test_waker__tries_again_later_and_later),
        cmocka_unit_test(test_waker__gives_up_a_failed_change_that_nobody_waits_for_any_more),
        cmocka_unit_test(test_waker__says_which_right_is_missing),
        cmocka_unit_test(test_waker__changes_another_node_when_that_one_is_gone),
        cmocka_unit_test(test_waker__rests_when_there_is_no_node_left),
        cmocka_unit_test(test_waker__ignores_answers_to_other_requests),
    };

    return cmocka_run_group_tests_name("waker", tests, NULL, NULL);
}
