/* SPDX-License-Identifier: Apache-2.0 */
/*
 * property_partitions - partitions on random devices against a plain statement.
 *
 * All ways to place what a pod asks for are looked at here, without the program's help. What is
 * stated: a pod is kept exactly when there is a way; no two partitions that run together overlap,
 * each starts where it may, compute slices and `max` are kept; and a single partition goes where
 * the least is lost for large ones, over all devices and places.
 */
#include "support/builtin_classes.h"
#include "support/builders.h"
#include "support/class_nodes.h"
#include "support/decide_plainly.h"
#include "support/test.h"

#include "topofit/class.h"
#include "topofit/mem.h"

#include <stdlib.h>

#define SEEDS 6000

/* A partition that is somewhere, by what it is. */
struct place {
    unsigned device, profile, start;
};

struct scene {
    uint64_t state;
    struct node *node;
    struct node_use use;
    struct request request;
    struct place taken[64];
    unsigned taken_count;
    bool alive[8]; /* devices that may be given out */
};

static const struct partition_profile *profile_at(const struct scene *scene,
                                                  const struct place *place)
{
    return &scene->node->devices[place->device].partitions->profiles[place->profile];
}

/* --- what goes together, plainly ------------------------------------------------------------- */

static bool overlap(const struct scene *scene, const struct place *a, const struct place *b)
{
    return a->device == b->device && a->start < b->start + profile_at(scene, b)->width &&
           b->start < a->start + profile_at(scene, a)->width;
}

static bool is_legal(const struct scene *scene, const struct place *places, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct partition_table *table = scene->node->devices[places[i].device].partitions;
        unsigned compute = 0, same = 0;

        if ((profile_at(scene, &places[i])->starts >> places[i].start & 1) == 0)
            return false;
        for (unsigned k = 0; k < count; k++) {
            if (k != i && overlap(scene, &places[i], &places[k]))
                return false;
            if (places[k].device != places[i].device)
                continue;
            compute += profile_at(scene, &places[k])->compute;
            same += places[k].profile == places[i].profile;
            if (profile_at(scene, &places[k])->group != profile_at(scene, &places[i])->group)
                return false;
        }
        if (table->compute > 0 && compute > table->compute)
            return false;
        if (profile_at(scene, &places[i])->max > 0 && same > profile_at(scene, &places[i])->max)
            return false;
    }
    return true;
}

/* --- random devices and pods ----------------------------------------------------------------- */

static struct partition_table *geometry(void)
{
    static const struct partition_profile profiles[] = {
        {.name = "1g.6gb", .memory_mib = 6144, .width = 1, .starts = 0x000f, .group = 1},
        {.name = "2g.12gb", .memory_mib = 12288, .width = 1, .starts = 0x0030, .group = 2},
        {.name = "1g.6gb", .memory_mib = 6144, .width = 1, .starts = 0x0040, .group = 2},
        {.name = "4g.24gb", .memory_mib = 24576, .width = 1, .starts = 0x0080, .group = 3},
    };
    const char *fault = NULL;

    return partition_table_of_profiles(profiles, ARRAY_LEN(profiles), &fault);
}

/* Compute slices are scarcer than memory here, as on no real device. */
static struct partition_table *scarce_compute(void)
{
    static const struct partition_profile profiles[] = {
        {.name = "one", .memory_mib = 10, .width = 1, .compute = 1, .starts = 0x3f},
        {.name = "two", .memory_mib = 20, .width = 2, .compute = 2, .starts = 0x15},
        {.name = "dear", .memory_mib = 10, .width = 1, .compute = 3, .starts = 0x24, .max = 1},
    };
    struct partition_table *table = partition_table_new(6, 4);

    for (size_t i = 0; i < ARRAY_LEN(profiles); i++)
        assert_null(partition_table_add(table, &profiles[i]));
    return table;
}

static struct partition_table *table_at_random(uint64_t *state)
{
    static const char *const products[] = {"A100-SXM4-40GB", "NVIDIA A30", "NVIDIA RTX PRO 6000"};
    unsigned which = chance_below(state, ARRAY_LEN(products) + 2);

    if (which >= ARRAY_LEN(products))
        return which == ARRAY_LEN(products) ? geometry() : scarce_compute();
    return table_of(builtin_class("nvidia"), products[which]);
}

