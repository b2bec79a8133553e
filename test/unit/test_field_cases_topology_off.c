/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputopo disabled changes nothing: whole answers are compared, byte for byte, with a reference
 * that knows gpufit, packing and rank alone, over random clusters and pods.
 */
#include "support/harness.h"

#include "topofit/extender_json.h"
#include "topofit/gpufit.h"
#include "topofit/worth.h"
#include "topofit/rank.h"

#include <stdlib.h>

#define CLUSTERS 150
#define NODES 5
#define CARDS_MAX 8
#define TENANTS 12
#define ALL_NODES "n0 n1 n2 n3 n4"

/* --- random clusters ------------------------------------------------------------------------- */

static unsigned draw(uint64_t *seed, unsigned below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % below;
}

static const char *const links[] = {NULL, "", "0-1 2-3 4-5 6-7", "0-2 1-3 4-5 6-7",
                                    "0-1 0-2 0-3 1-2 1-3 2-3 4-5 4-6 4-7 5-6 5-7 6-7"};
static const char *const unhealthy[] = {"", "", "0", "1 2", "0 1 2 3 4 5 6 7"};
static const char *const wants[] = {
    "gpu 1",
    "gpu 2",
    "gpu 4",
    "gpu 8",
    "gpu 1, mem 999",
    "gpu 2, mem 5000",
    "gpu 1, pct 30",
    "gpu 3, pct 51",
    "gpu 1, mem 20000, cores 30",
    "gpu 1, cores 1",
    "gpu 2, mem 1, cores 100",
};

/* stripped: the same cluster, of whose wiring nothing is known. */
static void add_nodes(struct harness *harness, uint64_t seed, bool stripped)
{
    static const int numa[CARDS_MAX] = {0, 0, 1, 1, 0, 0, 1, 1};

    for (unsigned i = 0; i < NODES; i++) {
        char name[4] = {'n', (char)('0' + i)};
        uint64_t sizes[CARDS_MAX];
        struct node_spec spec = {.name = name, .memory_each = sizes};

        spec.count = draw(&seed, CARDS_MAX + 1);
        for (unsigned k = 0; k < CARDS_MAX; k++)
            sizes[k] = 8192u << draw(&seed, 3);
        spec.slots = (int)draw(&seed, 3) + 1;
        spec.unhealthy = unhealthy[draw(&seed, ARRAY_LEN(unhealthy))];
        spec.links = links[draw(&seed, ARRAY_LEN(links))];
        spec.numa = draw(&seed, 2) == 0 ? numa : NULL;
        if (stripped) {
            spec.links = NULL;
            spec.numa = NULL;
        }
        harness_put_node(harness, &spec);
    }
}

/* Tenants wherever filter lets them; the last pod, "p", waits. */
static void add_pods(struct harness *harness, uint64_t seed)
{
    for (unsigned i = 0; i < TENANTS; i++) {
        AUTO_FREE char *name = xasprintf("t%u", i);
        char node[4] = {'n', (char)('0' + draw(&seed, NODES))};

        api_pod(harness, name, wants[draw(&seed, ARRAY_LEN(wants))]);
        ask_bind(harness, name, node);
    }
    api_pod(harness, "p", wants[draw(&seed, ARRAY_LEN(wants))],
            .annotations = {"topofit.io/topology", draw(&seed, 2) ? "hard" : "soft",
                            "topofit.io/topology-max-tier", "0"});
}

static struct harness *cluster_of(uint64_t seed)
{
    struct harness *harness = harness_new();
    struct decide_policy *policy = &harness->extender.options.policy;

    add_nodes(harness, seed, false);
    add_pods(harness, seed + 1);
    policy->topology.mode = TOPOLOGY_OFF;
    policy->device_order = draw(&seed, 2) ? DEVICES_SPREAD : DEVICES_BINPACK;
    policy->packing = draw(&seed, 2) ? PACKING_SPREAD : PACKING_PACK;
    return harness;
}

/* --- the reference --------------------------------------------------------------------------- */

/* One node as gpufit sees it. */
struct reference {
    struct verdict verdict;
    device_mask set; /* when kept */
    struct ranked_node ranked;
};

