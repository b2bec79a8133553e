/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans under random quotas: what decide plans is never charged more than there is left, an ample
 * quota changes nothing, and a pod of one ask is refused for the quota only where no set keeps it.
 */
#include "support/builders.h"
#include "support/class_nodes.h"
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/decide.h"

#define SCENES 4000
#define DEVICES_MAX 6
#define A100 "NVIDIA A100-SXM4-40GB"

struct scene {
    struct node *node;
    struct node_use use;
    struct request request;
    struct decide_policy policy;
    struct quota_room room;
};

static void scene_clear(struct scene *scene)
{
    node_unref(scene->node);
    request_clear(&scene->request);
}

static void use_at_random(uint64_t *chance, struct scene *scene)
{
    for (unsigned i = 0; i < scene->node->device_count; i++) {
        if (chance_one_in(chance, 3))
            use_take(&scene->use, scene->node, i, chance_below(chance, 900), 10, ISOLATION_SOFT);
    }
}

static struct scene random_scene(uint64_t seed, unsigned containers_max)
{
    struct scene scene = {.policy = decide_policy_default()};
    uint64_t chance = seed;
    struct quota_line line = {.class = &test_class};

    scene.node = chance_node(&chance, "n", DEVICES_MAX);
    scene.use = use_none(scene.node);
    use_at_random(&chance, &scene);
    chance_request(&chance, containers_max, &scene.request);
    scene.policy.topology.mode = chance_below(&chance, 3);
    line.limits[QUOTA_MEMORY] = chance_below(&chance, 14000);
    line.used[QUOTA_MEMORY] = chance_below(&chance, 2000);
    line.limits[QUOTA_CORES] =
        chance_one_in(&chance, 2) ? QUOTA_NO_LIMIT : chance_below(&chance, 500);
    scene.room = (struct quota_room){.count = 1, .lines = {line}};
    return scene;
}

static struct verdict decide(const struct scene *scene, const struct quota_room *room,
                             struct plan *plan)
{
    struct decide_policy policy = scene->policy;
    struct verdict verdict;

    policy.quota = room;
    decide_node(scene->node, &scene->use, &scene->request, &policy, NULL, plan, &verdict);
    return verdict;
}

static bool keeps_quota(const struct scene *scene, const struct plan *plan)
{
    AUTO(allocation_clear) struct allocation record;
    struct charge charges[CHARGES_MAX];
    enum quota_kind kind;
    size_t count;

    plan_allocation(plan, scene->node, &scene->request, &record);
    count = charges_of_record(&scene->request, &record, false, charges);
    return quota_first_over(&scene->room, charges, count, &kind) == NULL;
}

static bool is_quota_reason(enum reason reason)
{
    return reason == REASON_QUOTA || reason == REASON_QUOTA_TOO_SMALL;
}

static void test_decide_node__no_record_is_charged_more_than_is_left(void **state)
{
    unsigned kept = 0, refused = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SCENES; seed++) {
        AUTO(scene_clear) struct scene scene = random_scene(seed, 4);
        struct plan plan;
        struct verdict verdict = decide(&scene, &scene.room, &plan);

        refused += is_quota_reason(verdict.reason);
        if (verdict.reason != REASON_OK)
            continue;
        kept++;
        assert_true(keeps_quota(&scene, &plan));
    }
    assert_true(kept > SCENES / 20 && refused > SCENES / 20); /* or nothing was shown */
}

static void test_decide_node__an_ample_quota_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SCENES / 4; seed++) {
        AUTO(scene_clear) struct scene scene = random_scene(seed, 4);
        const struct quota_room ample = {
            .count = 1, .lines = {{.class = &test_class, .limits = {1000000, QUOTA_NO_LIMIT}}}};
        struct plan with, without;
        struct verdict a = decide(&scene, &ample, &with), b = decide(&scene, NULL, &without);

        assert_int_equal(a.reason, b.reason);
        if (a.reason == REASON_OK)
            assert_memory_equal(with.sets, without.sets,
                                scene.request.ask_count * sizeof *with.sets);
    }
}

/* The quota is the reason only of a pod that fits without it, and whose devices do not matter. */
static void test_decide_node__one_ask_is_refused_only_where_no_set_keeps_the_quota(void **state)
{
    unsigned refused = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SCENES; seed++) {
        AUTO(scene_clear) struct scene scene = random_scene(seed, 1);
        struct plan plan;
        struct verdict verdict;

        if (scene.request.ask_count != 1)
            continue;
        verdict = decide(&scene, &scene.room, &plan);
        if (!is_quota_reason(verdict.reason))
            continue;
        refused++;
        assert_int_equal(decide(&scene, NULL, &plan).reason, REASON_OK);
        assert_false(keeps_quota(&scene, &plan));
        /* What is missing is told of the cheapest set: the sum that it names is not to be had. */
        assert_true(verdict.quota.wanted + verdict.quota.used > verdict.quota.limit);
    }
    assert_true(refused > SCENES / 40);
}

/* --- divided devices ------------------------------------------------------------------------- */

static void test_decide_node__a_partition_counts_with_what_it_really_has(void **state)
{
    static const struct {
        const char *profile;
        uint64_t mib, limit;
        enum reason reason;
    } cases[] = {
        {"1g.5gb", 0, 4864, REASON_OK}, /* less than its name says */
        {"1g.5gb", 0, 4863, REASON_QUOTA_TOO_SMALL},
        {NULL, 100, 4864, REASON_OK}, /* more than was asked for */
        {NULL, 100, 4863, REASON_QUOTA_TOO_SMALL},
    };
    AUTO(class_table_clear) struct class_table classes = {0};
    const struct device_class *class;

    (void)state;
    classes_builtin(&classes);
    class = class_find(&classes, "nvidia");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(scene_clear)
        struct scene scene = {
            .node = node_of_class(class, 2, 40960, 7),
            .policy = decide_policy_default(),
            .room = {.count = 1,
                     .lines = {{.class = class, .limits = {cases[i].limit, QUOTA_NO_LIMIT}}}}};
        struct plan plan;

        node_divide(scene.node, table_of(class, A100));
        scene.use = use_none(scene.node);
        request_init(&scene.request);
        request_profile(&scene.request, class, CONTAINER_APP, cases[i].profile, cases[i].mib);
        assert_int_equal(decide(&scene, &scene.room, &plan).reason, cases[i].reason);
        if (cases[i].reason == REASON_OK)
            assert_true(keeps_quota(&scene, &plan));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decide_node__no_record_is_charged_more_than_is_left),
        cmocka_unit_test(test_decide_node__an_ample_quota_changes_nothing),
        cmocka_unit_test(test_decide_node__one_ask_is_refused_only_where_no_set_keeps_the_quota),
        cmocka_unit_test(test_decide_node__a_partition_counts_with_what_it_really_has),
    };

    return cmocka_run_group_tests_name("property_quota_plans", tests, NULL, NULL);
}