static void take_at_random(struct scene *scene)
{
    for (unsigned tries = chance_below(&scene->state, 12); tries > 0; tries--) {
        struct place *place = &scene->taken[scene->taken_count];
        const struct partition_table *table;
        struct grant grant = {.slots = 1, .memory_mib = 1, .mode = ISOLATION_PARTITIONED};

        place->device = chance_below(&scene->state, scene->node->device_count);
        table = scene->node->devices[place->device].partitions;
        place->profile = chance_below(&scene->state, table->count);
        place->start = chance_below(&scene->state, table->slices);
        if (!is_legal(scene, scene->taken, scene->taken_count + 1))
            continue;
        grant.id = scene->node->devices[place->device].id;
        grant.partitions = partition_at(table, scene->use.devices[place->device].partitions,
                                        place->profile, place->start);
        assert_true(grant.partitions.slices != 0);
        node_use_add(&scene->use, scene->node, &grant);
        scene->taken_count++;
    }
    for (unsigned i = 0; i < scene->node->device_count; i++)
        assert_false(scene->use.devices[i].conflicted);
}

static void make_scene(uint64_t seed, unsigned asks, struct scene *out)
{
    const struct device_class *class = builtin_class("nvidia");
    struct partition_table *table;

    *out = (struct scene){.state = seed * 7919};
    out->node = node_of_class(class, 1 + chance_below(&out->state, 2), 98304, 16);
    table = table_at_random(&out->state);
    node_divide(out->node, table);
    out->use = use_none(out->node);
    take_at_random(out);
    request_init(&out->request);
    for (unsigned i = 0; i < asks; i++) {
        unsigned profile = chance_below(&out->state, table->count);
        enum container_kind kind = chance_one_in(&out->state, 4) ? CONTAINER_INIT : CONTAINER_APP;
        bool by_memory = chance_one_in(&out->state, 3);

        /* Init containers stand in front. */
        if (i > 0 && out->request.containers[i - 1].kind == CONTAINER_APP)
            kind = CONTAINER_APP;
        request_profile(&out->request, class, kind,
                        by_memory ? NULL : table->profiles[profile].name,
                        table->profiles[profile].memory_mib - chance_below(&out->state, 3));
    }
}

static void clear_scene(struct scene *scene)
{
    node_unref(scene->node);
    request_clear(&scene->request);
}

/* --- all ways -------------------------------------------------------------------------------- */

static bool serves(const struct scene *scene, const struct place *place, const struct ask *ask)
{
    const struct partition_profile *profile = profile_at(scene, place);

    return ask->memory_kind == MEMORY_PROFILE ? partition_name_equal(profile->name, ask->profile)
                                              : profile->memory_mib >= ask->memory;
}

static bool together(const struct request *request, unsigned a, unsigned b)
{
    return request->containers[a].kind != CONTAINER_INIT &&
           request->containers[b].kind != CONTAINER_INIT;
}

static bool is_same(const struct place *a, const struct place *b)
{
    return a->device == b->device && a->profile == b->profile && a->start == b->start;
}

/*
 * May these places be those of the pod's asks? What never runs together may have the same one,
 * and is then there once.
 */
static bool is_way(const struct scene *scene, const struct place *places, unsigned count)
{
    struct place all[64 + 8];
    unsigned n = scene->taken_count;

    memcpy(all, scene->taken, n * sizeof *all);
    for (unsigned i = 0; i < count; i++) {
        bool shared = false;

        for (unsigned k = 0; k < i; k++) {
            if (!is_same(&places[i], &places[k]))
                continue;
            if (together(&scene->request, i, k))
                return false;
            shared = true;
        }
        if (!shared)
            all[n++] = places[i];
    }
    return is_legal(scene, all, n);
}

static bool find_way(const struct scene *scene, struct place *places, unsigned at)
{
    struct place *place = &places[at];

    if (at == scene->request.ask_count)
        return true;
    for (place->device = 0; place->device < scene->node->device_count; place->device++) {
        const struct partition_table *table = scene->node->devices[place->device].partitions;

        for (place->profile = 0; place->profile < table->count; place->profile++) {
            if (!serves(scene, place, &scene->request.asks[at]))
                continue;
            for (place->start = 0; place->start < table->slices; place->start++) {
                if (is_way(scene, places, at + 1) && find_way(scene, places, at + 1))
                    return true;
            }
        }
    }
    return false;
}

static void test_decide_node__keeps_a_pod_exactly_when_its_partitions_have_places(void **state)
{
    unsigned kept = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct place places[8];
        struct plan plan;
        enum reason reason;

        make_scene(seed, 1 + (unsigned)seed % 4, &scene);
        reason = decide_plainly(scene.node, &scene.use, &scene.request, &plan);
        assert_int_equal(reason == REASON_OK, find_way(&scene, places, 0));
        kept += reason == REASON_OK;
        for (unsigned i = 0; reason == REASON_OK && i < plan.partition_count; i++) {
            const struct planned_partition *planned = &plan.partitions[i];

            places[planned->ask] =
                (struct place){planned->position, planned->profile, planned->start};
            assert_true(serves(&scene, &places[planned->ask], &scene.request.asks[planned->ask]));
        }
        if (reason == REASON_OK) {
            assert_int_equal(plan.partition_count, scene.request.ask_count);
            assert_true(is_way(&scene, places, plan.partition_count));
        }
        clear_scene(&scene);
    }
    assert_true(kept > SEEDS / 4 && kept < SEEDS);
}

