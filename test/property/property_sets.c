/* SPDX-License-Identifier: Apache-2.0 */
/*
 * property_sets - sets under random rules against a plain statement of each rule.
 *
 * All subsets of the free devices are looked at here. What is stated: a set is found exactly when
 * there is an allowed one; the one found is allowed; no allowed set comes before it by the rule;
 * and of those that come first with it none has a better tier or bottleneck.
 */
#include "support/builders.h"
#include "support/class_nodes.h"
#include "support/decide_plainly.h"
#include "support/test.h"

#include "topofit/mem.h"
#include "topofit/set_rule.h"

#include <stdlib.h>

#define SEEDS 20000
#define DEVICES 8

struct scene {
    uint64_t state;
    struct set_rule rule;
    uint64_t counts[4];
    struct set_crossing crossings[6];
    uint64_t crossed[6][4];
    struct device_class class;
    struct node *node;
    struct node_use use;
    struct request request;
    struct decide_policy policy;
    unsigned count;
    device_mask free;
};

/* --- random rules ---------------------------------------------------------------------------- */

static void cross_at_random(struct scene *scene)
{
    scene->rule.crossings =
        (struct set_crossings){scene->crossings, chance_below(&scene->state, 7)};
    for (unsigned i = 0; i < 6; i++) {
        unsigned index = 0, n = 0, size = 2 + chance_below(&scene->state, 3);

        for (; n < size; n++) {
            scene->crossed[i][n] = index + chance_below(&scene->state, 3);
            index = (unsigned)scene->crossed[i][n] + 1;
        }
        scene->crossings[i].devices = (struct class_numbers){scene->crossed[i], size};
    }
}

static void rule_at_random(struct scene *scene)
{
    struct set_rule *rule = &scene->rule;

    *rule = (struct set_rule){.kind = (enum set_kind)chance_below(&scene->state, 5)};
    if (chance_one_in(&scene->state, 4)) {
        for (unsigned i = 0; i < 4; i++)
            scene->counts[i] = 1 + chance_below(&scene->state, 5);
        rule->counts = (struct class_numbers){scene->counts, 4};
    }
    rule->is_aligned = rule->kind == SET_RUNS && chance_one_in(&scene->state, 2);
    rule->wraps = rule->kind == SET_RUNS && !rule->is_aligned && chance_one_in(&scene->state, 2);
    if (rule->kind == SET_WINGS || rule->kind == SET_MODULES)
        rule->width = 1 + chance_below(&scene->state, 4);
    if (rule->kind == SET_WINGS)
        cross_at_random(scene);
    if (rule->kind == SET_ZONES)
        rule->zone_order = (enum zone_order)chance_below(&scene->state, 2);
}

static void make_scene(uint64_t seed, struct scene *out)
{
    unsigned gap = 0;

    *out = (struct scene){.state = seed, .policy = decide_policy_default()};
    out->node = chance_node(&out->state, "n", DEVICES);
    rule_at_random(out);
    out->class = test_class;
    out->class.sets = (struct set_rules){&out->rule, 1};
    for (unsigned i = 0; i < out->node->device_count; i++) {
        struct device *device = &out->node->devices[i];

        gap += chance_one_in(&out->state, 8);
        device->index = i + gap;
        device->class = &out->class;
        device->memory_mib = 1000;
        device->cores = 100;
        device->slots = 1;
        device->zone = (int)chance_below(&out->state, 4) - 1;
    }
    out->use = use_none(out->node);
    out->count = 1 + chance_below(&out->state, 5);
    out->request = request_of_class(&out->class, out->count, 0, 0);
    out->policy.topology.mode = (enum topology_mode)chance_below(&out->state, 3);
    for (unsigned i = 0; i < out->node->device_count; i++) {
        const struct device *device = &out->node->devices[i];

        if (chance_one_in(&out->state, 3))
            use_whole(&out->use, out->node, mask_of(i));
        else if (device->healthy && !device->cordoned)
            out->free |= mask_of(i);
    }
}

/* --- the rules, plainly ---------------------------------------------------------------------- */

static unsigned index_at(const struct scene *scene, unsigned position)
{
    return scene->node->devices[position].index;
}

static bool has_index(const struct scene *scene, device_mask set, unsigned index)
{
    for (unsigned i = 0; i < scene->node->device_count; i++) {
        if (mask_has(set, i) && index_at(scene, i) == index)
            return true;
    }
    return false;
}

static bool may_count(const struct scene *scene)
{
    for (size_t i = 0; i < scene->rule.counts.count; i++) {
        if (scene->rule.counts.items[i] == scene->count)
            return true;
    }
    return scene->rule.counts.count == 0;
}

