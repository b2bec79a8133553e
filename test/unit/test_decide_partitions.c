/* SPDX-License-Identifier: Apache-2.0 */
/* decide on divided devices: which profile, which place, which device. */
#include "support/builtin_classes.h"
#include "support/builders.h"
#include "support/class_nodes.h"
#include "support/decide_plainly.h"
#include "support/test.h"

#include "topofit/class.h"

#define A100 "NVIDIA A100-SXM4-40GB"

static struct node *node_a100(unsigned n)
{
    const struct device_class *class = builtin_class("nvidia");
    struct node *node = node_of_class(class, n, 40960, 7);

    node_divide(node, table_of(class, A100));
    return node;
}

/* Somebody's partition on a device. */
static void use_partition(struct node_use *use, const struct node *node, unsigned position,
                          const char *profile, unsigned start)
{
    const struct partition_table *table = node->devices[position].partitions;
    const int at = partition_find(table, profile);
    const struct grant grant = {
        .id = node->devices[position].id,
        .memory_mib = table->profiles[at].memory_mib,
        .slots = 1,
        .mode = ISOLATION_PARTITIONED,
        .partitions = partition_at(table, use->devices[position].partitions, (unsigned)at, start)};

    assert_true(grant.partitions.slices != 0);
    node_use_add(use, node, &grant);
    assert_false(use->devices[position].conflicted);
}

/* One container's partition, by profile or by memory. */
static enum reason decide_one(const struct node *node, const struct node_use *use,
                              const char *profile, uint64_t mib, struct plan *plan)
{
    AUTO(request_clear) struct request request = {0};

    request_init(&request);
    request_profile(&request, node->devices[0].class, CONTAINER_APP, profile, mib);
    return decide_plainly(node, use, &request, plan);
}

static const char *planned_name(const struct node *node, const struct plan *plan, unsigned i)
{
    const struct planned_partition *planned = &plan->partitions[i];

    return node->devices[planned->position].partitions->profiles[planned->profile].name;
}

/* --- which place ----------------------------------------------------------------------------- */

static void test_decide_node__keeps_room_for_large_partitions(void **state)
{
    static const struct {
        const char *taken; /* a 1g for each digit */
        const char *profile;
        unsigned start;
    } cases[] = {
        {"", "1g.5gb", 6},     {"6", "1g.5gb", 5},   {"65", "1g.5gb", 4}, {"654", "1g.5gb", 3},
        {"6543", "1g.5gb", 2}, {"", "2g.10gb", 4},   {"6", "2g.10gb", 4}, {"4", "2g.10gb", 2},
        {"", "3g.20gb", 4},    {"4", "3g.20gb", 0},  {"6", "4g.20gb", 0}, {"", "7g.40gb", 0},
        {"", "1g.10gb", 6},    {"", "1g.5gb+me", 6},
    };
    AUTO(node_unref_pointer) struct node *node = node_a100(1);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct node_use use = use_none(node);
        struct plan plan;

        for (const char *at = cases[i].taken; *at != '\0'; at++)
            use_partition(&use, node, 0, "1g.5gb", (unsigned)(*at - '0'));
        assert_int_equal(decide_one(node, &use, cases[i].profile, 0, &plan), REASON_OK);
        assert_int_equal(plan.partition_count, 1);
        assert_string_equal(planned_name(node, &plan, 0), cases[i].profile);
        assert_int_equal(plan.partitions[0].start, cases[i].start);
    }
}

static void test_decide_node__takes_the_device_where_nothing_large_is_lost(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_a100(3);
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    use_partition(&use, node, 1, "1g.5gb", 6);
    use_partition(&use, node, 2, "1g.5gb", 0);
    assert_int_equal(decide_one(node, &use, "1g.5gb", 0, &plan), REASON_OK);
    assert_int_equal(plan.sets[0], mask_from("2")); /* its first half is broken already */
    assert_int_equal(decide_one(node, &use, "4g.20gb", 0, &plan), REASON_OK);
    assert_int_equal(plan.sets[0], mask_from("1"));
    assert_int_equal(decide_one(node, &use, "7g.40gb", 0, &plan), REASON_OK);
    assert_int_equal(plan.sets[0], mask_from("0"));
}

/* --- which profile --------------------------------------------------------------------------- */

