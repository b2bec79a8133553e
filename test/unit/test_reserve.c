/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/small_cluster.h"
#include "support/test.h"

#include "topofit/cluster.h"
#include "topofit/decide.h"

#include <assert.h>
#include <pthread.h>

/* --- reserving ----------------------------------------------------------------------------------
 */

static void test_cluster_reserve__books_on_exactly_the_state_that_was_planned_on(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *a = small_pod("a", "1", 8192);
    AUTO(pod_unref_pointer) struct pod *b = small_pod("b", "2", 8192);
    AUTO(snapshot_unref_pointer) struct snapshot *old = cluster_snapshot(cluster);
    AUTO(allocation_clear) struct allocation allocation;
    struct error err = {0};
    uint64_t token = 0;

    (void)state;
    allocation_init(&allocation);
    assert_int_equal(small_reserve(cluster, a, "GPU-0", 8192, &token), 0);
    assert_int_equal(small_used_mib(cluster), 8192);
    assert_int_equal(
        cluster_reserve(cluster, b, &allocation, snapshot_find(old, "n1"), &token, &err),
        -ERR_CONFLICT);
    assert_int_equal(small_reserve(cluster, a, "GPU-0", 8192, &token), -ERR_BUSY);
    error_clear(&err);
    cluster_remove_node(cluster, "n1");
    assert_int_equal(
        cluster_reserve(cluster, b, &allocation, snapshot_find(old, "n1"), &token, &err),
        -ERR_NOT_FOUND);
}

static enum holding_state state_of(struct cluster *cluster, const char *uid)
{
    AUTO(holding_view_clear) struct holding_view view = {0};

    assert_true(cluster_find_holding(cluster, uid, &view));
    return view.state;
}

static size_t holding_count(struct cluster *cluster)
{
    size_t counts[HOLDING_BOUND + 1];

    cluster_count_holdings(cluster, counts);
    return counts[HOLDING_RESERVED] + counts[HOLDING_UNKNOWN] + counts[HOLDING_BOUND];
}

static void test_cluster__a_reservation_ends_in_one_of_three_ways(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *pod = small_pod("a", "1", 8192);
    uint64_t token = 0;

    (void)state;
    small_reserve(cluster, pod, "GPU-0", 8192, &token);
    assert_int_equal(state_of(cluster, "1"), HOLDING_RESERVED);
    cluster_mark_unknown(cluster, "1", token);
    assert_int_equal(state_of(cluster, "1"), HOLDING_UNKNOWN);
    assert_int_equal(small_used_mib(cluster), 8192);
    cluster_release(cluster, "1", token);
    assert_int_equal(small_used_mib(cluster), 0);
    small_reserve(cluster, pod, "GPU-0", 8192, &token);
    cluster_release(cluster, "1", token);
    assert_int_equal(small_used_mib(cluster), 0);
    small_reserve(cluster, pod, "GPU-0", 8192, &token);
    cluster_confirm(cluster, "1", token);
    assert_int_equal(state_of(cluster, "1"), HOLDING_BOUND);
    cluster_release(cluster, "1", token);
    cluster_mark_unknown(cluster, "1", token);
    assert_int_equal(state_of(cluster, "1"), HOLDING_BOUND);
}

/* What is said of a Binding that is over must not touch what was booked for the pod since. */
static void test_cluster__a_token_says_nothing_of_a_later_reservation(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *pod = small_pod("a", "1", 8192);
    uint64_t old = 0, present = 0;

    (void)state;
    small_reserve(cluster, pod, "GPU-0", 8192, &old);
    cluster_release(cluster, "1", old);
    small_reserve(cluster, pod, "GPU-0", 4096, &present);
    assert_int_not_equal(old, present);
    cluster_confirm(cluster, "1", old);
    cluster_mark_unknown(cluster, "1", old);
    cluster_abandon(cluster, "1", old);
    cluster_release(cluster, "1", old);
    cluster_release(cluster, "1", 0);
    assert_int_equal(state_of(cluster, "1"), HOLDING_RESERVED);
    cluster_release(cluster, "1", present);
    assert_int_equal(small_used_mib(cluster), 0);
}

