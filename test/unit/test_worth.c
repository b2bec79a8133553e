/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/worth.h"

#define ROUNDS 20000

/* --- merits ---------------------------------------------------------------------------------- */

/* docs/concepts/scoring.md#the-order */
static const struct {
    unsigned count;
    enum criterion order[CRITERION_COUNT];
} orders[PACKING_POLICY_COUNT] = {
    [PACKING_PACK] = {8,
                      {CRITERION_TIER, CRITERION_QUALITY, CRITERION_LINKED_EIGHTS,
                       CRITERION_SETTLED, CRITERION_LINKED_FOURS, CRITERION_WASTE, CRITERION_BROKEN,
                       CRITERION_FULL}},
    [PACKING_SPREAD] = {3, {CRITERION_TIER, CRITERION_QUALITY, CRITERION_EMPTY}},
    [PACKING_TOPOLOGY_FIRST] = {6,
                                {CRITERION_TIER, CRITERION_QUALITY, CRITERION_GROUPS,
                                 CRITERION_WASTE, CRITERION_BROKEN, CRITERION_FULL}},
};

static const uint32_t most[CRITERION_COUNT] = {
    [CRITERION_TIER] = 3,
    [CRITERION_QUALITY] = 100,
    [CRITERION_LINKED_EIGHTS] = (1u << TOPOLOGY_LINKED_EIGHTS_BITS) - 1,
    [CRITERION_LINKED_FOURS] = (1u << TOPOLOGY_LINKED_FOURS_BITS) - 1,
    [CRITERION_GROUPS] = (1u << TOPOLOGY_GROUPS_LOST_BITS) - 1,
    [CRITERION_SETTLED] = SETTLED_MAX,
    [CRITERION_WASTE] = (1u << 23) - 1,
    [CRITERION_BROKEN] = 1,
    [CRITERION_FULL] = 4095,
    [CRITERION_EMPTY] = 1023,
};

/* Mostly alike, so that late criteria get to decide; often at the ends of their ranges. */
static void vary(uint64_t *chance, struct worth *worth)
{
    for (unsigned i = 0; i < CRITERION_COUNT; i++) {
        switch (chance_below(chance, 8)) {
        case 0:
            worth->of[i] = 0;
            break;
        case 1:
            worth->of[i] = most[i];
            break;
        case 2:
            worth->of[i] = chance_below(chance, most[i] + 1);
            break;
        }
    }
}

static int compare(const struct worth *a, const struct worth *b, enum packing_policy policy)
{
    for (unsigned i = 0; i < orders[policy].count; i++) {
        enum criterion criterion = orders[policy].order[i];

        if (a->of[criterion] != b->of[criterion])
            return a->of[criterion] > b->of[criterion] ? 1 : -1;
    }
    return 0;
}

static void test_worth_merit__the_first_criterion_that_differs_decides(void **state)
{
    struct worth a = {0}, b = {0};
    uint64_t chance = 1;

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        vary(&chance, &a);
        b = a;
        vary(&chance, &b);
        for (unsigned p = 0; p < PACKING_POLICY_COUNT; p++) {
            enum packing_policy policy = (enum packing_policy)p;
            uint64_t x = worth_merit(&a, policy), y = worth_merit(&b, policy);

            assert_true(x > 0 && y > 0);
            assert_int_equal(x > y ? 1 : x < y ? -1 : 0, compare(&a, &b, policy));
        }
    }
}

static void test_worth_order__is_what_merits_go_by(void **state)
{
    (void)state;
    for (unsigned p = 0; p < PACKING_POLICY_COUNT; p++) {
        unsigned count;
        const enum criterion *order = worth_order((enum packing_policy)p, &count);

        assert_int_equal(count, orders[p].count);
        assert_memory_equal(order, orders[p].order, count * sizeof *order);
    }
}

