/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster counts of each product; its header is private to src/cluster. */
#include "support/builders.h"
#include "support/test.h"

#include "../../src/cluster/supply.h"
#include "topofit/leftover.h"

#include <stdlib.h>

/* Takes over the reference to the node. */
static struct node_state *state_of(struct node *node, struct text *product)
{
    struct node_state *state = xcalloc(1, sizeof *state);

    state->node = node;
    state->use = use_none(node);
    for (unsigned i = 0; i < node->device_count; i++) {
        text_unref(node->devices[i].product);
        node->devices[i].product = text_ref(product);
    }
    return state;
}

static struct node_state *plain_state(unsigned devices, struct text *product)
{
    return state_of(node_plain("n", devices, 1000, 10), product);
}

static void state_free(struct node_state **place)
{
    if (*place == NULL)
        return;
    node_unref((*place)->node);
    free(*place);
}

static void text_drop(struct text **text)
{
    text_unref(*text);
}

static void test_supply__counts_what_is_idle_of_each_product(void **state)
{
    AUTO(text_drop) struct text *a = text_new("A"), *b = text_new("B");
    AUTO(state_free) struct node_state *two = plain_state(2, a), *one = plain_state(1, a);
    AUTO(state_free) struct node_state *other = plain_state(4, b);
    AUTO(supply_clear) struct supply supply = {0};

    (void)state;
    use_take(&two->use, two->node, 1, 400, 0, ISOLATION_SOFT);
    supply_add(&supply, two);
    supply_add(&supply, other);
    supply_add(&supply, one);
    assert_int_equal(supply.count, 2);
    assert_ptr_equal(supply.items[0].product, a);
    assert_int_equal(supply.items[0].idle_milli, 1000 + 600 + 1000);
    assert_int_equal(supply.items[0].devices, 3);
    assert_int_equal(supply.items[1].idle_milli, 4000);
}

static void test_supply__what_is_taken_out_again_was_never_there(void **state)
{
    AUTO(text_drop) struct text *a = text_new("A"), *b = text_new("B");
    AUTO(state_free) struct node_state *first = plain_state(2, a), *second = plain_state(3, b);
    AUTO(supply_clear) struct supply supply = {0};

    (void)state;
    use_take(&first->use, first->node, 0, 1000, 0, ISOLATION_SOFT);
    supply_add(&supply, first);
    supply_add(&supply, second);
    supply_remove(&supply, first);
    assert_int_equal(supply.count, 1);
    assert_ptr_equal(supply.items[0].product, b);
    assert_int_equal(supply.items[0].idle_milli, 3000);
    supply_remove(&supply, second);
    assert_int_equal(supply.count, 0);
    assert_int_equal(a->references, 3); /* ours, and the two devices' */
}

static void test_supply__a_product_whose_devices_are_all_taken_stays(void **state)
{
    AUTO(text_drop) struct text *a = text_new("A");
    AUTO(state_free) struct node_state *node = plain_state(1, a);
    AUTO(supply_clear) struct supply supply = {0};

    (void)state;
    use_take(&node->use, node->node, 0, 1000, 0, ISOLATION_SOFT);
    supply_add(&supply, node);
    assert_int_equal(supply.count, 1);
    assert_int_equal(supply.items[0].idle_milli, 0);
}

static void test_supply__a_copy_lives_longer_than_what_it_was_made_of(void **state)
{
    AUTO(text_drop) struct text *a = text_new("A");
    AUTO(state_free) struct node_state *node = plain_state(1, a);
    AUTO(product_supply_clear) struct product_supply copy = {0};
    struct product_supply shown = {0};
    struct supply supply = {0};

    (void)state;
    supply_add(&supply, node);
    supply_show(&supply, &shown);
    supply_clear(&supply);
    product_supply_copy(&shown, &copy);
    product_supply_clear(&shown);
    assert_int_equal(copy.count, 1);
    assert_string_equal(copy.items[0].product->chars, "A");
    assert_int_equal(a->references, 3); /* ours, the device's, the copy's */
}

#define PRODUCTS (SCARCITY_PRODUCTS_MAX + 8)

/* A node with a device of each of many products; the last has three nodes more. */
struct many {
    struct text *products[PRODUCTS];
    struct node_state *states[PRODUCTS], *more[3];
};

static void many_init(struct many *many)
{
    for (unsigned i = 0; i < PRODUCTS; i++) {
        AUTO_FREE char *name = xasprintf("P%02u", i);

        many->products[i] = text_new(name);
        many->states[i] = plain_state(1, many->products[i]);
    }
    for (unsigned i = 0; i < ARRAY_LEN(many->more); i++)
        many->more[i] = plain_state(1, many->products[PRODUCTS - 1]);
}

/* Nobody else holds what there is. */
static void many_end(struct many *many)
{
    for (unsigned i = 0; i < ARRAY_LEN(many->more); i++)
        state_free(&many->more[i]);
    for (unsigned i = 0; i < PRODUCTS; i++) {
        state_free(&many->states[i]);
        assert_int_equal(many->products[i]->references, 1);
        text_unref(many->products[i]);
    }
}

static void test_supply__counts_more_products_than_are_shown(void **state)
{
    struct supply supply = {0};
    struct many many;

    (void)state;
    many_init(&many);
    for (unsigned i = 0; i < PRODUCTS; i++)
        supply_add(&supply, many.states[i]);
    supply_add(&supply, many.more[0]);
    supply_add(&supply, many.more[1]);
    supply_remove(&supply, many.states[0]);
    supply_remove(&supply, many.more[0]);
    supply_add(&supply, many.more[2]);
    assert_int_equal(supply.count, PRODUCTS - 1);
    for (size_t i = 0; i < supply.count; i++) {
        bool is_last = supply.items[i].product == many.products[PRODUCTS - 1];

        assert_int_equal(supply.items[i].devices, is_last ? 3 : 1);
        assert_int_equal(supply.items[i].idle_milli, is_last ? 3000 : 1000);
    }
    supply_clear(&supply);
    many_end(&many);
}

static void test_supply__shows_the_products_with_the_most_devices(void **state)
{
    struct product_supply shown;
    struct supply supply = {0};
    struct many many;

    (void)state;
    many_init(&many);
    for (unsigned i = PRODUCTS; i-- > 0;)
        supply_add(&supply, many.states[i]);
    supply_add(&supply, many.more[0]);
    supply_show(&supply, &shown);
    assert_int_equal(shown.count, SCARCITY_PRODUCTS_MAX);
    assert_ptr_equal(shown.items[0].product, many.products[PRODUCTS - 1]);
    assert_int_equal(shown.items[0].devices, 2);
    for (unsigned i = 1; i < shown.count; i++)
        assert_ptr_equal(shown.items[i].product, many.products[i - 1]);
    product_supply_clear(&shown);
    supply_clear(&supply);
    many_end(&many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_supply__counts_what_is_idle_of_each_product),
        cmocka_unit_test(test_supply__what_is_taken_out_again_was_never_there),
        cmocka_unit_test(test_supply__a_product_whose_devices_are_all_taken_stays),
        cmocka_unit_test(test_supply__a_copy_lives_longer_than_what_it_was_made_of),
        cmocka_unit_test(test_supply__counts_more_products_than_are_shown),
        cmocka_unit_test(test_supply__shows_the_products_with_the_most_devices),
    };

    return cmocka_run_group_tests_name("supply", tests, NULL, NULL);
}