static void test_cluster_resume__only_what_is_unknown_is_sent_again_and_once(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *pod = small_pod("a", "1", 8192);
    uint64_t first = 0, second;

    (void)state;
    assert_int_equal(cluster_resume(cluster, "1"), 0);
    small_reserve(cluster, pod, "GPU-0", 8192, &first);
    assert_int_equal(cluster_resume(cluster, "1"), 0);
    cluster_mark_unknown(cluster, "1", first);
    second = cluster_resume(cluster, "1");
    assert_int_not_equal(second, 0);
    assert_int_not_equal(second, first);
    assert_int_equal(state_of(cluster, "1"), HOLDING_RESERVED);
    assert_int_equal(cluster_resume(cluster, "1"), 0);
    cluster_confirm(cluster, "1", second);
    assert_int_equal(cluster_resume(cluster, "1"), 0);
}

/* As after a pause in which another topofit led. */
static void test_cluster_resume__sends_nothing_again_that_others_hold_by_now(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *pod = small_pod("a", "1", 8192);
    uint64_t token = 0;

    (void)state;
    small_reserve(cluster, pod, "GPU-0", 8192, &token);
    cluster_mark_unknown(cluster, "1", token);
    cluster_put_pod(cluster, small_bound_pod("b", "2", "n1", "GPU-0", 80000));
    assert_true(small_use(cluster, 0).conflicted);
    assert_int_equal(cluster_resume(cluster, "1"), 0);
    assert_int_equal(state_of(cluster, "1"), HOLDING_UNKNOWN);
    cluster_remove_pod(cluster, "default", "b", "2");
    assert_int_not_equal(cluster_resume(cluster, "1"), 0);
}

enum told { CONFIRMED, RELEASED, UNCLEAR, ABANDONED };

static void tell(struct cluster *cluster, enum told what, uint64_t token)
{
    static void (*const tells[])(struct cluster *, const char *, uint64_t) = {
        [CONFIRMED] = cluster_confirm,
        [RELEASED] = cluster_release,
        [UNCLEAR] = cluster_mark_unknown,
        [ABANDONED] = cluster_abandon,
    };

    tells[what](cluster, "1", token);
}

