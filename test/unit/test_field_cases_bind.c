/* SPDX-License-Identifier: Apache-2.0 */
/* Field cases about binding: F25 lost answers, F26 two filters at once. */
#include "support/harness.h"

#include <stdlib.h>

/* --- F25: the binding went through but the answer was lost ----------------------------------- */

#define LOST "the API server's answer was lost (504)"

/* a is asked to be bound to n1; its Binding is on its way. */
static struct harness *f25_new(void)
{
    struct harness *harness = harness_new();

    harness->port = PORT_HOLDS;
    api_node(harness, "n1", 1, 16384);
    api_node(harness, "n2", 1, 16384);
    api_pod(harness, "a", "gpu 1, mem 16384");
    api_pod(harness, "b", "gpu 1, mem 16384");
    expect_kept(harness, "a", "n1 n2", "n1 n2");
    assert_null(ask_bind(harness, "a", "n1"));
    return harness;
}

/* Executed, and the answer was lost. */
static struct harness *f25_lost(void)
{
    struct harness *harness = f25_new();

    api_executes(harness);
    end_job(harness, BIND_UNCLEAR, LOST);
    return harness;
}

static void expect_booked_once(struct harness *harness)
{
    assert_int_equal(use_of(harness, "n1", 0).memory_mib, 16384);
    assert_int_equal(use_of(harness, "n1", 0).slots, 1);
    assert_int_equal(use_of(harness, "n2", 0).memory_mib, 0);
    expect_refused(harness, "b", "n1");
    cluster_check(harness->cluster);
}

static void test_f25__an_unclear_answer_is_an_Error_and_the_booking_is_kept(void **state)
{
    AUTO(harness_free) struct harness *harness = f25_lost();

    (void)state;
    assert_contains(harness->bound, "lost");
    expect_booked_once(harness);
}

static void test_f25__the_watch_confirms_the_binding_and_nothing_is_booked_twice(void **state)
{
    AUTO(harness_free) struct harness *harness = f25_lost();
    size_t counts[HOLDING_BOUND + 1];

    (void)state;
    cluster_count_holdings(harness->cluster, counts);
    assert_int_equal(counts[HOLDING_UNKNOWN], 1);
    watch_pod(harness, "a");
    cluster_count_holdings(harness->cluster, counts);
    assert_int_equal(counts[HOLDING_UNKNOWN], 0);
    assert_int_equal(counts[HOLDING_BOUND], 1);
    expect_booked_once(harness);
}

static void test_f25__the_booking_of_an_unclear_answer_goes_as_it_is_found_out(void **state)
{
    static const struct {
        enum bind_outcome outcome;
        bool kept;
    } cases[] = {{BIND_BOUND, true}, {BIND_FAILED, false}, {BIND_UNCLEAR, true}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = f25_new();

        end_job(harness, BIND_UNCLEAR, LOST);
        expect_booked_once(harness);
        settle_job(harness, cases[i].outcome);
        assert_int_equal(holds(harness, "a"), cases[i].kept);
        if (cases[i].kept)
            expect_booked_once(harness);
        else
            expect_kept(harness, "b", "n1", "n1");
    }
}

static void test_f25__what_the_watch_has_confirmed_stays_whatever_is_found_out_later(void **state)
{
    AUTO(harness_free) struct harness *harness = f25_lost();

    (void)state;
    watch_pod(harness, "a");
    settle_job(harness, BIND_FAILED);
    expect_booked_once(harness);
}

static void
test_f25__a_binding_that_was_not_executed_is_free_again_once_the_pod_is_gone(void **state)
{
    AUTO(harness_free) struct harness *harness = f25_new();

    (void)state;
    end_job(harness, BIND_UNCLEAR, LOST);
    expect_refused(harness, "b", "n1");
    api_delete_pod(harness, "a");
    expect_kept(harness, "b", "n1", "n1");
}

static void test_f25__only_the_node_of_an_unsettled_binding_is_offered_to_its_pod(void **state)
{
    AUTO(harness_free) struct harness *harness = f25_new();

    (void)state;
    api_node(harness, "n2", 1, 16384);
    end_job(harness, BIND_UNCLEAR, LOST);
    expect_kept(harness, "a", "n1 n2", "n1");
    assert_contains(refusal_of(harness, "n2"), "not settled");
    expect_kept(harness, "b", "n1 n2", "n2");
    settle_job(harness, BIND_FAILED);
    expect_kept(harness, "a", "n1 n2", "n1 n2");
}

