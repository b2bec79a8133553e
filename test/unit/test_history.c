/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/history.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void free_history(struct history **history)
{
    history_free(*history);
}

static void refuse(struct decision *decision, const char *node, const char *detail)
{
    struct outcome *outcome =
        outcome_refused(&(struct verdict){.reason = REASON_MEMORY}, NULL, detail);

    decision_add_refusal(decision, node, strlen(node), outcome);
    outcome_unref(outcome);
}

static void put(struct history *history, const char *name, const char *uid, unsigned kept)
{
    struct decision decision = {
        .pod = pod_new("default", name, uid), .unix_ms = 1000, .considered = 3, .kept = kept};

    refuse(&decision, "n1", "8000 wanted");
    history_put(history, &decision);
    assert_null(decision.pod); /* taken over */
}

static void test_history_find__gives_a_copy_of_the_last_decision(void **state)
{
    AUTO(free_history) struct history *history = history_new(&test_key);
    AUTO(decision_clear) struct decision found = {0};

    (void)state;
    assert_false(history_find(history, "default", "a", &found));
    put(history, "a", "1", 0);
    put(history, "a", "1", 2);
    assert_true(history_find(history, "default", "a", &found));
    assert_int_equal(found.kept, 2);
    assert_int_equal(found.attempts, 2);
    assert_int_equal(found.refusal_count, 1);
    assert_string_equal(decision_refused_node(&found, 0), "n1");
    assert_string_equal(found.refusals[0].outcome->words, "8000 wanted");
    assert_false(history_find(history, "other", "a", &found));
}

static void test_history_put__a_namesake_begins_anew(void **state)
{
    AUTO(free_history) struct history *history = history_new(&test_key);
    AUTO(decision_clear) struct decision found = {0};
    AUTO(pod_unref_pointer) struct pod *old = NULL;

    (void)state;
    put(history, "a", "1", 0);
    put(history, "a", "2", 0);
    assert_true(history_find(history, "default", "a", &found));
    assert_string_equal(found.pod->uid, "2");
    assert_int_equal(found.attempts, 1);
    old = history_find_pod_by_uid(history, "1");
    assert_string_equal(old->uid, "1");
    decision_clear(&found);
    assert_true(history_find_by_uid(history, "1", &found));
    assert_string_equal(found.pod->uid, "1");
    assert_false(history_find_by_uid(history, "3", &found));
    assert_null(history_find_pod_by_uid(history, "3"));
}

static void test_history_put__forgets_the_oldest(void **state)
{
    AUTO(free_history) struct history *history = history_new(&test_key);

    (void)state;
    for (int i = 0; i < HISTORY_PODS_MAX; i++) {
        AUTO_FREE char *name = xasprintf("p%d", i);

        put(history, name, name, 0);
    }
    put(history, "p0", "p0", 0); /* asked about again: not the oldest any more */
    put(history, "new", "new", 0);
    for (int i = 0; i < 3; i++) {
        AUTO_FREE char *name = xasprintf("p%d", i);
        AUTO(pod_unref_pointer) struct pod *pod = history_find_pod_by_uid(history, name);
        AUTO(decision_clear) struct decision found = {0};

        assert_int_equal(pod != NULL, i != 1);
        assert_int_equal(history_find(history, "default", name, &found), i != 1);
    }
}

/* Names and texts come from outside: few long ones must not take what many short ones may. */
static void test_history_put__is_bounded_in_bytes_as_well(void **state)
{
    AUTO(free_history) struct history *history = history_new(&test_key);
    AUTO_FREE char *mib = xcalloc((1u << 20) + 1, 1);
    AUTO(pod_unref_pointer) struct pod *last = NULL;

    (void)state;
    memset(mib, 'x', 1u << 20);
    for (unsigned i = 0; i < 70; i++) {
        AUTO_FREE char *uid = xasprintf("%u", i);
        struct decision decision = {.pod = pod_new("default", uid, uid)};

        request_add_container(&decision.pod->request, mib, CONTAINER_APP);
        history_put(history, &decision);
    }
    assert_null(history_find_pod_by_uid(history, "0"));
    last = history_find_pod_by_uid(history, "69");
    assert_non_null(last);
}