static void test_decide_node__memory_takes_the_smallest_profile_that_is_enough(void **state)
{
    static const struct {
        uint64_t mib;
        const char *want; /* NULL: refused */
    } cases[] = {
        {1, "1g.5gb"},      {4864, "1g.5gb"},   {4865, "1g.10gb"},  {9857, "3g.20gb"},
        {19968, "3g.20gb"}, {19969, "7g.40gb"}, {40192, "7g.40gb"}, {40193, NULL},
    };
    AUTO(node_unref_pointer) struct node *node = node_a100(1);
    struct node_use use = use_none(node);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan plan;
        enum reason reason = decide_one(node, &use, NULL, cases[i].mib, &plan);

        assert_int_equal(reason, cases[i].want != NULL ? REASON_OK : REASON_PROFILE);
        if (cases[i].want != NULL)
            assert_string_equal(planned_name(node, &plan, 0), cases[i].want);
    }
}

static void test_decide_node__a_larger_profile_serves_where_the_smaller_has_no_place(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_a100(1);
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    use_partition(&use, node, 0, "1g.10gb", 0);
    use_partition(&use, node, 0, "1g.10gb", 2);
    use_partition(&use, node, 0, "1g.10gb", 4);
    assert_int_equal(decide_one(node, &use, NULL, 4000, &plan), REASON_OK);
    assert_string_equal(planned_name(node, &plan, 0), "1g.5gb");
    use_partition(&use, node, 0, "1g.5gb", 6);
    assert_int_equal(decide_one(node, &use, NULL, 4000, &plan), REASON_PLACEMENT);
}

static void test_decide_node__percent_count_slices_as_well(void **state)
{
    static const struct {
        uint64_t percent;
        uint16_t cores;
        const char *want;
    } cases[] = {
        {12, 0, "1g.5gb"},  {13, 0, "1g.10gb"},  {25, 0, "1g.10gb"},  {50, 0, "3g.20gb"},
        {51, 0, "7g.40gb"}, {100, 0, "7g.40gb"}, {12, 20, "2g.10gb"}, {12, 57, "4g.20gb"},
    };
    AUTO(node_unref_pointer) struct node *node = node_a100(1);
    struct node_use use = use_none(node);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(request_clear)
        struct request request = request_of_class(node->devices[0].class, 1, 1, cases[i].cores);
        struct plan plan;

        request.asks[0].memory_kind = MEMORY_PERCENT;
        request.asks[0].memory = cases[i].percent;
        assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_OK);
        assert_string_equal(planned_name(node, &plan, 0), cases[i].want);
    }
}

static void test_decide_node__a_whole_device_is_its_largest_profile(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_a100(1);
    AUTO(request_clear) struct request request = request_of_class(node->devices[0].class, 1, 0, 0);
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_OK);
    assert_string_equal(planned_name(node, &plan, 0), "7g.40gb");
    request.isolation = ISOLATION_SHARED;
    assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_DIVIDED);
    request.isolation = ISOLATION_NONE;
    use_partition(&use, node, 0, "1g.5gb", 6);
    assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_PLACEMENT);
}

static void test_decide_node__names_what_a_device_has_not(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_a100(1);
    AUTO(node_unref_pointer) struct node *plain = node_plain("n2", 1, 40960, 7);
    struct node_use use = use_none(node), none = use_none(plain);
    struct plan plan;

    (void)state;
    assert_int_equal(decide_one(node, &use, "1g.10gb.me", 0, &plan), REASON_PROFILE);
    assert_int_equal(decide_one(node, &use, "1g.5gb.me", 0, &plan), REASON_OK);
    plain->devices[0].class = node->devices[0].class;
    assert_int_equal(decide_one(plain, &none, "1g.5gb", 0, &plan), REASON_PARTITIONS);
    assert_int_equal(decide_one(plain, &none, NULL, 4000, &plan), REASON_OK);
    assert_int_equal(plan.partition_count, 0);
}

/* --- several at once ------------------------------------------------------------------------- */

static enum reason decide_list(const struct node *node, const struct node_use *use,
                               const char *const *profiles, struct plan *plan,
                               struct request *request)
{
    request_init(request);
    for (; *profiles != NULL; profiles++)
        request_profile(request, node->devices[0].class, CONTAINER_APP, *profiles, 0);
    return decide_plainly(node, use, request, plan);
}

