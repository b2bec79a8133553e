/* SPDX-License-Identifier: Apache-2.0 */
/* Which node wins, through filter, prioritize and bind: what each packing policy is for. */
#include "support/harness.h"

#define CARD_MIB 40960
#define QUAD "0-1 0-2 0-3 1-2 1-3 2-3"
#define EIGHT \
    QUAD " 4-5 4-6 4-7 5-6 5-7 6-7 0-4 0-5 0-6 0-7 1-4 1-5 1-6 1-7 2-4 2-5 2-6 2-7 3-4 3-5 3-6 " \
         "3-7"
#define PAIRS "0-1 2-3 4-5 6-7"

static struct harness *harness_with(enum packing_policy policy)
{
    struct harness *harness = harness_new();

    harness->extender.options.policy.packing = policy;
    return harness;
}

/* Somebody takes a whole device, chosen by the test, or a part of it. */
static void take(struct harness *harness, const char *node, unsigned device, const char *wants)
{
    static unsigned number;
    AUTO_FREE char *id = xasprintf("GPU-%s-%u", node, device);
    AUTO_FREE char *name = xasprintf("taker-%u", number++);

    api_pod(harness, name, wants, .annotations = {"topofit.io/use-devices", id});
    place(harness, name, node);
}

/* Ask about the nodes, which must have one winner. return its name; borrowed from `nodes`. */
static const char *winner(struct harness *harness, const char *pod, const char *const *nodes,
                          size_t count)
{
    AUTO(buf_clear) struct buf names = buf_with_max(1 << 12);
    const char *best = NULL;

    for (size_t i = 0; i < count; i++)
        buf_addf(&names, "%s%s", i > 0 ? " " : "", nodes[i]);
    ask_prioritize(harness, pod, buf_text(&names));
    for (size_t i = 0; i < count; i++) {
        if (score_of(harness, nodes[i]) != RANK_SCORE_MAX)
            continue;
        assert_null(best);
        best = nodes[i];
    }
    return best;
}

static const char *winner_of_two(struct harness *harness, const char *wants, const char *first,
                                 const char *second)
{
    const char *const nodes[] = {first, second};

    api_pod(harness, "p", wants);
    return winner(harness, "p", nodes, 2);
}

/* --- exactly the wanted group ---------------------------------------------------------------- */

static void test_the_node_where_exactly_the_wanted_group_is_free_wins(void **state)
{
    static const struct {
        const char *links, *wants;
        device_mask taken; /* of the one node; nothing of the other */
    } cases[] = {
        {EIGHT, "gpu 4", 0x0f}, {EIGHT, "gpu 2", 0x3f}, {EIGHT, "gpu 1", 0x7f},
        {EIGHT, "gpu 6", 0x03}, {PAIRS, "gpu 2", 0x3f}, {PAIRS, "gpu 1", 0x01},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (unsigned policy = 0; policy < PACKING_POLICY_COUNT; policy++) {
            AUTO(harness_free) struct harness *harness = harness_with((enum packing_policy)policy);

            /* Names are the last to decide, so the wrong node has the better one. */
            api_node(harness, "a-whole", 8, CARD_MIB, .links = cases[i].links);
            api_node(harness, "exact", 8, CARD_MIB, .links = cases[i].links);
            for (device_mask left = cases[i].taken; left != 0; left &= left - 1)
                take(harness, "exact", mask_first(left), "gpu 1");
            assert_string_equal(winner_of_two(harness, cases[i].wants, "a-whole", "exact"),
                                policy == PACKING_SPREAD ? "a-whole" : "exact");
        }
    }
}

/* Three of a quad are left, or a single one that is no good to anybody else. */
static void test_a_single_device_goes_where_no_group_is_lost(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "a-pair", 2, CARD_MIB, .links = "0-1");
    api_node(harness, "lone", 4, CARD_MIB, .links = "0-1");
    assert_string_equal(winner_of_two(harness, "gpu 1", "a-pair", "lone"), "lone");
}

/* --- groups stay whole ----------------------------------------------------------------------- */

/* Pods come one after the other, each to the node that wins. return how many found a place. */
static size_t arrive(struct harness *harness, const char *const *nodes, size_t node_count,
                     const char *const *wants, size_t count)
{
    size_t placed = 0;

    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *name = xasprintf("arrival-%zu", i);
        const char *node;

        api_pod(harness, name, wants[i]);
        node = winner(harness, name, nodes, node_count);
        if (node == NULL)
            continue;
        assert_string_equal(ask_bind(harness, name, node), "");
        placed++;
    }
    return placed;
}