/* 70 decisions that refuse a node; the first must be gone and the last there. */
static void expect_refusals_are_counted(const char *node, const char *detail)
{
    AUTO(free_history) struct history *history = history_new(&test_key);
    AUTO(pod_unref_pointer) struct pod *last = NULL;

    for (unsigned i = 0; i < 70; i++) {
        AUTO_FREE char *uid = xasprintf("%u", i);
        struct decision decision = {.pod = pod_new("default", uid, uid)};

        refuse(&decision, node, detail);
        history_put(history, &decision);
    }
    assert_null(history_find_pod_by_uid(history, "0"));
    last = history_find_pod_by_uid(history, "69");
    assert_non_null(last);
}

static void test_history_put__counts_node_names_and_texts(void **state)
{
    AUTO_FREE char *mib = xcalloc((1u << 20) + 1, 1);

    (void)state;
    memset(mib, 'x', 1u << 20);
    expect_refusals_are_counted(mib, "");
    expect_refusals_are_counted("n1", mib);
}

/* --- what a decision takes ------------------------------------------------------------------ */

#define WORDS 1000 /* of each list: far more than the rest of a decision takes */

static void fill_words(struct word_list *list)
{
    for (unsigned i = 0; i < WORDS; i++) {
        char word[32];

        snprintf(word, sizeof word, "word-%04u", i);
        assert_true(word_list_add(list, word));
    }
}

static char *long_text(void)
{
    char *text = xcalloc(WORDS * 40 + 1, 1);

    memset(text, 'x', WORDS * 40);
    return text;
}

#define FILL_LIST(list) \
    static void fill_##list(struct decision *decision) \
    { \
        fill_words(&decision->pod->request.list); \
    } \
    static void fill_selected_##list(struct decision *decision) \
    { \
        struct class_selections *selections = &decision->pod->request.selections; \
\
        fill_words(&class_selections_add(selections, &test_class)->list); \
    }
FILL_LIST(use_devices)
FILL_LIST(avoid_devices)
FILL_LIST(use_products)
FILL_LIST(avoid_products)

static void fill_selections(struct decision *decision)
{
    struct class_selections *selections = &decision->pod->request.selections;

    selections->items = xcalloc(WORDS, sizeof *selections->items);
    selections->count = WORDS;
}

static void fill_containers(struct decision *decision)
{
    struct request *request = &decision->pod->request;

    request->containers = xcalloc(WORDS, sizeof *request->containers);
    while (request->container_count < WORDS)
        request->containers[request->container_count++].name = xstrdup("container");
}

static void fill_asks(struct decision *decision)
{
    struct request *request = &decision->pod->request;

    request->asks = xcalloc(WORDS, sizeof *request->asks);
    request->ask_count = WORDS;
}

static void fill_traits(struct decision *decision)
{
    decision->pod->request.traits.priority_class = long_text();
}

static void fill_record_containers(struct decision *decision)
{
    struct allocation *record = &decision->pod->record;

    record->containers = xcalloc(WORDS, sizeof *record->containers);
    while (record->container_count < WORDS)
        record->containers[record->container_count++].name = xstrdup("container");
}

static void fill_record_devices(struct decision *decision)
{
    struct allocated_container *container =
        allocation_add_container(&decision->pod->record, "main", CONTAINER_APP);

    for (unsigned i = 0; i < WORDS; i++)
        allocation_add_device(container, "GPU-01234567-89ab-cdef-0123-456789abcdef");
}

#define FILL_TEXT(name, place) \
    static void fill_##name(struct decision *decision) \
    { \
        free(decision->place); \
        decision->place = long_text(); \
    }
FILL_TEXT(record_node, pod->record.node)
FILL_TEXT(record_uid, pod->record.pod_uid)
FILL_TEXT(record_problem, pod->record_problem)
FILL_TEXT(node, pod->node)
FILL_TEXT(nominated, pod->nominated)

