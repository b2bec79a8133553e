/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever is remembered, filter and prioritize answer as if everything were decided anew: many
 * kinds of pods, clusters that change between the calls, policies that change.
 */
#include "support/builders.h"
#include "support/harness.h"

#include <stdlib.h>

#define HISTORIES 60
#define STEPS 120
#define NODES 9 /* names; the last one never exists */
#define PODS 15 /* more kinds than are remembered */

/* One random history: the extender that remembers is the harness's. */
struct history_of {
    struct harness *harness;
    struct extender anew; /* the same, remembering nothing */
    uint64_t chance;
    unsigned next_bound;
};

#define POD(pod, what, ...) \
    { \
        .name = (pod), .wants = (what), .annotations = { __VA_ARGS__ } \
    }

static const struct pod_spec pods[PODS] = {
    POD("p0", "gpu 1"),
    POD("p1", "gpu 2"),
    POD("p2", "gpu 1, mem 4000"),
    POD("p3", "gpu 1, mem 4000, cores 30"),
    POD("p4", "gpu 4"),
    POD("p5", "gpu 1, pct 30"),
    POD("p6", "gpu 1; gpu 2, mem 2000"),
    POD("p7", "init gpu 2; gpu 1"),
    POD("p8", "gpu 2", "topofit.io/topology", "hard"),
    POD("p9", "gpu 2", "topofit.io/topology", "off"),
    POD("p10", "gpu 1", "topofit.io/avoid-devices", "GPU-n1-0,GPU-n2-0"),
    POD("p11", "gpu 1", "topofit.io/use-devices", "GPU-n3-1"),
    POD("p12", "gpu 1", "topofit.io/use-products", "A"),
    POD("p13", "gpu x"),
    POD("p14", "none"),
};

static void put_random_node(struct history_of *of)
{
    static const char *const unhealthy[] = {NULL, NULL, NULL, "0", "1 2"};
    static const char *const links[] = {NULL, "0-1 2-3", "0-2 1-3"};
    static const char *const products[] = {"A", "A", "B"};
    char name[8];

    snprintf(name, sizeof name, "n%u", chance_below(&of->chance, NODES - 1));
    api_node(of->harness, name, 4, 16000, .unhealthy = unhealthy[chance_below(&of->chance, 5)],
             .links = links[chance_below(&of->chance, 3)],
             .product = products[chance_below(&of->chance, 3)]);
}

/* A pod that something in the history binds, or that somebody else has bound. */
static void put_bound_pod(struct history_of *of)
{
    static const char *const wants[] = {"gpu 1", "gpu 1, mem 4000", "gpu 2"};
    AUTO_FREE char *name = xasprintf("b%u", of->next_bound++);
    char node[8];

    snprintf(node, sizeof node, "n%u", chance_below(&of->chance, NODES - 1));
    if (chance_one_in(&of->chance, 6)) {
        api_pod(of->harness, name, "gpu 1", .node = node);
        return;
    }
    api_pod(of->harness, name, wants[chance_below(&of->chance, 3)]);
    ask_bind(of->harness, name, node);
}

static void delete_some_pod(struct history_of *of)
{
    AUTO_FREE char *name = xasprintf("b%u", chance_below(&of->chance, of->next_bound + 1));

    if (json_object_get(of->harness->pods, name) != NULL)
        api_delete_pod(of->harness, name);
}

static void delete_some_node(struct history_of *of)
{
    char name[8];

    snprintf(name, sizeof name, "n%u", chance_below(&of->chance, NODES - 1));
    if (json_object_get(of->harness->nodes, name) != NULL)
        api_delete_node(of->harness, name);
}

static void change_policy(struct history_of *of)
{
    struct extender_options *options = &of->harness->extender.options;

    options->policy.device_order = (options->policy.device_order + 1) % 3;
    options->policy.packing = (options->policy.packing + chance_below(&of->chance, 2)) % 3;
    if (chance_one_in(&of->chance, 2))
        options->policy.topology.least_damage = !options->policy.topology.least_damage;
    if (chance_one_in(&of->chance, 2))
        options->answer_failed_nodes = !options->answer_failed_nodes;
    of->anew.options = *options;
}

/* A pod of some priority waits for a node, or for none any more. */
static void nominate_some_pod(struct history_of *of)
{
    const char *pod = pods[chance_below(&of->chance, 8)].name;
    char node[8];

    snprintf(node, sizeof node, "n%u", chance_below(&of->chance, NODES - 1));
    api_set_nominated(of->harness, pod, chance_one_in(&of->chance, 3) ? NULL : node);
}

/* CPU asked for, and what hosts have: only ranks. */
static void change_host(struct history_of *of)
{
    AUTO_FREE char *cpu = xasprintf("%u", 8 + chance_below(&of->chance, 3));
    char node[8];
    json_t *allocatable;

    snprintf(node, sizeof node, "n%u", chance_below(&of->chance, NODES - 1));
    if (json_object_get(of->harness->nodes, node) == NULL)
        return;
    allocatable =
        json_object_get(json_object_get(api_node_json(of->harness, node), "status"), "allocatable");
    json_object_set_new(allocatable, "cpu", json_string(cpu));
    watch_node(of->harness, node);
}

