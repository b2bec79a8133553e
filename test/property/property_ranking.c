/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever the cluster, under every policy: one winner, and it is the same node by any other name.
 *
 * A cluster is a list of nodes and of pods on them, drawn from a seed, and built twice: the names
 * of its nodes, and so of its devices, are dealt anew. Nodes that differ in nothing but their name
 * may change places at the top, and nowhere else.
 */
#include "support/builders.h"
#include "support/harness.h"

#define ROUNDS 60
#define NODES_MAX 7 /* so few that each place has a score of its own */
#define PODS_MAX 24
#define DEVICES_MAX 8

/* A node to be, and what somebody takes of it. */
struct draft {
    unsigned devices;
    const char *links; /* or NULL */
    const char *product;
    bool has_numa;
};

struct pod_draft {
    unsigned node;
    const char *wants, *product; /* or NULL */
};

struct scene {
    unsigned node_count, pod_count;
    struct draft nodes[NODES_MAX];
    struct pod_draft pods[PODS_MAX];
    const char *asked; /* the pod that the nodes are ranked for */
};

static const char *pick(uint64_t *chance, const char *const *words, unsigned count)
{
    return words[chance_below(chance, count)];
}

static struct scene draw(uint64_t *chance)
{
    static const char *const wirings[] = {NULL, "", "0-1 2-3 4-5 6-7", "0-1 0-2 1-2 4-5"};
    static const char *const products[] = {"Model M", "Model X"};
    static const char *const amounts[] = {"gpu 1",         "gpu 2",          "gpu 4",
                                          "gpu 1, pct 30", "gpu 1, mem 700", "gpu 2, pct 60",
                                          "gpu 1, cpu 20", "none, cpu 9",    "gpu 1; gpu 1, pct 5"};
    struct scene scene = {.node_count = 2 + chance_below(chance, NODES_MAX - 1),
                          .pod_count = chance_below(chance, PODS_MAX + 1),
                          .asked = pick(chance, amounts, ARRAY_LEN(amounts))};

    for (unsigned i = 0; i < scene.node_count; i++)
        scene.nodes[i] = (struct draft){.devices = chance_below(chance, DEVICES_MAX + 1),
                                        .links = pick(chance, wirings, ARRAY_LEN(wirings)),
                                        .product = pick(chance, products, ARRAY_LEN(products)),
                                        .has_numa = chance_one_in(chance, 2)};
    if (chance_one_in(chance, 2)) /* alike, so that there are ties */
        scene.nodes[1] = scene.nodes[0];
    for (unsigned i = 0; i < scene.pod_count; i++)
        scene.pods[i] = (struct pod_draft){
            .node = chance_below(chance, scene.node_count),
            .wants = pick(chance, amounts, ARRAY_LEN(amounts)),
            .product = chance_one_in(chance, 4) ? pick(chance, products, 2) : NULL};
    return scene;
}

/* --- the cluster of a scene ------------------------------------------------------------------ */

struct names {
    char items[NODES_MAX][8]; /* of the nodes of the scene */
};

/* Letters in any order. */
static struct names deal(uint64_t *chance, unsigned count)
{
    struct names names;
    char letters[NODES_MAX];

    for (unsigned i = 0; i < count; i++)
        letters[i] = (char)('a' + i);
    for (unsigned i = count; i > 0; i--) {
        unsigned k = chance_below(chance, i);

        snprintf(names.items[i - 1], sizeof names.items[i - 1], "%c", letters[k]);
        letters[k] = letters[i - 1];
    }
    return names;
}

static void put_pods(struct harness *harness, const struct scene *scene, const struct names *names)
{
    for (unsigned i = 0; i < scene->pod_count; i++) {
        const struct pod_draft *draft = &scene->pods[i];
        const char *node = names->items[draft->node];
        AUTO_FREE char *pod = xasprintf("pod-%u", i);

        api_pod(harness, pod, draft->wants,
                .annotations = {draft->product != NULL ? "topofit.io/use-products" : "x.io/none",
                                draft->product != NULL ? draft->product : ""});
        ask_filter(harness, pod, node);
        if (refusal_of(harness, node) == NULL)
            assert_string_equal(ask_bind(harness, pod, node), "");
    }
}

static struct harness *build(const struct scene *scene, const struct names *names)
{
    static const int numa[DEVICES_MAX] = {0, 0, 0, 0, 1, 1, 1, 1};
    struct harness *harness = harness_new();

