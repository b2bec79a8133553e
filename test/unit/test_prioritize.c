/* SPDX-License-Identifier: Apache-2.0 */
#include "support/harness.h"

#define CARD_MIB 40960

/* Three nodes for a pod of two devices: linked, slow, and nobody knows; and one that is too small.
 */
static struct harness *wired(void)
{
    struct harness *harness = harness_new();

    api_node(harness, "linked", 2, CARD_MIB, .links = "0-1");
    api_node(harness, "slow", 2, CARD_MIB, .links = "");
    api_node(harness, "unknown", 2, CARD_MIB);
    api_node(harness, "small", 1, CARD_MIB);
    api_pod(harness, "p", "gpu 2");
    return harness;
}

static void test_prioritize__the_better_tier_scores_higher(void **state)
{
    AUTO(harness_free) struct harness *harness = wired();

    (void)state;
    ask_prioritize(harness, "p", "unknown slow linked small");
    assert_int_equal(score_of(harness, "linked"), 10);
    assert_true(score_of(harness, "slow") > score_of(harness, "unknown"));
    assert_true(score_of(harness, "unknown") > score_of(harness, "small"));
    assert_int_equal(score_of(harness, "small"), 0);
}

static void test_prioritize__tier_comes_before_packing(void **state)
{
    AUTO(harness_free) struct harness *harness = wired();

    (void)state;
    api_pod(harness, "t", "gpu 2, mem 30000");
    place(harness, "t", "slow");
    api_pod(harness, "f", "gpu 2, mem 1000");
    ask_prioritize(harness, "f", "slow linked");
    assert_int_equal(score_of(harness, "linked"), 10);
}

static void test_prioritize__a_fraction_joins_a_sharer_before_it_breaks_an_idle_device(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "shared", 2, CARD_MIB);
    api_node(harness, "fuller", 2, CARD_MIB);
    api_pod(harness, "sharer", "gpu 1, mem 1000");
    api_pod(harness, "whole", "gpu 1");
    place(harness, "sharer", "shared");
    place(harness, "whole", "fuller");
    api_pod(harness, "f", "gpu 1, mem 1000");
    ask_prioritize(harness, "f", "fuller shared");
    assert_int_equal(score_of(harness, "shared"), 10);
    api_pod(harness, "w", "gpu 1");
    ask_prioritize(harness, "w", "fuller shared");
    assert_int_equal(score_of(harness, "fuller"), 10);
    harness->extender.options.policy.packing = PACKING_SPREAD;
    ask_prioritize(harness, "f", "fuller shared");
    assert_int_equal(score_of(harness, "shared"), 10); /* the emptier node */
}

/* It is 20:26; by name "began" would be the first. */
static void test_prioritize__whole_devices_go_where_pods_have_run_long(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "began", 2, CARD_MIB);
    api_node(harness, "stays", 2, CARD_MIB);
    api_pod(harness, "young", "gpu 1", .started = "2026-05-28T20:00:00Z");
    api_pod(harness, "old", "gpu 1", .started = "2026-05-28T08:00:00Z");
    place(harness, "young", "began");
    place(harness, "old", "stays");
    api_pod(harness, "p", "gpu 1");
    ask_prioritize(harness, "p", "began stays");
    assert_int_equal(score_of(harness, "stays"), 10);
}

static void test_prioritize__does_not_depend_on_the_order_of_the_question(void **state)
{
    AUTO(harness_free) struct harness *harness = wired();
    int linked, slow, unknown;

    (void)state;
    ask_prioritize(harness, "p", "unknown slow linked");
    linked = score_of(harness, "linked");
    slow = score_of(harness, "slow");
    unknown = score_of(harness, "unknown");
    ask_prioritize(harness, "p", "linked unknown slow");
    assert_int_equal(score_of(harness, "linked"), linked);
    assert_int_equal(score_of(harness, "slow"), slow);
    assert_int_equal(score_of(harness, "unknown"), unknown);
}

static void test_prioritize__nodes_that_were_sent_are_ranked_by_what_they_say(void **state)
{
    AUTO(harness_free) struct harness *harness = wired();

    (void)state;
    cluster_remove_node(harness->cluster, "linked");
    ask_prioritize(harness, "p", "slow linked");
    assert_int_equal(score_of(harness, "linked"), 0);
    harness->sends_nodes = true;
    ask_prioritize(harness, "p", "slow linked");
    assert_int_equal(score_of(harness, "linked"), 10);
}

static void test_prioritize__a_pod_that_cannot_be_read_scores_0_everywhere(void **state)
{
    AUTO(harness_free) struct harness *harness = wired();

    (void)state;
    api_pod(harness, "bad", "gpu 1, mem -1");
    ask_prioritize(harness, "bad", "linked slow");
    assert_int_equal(score_of(harness, "linked"), 0);
    assert_int_equal(score_of(harness, "slow"), 0);
}

static void test_prioritize__what_has_no_place_for_a_text_is_an_error(void **state)
{
    static const char *const bodies[] = {"", "{}", "{\"Pod\":null,\"NodeNames\":[]}",
                                         "{\"Pod\":{\"metadata\":{\"name\":\"p\"}}}"};
    AUTO(harness_free) struct harness *harness = wired();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct error err = {0};

        assert_null(ask_body(harness, extender_prioritize, bodies[i], &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
}

static void test_prioritize__before_the_first_lists_the_answer_is_busy(void **state)
{
    AUTO(harness_free) struct harness *harness = wired();
    AUTO_FREE char *body = question_body(harness, "p", "linked slow");
    struct error err = {0};

    (void)state;
    harness_restart(harness);
    assert_null(ask_body(harness, extender_prioritize, body, &err));
    assert_int_equal(err.code, ERR_BUSY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prioritize__the_better_tier_scores_higher),
        cmocka_unit_test(test_prioritize__tier_comes_before_packing),
        cmocka_unit_test(
            test_prioritize__a_fraction_joins_a_sharer_before_it_breaks_an_idle_device),
        cmocka_unit_test(test_prioritize__whole_devices_go_where_pods_have_run_long),
        cmocka_unit_test(test_prioritize__does_not_depend_on_the_order_of_the_question),
        cmocka_unit_test(test_prioritize__nodes_that_were_sent_are_ranked_by_what_they_say),
        cmocka_unit_test(test_prioritize__a_pod_that_cannot_be_read_scores_0_everywhere),
        cmocka_unit_test(test_prioritize__what_has_no_place_for_a_text_is_an_error),
        cmocka_unit_test(test_prioritize__before_the_first_lists_the_answer_is_busy),
    };

    return cmocka_run_group_tests_name("prioritize", tests, NULL, NULL);
}
