/* SPDX-License-Identifier: Apache-2.0 */
/* decide under the rules of the built-in classes: sets, service classes, slices, handles. */
#include "support/builtin_classes.h"
#include "support/builders.h"
#include "support/class_nodes.h"
#include "support/decide_plainly.h"
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/set_rule.h"

static const struct device_class *class_of(const char *name)
{
    const struct device_class *class = builtin_class(name);

    assert_non_null(class);
    return class;
}

/* What whole devices of a class get beside those that are taken. 0: refused for `reason`. */
static device_mask choose(const struct node *node, const char *taken, unsigned count,
                          enum reason *reason)
{
    AUTO(request_clear)
    struct request request = request_of_class(node->devices[0].class, count, 0, 0);
    struct node_use use = use_none(node);
    struct plan plan;

    use_whole(&use, node, mask_from(taken));
    *reason = decide_plainly(node, &use, &request, &plan);
    return *reason == REASON_OK ? plan.sets[0] : 0;
}

/* A P800 node: wings linked all to all, and 0-4 1-5 2-6 3-7. */
static struct node *node_kunlun(const char *class)
{
    struct node *node = node_of_class(class_of(class), 8, 98304, 4);
    struct peer_graph *graph = peers_new(8);
    const struct link link = {.name = "XPUL", .tier = TIER_INTERCONNECT, .gbps = 400};

    for (unsigned a = 0; a < 8; a++) {
        for (unsigned b = 0; b < a; b++) {
            if (a / 4 == b / 4 || a - b == 4)
                peers_note_link(graph, a, b, &link);
        }
    }
    peers_finish(graph);
    node_steal_graph(node, graph);
    return node;
}

/* --- wings: HAMi's examples ------------------------------------------------------------------ */

static void test_decide_node__kunlun_takes_the_tightest_wing_that_holds_the_set(void **state)
{
    static const struct {
        const char *taken;
        unsigned count;
        const char *within; /* the set lies in it */
    } cases[] = {
        {"", 4, "01234567"}, {"4", 2, "567"},     {"4", 4, "0123"},   {"0", 4, "4567"},
        {"01", 2, "23"},     {"0145", 2, "2367"}, {"456", 1, "7"},    {"4", 1, "567"},
        {"45", 1, "67"},     {"014", 1, "567"},   {"456", 2, "0123"}, {"0", 2, "123"},
        {"", 8, "01234567"}, {"045", 2, "67"},
    };
    AUTO(node_unref_pointer) struct node *node = node_kunlun("kunlun");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum reason reason;
        device_mask set = choose(node, cases[i].taken, cases[i].count, &reason);

        assert_int_equal(reason, REASON_OK);
        assert_int_equal(mask_count(set), cases[i].count);
        assert_int_equal(set & ~mask_from(cases[i].within), 0);
        assert_true(cases[i].count == 8 || (set & 0x0f) == 0 || (set & 0xf0) == 0);
    }
}

static void test_decide_node__kunlun_crosses_wings_over_linked_pairs_and_quads_only(void **state)
{
    static const struct {
        const char *taken;
        unsigned count;
        const char *want; /* "" = none */
    } cases[] = {
        {"123567", 2, "04"}, {"023467", 2, "15"}, {"123467", 2, ""},   {"2367", 4, "0145"},
        {"0145", 4, "2367"}, {"1357", 4, "0246"}, {"1256", 4, "0347"}, {"0146", 4, ""},
        {"014", 4, "2367"},  {"145", 4, "2367"},  {"0", 8, ""},
    };
    AUTO(node_unref_pointer) struct node *node = node_kunlun("kunlun");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum reason reason;
        device_mask set = choose(node, cases[i].taken, cases[i].count, &reason);

        assert_int_equal(set, mask_from(cases[i].want));
        if (set == 0 && cases[i].count == 8)
            assert_int_equal(reason, REASON_MEMORY);
        else if (set == 0)
            assert_int_equal(reason, REASON_SETS);
    }
}

