/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builtin_classes.h"
#include "support/class_nodes.h"
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/partition.h"

static struct partition_table *table_for(const char *product)
{
    return table_of(builtin_class("nvidia"), product);
}

static unsigned profile_of(const struct partition_table *table, const char *name)
{
    int at = partition_find(table, name);

    assert_true(at >= 0);
    return (unsigned)at;
}

/* Take partitions given as "name@start" with blanks between; true when all have a place. */
static bool take(const struct partition_table *table, const char *list, struct partition_use *use)
{
    char name[PARTITION_NAME_MAX];
    unsigned start;
    int length;

    for (; sscanf(list, " %23[^@]@%u%n", name, &start, &length) == 2; list += length) {
        struct partition_use more = partition_at(table, *use, profile_of(table, name), start);

        if (more.slices == 0)
            return false;
        *use = partition_add(*use, more);
    }
    return true;
}

/* source: NVIDIA's placements, as `nvidia-smi mig -lgipp` shows them */
static void test_partition_at__knows_what_goes_together(void **state)
{
    static const struct {
        const char *product, *list;
        bool goes;
    } cases[] = {
        {"NVIDIA A100-SXM4-40GB", "1g.5gb@6 1g.5gb@5 2g.10gb@2", true},
        {"NVIDIA A100-SXM4-40GB", "2g.10gb@6", false},
        {"NVIDIA A100-SXM4-40GB", "1g.5gb@7", false},
        {"NVIDIA A100-SXM4-40GB", "3g.20gb@2", false},
        {"NVIDIA A100-SXM4-40GB", "4g.20gb@4", false},
        {"NVIDIA A100-SXM4-40GB", "3g.20gb@0 3g.20gb@4", true},
        {"NVIDIA A100-SXM4-40GB", "3g.20gb@0 3g.20gb@4 1g.5gb@6", false},
        {"NVIDIA A100-SXM4-40GB", "4g.20gb@0 3g.20gb@4", true},
        {"NVIDIA A100-SXM4-40GB", "1g.5gb@0 4g.20gb@0", false},
        {"NVIDIA A100-SXM4-40GB", "1g.5gb@0 7g.40gb@0", false},
        {"NVIDIA A100-SXM4-40GB", "1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6",
         true},
        {"NVIDIA A100-SXM4-40GB", "1g.5gb+me@0 1g.5gb@1", true},
        {"NVIDIA A100-SXM4-40GB", "1g.5gb+me@0 1g.5gb+me@1", false},
        {"NVIDIA A100-SXM4-40GB", "1g.10gb@0 1g.10gb@2 1g.10gb@4 1g.10gb@6", true},
        {"NVIDIA A100-SXM4-40GB", "4g.20gb@0 2g.10gb@4 1g.5gb@6", true},
        {"NVIDIA H100 80GB HBM3", "4g.40gb@0 2g.20gb@4 2g.20gb@2", false},
        {"NVIDIA A30", "1g.6gb@3 1g.6gb@2 2g.12gb@0", true},
        {"NVIDIA A30", "2g.12gb@1", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(partition_table_unref_pointer)
        struct partition_table *table = table_for(cases[i].product);
        struct partition_use use = {0};

        assert_int_equal(take(table, cases[i].list, &use), cases[i].goes);
    }
}

static void test_partition_find__plus_and_dot_are_the_same(void **state)
{
    AUTO(partition_table_unref_pointer) struct partition_table *table = table_for("NVIDIA A30");

    (void)state;
    assert_int_equal(partition_find(table, "1g.6gb.me"), partition_find(table, "1g.6gb+me"));
    assert_int_equal(partition_find(table, "1G.6GB"), partition_find(table, "1g.6gb"));
    assert_int_equal(partition_find(table, "1g.6g"), -1);
    assert_int_equal(partition_find(table, ""), -1);
}

static void test_partition_most__counts_how_many_still_go(void **state)
{
    AUTO(partition_table_unref_pointer) struct partition_table *table = table_for("NVIDIA H200");
    struct partition_use use = {0};

    (void)state;
    assert_int_equal(partition_most(table, use, profile_of(table, "1g.18gb")), 7);
    assert_int_equal(partition_most(table, use, profile_of(table, "1g.35gb")), 4);
    assert_int_equal(partition_most(table, use, profile_of(table, "2g.35gb")), 3);
    assert_int_equal(partition_most(table, use, profile_of(table, "3g.71gb")), 2);
    assert_int_equal(partition_most(table, use, profile_of(table, "1g.18gb+me")), 1);
    assert_true(take(table, "3g.71gb@4", &use));
    assert_int_equal(partition_most(table, use, profile_of(table, "4g.71gb")), 1);
    assert_int_equal(partition_most(table, use, profile_of(table, "1g.18gb")), 4);
}

static void test_partition_name__tells_compute_and_memory(void **state)
{
    (void)state;
    assert_int_equal(partition_name_compute("3g.40gb"), 3);
    assert_int_equal(partition_name_compute("1c.3g.40gb"), 0);
    assert_int_equal(partition_name_compute(""), 0);
    assert_int_equal(partition_name_mib("1g.10gb+me"), 10240);
    assert_int_equal(partition_name_mib("7g"), 0);
    assert_int_equal(partition_name_mib("vir08"), 0);
}

static void test_partition_conflicts__sees_overlaps_and_what_no_device_has(void **state)
{
    AUTO(partition_table_unref_pointer) struct partition_table *table = table_for("NVIDIA A30");
    const struct partition_placement first = partition_placement_made("1g.6gb", 3, 1);
    const struct partition_placement second = partition_placement_made("2g.12gb", 2, 2);
    const struct partition_placement outside = partition_placement_made("1g.6gb", 4, 1);
    const struct partition_placement absurd = partition_placement_made("1g.6gb", 15, 9);
    const struct partition_use nothing = {0};

    (void)state;
    assert_false(partition_conflicts(table, nothing, first.use));
    assert_true(partition_conflicts(table, first.use, first.use));
    assert_true(partition_conflicts(table, first.use, second.use));
    assert_true(partition_conflicts(table, nothing, outside.use));
    assert_true(partition_conflicts(table, nothing, absurd.use));
    assert_true(partition_conflicts(NULL, nothing, first.use));
    assert_true(partition_conflicts(table, nothing, nothing));
}

/* Volcano's geometry of the A100 40GB: places 0-6, 7-10, 11-12, 13. */
static struct partition_table *geometry(void)
{
    static const struct partition_profile profiles[] = {
        {.name = "1g.5gb", .memory_mib = 5120, .width = 1, .starts = 0x007f, .group = 1},
        {.name = "2g.10gb", .memory_mib = 10240, .width = 1, .starts = 0x0380, .group = 2},
        {.name = "1g.5gb", .memory_mib = 5120, .width = 1, .starts = 0x0400, .group = 2},
        {.name = "3g.20gb", .memory_mib = 20480, .width = 1, .starts = 0x1800, .group = 3},
        {.name = "7g.40gb", .memory_mib = 40960, .width = 1, .starts = 0x2000, .group = 4},
    };
    const char *fault = NULL;
    struct partition_table *table =
        partition_table_of_profiles(profiles, ARRAY_LEN(profiles), &fault);

    assert_null(fault);
    return table;
}

static void test_partition_at__one_way_of_dividing_shuts_out_the_others(void **state)
{
    AUTO(partition_table_unref_pointer) struct partition_table *table = geometry();
    struct partition_use use = partition_at(table, (struct partition_use){0}, 1, 7);

    (void)state;
    assert_true(use.slices != 0);
    assert_int_equal(partition_at(table, use, 0, 0).slices, 0);
    assert_true(partition_at(table, use, 2, 10).slices != 0);
    assert_true(partition_at(table, use, 1, 8).slices != 0);
    assert_int_equal(partition_most(table, use, 1), 2);
    assert_int_equal(partition_most(table, use, 3), 0);
    assert_int_equal(partition_geometry_start(table, 0, 3), 3);
    assert_int_equal(partition_geometry_start(table, 1, 0), 7);
    assert_int_equal(partition_geometry_start(table, 1, 3), 10);
    assert_int_equal(partition_geometry_start(table, 1, 4), -1);
    assert_int_equal(partition_geometry_start(table, 9, 0), -1);
    assert_true(partition_conflicts(table, use, partition_placement_made("1g.5gb", 0, 1).use));
}

static void test_partition_table_add__refuses_what_no_device_could_have(void **state)
{
    static const struct partition_profile wrong[] = {
        {.memory_mib = 1, .width = 1, .starts = 1},
        {.name = "a", .width = 1, .starts = 1},
        {.name = "a", .memory_mib = 1, .starts = 1},
        {.name = "a", .memory_mib = 1, .width = 1},
        {.name = "a", .memory_mib = 1, .width = 2, .starts = 8},
        {.name = "a", .memory_mib = 1, .width = 5, .starts = 1},
        {.name = "a", .memory_mib = 1, .width = 1, .starts = 1, .compute = 5},
        {.name = "a", .memory_mib = 1, .width = 1, .starts = 1, .max = 17},
        {.name = "B+c", .memory_mib = 1, .width = 1, .starts = 1},
    };
    const struct partition_profile good = {.name = "b.c", .memory_mib = 1, .width = 1, .starts = 9};
    AUTO(partition_table_unref_pointer) struct partition_table *table = partition_table_new(4, 4);

    (void)state;
    assert_null(partition_table_add(table, &good));
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_non_null(partition_table_add(table, &wrong[i]));
    assert_int_equal(table->count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_partition_at__knows_what_goes_together),
        cmocka_unit_test(test_partition_find__plus_and_dot_are_the_same),
        cmocka_unit_test(test_partition_most__counts_how_many_still_go),
        cmocka_unit_test(test_partition_name__tells_compute_and_memory),
        cmocka_unit_test(test_partition_conflicts__sees_overlaps_and_what_no_device_has),
        cmocka_unit_test(test_partition_at__one_way_of_dividing_shuts_out_the_others),
        cmocka_unit_test(test_partition_table_add__refuses_what_no_device_could_have),
    };

    return cmocka_run_group_tests_name("partition", tests, builtin_classes_set_up,
                                       builtin_classes_tear_down);
}
