/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod whose containers are hard to combine may cost. */
#include "support/builders.h"
#include "support/harness.h"
#include "support/peer_graphs.h"
#include "support/test.h"

#include "topofit/decide.h"

#include <stdlib.h>

#define DEVICES 8
#define DEVICE_MIB 10000

/* Eight devices, of each of which a bit is in use, nowhere as much as elsewhere. */
static struct node *uneven_node(struct node_use *use)
{
    struct node *node = node_plain("n1", DEVICES, DEVICE_MIB, 16);

    *use = use_none(node);
    for (unsigned i = 0; i < DEVICES; i++)
        use_take(use, node, i, 17 + 41 * i, 0, ISOLATION_SOFT);
    return node;
}

static struct verdict decide(struct decide_effort *effort, const struct node *node,
                             const struct node_use *use, const struct request *request)
{
    struct decide_policy policy = decide_policy_default();
    struct verdict verdict;
    struct plan plan;

    policy.effort = effort;
    decide_node(node, use, request, &policy, NULL, &plan, &verdict);
    return verdict;
}

/* --- what is seen to be hopeless ------------------------------------------------------------- */

/* The amounts of the i-th container. */
static struct wish third(unsigned i)
{
    return (struct wish){.count = 1, .mib = 3300 + 7 * i}; /* three of them on a device at most */
}

static struct wish half_of_all(unsigned i)
{
    return (struct wish){.count = DEVICES / 2 + 1, .mib = 2400 + 31 * i};
}

static struct wish mixed(unsigned i)
{
    return (struct wish){.count = 2 + i % 3, .mib = 2100 + 50 * i};
}

static struct wish by_cores(unsigned i)
{
    return (struct wish){.count = 1, .mib = 1 + i, .cores = (uint16_t)(34 + i % 3)};
}

static struct wish by_percent(unsigned i)
{
    return (struct wish){.count = 1, .percent = 34 + i % 4};
}

static struct wish by_slots(unsigned i)
{
    return (struct wish){.count = DEVICES / 2, .mib = 100 + i};
}

static void test_decide_node__sees_without_searching_that_amounts_are_too_much(void **state)
{
    static const struct {
        struct wish (*wish)(unsigned i);
        unsigned containers;
    } cases[] = {{third, 23},    {third, 32},      {half_of_all, 7}, {mixed, 12},
                 {by_cores, 17}, {by_percent, 17}, {by_slots, 32}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct decide_effort effort = {.trials_left = 1000};
        AUTO(request_clear) struct request request;
        AUTO(node_unref_pointer) struct node *node = NULL;
        struct node_use use;
        struct verdict verdict;

        node = uneven_node(&use);
        request_init(&request);
        for (unsigned c = 0; c < cases[i].containers; c++)
            request_wish(&request, cases[i].wish(c));
        verdict = decide(&effort, node, &use, &request);
        if (verdict.reason != (cases[i].wish == by_slots ? REASON_SLOTS : REASON_CONTAINERS))
            fail_msg("case %zu: %s", i, reason_name(verdict.reason));
        assert_false(verdict.cut_short);
        assert_int_equal(effort.trials_left, 1000);
    }
}

/* --- what is not ----------------------------------------------------------------------------- */

/* Amounts that fit by number and in sum, and yet in no way that is found soon. */
static void wish_hard(struct request *request)
{
    static const uint64_t mib[] = {2600, 2610, 3100, 3120, 4100, 4190, 5100, 2900};

    request_init(request);
    for (unsigned c = 0; c < 22; c++)
        request_wish(request, (struct wish){.count = 1, .mib = mib[c % ARRAY_LEN(mib)]});
}

static void test_decide_node__stops_searching_when_the_effort_is_spent_and_says_so(void **state)
{
    struct decide_effort effort = {.trials_left = 3 * DECIDE_TRIALS_MAX};
    AUTO(request_clear) struct request request;
    AUTO(node_unref_pointer) struct node *node = NULL;
    struct node_use use;

    (void)state;
    node = uneven_node(&use);
    wish_hard(&request);
    for (int i = 0; i < 4; i++) {
        struct verdict verdict = decide(&effort, node, &use, &request);
        char text[400];

        assert_int_equal(verdict.reason, REASON_CONTAINERS);
        assert_true(verdict.cut_short);
        verdict_describe(&verdict, node, text, sizeof text);
        assert_contains(text, "not all ways to combine the containers were tried");
        assert_int_equal(effort.trials_left, i == 0 ? DECIDE_TRIALS_MAX : 0);
    }
}

