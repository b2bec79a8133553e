/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/harness.h"
#include "support/test.h"
#include "topofit/mem.h"

#include "topofit/waste_memo.h"

#include <pthread.h>
#include <stdlib.h>

#define DEVICES 8

static struct pod_mix *mix_new(void)
{
    struct pod_mix *mix = pod_mix_new(1);
    struct mix_task task = {
        .ask = {.class = &test_class, .count = 1, .memory_kind = MEMORY_PERCENT, .memory = 50},
        .share = 1};

    pod_mix_add(mix, &task);
    return mix;
}

/* A node of one kind of devices, by its number. */
static struct node *node_of_kind(unsigned kind)
{
    return node_plain("n", DEVICES, 1000 * (kind + 1), 100);
}

/* A call that looks at nodes of so many kinds, one after the other, and again. */
static void look_at_kinds(struct waste_memo *memo, struct pod_mix *mix, unsigned kinds)
{
    struct waste_models *models = waste_memo_models(memo, mix);
    struct node_models *found = xcalloc(1, sizeof *found);

    for (unsigned i = 0; i < 2 * kinds; i++) {
        AUTO(node_unref_pointer) struct node *node = node_of_kind(i % kinds);

        waste_models_of_node(models, node, found);
        for (unsigned k = 0; k < DEVICES; k++)
            assert_true(waste_model_is_of(found->of[k], &node->devices[k]));
    }
    free(found);
    waste_models_unref(models);
}

static uint64_t computed(struct waste_memo *memo, struct pod_mix *mix)
{
    struct waste_models *models = waste_memo_models(memo, mix);
    uint64_t count = waste_models_computed(models);

    waste_models_unref(models);
    return count;
}

static void test_waste_memo__computes_each_kind_once_however_many_there_are(void **state)
{
    static const unsigned counts[] = {1, 8, 9, 12, 100, 1000};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct waste_memo *memo = waste_memo_new();
        struct pod_mix *mix = mix_new();

        for (unsigned call = 0; call < 3; call++)
            look_at_kinds(memo, mix, counts[i]);
        assert_int_equal(computed(memo, mix), counts[i]);
        pod_mix_unref(mix);
        waste_memo_free(memo);
    }
}

/* Nodes of many kinds in turns, as they stand in a cluster; two pods that take different CPU. */
static void test_waste_memo__is_asked_by_prioritize_once_for_each_kind(void **state)
{
    static const unsigned counts[] = {12, 100};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        AUTO(harness_free) struct harness *harness = harness_new();
        AUTO(buf_clear) struct buf names = buf_with_max(1 << 16);
        struct pod_mix *mix = mix_new();

        cluster_set_pod_mix(harness->cluster, pod_mix_ref(mix));
        for (unsigned n = 0; n < 2 * counts[i]; n++) {
            AUTO_FREE char *name = xasprintf("n%u", n);

            api_node(harness, name, 1, 1000 + 100 * (n % counts[i]));
            buf_addf(&names, "%s%s", n > 0 ? " " : "", name);
        }
        api_pod(harness, "a", "gpu 1, mem 500, cpu 1");
        api_pod(harness, "b", "gpu 1, mem 600, cpu 2");
        ask_prioritize(harness, "a", buf_text(&names));
        ask_prioritize(harness, "b", buf_text(&names));
        assert_int_equal(computed(harness->extender.waste_memo, mix), counts[i]);
        pod_mix_unref(mix);
    }
}

static void test_waste_memo__begins_anew_with_another_mix(void **state)
{
    struct waste_memo *memo = waste_memo_new();
    struct pod_mix *mix = mix_new(), *other = mix_new();
    struct waste_models *kept;

    (void)state;
    look_at_kinds(memo, mix, 3);
    kept = waste_memo_models(memo, mix);
    look_at_kinds(memo, other, 2);
    assert_int_equal(computed(memo, other), 2);
    assert_int_equal(waste_models_computed(kept), 3); /* as long as somebody has them */
    waste_models_unref(kept);
    pod_mix_unref(other);
    pod_mix_unref(mix);
    waste_memo_free(memo);
}

static void test_waste_memo__without_a_mix_there_are_no_models(void **state)
{
    struct waste_memo *memo = waste_memo_new();

    (void)state;
    assert_null(waste_memo_models(memo, NULL));
    assert_null(waste_memo_models(NULL, NULL));
    waste_models_unref(NULL);
    waste_memo_free(memo);
    waste_memo_free(NULL);
}

static void test_waste_memo__without_one_models_last_for_a_call(void **state)
{
    struct pod_mix *mix = mix_new();

    (void)state;
    look_at_kinds(NULL, mix, 9);
    assert_int_equal(computed(NULL, mix), 0);
    pod_mix_unref(mix);
}

/* Devices of one node may be of several kinds, and nodes of kinds beyond the bound are right, too.
 */
static void test_waste_memo__what_there_is_no_room_for_is_computed_each_time(void **state)
{
    struct pod_mix *mix = pod_mix_new(0); /* of nothing: cheap models */
    struct waste_models *models = waste_memo_models(NULL, mix);
    struct node_models *found = xcalloc(1, sizeof *found);
    AUTO(node_unref_pointer) struct node *node = node_plain("n", DEVICE_MAX, 1000, 100);

    (void)state;
    for (unsigned round = 0; round < WASTE_KINDS_MAX / DEVICE_MAX + 2; round++) {
        for (unsigned i = 0; i < DEVICE_MAX; i++)
            node->devices[i].memory_mib = 1 + round * DEVICE_MAX + (i + round) % DEVICE_MAX;
        waste_models_of_node(models, node, found);
        for (unsigned i = 0; i < DEVICE_MAX; i++)
            assert_true(waste_model_is_of(found->of[i], &node->devices[i]));
    }
    assert_int_equal(waste_models_computed(models), WASTE_KINDS_MAX + 2 * DEVICE_MAX);
    waste_models_of_node(models, node, found); /* of the last round: beyond the bound */
    assert_int_equal(waste_models_computed(models), WASTE_KINDS_MAX + 3 * DEVICE_MAX);
    free(found);
    waste_models_unref(models);
    pod_mix_unref(mix);
}

struct shared {
    struct waste_memo *memo;
    struct pod_mix *mix;
};

static void *look_often(void *ctx)
{
    const struct shared *shared = ctx;

    look_at_kinds(shared->memo, shared->mix, 30);
    return NULL;
}

static void test_waste_memo__may_be_used_by_several_threads(void **state)
{
    struct shared shared = {waste_memo_new(), mix_new()};
    pthread_t threads[4];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_often, &shared), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    assert_in_range(computed(shared.memo, shared.mix), 30, 30 * ARRAY_LEN(threads));
    pod_mix_unref(shared.mix);
    waste_memo_free(shared.memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waste_memo__computes_each_kind_once_however_many_there_are),
        cmocka_unit_test(test_waste_memo__is_asked_by_prioritize_once_for_each_kind),
        cmocka_unit_test(test_waste_memo__begins_anew_with_another_mix),
        cmocka_unit_test(test_waste_memo__without_a_mix_there_are_no_models),
        cmocka_unit_test(test_waste_memo__without_one_models_last_for_a_call),
        cmocka_unit_test(test_waste_memo__what_there_is_no_room_for_is_computed_each_time),
        cmocka_unit_test(test_waste_memo__may_be_used_by_several_threads),
    };

    return cmocka_run_group_tests_name("waste_memo", tests, NULL, NULL);
}
