/* SPDX-License-Identifier: Apache-2.0 */
/*
 * property_decide - plans on random nodes against an independent idea of what fits.
 *
 * The checks below add up amounts by themselves, from the documentation of requests, and share
 * only ask_memory_mib(), ask_cores() and ask_isolation_mode() with the program.
 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/decide.h"
#include "topofit/dialect.h"

#define SEEDS 30000

/* One random case. */
struct scene {
    uint64_t seed;
    struct node *node;
    struct node_use use;
    struct request request;
    struct decide_policy policy;
};

static void take_at_random(uint64_t *state, struct scene *scene)
{
    static const enum isolation_mode modes[] = {ISOLATION_SOFT, ISOLATION_SOFT, ISOLATION_HARD};

    for (unsigned i = 0; i < scene->node->device_count; i++) {
        const struct device *device = &scene->node->devices[i];
        unsigned tenants = chance_below(state, 3);

        if (tenants == 1 && chance_one_in(state, 3)) {
            use_take(&scene->use, scene->node, i, device->memory_mib, device->cores,
                     ISOLATION_SHARED);
            continue;
        }
        for (; tenants > 0; tenants--)
            use_take(&scene->use, scene->node, i, 1 + chance_below(state, 1500),
                     (uint16_t)(chance_below(state, 2) * chance_below(state, 4) * 20),
                     modes[chance_below(state, 3)]);
    }
    scene->use.unattributed = chance_one_in(state, 6) ? 1 + chance_below(state, 2) : 0;
}

static void demand_at_random(uint64_t *state, struct request *request)
{
    struct topology_demand *topology = &request->topology;

    topology->has_mode = chance_one_in(state, 2);
    topology->mode = (enum topology_mode)chance_below(state, 3);
    topology->has_max_tier = chance_one_in(state, 3);
    topology->max_tier = (enum tier)chance_below(state, 3);
    topology->has_source = chance_one_in(state, 4);
    topology->source = (enum topology_source)chance_below(state, SOURCE_COUNT);
    if (chance_one_in(state, 8))
        word_list_add(&request->use_products, chance_one_in(state, 2) ? "A10" : "a100");
    if (chance_one_in(state, 8)) {
        word_list_add(&request->avoid_devices, "gpu-0");
        word_list_add(&request->avoid_devices, "GPU-2");
    }
}

static void make_scene(uint64_t seed, unsigned containers_max, struct scene *out)
{
    uint64_t state = seed;

    *out = (struct scene){.seed = seed, .policy = decide_policy_default()};
    out->node = chance_node(&state, "n", 6);
    out->use = use_none(out->node);
    if (!chance_one_in(&state, 4))
        take_at_random(&state, out);
    chance_request(&state, containers_max, &out->request);
    demand_at_random(&state, &out->request);
    if (chance_one_in(&state, 3))
        out->policy.device_order = DEVICES_SPREAD;
    out->policy.topology.mode = (enum topology_mode)chance_below(&state, 3);
    out->policy.topology.least_damage = !chance_one_in(&state, 4);
}

static void clear_scene(struct scene *scene)
{
    request_clear(&scene->request);
    node_unref(scene->node);
}

static enum reason decide(const struct scene *scene, const struct node_use *use, struct plan *plan)
{
    struct verdict verdict;

    decide_node(scene->node, use, &scene->request, &scene->policy, NULL, plan, &verdict);
    return verdict.reason;
}

/* --- what a device can take, said once more --------------------------------------------------- */

/* Nothing about the device itself speaks against the ask. */
static bool is_eligible(const struct scene *scene, const struct ask *ask, unsigned i)
{
    const struct device *device = &scene->node->devices[i];
    const struct word_list *products = &scene->request.use_products;

    if (!device->healthy || device->cordoned || scene->use.devices[i].conflicted ||
        device->memory_mib == 0)
        return false;
    if (scene->request.avoid_devices.count > 0 && (device->index == 0 || device->index == 2))
        return false;
    if (products->count > 0 &&
        strcmp(device->product->chars,
               products->items[0][0] == 'A' ? "NVIDIA A10" : "NVIDIA A100-SXM4-80GB") != 0)
        return false;
    return ask_memory_mib(&scene->request, ask, device->memory_mib) <= device->memory_mib &&
           ask_cores(&scene->request, ask, device->cores) <= device->cores;
}

