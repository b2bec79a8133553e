/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every row of the tables in test/data/gpuallocator: all sets of free devices and all sizes on
 * seven machines, with the highest pair sum a set can have, and of the sets that have it the
 * highest pair sum that stays behind.
 */
#include "support/test.h"

#include "topofit/gputopo.h"

#include <stdlib.h>

struct machine {
    char name[32];
    unsigned n;
    unsigned points[16][16];
    struct peer_graph *graph;
};

struct row {
    device_mask free;
    unsigned count, best_points, best_sets, left_points;
};

struct tally {
    unsigned rows, alone, left_equal, left_by_groups;
};

/* --- reading
 * ----------------------------------------------------------------------------------------- */

/* Points are 100 for each NVLink and 10 to 60 for the PCIe class. */
static enum tier tier_of(unsigned points)
{
    if (points >= 100)
        return TIER_INTERCONNECT;
    if (points >= 20)
        return TIER_NUMA;
    return points > 0 ? TIER_CROSS : TIER_UNKNOWN;
}

/* Read "[[0, 20], [20, 0]]" behind the machine's name; bandwidth stands in for points. */
static void read_machine(const char *json, const char *name, struct machine *machine)
{
    char key[40];
    const char *at;
    unsigned row = 0, column = 0;

    snprintf(machine->name, sizeof(machine->name), "%s", name);
    snprintf(key, sizeof(key), "\"%s\": [[", name);
    at = strstr(json, key);
    assert_non_null(at);
    for (at += strlen(key) - 1; strncmp(at, "]]", 2) != 0;) {
        char *end;

        if (*at == ']') {
            row++;
            column = 0;
            at = strchr(at, '[');
        }
        at++;
        assert_true(row < 16 && column < 16);
        machine->points[row][column++] = (unsigned)strtoul(at, &end, 10);
        at = end;
    }
    machine->n = row + 1;
}

static void build_graph(struct machine *machine)
{
    machine->graph = peers_new(machine->n);
    for (unsigned a = 0; a < machine->n; a++) {
        for (unsigned b = 0; b < machine->n; b++) {
            struct link link = {.name = "L",
                                .tier = tier_of(machine->points[a][b]),
                                .gbps = (uint16_t)machine->points[a][b]};

            peers_note_link(machine->graph, a, b, &link);
        }
    }
    peers_finish(machine->graph);
}

/* mask,size,set,score,score,best,sets,set,left */
static void read_row(const char *line, struct row *row)
{
    unsigned long long mask;

    assert_int_equal(sscanf(line, "%llx,%u,%*[^,],%*u,%*u,%u,%u,%*[^,],%u", &mask, &row->count,
                            &row->best_points, &row->best_sets, &row->left_points),
                     5);
    row->free = mask;
}

/* --- judging
 * ----------------------------------------------------------------------------------------- */

static unsigned pair_sum(const struct machine *machine, device_mask set)
{
    unsigned sum = 0;

    for (unsigned a = 0; a < machine->n; a++) {
        for (unsigned b = 0; b < a; b++) {
            if (mask_has(set, a) && mask_has(set, b))
                sum += machine->points[a][b];
        }
    }
    return sum;
}

static bool is_good(const struct machine *machine, device_mask set, enum tier tier)
{
    for (unsigned a = 0; a < machine->n; a++) {
        for (unsigned b = 0; b < a; b++) {
            if (mask_has(set, a) && mask_has(set, b) && tier_of(machine->points[a][b]) > tier)
                return false;
        }
    }
    return true;
}

/* Most disjoint good groups of a size, by trying every group with the first device or none. */
static unsigned groups(const struct machine *machine, device_mask rest, unsigned size,
                       enum tier tier)
{
    device_mask others = rest & (rest - 1);
    unsigned most;

    if (mask_count(rest) < size)
        return 0;
    most = groups(machine, others, size, tier);
    for (device_mask part = others;; part = (part - 1) & others) {
        device_mask group = part | (rest & -rest);

        if (mask_count(group) == size && is_good(machine, group, tier)) {
            unsigned count = 1 + groups(machine, rest & ~group, size, tier);

            most = count > most ? count : most;
        }
        if (part == 0)
            return most;
    }
}