/* With six free the two that are left should still be linked. */
static void test_decide_node__kunlun_leaves_a_linked_pair_where_it_can(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_kunlun("kunlun");

    (void)state;
    for (unsigned a = 0; a < 4; a++) {
        for (unsigned b = 4; b < 8; b++) {
            const char taken[] = {(char)('0' + a), (char)('0' + b), '\0'};
            enum reason reason;
            device_mask set = choose(node, taken, 4, &reason), rest;

            if (set == 0) {
                assert_int_equal(reason, REASON_SETS);
                continue;
            }
            rest = 0xff & ~(set | mask_of(a) | mask_of(b));
            assert_int_equal(mask_count(rest), 2);
        }
    }
}

static void test_decide_node__counts_that_a_kind_is_not_given_out_in_are_named(void **state)
{
    static const unsigned wrong[] = {3, 5, 6, 7};
    AUTO(node_unref_pointer) struct node *node = node_kunlun("kunlun");
    enum reason reason;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_int_equal(choose(node, "", wrong[i], &reason), 0);
        assert_int_equal(reason, REASON_COUNTS);
    }
    assert_int_equal(choose(node, "", 9, &reason), 0);
    assert_int_equal(reason, REASON_TOO_FEW_DEVICES);
}

/* HAMi goes by the place in a list that it has sorted by load. */
static void test_decide_node__wings_go_by_index_not_by_place(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_of_class(class_of("kunlun"), 6, 98304, 1);
    enum reason reason;

    (void)state;
    for (unsigned i = 0; i < 6; i++)
        node->devices[i].index = i + 2; /* 0 and 1 are missing */
    assert_int_equal(choose(node, "", 4, &reason), mask_from("2345"));
    assert_int_equal(choose(node, "2", 4, &reason), mask_from("0145"));
    assert_int_equal(choose(node, "24", 4, &reason), 0);
    assert_int_equal(reason, REASON_SETS);
    assert_int_equal(choose(node, "", 2, &reason), mask_from("01"));
}

static void test_decide_node__a_set_that_can_never_be_is_no_reason_to_evict(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_kunlun("kunlun");
    enum reason reason;

    (void)state;
    node->devices[0].healthy = false;
    node->devices[5].healthy = false;
    node->devices[6].healthy = false;
    assert_int_equal(choose(node, "", 4, &reason), 0);
    assert_int_equal(reason, REASON_SET_NEVER);
    assert_false(reason_is_curable(reason));
    node->devices[5].healthy = true;
    assert_int_equal(choose(node, "5", 4, &reason), 0);
    assert_int_equal(reason, REASON_SETS);
    assert_true(reason_is_curable(reason));
}

/* --- slices ---------------------------------------------------------------------------------- */

static enum reason take_slice(const struct node *node, struct node_use *use, uint64_t mib,
                              unsigned count, struct plan *plan)
{
    const struct device_class *class = class_of("kunlun-vxpu");
    uint16_t cores = (uint16_t)(mib * 100 / 98304);
    AUTO(request_clear) struct request request = request_of_class(class, count, mib, cores);

    return decide_plainly(node, use, &request, plan);
}

static void split(struct node_use *use, const struct node *node, const char *devices, uint64_t mib)
{
    for (; *devices != '\0'; devices++)
        use_take(use, node, (unsigned)(*devices - '0'), mib, (uint16_t)(mib * 100 / 98304),
                 ISOLATION_SOFT);
}

static void test_decide_node__slices_of_a_device_are_of_one_size(void **state)
{
    AUTO(node_unref_pointer)
    struct node *node = node_of_class(class_of("kunlun-vxpu"), 1, 98304, 4);
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    split(&use, node, "00", 24576);
    assert_int_equal(take_slice(node, &use, 24576, 1, &plan), REASON_OK);
    assert_int_equal(take_slice(node, &use, 49152, 1, &plan), REASON_SLICE_SIZE);
    split(&use, node, "0", 24576);
    assert_int_equal(take_slice(node, &use, 49152, 1, &plan), REASON_MEMORY);
}