static void test_decide_node__places_what_needs_no_search_also_without_effort(void **state)
{
    struct decide_effort effort = {.trials_left = 0, .cut_short = true};
    AUTO(request_clear) struct request request;
    AUTO(node_unref_pointer) struct node *node = NULL;
    struct node_use use;
    struct verdict verdict;

    (void)state;
    node = uneven_node(&use);
    request_init(&request);
    for (unsigned c = 0; c < 16; c++)
        request_wish(&request, (struct wish){.count = 1, .mib = 4000 + c});
    verdict = decide(&effort, node, &use, &request);
    assert_int_equal(verdict.reason, REASON_OK);
    assert_false(verdict.cut_short);
}

/* Links among 64 devices at random; whole ones are wanted. */
static struct node *tangled_node(void)
{
    struct node *node = node_plain("n1", DEVICE_MAX, DEVICE_MIB, 1);
    struct peer_graph *graph = peers_new(DEVICE_MAX);
    uint32_t random = 5;

    for (unsigned a = 0; a < DEVICE_MAX; a++) {
        for (unsigned b = a + 1; b < DEVICE_MAX; b++) {
            struct link link;

            random = random * 1664525 + 1013904223;
            link = graph_link(random >> 31 ? TIER_INTERCONNECT : TIER_CROSS, 0);
            peers_note_link(graph, a, b, &link);
        }
    }
    peers_finish(graph);
    node_steal_graph(node, graph);
    return node;
}

static void test_decide_node__hurries_once_the_steps_of_topology_of_a_call_are_spent(void **state)
{
    struct decide_effort effort = {.trials_left = DECIDE_CALL_TRIALS_MAX};
    AUTO(request_clear)
    struct request request = request_of((struct wish){.count = 12});
    AUTO(node_unref_pointer) struct node *node = tangled_node();
    const struct node_use use = use_none(node);
    uint64_t before = 0;

    (void)state;
    for (unsigned i = 0; i < 1000 && !effort.is_hurried; i++) {
        before = effort.topology_steps;
        assert_int_equal(decide(&effort, node, &use, &request).reason, REASON_OK);
        assert_true(effort.topology_steps > before);
    }
    assert_true(effort.is_hurried);
    assert_true(before >= DECIDE_CALL_STEPS_MAX);
    assert_true(effort.topology_steps - before < 10000);
}

static void test_decide_node__is_not_cut_short_where_one_container_finds_no_place(void **state)
{
    struct decide_effort effort = {.trials_left = 0};
    AUTO(request_clear) struct request request = request_of((struct wish){.count = 9, .mib = 1});
    AUTO(node_unref_pointer) struct node *node = NULL;
    struct node_use use;

    (void)state;
    node = uneven_node(&use);
    assert_false(decide(&effort, node, &use, &request).cut_short);
}

/* --- one call -------------------------------------------------------------------------------- */

static void test_filter__bounds_the_search_of_a_call_over_all_its_nodes(void **state)
{
    static const uint64_t each[DEVICES] = {9983, 9942, 9901, 9860, 9819, 9778, 9737, 9696};
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO(buf_clear) struct buf wants = buf_with_max(4096), nodes = buf_with_max(4096);
    AUTO(request_clear) struct request request;
    AUTO_FREE char *detail = NULL;

    (void)state;
    wish_hard(&request);
    for (size_t a = 0; a < request.ask_count; a++)
        buf_addf(&wants, "%sgpu 1, mem %llu", a > 0 ? "; " : "",
                 (unsigned long long)request.asks[a].memory);
    for (int i = 0; i < 120; i++) {
        AUTO_FREE char *name = xasprintf("n%d", i);

        api_node(harness, name, DEVICES, 0, .memory_each = each, .slots = 16);
        buf_addf(&nodes, "%s%s", i > 0 ? " " : "", name);
    }
    api_pod(harness, "evil", buf_text(&wants));
    ask_filter(harness, "evil", buf_text(&nodes));
    detail = detail_of(harness, "evil", "n119");
    assert_contains(detail, "not all ways to combine the containers were tried");
    api_pod(harness, "good", "gpu 1, mem 100");
    place(harness, "good", "n7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decide_node__sees_without_searching_that_amounts_are_too_much),
        cmocka_unit_test(test_decide_node__stops_searching_when_the_effort_is_spent_and_says_so),
        cmocka_unit_test(test_decide_node__places_what_needs_no_search_also_without_effort),
        cmocka_unit_test(test_decide_node__hurries_once_the_steps_of_topology_of_a_call_are_spent),
        cmocka_unit_test(test_decide_node__is_not_cut_short_where_one_container_finds_no_place),
        cmocka_unit_test(test_filter__bounds_the_search_of_a_call_over_all_its_nodes),
    };

    return cmocka_run_group_tests_name("decide_effort", tests, NULL, NULL);
}