static void test_worth_of_merit__takes_a_merit_apart(void **state)
{
    struct worth worth = {0};
    uint64_t chance = 9;

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        vary(&chance, &worth);
        for (unsigned p = 0; p < PACKING_POLICY_COUNT; p++) {
            enum packing_policy policy = (enum packing_policy)p;
            struct worth apart;

            worth_of_merit(worth_merit(&worth, policy), policy, &apart);
            for (unsigned i = 0; i < orders[p].count; i++)
                assert_int_equal(apart.of[orders[p].order[i]], worth.of[orders[p].order[i]]);
            assert_true(worth_merit(&apart, policy) == worth_merit(&worth, policy));
        }
    }
}

/* --- what a plan is worth -------------------------------------------------------------------- */

/* A pod to be placed on a node. */
struct placing {
    struct node *node;
    struct node_use use;
    struct request request;
    struct rank_facts rank;
    struct host_amounts host;
};

/* Takes over the reference to the node. */
static struct placing placing_of(struct node *node, struct wish wish)
{
    return (struct placing){.node = node, .use = use_none(node), .request = request_of(wish)};
}

static void placing_clear(struct placing *placing)
{
    node_unref(placing->node);
    request_clear(&placing->request);
}

/* Whole devices are taken. */
static void take(struct placing *placing, device_mask devices)
{
    for (; devices != 0; devices &= devices - 1)
        use_take(&placing->use, placing->node, mask_first(devices), 81920, 100, ISOLATION_SHARED);
}

static struct worth worth_with(const struct placing *placing, const struct pod_mix *mix)
{
    const struct decide_policy policy = decide_policy_default();
    const struct waste_model *models[DEVICE_MAX];
    struct waste_model model;
    struct verdict verdict = {0};
    struct plan plan;
    struct worth worth;

    decide_node(placing->node, &placing->use, &placing->request, &policy, NULL, &plan, &verdict);
    assert_int_equal(verdict.reason, REASON_OK);
    if (mix != NULL)
        waste_model_init(&model, mix, &placing->node->devices[0]); /* all are alike */
    for (unsigned i = 0; i < placing->node->device_count; i++)
        models[i] = &model;
    worth_of(&(struct worth_question){.node = placing->node,
                                      .use = &placing->use,
                                      .rank = placing->rank,
                                      .request = &placing->request,
                                      .host = placing->host,
                                      .plan = &plan},
             mix != NULL ? models : NULL, &worth);
    return worth;
}

static struct worth worth_on(const struct placing *placing)
{
    return worth_with(placing, NULL);
}

/* Is the first node the better one under a policy? Nothing is known of what comes. */
static bool is_better(const struct placing *a, const struct placing *b, enum packing_policy policy)
{
    const struct worth x = worth_on(a), y = worth_on(b);

    assert_int_not_equal(worth_merit(&x, policy), worth_merit(&y, policy));
    return worth_merit(&x, policy) > worth_merit(&y, policy);
}

static void test_worth_of__says_how_much_of_the_devices_is_taken(void **state)
{
    AUTO(placing_clear)
    struct placing whole = placing_of(node_8gpu_nvswitch("n"), (struct wish){.count = 3});
    AUTO(placing_clear)
    struct placing part =
        placing_of(node_8gpu_nvswitch("n"), (struct wish){.count = 2, .percent = 25});

    (void)state;
    assert_int_equal(worth_on(&whole).taken_milli, 3000);
    assert_int_equal(worth_on(&part).taken_milli, 500);
}

/* Four wanted: the quad that is free alone, or half of a free node. */
static void test_worth_of__where_exactly_the_wanted_group_is_free_is_better(void **state)
{
    AUTO(placing_clear)
    struct placing exact = placing_of(node_8gpu_nvswitch("a"), (struct wish){.count = 4});
    AUTO(placing_clear)
    struct placing whole = placing_of(node_8gpu_nvswitch("b"), (struct wish){.count = 4});

    (void)state;
    take(&exact, 0x0f);
    assert_true(is_better(&exact, &whole, PACKING_PACK));
    assert_true(is_better(&exact, &whole, PACKING_TOPOLOGY_FIRST));
    assert_true(is_better(&whole, &exact, PACKING_SPREAD));
}

