/* SPDX-License-Identifier: Apache-2.0 */
/* Field case F46: scores outside 0..10 or nodes missing from the list. */
#include "support/harness.h"

#define NODES 50
#define CARDS 8
#define BUSY_KINDS 9

/* The policies and modes that are asked for. */
static const struct {
    enum packing_policy packing;
    enum topology_mode topology;
} settings[] = {
    {PACKING_PACK, TOPOLOGY_SOFT},
    {PACKING_PACK, TOPOLOGY_HARD},
    {PACKING_PACK, TOPOLOGY_OFF},
    {PACKING_SPREAD, TOPOLOGY_SOFT},
    {PACKING_SPREAD, TOPOLOGY_HARD},
    {PACKING_SPREAD, TOPOLOGY_OFF},
    {PACKING_TOPOLOGY_FIRST, TOPOLOGY_SOFT},
    {PACKING_TOPOLOGY_FIRST, TOPOLOGY_HARD},
    {PACKING_TOPOLOGY_FIRST, TOPOLOGY_OFF},
};

static void apply(struct harness *harness, size_t setting)
{
    struct decide_policy *policy = &harness->extender.options.policy;

    policy->packing = settings[setting].packing;
    policy->topology.mode = settings[setting].topology;
}

static unsigned busy_devices(unsigned node)
{
    return node % BUSY_KINDS;
}

static struct harness *f46_new(struct buf *names)
{
    struct harness *harness = harness_new();

    *names = buf_with_max(1 << 16);
    for (unsigned i = 0; i < NODES; i++) {
        AUTO_FREE char *node = xasprintf("n%02u", i);
        AUTO_FREE char *pod = xasprintf("on-%s", node);
        AUTO_FREE char *wants = xasprintf("gpu %u", busy_devices(i));

        buf_addf(names, "%s%s", i > 0 ? " " : "", node);
        api_node(harness, node, CARDS, 40960, .links = "0-1 2-3 4-5 6-7");
        if (busy_devices(i) == 0)
            continue;
        api_pod(harness, pod, wants);
        place(harness, pod, node);
    }
    api_pod(harness, "a", "gpu 1, mem 1000");
    api_pod(harness, "cpu", "none");
    return harness;
}

/* Written as whole numbers: no fraction, no exponent. */
static void expect_plain_integers(const char *body)
{
    const char *at = body;
    unsigned scores = 0;

    while ((at = strstr(at, "\"Score\":")) != NULL) {
        at += strlen("\"Score\":");
        at += strspn(at, "0123456789");
        assert_int_equal(*at, '}');
        scores++;
    }
    assert_int_equal(scores, NODES);
}

static int score_at(const struct harness *harness, unsigned node)
{
    char name[8];

    snprintf(name, sizeof name, "n%02u", node);
    return score_of(harness, name);
}

static void test_f46__one_whole_score_from_0_to_10_for_each_node(void **state)
{
    AUTO(buf_clear) struct buf names;
    AUTO(harness_free) struct harness *harness = f46_new(&names);

    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(settings); s++) {
        unsigned winners = 0;

        apply(harness, s);
        ask_prioritize(harness, "a", buf_text(&names)); /* checks hosts, order and range */
        expect_plain_integers(harness->answer);
        for (unsigned i = 0; i < NODES; i++)
            winners += score_at(harness, i) == 10;
        assert_int_equal(winners, 1);
    }
}

/* What the scores of the last answer are to be under a setting, whoever wins. */
static void expect_monotone(const struct harness *harness, size_t setting)
{
    bool spreads = settings[setting].packing == PACKING_SPREAD;
    unsigned seen = 0;

    for (unsigned i = 0; i < NODES; i++) {
        seen |= 1u << score_at(harness, i);
        for (unsigned k = 0; k < NODES; k++) {
            bool wants_i =
                spreads ? busy_devices(i) < busy_devices(k) : busy_devices(i) > busy_devices(k);

            if (busy_devices(i) < CARDS && busy_devices(k) < CARDS && wants_i)
                assert_true(score_at(harness, i) >= score_at(harness, k));
        }
    }
    assert_true(mask_count(seen) >= 3);
}

static void test_f46__scores_follow_the_packing_policy_and_are_not_all_alike(void **state)
{
    AUTO(buf_clear) struct buf names;
    AUTO(harness_free) struct harness *harness = f46_new(&names);

    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(settings); s++) {
        apply(harness, s);
        ask_prioritize(harness, "a", buf_text(&names));
        expect_monotone(harness, s);
    }
}