static void test_decide_node__slices_of_one_pod_are_of_one_size_too(void **state)
{
    AUTO(node_unref_pointer)
    struct node *node = node_of_class(class_of("kunlun-vxpu"), 1, 98304, 4);
    struct node_use use = use_none(node);
    AUTO(request_clear)
    struct request request = request_of_class(class_of("kunlun-vxpu"), 1, 24576, 25);
    struct ask other = request.asks[0];
    struct plan plan;

    (void)state;
    request_add_container(&request, "second", CONTAINER_APP);
    other.container = 1;
    request_add_ask(&request, &other);
    assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_OK);
    request.asks[1].memory = 49152;
    assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_CONTAINERS);
}

/* Kunlun's documentation: 6 cards x 4 and 8 x 2 are fine, 8 x 4 is not. */
static void test_decide_node__handles_of_a_node_are_limited(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_kunlun("kunlun-vxpu");
    struct node_use use = use_none(node);
    AUTO(request_clear)
    struct request request = request_of_class(class_of("kunlun-vxpu"), 1, 24576, 25);
    struct decide_policy policy = decide_policy_default();
    struct verdict verdict;
    struct plan plan;

    (void)state;
    split(&use, node, "01234", 24576);
    assert_int_equal(take_slice(node, &use, 49152, 1, &plan), REASON_OK);
    assert_int_equal(take_slice(node, &use, 24576, 2, &plan), REASON_OK);
    split(&use, node, "5", 24576); /* 8 + 6 x 4 */
    assert_int_equal(take_slice(node, &use, 98304, 1, &plan), REASON_OK);
    assert_int_equal(take_slice(node, &use, 98304, 2, &plan), REASON_OK);
    assert_int_equal(plan.sets[0], mask_from("67"));
    assert_int_equal(take_slice(node, &use, 24576, 1, &plan), REASON_OK);
    assert_int_equal(plan.sets[0] & mask_from("67"), 0);
    split(&use, node, "000111222333444555", 24576); /* all six are full */
    decide_node(node, &use, &request, &policy, NULL, &plan, &verdict);
    assert_int_equal(verdict.devices[REASON_HANDLES], 2);
    assert_int_equal(verdict.devices[REASON_MEMORY], 6);
}

static void test_decide_node__eight_cards_in_two_are_within_the_handles(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_kunlun("kunlun-vxpu");
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    split(&use, node, "0123456", 49152);
    assert_int_equal(take_slice(node, &use, 49152, 8, &plan), REASON_OK);
    assert_int_equal(take_slice(node, &use, 24576, 8, &plan), REASON_SET_NEVER);
}

/* --- runs ------------------------------------------------------------------------------------ */

static struct node *node_neuron(unsigned n, const char *type)
{
    struct node *node = node_of_class(class_of("aws-neuron"), n, 1, 1);

    labels_add(node->labels, "node.kubernetes.io/instance-type", type);
    labels_sort(node->labels);
    return node;
}

static void test_decide_node__trainium_is_given_out_in_aligned_runs(void **state)
{
    static const struct {
        const char *taken;
        unsigned count;
        device_mask want; /* 0: none */
        enum reason reason;
    } cases[] = {
        {"", 4, 0x000f, REASON_OK},  {"1", 4, 0x00f0, REASON_OK}, {"15", 4, 0x0f00, REASON_OK},
        {"1", 8, 0xff00, REASON_OK}, {"", 16, 0xffff, REASON_OK}, {"1", 16, 0, REASON_MEMORY},
        {"", 2, 0, REASON_COUNTS},   {"", 3, 0, REASON_COUNTS},   {"", 12, 0, REASON_COUNTS},
    };
    AUTO(node_unref_pointer) struct node *node = node_neuron(16, "trn1.32xlarge");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum reason reason;

        assert_int_equal(choose(node, cases[i].taken, cases[i].count, &reason), cases[i].want);
        assert_int_equal(reason, cases[i].reason);
    }
}

