/* SPDX-License-Identifier: Apache-2.0 */
/* decide for pods of several containers: phases, reuse of devices, the order of the asks. */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/decide.h"

static enum reason decide(const struct node *node, const struct node_use *use,
                          const struct request *request, struct plan *plan)
{
    struct decide_policy policy = decide_policy_default();
    struct verdict verdict;

    decide_node(node, use, request, &policy, NULL, plan, &verdict);
    return verdict.reason;
}

/* --- several containers -------------------------------------------------------------------------
 */

#define INIT CONTAINER_INIT
#define SIDECAR CONTAINER_SIDECAR

static void test_decide_node__f10_what_counts_is_the_greatest_phase(void **state)
{
    static const struct {
        struct wish wishes[4];
        bool fits;
    } cases[] = {
        {{{INIT, 1, .mib = 10240},
          {INIT, 1, .mib = 10240},
          {INIT, 1, .mib = 10240},
          {.count = 1, .mib = 12288}},
         true},
        {{{INIT, 1, .mib = 10240}, {.count = 1, .mib = 4096}}, true},
        {{{SIDECAR, 1, .mib = 4096}, {INIT, 1, .mib = 10240}, {.count = 1, .mib = 8192}}, true},
        {{{SIDECAR, 1, .mib = 4096}, {INIT, 1, .mib = 12289}, {.count = 1, .mib = 8192}}, false},
        {{{INIT, 1, .mib = 16384}, {SIDECAR, 1, .mib = 4096}, {.count = 1, .mib = 8192}}, true},
        {{{.count = 1, .mib = 8192}, {.count = 1, .mib = 8192}}, true},
        {{{.count = 1, .mib = 8192}, {.count = 1, .mib = 8193}}, false},
        {{{INIT, .count = 1}, {.count = 1}}, true}, /* the step has the whole device first */
        {{{.count = 1}, {.count = 1}}, false},
    };
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 1, 16384, 10);
    struct node_use use = use_none(node);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request;
        struct plan plan;

        request_init(&request);
        for (size_t c = 0; c < 4 && cases[i].wishes[c].count > 0; c++)
            request_wish(&request, cases[i].wishes[c]);
        assert_int_equal(decide(node, &use, &request, &plan) == REASON_OK, cases[i].fits);
    }
}

static void test_decide_node__init_steps_take_the_devices_of_the_apps(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_8gpu_pairs("n1");
    struct node_use use = use_none(node);

    (void)state;
    for (unsigned init = 1; init <= 4; init++) {
        AUTO(request_clear) struct request request;
        struct plan plan;

        request_init(&request);
        request_wish(&request, (struct wish){INIT, .count = init});
        request_wish(&request, (struct wish){INIT, .count = 1});
        request_wish(&request, (struct wish){.count = 2});
        assert_int_equal(decide(node, &use, &request, &plan), REASON_OK);
        if (init <= 2)
            assert_int_equal(plan.sets[0] & ~plan.sets[2], 0);
        else
            assert_int_equal(plan.sets[2] & ~plan.sets[0], 0);
        assert_int_equal(mask_count(plan.sets[0] | plan.sets[1] | plan.sets[2]),
                         init > 2 ? init : 2);
    }
}

static void test_decide_node__a_sidecar_keeps_its_device_from_steps_and_apps(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 3, 16384, 10);
    AUTO(request_clear) struct request request;
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    request_init(&request);
    request_wish(&request, (struct wish){SIDECAR, .count = 1});
    request_wish(&request, (struct wish){INIT, .count = 2});
    request_wish(&request, (struct wish){.count = 2});
    assert_int_equal(decide(node, &use, &request, &plan), REASON_OK);
    assert_int_equal(plan.sets[0] & (plan.sets[1] | plan.sets[2]), 0);
    assert_int_equal(plan.sets[1], plan.sets[2]);
}

static void test_decide_node__whole_devices_go_before_fractions(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 3, 16384, 10);
    AUTO(request_clear) struct request request;
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    request_init(&request);
    request_wish(&request, (struct wish){.count = 1, .mib = 4000});
    request_wish(&request, (struct wish){.count = 2});
    request_wish(&request, (struct wish){.count = 1, .mib = 12384});
    assert_int_equal(decide(node, &use, &request, &plan), REASON_OK);
    assert_int_equal(plan.sets[1] & (plan.sets[0] | plan.sets[2]), 0);
    assert_int_equal(plan.sets[0], plan.sets[2]);
}