/* What a pod books on a device together with who is there stays within it. */
static bool has_room(const struct device *device, const struct device_use *in_use,
                     const struct grant *grant)
{
    if (in_use->memory_mib + grant->memory_mib > device->memory_mib ||
        in_use->cores + grant->cores > device->cores ||
        in_use->slots + grant->slots > device->slots)
        return false;
    if (in_use->slots == 0)
        return true;
    return grant->cores < device->cores && !in_use->exclusive && in_use->mode == grant->mode &&
           grant->mode != ISOLATION_SHARED;
}

static bool can_serve(const struct scene *scene, const struct node_use *use, const struct ask *ask,
                      unsigned i)
{
    const struct device *device = &scene->node->devices[i];
    const struct grant grant = {.memory_mib =
                                    ask_memory_mib(&scene->request, ask, device->memory_mib),
                                .cores = ask_cores(&scene->request, ask, device->cores),
                                .slots = 1,
                                .mode = ask_isolation_mode(&scene->request, ask)};

    return is_eligible(scene, ask, i) && has_room(device, &use->devices[i], &grant);
}

static enum tier worst_tier(const struct scene *scene, const struct topology_rule *rule,
                            device_mask set)
{
    enum tier worst = TIER_INTERCONNECT;

    for (unsigned a = 0; a < scene->node->device_count; a++) {
        for (unsigned b = 0; b < a; b++) {
            enum tier tier = peers_tier(scene->node->graph, rule->source, a, b);

            if (mask_has(set, a) && mask_has(set, b) && tier > worst)
                worst = tier;
        }
    }
    return worst;
}

/* Is there any set for a pod of one ask? Tries all of them. */
static bool is_feasible(const struct scene *scene, const struct node_use *use)
{
    const struct ask *ask = &scene->request.asks[0];
    struct topology_rule rule = decide_topology_rule(&scene->policy, &scene->request);
    device_mask serving = 0;

    for (unsigned i = 0; i < scene->node->device_count; i++) {
        if (can_serve(scene, use, ask, i))
            serving |= mask_of(i);
    }
    if (mask_count(serving) < ask->count + use->unattributed)
        return false;
    for (device_mask set = 1; set < mask_of(scene->node->device_count); set++) {
        if ((set & ~serving) == 0 && mask_count(set) == ask->count &&
            (rule.mode != TOPOLOGY_HARD || worst_tier(scene, &rule, set) <= rule.max_tier))
            return true;
    }
    return false;
}

/* --- several asks, by trying everything --------------------------------------------------------
 */

/* What some asks together with those who are there take of a device, phase by phase. */
static bool holds(const struct scene *scene, const struct node_use *use, const device_mask *sets,
                  unsigned i)
{
    const struct request *request = &scene->request;
    const struct device *device = &scene->node->devices[i];

    for (size_t c = 0; c <= request->container_count; c++) {
        size_t phase = c == request->container_count ? PHASE_MAIN : c;
        struct grant sum = {0};
        bool exclusive = false;

        if (phase != PHASE_MAIN && request->containers[c].kind != CONTAINER_INIT)
            continue;
        for (size_t a = 0; a < request->ask_count; a++) {
            const struct ask *ask = &request->asks[a];
            uint16_t cores = ask_cores(request, ask, device->cores);

            if (!mask_has(sets[a], i) ||
                !container_runs_in(request->containers[ask->container].kind, ask->container, phase))
                continue;
            sum.memory_mib += ask_memory_mib(request, ask, device->memory_mib);
            sum.cores = (uint16_t)(sum.cores + cores);
            sum.slots++;
            sum.mode = ask_isolation_mode(request, ask);
            exclusive = exclusive || cores == device->cores;
        }
        if (sum.slots > 0 &&
            (!has_room(device, &use->devices[i], &sum) || (exclusive && sum.slots > 1)))
            return false;
    }
    return true;
}

static bool all_hold(const struct scene *scene, const struct node_use *use, const device_mask *sets)
{
    for (unsigned i = 0; i < scene->node->device_count; i++) {
        if (!holds(scene, use, sets, i))
            return false;
    }
    return true;
}

static bool is_allowed_set(const struct scene *scene, const struct ask *ask, device_mask set)
{
    struct topology_rule rule = decide_topology_rule(&scene->policy, &scene->request);

    if (mask_count(set) != ask->count)
        return false;
    for (device_mask left = set; left != 0; left &= left - 1) {
        if (!is_eligible(scene, ask, mask_first(left)))
            return false;
    }
    return rule.mode != TOPOLOGY_HARD || worst_tier(scene, &rule, set) <= rule.max_tier;
}