    for (unsigned i = 0; i < scene->node_count; i++) {
        const struct draft *draft = &scene->nodes[i];

        api_node(harness, names->items[i], draft->devices, 1000, .product = draft->product,
                 .links = draft->links, .numa = draft->has_numa ? numa : NULL, .slots = 3);
    }
    put_pods(harness, scene, names);
    api_pod(harness, "asked", scene->asked);
    return harness;
}

/* --- what must be true ----------------------------------------------------------------------- */

struct scores {
    int of[NODES_MAX]; /* of the nodes of the scene, whatever their names */
};

static struct scores ask(struct harness *harness, const struct scene *scene,
                         const struct names *names)
{
    AUTO(buf_clear) struct buf all = buf_with_max(256);
    struct scores scores;

    for (unsigned i = 0; i < scene->node_count; i++)
        buf_addf(&all, "%s%s", i > 0 ? " " : "", names->items[i]);
    ask_prioritize(harness, "asked", buf_text(&all));
    for (unsigned i = 0; i < scene->node_count; i++)
        scores.of[i] = score_of(harness, names->items[i]);
    return scores;
}

static void expect_one_winner(const struct scene *scene, const struct scores *scores)
{
    unsigned kept = 0, winners = 0;

    for (unsigned i = 0; i < scene->node_count; i++) {
        kept += scores->of[i] > 0;
        winners += scores->of[i] == RANK_SCORE_MAX;
    }
    assert_int_equal(winners, kept > 0);
}

/* 9 beside so few others is as good as the winner but for the name. */
static int place_of(int score)
{
    return score == RANK_SCORE_MAX ? RANK_SCORE_MAX - 1 : score;
}

static void expect_same_places(const struct scene *scene, const struct scores *a,
                               const struct scores *b)
{
    for (unsigned i = 0; i < scene->node_count; i++)
        assert_int_equal(place_of(a->of[i]), place_of(b->of[i]));
}

static void test_ranking__has_one_winner_and_does_not_go_by_names(void **state)
{
    uint64_t chance = 2024;

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const struct scene scene = draw(&chance);
        const struct names names = deal(&chance, scene.node_count);
        const struct names others = deal(&chance, scene.node_count);
        AUTO(harness_free) struct harness *harness = build(&scene, &names);
        AUTO(harness_free) struct harness *other = build(&scene, &others);

        for (unsigned i = 0; i < PACKING_POLICY_COUNT * 3; i++) {
            struct decide_policy *policy = &harness->extender.options.policy;
            struct scores a, b;

            policy->packing = (enum packing_policy)(i / 3);
            policy->topology.mode = (enum topology_mode)(i % 3);
            other->extender.options.policy = *policy;
            a = ask(harness, &scene, &names);
            b = ask(other, &scene, &others);
            expect_one_winner(&scene, &a);
            expect_one_winner(&scene, &b);
            expect_same_places(&scene, &a, &b);
        }
    }
}

/* Grades are of a node by itself: neither names nor other nodes matter. */
static void test_ranking__grades_do_not_go_by_names_or_by_who_else_is_asked_about(void **state)
{
    uint64_t chance = 77;

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const struct scene scene = draw(&chance);
        const struct names names = deal(&chance, scene.node_count);
        const struct names others = deal(&chance, scene.node_count);
        AUTO(harness_free) struct harness *harness = build(&scene, &names);
        AUTO(harness_free) struct harness *other = build(&scene, &others);
        struct scores a, b;

        harness->extender.options.policy.scores = RANK_GRADED;
        harness->extender.options.policy.packing =
            (enum packing_policy)chance_below(&chance, PACKING_POLICY_COUNT);
        other->extender.options.policy = harness->extender.options.policy;
        a = ask(harness, &scene, &names);
        b = ask(other, &scene, &others);
        for (unsigned i = 0; i < scene.node_count; i++) {
            assert_int_equal(a.of[i], b.of[i]);
            ask_prioritize(harness, "asked", names.items[i]);
            assert_int_equal(score_of(harness, names.items[i]), a.of[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranking__has_one_winner_and_does_not_go_by_names),
        cmocka_unit_test(test_ranking__grades_do_not_go_by_names_or_by_who_else_is_asked_about),
    };

    return cmocka_run_group_tests_name("ranking", tests, NULL, NULL);
}
