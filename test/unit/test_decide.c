/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/decide.h"
#include "topofit/gpufit.h"

static struct decide_policy policy_of(enum topology_mode mode, enum device_order packing)
{
    struct decide_policy policy = decide_policy_default();

    policy.topology.mode = mode;
    policy.device_order = packing;
    return policy;
}

static enum reason decide(const struct node *node, const struct node_use *use,
                          const struct request *request, struct plan *plan)
{
    struct decide_policy policy = decide_policy_default();
    struct verdict verdict;

    decide_node(node, use, request, &policy, NULL, plan, &verdict);
    return verdict.reason;
}

/* Plan one pod and book it: return the devices of its first ask, 0 when refused. */
static device_mask take(const struct node *node, struct node_use *use, struct wish wish,
                        const struct decide_policy *policy)
{
    AUTO(request_clear) struct request request = request_of(wish);
    AUTO(allocation_clear) struct allocation record = {0};
    struct grant grants[DEVICE_MAX];
    struct verdict verdict;
    struct plan plan;
    size_t count;

    decide_node(node, use, &request, policy, NULL, &plan, &verdict);
    if (verdict.reason != REASON_OK)
        return 0;
    plan_allocation(&plan, node, &request, &record);
    count = allocation_grants(&record, true, grants, ARRAY_LEN(grants));
    for (size_t i = 0; i < count; i++)
        node_use_add(use, node, &grants[i]);
    return plan.sets[0];
}

/* --- amounts ------------------------------------------------------------------------------------
 */

static void test_decide_node__f04_each_device_by_its_own_size(void **state)
{
    static const struct {
        struct wish wish;
        device_mask want;
        enum reason reason;
    } cases[] = {
        {{.count = 1, .mib = 16000}, 0x2, REASON_OK},
        {{.count = 1, .mib = 21000}, 0, REASON_DEVICE_TOO_SMALL},
        {{.count = 2, .mib = 11000}, 0, REASON_DEVICE_TOO_SMALL},
        {{.count = 2, .percent = 100}, 0x3, REASON_OK},
    };
    AUTO(node_unref_pointer) struct node *node = node_plain("n2", 2, 10240, 10);
    struct node_use use = use_none(node);

    (void)state;
    node->devices[1].memory_mib = 20480;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear) struct request request = request_of(cases[i].wish);
        struct plan plan = {0};

        assert_int_equal(decide(node, &use, &request, &plan), cases[i].reason);
        assert_int_equal(plan.sets[0], cases[i].want);
    }
}

static void test_decide_node__f05_admits_as_many_as_the_device_holds(void **state)
{
    static const struct {
        uint64_t device_mib, pod_mib;
        unsigned want;
    } cases[] = {{24576, 12288, 2}, {46068, 2000, 23}};
    struct decide_policy policy = decide_policy_default();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, cases[i].device_mib, 32);
        struct node_use use = use_none(node);
        unsigned placed = 0;

        while (take(node, &use, (struct wish){.count = 1, .mib = cases[i].pod_mib}, &policy) != 0)
            placed++;
        assert_int_equal(placed, cases[i].want);
        assert_false(use.devices[0].conflicted);
    }
}

static void test_decide_node__f11_the_same_part_of_several_devices(void **state)
{
    static const struct {
        enum device_order packing;
        bool same;
    } cases[] = {{DEVICES_BINPACK, true}, {DEVICES_SPREAD, false}};
    const struct wish wish = {.count = 4, .mib = 40960};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(node_unref_pointer) struct node *node = node_plain("n1", 8, 81920, 10);
        struct decide_policy policy = policy_of(TOPOLOGY_SOFT, cases[i].packing);
        struct node_use use = use_none(node);
        device_mask first = take(node, &use, wish, &policy);
        device_mask second = take(node, &use, wish, &policy);

        assert_int_equal(mask_count(first), 4);
        assert_int_equal(first == second, cases[i].same);
        assert_int_not_equal(take(node, &use, wish, &policy), 0);
        assert_int_not_equal(take(node, &use, wish, &policy), 0);
        assert_int_equal(take(node, &use, wish, &policy), 0);
        for (unsigned d = 0; d < 8; d++)
            assert_int_equal(use.devices[d].memory_mib, 81920);
    }
}