/* Is there a set for each ask from `at` on, beside those that have one? No tricks. */
static bool is_feasible_together(const struct scene *scene, const struct node_use *use,
                                 device_mask *sets, size_t at)
{
    if (at == scene->request.ask_count)
        return true;
    for (device_mask set = 1; set < mask_of(scene->node->device_count); set++) {
        if (!is_allowed_set(scene, &scene->request.asks[at], set))
            continue;
        sets[at] = set;
        if (all_hold(scene, use, sets) && is_feasible_together(scene, use, sets, at + 1))
            return true;
    }
    sets[at] = 0;
    return false;
}

/* --- checks ---------------------------------------------------------------------------------- */

static void check_sets(const struct scene *scene, const struct plan *plan)
{
    struct topology_rule rule = decide_topology_rule(&scene->policy, &scene->request);

    for (size_t a = 0; a < scene->request.ask_count; a++) {
        const struct ask *ask = &scene->request.asks[a];

        assert_int_equal(mask_count(plan->sets[a]), ask->count);
        assert_true(plan->sets[a] < mask_of(scene->node->device_count));
        for (device_mask left = plan->sets[a]; left != 0; left &= left - 1)
            assert_true(is_eligible(scene, ask, mask_first(left)));
        if (rule.mode == TOPOLOGY_HARD)
            assert_true(worst_tier(scene, &rule, plan->sets[a]) <= rule.max_tier);
    }
}

/* What the lines of a record take of a device while one phase runs. */
static void sum_phase(const struct allocation *record, size_t phase, const char *id,
                      struct grant *out)
{
    for (size_t c = 0; c < record->container_count; c++) {
        const struct allocated_container *container = &record->containers[c];
        bool runs = phase == PHASE_MAIN
                        ? container->kind != CONTAINER_INIT
                        : c == phase || (c < phase && container->kind == CONTAINER_SIDECAR);

        for (size_t k = 0; runs && k < container->device_count; k++) {
            if (strcmp(container->devices[k].id, id) != 0)
                continue;
            out->memory_mib += container->devices[k].memory_mib;
            out->cores = (uint16_t)(out->cores + container->devices[k].cores);
            out->slots = (uint16_t)(out->slots + container->devices[k].slots);
            out->mode = container->devices[k].mode;
        }
    }
}

/* In every phase every device holds the pod beside those who are there. */
static void check_phases(const struct scene *scene, const struct allocation *record)
{
    for (unsigned i = 0; i < scene->node->device_count; i++) {
        const struct device *device = &scene->node->devices[i];

        for (size_t c = 0; c <= record->container_count; c++) {
            size_t phase = c == record->container_count ? PHASE_MAIN : c;
            struct grant grant = {0};

            if (phase != PHASE_MAIN && record->containers[c].kind != CONTAINER_INIT)
                continue;
            sum_phase(record, phase, device->id, &grant);
            if (grant.slots > 0)
                assert_true(has_room(device, &scene->use.devices[i], &grant));
        }
    }
}

/* Booked as the ledger does, nothing becomes contradictory, now or when the init steps are over. */
static void check_booking(const struct scene *scene, const struct allocation *record)
{
    struct grant grants[DEVICE_MAX];

    for (int init_done = 0; init_done < 2; init_done++) {
        size_t count = allocation_grants(record, init_done, grants, ARRAY_LEN(grants));
        struct node_use after = scene->use;

        for (size_t i = 0; i < count; i++)
            node_use_add(&after, scene->node, &grants[i]);
        for (unsigned i = 0; i < after.device_count; i++)
            assert_int_equal(after.devices[i].conflicted, scene->use.devices[i].conflicted);
    }
}

static void test_decide_node__a_kept_plan_satisfies_every_capacity(void **state)
{
    unsigned kept = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS * 2; seed++) {
        AUTO(allocation_clear) struct allocation record = {0};
        struct scene scene;
        struct plan plan;

        make_scene(seed, 1 + (unsigned)(seed % 5), &scene);
        if (decide(&scene, &scene.use, &plan) == REASON_OK) {
            kept++;
            plan_allocation(&plan, scene.node, &scene.request, &record);
            check_sets(&scene, &plan);
            check_phases(&scene, &record);
            check_booking(&scene, &record);
        }
        clear_scene(&scene);
    }
    assert_in_range(kept, SEEDS / 4, SEEDS * 2);
}