/* Both have a free quad; the one that is broken for it has pods that will stay. */
static void
test_worth_of__where_pods_have_run_long_is_better_than_where_fewer_fours_go(void **state)
{
    AUTO(placing_clear)
    struct placing settled = placing_of(node_8gpu_nvswitch("a"), (struct wish){.count = 1});
    AUTO(placing_clear)
    struct placing spares = placing_of(node_8gpu_nvswitch("b"), (struct wish){.count = 1});

    (void)state;
    take(&settled, 0x0f);
    take(&spares, 0x07);
    assert_true(is_better(&spares, &settled, PACKING_PACK));
    settled.rank.settled_0_7 = 1;
    assert_true(is_better(&settled, &spares, PACKING_PACK));
    assert_true(is_better(&spares, &settled, PACKING_TOPOLOGY_FIRST));
}

static void test_worth_of__a_whole_eight_is_spared_however_long_pods_have_run(void **state)
{
    AUTO(placing_clear)
    struct placing whole = placing_of(node_8gpu_nvswitch("a"), (struct wish){.count = 1});
    AUTO(placing_clear)
    struct placing begun = placing_of(node_8gpu_nvswitch("b"), (struct wish){.count = 1});

    (void)state;
    take(&begun, 0x01);
    whole.rank.settled_0_7 = SETTLED_MAX;
    assert_true(is_better(&begun, &whole, PACKING_PACK));
}

/* A fraction goes where it leaves less waste. */
static void test_worth_of__how_long_pods_have_run_is_nothing_to_a_fraction(void **state)
{
    const struct wish wish = {.count = 1, .mib = 1000};
    AUTO(placing_clear) struct placing joins = placing_of(node_plain("a", 2, 81920, 10), wish);
    AUTO(placing_clear) struct placing settled = placing_of(node_plain("b", 2, 81920, 10), wish);

    (void)state;
    use_take(&joins.use, joins.node, 0, 1000, 0, ISOLATION_SOFT);
    settled.rank.settled_0_7 = SETTLED_MAX;
    assert_true(is_better(&joins, &settled, PACKING_PACK));
}

/* Without NVLink groups are those of a socket: 2 left of a socket, or 3 of one and 4 of another. */
static void test_worth_of__groups_of_one_socket_count_for_topology_first_only(void **state)
{
    AUTO(placing_clear)
    struct placing breaks =
        placing_of(node_wired("a", "07-pcie-8-pix-pxb-dual-socket.txt"), (struct wish){.count = 1});
    AUTO(placing_clear)
    struct placing spares =
        placing_of(node_wired("b", "07-pcie-8-pix-pxb-dual-socket.txt"), (struct wish){.count = 1});

    (void)state;
    take(&breaks, 0x0f); /* a four is left, and broken */
    take(&spares, 0x01); /* the three beside the four gives one */
    assert_true(is_better(&spares, &breaks, PACKING_TOPOLOGY_FIRST));
    assert_true(is_better(&breaks, &spares, PACKING_PACK)); /* fuller */
}

static void
test_worth_of__without_a_mix_the_fuller_node_is_better_and_the_emptier_to_spread(void **state)
{
    AUTO(placing_clear)
    struct placing full = placing_of(node_plain("a", 4, 81920, 10), (struct wish){.count = 1});
    AUTO(placing_clear)
    struct placing idle = placing_of(node_plain("b", 4, 81920, 10), (struct wish){.count = 1});

    (void)state;
    take(&full, 0x3);
    assert_true(is_better(&full, &idle, PACKING_PACK));
    assert_true(is_better(&full, &idle, PACKING_TOPOLOGY_FIRST));
    assert_true(is_better(&idle, &full, PACKING_SPREAD));
}