static bool is_run(const struct scene *scene, device_mask set)
{
    unsigned end = index_at(scene, scene->node->device_count - 1) + 1;

    for (unsigned first = 0; first < end; first++) {
        unsigned n = 0;

        while (n < scene->count &&
               has_index(scene, set, scene->rule.wraps ? (first + n) % end : first + n))
            n++;
        if (n == scene->count && n <= end && (!scene->rule.is_aligned || first % n == 0))
            return true;
    }
    return false;
}

/* Devices of a mask in the wing or module of an index. */
static unsigned count_in_part(const struct scene *scene, device_mask of, unsigned index)
{
    unsigned n = 0;

    for (unsigned i = 0; i < scene->node->device_count; i++)
        n += mask_has(of, i) && index_at(scene, i) / scene->rule.width == index / scene->rule.width;
    return n;
}

static bool is_crossing(const struct scene *scene, device_mask set)
{
    for (size_t c = 0; c < scene->rule.crossings.count; c++) {
        const struct class_numbers *devices = &scene->rule.crossings.items[c].devices;
        unsigned n = 0;

        for (size_t i = 0; i < devices->count; i++)
            n += has_index(scene, set, (unsigned)devices->items[i]);
        if (n == devices->count && n == scene->count)
            return true;
    }
    return false;
}

static unsigned first_index(const struct scene *scene, device_mask set)
{
    return index_at(scene, mask_first(set));
}

static bool is_allowed(const struct scene *scene, device_mask set)
{
    switch (scene->rule.kind) {
    case SET_RUNS:
        return is_run(scene, set);
    case SET_WINGS:
        return count_in_part(scene, set, first_index(scene, set)) == scene->count ||
               is_crossing(scene, set);
    case SET_MODULES:
        for (unsigned i = 0; scene->count > 1 && i < scene->node->device_count; i++) {
            if (mask_has(set, i) &&
                count_in_part(scene, set, index_at(scene, i)) != scene->rule.width)
                return false;
        }
        return true;
    case SET_PEERS:
    case SET_ZONES:
        break;
    }
    return true;
}

static unsigned count_in_zone(const struct scene *scene, device_mask of, int zone)
{
    unsigned n = 0;

    for (unsigned i = 0; i < scene->node->device_count; i++)
        n += mask_has(of, i) && scene->node->devices[i].zone == zone;
    return n;
}

static int pairs(unsigned n)
{
    return (int)(n * (n - (n > 0)) / 2);
}

#define ANYWHERE 30000 /* what the rule does not prefer to anything */

static int zone_score(const struct scene *scene, device_mask set)
{
    int score = 0;

    for (int zone = 0; zone < 3; zone++) {
        unsigned have = count_in_zone(scene, scene->free, zone);
        unsigned taken = count_in_zone(scene, set, zone);

        score += 10 * pairs(taken) - (pairs(have) - pairs(taken) - pairs(have - taken));
    }
    return score;
}

static bool is_best_mixture(const struct scene *scene, device_mask set)
{
    for (device_mask other = 1; other <= scene->free; other++) {
        if ((other & ~scene->free) == 0 && mask_count(other) == scene->count &&
            zone_score(scene, other) > zone_score(scene, set))
            return false;
    }
    return true;
}

/* Are there zones, and none that holds the set? */
static bool is_mixed(const struct scene *scene)
{
    bool any = false;

    for (int zone = 0; zone < 3; zone++) {
        any = any || count_in_zone(scene, scene->free, zone) > 0;
        if (count_in_zone(scene, scene->free, zone) >= scene->count)
            return false;
    }
    return any;
}

/* Lower is better. */
static int zone_rank(const struct scene *scene, device_mask set)
{
    bool largest = scene->rule.zone_order == ZONES_LARGEST;

    if (largest && count_in_zone(scene, scene->free, ZONE_UNKNOWN) > 0)
        return 0;
    for (int zone = 0; zone < 3; zone++) {
        unsigned have = count_in_zone(scene, scene->free, zone);

        if (count_in_zone(scene, set, zone) == scene->count)
            return largest ? -(int)have : (int)have;
    }
    if (!is_mixed(scene) || !is_best_mixture(scene, set))
        return ANYWHERE;
    return 1000;
}

static int rank_of(const struct scene *scene, device_mask set)
{
    unsigned index = first_index(scene, set), wing;

    switch (scene->rule.kind) {
    case SET_WINGS:
        if (count_in_part(scene, set, index) != scene->count)
            return 10000;
        wing = count_in_part(scene, scene->free, index);
        return (int)wing + (scene->count % 2 == 1 && wing % 2 == 0 ? 100 : 0);
    case SET_MODULES:
        return scene->count == 1 && count_in_part(scene, scene->free, index) == scene->rule.width;
    case SET_ZONES:
        return zone_rank(scene, set);
    case SET_PEERS:
    case SET_RUNS:
        break;
    }
    return 0;
}

/* --- against each other ---------------------------------------------------------------------- */