/* Given back only when each Binding in doubt has failed; bound as soon as one is. */
static void test_cluster_resume__two_bindings_answer_for_one_holding(void **state)
{
    enum { FIRST, SECOND, GONE = -1 };
    static const struct {
        struct {
            int whose;
            enum told what;
        } told[3];
        int count, end;
    } cases[] = {
        {{{SECOND, RELEASED}}, 1, HOLDING_UNKNOWN},
        {{{SECOND, RELEASED}, {FIRST, RELEASED}}, 2, GONE},
        {{{SECOND, RELEASED}, {FIRST, CONFIRMED}}, 2, HOLDING_BOUND},
        {{{FIRST, RELEASED}}, 1, HOLDING_RESERVED},
        {{{FIRST, RELEASED}, {SECOND, RELEASED}}, 2, GONE},
        {{{FIRST, RELEASED}, {SECOND, UNCLEAR}}, 2, HOLDING_UNKNOWN},
        {{{FIRST, CONFIRMED}}, 1, HOLDING_BOUND},
        {{{FIRST, CONFIRMED}, {SECOND, RELEASED}}, 2, HOLDING_BOUND},
        {{{FIRST, ABANDONED}, {SECOND, RELEASED}}, 2, GONE},
        {{{FIRST, UNCLEAR}}, 1, HOLDING_RESERVED},
        {{{FIRST, ABANDONED}, {SECOND, UNCLEAR}, {SECOND, RELEASED}}, 3, GONE},
        {{{SECOND, UNCLEAR}, {SECOND, RELEASED}, {FIRST, RELEASED}}, 3, GONE},
        {{{SECOND, UNCLEAR}, {SECOND, ABANDONED}, {FIRST, RELEASED}}, 3, HOLDING_UNKNOWN},
        {{{SECOND, RELEASED}, {SECOND, CONFIRMED}}, 2, HOLDING_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
        AUTO(pod_unref_pointer) struct pod *pod = small_pod("a", "1", 8192);
        uint64_t tokens[2];

        small_reserve(cluster, pod, "GPU-0", 8192, &tokens[FIRST]);
        cluster_mark_unknown(cluster, "1", tokens[FIRST]);
        tokens[SECOND] = cluster_resume(cluster, "1");
        for (int k = 0; k < cases[i].count; k++)
            tell(cluster, cases[i].told[k].what, tokens[cases[i].told[k].whose]);
        assert_int_equal(holding_count(cluster), cases[i].end == GONE ? 0 : 1);
        assert_int_equal(small_used_mib(cluster), cases[i].end == GONE ? 0 : 8192);
        if (cases[i].end != GONE)
            assert_int_equal(state_of(cluster, "1"), cases[i].end);
    }
}

static void test_cluster_put_pod__a_late_event_does_not_undo_a_binding(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *pod = small_pod("a", "1", 8192);
    uint64_t token = 0;

    (void)state;
    small_reserve(cluster, pod, "GPU-0", 8192, &token);
    cluster_confirm(cluster, "1", token);
    cluster_put_pod(cluster, pod_ref(pod)); /* from before the Binding */
    assert_int_equal(small_used_mib(cluster), 8192);
    cluster_put_pod(cluster, small_bound_pod("a", "1", "n1", "GPU-0", 8192));
    assert_int_equal(small_used_mib(cluster), 8192);
}

static void test_cluster_put_pod__what_the_pod_says_wins_over_a_reservation(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *pod = small_pod("a", "1", 8192);
    uint64_t token = 0;

    (void)state;
    small_reserve(cluster, pod, "GPU-0", 8192, &token);
    cluster_put_pod(cluster,
                    small_bound_pod("a", "1", "n2", "GPU-0", 100)); /* bound by somebody else */
    assert_int_equal(small_used_mib(cluster), 0);
    assert_int_equal(state_of(cluster, "1"), HOLDING_BOUND);
}

/* --- lists --------------------------------------------------------------------------------------
 */

static void
test_cluster_replace_pods__keeps_what_was_booked_since_the_list_was_asked_for(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *pod = small_pod("a", "1", 8192);
    uint64_t token = 0;

    (void)state;
    cluster_announce_pod_list(cluster);
    small_reserve(cluster, pod, "GPU-0", 8192, &token);
    cluster_confirm(cluster, "1", token);
    cluster_replace_pods(cluster, NULL, 0);
    assert_int_equal(small_used_mib(cluster), 8192);
    cluster_announce_pod_list(cluster);
    cluster_replace_pods(cluster, NULL, 0);
    assert_int_equal(small_used_mib(cluster), 0);
}

/* The Binding's answer may come after the list that shows that the pod is gone. */
static void
test_cluster_replace_pods__a_pod_gone_before_its_binding_is_answered_leaks_nothing(void **state)
{
    (void)state;
    for (int answer = 0; answer < 2; answer++) {
        AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
        AUTO(pod_unref_pointer) struct pod *pod = small_pod("a", "1", 8192);
        uint64_t token = 0;

        small_reserve(cluster, pod, "GPU-0", 8192, &token);
        cluster_announce_pod_list(cluster);
        cluster_replace_pods(cluster, NULL, 0);
        if (answer == 0)
            cluster_confirm(cluster, "1", token);
        else
            cluster_mark_unknown(cluster, "1", token);
        assert_int_equal(small_used_mib(cluster), 0);
    }
}

static void test_cluster_remove_pod__ends_the_booking_of_a_pod_that_was_never_shown(void **state)
{
    AUTO(small_cluster_free) struct cluster *cluster = small_cluster(1);
    AUTO(pod_unref_pointer) struct pod *pod = small_pod("a", "1", 8192);
    uint64_t token = 0;

    (void)state;
    small_reserve(cluster, pod, "GPU-0", 8192, &token);
    cluster_remove_pod(cluster, "default", "a", "1");
    assert_int_equal(small_used_mib(cluster), 0);
}

/* --- threads ------------------------------------------------------------------------------------
 */

#define THREADS 4
#define PODS_EACH 4
#define DEVICES 5

struct racer {
    struct cluster *cluster;
    unsigned number, won;
};

/* As extender_bind: plan on the present state, book it, plan again when somebody was faster. */
static bool bind_one(struct cluster *cluster, struct pod *pod, uint64_t *token)
{
    struct decide_policy policy = decide_policy_default();

    for (;;) {
        AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(cluster);
        AUTO(allocation_clear) struct allocation allocation = {0};
        const struct node_state *state = snapshot_find(snapshot, "n1");
        struct error err = {0};
        struct verdict verdict;
        struct plan plan;

        decide_node(state->node, &state->use, &pod->request, &policy, NULL, &plan, &verdict);
        if (verdict.reason != REASON_OK)
            return false;
        plan_allocation(&plan, state->node, &pod->request, &allocation);
        if (cluster_reserve(cluster, pod, &allocation, state, token, &err) == 0)
            return true;
        assert(err.code == ERR_CONFLICT);
    }
}

static void *race(void *ctx)
{
    struct racer *racer = ctx;

    for (unsigned i = 0; i < PODS_EACH; i++) {
        AUTO_FREE char *name = xasprintf("p-%u-%u", racer->number, i);
        AUTO(pod_unref_pointer) struct pod *pod = small_pod(name, name, 0);
        uint64_t token = 0;

        if (!bind_one(racer->cluster, pod, &token))
            continue;
        racer->won++;
        cluster_confirm(racer->cluster, name, token);
    }
    return NULL;
}

static void test_cluster_reserve__f26_racing_binds_get_different_devices(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        AUTO(small_cluster_free) struct cluster *cluster = small_cluster(DEVICES);
        struct racer racers[THREADS];
        pthread_t threads[THREADS];
        unsigned won = 0;

        for (unsigned i = 0; i < THREADS; i++) {
            racers[i] = (struct racer){cluster, i, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
        }
        cluster_put_node(cluster, node_plain("n2", 1, 1, 1));
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            won += racers[i].won;
        }
        assert_int_equal(won, DEVICES);
        for (unsigned d = 0; d < DEVICES; d++)
            assert_int_equal(small_use(cluster, d).slots, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cluster_reserve__books_on_exactly_the_state_that_was_planned_on),
        cmocka_unit_test(test_cluster__a_reservation_ends_in_one_of_three_ways),
        cmocka_unit_test(test_cluster__a_token_says_nothing_of_a_later_reservation),
        cmocka_unit_test(test_cluster_resume__only_what_is_unknown_is_sent_again_and_once),
        cmocka_unit_test(test_cluster_resume__sends_nothing_again_that_others_hold_by_now),
        cmocka_unit_test(test_cluster_resume__two_bindings_answer_for_one_holding),
        cmocka_unit_test(test_cluster_put_pod__a_late_event_does_not_undo_a_binding),
        cmocka_unit_test(test_cluster_put_pod__what_the_pod_says_wins_over_a_reservation),
        cmocka_unit_test(
            test_cluster_replace_pods__keeps_what_was_booked_since_the_list_was_asked_for),
        cmocka_unit_test(
            test_cluster_replace_pods__a_pod_gone_before_its_binding_is_answered_leaks_nothing),
        cmocka_unit_test(test_cluster_remove_pod__ends_the_booking_of_a_pod_that_was_never_shown),
        cmocka_unit_test(test_cluster_reserve__f26_racing_binds_get_different_devices),
    };

    return cmocka_run_group_tests_name("reserve", tests, NULL, NULL);
}
