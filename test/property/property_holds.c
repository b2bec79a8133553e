/* SPDX-License-Identifier: Apache-2.0 */
/*
 * property_holds - whoever is let on a node beside nominated pods leaves them their devices.
 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/holds.h"

#include <stdlib.h>

#define SEEDS 20000

struct scene {
    struct node *node;
    struct node_use now, staying; /* the second without those being deleted */
    struct nominee nominees[3];
    size_t count;
    struct pod *pod;
    struct decide_policy policy;
};

static void tenant_at_random(uint64_t *state, struct scene *scene, unsigned i)
{
    uint64_t mib = 1 + chance_below(state, 1500);
    uint16_t cores = (uint16_t)(chance_below(state, 3) * 30);
    enum isolation_mode mode = chance_one_in(state, 4) ? ISOLATION_HARD : ISOLATION_SOFT;

    if (scene->now.devices[i].slots > 0)
        mode = scene->now.devices[i].mode;
    if (scene->now.devices[i].memory_mib + mib > scene->node->devices[i].memory_mib ||
        scene->now.devices[i].cores + cores > scene->node->devices[i].cores ||
        scene->now.devices[i].slots >= scene->node->devices[i].slots)
        return;
    use_take(&scene->now, scene->node, i, mib, cores, mode);
    if (chance_one_in(state, 2))
        use_take(&scene->staying, scene->node, i, mib, cores, mode);
}

/* A pod of one ask; what several asks can be combined to is bounded. */
static struct pod *pod_at_random(uint64_t *state, const char *name, int priority)
{
    struct pod *pod = pod_new("default", name, name);

    request_clear(&pod->request);
    chance_request(state, 1, &pod->request);
    pod->priority = priority;
    pod->request.topology.has_mode = true;
    pod->request.topology.mode = (enum topology_mode)chance_below(state, 3);
    return pod;
}

static void make_scene(uint64_t seed, struct scene *out)
{
    static const char *const names[] = {"a", "b", "c"};
    uint64_t state = seed;

    *out = (struct scene){.policy = decide_policy_default()};
    out->node = chance_node(&state, "n", 6);
    out->now = out->staying = use_none(out->node);
    for (unsigned i = 0; i < out->node->device_count; i++) {
        for (unsigned tenants = chance_below(&state, 3); tenants > 0; tenants--)
            tenant_at_random(&state, out, i);
    }
    out->count = 1 + chance_below(&state, 3);
    for (size_t i = 0; i < out->count; i++)
        out->nominees[i] =
            (struct nominee){pod_at_random(&state, names[i], 100 - (int)i), out->staying};
    out->pod = pod_at_random(&state, "p", chance_one_in(&state, 3) ? 99 : 10);
}

static void clear_scene(struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++)
        pod_unref(scene->nominees[i].pod);
    pod_unref(scene->pod);
    node_unref(scene->node);
}

static bool decide(const struct scene *scene, const struct node_use *use, const struct pod *pod,
                   struct plan *plan)
{
    struct verdict verdict;

    decide_node(scene->node, use, &pod->request, &scene->policy, NULL, plan, &verdict);
    return verdict.reason == REASON_OK;
}

static void add_plan(const struct scene *scene, const struct pod *pod, const struct plan *plan,
                     struct node_use *use)
{
    struct grant grants[DEVICE_MAX];
    struct allocation record;
    size_t count;

    plan_allocation(plan, scene->node, &pod->request, &record);
    count = allocation_grants(&record, false, grants, ARRAY_LEN(grants));
    for (size_t i = 0; i < count; i++)
        node_use_add(use, scene->node, &grants[i]);
    allocation_clear(&record);
}

/* The nominees that have a place one after the other, when nobody leaves any more. */
static unsigned places(const struct scene *scene, struct node_use use)
{
    unsigned placed = 0;
    struct plan plan;

    for (size_t i = 0; i < scene->count; i++) {
        if (!holds_against(&scene->nominees[i], scene->pod, scene->node->name) ||
            !decide(scene, &use, scene->nominees[i].pod, &plan))
            continue;
        placed |= 1u << i;
        add_plan(scene, scene->nominees[i].pod, &plan, &use);
    }
    return placed;
}

static void test_holds_decide__who_is_let_in_leaves_the_first_nominee_its_place(void **state)
{
    unsigned kept = 0, held = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct verdict verdict;
        struct site site;
        struct plan plan;

        make_scene(seed, &scene);
        site = (struct site){scene.node, &scene.now, scene.nominees, scene.count};
        holds_decide(&site, scene.pod, &scene.policy, NULL, &plan, &verdict);
        if (verdict.reason == REASON_OK) {
            struct node_use later = scene.staying, now = scene.now;
            unsigned before = places(&scene, scene.staying) & 1;

            add_plan(&scene, scene.pod, &plan, &now);
            add_plan(&scene, scene.pod, &plan, &later);
            for (unsigned i = 0; i < now.device_count; i++)
                assert_false(now.devices[i].conflicted || later.devices[i].conflicted);
            if (before != 0 && (places(&scene, later) & 1) == 0)
                fail_msg("seed %u: the first nominee has lost its place", (unsigned)seed);
            kept++;
        }
        held += verdict.reason == REASON_NOMINATED;
        clear_scene(&scene);
    }
    assert_true(kept > SEEDS / 20 && held > SEEDS / 50);
}

static void test_holds_decide__only_holds_that_stand_in_the_way_are_the_reason(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct verdict verdict;
        struct site site;
        struct plan plan, alone;

        make_scene(seed, &scene);
        site = (struct site){scene.node, &scene.now, scene.nominees, scene.count};
        holds_decide(&site, scene.pod, &scene.policy, NULL, &plan, &verdict);
        if (decide(&scene, &scene.now, scene.pod, &alone))
            assert_true(verdict.reason == REASON_OK || verdict.reason == REASON_NOMINATED);
        else
            assert_true(verdict.reason != REASON_OK && verdict.reason != REASON_NOMINATED);
        clear_scene(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_holds_decide__who_is_let_in_leaves_the_first_nominee_its_place),
        cmocka_unit_test(test_holds_decide__only_holds_that_stand_in_the_way_are_the_reason),
    };

    return cmocka_run_group_tests_name("holds", tests, NULL, NULL);
}
