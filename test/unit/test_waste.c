/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/waste.h"

/* One kind of pod: how often, with so much CPU, so many devices of so many percent (0: whole). */
struct kind {
    double share;
    uint64_t cpu_milli;
    unsigned count, percent;
};

static struct pod_mix *mix_of(const struct kind *kinds, size_t count)
{
    struct pod_mix *mix = pod_mix_new(count);

    for (size_t i = 0; i < count; i++) {
        struct mix_task task = {
            .host = {kinds[i].cpu_milli, 0},
            .ask = {.class = &test_class,
                    .count = kinds[i].count,
                    .memory_kind = kinds[i].percent > 0 ? MEMORY_PERCENT : MEMORY_WHOLE,
                    .memory = kinds[i].percent},
            .is_whole = kinds[i].percent == 0,
            .share = kinds[i].share,
        };

        pod_mix_add(mix, &task);
    }
    return mix;
}

static double waste_by(const struct pod_mix *mix, const struct leftover *leftover)
{
    const struct waste_model *of[DEVICE_MAX];
    struct waste_model models[DEVICE_MAX];

    for (unsigned i = 0; i < leftover->node->device_count; i++) {
        waste_model_init(&models[i], mix, &leftover->node->devices[i]);
        of[i] = &models[i];
    }
    return waste_milli(of, leftover);
}

/* The waste of a node with one device of which so much is idle; cpu: 0 = not told. */
static double waste_of_one(const struct pod_mix *mix, unsigned idle_percent, uint64_t cpu_milli)
{
    AUTO(node_unref_pointer) struct node *node = node_plain("n", 1, 1000, 100);
    struct node_use use = use_none(node);
    struct leftover leftover;

    node->host.cpu_milli = cpu_milli;
    if (idle_percent < 100)
        use_take(&use, node, 0, 10 * (100 - idle_percent), 0, ISOLATION_SOFT);
    leftover_of(node, &use, (struct host_amounts){0}, &leftover);
    return waste_by(mix, &leftover);
}

static void assert_near(double value, double want, double within)
{
    if (value < want - within || value > want + within)
        fail_msg("%f is not within %f of %f", value, within, want);
}

static void test_waste__a_hole_that_nothing_fits_into_is_wasted(void **state)
{
    struct pod_mix *mix = mix_of((const struct kind[]){{1, 0, 1, 50}}, 1);

    (void)state;
    assert_near(waste_of_one(mix, 49, 0), 490, 0.01);
    assert_near(waste_of_one(mix, 50, 0), 0, 3);
    assert_near(waste_of_one(mix, 70, 0), 200, 3);
    assert_near(waste_of_one(mix, 100, 0), 0, 6);
    pod_mix_unref(mix);
}

/*
 * As many pods of 30 as of 40 come: 30+30+40 fills a device, and 40+40 is needed for the rest. So a
 * 40 is worth half a device and a 30 a quarter, and a hole of 60 is best used by two of 30.
 */
static void test_waste__prices_follow_from_what_goes_together(void **state)
{
    struct pod_mix *mix = mix_of((const struct kind[]){{0.5, 0, 1, 30}, {0.5, 0, 1, 40}}, 2);

    (void)state;
    assert_near(waste_of_one(mix, 30, 0), 300 - 250, 8);
    assert_near(waste_of_one(mix, 40, 0), 400 - 500, 8);
    assert_near(waste_of_one(mix, 60, 0), 600 - 500, 8);
    pod_mix_unref(mix);
}

static void test_waste__an_idle_device_is_used_by_pods_that_take_it_whole(void **state)
{
    struct pod_mix *mix = mix_of((const struct kind[]){{1, 0, 1, 0}}, 1);

    (void)state;
    assert_near(waste_of_one(mix, 100, 0), 0, 0.01);
    assert_near(waste_of_one(mix, 99, 0), 990, 0.01);
    pod_mix_unref(mix);
}

/* A pod takes 8 CPUs with each device: one device and 4 CPUs strand about half of it. */
static void test_waste__devices_without_cpu_are_stranded(void **state)
{
    struct pod_mix *mix = mix_of((const struct kind[]){{1, 8000, 1, 0}}, 1);

    (void)state;
    assert_near(waste_of_one(mix, 100, 8000), 0, 0.01);
    assert_near(waste_of_one(mix, 100, 3600), 500, 1);
    assert_near(waste_of_one(mix, 100, 0), 0, 0.01); /* not told */
    pod_mix_unref(mix);
}

static void test_waste__knows_each_kind_of_device_by_its_size(void **state)
{
    struct mix_task task = {
        .ask = {.class = &test_class, .count = 1, .memory_kind = MEMORY_MIB, .memory = 500},
        .share = 1};
    AUTO(node_unref_pointer) struct node *small = node_plain("s", 1, 1000, 2);
    AUTO(node_unref_pointer) struct node *large = node_plain("l", 1, 2000, 2);
    struct node_use use = use_none(small);
    struct pod_mix *mix = pod_mix_new(1);
    struct leftover leftover;

    (void)state;
    pod_mix_add(mix, &task);
    use_take(&use, small, 0, 510, 0, ISOLATION_SOFT); /* 490 MiB left: too little */
    leftover_of(small, &use, (struct host_amounts){0}, &leftover);
    assert_near(waste_by(mix, &leftover), 490, 0.01);
    use = use_none(large);
    use_take(&use, large, 0, 1020, 0, ISOLATION_SOFT); /* the same share, and room for one */
    leftover_of(large, &use, (struct host_amounts){0}, &leftover);
    assert_near(waste_by(mix, &leftover), 240, 4);
    pod_mix_unref(mix);
}