static void test_decide_node__f16_load_comes_before_the_order_of_sockets(void **state)
{
    static const uint64_t used_mib[] = {18000, 14000, 6000, 2000};
    static const struct {
        enum device_order packing;
        uint64_t mib;
        device_mask want;
    } cases[] = {
        {DEVICES_SPREAD, 1000, 0x8}, {DEVICES_BINPACK, 1000, 0x1}, {DEVICES_BINPACK, 3000, 0x2}};
    AUTO(node_unref_pointer) struct node *node = node_plain("n1", 4, 20000, 10);
    struct peer_graph *graph = peers_new(4);

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        peers_set_numa(graph, i, (int)i / 2);
    peers_finish(graph);
    node_steal_graph(node, graph);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct decide_policy policy = policy_of(TOPOLOGY_SOFT, cases[i].packing);
        struct node_use use = use_none(node);

        for (unsigned d = 0; d < 4; d++)
            use_take(&use, node, d, used_mib[d], 0, ISOLATION_SOFT);
        assert_int_equal(take(node, &use, (struct wish){.count = 1, .mib = cases[i].mib}, &policy),
                         cases[i].want);
    }
}

static void test_decide_node__who_spreads_takes_idle_devices_before_sparing_pairs(void **state)
{
    struct decide_policy spread = policy_of(TOPOLOGY_SOFT, DEVICES_SPREAD);
    AUTO(node_unref_pointer) struct node *node = node_8gpu_pairs("n1");
    struct node_use use = use_none(node);

    (void)state;
    use_take(&use, node, 4, 81920, 100, ISOLATION_SHARED);
    use_take(&use, node, 5, 1000, 0, ISOLATION_SOFT); /* would damage nothing */
    assert_int_not_equal(take(node, &use, (struct wish){.count = 1, .mib = 10}, &spread),
                         mask_of(5));
}

static void test_decide_node__who_spreads_sets_takes_idle_devices(void **state)
{
    struct decide_policy spread = policy_of(TOPOLOGY_SOFT, DEVICES_SPREAD);
    AUTO(node_unref_pointer) struct node *node = node_8gpu_nvswitch("n1");
    struct node_use use = use_none(node);
    const struct wish wish = {.count = 4, .mib = 40960};
    device_mask first = take(node, &use, wish, &spread);

    (void)state;
    assert_int_equal(take(node, &use, wish, &spread) & first, 0);
}

/* --- topology -----------------------------------------------------------------------------------
 */

static enum reason decide_hard(const struct node *node, const struct node_use *use, unsigned count,
                               enum tier max_tier, struct verdict *verdict)
{
    AUTO(request_clear) struct request request = request_of((struct wish){.count = count});
    struct decide_policy policy = decide_policy_default();
    struct plan plan;

    request.topology = (struct topology_demand){
        .has_mode = true, .mode = TOPOLOGY_HARD, .has_max_tier = true, .max_tier = max_tier};
    decide_node(node, use, &request, &policy, NULL, &plan, verdict);
    return verdict->reason;
}

static void test_decide_node__hard_topology_tells_not_now_from_never(void **state)
{
    /* bridges 0-1 2-3 4-5 6-7, sockets 0-3 4-7 */
    static const struct {
        device_mask busy;
        unsigned count;
        enum tier max_tier;
        enum reason want;
    } cases[] = {
        {0, 2, TIER_INTERCONNECT, REASON_OK},
        {0x55, 2, TIER_INTERCONNECT, REASON_TOPOLOGY},       /* one of each pair is free */
        {0, 3, TIER_INTERCONNECT, REASON_TOPOLOGY_NEVER},    /* pairs alone */
        {0xfe, 3, TIER_INTERCONNECT, REASON_TOPOLOGY_NEVER}, /* nor when all are freed */
        {0x7f, 2, TIER_INTERCONNECT, REASON_MEMORY},         /* not enough, and could be */
        {0, 4, TIER_NUMA, REASON_OK},
        {0x11, 4, TIER_NUMA, REASON_TOPOLOGY},
        {0, 5, TIER_NUMA, REASON_TOPOLOGY_NEVER},
        {0, 8, TIER_CROSS, REASON_OK},
        {0x55, 1, TIER_INTERCONNECT, REASON_OK}, /* W4: one device has no peer */
    };
    AUTO(node_unref_pointer) struct node *node = node_8gpu_pairs("n");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct node_use use = use_none(node);
        struct verdict verdict;

        for (device_mask left = cases[i].busy; left != 0; left &= left - 1)
            use_take(&use, node, mask_first(left), 81920, 100, ISOLATION_SHARED);
        if (decide_hard(node, &use, cases[i].count, cases[i].max_tier, &verdict) != cases[i].want)
            fail_msg("case %zu: %s", i, reason_name(verdict.reason));
    }
}