/* Some leave room for a few pods, some for any. */
static void change_quota(struct history_of *of)
{
    AUTO_FREE char *hard = NULL;

    if (chance_one_in(&of->chance, 3)) {
        api_delete_quota(of->harness, "q");
        return;
    }
    hard = xasprintf("nvidia.com/gpumem %u, nvidia.com/gpucores %u",
                     8000 * chance_below(&of->chance, 30), 200 * chance_below(&of->chance, 10));
    api_quota(of->harness, "q", hard);
}

static void something_happens(struct history_of *of)
{
    switch (chance_below(&of->chance, 13)) {
    case 12:
        change_quota(of);
        break;
    case 10:
        nominate_some_pod(of);
        break;
    case 11:
        change_host(of);
        break;
    case 0:
    case 1:
        put_random_node(of);
        break;
    case 2:
        delete_some_pod(of);
        break;
    case 3:
        if (chance_one_in(&of->chance, 3))
            delete_some_node(of);
        break;
    case 4:
        if (chance_one_in(&of->chance, 3))
            change_policy(of);
        break;
    default:
        put_bound_pod(of);
    }
}

/* Names in any order, some of them twice or of nobody. */
static void random_names(struct history_of *of, struct buf *out)
{
    unsigned count = 1 + chance_below(&of->chance, 2 * NODES);

    for (unsigned i = 0; i < count; i++)
        buf_addf(out, "%sn%u", i > 0 ? " " : "", chance_below(&of->chance, NODES));
}

static void compare(struct history_of *of, extender_answers ask, const char *body)
{
    AUTO(buf_clear) struct buf anew = buf_with_max(1 << 20);
    struct error err = {0}, anew_err = {0};
    AUTO_FREE char *recalled = ask_body(of->harness, ask, body, &err);

    assert_int_equal(ask(&of->anew, body, strlen(body), (struct moment){0}, &anew, &anew_err), 0);
    assert_non_null(recalled);
    assert_string_equal(recalled, buf_text(&anew));
}

static void ask_both(struct history_of *of)
{
    AUTO(buf_clear) struct buf names = buf_with_max(4096);
    AUTO_FREE char *body = NULL;

    random_names(of, &names);
    body = question_body(of->harness, pods[chance_below(&of->chance, PODS)].name, buf_text(&names));
    compare(of, extender_filter, body);
    compare(of, extender_prioritize, body);
}

static void test_recall__answers_as_if_everything_were_decided_anew(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= HISTORIES; seed++) {
        AUTO(harness_free) struct harness *harness = harness_new();
        struct history_of of = {.harness = harness, .anew = harness->extender, .chance = seed};

        of.anew.recall = NULL;
        of.anew.history = history_new(&test_key);
        for (size_t i = 0; i < PODS; i++) {
            struct pod_spec spec = pods[i];

            spec.priority = 10 * (int)(i % 3);
            harness_put_pod(harness, &spec);
        }
        for (unsigned i = 0; i < NODES; i++)
            put_random_node(&of);
        for (unsigned step = 0; step < STEPS; step++) {
            something_happens(&of);
            ask_both(&of);
            ask_both(&of);
        }
        history_free(of.anew.history);
    }
}

#define MANY 150 /* more than two chunks of a picture */

/* All nodes in the order of the picture, as kube-scheduler asks about them: they go by chunks. */
static void test_recall__does_so_where_all_nodes_are_named_in_order(void **state)
{
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO(buf_clear) struct buf names = buf_with_max(4096);
    struct history_of of = {.harness = harness, .anew = harness->extender, .chance = 1};

    (void)state;
    of.anew.recall = NULL;
    of.anew.history = history_new(&test_key);
    for (unsigned i = 0; i < MANY; i++) {
        AUTO_FREE char *name = xasprintf("m%03u", i);

        api_node(harness, name, 1 + i % 4, 16000);
        buf_addf(&names, "%s%s", i > 0 ? " " : "", name);
    }
    for (size_t i = 0; i < 5; i++)
        harness_put_pod(harness, &pods[i]);
    for (unsigned step = 0; step < 60; step++) {
        AUTO_FREE char *body = question_body(harness, pods[step % 5].name, buf_text(&names));
        AUTO_FREE char *bound = xasprintf("b%u", step);
        AUTO_FREE char *node = xasprintf("m%03u", chance_below(&of.chance, MANY));

        compare(&of, extender_filter, body);
        compare(&of, extender_prioritize, body);
        if (chance_one_in(&of.chance, 2))
            api_pod(harness, bound, "gpu 1", .node = node);
    }
    history_free(of.anew.history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recall__answers_as_if_everything_were_decided_anew),
        cmocka_unit_test(test_recall__does_so_where_all_nodes_are_named_in_order),
    };

    return cmocka_run_group_tests_name("recall", tests, NULL, NULL);
}
