/* SPDX-License-Identifier: Apache-2.0 */
/* How many good groups idle devices can form, against trying everything. */
#include "support/builders.h"
#include "support/peer_graphs.h"
#include "support/test.h"

#include "topofit/gputopo.h"

#define DEVICES_MAX 9
#define ROUNDS 400
#define KINDS 6
#define BITS 3 /* for each kind */
#define FEW 7  /* up to so many are told apart */

/* As in the number: the first counts most. */
static const struct {
    unsigned size;
    enum tier tier;
} kinds[KINDS] = {{8, TIER_INTERCONNECT}, {8, TIER_NUMA},         {4, TIER_INTERCONNECT},
                  {4, TIER_NUMA},         {2, TIER_INTERCONNECT}, {2, TIER_NUMA}};

/* --- everything tried ------------------------------------------------------------------------ */

static bool is_group(const struct peer_graph *graph, enum topology_source source, device_mask set,
                     enum tier tier)
{
    for (unsigned a = 0; a < graph->n; a++) {
        for (unsigned b = 0; b < a; b++) {
            if (mask_has(set, a) && mask_has(set, b) && peers_tier(graph, source, a, b) > tier)
                return false;
        }
    }
    return true;
}

/* The most groups apart that the devices can form: the first one in no group, or in each. */
static unsigned most_groups(const struct peer_graph *graph, enum topology_source source,
                            device_mask devices, unsigned kind)
{
    unsigned most;

    if (mask_count(devices) < kinds[kind].size)
        return 0;
    most = most_groups(graph, source, devices & (devices - 1), kind);
    for (device_mask set = devices; set != 0; set = (set - 1) & devices) {
        unsigned count;

        if (mask_count(set) != kinds[kind].size || !mask_has(set, mask_first(devices)) ||
            !is_group(graph, source, set, kinds[kind].tier))
            continue;
        count = 1 + most_groups(graph, source, devices & ~set, kind);
        most = count > most ? count : most;
    }
    return most;
}

static uint32_t lost(const struct peer_graph *graph, enum topology_source source,
                     device_mask before, device_mask after, bool linked_only)
{
    uint32_t number = 0;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        unsigned fewer =
            most_groups(graph, source, before, kind) - most_groups(graph, source, after, kind);

        if (linked_only && kinds[kind].tier != TIER_INTERCONNECT)
            continue;
        number = number << BITS | (fewer < FEW ? fewer : FEW);
    }
    return number;
}

/* Any wiring: sockets, random links, or both; often so that closeness is not transitive. */
static struct peer_graph *chance_graph(uint64_t *chance)
{
    unsigned n = 1 + chance_below(chance, DEVICES_MAX), density = 1 + chance_below(chance, 6);
    struct peer_graph *graph = peers_new(n);

    for (unsigned a = 0; a < n; a++) {
        peers_set_numa(graph, a, (int)chance_below(chance, 3) - 1);
        for (unsigned b = 0; b < a; b++) {
            struct link link = graph_link((enum tier)chance_below(chance, TIER_COUNT), 10);

            if (!chance_one_in(chance, density))
                link = graph_link(TIER_INTERCONNECT, 50);
            if (!chance_one_in(chance, 5))
                peers_note_link(graph, a, b, &link);
        }
    }
    peers_finish(graph);
    return graph;
}

static void test_gputopo_groups_lost__is_what_trying_everything_finds(void **state)
{
    uint64_t chance = 7;

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        AUTO(peers_unref_pointer) struct peer_graph *graph = chance_graph(&chance);
        enum topology_source source = (enum topology_source)chance_below(&chance, SOURCE_COUNT);
        device_mask before = chance_below(&chance, 4) == 0 ? chance_below(&chance, 1u << graph->n)
                                                           : mask_below(graph->n);
        device_mask after = before & chance_below(&chance, 1u << graph->n);
        uint32_t got = gputopo_groups_lost(graph, source, before, after);

        assert_int_equal(got, lost(graph, source, before, after, false));
        assert_int_equal(gputopo_linked_eights(got) << TOPOLOGY_LINKED_FOURS_BITS |
                             gputopo_linked_fours(got),
                         lost(graph, source, before, after, true));
    }
}

/* --- a few that can be read ------------------------------------------------------------------ */

static void test_gputopo_groups_lost__nothing_is_lost_where_nothing_is_taken(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_8gpu_nvswitch("n");

    (void)state;
    assert_int_equal(gputopo_groups_lost(node->graph, SOURCE_AUTO, 0xff, 0xff), 0);
    assert_int_equal(gputopo_groups_lost(node->graph, SOURCE_AUTO, 0, 0), 0);
}

/* One group of 8 outweighs any number of fours, and a four any number of pairs. */
static void test_gputopo_groups_lost__greater_groups_count_more(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_8gpu_nvswitch("n");
    uint32_t an_eight = gputopo_groups_lost(node->graph, SOURCE_AUTO, 0xff, 0x7f);
    uint32_t a_four = gputopo_groups_lost(node->graph, SOURCE_AUTO, 0x7f, 0x07);
    uint32_t a_pair = gputopo_groups_lost(node->graph, SOURCE_AUTO, 0x07, 0x01);
    uint32_t none = gputopo_groups_lost(node->graph, SOURCE_AUTO, 0x07, 0x03);

    (void)state;
    assert_true(an_eight > a_four && a_four > a_pair && a_pair > none);
    assert_int_equal(none, 0);
}

/* Two A40s joined by a bridge, or two of one socket with none between them. */
static void test_gputopo_linked_fours__leaves_out_groups_of_one_socket(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_8gpu_pairs("n");
    uint32_t bridge = gputopo_groups_lost(node->graph, SOURCE_AUTO, 0x03, 0x01);
    uint32_t socket = gputopo_groups_lost(node->graph, SOURCE_AUTO, 0x05, 0x01);

    (void)state;
    assert_int_equal(gputopo_linked_fours(bridge), 1);
    assert_true(socket > 0);
    assert_int_equal(gputopo_linked_fours(socket), 0);
}

/* 32 pairs are lost at once: no kind's count runs into the next. */
static void test_gputopo_groups_lost__many_groups_stay_within_their_bits(void **state)
{
    static const unsigned sizes[] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
                                     2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0};
    AUTO(peers_unref_pointer) struct peer_graph *graph = graph_numa_domains(sizes);

    (void)state;
    assert_int_equal(graph->n, DEVICE_MAX);
    assert_int_equal(gputopo_groups_lost(graph, SOURCE_AUTO, mask_below(DEVICE_MAX), 0), FEW);
    assert_int_equal(gputopo_groups_lost(graph, SOURCE_AUTO, mask_below(4), 0x3), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gputopo_groups_lost__is_what_trying_everything_finds),
        cmocka_unit_test(test_gputopo_groups_lost__nothing_is_lost_where_nothing_is_taken),
        cmocka_unit_test(test_gputopo_groups_lost__greater_groups_count_more),
        cmocka_unit_test(test_gputopo_linked_fours__leaves_out_groups_of_one_socket),
        cmocka_unit_test(test_gputopo_groups_lost__many_groups_stay_within_their_bits),
    };

    return cmocka_run_group_tests_name("gputopo_groups", tests, NULL, NULL);
}