/* 64 devices of one socket; each pair is linked by chance. */
static struct node *node_of_chance(uint64_t *chance)
{
    const struct link link = {.name = "NV1", .tier = TIER_INTERCONNECT, .gbps = 50};
    struct node *node = node_plain("n", DEVICE_MAX, 1000, 1);
    struct peer_graph *graph = peers_new(DEVICE_MAX);

    for (unsigned i = 0; i < DEVICE_MAX; i++) {
        peers_set_numa(graph, i, 0);
        for (unsigned k = 0; k < i; k++) {
            if (chance_one_in(chance, 2))
                peers_note_link(graph, i, k, &link);
        }
    }
    peers_finish(graph);
    node_steal_graph(node, graph);
    return node;
}

static void test_decide_node__calls_nothing_impossible_after_a_search_cut_short(void **state)
{
    unsigned cut_short = 0;
    uint64_t chance = 1;

    (void)state;
    for (unsigned count = 2; count <= 40; count += 2) {
        AUTO(node_unref_pointer) struct node *node = node_of_chance(&chance);
        const struct topology_question question = {
            .graph = node->graph, .candidates = mask_below(DEVICE_MAX), .count = count};
        struct topology_rule rule = decide_policy_default().topology;
        struct node_use use = use_none(node);
        struct topology_choice choice;
        struct verdict verdict;

        rule.mode = TOPOLOGY_HARD;
        rule.max_tier = TIER_INTERCONNECT;
        gputopo_choose(&question, &rule, NULL, &choice);
        if (choice.satisfied)
            continue;
        assert_int_equal(decide_hard(node, &use, count, TIER_INTERCONNECT, &verdict),
                         choice.degraded ? REASON_TOPOLOGY : REASON_TOPOLOGY_NEVER);
        cut_short += choice.degraded;
    }
    assert_true(cut_short > 0);
}

static void test_decide_node__hard_topology_on_a_node_that_tells_nothing(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 4, 1000, 1);
    struct node_use use = use_none(node);
    struct verdict verdict;

    (void)state;
    assert_int_equal(decide_hard(node, &use, 2, TIER_CROSS, &verdict), REASON_TOPOLOGY_UNKNOWN);
    assert_int_equal(verdict.best_tier, TIER_UNKNOWN);
    assert_int_equal(verdict.allowed_tier, TIER_CROSS);
    assert_int_equal(decide_hard(node, &use, 1, TIER_INTERCONNECT, &verdict), REASON_OK);
}

static void test_decide_topology_rule__pods_override_but_off_stays_off(void **state)
{
    AUTO(request_clear) struct request request = request_of((struct wish){.count = 1});
    struct decide_policy policy = decide_policy_default();
    struct topology_rule rule;

    (void)state;
    request.topology = (struct topology_demand){.has_mode = true,
                                                .mode = TOPOLOGY_HARD,
                                                .has_max_tier = true,
                                                .max_tier = TIER_INTERCONNECT,
                                                .has_source = true,
                                                .source = SOURCE_NUMA};
    rule = decide_topology_rule(&policy, &request);
    assert_int_equal(rule.mode, TOPOLOGY_HARD);
    assert_int_equal(rule.max_tier, TIER_INTERCONNECT);
    assert_int_equal(rule.source, SOURCE_NUMA);
    policy.topology.mode = TOPOLOGY_OFF;
    assert_int_equal(decide_topology_rule(&policy, &request).mode, TOPOLOGY_OFF);
    request.topology = (struct topology_demand){0};
    policy = policy_of(TOPOLOGY_HARD, DEVICES_BINPACK);
    assert_int_equal(decide_topology_rule(&policy, &request).mode, TOPOLOGY_HARD);
    assert_int_equal(decide_topology_rule(&policy, &request).max_tier, TIER_NUMA);
}

/* With topology off: gpufit's candidates, the preferred ones first, then the first ones. */
static void test_decide_node__topology_off_is_gpufit_alone(void **state)
{
    struct decide_policy policy = policy_of(TOPOLOGY_OFF, DEVICES_BINPACK);
    uint64_t chance = 3;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        AUTO(node_unref_pointer) struct node *node = chance_node(&chance, "n", 8);
        AUTO(request_clear)
        struct request request = request_of((struct wish){.count = 1 + chance_below(&chance, 4)});
        struct node_use use = use_none(node);
        struct verdict verdict, expected;
        struct plan plan;
        const struct fit_question question = {
            .node = node, .use = &use, .request = &request, .ask = &request.asks[0]};
        struct fit fit = gpufit_candidates(&question, NULL, &expected);

        decide_node(node, &use, &request, &policy, NULL, &plan, &verdict);
        assert_int_equal(verdict.reason, expected.reason);
        if (verdict.reason == REASON_OK)
            assert_int_equal(plan.sets[0], mask_lowest(fit.candidates, request.asks[0].count));
    }
}

