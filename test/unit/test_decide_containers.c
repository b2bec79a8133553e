/* SPDX-License-Identifier: Apache-2.0 */
/* decide for pods of several containers: phases, reuse of devices, the order of the asks. */
#include "support/test.h"

#include "support/builders.h"
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
        {{{INIT, .count = 1}, {.count = 1}}, true}, /* the step has the whole card first */
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
                             const struct request *request, enum packing_policy packing,
                             enum topology_mode mode)
{
    struct decide_policy policy = decide_policy_default();
    struct verdict verdict;
    struct plan plan;

    policy.device_packing = packing;
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
    plan = must_plan(node, &use, &request, PACKING_BINPACK, TOPOLOGY_HARD);
    assert_int_equal(plan.sets[0], 0x3c);
    assert_int_equal(plan.sets[1] & ~plan.sets[0], 0);
}

static void test_decide_node__what_is_hard_to_place_is_placed_first(void **state)
{
    /* What is in use of two devices of 16384 MiB; under spread the easy ask would take the room. */
    static const struct {
        uint64_t used_mib[2];
        struct wish easy, hard;
    } cases[] = {
        {{0, 5000}, {.count = 1, .mib = 1000}, {.count = 1}},
        {{6384, 10384}, {.count = 1, .mib = 6000}, {.count = 1, .mib = 10000}},
    };
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 2, 16384, 2);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request;
        struct node_use use = use_none(node);

        for (unsigned d = 0; d < 2; d++) {
            if (cases[i].used_mib[d] > 0)
                use_take(&use, node, d, cases[i].used_mib[d], 0, ISOLATION_SOFT);
        }
        request_init(&request);
        request_wish(&request, cases[i].easy);
        request_wish(&request, cases[i].hard);
        must_plan(node, &use, &request, PACKING_SPREAD, TOPOLOGY_OFF);
    }
}

/* Two devices of 1000 MiB go first, and the first device is too full for the other ask then. */
static void test_decide_node__tries_another_order_when_an_ask_finds_no_place(void **state)
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
    plan = must_plan(node, &use, &request, PACKING_BINPACK, TOPOLOGY_OFF);
    assert_int_equal(plan.sets[0], 0x6);
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
    plan = must_plan(node, &use, &request, PACKING_BINPACK, TOPOLOGY_OFF);
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
    plan = must_plan(node, &use, &request, PACKING_BINPACK, TOPOLOGY_OFF);
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
    plan = must_plan(node, &use, &request, PACKING_BINPACK, TOPOLOGY_SOFT);
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
        cmocka_unit_test(test_decide_node__what_is_hard_to_place_is_placed_first),
        cmocka_unit_test(test_decide_node__tries_another_order_when_an_ask_finds_no_place),
        cmocka_unit_test(test_decide_node__apps_stay_on_the_devices_of_the_steps),
        cmocka_unit_test(test_decide_node__steps_start_from_the_devices_of_the_apps),
        cmocka_unit_test(test_decide_node__a_device_the_pod_has_is_no_loss_to_others),
    };

    return cmocka_run_group_tests_name("decide_containers", tests, NULL, NULL);
}