static void test_worth_of__an_idle_device_is_not_broken_where_a_shared_one_will_do(void **state)
{
    const struct wish wish = {.count = 1, .mib = 1000};
    AUTO(placing_clear) struct placing joins = placing_of(node_plain("a", 2, 81920, 10), wish);
    AUTO(placing_clear) struct placing breaks = placing_of(node_plain("b", 2, 81920, 10), wish);

    (void)state;
    use_take(&joins.use, joins.node, 0, 1000, 0, ISOLATION_SOFT);
    take(&breaks, 0x1); /* fuller */
    assert_true(is_better(&joins, &breaks, PACKING_PACK));
    assert_true(is_better(&joins, &breaks, PACKING_TOPOLOGY_FIRST));
}

/* Only pods of 60 % come: 40 left of a device are lost, and 60 are not. */
static void test_worth_of__with_a_mix_what_stays_useful_comes_before_what_is_fuller(void **state)
{
    struct mix_task task = {
        .ask = {.class = &test_class, .count = 1, .memory_kind = MEMORY_PERCENT, .memory = 60},
        .share = 1};
    const struct wish wish = {.count = 1, .percent = 20};
    AUTO(placing_clear) struct placing spoils = placing_of(node_plain("a", 1, 1000, 10), wish);
    AUTO(placing_clear) struct placing spares = placing_of(node_plain("b", 1, 1000, 10), wish);
    struct pod_mix *mix = pod_mix_new(1);
    struct worth a, b;

    (void)state;
    pod_mix_add(mix, &task);
    use_take(&spoils.use, spoils.node, 0, 390, 0, ISOLATION_SOFT); /* 610, then 410 */
    use_take(&spares.use, spares.node, 0, 100, 0, ISOLATION_SOFT); /* 900, then 700 */
    assert_true(is_better(&spoils, &spares, PACKING_PACK));
    a = worth_with(&spoils, mix);
    b = worth_with(&spares, mix);
    assert_true(worth_merit(&b, PACKING_PACK) > worth_merit(&a, PACKING_PACK));
    assert_true(worth_merit(&b, PACKING_TOPOLOGY_FIRST) > worth_merit(&a, PACKING_TOPOLOGY_FIRST));
    pod_mix_unref(mix);
}

/* A third of a device that takes one tenant only leaves two thirds to nobody. */
static void test_worth_of__a_part_of_a_device_that_cannot_be_shared_wastes_the_rest(void **state)
{
    struct mix_task task = {
        .ask = {.class = &test_class, .count = 1, .memory_kind = MEMORY_PERCENT, .memory = 30},
        .share = 1};
    const struct wish wish = {.count = 1, .percent = 30};
    AUTO(placing_clear) struct placing closes = placing_of(node_plain("a", 2, 1000, 1), wish);
    AUTO(placing_clear) struct placing shares = placing_of(node_plain("b", 2, 1000, 3), wish);
    struct pod_mix *mix = pod_mix_new(1);
    struct worth a, b;

    (void)state;
    pod_mix_add(mix, &task);
    assert_true(is_better(&shares, &closes, PACKING_PACK));
    assert_true(is_better(&shares, &closes, PACKING_TOPOLOGY_FIRST));
    a = worth_with(&closes, mix);
    b = worth_with(&shares, mix);
    assert_true(worth_merit(&b, PACKING_PACK) > worth_merit(&a, PACKING_PACK));
    pod_mix_unref(mix);
}