/* The devices most preferred, the first on ties. */
static device_mask prefer(const struct harness *harness, const struct node_state *state,
                          device_mask candidates, unsigned count)
{
    const struct device_weights none = {0};
    uint16_t preference[DEVICE_MAX];
    device_mask set = 0;

    packing_preferences(state->node, &state->use,
                        harness->extender.options.policy.device_order == DEVICES_SPREAD, &none,
                        preference);
    for (; count > 0; count--) {
        int best = -1;

        for (unsigned i = 0; i < state->node->device_count; i++) {
            if (mask_has(candidates & ~set, i) && (best < 0 || preference[i] > preference[best]))
                best = (int)i;
        }
        assert_true(best >= 0);
        set |= mask_of((unsigned)best);
    }
    return set;
}

static void reference_node(const struct harness *harness, const struct node_state *state,
                           const struct request *request, struct reference *out)
{
    const struct ask *ask = &request->asks[0];
    struct plan plan = {.tier = TIER_UNKNOWN, .quality_0_100 = 100};
    struct node_use after;
    struct worth worth;
    const struct fit_question question = {
        .node = state->node, .use = &state->use, .request = request, .ask = ask};
    struct fit fit = gpufit_candidates(&question, NULL, &out->verdict);

    node_use_copy(&state->use, &after);
    out->ranked = (struct ranked_node){.name = state->node->name};
    if (out->verdict.reason != REASON_OK)
        return;
    out->set = prefer(harness, state, fit.candidates, ask->count);
    for (device_mask left = out->set; left != 0; left &= left - 1) {
        unsigned i = mask_first(left);

        after.devices[i].memory_mib +=
            ask_memory_mib(request, ask, state->node->devices[i].memory_mib);
        after.devices[i].cores += ask_cores(request, ask, state->node->devices[i].cores);
        plan.broken = (uint8_t)(plan.broken +
                                (!ask_is_whole(request, ask) && state->use.devices[i].slots == 0));
    }
    plan.sets[0] = out->set;
    plan.load_per_mille =
        packing_node_load_per_mille(state->node, &after, mask_below(state->node->device_count));
    worth_of(
        &(struct worth_question){
            .node = state->node, .use = &state->use, .request = request, .plan = &plan},
        NULL, &worth);
    out->ranked.merit = worth_merit(&worth, harness->extender.options.policy.packing);
}

static void reference_all(const struct harness *harness, struct reference out[NODES])
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(harness->cluster);
    AUTO(pod_unref_pointer) struct pod *pod = cluster_find_pod(harness->cluster, "default", "p");

    assert_int_equal(snapshot->count, NODES);
    assert_int_equal(pod->request.ask_count, 1);
    for (unsigned i = 0; i < NODES; i++)
        reference_node(harness, snapshot_state(snapshot, i), &pod->request, &out[i]);
}

static struct extender_args five_names(void)
{
    static const char json[] = "{\"Pod\":{},\"NodeNames\":[\"n0\",\"n1\",\"n2\",\"n3\",\"n4\"]}";
    struct extender_args args = {0};
    struct error err = {0};

    assert_int_equal(extender_json_read_args(json, strlen(json), NULL, &args, &err), 0);
    assert_int_equal(args.name_count, NODES);
    return args;
}

static void write_filter(const struct reference nodes[NODES], struct buf *out)
{
    AUTO(extender_args_clear) struct extender_args args = five_names();
    struct node_answer answers[NODES] = {0};
    const struct node_answer *order[NODES];
    struct sorted_answers sorted;

    for (unsigned i = 0; i < NODES; i++) {
        enum reason reason = nodes[i].verdict.reason;

        order[i] = &answers[i];
        if (reason != REASON_OK)
            answers[i] =
                node_answer_refusal(reason_is_curable(reason) ? NODE_REFUSED_FOR_NOW : NODE_REFUSED,
                                    reason_text(reason));
    }
    sorted_answers_init(&sorted, order, NODES);
    extender_json_write_filter_result(out, &args, &sorted);
    sorted_answers_clear(&sorted);
    for (unsigned i = 0; i < NODES; i++)
        node_answer_clear(&answers[i]);
}