static void test_f25__a_certain_failure_frees_the_device_at_once(void **state)
{
    AUTO(harness_free) struct harness *harness = f25_new();

    (void)state;
    expect_refused(harness, "b", "n1");
    end_job(harness, BIND_FAILED, "the pod is gone");
    assert_contains(harness->bound, "the pod is gone");
    assert_false(holds(harness, "a"));
    expect_kept(harness, "b", "n1", "n1");
}

static void test_f25__a_second_bind_to_the_same_node_succeeds_and_books_nothing(void **state)
{
    AUTO(harness_free) struct harness *harness = f25_lost();

    (void)state;
    watch_pod(harness, "a");
    assert_string_equal(ask_bind(harness, "a", "n1"), "");
    assert_int_equal(harness->submitted, 1);
    expect_booked_once(harness);
}

static void test_f25__a_second_bind_before_the_watch_asks_again_for_the_same_devices(void **state)
{
    AUTO(harness_free) struct harness *harness = f25_lost();

    (void)state;
    assert_null(ask_bind(harness, "a", "n1"));
    assert_int_equal(harness->submitted, 2);
    assert_contains(bind_job_annotation(harness->job, "topofit.io/allocation"), "GPU-n1-0");
    expect_booked_once(harness);
    end_job(harness, BIND_BOUND, "");
    assert_string_equal(harness->bound, "");
    expect_booked_once(harness);
}

static void test_f25__the_pod_itself_is_let_back_to_the_device_that_waits_for_it(void **state)
{
    AUTO(harness_free) struct harness *harness = f25_lost();

    (void)state;
    for (unsigned form = 0; form < 2; form++) {
        harness->sends_nodes = form == 1;
        ask_filter(harness, "a", "n1 n2");
        assert_null(refusal_of(harness, "n1"));
        expect_refused(harness, "b", "n1");
    }
    assert_null(ask_bind(harness, "a", "n1"));
    end_job(harness, BIND_BOUND, "");
    assert_string_equal(harness->bound, "");
    expect_booked_once(harness);
}

static void test_f25__a_second_bind_that_fails_for_certain_frees_the_device(void **state)
{
    AUTO(harness_free) struct harness *harness = f25_new();

    (void)state;
    end_job(harness, BIND_UNCLEAR, LOST);
    assert_null(ask_bind(harness, "a", "n1"));
    end_job(harness, BIND_FAILED, "not found");
    assert_false(holds(harness, "a"));
    expect_kept(harness, "b", "n1", "n1");
}

/* Whoever looks after the first Binding still does when the second one cannot be sent. */
static void test_f25__a_second_bind_that_cannot_be_sent_leaves_the_first_in_doubt(void **state)
{
    static const struct {
        enum bind_outcome outcome;
        bool kept;
    } cases[] = {{BIND_BOUND, true}, {BIND_FAILED, false}, {BIND_UNCLEAR, true}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = f25_new();
        size_t counts[HOLDING_BOUND + 1];

        end_job(harness, BIND_UNCLEAR, LOST);
        harness->port = PORT_IS_FULL;
        assert_contains(ask_bind(harness, "a", "n1"), "too many Bindings");
        cluster_count_holdings(harness->cluster, counts);
        assert_int_equal(counts[HOLDING_UNKNOWN], 1);
        expect_booked_once(harness);
        settle_job(harness, cases[i].outcome);
        assert_int_equal(holds(harness, "a"), cases[i].kept);
    }
}

/* The first Binding is found out about while the second one is handed over, in vain. */
static void test_f25__what_is_found_out_during_a_second_bind_counts(void **state)
{
    static const struct {
        enum bind_outcome outcome;
        size_t bound;
    } cases[] = {{BIND_BOUND, 1}, {BIND_FAILED, 0}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(harness_free) struct harness *harness = f25_new();
        size_t counts[HOLDING_BOUND + 1];

        end_job(harness, BIND_UNCLEAR, LOST);
        harness->port = PORT_SETTLES_AND_IS_FULL;
        harness->settles_as = cases[i].outcome;
        assert_contains(ask_bind(harness, "a", "n1"), "too many Bindings");
        cluster_count_holdings(harness->cluster, counts);
        assert_int_equal(counts[HOLDING_RESERVED] + counts[HOLDING_UNKNOWN], 0);
        assert_int_equal(counts[HOLDING_BOUND], cases[i].bound);
    }
}

/* The job was taken and is given up before a Binding is sent: it says nothing of the first one. */
static void test_f25__a_second_bind_that_fails_unsent_leaves_the_first_in_doubt(void **state)
{
    AUTO(harness_free) struct harness *harness = f25_new();

    (void)state;
    end_job(harness, BIND_UNCLEAR, LOST);
    harness->port = PORT_FAILS;
    assert_contains(ask_bind(harness, "a", "n1"), "not sent");
    expect_booked_once(harness);
    settle_job(harness, BIND_FAILED);
    assert_false(holds(harness, "a"));
}