/* --- the order of the asks ----------------------------------------------------------------------
 */

/* A plan under a packing policy and a topology mode; fails the test when the node is refused. */
static struct plan must_plan(const struct node *node, const struct node_use *use,
                             const struct request *request, enum device_order packing,
                             enum topology_mode mode)
{
    struct decide_policy policy = decide_policy_default();
    struct verdict verdict;
    struct plan plan;

    policy.device_order = packing;
    policy.topology.mode = mode;
    policy.topology.max_tier = TIER_INTERCONNECT;
    decide_node(node, use, request, &policy, NULL, &plan, &verdict);
    if (verdict.reason != REASON_OK)
        fail_msg("%s", reason_name(verdict.reason));
    return plan;
}

/* The step finds its four together only if it is planned before the apps take the fast pair. */
static void test_decide_node__the_phase_with_most_devices_is_planned_first(void **state)
{
    const struct link fast = {.name = "NV18", .tier = TIER_INTERCONNECT, .gbps = 900};
    const struct link slow = {.name = "NV1", .tier = TIER_INTERCONNECT, .gbps = 50};
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 6, 1000, 1);
    AUTO(request_clear) struct request request;
    struct peer_graph *graph = peers_new(6);
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    peers_note_link(graph, 0, 1, &fast);
    for (unsigned a = 2; a < 6; a++) {
        for (unsigned b = 2; b < a; b++)
            peers_note_link(graph, a, b, &slow);
    }
    peers_finish(graph);
    node_steal_graph(node, graph);
    request_init(&request);
    request_wish(&request, (struct wish){INIT, .count = 4});
    request_wish(&request, (struct wish){.count = 2});
    plan = must_plan(node, &use, &request, DEVICES_BINPACK, TOPOLOGY_SOFT);
    assert_int_equal(plan.sets[0], 0x3c);
    assert_int_equal(plan.sets[1] & ~plan.sets[0], 0);
}

static void test_decide_node__who_wants_most_devices_is_planned_before_the_others(void **state)
{
    const struct link fast = {.name = "NV18", .tier = TIER_INTERCONNECT, .gbps = 900};
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 3, 16384, 1);
    AUTO(request_clear) struct request request;
    struct peer_graph *graph = peers_new(3);
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    peers_note_link(graph, 0, 1, &fast);
    peers_finish(graph);
    node_steal_graph(node, graph);
    node->devices[2].slots = 2;
    use_take(&use, node, 2, 1000, 0, ISOLATION_SOFT);
    request_init(&request);
    request_wish(&request, (struct wish){.count = 1, .mib = 1000}); /* would spread to 0 */
    request_wish(&request, (struct wish){.count = 2, .mib = 1000});
    plan = must_plan(node, &use, &request, DEVICES_SPREAD, TOPOLOGY_SOFT);
    assert_int_equal(plan.sets[0], 0x4);
    assert_int_equal(plan.sets[1], 0x3);
}

/* Device 0 is the fullest by cores and has most memory free; device 2 is idle and should stay so.
 */
static void test_decide_node__who_wants_most_memory_is_planned_before_the_others(void **state)
{
    static const struct {
        struct wish easy, hard;
    } cases[] = {
        {{.count = 1, .mib = 6000}, {.count = 1, .mib = 10000}},
        {{.count = 1, .mib = 6000}, {.count = 1, .percent = 61}},
        {{.count = 1, .percent = 37}, {.count = 1, .mib = 10000}},
        {{.count = 1, .percent = 37}, {.count = 1, .percent = 61}},
    };
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 3, 16384, 2);
    struct node_use use = use_none(node);

    (void)state;
    use_take(&use, node, 0, 6384, 90, ISOLATION_SOFT);
    use_take(&use, node, 1, 10200, 0, ISOLATION_SOFT);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request;
        struct plan plan;

        request_init(&request);
        request_wish(&request, cases[i].easy);
        request_wish(&request, cases[i].hard);
        plan = must_plan(node, &use, &request, DEVICES_BINPACK, TOPOLOGY_OFF);
        assert_int_equal(plan.sets[0], 0x2);
        assert_int_equal(plan.sets[1], 0x1);
        assert_int_equal(plan.broken, 0);
    }
}