static void write_scores(struct reference nodes[NODES], struct buf *out)
{
    AUTO(extender_args_clear) struct extender_args args = five_names();
    struct ranked_node ranked[NODES];
    struct rank_limits limits = {0};
    uint64_t scratch[NODES];
    uint8_t scores[NODES];

    for (unsigned i = 0; i < NODES; i++)
        ranked[i] = nodes[i].ranked;
    rank_nodes(ranked, NODES, RANK_WINNER, &limits, scratch);
    for (unsigned i = 0; i < NODES; i++)
        scores[i] = (uint8_t)ranked[i].score_0_10;
    extender_json_write_scores(out, &args, scores);
}

/* --- claims ---------------------------------------------------------------------------------- */

static void test_topology_off__filter_and_prioritize_equal_gpufit_alone_byte_for_byte(void **state)
{
    unsigned kept = 0, refused = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= CLUSTERS; seed++) {
        AUTO(harness_free) struct harness *harness = cluster_of(seed);
        AUTO(buf_clear) struct buf filter = buf_with_max(1 << 16);
        AUTO(buf_clear) struct buf scores = buf_with_max(1 << 16);
        struct reference nodes[NODES];

        reference_all(harness, nodes);
        write_filter(nodes, &filter);
        write_scores(nodes, &scores);
        ask_filter(harness, "p", ALL_NODES);
        assert_string_equal(harness->answer, buf_text(&filter));
        ask_prioritize(harness, "p", ALL_NODES);
        assert_string_equal(harness->answer, buf_text(&scores));
        for (unsigned i = 0; i < NODES; i++) {
            kept += nodes[i].ranked.merit > 0;
            refused += nodes[i].ranked.merit == 0;
        }
    }
    assert_true(kept > CLUSTERS && refused > CLUSTERS);
}

static void test_topology_off__bind_takes_the_devices_that_packing_prefers(void **state)
{
    unsigned bound = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= CLUSTERS; seed++) {
        AUTO(harness_free) struct harness *harness = cluster_of(seed);
        struct reference nodes[NODES];

        reference_all(harness, nodes);
        for (unsigned i = 0; i < NODES; i++) {
            if (nodes[i].ranked.merit == 0)
                continue;
            place(harness, "p", nodes[i].ranked.name);
            assert_int_equal(devices_of(harness, "p"), nodes[i].set);
            bound++;
            break;
        }
    }
    assert_true(bound > CLUSTERS / 2);
}

static void test_topology_off__nothing_depends_on_what_is_known_of_the_wiring(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CLUSTERS; seed++) {
        AUTO(harness_free) struct harness *harness = cluster_of(seed);
        AUTO_FREE char *filter = NULL, *scores = NULL;

        ask_filter(harness, "p", ALL_NODES);
        filter = xstrdup(harness->answer);
        ask_prioritize(harness, "p", ALL_NODES);
        scores = xstrdup(harness->answer);
        add_nodes(harness, seed, true);
        ask_filter(harness, "p", ALL_NODES);
        assert_string_equal(harness->answer, filter);
        ask_prioritize(harness, "p", ALL_NODES);
        assert_string_equal(harness->answer, scores);
    }
}

static void test_topology_off__a_pod_cannot_switch_it_on(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();

    (void)state;
    harness->extender.options.policy.topology.mode = TOPOLOGY_OFF;
    api_node(harness, "n0", 4, 8192, .links = "");
    api_pod(harness, "p", "gpu 2",
            .annotations = {"topofit.io/topology", "hard", "topofit.io/topology-max-tier", "0"});
    place(harness, "p", "n0");
    assert_int_equal(devices_of(harness, "p"), 0x3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topology_off__filter_and_prioritize_equal_gpufit_alone_byte_for_byte),
        cmocka_unit_test(test_topology_off__bind_takes_the_devices_that_packing_prefers),
        cmocka_unit_test(test_topology_off__nothing_depends_on_what_is_known_of_the_wiring),
        cmocka_unit_test(test_topology_off__a_pod_cannot_switch_it_on),
    };

    return cmocka_run_group_tests_name("field_cases_topology_off", tests, NULL, NULL);
}