static void test_whole_nodes_stay_whole_while_there_is_room_in_broken_ones(void **state)
{
    static const char *const nodes[] = {"n1", "n2", "n3"};
    static const char *const wants[] = {"gpu 1", "gpu 1", "gpu 2", "gpu 4", "gpu 8", "gpu 8"};

    (void)state;
    for (unsigned policy = 0; policy < PACKING_POLICY_COUNT; policy++) {
        AUTO(harness_free) struct harness *harness = harness_with((enum packing_policy)policy);

        for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
            api_node(harness, nodes[i], 8, CARD_MIB, .links = EIGHT);
        assert_int_equal(arrive(harness, nodes, 3, wants, ARRAY_LEN(wants)),
                         policy == PACKING_SPREAD ? ARRAY_LEN(wants) - 2 : ARRAY_LEN(wants));
    }
}

/* Two quads on each of two nodes: what is small goes together, so that a quad is left for each. */
static void test_quads_stay_whole_beside_pods_of_one_and_two(void **state)
{
    static const char *const nodes[] = {"n1", "n2"};
    static const char *const wants[] = {"gpu 1", "gpu 2", "gpu 1", "gpu 4", "gpu 4", "gpu 4"};

    (void)state;
    for (unsigned policy = 0; policy < PACKING_POLICY_COUNT; policy++) {
        AUTO(harness_free) struct harness *harness = harness_with((enum packing_policy)policy);

        if (policy == PACKING_SPREAD)
            continue;
        harness->extender.options.policy.topology.mode = TOPOLOGY_HARD;
        harness->extender.options.policy.topology.max_tier = TIER_INTERCONNECT;
        for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
            api_node(harness, nodes[i], 8, CARD_MIB, .links = QUAD " 4-5 4-6 4-7 5-6 5-7 6-7");
        assert_int_equal(arrive(harness, nodes, 2, wants, ARRAY_LEN(wants)), ARRAY_LEN(wants));
    }
}

static void test_pairs_stay_whole_beside_single_pods(void **state)
{
    static const char *const nodes[] = {"n1", "n2"};
    static const char *const wants[] = {"gpu 1", "gpu 2", "gpu 1", "gpu 2", "gpu 2",
                                        "gpu 2", "gpu 2", "gpu 2", "gpu 2"};

    (void)state;
    for (unsigned policy = 0; policy < PACKING_POLICY_COUNT; policy++) {
        AUTO(harness_free) struct harness *harness = harness_with((enum packing_policy)policy);

        if (policy == PACKING_SPREAD)
            continue;
        harness->extender.options.policy.topology.mode = TOPOLOGY_HARD;
        harness->extender.options.policy.topology.max_tier = TIER_INTERCONNECT;
        for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
            api_node(harness, nodes[i], 8, CARD_MIB, .links = PAIRS);
        assert_int_equal(arrive(harness, nodes, 2, wants, ARRAY_LEN(wants)), ARRAY_LEN(wants));
    }
}

/* --- where policies differ ------------------------------------------------------------------- */

static const int sockets[] = {0, 0, 0, 0, 1, 1, 1, 1};

/* Without interconnect: one node keeps a free socket, which the fuller one would lose. */
static void test_topology_first_spares_a_socket_where_pack_fills_the_fuller_node(void **state)
{
    static const char *const want[PACKING_POLICY_COUNT] = {
        [PACKING_PACK] = "fuller", [PACKING_SPREAD] = "spare", [PACKING_TOPOLOGY_FIRST] = "spare"};

    (void)state;
    for (unsigned policy = 0; policy < PACKING_POLICY_COUNT; policy++) {
        AUTO(harness_free) struct harness *harness = harness_with((enum packing_policy)policy);

        api_node(harness, "fuller", 8, CARD_MIB, .numa = sockets);
        api_node(harness, "spare", 8, CARD_MIB, .numa = sockets);
        for (unsigned i = 0; i < 4; i++)
            take(harness, "fuller", i, "gpu 1");
        take(harness, "spare", 0, "gpu 1");
        assert_string_equal(winner_of_two(harness, "gpu 1", "fuller", "spare"), want[policy]);
    }
}

static void test_links_come_before_every_policy(void **state)
{
    (void)state;
    for (unsigned policy = 0; policy < PACKING_POLICY_COUNT; policy++) {
        AUTO(harness_free) struct harness *harness = harness_with((enum packing_policy)policy);

        api_node(harness, "linked", 8, CARD_MIB, .links = EIGHT);
        api_node(harness, "slow-full", 8, CARD_MIB, .links = "");
        api_node(harness, "slow-idle", 8, CARD_MIB, .links = "");
        for (unsigned i = 0; i < 6; i++)
            take(harness, "slow-full", i, "gpu 1");
        for (unsigned i = 0; i < 4; i++)
            take(harness, "linked", i, "gpu 1");
        assert_string_equal(winner_of_two(harness, "gpu 2", "slow-full", "linked"), "linked");
        assert_string_equal(winner_of_two(harness, "gpu 2", "slow-idle", "linked"), "linked");
    }
}