/* --- combinations that are hard to find ---------------------------------------------------------
 */

/* Two devices of 1000 MiB go first, and the first device is too full for the other ask then. */
static void test_decide_node__searches_when_an_ask_finds_no_place(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 3, 3000, 10);
    AUTO(request_clear) struct request request;
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    node->devices[0].memory_mib = 10000;
    request_init(&request);
    request_wish(&request, (struct wish){.count = 2, .mib = 1000});
    request_wish(&request, (struct wish){.count = 1, .mib = 9500});
    plan = must_plan(node, &use, &request, DEVICES_BINPACK, TOPOLOGY_OFF);
    assert_int_equal(plan.sets[0], 0x6);
    assert_int_equal(plan.sets[1], 0x1);
}

/* The reason for containers of these MiB, up to a 0, on devices of 100 MiB. */
static enum reason decide_parts(unsigned devices, uint64_t used_mib, const uint64_t *parts_mib)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", devices, 100, 40);
    AUTO(request_clear) struct request request;
    struct node_use use = use_none(node);
    struct plan plan;

    for (unsigned i = 0; used_mib > 0 && i < devices; i++)
        use_take(&use, node, i, used_mib, 0, ISOLATION_SOFT);
    request_init(&request);
    for (; *parts_mib > 0; parts_mib++)
        request_wish(&request, (struct wish){.count = 1, .mib = *parts_mib});
    return decide(node, &use, &request, &plan);
}