static void test_decide_node__inferentia_is_given_out_in_runs(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_neuron(6, "inf2.24xlarge");
    enum reason reason;

    (void)state;
    assert_int_equal(choose(node, "", 3, &reason), 0x07);
    assert_int_equal(choose(node, "1", 3, &reason), 0x1c);
    assert_int_equal(choose(node, "03", 2, &reason), 0x06);
    assert_int_equal(choose(node, "14", 2, &reason), 0x0c);
    assert_int_equal(choose(node, "14", 3, &reason), 0);
    assert_int_equal(reason, REASON_SETS);
    assert_int_equal(choose(node, "", 5, &reason), 0x1f);
}

/* --- zones and modules ----------------------------------------------------------------------- */

static struct node *node_zones(const char *class, const char *zones)
{
    unsigned n = (unsigned)strlen(zones);
    struct node *node = node_of_class(class_of(class), n, 32768, 16);

    for (unsigned i = 0; i < n; i++)
        node->devices[i].zone = zones[i] == '-' ? ZONE_UNKNOWN : zones[i] - '0';
    return node;
}

static void test_decide_node__metax_takes_the_smallest_zone_that_holds_the_set(void **state)
{
    static const struct {
        const char *zones;
        unsigned count;
        const char *want;
    } cases[] = {
        {"11112233", 2, "45"},
        {"11112233", 4, "0123"},
        {"1112222", 3, "012"},
        {"1112222", 4, "3456"},
        {"1111222", 1, "4"},
        {"--112222", 2, "23"},
        /* none holds it: 10 for each pair taken, less one for each pair broken */
        {"1112222", 5, "03456"},
        {"11223-", 3, "014"},
        {"112-3-", 3, "012"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(node_unref_pointer) struct node *node = node_zones("metax-sgpu", cases[i].zones);
        enum reason reason;

        assert_int_equal(choose(node, "", cases[i].count, &reason), mask_from(cases[i].want));
        assert_int_equal(reason, REASON_OK);
    }
}

static void test_decide_node__ascend_takes_the_network_with_most_free(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_zones("ascend-910a", "00001111");
    enum reason reason;

    (void)state;
    assert_int_equal(choose(node, "0", 2, &reason) & ~0xf0u, 0);
    assert_int_equal(choose(node, "45", 2, &reason) & ~0x0fu, 0);
    assert_int_equal(choose(node, "45", 5, &reason) & 0x0f, 0x0f);
    node->devices[7].zone = ZONE_UNKNOWN; /* not of all is the network known */
    assert_int_equal(mask_count(choose(node, "", 2, &reason)), 2);
}

/* The set is there, and nobody knows how good it is: that is what to mend, not the set. */
static void test_decide_node__hard_without_known_links_says_so_under_any_rule(void **state)
{
    static const char *const classes[] = {"metax-gpu", "metax-sgpu", "ascend-910a", "kunlun",
                                          "nvidia"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        AUTO(node_unref_pointer)
        struct node *node = node_of_class(class_of(classes[i]), 8, 32768, 1);
        AUTO(request_clear)
        struct request request = request_of_class(class_of(classes[i]), 4, 0, 0);
        struct node_use use = use_none(node);
        struct plan plan;

        request.topology = (struct topology_demand){.has_mode = true, .mode = TOPOLOGY_HARD};
        assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_TOPOLOGY_UNKNOWN);
    }
}

static void test_decide_node__modules_go_together(void **state)
{
    AUTO(node_unref_pointer)
    struct node *node = node_of_class(class_of("ascend-910c"), 8, 65536, 1);
    enum reason reason;

    (void)state;
    assert_int_equal(choose(node, "03", 4, &reason), mask_from("4567"));
    assert_int_equal(choose(node, "03", 1, &reason), mask_from("1"));
    assert_int_equal(choose(node, "", 1, &reason), mask_from("0"));
    assert_int_equal(choose(node, "035", 4, &reason), 0);
    assert_int_equal(reason, REASON_SETS);
    assert_int_equal(choose(node, "", 3, &reason), 0);
    assert_int_equal(reason, REASON_SET_NEVER);
}

