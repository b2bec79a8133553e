/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables in test/data/gpuallocator hold what go-gpuallocator's best-effort policy chooses: for
 * all sets of free devices and all sizes on seven machines.
 */
#include "support/test.h"

#include "topofit/best_effort.h"
#include "topofit/buf.h"
#include "topofit/matrix.h"

#include <stdlib.h>

/* Read "[[0, 20], [20, 0]]" behind the machine's name. */
static void read_points(const char *json, const char *name, struct pair_points *points)
{
    AUTO_FREE char *key = xasprintf("\"%s\": [[", name);
    const char *at = strstr(json, key);
    unsigned row = 0, column = 0;

    assert_non_null(at);
    for (at += strlen(key) - 1; strncmp(at, "]]", 2) != 0;) {
        char *end;

        if (*at == ']') {
            row++;
            column = 0;
            at = strchr(at, '[');
        }
        assert_true(row < DEVICE_MAX && column < DEVICE_MAX);
        points->of[row][column++] = (uint16_t)strtoul(at + 1, &end, 10);
        at = end;
    }
}

/* "0-3-5" */
static device_mask read_set(const char *text)
{
    device_mask set = 0;

    for (char *end; *text != ','; text = end + (*end == '-')) {
        set |= mask_of((unsigned)strtoul(text, &end, 10));
        assert_ptr_not_equal(end, text);
    }
    return set;
}

static void check_machine(const char *name)
{
    AUTO_FREE char *json = test_read_file(TEST_DATA "/gpuallocator/topologies.json", NULL);
    AUTO_FREE char *path = xasprintf(TEST_DATA "/gpuallocator/expected-%s.csv", name);
    AUTO_FREE char *rows = test_read_file(path, NULL);
    struct pair_points points = {0};
    unsigned count = 0;

    read_points(json, name, &points);
    for (const char *line = strchr(rows, '\n') + 1; *line != '\0'; line = strchr(line, '\n') + 1) {
        char set[64];
        unsigned long long free_mask;
        unsigned size;
        device_mask chosen;

        assert_int_equal(sscanf(line, "%llx,%u,%62[^,]", &free_mask, &size, set), 3);
        strcat(set, ",");
        chosen = best_effort_choose(&points, free_mask, size);
        if (chosen != read_set(set))
            fail_msg("%s, %u of %llx: %llx, not %s", name, size, free_mask,
                     (unsigned long long)chosen, set);
        count++;
    }
    print_message("%-10s %4u rows\n", name, count);
    assert_true(count > 0);
}

#define MACHINE_TEST(name) \
    static void test_best_effort_choose__is_the_librarys_choice_on_##name(void **state) \
    { \
        (void)state; \
        check_machine(#name); \
    }

MACHINE_TEST(dgx1p)
MACHINE_TEST(dgx1v)
MACHINE_TEST(dgxa100)
MACHINE_TEST(dgxh100)
MACHINE_TEST(pcie8)
MACHINE_TEST(rtx8000x4)
MACHINE_TEST(summit6)

static void test_best_effort_choose__too_few_free_devices_are_no_set(void **state)
{
    struct pair_points points = {0};

    (void)state;
    assert_int_equal(best_effort_choose(&points, 0x7, 4), 0);
    assert_int_equal(best_effort_choose(&points, 0x7, 0), 0);
    assert_int_equal(best_effort_choose(&points, 0x6, 1), 0x2);
}

static void test_best_effort_choose__sixteen_devices_are_split_in_no_time(void **state)
{
    struct pair_points points = {0};

    (void)state;
    for (unsigned a = 0; a < 16; a++) {
        for (unsigned b = 0; b < 16; b++)
            points.of[a][b] = a == b ? 0 : a / 4 == b / 4 ? 200 : 10;
    }
    assert_int_equal(best_effort_choose(&points, 0xffff, 4), 0xf);
    assert_int_equal(best_effort_choose(&points, 0xffef, 4), 0xf);
    assert_int_equal(best_effort_choose(&points, 0xfffe, 2), 0x6); /* one of 1, 2, 3 stays alone */
    assert_int_equal(best_effort_choose(&points, 0xffff, 8), 0xff);
}

/* The matrix of a DGX-1V says what topologies.json says, where it shows the PCIe class. */
static void test_best_effort_points__nvlinks_and_classes_of_a_matrix(void **state)
{
    AUTO_FREE char *text =
        test_read_file(TEST_DATA "/topologies/01-dgx1-v100-hybrid-cube-mesh.txt", NULL);
    struct matrix matrix;
    struct pair_points points;
    struct error err = {0};

    (void)state;
    assert_ok(matrix_read(text, strlen(text), &matrix, &err), &err);
    best_effort_points(matrix.graph, &points);
    assert_int_equal(points.of[0][3], 220); /* two NVLinks, one NUMA node */
    assert_int_equal(points.of[0][4], 210); /* two NVLinks between NUMA nodes */
    assert_int_equal(points.of[0][1], 120);
    assert_int_equal(points.of[0][5], 10);
    assert_int_equal(points.of[5][0], 10);
    assert_int_equal(points.of[2][2], 0);
    matrix_clear(&matrix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best_effort_choose__is_the_librarys_choice_on_dgx1p),
        cmocka_unit_test(test_best_effort_choose__is_the_librarys_choice_on_dgx1v),
        cmocka_unit_test(test_best_effort_choose__is_the_librarys_choice_on_dgxa100),
        cmocka_unit_test(test_best_effort_choose__is_the_librarys_choice_on_dgxh100),
        cmocka_unit_test(test_best_effort_choose__is_the_librarys_choice_on_pcie8),
        cmocka_unit_test(test_best_effort_choose__is_the_librarys_choice_on_rtx8000x4),
        cmocka_unit_test(test_best_effort_choose__is_the_librarys_choice_on_summit6),
        cmocka_unit_test(test_best_effort_choose__too_few_free_devices_are_no_set),
        cmocka_unit_test(test_best_effort_choose__sixteen_devices_are_split_in_no_time),
        cmocka_unit_test(test_best_effort_points__nvlinks_and_classes_of_a_matrix),
    };

    return cmocka_run_group_tests_name("best_effort", tests, NULL, NULL);
}