static void test_decide_node__finds_the_only_combination_and_else_tells_the_truth(void **state)
{
    static const struct {
        unsigned devices;
        uint64_t used_mib;
        uint64_t parts_mib[8];
        enum reason want;
    } cases[] = {
        {2, 0, {19, 16, 23, 29, 58, 54}, REASON_OK}, /* 58 + 23 + 19 and 54 + 29 + 16 */
        {2, 0, {54, 58, 29, 23, 16, 19}, REASON_OK},
        {2, 0, {20, 16, 23, 29, 58, 54}, REASON_CONTAINERS}, /* 200, but no two halves */
        {2, 0, {60, 60, 60}, REASON_CONTAINERS},             /* one each, and one left */
        {2, 0, {34, 34, 34, 34, 34}, REASON_CONTAINERS},     /* 170 of 200, in thirds */
        {2, 1, {19, 16, 23, 29, 58, 54}, REASON_MEMORY},     /* the last MiB is with others */
        {2, 100, {60, 60}, REASON_MEMORY},        /* two would fit, were the others gone */
        {2, 50, {60, 60, 60}, REASON_CONTAINERS}, /* the others going would not do */
        {2, 0, {101, 60, 60, 60}, REASON_DEVICE_TOO_SMALL}, /* one never fits, even alone */
        {2, 100, {60, 101}, REASON_DEVICE_TOO_SMALL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum reason got = decide_parts(cases[i].devices, cases[i].used_mib, cases[i].parts_mib);

        if (got != cases[i].want)
            fail_msg("case %zu: %s", i, reason_name(got));
    }
}

/* Three parts fill a device each. Found within the bound only if what is alike is tried once. */
static void test_decide_node__tries_devices_and_asks_that_are_alike_once(void **state)
{
    static const uint64_t parts_mib[] = {21, 37, 42, 44, 41, 15, 35, 27, 38, 41,
                                         28, 31, 34, 36, 30, 30, 34, 36, 0};

    (void)state;
    assert_int_equal(decide_parts(6, 0, parts_mib), REASON_OK);
}

/* 31 different parts that no search combines within its bound: an answer all the same, and soon. */
static void test_decide_node__gives_up_a_hopeless_search_with_a_true_reason(void **state)
{
    uint64_t parts_mib[REQUEST_ASKS_MAX] = {0};

    (void)state;
    for (unsigned i = 0; i < 31; i++)
        parts_mib[i] = 34 + i % 16;
    assert_int_equal(decide_parts(15, 0, parts_mib), REASON_CONTAINERS);
}

/* The four devices of one socket: 0-1 linked, and 2-3 too if `both`. */
static struct node *node_of_pairs(bool both)
{
    const struct link link = {.name = "NV1", .tier = TIER_INTERCONNECT, .gbps = 50};
    struct node *node = node_plain("n1", 4, 1000, 1);
    struct peer_graph *graph = peers_new(4);

    for (unsigned i = 0; i < 4; i++)
        peers_set_numa(graph, i, 0);
    peers_note_link(graph, 0, 1, &link);
    if (both)
        peers_note_link(graph, 2, 3, &link);
    peers_finish(graph);
    node_steal_graph(node, graph);
    return node;
}

static void test_decide_node__tells_what_the_pod_takes_from_what_the_node_lacks(void **state)
{
    static const struct {
        struct wish wishes[3];
        enum topology_mode mode;
        bool both_pairs;
        enum reason want;
    } cases[] = {
        {{{.count = 3}, {.count = 2}}, TOPOLOGY_SOFT, true, REASON_CONTAINERS},
        {{{.count = 3}, {.count = 2}}, TOPOLOGY_OFF, true, REASON_CONTAINERS},
        {{{.count = 2}, {.count = 2}}, TOPOLOGY_HARD, true, REASON_OK},
        {{{.count = 2}, {.count = 1}, {.count = 2}}, TOPOLOGY_HARD, true, REASON_CONTAINERS},
        {{{.count = 2}, {.count = 2}}, TOPOLOGY_HARD, false, REASON_CONTAINERS},
        {{{.count = 1}, {.count = 3}}, TOPOLOGY_HARD, true, REASON_TOPOLOGY_NEVER},
        {{{.count = 1}, {.count = 5}}, TOPOLOGY_SOFT, true, REASON_TOO_FEW_DEVICES},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(node_unref_pointer) struct node *node = node_of_pairs(cases[i].both_pairs);
        AUTO(request_clear) struct request request;
        struct decide_policy policy = decide_policy_default();
        struct node_use use = use_none(node);
        struct verdict verdict;
        struct plan plan;

        policy.topology.mode = cases[i].mode;
        policy.topology.max_tier = TIER_INTERCONNECT;
        request_init(&request);
        for (size_t c = 0; c < 3 && cases[i].wishes[c].count > 0; c++)
            request_wish(&request, cases[i].wishes[c]);
        decide_node(node, &use, &request, &policy, NULL, &plan, &verdict);
        if (verdict.reason != cases[i].want)
            fail_msg("case %zu: %s", i, reason_name(verdict.reason));
    }
}

static void test_decide_node__searches_for_linked_sets_too(void **state)
{
    const struct link link = {.name = "NV1", .tier = TIER_INTERCONNECT, .gbps = 50};
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 5, 1000, 1);
    AUTO(request_clear) struct request request;
    struct peer_graph *graph = peers_new(5);
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    /* a chain 3-0-1-2 with 4 aside: the pair 0-1 is the best one, and leaves no other pair */
    peers_note_link(graph, 0, 1, &(struct link){.name = "NV8", .gbps = 400});
    peers_note_link(graph, 1, 2, &link);
    peers_note_link(graph, 0, 3, &link);
    peers_finish(graph);
    node_steal_graph(node, graph);
    request_init(&request);
    request_wish(&request, (struct wish){.count = 2});
    request_wish(&request, (struct wish){.count = 2});
    plan = must_plan(node, &use, &request, DEVICES_BINPACK, TOPOLOGY_HARD);
    assert_int_equal(plan.sets[0] | plan.sets[1], 0xf);
    assert_int_equal(plan.tier, TIER_INTERCONNECT);
    assert_true(plan.quality_0_100 < 100);
}

/* The search knows no packing; what it found is put where the policy wants it. */
static void test_decide_node__a_combination_found_keeps_to_the_policy(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 4, 3000, 10);
    AUTO(request_clear) struct request request;
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    node->devices[0].memory_mib = 10000;
    use_take(&use, node, 3, 1000, 0, ISOLATION_SOFT);
    request_init(&request);
    request_wish(&request, (struct wish){.count = 2, .mib = 1000}); /* 0 is not for them */
    request_wish(&request, (struct wish){.count = 1, .mib = 9500});
    plan = must_plan(node, &use, &request, DEVICES_BINPACK, TOPOLOGY_OFF);
    assert_true(mask_has(plan.sets[0], 3)); /* in use already */
    assert_int_equal(plan.sets[1], 0x1);
}