/* The scheduler sees to it that CPU suffices; a host that says too much must not harm either. */
static void test_worth_of__absurd_amounts_of_cpu_stay_within_the_range(void **state)
{
    static const uint64_t amounts[] = {1, 1000000, (uint64_t)1 << 40, UINT64_MAX - 1, UINT64_MAX};
    struct mix_task task = {.ask = {.class = &test_class, .count = 1},
                            .host = {UINT64_MAX, 0},
                            .is_whole = true,
                            .share = 1};
    struct pod_mix *mix = pod_mix_new(1);

    (void)state;
    pod_mix_add(mix, &task);
    for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
        AUTO(placing_clear)
        struct placing placing = placing_of(node_plain("n", 4, 1000, 1), (struct wish){.count = 2});
        struct worth worth;

        placing.node->host.cpu_milli = amounts[i];
        placing.host.cpu_milli = amounts[ARRAY_LEN(amounts) - 1 - i];
        worth = worth_with(&placing, mix);
        for (unsigned c = 0; c < CRITERION_COUNT; c++)
            assert_in_range(worth.of[c], 0, most[c]);
    }
    pod_mix_unref(mix);
}

static void test_worth_charge__costs_lower_the_waste_criterion_and_nothing_else(void **state)
{
    AUTO(placing_clear)
    struct placing placing = placing_of(node_plain("n", 2, 1000, 1), (struct wish){.count = 1});
    const struct worth free = worth_on(&placing);
    struct worth charged = free;

    (void)state;
    worth_charge(&charged, 0);
    assert_memory_equal(&charged, &free, sizeof free);
    worth_charge(&charged, 10);
    assert_int_equal(free.of[CRITERION_WASTE] - charged.of[CRITERION_WASTE], 250);
    charged.of[CRITERION_WASTE] = free.of[CRITERION_WASTE];
    assert_memory_equal(&charged, &free, sizeof free);
    worth_charge(&charged, 1e12);
    assert_int_equal(charged.of[CRITERION_WASTE], 0);
    worth_charge(&charged, -1e12);
    assert_int_equal(charged.of[CRITERION_WASTE], most[CRITERION_WASTE]);
}

static void assert_value(const struct worth *worth, enum criterion criterion, double want)
{
    double value = worth_value(worth, criterion);

    if (value < want - 0.001 || value > want + 0.001)
        fail_msg("%s is %f, not %f", criterion_name(criterion), value, want);
}

/* Three of eight A100s of 64 CPUs: 40 CPUs are in use, the pod takes 8. */
static void test_worth_value__is_what_was_measured(void **state)
{
    AUTO(placing_clear)
    struct placing placing = placing_of(node_8gpu_nvswitch("n"), (struct wish){.count = 3});
    struct worth worth;

    (void)state;
    placing.node->host.cpu_milli = 64000;
    placing.rank = (struct rank_facts){.host_used.cpu_milli = 40000, .settled_0_7 = 2};
    placing.host.cpu_milli = 8000;
    worth = worth_on(&placing);
    assert_value(&worth, CRITERION_TIER, TIER_INTERCONNECT);
    assert_value(&worth, CRITERION_QUALITY, 100);
    assert_value(&worth, CRITERION_LINKED_EIGHTS, 1);
    assert_value(&worth, CRITERION_SETTLED, 2);
    assert_value(&worth, CRITERION_LINKED_FOURS, 012); /* of 4, of 2 */
    assert_value(&worth, CRITERION_GROUPS, 0111122);
    assert_value(&worth, CRITERION_WASTE, 0);
    assert_value(&worth, CRITERION_BROKEN, 0);
    assert_value(&worth, CRITERION_FULL, 5984); /* 5 GPUs and a sixteenth of 16 CPUs, in steps */
    assert_value(&worth, CRITERION_EMPTY, 375);
    worth_charge(&worth, 2.2);
    assert_value(&worth, CRITERION_WASTE, 2.2);
}

/* --- pods without devices -------------------------------------------------------------------- */

static const struct host_amounts one_cpu = {1000, 0};

static uint64_t bystander(const struct placing *placing)
{
    return worth_merit_without_devices(placing->node, &placing->use, placing->rank.host_used,
                                       one_cpu);
}

static struct placing host_of(unsigned devices, uint64_t cpu_milli)
{
    struct placing placing =
        placing_of(node_plain("n", devices, 81920, 1), (struct wish){.count = 1});

    placing.node->host.cpu_milli = cpu_milli;
    return placing;
}

