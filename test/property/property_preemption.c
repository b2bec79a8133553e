/* SPDX-License-Identifier: Apache-2.0 */
/*
 * property_preemption - victims on random small nodes against all sets there are.
 *
 * Whether a pod fits is decide_node()'s to say (property_decide holds that); here it is asked about
 * sums that are added up anew, for every set of tenants, and the best set is picked by the order
 * that docs/concepts/preemption.md gives.
 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/preempt.h"

#define SEEDS 20000
#define TENANTS_MAX 9

struct scene {
    uint64_t seed;
    struct node *node;
    struct request request;
    struct decide_policy policy;
    struct tenant tenants[TENANTS_MAX];
    struct placed_grant grants[TENANTS_MAX][2];
    size_t count;
    struct host_amounts host_free, host_wanted;
};

/* --- scenes ---------------------------------------------------------------------------------- */

static struct placed_grant grant_at_random(uint64_t *state, const struct node *node)
{
    unsigned i = chance_below(state, node->device_count);
    const struct device *device = &node->devices[i];
    struct grant grant = {.id = device->id, .slots = 1};

    if (chance_one_in(state, 3)) {
        grant.memory_mib = device->memory_mib;
        grant.cores = device->cores;
        grant.mode = ISOLATION_SHARED;
    } else {
        grant.memory_mib = 1 + chance_below(state, 1500);
        grant.cores = (uint16_t)(chance_below(state, 3) * 30);
        grant.mode = chance_one_in(state, 4) ? ISOLATION_HARD : ISOLATION_SOFT;
    }
    return (struct placed_grant){(int)i, grant};
}

static bool has_conflict(const struct node_use *use)
{
    for (unsigned i = 0; i < use->device_count; i++) {
        if (use->devices[i].conflicted)
            return true;
    }
    return false;
}

/* A tenant beside those on the node; one that does not go there is left out. */
static void add_tenant(uint64_t *state, struct scene *scene, struct node_use *use)
{
    struct placed_grant *grants = scene->grants[scene->count];
    struct node_use after = *use;
    struct tenant tenant = {.grants = grants, .grant_count = 1 + chance_below(state, 2)};

    for (size_t g = 0; g < tenant.grant_count; g++) {
        grants[g] = grant_at_random(state, scene->node);
        if (g > 0 && grants[g].position == grants[0].position)
            return;
        node_use_add(&after, scene->node, &grants[g].grant);
    }
    if (has_conflict(&after))
        return;
    tenant.host = (struct host_amounts){chance_below(state, 5), chance_below(state, 5)};
    tenant.unattributed = chance_one_in(state, 12);
    tenant.may_go = !chance_one_in(state, 6);
    tenant.is_leaving = chance_one_in(state, 8);
    /* In order, often equal, below zero too. */
    tenant.priority = (int)chance_below(state, 3) - 1;
    if (scene->count > 0)
        tenant.priority = scene->tenants[scene->count - 1].priority +
                          (int)(chance_one_in(state, 3) * chance_below(state, 5));
    *use = after;
    scene->tenants[scene->count++] = tenant;
}

static void make_scene(uint64_t seed, struct scene *out)
{
    uint64_t state = seed;
    struct node_use use;

    *out = (struct scene){.seed = seed, .policy = decide_policy_default()};
    out->node = chance_node(&state, "n", 6);
    use = use_none(out->node);
    for (unsigned i = 0; i < 14 && out->count < TENANTS_MAX; i++)
        add_tenant(&state, out, &use);
    if (chance_one_in(&state, 2)) {
        out->host_free = (struct host_amounts){chance_below(&state, 5), chance_below(&state, 5)};
        out->host_wanted = (struct host_amounts){chance_below(&state, 9), chance_below(&state, 9)};
    }
    chance_request(&state, chance_one_in(&state, 4) ? 2 : 1, &out->request);
    out->request.topology.has_mode = true;
    out->request.topology.mode = chance_one_in(&state, 2) ? TOPOLOGY_HARD : TOPOLOGY_SOFT;
    out->policy.topology.max_tier = (enum tier)chance_below(&state, 2);
}

static void clear_scene(struct scene *scene)
{
    request_clear(&scene->request);
    node_unref(scene->node);
}

static struct preempt_question question_of(const struct scene *scene)
{
    return (struct preempt_question){.node = scene->node,
                                     .request = &scene->request,
                                     .policy = &scene->policy,
                                     .host_free = scene->host_free,
                                     .host_wanted = scene->host_wanted,
                                     .tenants = scene->tenants,
                                     .tenant_count = scene->count};
}

/* --- every set ------------------------------------------------------------------------------- */

