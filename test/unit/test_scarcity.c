/* SPDX-License-Identifier: Apache-2.0 */
#include "support/builders.h"
#include "support/test.h"

#include "topofit/leftover.h"
#include "topofit/scarcity.h"

#include <math.h>

/* A kind of pod of one whole device; with a product it insists on, or avoids, or NULL. */
struct kind {
    double share;
    const char *uses, *avoids;
};

static struct pod_mix *mix_of(const struct kind *kinds, size_t count)
{
    struct pod_mix *mix = pod_mix_new(count);

    for (size_t i = 0; i < count; i++) {
        struct mix_task task = {
            .ask = {.class = &test_class, .count = 1}, .is_whole = true, .share = kinds[i].share};

        if (kinds[i].uses != NULL)
            word_list_add(&task.use_products, kinds[i].uses);
        if (kinds[i].avoids != NULL)
            word_list_add(&task.avoid_products, kinds[i].avoids);
        pod_mix_add(mix, &task);
    }
    return mix;
}

/* Three products, of which so many thousandths are idle. */
struct supplied {
    struct product_supply supply;
    struct text *a100, *a10, *t4;
};

static struct supplied supply_of(uint64_t a100_milli, uint64_t a10_milli, uint64_t t4_milli)
{
    struct supplied all = {
        .a100 = text_new("NVIDIA A100"), .a10 = text_new("NVIDIA A10"), .t4 = text_new("Tesla T4")};
    struct text *const products[] = {all.a100, all.a10, all.t4};
    const uint64_t idle[] = {a100_milli, a10_milli, t4_milli};

    for (size_t i = 0; i < ARRAY_LEN(products); i++) {
        all.supply.items[i].product = products[i];
        all.supply.items[i].idle_milli = idle[i];
    }
    all.supply.count = ARRAY_LEN(products);
    return all;
}

static void supplied_clear(struct supplied *all)
{
    text_unref(all->a100);
    text_unref(all->a10);
    text_unref(all->t4);
}

/* What a whole device of each product costs. */
struct costs {
    double a100, a10, t4;
};

static struct costs costs_of(const struct kind *kinds, size_t count, const struct supplied *all)
{
    struct pod_mix *mix = mix_of(kinds, count);
    struct scarcity scarcity;
    struct costs costs;

    scarcity_of(mix, &all->supply, &scarcity);
    costs.a100 = scarcity_cost_milli(&scarcity, all->a100, WHOLE_DEVICE_MILLI);
    costs.a10 = scarcity_cost_milli(&scarcity, all->a10, WHOLE_DEVICE_MILLI);
    costs.t4 = scarcity_cost_milli(&scarcity, all->t4, WHOLE_DEVICE_MILLI);
    pod_mix_unref(mix);
    return costs;
}

static void assert_near(double value, double want)
{
    if (!(fabs(value - want) < 1e-9))
        fail_msg("%f is not %f", value, want);
}

static void test_scarcity__costs_nothing_where_nobody_insists_or_nothing_is_known(void **state)
{
    AUTO(supplied_clear) struct supplied all = supply_of(1000, 1000, 1000);
    const struct kind kinds[] = {{1, NULL, NULL}};
    const struct costs costs = costs_of(kinds, 1, &all);
    struct scarcity scarcity;

    (void)state;
    assert_near(costs.a100 + costs.a10 + costs.t4, 0);
    scarcity_of(NULL, &all.supply, &scarcity);
    assert_int_equal(scarcity.count, 0);
    assert_near(scarcity_cost_milli(&scarcity, all.a100, 1000), 0);
}

/* A quarter of the demand wants a quarter of what is idle: urgency 1, a hundredth of the device. */
static void test_scarcity__only_the_product_that_is_insisted_on_costs(void **state)
{
    AUTO(supplied_clear) struct supplied all = supply_of(1000, 1000, 2000);
    const struct kind kinds[] = {{0.75, NULL, NULL}, {0.25, "A100", NULL}};
    const struct costs costs = costs_of(kinds, ARRAY_LEN(kinds), &all);

    (void)state;
    assert_near(costs.a100, 10);
    assert_near(costs.a10, 0);
    assert_near(costs.t4, 0);
}

