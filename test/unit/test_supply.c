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
    AUTO(supply_clear) struct product_supply supply = {0};

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
    AUTO(supply_clear) struct product_supply supply = {0};

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
    AUTO(supply_clear) struct product_supply supply = {0};

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
    AUTO(supply_clear) struct product_supply copy = {0};
    struct product_supply supply = {0};

    (void)state;
    supply_add(&supply, node);
    supply_copy(&supply, &copy);
    supply_clear(&supply);
    assert_int_equal(copy.count, 1);
    assert_string_equal(copy.items[0].product->chars, "A");
    assert_int_equal(a->references, 3); /* ours, the device's, the copy's */
}

#define PRODUCTS (SCARCITY_PRODUCTS_MAX + 8)

/* Those without room are not counted, and whatever comes and goes then, nothing is lost or kept. */
static void test_supply__more_products_than_there_is_room_for_do_no_harm(void **state)
{
    struct text *products[PRODUCTS];
    struct node_state *states[PRODUCTS];
    AUTO(supply_clear) struct product_supply supply = {0};

    (void)state;
    for (unsigned i = 0; i < PRODUCTS; i++) {
        AUTO_FREE char *name = xasprintf("P%u", i);

        products[i] = text_new(name);
        states[i] = plain_state(2, products[i]);
        supply_add(&supply, states[i]);
    }
    assert_int_equal(supply.count, SCARCITY_PRODUCTS_MAX);
    supply_remove(&supply, states[0]);
    supply_add(&supply, states[PRODUCTS - 1]); /* the same once more: now there is room */
    supply_remove(&supply, states[PRODUCTS - 1]);
    for (unsigned i = 1; i < PRODUCTS; i++)
        supply_remove(&supply, states[i]);
    assert_int_equal(supply.count, 0);
    for (unsigned i = 0; i < PRODUCTS; i++) {
        state_free(&states[i]);
        assert_int_equal(products[i]->references, 1);
        text_unref(products[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_supply__counts_what_is_idle_of_each_product),
        cmocka_unit_test(test_supply__what_is_taken_out_again_was_never_there),
        cmocka_unit_test(test_supply__a_product_whose_devices_are_all_taken_stays),
        cmocka_unit_test(test_supply__a_copy_lives_longer_than_what_it_was_made_of),
        cmocka_unit_test(test_supply__more_products_than_there_is_room_for_do_no_harm),
    };

    return cmocka_run_group_tests_name("supply", tests, NULL, NULL);
}
