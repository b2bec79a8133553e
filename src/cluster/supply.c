/* SPDX-License-Identifier: Apache-2.0 */
/* supply - how much of each product is idle on all nodes together. */
#include "supply.h"

#include "topofit/leftover.h"

/* The place of a product, or count. */
static unsigned find(const struct product_supply *supply, const struct text *product)
{
    unsigned i = 0;

    while (i < supply->count && supply->items[i].product != product)
        i++;
    return i;
}

static void add_device(struct product_supply *supply, struct text *product, uint16_t idle_milli)
{
    unsigned i = find(supply, product);

    if (i == SCARCITY_PRODUCTS_MAX)
        return;
    if (i == supply->count) {
        supply->items[i].product = text_ref(product);
        supply->items[i].devices = 0;
        supply->items[i].idle_milli = 0;
        supply->count++;
    }
    supply->items[i].devices++;
    supply->items[i].idle_milli += idle_milli;
}

/* One that came when there was no room is not there to be taken out. */
static void remove_device(struct product_supply *supply, const struct text *product,
                          uint16_t idle_milli)
{
    unsigned i = find(supply, product);

    if (i == supply->count)
        return;
    supply->items[i].devices--;
    supply->items[i].idle_milli -=
        idle_milli < supply->items[i].idle_milli ? idle_milli : supply->items[i].idle_milli;
    if (supply->items[i].devices > 0)
        return;
    text_unref(supply->items[i].product);
    supply->items[i] = supply->items[--supply->count];
}

void supply_add(struct product_supply *supply, const struct node_state *state)
{
    struct leftover leftover;

    leftover_of(state->node, &state->use, state->rank.host_used, &leftover);
    for (unsigned i = 0; i < state->node->device_count; i++)
        add_device(supply, state->node->devices[i].product, leftover.idle_milli[i]);
}

void supply_remove(struct product_supply *supply, const struct node_state *state)
{
    struct leftover leftover;

    leftover_of(state->node, &state->use, state->rank.host_used, &leftover);
    for (unsigned i = 0; i < state->node->device_count; i++)
        remove_device(supply, state->node->devices[i].product, leftover.idle_milli[i]);
}

void supply_copy(const struct product_supply *supply, struct product_supply *out)
{
    *out = *supply;
    for (unsigned i = 0; i < out->count; i++)
        text_ref(out->items[i].product);
}

void supply_clear(struct product_supply *supply)
{
    for (unsigned i = 0; i < supply->count; i++)
        text_unref(supply->items[i].product);
    supply->count = 0;
}
