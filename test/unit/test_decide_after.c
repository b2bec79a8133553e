/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan leaves behind: what is in use then, and which groups of idle devices are lost. */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/decide.h"

#define ROUNDS 3000
#define DEVICES 6

static bool decide(const struct node *node, const struct node_use *use,
                   const struct request *request, struct plan *plan)
{
    const struct decide_policy policy = decide_policy_default();
    struct verdict verdict = {0};

    decide_node(node, use, request, &policy, NULL, plan, &verdict);
    return verdict.reason == REASON_OK;
}

/* --- in use afterwards ----------------------------------------------------------------------- */

/* The same by way of the record that is written to the pod. */
static void book(const struct node *node, const struct request *request, const struct plan *plan,
                 struct node_use *use)
{
    AUTO(allocation_clear) struct allocation record = {0};
    struct grant grants[DEVICE_MAX];
    size_t count;

    plan_allocation(plan, node, request, &record);
    count = allocation_grants(&record, false, grants, ARRAY_LEN(grants));
    for (size_t i = 0; i < count; i++)
        node_use_add(use, node, &grants[i]);
}

static void test_decide_use_after__is_what_the_record_of_the_plan_books(void **state)
{
    uint64_t chance = 11;
    unsigned kept = 0;

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO(node_unref_pointer) struct node *node = chance_node(&chance, "n", DEVICES);
        AUTO(request_clear) struct request before_it, request;
        struct node_use use = use_none(node), booked, after;
        struct plan plan;

        chance_request(&chance, 2, &before_it);
        chance_request(&chance, 4, &request);
        if (decide(node, &use, &before_it, &plan))
            book(node, &before_it, &plan, &use);
        if (!decide(node, &use, &request, &plan))
            continue;
        kept++;
        booked = use;
        book(node, &request, &plan, &booked);
        decide_use_after(node, &use, &request, &plan, &after);
        assert_int_equal(after.device_count, node->device_count);
        assert_int_equal(after.unattributed, use.unattributed);
        for (unsigned i = 0; i < node->device_count; i++) {
            assert_int_equal(after.devices[i].memory_mib, booked.devices[i].memory_mib);
            assert_int_equal(after.devices[i].cores, booked.devices[i].cores);
            assert_int_equal(after.devices[i].slots, booked.devices[i].slots);
        }
    }
    assert_true(kept > ROUNDS / 10);
}

static void test_decide_use_after__pods_that_nobody_recorded_stay(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 3, 1000, 1);
    AUTO(request_clear) struct request request = request_of((struct wish){.count = 1});
    struct node_use use = use_none(node), after;
    struct plan plan;

    (void)state;
    use.unattributed = 2;
    assert_true(decide(node, &use, &request, &plan));
    decide_use_after(node, &use, &request, &plan, &after);
    assert_int_equal(after.unattributed, 2);
}

/* --- groups lost ----------------------------------------------------------------------------- */

static uint32_t groups_lost(const struct node *node, const struct node_use *use, struct wish wish)
{
    AUTO(request_clear) struct request request = request_of(wish);
    struct plan plan;

    assert_true(decide(node, use, &request, &plan));
    return plan.groups_lost;
}

static void test_decide_node__only_whole_devices_cost_groups(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_8gpu_nvswitch("n");
    const struct node_use use = use_none(node);

    (void)state;
    assert_true(groups_lost(node, &use, (struct wish){.count = 1}) > 0);
    assert_int_equal(groups_lost(node, &use, (struct wish){.count = 1, .percent = 50}), 0);
}

/* Seven of eight can be given out: there is no group of eight to be lost. */
static void test_decide_node__devices_that_nobody_may_join_are_in_no_group(void **state)
{
    (void)state;
    for (unsigned obstacle = 0; obstacle < 4; obstacle++) {
        AUTO(node_unref_pointer) struct node *node = node_8gpu_nvswitch("n");
        struct node_use use = use_none(node);

        node->devices[7].healthy = obstacle != 0;
        node->devices[7].cordoned = obstacle == 1;
        use.devices[7].conflicted = obstacle == 2;
        if (obstacle == 3)
            use_take(&use, node, 7, 1, 0, ISOLATION_SOFT);
        assert_int_equal(groups_lost(node, &use, (struct wish){.count = 1}), 0);
    }
}

