/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/grant.h"

#include <stdlib.h>

#define GPU "GPU-0"

/* A container with one line for GPU-0; mib 0 = without devices. */
struct line {
    enum container_kind kind;
    uint64_t mib;
    uint16_t cores;
};

static struct allocation record_of(const struct line *lines, size_t count)
{
    struct allocation record;

    allocation_init(&record);
    for (size_t i = 0; i < count && (lines[i].mib > 0 || lines[i].kind != CONTAINER_APP); i++) {
        allocation_add_container(&record, "c", lines[i].kind);
        if (lines[i].mib > 0)
            record_line(&record, GPU, lines[i].mib, lines[i].cores, ISOLATION_SOFT);
    }
    return record;
}

/* --- phases ---------------------------------------------------------------------------------- */

static void test_allocation_grants__f10_books_the_greatest_phase(void **state)
{
    static const struct {
        struct line lines[5];
        uint64_t starting_mib, running_mib;
        uint16_t starting_slots, running_slots;
    } cases[] = {
        /* three steps one after the other, then the app */
        {{{CONTAINER_INIT, 10240, 0},
          {CONTAINER_INIT, 10240, 0},
          {CONTAINER_INIT, 10240, 0},
          {CONTAINER_APP, 12288, 0}},
         12288,
         12288,
         1,
         1},
        /* the step is bigger than the app */
        {{{CONTAINER_INIT, 10240, 0}, {CONTAINER_APP, 4096, 0}}, 10240, 4096, 1, 1},
        /* a sidecar runs beside the step and beside the app */
        {{{CONTAINER_SIDECAR, 4096, 0}, {CONTAINER_INIT, 10240, 0}, {CONTAINER_APP, 8192, 0}},
         14336,
         12288,
         2,
         2},
        /* a sidecar that starts after the step does not run beside it */
        {{{CONTAINER_INIT, 10240, 0}, {CONTAINER_SIDECAR, 4096, 0}, {CONTAINER_APP, 1024, 0}},
         10240,
         5120,
         2,
         2},
        /* two sidecars, a step between them */
        {{{CONTAINER_SIDECAR, 100, 0},
          {CONTAINER_INIT, 1000, 0},
          {CONTAINER_SIDECAR, 10, 0},
          {CONTAINER_APP, 1, 0}},
         1100,
         111,
         3,
         3},
        /* apps run together */
        {{{CONTAINER_APP, 100, 0}, {CONTAINER_APP, 200, 0}, {CONTAINER_APP, 300, 0}},
         600,
         600,
         3,
         3},
        /* only a step has the device */
        {{{CONTAINER_INIT, 10240, 0}}, 10240, 0, 1, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(allocation_clear)
        struct allocation record = record_of(cases[i].lines, ARRAY_LEN(cases[i].lines));
        struct grant grant;

        assert_int_equal(allocation_grants(&record, false, &grant, 1), 1);
        assert_int_equal(grant.memory_mib, cases[i].starting_mib);
        assert_int_equal(grant.slots, cases[i].starting_slots);
        assert_int_equal(allocation_grants(&record, true, &grant, 1), 1);
        assert_int_equal(grant.memory_mib, cases[i].running_mib);
        assert_int_equal(grant.slots, cases[i].running_slots);
    }
}

static void test_allocation_grants__takes_the_greatest_of_each_amount_by_itself(void **state)
{
    static const struct line lines[] = {{CONTAINER_INIT, 8000, 10}, {CONTAINER_APP, 1000, 70}};
    AUTO(allocation_clear) struct allocation record = record_of(lines, ARRAY_LEN(lines));
    struct grant grant;

    (void)state;
    allocation_grants(&record, false, &grant, 1);
    assert_int_equal(grant.memory_mib, 8000);
    assert_int_equal(grant.cores, 70);
}

static void test_allocation_grants__lists_devices_in_order_of_first_mention(void **state)
{
    AUTO(allocation_clear) struct allocation record;
    struct grant grants[4];

    (void)state;
    allocation_init(&record);
    allocation_add_container(&record, "a", CONTAINER_APP);
    record_line(&record, "GPU-7", 70, 0, ISOLATION_SOFT);
    record_line(&record, "GPU-2", 20, 0, ISOLATION_SOFT);
    allocation_add_container(&record, "b", CONTAINER_APP);
    record_line(&record, "GPU-2", 5, 0, ISOLATION_SOFT);
    record_line(&record, "GPU-1", 10, 0, ISOLATION_SOFT);
    assert_int_equal(allocation_grants(&record, true, grants, 4), 3);
    assert_string_equal(grants[0].id, "GPU-7");
    assert_string_equal(grants[1].id, "GPU-2");
    assert_string_equal(grants[2].id, "GPU-1");
    assert_int_equal(grants[1].memory_mib, 25);
    assert_int_equal(allocation_grants(&record, true, grants, 2), 2);
}

static void test_allocation_grants__mode_is_that_of_the_phases_that_count(void **state)
{
    AUTO(allocation_clear) struct allocation record;
    struct grant grant;

    (void)state;
    allocation_init(&record);
    allocation_add_container(&record, "warm-up", CONTAINER_INIT);
    record_line(&record, GPU, 16384, 100, ISOLATION_SHARED);
    allocation_add_container(&record, "main", CONTAINER_APP);
    record_line(&record, GPU, 4096, 0, ISOLATION_SOFT);
    allocation_grants(&record, false, &grant, 1);
    assert_int_equal(grant.mode, ISOLATION_SHARED);
    allocation_grants(&record, true, &grant, 1);
    assert_int_equal(grant.mode, ISOLATION_SOFT);
    assert_int_equal(grant.cores, 0);
}

static void test_allocation_grants__absurd_records_are_never_worth_nothing(void **state)
{
    static const struct line lines[] = {{CONTAINER_APP, 1, UINT16_MAX}, {CONTAINER_APP, 1, 1}};
    AUTO(allocation_clear) struct allocation record = record_of(lines, ARRAY_LEN(lines));
    struct grant grant;

    (void)state;
    record.containers[0].devices[0].slots = UINT16_MAX;
    allocation_grants(&record, true, &grant, 1);
    assert_int_equal(grant.cores, UINT16_MAX);
    assert_int_equal(grant.slots, UINT16_MAX);
}

/* --- sums ------------------------------------------------------------------------------------ */

struct tenant {
    uint64_t mib;
    uint16_t cores;
    enum isolation_mode mode;
};

static void test_node_use_add__marks_what_cannot_be_true_together(void **state)
{
    static const struct {
        struct tenant tenants[3];
        bool conflicted, exclusive;
    } cases[] = {
        {{{4000, 0, ISOLATION_SOFT}, {4000, 0, ISOLATION_SOFT}}, false, false},
        {{{4000, 50, ISOLATION_SOFT}, {4000, 50, ISOLATION_SOFT}}, false, false},
        {{{4000, 0, ISOLATION_SOFT}, {4000, 0, ISOLATION_HARD}}, true, false},
        {{{4000, 60, ISOLATION_SOFT}, {4000, 50, ISOLATION_SOFT}}, true, false},
        {{{6000, 0, ISOLATION_SOFT}, {6000, 0, ISOLATION_SOFT}}, true, false},
        {{{10000, 100, ISOLATION_SHARED}}, false, true},
        {{{1, 100, ISOLATION_SOFT}, {1, 0, ISOLATION_SOFT}}, true, true},
        {{{1, 0, ISOLATION_SOFT}, {1, 100, ISOLATION_SOFT}}, true, true},
        {{{1, 0, ISOLATION_SOFT}, {1, 0, ISOLATION_SOFT}, {1, 0, ISOLATION_SOFT}}, true, false},
    };
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 10000, 2);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct node_use use = use_none(node);

        for (size_t k = 0; k < 3 && cases[i].tenants[k].mib > 0; k++)
            use_take(&use, node, 0, cases[i].tenants[k].mib, cases[i].tenants[k].cores,
                     cases[i].tenants[k].mode);
        assert_int_equal(use.devices[0].conflicted, cases[i].conflicted);
        assert_int_equal(use.devices[0].exclusive, cases[i].exclusive);
    }
}