/* Tier and bottleneck of a set as one number; lower is better. */
static unsigned badness(const struct scene *scene, device_mask set)
{
    const struct topology_question question = {
        .graph = scene->node->graph, .candidates = set, .count = scene->count};
    struct topology_choice choice;

    gputopo_choose(&question, &scene->policy.topology, NULL, &choice);
    return ((unsigned)choice.tier << 16) +
           (scene->count > 1 ? UINT16_MAX - choice.bottleneck_gbps : 0);
}

static bool is_within_tier(const struct scene *scene, device_mask set)
{
    const struct topology_rule *rule = &scene->policy.topology;

    return rule->mode != TOPOLOGY_HARD || badness(scene, set) >> 16 <= (unsigned)rule->max_tier;
}

static void check(const struct scene *scene, device_mask chosen)
{
    bool any = false;

    for (device_mask set = 1; set <= scene->free; set++) {
        if ((set & ~scene->free) != 0 || mask_count(set) != scene->count || !may_count(scene) ||
            !is_allowed(scene, set) || !is_within_tier(scene, set))
            continue;
        any = true;
        if (chosen == 0)
            break;
        /* Which zones are the largest is not stated here once more. */
        if (scene->rule.zone_order == ZONES_LARGEST && is_mixed(scene))
            break;
        assert_true(rank_of(scene, set) >= rank_of(scene, chosen));
        if (rank_of(scene, set) == rank_of(scene, chosen) && scene->count > 1 &&
            scene->policy.topology.mode != TOPOLOGY_OFF)
            assert_true(badness(scene, set) >= badness(scene, chosen));
    }
    assert_int_equal(chosen != 0, any);
    if (chosen == 0)
        return;
    assert_int_equal(mask_count(chosen), scene->count);
    assert_int_equal(chosen & ~scene->free, 0);
    assert_true(is_allowed(scene, chosen));
}

static void test_decide_node__finds_the_first_sets_of_every_rule(void **state)
{
    unsigned found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct verdict verdict;
        struct plan plan;

        make_scene(seed, &scene);
        decide_node(scene.node, &scene.use, &scene.request, &scene.policy, NULL, &plan, &verdict);
        found += verdict.reason == REASON_OK;
        check(&scene, verdict.reason == REASON_OK ? plan.sets[0] : 0);
        node_unref(scene.node);
        request_clear(&scene.request);
    }
    assert_true(found > SEEDS / 10);
}

/* A refusal is curable exactly when the pod would be kept without the others. */
static void test_decide_node__says_whether_leaving_pods_would_help(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct verdict now, alone;
        struct node_use nobody;
        struct plan plan;

        make_scene(seed, &scene);
        nobody = use_none(scene.node);
        decide_node(scene.node, &scene.use, &scene.request, &scene.policy, NULL, &plan, &now);
        decide_node(scene.node, &nobody, &scene.request, &scene.policy, NULL, &plan, &alone);
        if (now.reason != REASON_OK)
            assert_int_equal(reason_is_curable(now.reason), alone.reason == REASON_OK);
        node_unref(scene.node);
        request_clear(&scene.request);
    }
}

/* Two containers whose sets must both be allowed: found whenever there is a way. */
static bool fits_two(const struct scene *scene)
{
    for (device_mask a = 1; a <= scene->free; a++) {
        if ((a & ~scene->free) != 0 || mask_count(a) != scene->count || !is_allowed(scene, a))
            continue;
        for (device_mask b = 1; b <= scene->free; b++) {
            if ((b & ~scene->free) == 0 && (a & b) == 0 && mask_count(b) == scene->count &&
                is_allowed(scene, b))
                return may_count(scene);
        }
    }
    return false;
}

static void test_decide_node__finds_two_sets_whenever_there_are_two(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS / 4; seed++) {
        struct scene scene;
        struct verdict verdict;
        struct plan plan;
        struct ask second;

        make_scene(seed, &scene);
        if (scene.policy.topology.mode == TOPOLOGY_HARD)
            scene.policy.topology.mode = TOPOLOGY_SOFT;
        second = scene.request.asks[0];
        second.container = 1;
        request_add_container(&scene.request, "second", CONTAINER_APP);
        request_add_ask(&scene.request, &second);
        decide_node(scene.node, &scene.use, &scene.request, &scene.policy, NULL, &plan, &verdict);
        assert_int_equal(verdict.reason == REASON_OK, fits_two(&scene));
        if (verdict.reason == REASON_OK) {
            assert_true(is_allowed(&scene, plan.sets[0]) && is_allowed(&scene, plan.sets[1]));
            assert_int_equal(plan.sets[0] & plan.sets[1], 0);
        }
        node_unref(scene.node);
        request_clear(&scene.request);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decide_node__finds_the_first_sets_of_every_rule),
        cmocka_unit_test(test_decide_node__says_whether_leaving_pods_would_help),
        cmocka_unit_test(test_decide_node__finds_two_sets_whenever_there_are_two),
    };

    return cmocka_run_group_tests_name("sets", tests, NULL, NULL);
}