static void test_f25__a_bind_to_another_node_is_an_Error_and_the_first_booking_is_kept(void **state)
{
    (void)state;
    for (unsigned seen = 0; seen < 2; seen++) {
        AUTO(harness_free) struct harness *harness = f25_lost();

        if (seen)
            watch_pod(harness, "a");
        assert_non_null(ask_bind(harness, "a", "n2"));
        assert_string_not_equal(harness->bound, "");
        assert_int_equal(harness->submitted, 1);
        expect_booked_once(harness);
    }
}

static void test_f25__a_bind_with_the_uid_of_another_pod_books_nothing(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO_FREE char *error = NULL;

    (void)state;
    api_node(harness, "n1", 1, 16384);
    api_pod(harness, "a", "gpu 1, mem 16384");
    error = ask_bind_body(harness, "{\"PodName\":\"a\",\"PodNamespace\":\"default\","
                                   "\"PodUID\":\"uid-of-yesterday\",\"Node\":\"n1\"}");
    assert_string_not_equal(error, "");
    assert_int_equal(harness->submitted, 0);
    assert_int_equal(used_mib(harness, "n1"), 0);
}

static void test_f25__while_a_binding_is_in_flight_a_second_one_is_refused(void **state)
{
    AUTO(harness_free) struct harness *harness = f25_new();
    AUTO_FREE char *body = bind_body(harness, "a", "n1");
    AUTO_FREE char *second = ask_bind_body(harness, body);

    (void)state;
    assert_contains(second, "in flight");
    assert_int_equal(harness->submitted, 1);
    api_executes(harness);
    end_job(harness, BIND_BOUND, "");
    assert_string_equal(harness->bound, "");
    expect_booked_once(harness);
}

/* --- F26: two filters at once choose the same free device --------------------------------------
 */

#define THREADS 8
#define ROUNDS 100

/* One of several kube-schedulers. */
struct scheduler {
    struct harness *harness;
    pthread_barrier_t *barrier;
    char *filter_body, *bind_body;
    bool kept;
    char *error;
};

static void *schedule(void *ctx)
{
    struct scheduler *scheduler = ctx;
    struct error err = {0};
    AUTO_FREE char *answer =
        ask_body(scheduler->harness, extender_filter, scheduler->filter_body, &err);

    scheduler->kept = answer != NULL && strstr(answer, "\"NodeNames\":[\"") != NULL;
    pthread_barrier_wait(scheduler->barrier);
    scheduler->error = ask_bind_body(scheduler->harness, scheduler->bind_body);
    return NULL;
}

static void pod_name(char name[8], unsigned i)
{
    snprintf(name, 8, "p%u", i);
}

/* As after a broken watch: the API server's pods as they are at this moment. */
static void relist(struct harness *harness)
{
    pthread_mutex_lock(&harness->api_lock);
    relist_pods(harness);
    pthread_mutex_unlock(&harness->api_lock);
}

static void race(struct harness *harness, struct scheduler schedulers[THREADS], unsigned relists)
{
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    char name[8];

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        pod_name(name, i);
        schedulers[i] = (struct scheduler){.harness = harness,
                                           .barrier = &barrier,
                                           .filter_body = question_body(harness, name, "n1"),
                                           .bind_body = bind_body(harness, name, "n1")};
        assert_int_equal(pthread_create(&threads[i], NULL, schedule, &schedulers[i]), 0);
    }
    for (; relists > 0; relists--)
        relist(harness);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
}

/* How many were bound, all on devices of their own; the others have an Error and hold nothing. */
static unsigned judge(struct harness *harness, struct scheduler schedulers[THREADS])
{
    device_mask taken = 0;
    unsigned bound = 0;
    char name[8];

    for (unsigned i = 0; i < THREADS; i++) {
        bool won = schedulers[i].error[0] == '\0';

        pod_name(name, i);
        assert_true(schedulers[i].kept); /* nobody was bound yet when they asked */
        assert_int_equal(holds(harness, name), won);
        bound += won;
        if (won) {
            assert_int_equal(taken & devices_of(harness, name), 0);
            taken |= devices_of(harness, name);
        }
        free(schedulers[i].filter_body);
        free(schedulers[i].bind_body);
        free(schedulers[i].error);
    }
    return bound;
}