static void test_worth_merit_without_devices__stays_away_from_hosts_of_idle_devices(void **state)
{
    AUTO(placing_clear) struct placing none = host_of(0, 100000), idle = host_of(4, 8000);
    AUTO(placing_clear) struct placing busy = host_of(4, 100000);

    (void)state;
    take(&busy, 0x7);
    assert_true(bystander(&none) > bystander(&busy));
    assert_true(bystander(&busy) > bystander(&idle)); /* though it has far more CPU left */
    take(&busy, 0x8);
    assert_int_equal(bystander(&busy) > bystander(&none), false);
}

static void
test_worth_merit_without_devices__beside_alike_devices_the_fuller_host_wins(void **state)
{
    AUTO(placing_clear) struct placing full = host_of(2, 64000), empty = host_of(2, 64000);

    (void)state;
    full.rank.host_used.cpu_milli = 40000;
    assert_true(bystander(&full) > bystander(&empty));
}

static void test_worth_merit_without_devices__is_0_where_nothing_is_known_or_asked(void **state)
{
    AUTO(placing_clear) struct placing silent = host_of(4, 0), known = host_of(4, 64000);
    const struct host_amounts nothing = {0};

    (void)state;
    assert_int_equal(bystander(&silent), 0);
    assert_int_equal(
        worth_merit_without_devices(known.node, &known.use, known.rank.host_used, nothing), 0);
}

/* --- grades ---------------------------------------------------------------------------------- */

static int grade(enum tier tier, unsigned quality_0_100, unsigned load_per_mille, unsigned count,
                 enum packing_policy policy)
{
    AUTO(request_clear) struct request request = request_of((struct wish){.count = count});
    const struct worth worth = {.of = {[CRITERION_TIER] = 3 - (unsigned)tier,
                                       [CRITERION_QUALITY] = quality_0_100,
                                       [CRITERION_EMPTY] = 1023 - load_per_mille}};

    return worth_grade_1_10(&worth, &request, policy, true);
}

static void test_worth_grade__of_a_set_goes_by_tier_and_inside_one_by_links(void **state)
{
    static const struct {
        enum tier tier;
        int best, worst;
    } cases[] = {
        {TIER_INTERCONNECT, 10, 7}, {TIER_NUMA, 6, 4}, {TIER_CROSS, 3, 2}, {TIER_UNKNOWN, 1, 1}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (unsigned load = 0; load <= 1000; load += 500) {
            assert_int_equal(grade(cases[i].tier, 100, load, 4, PACKING_PACK), cases[i].best);
            assert_int_equal(grade(cases[i].tier, 0, load, 4, PACKING_SPREAD), cases[i].worst);
        }
        for (unsigned quality = 0; quality < 100; quality++)
            assert_true(grade(cases[i].tier, quality + 1, 0, 4, PACKING_PACK) >=
                        grade(cases[i].tier, quality, 0, 4, PACKING_PACK));
    }
}

static void test_worth_grade__of_a_single_device_goes_by_load_as_the_policy_likes_it(void **state)
{
    (void)state;
    for (unsigned load = 0; load <= 1000; load++) {
        int pack = grade(TIER_INTERCONNECT, 100, load, 1, PACKING_PACK);

        assert_in_range(pack, 1, 10);
        assert_int_equal(grade(TIER_INTERCONNECT, 100, load, 1, PACKING_TOPOLOGY_FIRST), pack);
        assert_int_equal(grade(TIER_INTERCONNECT, 100, 1000 - load, 1, PACKING_SPREAD), pack);
        if (load > 0)
            assert_true(pack >= grade(TIER_INTERCONNECT, 100, load - 1, 1, PACKING_PACK));
    }
    assert_int_equal(grade(TIER_INTERCONNECT, 100, 0, 1, PACKING_PACK), 1);
    assert_int_equal(grade(TIER_INTERCONNECT, 100, 1000, 1, PACKING_PACK), 10);
}

