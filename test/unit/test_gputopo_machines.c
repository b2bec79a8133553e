/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Best sets on real machines: the matrices in test/data/topologies, and some that are known by
 * description only, against sets found by brute force with the usual points for each link.
 */
#include "support/test.h"

#include "topofit/gputopo.h"
#include "topofit/matrix.h"

#include <stdlib.h>

/* Points of go-gpuallocator on the printed word; other vendors' links by their bandwidth. */
static unsigned points_of(const char *word)
{
    static const struct {
        const char *word;
        unsigned points;
    } words[] = {{"SYS", 10},  {"NODE", 20}, {"PHB", 30},   {"PXB", 40},      {"PIX", 50},
                 {"MX", 400},  {"NL", 400},  {"XPUL", 400}, {"MLULINK", 400}, {"XGMI", 700},
                 {"HOP2", 30}, {"HOP3", 20}, {"HOP4", 10},  {"PCIE", 0}};

    if (strncmp(word, "NV", 2) == 0)
        return 100 * (unsigned)strtoul(word + 2, NULL, 10);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(words[i].word, word) == 0)
            return words[i].points;
    }
    fail_msg("no points for %s", word);
    return 0;
}

static unsigned points(const struct peer_graph *graph, device_mask set)
{
    unsigned sum = 0;

    for (unsigned a = 0; a < graph->n; a++) {
        for (unsigned b = 0; b < a; b++) {
            if (mask_has(set, a) && mask_has(set, b))
                sum += points_of(peers_link(graph, a, b)->name);
        }
    }
    return sum;
}

static struct topology_choice choose(struct peer_graph *graph, device_mask free, unsigned count)
{
    struct topology_rule rule = {.least_damage = true};
    struct topology_question question = {
        .graph = graph, .candidates = free, .idle = free, .count = count};
    struct topology_choice choice;

    gputopo_choose(&question, &rule, NULL, &choice);
    return choice;
}

/* "0123 4567" or "0,1,12,13": is the set one of the list? */
static bool is_listed(const char *list, device_mask set)
{
    bool has_commas = strchr(list, ',') != NULL;

    while (*list != '\0') {
        device_mask listed = 0;

        while (*list != ' ' && *list != '\0') {
            if (*list == ',') {
                list++;
            } else if (has_commas) {
                char *end;

                listed |= mask_of((unsigned)strtoul(list, &end, 10));
                list = end;
            } else {
                listed |= mask_of((unsigned)(*list++ - '0'));
            }
        }
        if (listed == set)
            return true;
        list += *list == ' ';
    }
    return false;
}

struct vector {
    unsigned count, points;
    const char *sets; /* NULL: any with the points */
};

static void check(struct peer_graph *graph, const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct topology_choice choice = choose(graph, mask_below(graph->n), vectors[i].count);

        assert_int_equal(points(graph, choice.set), vectors[i].points);
        assert_int_equal(mask_count(choice.set), vectors[i].count);
        if (vectors[i].sets != NULL && !is_listed(vectors[i].sets, choice.set))
            fail_msg("%llx is not one of %s", (unsigned long long)choice.set, vectors[i].sets);
    }
}

static struct peer_graph *read_text(const char *text, size_t length)
{
    struct error err = {0};
    struct matrix matrix;

    assert_ok(matrix_read(text, length, &matrix, &err), &err);
    return matrix.graph;
}

static struct peer_graph *read_file(const char *name)
{
    AUTO_FREE char *path = xasprintf(TEST_DATA "/topologies/%s.txt", name);
    size_t length;
    AUTO_FREE char *text = test_read_file(path, &length);

    return read_text(text, length);
}

#define CHECK(graph_expression, ...) \
    do { \
        static const struct vector vectors[] = {__VA_ARGS__}; \
        AUTO(peers_unref_pointer) struct peer_graph *graph = (graph_expression); \
        (void)state; \
        check(graph, vectors, ARRAY_LEN(vectors)); \
    } while (0)

/* --- captured matrices
 * --------------------------------------------------------------------------------- */

static void test_gputopo_choose__dgx1_takes_double_links_and_whole_quads(void **state)
{
    CHECK(read_file("01-dgx1-v100-hybrid-cube-mesh"), {2, 200, "03 04 12 15 23 47 56 67"},
          {3, 500, "023 123 467 567"}, {4, 900, "0123 4567"});
}