static void test_decide_node__apps_stay_on_the_devices_of_the_steps(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 4, 16384, 10);
    AUTO(request_clear) struct request request;
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    use_take(&use, node, 0, 10000, 0, ISOLATION_SOFT);
    use_take(&use, node, 1, 10000, 0, ISOLATION_SOFT);
    request_init(&request);
    request_wish(&request, (struct wish){INIT, .count = 2, .mib = 12000});
    request_wish(&request, (struct wish){.count = 1, .mib = 4000}); /* would fill 0 or 1 up */
    plan = must_plan(node, &use, &request, DEVICES_BINPACK, TOPOLOGY_OFF);
    assert_int_equal(plan.sets[0], 0xc);
    assert_int_equal(plan.sets[1] & ~plan.sets[0], 0);
}

static void test_decide_node__steps_start_from_the_devices_of_the_apps(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 4, 16384, 10);
    AUTO(request_clear) struct request request;
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    node->devices[3].memory_mib = 40000;
    request_init(&request);
    request_wish(&request, (struct wish){INIT, .count = 2, .mib = 1000});
    request_wish(&request, (struct wish){.count = 1, .mib = 17000}); /* both only on device 3 */
    request_wish(&request, (struct wish){.count = 1, .mib = 17000});
    plan = must_plan(node, &use, &request, DEVICES_BINPACK, TOPOLOGY_OFF);
    assert_int_equal(plan.sets[1], 0x8);
    assert_int_equal(plan.sets[2], 0x8);
    assert_int_equal(plan.sets[0], 0x9);
}

static void test_decide_node__a_device_the_pod_has_is_no_loss_to_others(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_8gpu_pairs("n1");
    AUTO(request_clear) struct request request;
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    node->devices[6].memory_mib = 100000;
    request_init(&request);
    request_wish(&request, (struct wish){.count = 1, .mib = 1000});
    request_wish(&request, (struct wish){.count = 1, .mib = 90000}); /* on device 6 alone */
    plan = must_plan(node, &use, &request, DEVICES_BINPACK, TOPOLOGY_SOFT);
    assert_int_equal(plan.sets[1], mask_of(6));
    assert_int_equal(plan.sets[0], mask_of(6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decide_node__f10_what_counts_is_the_greatest_phase),
        cmocka_unit_test(test_decide_node__init_steps_take_the_devices_of_the_apps),
        cmocka_unit_test(test_decide_node__a_sidecar_keeps_its_device_from_steps_and_apps),
        cmocka_unit_test(test_decide_node__whole_devices_go_before_fractions),
        cmocka_unit_test(test_decide_node__the_phase_with_most_devices_is_planned_first),
        cmocka_unit_test(test_decide_node__who_wants_most_devices_is_planned_before_the_others),
        cmocka_unit_test(test_decide_node__who_wants_most_memory_is_planned_before_the_others),
        cmocka_unit_test(test_decide_node__searches_when_an_ask_finds_no_place),
        cmocka_unit_test(test_decide_node__finds_the_only_combination_and_else_tells_the_truth),
        cmocka_unit_test(test_decide_node__tries_devices_and_asks_that_are_alike_once),
        cmocka_unit_test(test_decide_node__gives_up_a_hopeless_search_with_a_true_reason),
        cmocka_unit_test(test_decide_node__tells_what_the_pod_takes_from_what_the_node_lacks),
        cmocka_unit_test(test_decide_node__searches_for_linked_sets_too),
        cmocka_unit_test(test_decide_node__a_combination_found_keeps_to_the_policy),
        cmocka_unit_test(test_decide_node__apps_stay_on_the_devices_of_the_steps),
        cmocka_unit_test(test_decide_node__steps_start_from_the_devices_of_the_apps),
        cmocka_unit_test(test_decide_node__a_device_the_pod_has_is_no_loss_to_others),
    };

    return cmocka_run_group_tests_name("decide_containers", tests, NULL, NULL);
}