static void test_decide_node__keeps_exactly_what_brute_force_can_place(void **state)
{
    unsigned kept = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct plan plan;
        enum reason reason;

        make_scene(seed, 1, &scene);
        reason = decide(&scene, &scene.use, &plan);
        if ((reason == REASON_OK) != is_feasible(&scene, &scene.use))
            fail_msg("seed %llu: %s", (unsigned long long)seed, reason_name(reason));
        kept += reason == REASON_OK;
        clear_scene(&scene);
    }
    assert_in_range(kept, SEEDS / 4, SEEDS);
}

/* What an administrator must cure first stays as it is when pods are evicted. */
static struct node_use evict_all(const struct scene *scene)
{
    struct node_use empty = use_none(scene->node);

    for (unsigned i = 0; i < empty.device_count; i++)
        empty.devices[i].conflicted = scene->use.devices[i].conflicted;
    return empty;
}

static void test_decide_node__is_curable_exactly_when_the_emptied_node_fits(void **state)
{
    unsigned curable = 0, hopeless = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct plan plan;
        struct node_use empty;
        enum reason reason;

        make_scene(seed, 1, &scene);
        empty = evict_all(&scene);
        reason = decide(&scene, &scene.use, &plan);
        if (reason != REASON_OK && reason_is_curable(reason) != is_feasible(&scene, &empty))
            fail_msg("seed %llu: %s", (unsigned long long)seed, reason_name(reason));
        curable += reason != REASON_OK && reason_is_curable(reason);
        hopeless += reason != REASON_OK && !reason_is_curable(reason);
        clear_scene(&scene);
    }
    assert_true(curable > SEEDS / 20 && hopeless > SEEDS / 20);
}

/* Amounts that often fill devices exactly, so that the order of the asks matters. */
static void make_tight(uint64_t *state, struct scene *scene)
{
    struct request *request = &scene->request;

    for (size_t a = 0; a < request->ask_count; a++) {
        if (request->asks[a].memory_kind == MEMORY_MIB)
            request->asks[a].memory = 100 * (1 + chance_below(state, 12));
    }
    for (unsigned i = 0; i < scene->node->device_count; i++)
        scene->node->devices[i].slots = 4;
}

static void
test_decide_node__several_asks_are_kept_exactly_when_brute_force_places_them(void **state)
{
    unsigned kept = 0, curable = 0, together = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        device_mask sets[REQUEST_ASKS_MAX] = {0}, after[REQUEST_ASKS_MAX] = {0};
        uint64_t chance = seed;
        struct scene scene;
        struct node_use empty;
        struct plan plan;
        enum reason reason;

        make_scene(seed, 5, &scene);
        if (seed % 2 == 0)
            make_tight(&chance, &scene);
        scene.use.unattributed = 0; /* the order of the asks matters with these */
        empty = evict_all(&scene);
        reason = decide(&scene, &scene.use, &plan);
        if ((reason == REASON_OK) != is_feasible_together(&scene, &scene.use, sets, 0) ||
            (reason != REASON_OK &&
             reason_is_curable(reason) != is_feasible_together(&scene, &empty, after, 0)))
            fail_msg("seed %llu: %s", (unsigned long long)seed, reason_name(reason));
        kept += reason == REASON_OK;
        curable += reason_is_curable(reason);
        together += reason == REASON_CONTAINERS;
        clear_scene(&scene);
    }
    assert_true(kept > SEEDS / 8 && curable > SEEDS / 20 && together > SEEDS / 20);
}

static void test_decide_node__is_deterministic(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene, again;
        struct plan plan = {0}, other = {0};

        make_scene(seed, 4, &scene);
        make_scene(seed, 4, &again);
        assert_int_equal(decide(&scene, &scene.use, &plan), decide(&again, &again.use, &other));
        assert_memory_equal(plan.sets, other.sets, sizeof plan.sets);
        clear_scene(&scene);
        clear_scene(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decide_node__a_kept_plan_satisfies_every_capacity),
        cmocka_unit_test(test_decide_node__keeps_exactly_what_brute_force_can_place),
        cmocka_unit_test(test_decide_node__is_curable_exactly_when_the_emptied_node_fits),
        cmocka_unit_test(
            test_decide_node__several_asks_are_kept_exactly_when_brute_force_places_them),
        cmocka_unit_test(test_decide_node__is_deterministic),
    };

    return cmocka_run_group_tests_name("decide_property", tests, NULL, NULL);
}