static void test_the_policy_of_a_pod_comes_before_the_configured_one(void **state)
{
    (void)state;
    for (unsigned configured = 0; configured < PACKING_POLICY_COUNT; configured++) {
        for (unsigned own = 0; own < PACKING_POLICY_COUNT; own++) {
            static const char *const nodes[] = {"full", "idle"};
            AUTO(harness_free)
            struct harness *harness = harness_with((enum packing_policy)configured);

            api_node(harness, "full", 4, CARD_MIB);
            api_node(harness, "idle", 4, CARD_MIB);
            take(harness, "full", 0, "gpu 1");
            api_pod(harness, "p", "gpu 1",
                    .annotations = {"topofit.io/packing-policy",
                                    packing_policy_name((enum packing_policy)own)});
            assert_string_equal(winner(harness, "p", nodes, 2),
                                own == PACKING_SPREAD ? "idle" : "full");
        }
    }
}

static void test_a_policy_that_does_not_exist_is_refused_not_guessed(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "n1", 4, CARD_MIB);
    api_pod(harness, "p", "gpu 1", .annotations = {"topofit.io/packing-policy", "packed"});
    assert_contains(expect_refused(harness, "p", "n1"), "topofit.io/packing-policy");
    assert_true(is_unresolvable(harness, "n1"));
    ask_prioritize(harness, "p", "n1");
    assert_int_equal(score_of(harness, "n1"), 0);
    assert_contains(ask_bind(harness, "p", "n1"), "packed");
    assert_false(holds(harness, "p"));
}

/* --- graded ---------------------------------------------------------------------------------- */

static void test_graded_scores_let_several_nodes_be_the_best(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    harness->extender.options.policy.scores = RANK_GRADED;
    api_node(harness, "linked-a", 8, CARD_MIB, .links = EIGHT);
    api_node(harness, "linked-b", 8, CARD_MIB, .links = EIGHT);
    api_node(harness, "socket", 8, CARD_MIB, .numa = sockets);
    api_node(harness, "across", 2, CARD_MIB, .links = "");
    api_node(harness, "unknown", 8, CARD_MIB);
    api_node(harness, "small", 1, CARD_MIB);
    api_pod(harness, "p", "gpu 2");
    ask_prioritize(harness, "p", "small unknown across socket linked-a linked-b");
    assert_int_equal(score_of(harness, "linked-a"), 10);
    assert_int_equal(score_of(harness, "linked-b"), 10);
    assert_int_equal(score_of(harness, "socket"), 6);
    assert_int_equal(score_of(harness, "across"), 3);
    assert_int_equal(score_of(harness, "unknown"), 1);
    assert_int_equal(score_of(harness, "small"), 0);
}

static void test_graded_scores_of_single_devices_go_by_how_full_the_node_becomes(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    harness->extender.options.policy.scores = RANK_GRADED;
    api_node(harness, "full", 4, CARD_MIB);
    api_node(harness, "idle", 4, CARD_MIB);
    for (unsigned i = 0; i < 3; i++)
        take(harness, "full", i, "gpu 1");
    api_pod(harness, "p", "gpu 1");
    ask_prioritize(harness, "p", "full idle");
    assert_int_equal(score_of(harness, "full"), 10);
    assert_int_equal(score_of(harness, "idle"), 3);
    harness->extender.options.policy.packing = PACKING_SPREAD;
    ask_prioritize(harness, "p", "full idle");
    assert_int_equal(score_of(harness, "full"), 1);
    assert_int_equal(score_of(harness, "idle"), 7);
}

/* Nobody looks at links: sets go where it is full, and not everywhere alike. */
static void test_graded_scores_of_sets_go_by_load_with_topology_off(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    harness->extender.options.policy.scores = RANK_GRADED;
    api_node(harness, "full", 4, CARD_MIB, .links = "");
    api_node(harness, "idle", 4, CARD_MIB, .links = EIGHT);
    take(harness, "full", 0, "gpu 1");
    take(harness, "full", 1, "gpu 1");
    api_pod(harness, "p", "gpu 2", .annotations = {"topofit.io/topology", "off"});
    ask_prioritize(harness, "p", "full idle");
    assert_int_equal(score_of(harness, "full"), 10);
    assert_int_equal(score_of(harness, "idle"), 5);
}