static void test_decide_node__without_topology_no_group_counts(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_8gpu_nvswitch("n");
    AUTO(request_clear) struct request request = request_of((struct wish){.count = 3});
    const struct node_use use = use_none(node);
    struct decide_policy policy = decide_policy_default();
    struct verdict verdict = {0};
    struct plan plan;

    (void)state;
    policy.topology.mode = TOPOLOGY_OFF;
    decide_node(node, &use, &request, &policy, NULL, &plan, &verdict);
    assert_int_equal(verdict.reason, REASON_OK);
    assert_int_equal(plan.groups_lost, 0);
}

static void test_decide_node__counts_the_idle_devices_of_which_it_takes_a_part(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 4, 1000, 10);
    AUTO(request_clear)
    struct request part = request_of((struct wish){.count = 3, .percent = 30});
    AUTO(request_clear) struct request whole = request_of((struct wish){.count = 3});
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    use_take(&use, node, 2, 100, 0, ISOLATION_SOFT);
    assert_true(decide(node, &use, &part, &plan));
    assert_int_equal(plan.broken, 2);
    assert_true(decide(node, &use, &whole, &plan));
    assert_int_equal(plan.broken, 0);
}

/* --- whose policy ---------------------------------------------------------------------------- */

static void test_decide_packing__is_the_pods_else_the_configured_one(void **state)
{
    struct decide_policy policy = decide_policy_default();
    struct request request = {0};

    (void)state;
    policy.packing = PACKING_SPREAD;
    assert_int_equal(decide_packing(&policy, &request), PACKING_SPREAD);
    request.has_packing = true;
    assert_int_equal(decide_packing(&policy, &request), PACKING_PACK);
    request.packing = PACKING_TOPOLOGY_FIRST;
    assert_int_equal(decide_packing(&policy, &request), PACKING_TOPOLOGY_FIRST);
}

/* The order of devices goes as the policy, unless it is configured; a pod's own policy comes first.
 */
static void test_decide_node__devices_are_taken_as_order_and_policy_say(void **state)
{
    static const struct {
        enum device_order order;
        enum packing_policy configured;
        bool has_own;
        enum packing_policy own;
        device_mask want; /* device 1 is in use, device 0 is idle */
    } cases[] = {
        {DEVICES_AUTO, PACKING_PACK, false, PACKING_PACK, 0x2},
        {DEVICES_AUTO, PACKING_TOPOLOGY_FIRST, false, PACKING_PACK, 0x2},
        {DEVICES_AUTO, PACKING_SPREAD, false, PACKING_PACK, 0x1},
        {DEVICES_BINPACK, PACKING_SPREAD, false, PACKING_PACK, 0x2},
        {DEVICES_SPREAD, PACKING_PACK, false, PACKING_PACK, 0x1},
        {DEVICES_SPREAD, PACKING_PACK, true, PACKING_PACK, 0x2},
        {DEVICES_BINPACK, PACKING_PACK, true, PACKING_SPREAD, 0x1},
        {DEVICES_AUTO, PACKING_SPREAD, true, PACKING_TOPOLOGY_FIRST, 0x2},
    };
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 2, 1000, 10);
    struct node_use use = use_none(node);

    (void)state;
    use_take(&use, node, 1, 100, 0, ISOLATION_SOFT);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear)
        struct request request = request_of((struct wish){.count = 1, .percent = 10});
        struct decide_policy policy = decide_policy_default();
        struct verdict verdict = {0};
        struct plan plan;

        policy.device_order = cases[i].order;
        policy.packing = cases[i].configured;
        request.has_packing = cases[i].has_own;
        request.packing = cases[i].own;
        decide_node(node, &use, &request, &policy, NULL, &plan, &verdict);
        assert_int_equal(plan.sets[0], cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decide_use_after__is_what_the_record_of_the_plan_books),
        cmocka_unit_test(test_decide_use_after__pods_that_nobody_recorded_stay),
        cmocka_unit_test(test_decide_node__only_whole_devices_cost_groups),
        cmocka_unit_test(test_decide_node__devices_that_nobody_may_join_are_in_no_group),
        cmocka_unit_test(test_decide_node__without_topology_no_group_counts),
        cmocka_unit_test(test_decide_node__counts_the_idle_devices_of_which_it_takes_a_part),
        cmocka_unit_test(test_decide_packing__is_the_pods_else_the_configured_one),
        cmocka_unit_test(test_decide_node__devices_are_taken_as_order_and_policy_say),
    };

    return cmocka_run_group_tests_name("decide_after", tests, NULL, NULL);
}