static void test_f46__a_pods_own_policy_is_as_good_as_a_configured_one(void **state)
{
    AUTO(buf_clear) struct buf names;
    AUTO(harness_free) struct harness *harness = f46_new(&names);

    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(settings); s++) {
        AUTO_FREE char *configured = NULL;

        apply(harness, s);
        ask_prioritize(harness, "a", buf_text(&names));
        configured = xstrdup(harness->answer);
        harness->extender.options.policy.packing =
            settings[s].packing == PACKING_SPREAD ? PACKING_PACK : PACKING_SPREAD;
        api_pod(
            harness, "own", "gpu 1, mem 1000",
            .annotations = {"topofit.io/packing-policy", packing_policy_name(settings[s].packing)});
        ask_prioritize(harness, "own", buf_text(&names));
        assert_string_equal(harness->answer, configured);
    }
}

static void test_f46__graded_scores_are_in_range_and_follow_the_policy_too(void **state)
{
    AUTO(buf_clear) struct buf names;
    AUTO(harness_free) struct harness *harness = f46_new(&names);

    (void)state;
    harness->extender.options.policy.scores = RANK_GRADED;
    for (size_t s = 0; s < ARRAY_LEN(settings); s++) {
        apply(harness, s);
        ask_prioritize(harness, "a", buf_text(&names));
        expect_plain_integers(harness->answer);
        expect_monotone(harness, s);
    }
}

static void test_f46__a_node_that_fits_scores_above_one_that_does_not(void **state)
{
    AUTO(buf_clear) struct buf names;
    AUTO(harness_free) struct harness *harness = f46_new(&names);

    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(settings); s++) {
        apply(harness, s);
        ask_prioritize(harness, "a", buf_text(&names));
        for (unsigned i = 0; i < NODES; i++)
            assert_int_equal(score_at(harness, i) > 0, busy_devices(i) < CARDS);
    }
}

static void test_f46__no_nodes_give_an_empty_list(void **state)
{
    AUTO(buf_clear) struct buf names;
    AUTO(harness_free) struct harness *harness = f46_new(&names);

    (void)state;
    for (unsigned form = 0; form < 2; form++) {
        harness->sends_nodes = form == 1;
        ask_prioritize(harness, "a", "");
        assert_string_equal(harness->answer, "[]");
        ask_prioritize(harness, "cpu", "");
        assert_string_equal(harness->answer, "[]");
    }
}

static void test_f46__the_same_input_gives_the_same_output(void **state)
{
    AUTO(buf_clear) struct buf names;
    AUTO(harness_free) struct harness *harness = f46_new(&names);

    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(settings); s++) {
        AUTO_FREE char *first = NULL;

        apply(harness, s);
        ask_prioritize(harness, "a", buf_text(&names));
        first = xstrdup(harness->answer);
        ask_prioritize(harness, "a", buf_text(&names));
        assert_string_equal(harness->answer, first);
        harness_restart(harness);
        relist_nodes(harness);
        relist_pods(harness);
        ask_prioritize(harness, "a", buf_text(&names));
        assert_string_equal(harness->answer, first);
        harness->sends_nodes = true;
        ask_prioritize(harness, "a", buf_text(&names));
        assert_string_equal(harness->answer, first);
        harness->sends_nodes = false;
    }
}

static void test_f46__pods_without_devices_get_equal_scores(void **state)
{
    AUTO(buf_clear) struct buf names;
    AUTO(harness_free) struct harness *harness = f46_new(&names);

    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(settings); s++) {
        apply(harness, s);
        ask_prioritize(harness, "cpu", buf_text(&names));
        for (unsigned i = 1; i < NODES; i++)
            assert_int_equal(score_at(harness, i), score_at(harness, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f46__one_whole_score_from_0_to_10_for_each_node),
        cmocka_unit_test(test_f46__scores_follow_the_packing_policy_and_are_not_all_alike),
        cmocka_unit_test(test_f46__a_pods_own_policy_is_as_good_as_a_configured_one),
        cmocka_unit_test(test_f46__graded_scores_are_in_range_and_follow_the_policy_too),
        cmocka_unit_test(test_f46__a_node_that_fits_scores_above_one_that_does_not),
        cmocka_unit_test(test_f46__no_nodes_give_an_empty_list),
        cmocka_unit_test(test_f46__the_same_input_gives_the_same_output),
        cmocka_unit_test(test_f46__pods_without_devices_get_equal_scores),
    };

    return cmocka_run_group_tests_name("field_cases_scores", tests, NULL, NULL);
}