static void test_scarcity__avoiding_a_product_is_insisting_on_the_others(void **state)
{
    AUTO(supplied_clear) struct supplied all = supply_of(1000, 1000, 2000);
    const struct kind kinds[] = {{0.5, NULL, NULL}, {0.5, NULL, "T4"}};
    const struct costs costs = costs_of(kinds, ARRAY_LEN(kinds), &all);

    (void)state;
    assert_near(costs.a100, 10);
    assert_near(costs.a10, 10);
    assert_near(costs.t4, 0);
}

static void test_scarcity__grows_with_what_is_wanted_of_what_is_idle_up_to_a_limit(void **state)
{
    const struct kind kinds[] = {{0.9, NULL, NULL}, {0.1, "A100", NULL}};
    static const struct {
        uint64_t a100_milli, others_milli;
        double cost;
    } cases[] = {{1000, 1000, 2},   {1000, 3000, 4},   {1000, 9000, 10},
                 {1000, 19000, 20}, {1000, 99000, 20}, {1, 99999, 20}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(supplied_clear)
        struct supplied all = supply_of(cases[i].a100_milli, cases[i].others_milli, 0);

        assert_near(costs_of(kinds, ARRAY_LEN(kinds), &all).a100, cases[i].cost);
    }
}

static void test_scarcity__kinds_that_insist_on_the_same_add_up(void **state)
{
    AUTO(supplied_clear) struct supplied all = supply_of(2000, 2000, 4000);
    const struct kind kinds[] = {{0.75, NULL, NULL}, {0.125, "A100", NULL}, {0.125, "a100", NULL}};

    (void)state;
    assert_near(costs_of(kinds, ARRAY_LEN(kinds), &all).a100, 10);
}

static void test_scarcity__where_nothing_is_idle_nothing_is_to_be_left_alone(void **state)
{
    AUTO(supplied_clear) struct supplied none = supply_of(0, 0, 0), gone = supply_of(0, 5000, 0);
    const struct kind kinds[] = {{1, "A100", NULL}};

    (void)state;
    assert_near(costs_of(kinds, 1, &none).a100, 0);
    assert_near(costs_of(kinds, 1, &gone).a100, 0);
}

/* A node that came with the question has words of its own. */
static void test_scarcity_cost__knows_a_product_by_its_name(void **state)
{
    AUTO(supplied_clear) struct supplied all = supply_of(1000, 1000, 0);
    const struct kind kinds[] = {{1, "A100", NULL}};
    struct pod_mix *mix = mix_of(kinds, 1);
    struct text *same = text_new("NVIDIA A100"), *other = text_new("NVIDIA B200");
    struct scarcity scarcity;

    (void)state;
    scarcity_of(mix, &all.supply, &scarcity);
    assert_near(scarcity_cost_milli(&scarcity, same, 500), 10);
    assert_near(scarcity_cost_milli(&scarcity, other, 500), 0);
    pod_mix_unref(mix);
    text_unref(same);
    text_unref(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scarcity__costs_nothing_where_nobody_insists_or_nothing_is_known),
        cmocka_unit_test(test_scarcity__only_the_product_that_is_insisted_on_costs),
        cmocka_unit_test(test_scarcity__avoiding_a_product_is_insisting_on_the_others),
        cmocka_unit_test(test_scarcity__grows_with_what_is_wanted_of_what_is_idle_up_to_a_limit),
        cmocka_unit_test(test_scarcity__kinds_that_insist_on_the_same_add_up),
        cmocka_unit_test(test_scarcity__where_nothing_is_idle_nothing_is_to_be_left_alone),
        cmocka_unit_test(test_scarcity_cost__knows_a_product_by_its_name),
    };

    return cmocka_run_group_tests_name("scarcity", tests, NULL, NULL);
}