static void fill_identity(struct decision *decision)
{
    AUTO_FREE char *text = long_text();

    pod_unref(decision->pod);
    decision->pod = pod_new(text, text, text);
}

static void fill_refused_names(struct decision *decision)
{
    AUTO_FREE char *text = long_text();

    refuse(decision, text, "");
}

static void fill_refused_words(struct decision *decision)
{
    AUTO_FREE char *text = long_text();

    refuse(decision, "n", text);
}

static void fill_refusals(struct decision *decision)
{
    for (unsigned i = 0; i < HISTORY_NODES_MAX; i++)
        refuse(decision, "n", "not for this one");
}

/* A node that was sent along with the question, and that the cluster does not have. */
static void fill_sent_node(struct decision *decision)
{
    struct node *node = node_plain("n1", DEVICE_MAX, 1000, 100);
    struct outcome *outcome =
        outcome_refused(&(struct verdict){.reason = REASON_MEMORY}, node, NULL);

    node_unref(node);
    decision_add_refusal(decision, "n1", 2, outcome);
    outcome_unref(outcome);
}

/* What the allocator has given out; 0 where it is not the one that tells (sanitizers). */
static size_t heap_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static void test_history_put__counts_all_that_it_keeps(void **state)
{
    static const struct {
        const char *what;
        void (*fill)(struct decision *decision);
    } cases[] = {
        {"use_devices", fill_use_devices},
        {"avoid_devices", fill_avoid_devices},
        {"use_products", fill_use_products},
        {"avoid_products", fill_avoid_products},
        {"selected use_devices", fill_selected_use_devices},
        {"selected avoid_devices", fill_selected_avoid_devices},
        {"selected use_products", fill_selected_use_products},
        {"selected avoid_products", fill_selected_avoid_products},
        {"selections", fill_selections},
        {"containers", fill_containers},
        {"asks", fill_asks},
        {"traits", fill_traits},
        {"record containers", fill_record_containers},
        {"record devices", fill_record_devices},
        {"record node", fill_record_node},
        {"record uid", fill_record_uid},
        {"record problem", fill_record_problem},
        {"node", fill_node},
        {"nominated", fill_nominated},
        {"identity", fill_identity},
        {"refused names", fill_refused_names},
        {"refused words", fill_refused_words},
        {"refusals", fill_refusals},
        {"sent node", fill_sent_node},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(free_history) struct history *history = history_new(&test_key);
        AUTO(decision_clear) struct decision found = {0};
        AUTO_FREE char *uid = NULL;
        struct decision decision = {.pod = pod_new("default", "p", "u")};
        size_t before, taken;

        cases[i].fill(&decision); /* once before: what the allocator keeps at hand is no concern */
        uid = xstrdup(decision.pod->uid);
        decision_clear(&decision);
        before = heap_bytes();
        decision.pod = pod_new("default", "p", "u");
        cases[i].fill(&decision);
        history_put(history, &decision);
        taken = heap_bytes() - before;
        assert_true(history_find_by_uid(history, uid, &found));
        if (taken > 0 && (found.bytes < taken * 9 / 10 || found.bytes > taken * 11 / 10 + 1000))
            fail_msg("%s: %zu bytes are counted of %zu", cases[i].what, found.bytes, taken);
        assert_true(found.bytes > 12000); /* whatever the allocator */
    }
}

static void test_history_put__of_a_pod_with_a_problem_keeps_that_alone(void **state)
{
    AUTO(free_history) struct history *history = history_new(&test_key);
    AUTO(decision_clear) struct decision found = {0};
    struct decision decision = {.pod = pod_new("default", "p", "u")};

    (void)state;
    decision.pod->priority = 7;
    decision.pod->deleting = true;
    fill_use_devices(&decision);
    fill_selected_avoid_products(&decision);
    fill_containers(&decision);
    fill_record_devices(&decision);
    request_set_problem(&decision.pod->request, "nvidia.com/gpu: \"x\" is no number");
    history_put(history, &decision);
    assert_true(history_find(history, "default", "p", &found));
    assert_in_range(found.bytes, 500, 2000);
    assert_string_equal(found.pod->request.problem, "nvidia.com/gpu: \"x\" is no number");
    assert_string_equal(found.pod->uid, "u");
    assert_int_equal(found.pod->priority, 7);
    assert_true(found.pod->deleting);
    assert_int_equal(found.pod->request.use_devices.count, 0);
}