static void test_worth_grade__of_a_set_goes_by_load_where_nobody_looks_at_links(void **state)
{
    AUTO(request_clear) struct request set = request_of((struct wish){.count = 2});

    (void)state;
    for (unsigned load = 0; load <= 1000; load += 50) {
        const struct worth worth = {.of = {[CRITERION_QUALITY] = 100, /* and tier 3 */
                                           [CRITERION_EMPTY] = 1023 - load}};

        assert_int_equal(worth_grade_1_10(&worth, &set, PACKING_PACK, false),
                         grade(TIER_INTERCONNECT, 100, load, 1, PACKING_PACK));
        assert_int_equal(worth_grade_1_10(&worth, &set, PACKING_SPREAD, false),
                         grade(TIER_INTERCONNECT, 100, load, 1, PACKING_SPREAD));
    }
}

static void test_worth_grade_without_devices__is_best_where_no_device_waits(void **state)
{
    AUTO(placing_clear) struct placing none = host_of(0, 1), idle = host_of(2, 1);
    AUTO(placing_clear) struct placing busy = host_of(2, 1);

    (void)state;
    take(&busy, 0x3);
    assert_int_equal(worth_grade_without_devices_1_10(none.node, &none.use), 10);
    assert_int_equal(worth_grade_without_devices_1_10(busy.node, &busy.use), 10);
    assert_int_equal(worth_grade_without_devices_1_10(idle.node, &idle.use), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worth_merit__the_first_criterion_that_differs_decides),
        cmocka_unit_test(test_worth_order__is_what_merits_go_by),
        cmocka_unit_test(test_worth_of_merit__takes_a_merit_apart),
        cmocka_unit_test(test_worth_of__says_how_much_of_the_devices_is_taken),
        cmocka_unit_test(test_worth_of__where_exactly_the_wanted_group_is_free_is_better),
        cmocka_unit_test(
            test_worth_of__where_pods_have_run_long_is_better_than_where_fewer_fours_go),
        cmocka_unit_test(test_worth_of__a_whole_eight_is_spared_however_long_pods_have_run),
        cmocka_unit_test(test_worth_of__how_long_pods_have_run_is_nothing_to_a_fraction),
        cmocka_unit_test(test_worth_of__groups_of_one_socket_count_for_topology_first_only),
        cmocka_unit_test(
            test_worth_of__without_a_mix_the_fuller_node_is_better_and_the_emptier_to_spread),
        cmocka_unit_test(test_worth_of__an_idle_device_is_not_broken_where_a_shared_one_will_do),
        cmocka_unit_test(test_worth_of__with_a_mix_what_stays_useful_comes_before_what_is_fuller),
        cmocka_unit_test(test_worth_of__a_part_of_a_device_that_cannot_be_shared_wastes_the_rest),
        cmocka_unit_test(test_worth_of__absurd_amounts_of_cpu_stay_within_the_range),
        cmocka_unit_test(test_worth_charge__costs_lower_the_waste_criterion_and_nothing_else),
        cmocka_unit_test(test_worth_value__is_what_was_measured),
        cmocka_unit_test(test_worth_merit_without_devices__stays_away_from_hosts_of_idle_devices),
        cmocka_unit_test(
            test_worth_merit_without_devices__beside_alike_devices_the_fuller_host_wins),
        cmocka_unit_test(test_worth_merit_without_devices__is_0_where_nothing_is_known_or_asked),
        cmocka_unit_test(test_worth_grade__of_a_set_goes_by_tier_and_inside_one_by_links),
        cmocka_unit_test(test_worth_grade__of_a_single_device_goes_by_load_as_the_policy_likes_it),
        cmocka_unit_test(test_worth_grade__of_a_set_goes_by_load_where_nobody_looks_at_links),
        cmocka_unit_test(test_worth_grade_without_devices__is_best_where_no_device_waits),
    };

    return cmocka_run_group_tests_name("worth", tests, NULL, NULL);
}