static void test_decide_node__one_tenant_and_the_same_devices(void **state)
{
    AUTO(node_unref_pointer) struct node *gcu = node_of_class(class_of("enflame-gcu"), 1, 4096, 9);
    AUTO(node_unref_pointer) struct node *mt = node_of_class(class_of("mthreads"), 2, 4096, 9);
    struct node_use use = use_none(gcu), none = use_none(mt);
    AUTO(request_clear) struct request part = request_of_class(class_of("enflame-gcu"), 1, 1, 1);
    AUTO(request_clear) struct request two = request_of_class(class_of("mthreads"), 1, 1000, 1);
    struct ask second = two.asks[0];
    struct plan plan;

    (void)state;
    assert_int_equal(decide_plainly(gcu, &use, &part, &plan), REASON_OK);
    use_take(&use, gcu, 0, 1, 1, ISOLATION_SOFT);
    assert_int_equal(decide_plainly(gcu, &use, &part, &plan), REASON_EXCLUSIVE);
    request_add_container(&two, "second", CONTAINER_APP);
    second.container = 1;
    second.memory = 3000;
    request_add_ask(&two, &second);
    use_take(&none, mt, 0, 96, 1, ISOLATION_SOFT);
    assert_int_equal(decide_plainly(mt, &none, &two, &plan), REASON_OK);
    assert_int_equal(plan.sets[0], plan.sets[1]);
    two.asks[1].memory = 3500;
    assert_int_equal(decide_plainly(mt, &none, &two, &plan), REASON_CONTAINERS);
}

/* --- service classes: HAMi's rules for MetaX sGPU -------------------------------------------- */

struct service_case {
    enum service tenant, reported, wanted;
    enum application tenant_app, wanted_app;
    uint16_t cores;
    enum reason want;
};

static void test_decide_node__services_and_applications_must_match(void **state)
{
    static const struct service_case cases[] = {
        {SERVICE_FIXED_SHARE, .wanted = SERVICE_FIXED_SHARE, .want = REASON_OK},
        {SERVICE_FIXED_SHARE, .wanted = SERVICE_BURST_SHARE, .want = REASON_SERVICE},
        {SERVICE_BEST_EFFORT, .wanted = SERVICE_BURST_SHARE, .want = REASON_SERVICE},
        {SERVICE_FIXED_SHARE, .want = REASON_OK},
        {.reported = SERVICE_FIXED_SHARE, .wanted = SERVICE_BURST_SHARE, .want = REASON_SERVICE},
        {SERVICE_BURST_SHARE, .reported = SERVICE_FIXED_SHARE, .wanted = SERVICE_BURST_SHARE,
         .want = REASON_OK},
        {.tenant_app = APPLICATION_ONLINE, .wanted_app = APPLICATION_ONLINE, .want = REASON_OK},
        {.tenant_app = APPLICATION_ONLINE,
         .wanted_app = APPLICATION_OFFLINE,
         .want = REASON_APPLICATION},
        {.tenant_app = APPLICATION_OFFLINE, .wanted_app = APPLICATION_ONLINE, .want = REASON_OK},
        {.tenant_app = APPLICATION_OFFLINE, .wanted_app = APPLICATION_OFFLINE, .want = REASON_OK},
        {.tenant_app = APPLICATION_OFFLINE, .want = REASON_APPLICATION},
        {.wanted_app = APPLICATION_ONLINE, .want = REASON_APPLICATION},
        {SERVICE_FIXED_SHARE, .wanted = SERVICE_BURST_SHARE, .tenant_app = APPLICATION_OFFLINE,
         .wanted_app = APPLICATION_ONLINE, .want = REASON_OK},
        {SERVICE_FIXED_SHARE, .wanted = SERVICE_BURST_SHARE, .tenant_app = APPLICATION_OFFLINE,
         .wanted_app = APPLICATION_OFFLINE, .want = REASON_SERVICE},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct service_case *c = &cases[i];
        AUTO(node_unref_pointer) struct node *node = node_zones("metax-sgpu", "1");
        AUTO(request_clear)
        struct request request = request_of_class(class_of("metax-sgpu"), 1, 1000, 10);
        const struct grant tenant = {.id = "GPU-0",
                                     .memory_mib = 1,
                                     .cores = 1,
                                     .slots = 1,
                                     .mode = ISOLATION_SOFT,
                                     .service = c->tenant,
                                     .application = c->tenant_app};
        struct node_use use = use_none(node);
        struct plan plan;

        node->devices[0].service = c->reported;
        request.service = c->wanted;
        request.application = c->wanted_app;
        assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_OK);
        node_use_add(&use, node, &tenant);
        assert_int_equal(decide_plainly(node, &use, &request, &plan), c->want);
    }
}