/* wants  what each pod asks for; the node has devices for `bound` of them */
static void expect_bound(unsigned devices, const char *wants, unsigned bound, unsigned relists)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    struct scheduler schedulers[THREADS];
    char name[8];

    api_node(harness, "n1", devices, 16384);
    for (unsigned i = 0; i < THREADS; i++) {
        pod_name(name, i);
        api_pod(harness, name, wants);
    }
    race(harness, schedulers, relists);
    assert_int_equal(judge(harness, schedulers), bound);
    assert_int_equal(used_mib(harness, "n1"), 16384 * devices);
}

static void expect_one_pod_per_device(unsigned devices, unsigned relists)
{
    expect_bound(devices, "gpu 1", devices, relists);
}

static void test_f26__of_eight_binds_at_once_as_many_succeed_as_there_are_devices(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        expect_one_pod_per_device(1, 0);
        expect_one_pod_per_device(4, 0);
    }
}

/* There is room for all: who was overtaken between deciding and booking must decide again. */
static void test_f26__nobody_is_refused_for_having_been_overtaken(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++)
        expect_bound(64, "gpu 8", THREADS, 0);
}

static void test_f26__lists_that_arrive_meanwhile_change_nothing(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++)
        expect_one_pod_per_device(4, 20);
}

static void test_f26__losers_are_placed_when_a_device_frees(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 1, 16384);
    api_pod(harness, "x", "gpu 1");
    api_pod(harness, "y", "gpu 1");
    expect_kept(harness, "x", "n1", "n1");
    expect_kept(harness, "y", "n1", "n1");
    assert_string_equal(ask_bind(harness, "x", "n1"), "");
    assert_string_not_equal(ask_bind(harness, "y", "n1"), "");
    expect_refused(harness, "y", "n1");
    api_delete_pod(harness, "x");
    place(harness, "y", "n1");
}

static void test_f26__a_filter_without_a_bind_blocks_nobody(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 1, 16384);
    api_pod(harness, "x", "gpu 1");
    api_pod(harness, "y", "gpu 1");
    expect_kept(harness, "x", "n1", "n1");
    assert_int_equal(used_mib(harness, "n1"), 0);
    place(harness, "y", "n1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f25__the_booking_of_an_unclear_answer_goes_as_it_is_found_out),
        cmocka_unit_test(test_f25__what_the_watch_has_confirmed_stays_whatever_is_found_out_later),
        cmocka_unit_test(test_f25__an_unclear_answer_is_an_Error_and_the_booking_is_kept),
        cmocka_unit_test(test_f25__the_watch_confirms_the_binding_and_nothing_is_booked_twice),
        cmocka_unit_test(
            test_f25__a_binding_that_was_not_executed_is_free_again_once_the_pod_is_gone),
        cmocka_unit_test(test_f25__only_the_node_of_an_unsettled_binding_is_offered_to_its_pod),
        cmocka_unit_test(test_f25__a_certain_failure_frees_the_device_at_once),
        cmocka_unit_test(test_f25__a_second_bind_to_the_same_node_succeeds_and_books_nothing),
        cmocka_unit_test(test_f25__a_second_bind_before_the_watch_asks_again_for_the_same_devices),
        cmocka_unit_test(test_f25__the_pod_itself_is_let_back_to_the_device_that_waits_for_it),
        cmocka_unit_test(test_f25__a_second_bind_that_fails_for_certain_frees_the_device),
        cmocka_unit_test(test_f25__a_second_bind_that_cannot_be_sent_leaves_the_first_in_doubt),
        cmocka_unit_test(test_f25__what_is_found_out_during_a_second_bind_counts),
        cmocka_unit_test(test_f25__a_second_bind_that_fails_unsent_leaves_the_first_in_doubt),
        cmocka_unit_test(
            test_f25__a_bind_to_another_node_is_an_Error_and_the_first_booking_is_kept),
        cmocka_unit_test(test_f25__a_bind_with_the_uid_of_another_pod_books_nothing),
        cmocka_unit_test(test_f25__while_a_binding_is_in_flight_a_second_one_is_refused),
        cmocka_unit_test(test_f26__of_eight_binds_at_once_as_many_succeed_as_there_are_devices),
        cmocka_unit_test(test_f26__nobody_is_refused_for_having_been_overtaken),
        cmocka_unit_test(test_f26__lists_that_arrive_meanwhile_change_nothing),
        cmocka_unit_test(test_f26__losers_are_placed_when_a_device_frees),
        cmocka_unit_test(test_f26__a_filter_without_a_bind_blocks_nobody),
    };

    return cmocka_run_group_tests_name("field_cases_bind", tests, NULL, NULL);
}