static void test_gputopo_choose__dual_switches_take_one_switch_then_one_socket(void **state)
{
    CHECK(read_file("07-pcie-8-pix-pxb-dual-socket"), {2, 50, "01 23 45 67"},
          {3, 130, "012 013 023 123 456 457 467 567"});
}

static void test_gputopo_choose__mixed_five_never_take_the_far_device(void **state)
{
    CHECK(read_file("08-mixed-5-phb-node"), {2, 30, "12 34"}, {3, 70, "123 124 134 234"});
}

static void test_gputopo_choose__bridged_a40_stay_in_one_socket(void **state)
{
    CHECK(read_file("16-8xa40-nvlink-bridge-pairs"), {3, 440, "012 013 023 123 456 457 467 567"},
          {4, 880, "0123 4567"});
}

static void test_gputopo_choose__three_devices_take_the_bridged_pair(void **state)
{
    CHECK(read_file("20-3x-nv4-plus-single"), {2, 400, "01"});
}

static void test_gputopo_choose__two_xgmi_quads_are_kept_whole(void **state)
{
    CHECK(read_file("23-mi2xx-2x4-xgmi-pcie"), {4, 4200, "0123 4567"});
}

static void test_gputopo_choose__two_metax_quads_are_kept_whole(void **state)
{
    CHECK(read_file("27-metax-c500-2x4-mx-sys"), {4, 2400, "0123 4567"});
}

static void test_gputopo_choose__torus_takes_a_row_a_column_or_a_square(void **state)
{
    CHECK(read_file("51-aws-trn1-trn2-16-torus"), {4, 1660, NULL}, {2, 400, NULL});
}

/* --- machines known by description
 * ------------------------------------------------------------------- */

/* A matrix of n GPUs whose links a function names; NUMA of position i is i / per_numa. */
static struct peer_graph *describe(unsigned n, unsigned per_numa,
                                   const char *(*name)(unsigned a, unsigned b))
{
    struct peer_graph *graph = peers_new(n);

    for (unsigned a = 0; a < n; a++) {
        if (per_numa > 0)
            peers_set_numa(graph, a, (int)(a / per_numa));
        for (unsigned b = a + 1; b < n; b++) {
            struct link link;

            assert_true(matrix_link(name(a, b), &link));
            peers_note_link(graph, a, b, &link);
        }
    }
    peers_finish(graph);
    return graph;
}

static const char *h100_pcie(unsigned a, unsigned b)
{
    if ((a == 0 && b == 5) || (a == 1 && b == 2) || (a == 3 && b == 4) || (a == 6 && b == 7))
        return "NV12";
    return (a < 3) == (b < 3) ? "NODE" : "SYS";
}

static void test_gputopo_choose__h100_pcie_uses_the_bridge_between_sockets(void **state)
{
    CHECK(describe(8, 0, h100_pcie), {2, 1200, "05 12 34 67"},
          {3, 1240, "012 345 346 347 367 467 567"}, {4, 2480, "3467"});
}

static const char *pxb_ring(unsigned a, unsigned b)
{
    return b - a == 2 ? "SYS" : "PXB";
}

static void test_gputopo_choose__pxb_ring_is_not_transitive(void **state)
{
    CHECK(describe(4, 0, pxb_ring), {2, 40, "01 03 12 23"}, {3, 90, "012 013 023 123"});
}

static const char *a100_pcie(unsigned a, unsigned b)
{
    return a / 2 == b / 2 ? "NV12" : "NODE";
}

static void test_gputopo_choose__node_links_across_numa_leave_the_choice_to_numa(void **state)
{
    CHECK(describe(8, 4, a100_pcie), {4, 2480, "0123 4567"});
}

static const char *mlu580(unsigned a, unsigned b)
{
    static const unsigned quad[16] = {0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3, 0, 0, 1, 1};

    return quad[a] == quad[b] ? "MLULINK" : "SYS";
}

static void test_gputopo_choose__mlu_quads_are_not_neighbours_by_number(void **state)
{
    CHECK(describe(16, 0, mlu580), {4, 2400, "0,1,12,13 2,3,14,15 4,5,8,9 6,7,10,11"});
}

static const char *kunlun(unsigned a, unsigned b)
{
    return a / 4 == b / 4 || b - a == 4 ? "XPUL" : "SYS";
}

static void test_gputopo_choose__kunlun_stays_in_one_wing(void **state)
{
    CHECK(describe(8, 4, kunlun), {2, 400, "01 02 03 12 13 23 45 46 47 56 57 67 04 15 26 37"},
          {3, 1200, "012 013 023 123 456 457 467 567"}, {4, 2400, "0123 4567"});
}