/* The amount, in thousandths, is a small number modulo 2^64. */
static void test_waste__no_device_is_for_pods_that_ask_for_absurdly_much(void **state)
{
    static const enum memory_kind kinds[] = {MEMORY_MIB, MEMORY_PERCENT};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct mix_task task = {.ask = {.class = &test_class, .count = 1, .memory_kind = kinds[i]},
                                .share = 1};
        struct pod_mix *mix = pod_mix_new(1);

        task.ask.memory =
            kinds[i] == MEMORY_MIB ? UINT64_C(18446744073709552) : UINT64_MAX / 10 + 1;
        pod_mix_add(mix, &task);
        assert_near(waste_of_one(mix, 70, 0), 700, 0.01);
        pod_mix_unref(mix);
    }
}

/* Of two kinds of devices the mix wants one: the other strands nothing, wherever it stands. */
static void test_waste__devices_that_nobody_wants_take_no_cpu_from_the_others(void **state)
{
    static struct device_class other_class;
    struct pod_mix *mix = mix_of((const struct kind[]){{1, 8000, 1, 0}}, 1);

    (void)state;
    for (unsigned unwanted = 0; unwanted < 2; unwanted++) {
        AUTO(node_unref_pointer) struct node *node = node_plain("n", 2, 1000, 100);
        struct node_use use = use_none(node);
        struct leftover leftover;

        node->host.cpu_milli = 3600; /* half of 0.9 of what one device takes */
        node->devices[unwanted].class = &other_class;
        leftover_of(node, &use, (struct host_amounts){0}, &leftover);
        assert_near(waste_by(mix, &leftover), 500, 1);
    }
    pod_mix_unref(mix);
}

/* As often as twice as many pods of one would. */
static void test_waste__a_pod_of_several_fractions_comes_to_several_devices(void **state)
{
    struct pod_mix *twice = mix_of((const struct kind[]){{0.5, 0, 1, 60}, {0.5, 0, 1, 50}}, 2);
    struct pod_mix *more = mix_of((const struct kind[]){{0.5, 0, 1, 60}, {0.25, 0, 2, 50}}, 2);

    (void)state;
    assert_near(waste_of_one(more, 60, 0), waste_of_one(twice, 60, 0), 0.01);
    pod_mix_unref(twice);
    pod_mix_unref(more);
}

/* The worth of a hole is that of a whole device at most, and of nothing at least. */
static void test_waste__stays_within_what_a_device_is_worth(void **state)
{
    uint64_t chance = 3;

    (void)state;
    for (unsigned round = 0; round < 30; round++) {
        struct kind kinds[4];
        struct pod_mix *mix;

        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
            kinds[i] = (struct kind){.share = chance_below(&chance, 3) / 8.0,
                                     .cpu_milli = chance_below(&chance, 3) * 7000,
                                     .count = 1 + chance_below(&chance, 3),
                                     .percent = chance_below(&chance, 101)};
        kinds[0].share *= 1e-12; /* so seldom that its price is enormous */
        mix = mix_of(kinds, ARRAY_LEN(kinds));
        for (unsigned idle = 0; idle <= 100; idle += 10) {
            double waste = waste_of_one(mix, idle, 0);
            double stranded = waste_of_one(mix, idle, 1 + chance_below(&chance, 9000)) - waste;

            assert_true(waste >= 10.0 * idle - 1000 && waste <= 10.0 * idle);
            assert_true(stranded >= 0 && stranded <= 10.0 * idle);
        }
        pod_mix_unref(mix);
    }
}

static void test_waste__with_a_mix_of_nothing_all_that_is_idle_is_wasted(void **state)
{
    struct pod_mix *mix = pod_mix_new(0);

    (void)state;
    assert_near(waste_of_one(mix, 70, 1000), 700, 0.01);
    pod_mix_unref(mix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waste__a_hole_that_nothing_fits_into_is_wasted),
        cmocka_unit_test(test_waste__prices_follow_from_what_goes_together),
        cmocka_unit_test(test_waste__an_idle_device_is_used_by_pods_that_take_it_whole),
        cmocka_unit_test(test_waste__devices_without_cpu_are_stranded),
        cmocka_unit_test(test_waste__knows_each_kind_of_device_by_its_size),
        cmocka_unit_test(test_waste__no_device_is_for_pods_that_ask_for_absurdly_much),
        cmocka_unit_test(test_waste__devices_that_nobody_wants_take_no_cpu_from_the_others),
        cmocka_unit_test(test_waste__a_pod_of_several_fractions_comes_to_several_devices),
        cmocka_unit_test(test_waste__stays_within_what_a_device_is_worth),
        cmocka_unit_test(test_waste__with_a_mix_of_nothing_all_that_is_idle_is_wasted),
    };

    return cmocka_run_group_tests_name("waste", tests, NULL, NULL);
}