/* Does one rest form better groups than another: of 8, then 4, then 2; tier 0 first? */
static int compare_groups(const struct machine *machine, device_mask a, device_mask b)
{
    for (unsigned size = 8; size >= 2; size /= 2) {
        for (unsigned tier = TIER_INTERCONNECT; tier <= TIER_NUMA; tier++) {
            unsigned of_a = groups(machine, a, size, tier), of_b = groups(machine, b, size, tier);

            if (of_a != of_b)
                return of_a > of_b ? 1 : -1;
        }
    }
    return 0;
}

/* Ours leaves fewer points: then every best set that leaves the most must leave worse groups. */
static void check_groups(const struct machine *machine, const struct row *row, device_mask ours)
{
    for (device_mask set = row->free;; set = (set - 1) & row->free) {
        if (mask_count(set) == row->count && pair_sum(machine, set) == row->best_points &&
            pair_sum(machine, row->free & ~set) == row->left_points)
            assert_int_equal(compare_groups(machine, row->free & ~ours, row->free & ~set), 1);
        if (set == 0)
            break;
    }
}

static void check_row(const struct machine *machine, const struct row *row, struct tally *tally)
{
    struct topology_rule rule = {.least_damage = true};
    struct topology_question question = {
        .graph = machine->graph, .candidates = row->free, .idle = row->free, .count = row->count};
    struct topology_choice choice;
    unsigned left;

    gputopo_choose(&question, &rule, NULL, &choice);
    assert_int_equal(mask_count(choice.set), row->count);
    if (pair_sum(machine, choice.set) != row->best_points)
        fail_msg("%s, %u of %llx: %u points, not %u", machine->name, row->count,
                 (unsigned long long)row->free, pair_sum(machine, choice.set), row->best_points);
    tally->rows++;
    left = pair_sum(machine, row->free & ~choice.set);
    if (row->best_sets == 1) {
        tally->alone++;
    } else if (left == row->left_points) {
        tally->left_equal++;
    } else {
        tally->left_by_groups++;
        check_groups(machine, row, choice.set);
    }
}

static void check_machine(const char *name)
{
    AUTO_FREE char *json = test_read_file(TEST_DATA "/gpuallocator/topologies.json", NULL);
    AUTO_FREE char *path = xasprintf(TEST_DATA "/gpuallocator/expected-%s.csv", name);
    AUTO_FREE char *rows = test_read_file(path, NULL);
    struct machine machine = {0};
    struct tally tally = {0};

    read_machine(json, name, &machine);
    build_graph(&machine);
    for (const char *line = strchr(rows, '\n') + 1; *line != '\0'; line = strchr(line, '\n') + 1) {
        struct row row;

        read_row(line, &row);
        check_row(&machine, &row, &tally);
    }
    print_message("%-10s %4u rows, all with the best pair sum; one best set in %u; of the others "
                  "the best left over in %u, better groups instead in %u\n",
                  name, tally.rows, tally.alone, tally.left_equal, tally.left_by_groups);
    assert_true(tally.rows > 0);
    peers_unref(machine.graph);
}

#define MACHINE_TEST(name) \
    static void test_gputopo_choose__has_the_best_pair_sum_on_##name(void **state) \
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gputopo_choose__has_the_best_pair_sum_on_dgx1p),
        cmocka_unit_test(test_gputopo_choose__has_the_best_pair_sum_on_dgx1v),
        cmocka_unit_test(test_gputopo_choose__has_the_best_pair_sum_on_dgxa100),
        cmocka_unit_test(test_gputopo_choose__has_the_best_pair_sum_on_dgxh100),
        cmocka_unit_test(test_gputopo_choose__has_the_best_pair_sum_on_pcie8),
        cmocka_unit_test(test_gputopo_choose__has_the_best_pair_sum_on_rtx8000x4),
        cmocka_unit_test(test_gputopo_choose__has_the_best_pair_sum_on_summit6),
    };

    return cmocka_run_group_tests_name("gputopo_allocator", tests, NULL, NULL);
}