/* --- pods without devices -------------------------------------------------------------------- */

/* The CPU that a node says it has; NULL: it says nothing. */
static void set_cpu(struct harness *harness, const char *node, const char *cpu)
{
    json_t *allocatable =
        json_object_get(json_object_get(api_node_json(harness, node), "status"), "allocatable");

    json_object_del(allocatable, "cpu");
    if (cpu != NULL)
        json_object_set_new(allocatable, "cpu", json_string(cpu));
    watch_node(harness, node);
}

/* A host of idle devices, one whose devices are taken, one without any. */
static struct harness *hosts(const char *cpu)
{
    static const char *const nodes[] = {"idle", "busy", "plain"};
    struct harness *harness = harness_new();

    api_node(harness, "idle", 2, CARD_MIB);
    api_node(harness, "busy", 2, CARD_MIB);
    api_node(harness, "plain", 0, 0);
    take(harness, "busy", 0, "gpu 1");
    take(harness, "busy", 1, "gpu 1");
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        set_cpu(harness, nodes[i], cpu);
    api_pod(harness, "web", "none, cpu 4");
    return harness;
}

static void test_pods_without_devices_stay_away_from_hosts_of_idle_devices(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PACKING_POLICY_COUNT; i++) {
        AUTO(harness_free) struct harness *harness = hosts("96");

        harness->extender.options.policy.packing = (enum packing_policy)i;
        for (unsigned form = 0; form < 2; form++) {
            harness->sends_nodes = form == 1;
            ask_prioritize(harness, "web", "idle busy plain");
            assert_int_equal(score_of(harness, "idle"), 1);
            assert_true(score_of(harness, "busy") > 1 && score_of(harness, "plain") > 1);
        }
        harness->extender.options.policy.scores = RANK_GRADED;
        ask_prioritize(harness, "web", "idle busy plain");
        assert_int_equal(score_of(harness, "idle"), 1);
        assert_int_equal(score_of(harness, "busy"), 10);
        assert_int_equal(score_of(harness, "plain"), 10);
    }
}

static void test_pods_without_devices_score_alike_where_no_cpu_is_known(void **state)
{
    (void)state;
    for (unsigned scores = RANK_WINNER; scores <= RANK_GRADED; scores++) {
        AUTO(harness_free) struct harness *harness = hosts(NULL);

        harness->extender.options.policy.scores = (enum rank_scores)scores;
        ask_prioritize(harness, "web", "idle busy plain");
        assert_int_equal(score_of(harness, "idle"), score_of(harness, "plain"));
        assert_int_equal(score_of(harness, "busy"), score_of(harness, "plain"));
    }
}

/* The host whose CPU is gone has devices that wait in vain: better there than beside others. */
static void test_pods_without_devices_fill_the_fuller_of_two_hosts_alike(void **state)
{
    static const char *const nodes[] = {"a-empty", "full"};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "a-empty", 2, CARD_MIB);
    api_node(harness, "full", 2, CARD_MIB);
    api_pod(harness, "other", "none, cpu 60", .node = "full");
    api_pod(harness, "web", "none, cpu 4");
    assert_string_equal(winner(harness, "web", nodes, 2), "full");
}

/* --- what the cluster runs ------------------------------------------------------------------- */

/* Once pods of 60 % have come, a small one leaves alone the device that has just room for one. */
static void test_what_usually_comes_decides_where_small_pods_go(void **state)
{
    static const char *const nodes[] = {"fuller", "roomy"};
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    api_node(harness, "fuller", 1, CARD_MIB);
    api_node(harness, "roomy", 1, CARD_MIB);
    take(harness, "fuller", 0, "gpu 1, pct 35");
    take(harness, "roomy", 0, "gpu 1, pct 10");
    api_pod(harness, "p", "gpu 1, pct 10");
    assert_string_equal(winner(harness, "p", nodes, 2), "fuller");
    for (unsigned i = 0; i < 100; i++) {
        AUTO_FREE char *name = xasprintf("usual-%u", i);

        api_pod(harness, name, "gpu 1, pct 60");
    }
    assert_string_equal(winner(harness, "p", nodes, 2), "roomy");
    harness->extender.options.policy.packing = PACKING_TOPOLOGY_FIRST;
    assert_string_equal(winner(harness, "p", nodes, 2), "roomy");
}