static void test_decide_node__several_partitions_are_placed_together(void **state)
{
    static const struct {
        unsigned devices;
        const char *profiles[9];
        enum reason want;
    } cases[] = {
        {1, {"1g.5gb", "1g.5gb", "1g.5gb", "4g.20gb"}, REASON_OK},
        {1, {"1g.5gb", "2g.10gb", "4g.20gb"}, REASON_OK},
        {1, {"3g.20gb", "1g.5gb", "3g.20gb"}, REASON_CONTAINERS},
        {1, {"2g.10gb", "2g.10gb", "2g.10gb", "1g.5gb"}, REASON_OK},
        {1, {"2g.10gb", "2g.10gb", "2g.10gb", "2g.10gb"}, REASON_CONTAINERS},
        {1, {"1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb"}, REASON_OK},
        {1,
         {"1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb"},
         REASON_CONTAINERS},
        {2, {"3g.20gb", "1g.5gb", "3g.20gb"}, REASON_OK},
        {2, {"4g.20gb", "4g.20gb", "3g.20gb", "3g.20gb"}, REASON_OK},
        {2, {"7g.40gb", "1g.5gb", "7g.40gb"}, REASON_CONTAINERS},
        {2, {"2g.10gb", "3g.20gb", "2g.10gb", "3g.20gb", "4g.20gb"}, REASON_OK},
        {2, {"2g.10gb", "3g.20gb", "2g.10gb", "3g.20gb", "4g.20gb", "1g.5gb"}, REASON_CONTAINERS},
        {2, {"2g.10gb", "3g.20gb", "2g.10gb", "3g.20gb", "2g.10gb", "1g.5gb"}, REASON_OK},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(node_unref_pointer) struct node *node = node_a100(cases[i].devices);
        AUTO(request_clear) struct request request = {0};
        struct node_use use = use_none(node);
        struct plan plan;

        assert_int_equal(decide_list(node, &use, cases[i].profiles, &plan, &request),
                         cases[i].want);
        if (cases[i].want == REASON_OK)
            assert_int_equal(plan.partition_count, request.ask_count);
    }
}

static void test_decide_node__init_steps_may_have_the_partition_of_an_app(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_a100(1);
    AUTO(request_clear) struct request request = {0};
    AUTO(allocation_clear) struct allocation record = {0};
    struct node_use use = use_none(node);
    struct grant grants[2];
    struct plan plan;

    (void)state;
    request_init(&request);
    request_profile(&request, node->devices[0].class, CONTAINER_INIT, "7g.40gb", 0);
    request_profile(&request, node->devices[0].class, CONTAINER_APP, "7g.40gb", 0);
    assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_OK);
    plan_allocation(&plan, node, &request, &record);
    assert_int_equal(allocation_grants(&record, false, grants, 2), 1);
    assert_int_equal(grants[0].partitions.slices, 0xff);
    assert_int_equal(grants[0].partitions.compute, 7);
    node_use_add(&use, node, &grants[0]);
    assert_false(use.devices[0].conflicted);
    assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_PLACEMENT);
}

/* --- records --------------------------------------------------------------------------------- */

static void test_node_use_add__what_contradicts_the_device_makes_it_conflicted(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_a100(1);
    const struct grant soft = {.id = "GPU-0", .memory_mib = 1, .slots = 1, .mode = ISOLATION_SOFT};
    const struct grant lost = {
        .id = "GPU-0", .memory_mib = 1, .slots = 1, .mode = ISOLATION_PARTITIONED};
    const struct grant both[] = {soft, lost};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        struct node_use use = use_none(node);
        struct plan plan;

        node_use_add(&use, node, &both[i]);
        assert_true(use.devices[0].conflicted);
        assert_int_equal(decide_one(node, &use, "1g.5gb", 0, &plan), REASON_CONFLICT);
    }
}

/* --- fixed ways ------------------------------------------------------------------------------ */

static struct node *node_geometry(unsigned n)
{
    static const struct partition_profile profiles[] = {
        {.name = "1g.5gb", .memory_mib = 5120, .width = 1, .starts = 0x007f, .group = 1},
        {.name = "2g.10gb", .memory_mib = 10240, .width = 1, .starts = 0x0380, .group = 2},
        {.name = "1g.5gb", .memory_mib = 5120, .width = 1, .starts = 0x0400, .group = 2},
        {.name = "3g.20gb", .memory_mib = 20480, .width = 1, .starts = 0x1800, .group = 3},
        {.name = "7g.40gb", .memory_mib = 40960, .width = 1, .starts = 0x2000, .group = 4},
    };
    const char *fault = NULL;
    struct node *node = node_of_class(builtin_class("nvidia"), n, 40960, 7);

    node_divide(node, partition_table_of_profiles(profiles, ARRAY_LEN(profiles), &fault));
    return node;
}