/* The old one of two namesakes is forgotten: the younger stays to be found by their name. */
static void test_history_put__forgetting_a_namesake_leaves_the_younger(void **state)
{
    AUTO(free_history) struct history *history = history_new(&test_key);
    AUTO(decision_clear) struct decision found = {0};

    (void)state;
    put(history, "a", "old", 0);
    put(history, "a", "young", 0);
    for (int i = 0; i < HISTORY_PODS_MAX - 1; i++) {
        AUTO_FREE char *name = xasprintf("p%d", i);

        put(history, name, name, 0);
    }
    assert_null(history_find_pod_by_uid(history, "old"));
    assert_true(history_find(history, "default", "a", &found));
    assert_string_equal(found.pod->uid, "young");
}

static void *ask_and_put(void *ctx)
{
    for (int i = 0; i < 500; i++) {
        AUTO(decision_clear) struct decision found = {0};
        AUTO_FREE char *uid = xasprintf("%d", i % 7);

        put(ctx, "a", uid, 1);
        history_find(ctx, "default", "a", &found);
        pod_unref(history_find_pod_by_uid(ctx, uid));
    }
    return NULL;
}

static void test_history__may_be_used_by_several_threads(void **state)
{
    AUTO(free_history) struct history *history = history_new(&test_key);
    AUTO(decision_clear) struct decision found = {0};
    pthread_t threads[4];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_and_put, history), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    assert_true(history_find(history, "default", "a", &found));
}

/* A decision about a pod of that name, made on a snapshot of that version. */
static void put_version(struct history *history, const char *name, uint64_t version,
                        unsigned considered, unsigned kept)
{
    struct decision decision = {.pod = pod_new("default", name, name),
                                .monotonic_ms = 1000 + version,
                                .version = version,
                                .considered = considered,
                                .kept = kept};

    history_put(history, &decision);
}

static void test_history_waiting__are_those_that_fitted_nowhere_on_an_older_snapshot(void **state)
{
    AUTO(free_history) struct history *history = history_new(&test_key);
    AUTO_FREE struct waiting_pod *waiting = NULL;
    size_t count;

    (void)state;
    put_version(history, "waits", 6, 3, 0);
    put_version(history, "fitted", 6, 3, 1);
    put_version(history, "refused-since", 6, 3, 0);
    put_version(history, "refused-since", 7, 3, 0);
    put_version(history, "about-no-node", 6, 0, 0); /* nobody asked anything of us */
    waiting = history_waiting(history, 7, &count);
    assert_int_equal(count, 1);
    assert_string_equal(waiting[0].pod->name, "waits");
    assert_int_equal(waiting[0].monotonic_ms, 1006);
    pod_unref(waiting[0].pod);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_history_find__gives_a_copy_of_the_last_decision),
        cmocka_unit_test(test_history_put__a_namesake_begins_anew),
        cmocka_unit_test(test_history_put__forgets_the_oldest),
        cmocka_unit_test(test_history_put__is_bounded_in_bytes_as_well),
        cmocka_unit_test(test_history_put__counts_node_names_and_texts),
        cmocka_unit_test(test_history_put__counts_all_that_it_keeps),
        cmocka_unit_test(test_history_put__of_a_pod_with_a_problem_keeps_that_alone),
        cmocka_unit_test(test_history_put__forgetting_a_namesake_leaves_the_younger),
        cmocka_unit_test(test_history__may_be_used_by_several_threads),
        cmocka_unit_test(test_history_waiting__are_those_that_fitted_nowhere_on_an_older_snapshot),
    };

    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