static void test_node_use_add__keeps_sums_beyond_the_device(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 10000, 2);
    struct node_use use = use_none(node);

    (void)state;
    use_take(&use, node, 0, 9000, 70, ISOLATION_SOFT);
    use_take(&use, node, 0, 9000, 70, ISOLATION_SOFT);
    assert_int_equal(use.devices[0].memory_mib, 18000);
    assert_int_equal(use.devices[0].cores, 140);
    assert_int_equal(use.devices[0].slots, 2);
}

static void test_node_use_add__devices_the_node_does_not_report_are_unattributed(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 10000, 2);
    struct node_use use = use_none(node);
    const struct grant grant = {.id = "GPU-gone", .memory_mib = 1, .slots = 1};

    (void)state;
    node_use_add(&use, node, &grant);
    assert_int_equal(use.devices[0].slots, 0);
    assert_int_equal(use.unattributed, 1);
}

static void test_node_use_join__takes_the_greater_of_each_amount(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 3, 1000, 4);
    struct node_use now = use_none(node), later = use_none(node);

    (void)state;
    use_take(&now, node, 0, 300, 50, ISOLATION_SOFT);
    use_take(&later, node, 0, 400, 10, ISOLATION_SOFT);
    use_take(&later, node, 1, 1000, 100, ISOLATION_SHARED);
    later.unattributed = 2;
    node_use_join(&now, &later);
    assert_int_equal(now.devices[0].memory_mib, 400);
    assert_int_equal(now.devices[0].cores, 50);
    assert_int_equal(now.devices[0].slots, 1);
    assert_false(now.devices[0].exclusive);
    assert_true(now.devices[1].exclusive);
    assert_int_equal(now.devices[1].mode, ISOLATION_SHARED);
    assert_int_equal(now.devices[2].mode, ISOLATION_NONE);
    assert_int_equal(now.unattributed, 2);
}