static void test_decide_node__online_pods_go_where_the_fewest_of_them_are(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_zones("metax-sgpu", "1122");
    AUTO(request_clear)
    struct request request = request_of_class(class_of("metax-sgpu"), 1, 1000, 10);
    struct node_use use = use_none(node);
    static const uint8_t online[] = {2, 1, 1, 3}, offline[] = {0, 2, 1, 0};
    struct plan plan;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        use_take(&use, node, i, 1, 1, ISOLATION_SOFT);
        use.devices[i].online = online[i];
        use.devices[i].offline = offline[i];
    }
    request.application = APPLICATION_ONLINE;
    assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_OK);
    assert_int_equal(plan.sets[0], mask_from("2"));
    request.asks[0].count = 3;
    assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_OK);
    assert_int_equal(plan.sets[0], mask_from("012"));
}

static void test_plan_allocation__tells_the_service_where_it_matters(void **state)
{
    AUTO(node_unref_pointer) struct node *node = node_zones("metax-sgpu", "1");
    AUTO(request_clear)
    struct request request = request_of_class(class_of("metax-sgpu"), 1, 1000, 10);
    AUTO(allocation_clear) struct allocation record = {0};
    struct node_use use = use_none(node);
    struct plan plan;

    (void)state;
    request.service = SERVICE_BURST_SHARE;
    request.application = APPLICATION_ONLINE;
    assert_int_equal(decide_plainly(node, &use, &request, &plan), REASON_OK);
    plan_allocation(&plan, node, &request, &record);
    assert_int_equal(record.containers[0].devices[0].service, SERVICE_BURST_SHARE);
    assert_int_equal(record.containers[0].devices[0].application, APPLICATION_ONLINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decide_node__kunlun_takes_the_tightest_wing_that_holds_the_set),
        cmocka_unit_test(test_decide_node__kunlun_crosses_wings_over_linked_pairs_and_quads_only),
        cmocka_unit_test(test_decide_node__kunlun_leaves_a_linked_pair_where_it_can),
        cmocka_unit_test(test_decide_node__counts_that_a_kind_is_not_given_out_in_are_named),
        cmocka_unit_test(test_decide_node__wings_go_by_index_not_by_place),
        cmocka_unit_test(test_decide_node__a_set_that_can_never_be_is_no_reason_to_evict),
        cmocka_unit_test(test_decide_node__slices_of_a_device_are_of_one_size),
        cmocka_unit_test(test_decide_node__slices_of_one_pod_are_of_one_size_too),
        cmocka_unit_test(test_decide_node__handles_of_a_node_are_limited),
        cmocka_unit_test(test_decide_node__eight_cards_in_two_are_within_the_handles),
        cmocka_unit_test(test_decide_node__trainium_is_given_out_in_aligned_runs),
        cmocka_unit_test(test_decide_node__inferentia_is_given_out_in_runs),
        cmocka_unit_test(test_decide_node__metax_takes_the_smallest_zone_that_holds_the_set),
        cmocka_unit_test(test_decide_node__ascend_takes_the_network_with_most_free),
        cmocka_unit_test(test_decide_node__hard_without_known_links_says_so_under_any_rule),
        cmocka_unit_test(test_decide_node__modules_go_together),
        cmocka_unit_test(test_decide_node__one_tenant_and_the_same_devices),
        cmocka_unit_test(test_decide_node__services_and_applications_must_match),
        cmocka_unit_test(test_decide_node__online_pods_go_where_the_fewest_of_them_are),
        cmocka_unit_test(test_plan_allocation__tells_the_service_where_it_matters),
    };

    return cmocka_run_group_tests_name("decide_sets", tests, builtin_classes_set_up,
                                       builtin_classes_tear_down);
}