static void test_decide_node__f13_takes_linked_pairs_one_after_the_other(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_8gpu_pairs("n1");
    struct decide_policy policy = decide_policy_default();
    struct node_use use = use_none(node);
    device_mask all = 0;

    (void)state;
    for (int pod = 0; pod < 4; pod++) {
        device_mask set = take(node, &use, (struct wish){.count = 2}, &policy);

        assert_true(set == 0x03 || set == 0x0c || set == 0x30 || set == 0xc0);
        assert_int_equal(set & all, 0);
        all |= set;
    }
}

static void test_decide_node__one_device_is_taken_where_the_rest_loses_least(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_8gpu_pairs("n1");
    struct decide_policy policy = decide_policy_default();
    struct node_use use = use_none(node);

    (void)state;
    use_take(&use, node, 4, 81920, 100, ISOLATION_SHARED);
    /* Device 5 has lost its partner already. */
    assert_int_equal(take(node, &use, (struct wish){.count = 1}, &policy), mask_of(5));
}

/* --- what is known of the plan ------------------------------------------------------------------
 */

static void test_decide_node__leaves_the_plan_alone_when_the_node_is_refused(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 1000, 1);
    AUTO(request_clear) struct request request = request_of((struct wish){.count = 2});
    struct node_use use = use_none(node);
    struct plan plan = {.quality_0_100 = 42};

    (void)state;
    assert_int_equal(decide(node, &use, &request, &plan), REASON_TOO_FEW_DEVICES);
    assert_int_equal(plan.quality_0_100, 42);
}

static void test_decide_node__tells_tier_quality_and_load(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_8gpu_pairs("n");
    struct node_use use = use_none(node);
    static const struct {
        unsigned count;
        enum tier tier;
        uint16_t load_per_mille;
    } cases[] = {{1, TIER_INTERCONNECT, 125},
                 {2, TIER_INTERCONNECT, 250},
                 {4, TIER_NUMA, 500},
                 {8, TIER_CROSS, 1000}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear)
        struct request request = request_of((struct wish){.count = cases[i].count});
        struct plan plan;

        assert_int_equal(decide(node, &use, &request, &plan), REASON_OK);
        assert_int_equal(plan.tier, cases[i].tier);
        assert_int_equal(plan.quality_0_100, 100);
        assert_int_equal(plan.load_per_mille, cases[i].load_per_mille);
        assert_false(plan.degraded);
    }
}

static void test_decide_node__quality_is_relative_to_the_best_the_node_could_ever_give(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_8gpu_pairs("n");
    AUTO(request_clear) struct request request = request_of((struct wish){.count = 2});
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    for (unsigned i = 0; i < 8; i += 2)
        use_take(&use, node, i, 81920, 100, ISOLATION_SHARED);
    assert_int_equal(decide(node, &use, &request, &plan), REASON_OK);
    assert_int_equal(plan.tier, TIER_NUMA);
    assert_int_equal(plan.quality_0_100, 0); /* pairs with a bridge exist, and none is free */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decide_node__f04_each_device_by_its_own_size),
        cmocka_unit_test(test_decide_node__f05_admits_as_many_as_the_device_holds),
        cmocka_unit_test(test_decide_node__f11_the_same_part_of_several_devices),
        cmocka_unit_test(test_decide_node__f16_load_comes_before_the_order_of_sockets),
        cmocka_unit_test(test_decide_node__who_spreads_takes_idle_devices_before_sparing_pairs),
        cmocka_unit_test(test_decide_node__who_spreads_sets_takes_idle_devices),
        cmocka_unit_test(test_decide_node__hard_topology_tells_not_now_from_never),
        cmocka_unit_test(test_decide_node__calls_nothing_impossible_after_a_search_cut_short),
        cmocka_unit_test(test_decide_node__hard_topology_on_a_node_that_tells_nothing),
        cmocka_unit_test(test_decide_topology_rule__pods_override_but_off_stays_off),
        cmocka_unit_test(test_decide_node__topology_off_is_gpufit_alone),
        cmocka_unit_test(test_decide_node__f13_takes_linked_pairs_one_after_the_other),
        cmocka_unit_test(test_decide_node__one_device_is_taken_where_the_rest_loses_least),
        cmocka_unit_test(test_decide_node__leaves_the_plan_alone_when_the_node_is_refused),
        cmocka_unit_test(test_decide_node__tells_tier_quality_and_load),
        cmocka_unit_test(
            test_decide_node__quality_is_relative_to_the_best_the_node_could_ever_give),
    };

    return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