static bool fits_without(const struct scene *scene, unsigned gone)
{
    struct node_use use = use_none(scene->node);
    struct host_amounts host = scene->host_free;
    struct verdict verdict;
    struct plan plan;

    for (size_t t = 0; t < scene->count; t++) {
        if ((gone >> t & 1) != 0) {
            host.cpu_milli += scene->tenants[t].host.cpu_milli;
            host.memory_mib += scene->tenants[t].host.memory_mib;
            continue;
        }
        for (size_t g = 0; g < scene->tenants[t].grant_count; g++)
            node_use_add(&use, scene->node, &scene->grants[t][g].grant);
        use.unattributed += scene->tenants[t].unattributed;
    }
    if (host.cpu_milli < scene->host_wanted.cpu_milli ||
        host.memory_mib < scene->host_wanted.memory_mib)
        return false;
    decide_node(scene->node, &use, &scene->request, &scene->policy, NULL, &plan, &verdict);
    return verdict.reason == REASON_OK;
}

static unsigned pick(const struct scene *scene, bool leaving)
{
    unsigned set = 0;

    for (size_t t = 0; t < scene->count; t++) {
        if (scene->tenants[t].may_go && scene->tenants[t].is_leaving == leaving)
            set |= 1u << t;
    }
    return set;
}

/* Does x come before y in the order of the documentation? */
static bool is_preferred(const struct scene *scene, unsigned x, unsigned y)
{
    int top[2] = {INT32_MIN, INT32_MIN};
    int64_t sum[2] = {0, 0};
    const unsigned sets[2] = {x, y};

    for (unsigned i = 0; i < 2; i++) {
        for (size_t t = 0; t < scene->count; t++) {
            if ((sets[i] >> t & 1) == 0)
                continue;
            if (scene->tenants[t].priority > top[i])
                top[i] = scene->tenants[t].priority;
            sum[i] += scene->tenants[t].priority + ((int64_t)1 << 31);
        }
    }
    if (top[0] != top[1])
        return top[0] < top[1];
    if (sum[0] != sum[1])
        return sum[0] < sum[1];
    if (__builtin_popcount(x) != __builtin_popcount(y))
        return __builtin_popcount(x) < __builtin_popcount(y);
    for (size_t t = 0; t < scene->count; t++) {
        if ((x >> t & 1) != (y >> t & 1))
            return (x >> t & 1) != 0;
    }
    return false;
}

/* The best set of tenants that stay otherwise; UINT32_MAX when there is none. */
static unsigned best_set(const struct scene *scene)
{
    unsigned leaving = pick(scene, true), others = pick(scene, false), best = UINT32_MAX;

    for (unsigned set = 0; set < 1u << scene->count; set++) {
        if ((set & ~others) == 0 && fits_without(scene, set | leaving) &&
            (best == UINT32_MAX || is_preferred(scene, set, best)))
            best = set;
    }
    return best;
}

/* --- claims ---------------------------------------------------------------------------------- */

static bool choose(const struct scene *scene, unsigned trials, unsigned *out)
{
    const struct preempt_question question = question_of(scene);
    struct tenant_set all = {{0}}, chosen = {{0}};
    bool found;

    for (size_t t = 0; t < scene->count; t++)
        tenant_set_add(&all, t);
    found = preempt_choose(&question, &all, &trials, &chosen);
    *out = (unsigned)chosen.words[0];
    return found;
}

static void expect_minimal(const struct scene *scene, unsigned chosen)
{
    if (!fits_without(scene, chosen))
        fail_msg("seed %u: does not fit without %x", (unsigned)scene->seed, chosen);
    for (size_t t = 0; t < scene->count; t++) {
        if ((chosen >> t & 1) == 0)
            continue;
        assert_true(scene->tenants[t].may_go);
        if (fits_without(scene, chosen & ~(1u << t)))
            fail_msg("seed %u: %zu of %x can be spared", (unsigned)scene->seed, t, chosen);
    }
}

static void test_preempt_choose__the_best_of_all_sets_is_found(void **state)
{
    unsigned solved = 0, several = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        unsigned chosen, best;

        make_scene(seed, &scene);
        best = best_set(&scene);
        if (choose(&scene, PREEMPT_TRIALS_MAX * 10, &chosen) != (best != UINT32_MAX))
            fail_msg("seed %u: best %x, chosen %x", (unsigned)seed, best, chosen);
        if (best != UINT32_MAX) {
            if ((chosen & ~pick(&scene, true)) != best)
                fail_msg("seed %u: best %x, chosen %x", (unsigned)seed, best, chosen);
            expect_minimal(&scene, chosen);
            solved += best != 0;
            several += __builtin_popcount(best) > 1;
        }
        clear_scene(&scene);
    }
    assert_true(solved > SEEDS / 10 && several > SEEDS / 50);
}

static void test_preempt_choose__without_trials_nobody_is_evicted_who_can_be_spared(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        unsigned chosen;

        make_scene(seed, &scene);
        if (choose(&scene, 0, &chosen))
            expect_minimal(&scene, chosen);
        else
            assert_int_equal(best_set(&scene), UINT32_MAX);
        clear_scene(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preempt_choose__the_best_of_all_sets_is_found),
        cmocka_unit_test(test_preempt_choose__without_trials_nobody_is_evicted_who_can_be_spared),
    };

    return cmocka_run_group_tests_name("preemption", tests, NULL, NULL);
}