/* A pod that takes any product leaves alone what others insist on. */
static void test_products_that_others_insist_on_are_left_alone(void **state)
{
    (void)state;
    for (unsigned form = 0; form < 2; form++) {
        static const char *const nodes[] = {"a-wanted", "common"};
        AUTO(harness_free) struct harness *harness = harness_new();

        harness->sends_nodes = form == 1;
        api_node(harness, "a-wanted", 1, CARD_MIB, .product = "Model M");
        api_node(harness, "common", 1, CARD_MIB, .product = "Model X");
        api_pod(harness, "p", "gpu 1");
        assert_string_equal(winner(harness, "p", nodes, 2), "a-wanted"); /* by name */
        for (unsigned i = 0; i < 40; i++) {
            AUTO_FREE char *name = xasprintf("usual-%u", i);

            api_pod(harness, name, "gpu 1", .annotations = {"topofit.io/use-products", "Model M"});
        }
        assert_string_equal(winner(harness, "p", nodes, 2), "common");
        if (form == 0)
            continue;
        /* As sent it differs from what the watch told: the words are the same all the same. */
        json_object_set_new(json_object_get(api_node_json(harness, "a-wanted"), "metadata"), "uid",
                            json_string("uid-later"));
        assert_string_equal(winner(harness, "p", nodes, 2), "common");
    }
}

/* The second of a node's two devices is one that others insist on, whichever comes first. */
static void test_each_product_that_a_pod_takes_counts(void **state)
{
    static const char *const mixed[] = {"Model M", "Model X"};
    static const char *const nodes[] = {"a-mixed", "common"};

    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        AUTO(harness_free) struct harness *harness = harness_new();
        AUTO_FREE char *inventory = xasprintf(
            "{\"devices\": [{\"id\": \"GPU-a-mixed-0\", \"memoryMiB\": %d, \"slots\": 10, "
            "\"product\": "
            "\"%s\"}, {\"id\": \"GPU-a-mixed-1\", \"memoryMiB\": %d, \"slots\": 10, \"product\": "
            "\"%s\"}]}",
            CARD_MIB, mixed[first], CARD_MIB, mixed[1 - first]);
        json_t *annotations;

        api_node(harness, "a-mixed", 2, CARD_MIB);
        annotations = json_object_get(
            json_object_get(api_node_json(harness, "a-mixed"), "metadata"), "annotations");
        json_object_set_new(annotations, "topofit.io/inventory", json_string(inventory));
        watch_node(harness, "a-mixed");
        api_node(harness, "common", 2, CARD_MIB, .product = "Model X");
        api_pod(harness, "p", "gpu 2");
        assert_string_equal(winner(harness, "p", nodes, 2), "a-mixed"); /* by name */
        for (unsigned i = 0; i < 40; i++) {
            AUTO_FREE char *name = xasprintf("usual-%u", i);

            api_pod(harness, name, "gpu 1", .annotations = {"topofit.io/use-products", "Model M"});
        }
        assert_string_equal(winner(harness, "p", nodes, 2), "common");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_node_where_exactly_the_wanted_group_is_free_wins),
        cmocka_unit_test(test_a_single_device_goes_where_no_group_is_lost),
        cmocka_unit_test(test_whole_nodes_stay_whole_while_there_is_room_in_broken_ones),
        cmocka_unit_test(test_quads_stay_whole_beside_pods_of_one_and_two),
        cmocka_unit_test(test_pairs_stay_whole_beside_single_pods),
        cmocka_unit_test(test_topology_first_spares_a_socket_where_pack_fills_the_fuller_node),
        cmocka_unit_test(test_links_come_before_every_policy),
        cmocka_unit_test(test_the_policy_of_a_pod_comes_before_the_configured_one),
        cmocka_unit_test(test_a_policy_that_does_not_exist_is_refused_not_guessed),
        cmocka_unit_test(test_graded_scores_let_several_nodes_be_the_best),
        cmocka_unit_test(test_graded_scores_of_single_devices_go_by_how_full_the_node_becomes),
        cmocka_unit_test(test_graded_scores_of_sets_go_by_load_with_topology_off),
        cmocka_unit_test(test_pods_without_devices_stay_away_from_hosts_of_idle_devices),
        cmocka_unit_test(test_pods_without_devices_score_alike_where_no_cpu_is_known),
        cmocka_unit_test(test_pods_without_devices_fill_the_fuller_of_two_hosts_alike),
        cmocka_unit_test(test_what_usually_comes_decides_where_small_pods_go),
        cmocka_unit_test(test_products_that_others_insist_on_are_left_alone),
        cmocka_unit_test(test_each_product_that_a_pod_takes_counts),
    };

    return cmocka_run_group_tests_name("which_node", tests, NULL, NULL);
}