/* --- over time
 * ------------------------------------------------------------------------------------------- */

/* F13: fast links join 0-2 and 1-3; four pods of two get four fast pairs. */
static const char *not_by_number(unsigned a, unsigned b)
{
    bool fast =
        (a == 0 && b == 2) || (a == 1 && b == 3) || (a == 4 && b == 5) || (a == 6 && b == 7);

    return fast ? "NV4" : "PHB";
}

static void test_gputopo_choose__f13_hands_out_four_fast_pairs(void **state)
{
    struct peer_graph *graph = describe(8, 0, not_by_number);
    device_mask free = mask_below(8);

    (void)state;
    for (unsigned pod = 0; pod < 4; pod++) {
        struct topology_choice choice = choose(graph, free, 2);

        assert_int_equal(choice.tier, TIER_INTERCONNECT);
        free &= ~choice.set;
    }
    assert_int_equal(free, 0);
    /* With 0 in use, one of the other three. */
    assert_true(is_listed("13 45 67", choose(graph, 0xfe, 2).set));
    peers_unref(graph);
}

static void test_gputopo_choose__f13_takes_a_slow_pair_when_no_fast_one_is_free(void **state)
{
    struct peer_graph *graph = describe(8, 0, not_by_number);

    (void)state;
    assert_int_equal(choose(graph, 0x13 | 0x40, 2).tier, TIER_NUMA);
    peers_unref(graph);
}

/* DGX-1: handing out 0-1 would leave only three double links. */
static void test_gputopo_choose__dgx1_hands_out_four_double_links(void **state)
{
    struct peer_graph *graph = read_file("01-dgx1-v100-hybrid-cube-mesh");
    device_mask free = mask_below(8);

    (void)state;
    for (unsigned pod = 0; pod < 4; pod++) {
        struct topology_choice choice = choose(graph, free, 2);

        assert_int_equal(points(graph, choice.set), 200);
        free &= ~choice.set;
    }
    peers_unref(graph);
}

static void test_gputopo_choose__singles_break_one_bridge_after_the_other(void **state)
{
    struct peer_graph *graph = read_file("16-8xa40-nvlink-bridge-pairs");
    device_mask free = mask_below(8);

    (void)state;
    for (unsigned pod = 0; pod < 8; pod++) {
        struct topology_choice choice = choose(graph, free, 1);

        assert_int_equal(choice.set, mask_of(pod));
        free &= ~choice.set;
    }
    peers_unref(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gputopo_choose__dgx1_takes_double_links_and_whole_quads),
        cmocka_unit_test(test_gputopo_choose__dual_switches_take_one_switch_then_one_socket),
        cmocka_unit_test(test_gputopo_choose__mixed_five_never_take_the_far_device),
        cmocka_unit_test(test_gputopo_choose__bridged_a40_stay_in_one_socket),
        cmocka_unit_test(test_gputopo_choose__three_devices_take_the_bridged_pair),
        cmocka_unit_test(test_gputopo_choose__two_xgmi_quads_are_kept_whole),
        cmocka_unit_test(test_gputopo_choose__two_metax_quads_are_kept_whole),
        cmocka_unit_test(test_gputopo_choose__torus_takes_a_row_a_column_or_a_square),
        cmocka_unit_test(test_gputopo_choose__h100_pcie_uses_the_bridge_between_sockets),
        cmocka_unit_test(test_gputopo_choose__pxb_ring_is_not_transitive),
        cmocka_unit_test(test_gputopo_choose__node_links_across_numa_leave_the_choice_to_numa),
        cmocka_unit_test(test_gputopo_choose__mlu_quads_are_not_neighbours_by_number),
        cmocka_unit_test(test_gputopo_choose__kunlun_stays_in_one_wing),
        cmocka_unit_test(test_gputopo_choose__f13_hands_out_four_fast_pairs),
        cmocka_unit_test(test_gputopo_choose__f13_takes_a_slow_pair_when_no_fast_one_is_free),
        cmocka_unit_test(test_gputopo_choose__dgx1_hands_out_four_double_links),
        cmocka_unit_test(test_gputopo_choose__singles_break_one_bridge_after_the_other),
    };

    return cmocka_run_group_tests_name("gputopo_machines", tests, NULL, NULL);
}