/* What the pod's record books is what the plan says, and fits beside the others. */
static void test_plan_allocation__of_partitions_never_conflicts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        AUTO(allocation_clear) struct allocation record = {0};
        struct grant grants[DEVICE_MAX];
        struct scene scene;
        struct plan plan;

        make_scene(seed, 1 + (unsigned)seed % 4, &scene);
        if (decide_plainly(scene.node, &scene.use, &scene.request, &plan) == REASON_OK) {
            size_t count;

            plan_allocation(&plan, scene.node, &scene.request, &record);
            count = allocation_grants(&record, false, grants, ARRAY_LEN(grants));
            for (size_t g = 0; g < count; g++)
                node_use_add(&scene.use, scene.node, &grants[g]);
            for (unsigned i = 0; i < scene.node->device_count; i++)
                assert_false(scene.use.devices[i].conflicted);
        }
        clear_scene(&scene);
    }
}

/* --- room for large ones --------------------------------------------------------------------- */

/* How many of a profile could still be made on a device, by trying. */
static unsigned most(const struct scene *scene, const struct place *all, unsigned count,
                     unsigned device, unsigned profile)
{
    struct place with[64 + 24];
    unsigned n = count;

    memcpy(with, all, count * sizeof *with);
    for (unsigned start = 0; start < PARTITION_SLICES_MAX; start++) {
        with[n] = (struct place){device, profile, start};
        n += is_legal(scene, with, n + 1);
    }
    return n - count;
}

/*
 * What a place costs the profiles of its device, the largest first: as many as the program tells
 * apart. -1, 0, 1 as it is less, equal or more than what another costs.
 */
static int compare_loss(const struct scene *scene, const struct place *a, const struct place *b)
{
    const struct partition_table *table = scene->node->devices[a->device].partitions;
    unsigned bits = 15;
    struct place with_a[72], with_b[72];

    memcpy(with_a, scene->taken, sizeof scene->taken);
    memcpy(with_b, scene->taken, sizeof scene->taken);
    with_a[scene->taken_count] = *a;
    with_b[scene->taken_count] = *b;
    for (unsigned i = 0; i < table->shape_count; i++) {
        unsigned shape = table->shapes[i];
        unsigned empty = most(scene, scene->taken, 0, a->device, shape), width = 0;
        int loss_a, loss_b;

        while (empty >> width > 0)
            width++;
        if (width > bits)
            break;
        bits -= width;
        loss_a = (int)most(scene, scene->taken, scene->taken_count, a->device, shape) -
                 (int)most(scene, with_a, scene->taken_count + 1, a->device, shape);
        loss_b = (int)most(scene, scene->taken, scene->taken_count, b->device, shape) -
                 (int)most(scene, with_b, scene->taken_count + 1, b->device, shape);
        if (loss_a != loss_b)
            return loss_a < loss_b ? -1 : 1;
    }
    return 0;
}

static void test_decide_node__a_partition_goes_where_large_ones_lose_least(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        struct place chosen, other;
        struct plan plan;

        make_scene(seed, 1, &scene);
        if (scene.request.asks[0].memory_kind == MEMORY_PROFILE &&
            decide_plainly(scene.node, &scene.use, &scene.request, &plan) == REASON_OK &&
            scene.node->devices[0].partitions->profiles[0].group == 0) {
            chosen = (struct place){plan.partitions[0].position, plan.partitions[0].profile,
                                    plan.partitions[0].start};
            other = chosen;
            for (other.device = 0; other.device < scene.node->device_count; other.device++) {
                for (other.start = 0; other.start < PARTITION_SLICES_MAX; other.start++) {
                    if (is_way(&scene, &other, 1))
                        assert_true(compare_loss(&scene, &chosen, &other) <= 0);
                }
            }
        }
        clear_scene(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decide_node__keeps_a_pod_exactly_when_its_partitions_have_places),
        cmocka_unit_test(test_plan_allocation__of_partitions_never_conflicts),
        cmocka_unit_test(test_decide_node__a_partition_goes_where_large_ones_lose_least),
    };

    return cmocka_run_group_tests_name("partitions", tests, builtin_classes_set_up,
                                       builtin_classes_tear_down);
}