static void test_node_use_join__nobody_joins_where_the_modes_differ(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 1000, 4);
    struct node_use now = use_none(node), later = use_none(node);

    (void)state;
    use_take(&now, node, 0, 1, 1, ISOLATION_SOFT);
    use_take(&later, node, 0, 1, 1, ISOLATION_HARD);
    node_use_join(&now, &later);
    assert_true(now.devices[0].exclusive);
    assert_false(now.devices[0].conflicted);
}

static void test_node_use_add__a_grant_of_nothing_takes_no_mode(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 10000, 2);
    struct node_use use = use_none(node);
    const struct grant grant = {.id = GPU, .mode = ISOLATION_SHARED};

    (void)state;
    node_use_add(&use, node, &grant);
    assert_int_equal(use.devices[0].mode, ISOLATION_NONE);
}

static void test_node_use_add__tenants_beyond_counting_do_not_look_like_none(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 10000, 2);
    struct node_use use = use_none(node);
    const struct grant many = {.id = GPU, .slots = UINT16_MAX, .mode = ISOLATION_SOFT};

    (void)state;
    node_use_add(&use, node, &many);
    use_take(&use, node, 0, 1, 0, ISOLATION_SOFT);
    assert_int_equal(use.devices[0].slots, UINT16_MAX);
    assert_true(use.devices[0].conflicted);
}

/* --- allocations ----------------------------------------------------------------------------- */

static void fill(struct allocation *record)
{
    allocation_init(record);
    free(record->node);
    record->node = xstrdup("n1");
    record->tier = TIER_NUMA;
    record->degraded = true;
    allocation_add_container(record, "init", CONTAINER_INIT);
    allocation_add_container(record, "main", CONTAINER_APP);
    record_line(record, "GPU-1", 1000, 30, ISOLATION_SOFT);
    record_line(record, "GPU-2", 2000, 40, ISOLATION_SOFT);
}

static void test_allocation_copy__owns_all_it_has(void **state)
{
    AUTO(allocation_clear) struct allocation record;
    AUTO(allocation_clear) struct allocation copy;

    (void)state;
    fill(&record);
    allocation_copy(&record, &copy);
    assert_true(allocation_equal(&record, &copy));
    assert_int_equal(copy.tier, TIER_NUMA);
    assert_true(copy.degraded);
    assert_ptr_not_equal(record.containers[1].devices[0].id, copy.containers[1].devices[0].id);
}

static void test_allocation_equal__sees_every_difference_in_what_is_held(void **state)
{
    AUTO(allocation_clear) struct allocation record;

    (void)state;
    fill(&record);
    for (int change = 0; change < 8; change++) {
        AUTO(allocation_clear) struct allocation other;
        struct allocated_device *device;

        allocation_copy(&record, &other);
        device = &other.containers[1].devices[1];
        switch (change) {
        case 0:
            other.node[0] = 'x';
            break;
        case 1:
            other.containers[0].name[0] = 'x';
            break;
        case 2:
            other.containers[0].kind = CONTAINER_SIDECAR;
            break;
        case 3:
            device->id[0] = 'x';
            break;
        case 4:
            device->memory_mib++;
            break;
        case 5:
            device->cores++;
            break;
        case 6:
            device->slots++;
            break;
        case 7:
            device->mode = ISOLATION_HARD;
            break;
        }
        assert_false(allocation_equal(&record, &other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocation_grants__f10_books_the_greatest_phase),
        cmocka_unit_test(test_allocation_grants__takes_the_greatest_of_each_amount_by_itself),
        cmocka_unit_test(test_allocation_grants__lists_devices_in_order_of_first_mention),
        cmocka_unit_test(test_allocation_grants__mode_is_that_of_the_phases_that_count),
        cmocka_unit_test(test_allocation_grants__absurd_records_are_never_worth_nothing),
        cmocka_unit_test(test_node_use_add__marks_what_cannot_be_true_together),
        cmocka_unit_test(test_node_use_add__keeps_sums_beyond_the_device),
        cmocka_unit_test(test_node_use_add__devices_the_node_does_not_report_are_unattributed),
        cmocka_unit_test(test_node_use_add__a_grant_of_nothing_takes_no_mode),
        cmocka_unit_test(test_node_use_join__takes_the_greater_of_each_amount),
        cmocka_unit_test(test_node_use_join__nobody_joins_where_the_modes_differ),
        cmocka_unit_test(test_node_use_add__tenants_beyond_counting_do_not_look_like_none),
        cmocka_unit_test(test_allocation_copy__owns_all_it_has),
        cmocka_unit_test(test_allocation_equal__sees_every_difference_in_what_is_held),
    };

    return cmocka_run_group_tests_name("grant", tests, NULL, NULL);
}