/* source: the static geometry of Volcano's device plugin */
static void test_decide_node__a_fixed_way_holds_until_the_device_is_idle(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_geometry(1);
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    assert_int_equal(decide_one(node, &use, NULL, 5000, &plan), REASON_OK);
    assert_int_equal(plan.partitions[0].profile, 0); /* the first way that is enough */
    assert_int_equal(decide_one(node, &use, NULL, 9000, &plan), REASON_OK);
    assert_int_equal(plan.partitions[0].profile, 1);
    use_partition(&use, node, 0, "2g.10gb", 7);
    assert_int_equal(decide_one(node, &use, NULL, 5000, &plan), REASON_OK);
    assert_int_equal(plan.partitions[0].profile, 2); /* nobody has used it yet */
    assert_int_equal(decide_one(node, &use, "1g.5gb", 0, &plan), REASON_OK);
    assert_int_equal(plan.partitions[0].start, 10);
    assert_int_equal(decide_one(node, &use, NULL, 20000, &plan), REASON_PLACEMENT);
}

static void test_decide_node__a_way_in_use_is_filled_before_another_is_begun(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_geometry(2);
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    use_partition(&use, node, 1, "2g.10gb", 7);
    assert_int_equal(decide_one(node, &use, NULL, 10000, &plan), REASON_OK);
    assert_int_equal(plan.sets[0], mask_from("1"));
    assert_int_equal(decide_one(node, &use, NULL, 20000, &plan), REASON_OK);
    assert_int_equal(plan.sets[0], mask_from("0"));
}

/* Containers that run one after the other may all have one place: so many ways to share it. */
static void test_decide_node__places_many_containers_that_never_run_together_at_once(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_a100(1);
    AUTO(request_clear) struct request request = {0};
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    request_init(&request);
    for (unsigned i = 0; i < 15; i++)
        request_profile(&request, node->devices[0].class, CONTAINER_INIT, NULL, 5000);
    assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_OK);
    assert_int_equal(plan.partition_count, 15);
    for (unsigned i = 1; i < 15; i++)
        assert_int_equal(plan.partitions[i].start, plan.partitions[0].start);
    assert_false(plan.degraded);
}

/* As HAMi's plugin lists the profiles that its configuration allows, the whole device not among. */
static void test_decide_node__a_list_without_the_whole_device_limits_no_compute(void **state)
{
    const struct partition_profile profiles[] = {
        {.name = "1g.5gb",
         .memory_mib = 5120,
         .cores = 14,
         .width = 1,
         .compute = 1,
         .starts = 0x7f},
        {.name = "3g.20gb",
         .memory_mib = 20480,
         .cores = 42,
         .width = 4,
         .compute = 3,
         .starts = 0x11},
    };
    AUTO(node_unref_pointer)
    struct node *node = node_of_class(builtin_class("nvidia"), 1, 40960, 7);
    struct node_use use;
    struct plan plan;
    const char *fault = NULL;

    (void)state;
    node_divide(node, partition_table_of_profiles(profiles, ARRAY_LEN(profiles), &fault));
    use = use_none(node);
    use_partition(&use, node, 0, "3g.20gb", 4);
    for (unsigned start = 0; start < 3; start++)
        use_partition(&use, node, 0, "1g.5gb", start);
    assert_int_equal(decide_one(node, &use, "1g.5gb", 0, &plan), REASON_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decide_node__places_many_containers_that_never_run_together_at_once),
        cmocka_unit_test(test_decide_node__a_list_without_the_whole_device_limits_no_compute),
        cmocka_unit_test(test_decide_node__keeps_room_for_large_partitions),
        cmocka_unit_test(test_decide_node__takes_the_device_where_nothing_large_is_lost),
        cmocka_unit_test(test_decide_node__memory_takes_the_smallest_profile_that_is_enough),
        cmocka_unit_test(test_decide_node__a_larger_profile_serves_where_the_smaller_has_no_place),
        cmocka_unit_test(test_decide_node__percent_count_slices_as_well),
        cmocka_unit_test(test_decide_node__a_whole_device_is_its_largest_profile),
        cmocka_unit_test(test_decide_node__names_what_a_device_has_not),
        cmocka_unit_test(test_decide_node__several_partitions_are_placed_together),
        cmocka_unit_test(test_decide_node__init_steps_may_have_the_partition_of_an_app),
        cmocka_unit_test(test_node_use_add__what_contradicts_the_device_makes_it_conflicted),
        cmocka_unit_test(test_decide_node__a_fixed_way_holds_until_the_device_is_idle),
        cmocka_unit_test(test_decide_node__a_way_in_use_is_filled_before_another_is_begun),
    };

    return cmocka_run_group_tests_name("decide_partitions", tests, builtin_classes_set_up,
                                       builtin_classes_tear_down);
}
