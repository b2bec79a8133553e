/* SPDX-License-Identifier: Apache-2.0 */
/* supply - how much of each product is idle on all nodes together. */
#include "supply.h"

#include "topofit/leftover.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- counting -------------------------------------------------------------------------------- */

/* The place of a product, or count. */
static size_t find(const struct supply *supply, const struct text *product)
{
    size_t i = 0;

    while (i < supply->count && supply->items[i].product != product)
        i++;
    return i;
}

static void add_device(struct supply *supply, struct text *product, uint16_t idle_milli)
{
    size_t i = find(supply, product);

    if (i == supply->count) {
        supply->items =
            mem_grow(supply->items, supply->count, &supply->capacity, sizeof *supply->items);
        supply->items[supply->count++] = (struct product_count){.product = text_ref(product)};
    }
    supply->items[i].devices++;
    supply->items[i].idle_milli += idle_milli;
}

static void remove_device(struct supply *supply, const struct text *product, uint16_t idle_milli)
{
    size_t i = find(supply, product);
    struct product_count *item = &supply->items[i];

    assert(i < supply->count && item->devices > 0 && item->idle_milli >= idle_milli);
    item->idle_milli -= idle_milli;
    if (--item->devices > 0)
        return;
    text_unref(item->product);
    *item = supply->items[--supply->count];
}

void supply_add(struct supply *supply, const struct node_state *state)
{
    struct leftover leftover;

    leftover_of(state->node, &state->use, state->rank.host_used, &leftover);
    for (unsigned i = 0; i < state->node->device_count; i++)
        add_device(supply, state->node->devices[i].product, leftover.idle_milli[i]);
}

void supply_remove(struct supply *supply, const struct node_state *state)
{
    struct leftover leftover;

    leftover_of(state->node, &state->use, state->rank.host_used, &leftover);
    for (unsigned i = 0; i < state->node->device_count; i++)
        remove_device(supply, state->node->devices[i].product, leftover.idle_milli[i]);
}

void supply_clear(struct supply *supply)
{
    for (size_t i = 0; i < supply->count; i++)
        text_unref(supply->items[i].product);
    free(supply->items);
    *supply = (struct supply){0};
}

/* --- what is shown --------------------------------------------------------------------------- */

static bool goes_before(const struct product_count *a, const struct product_count *b)
{
    if (a->devices != b->devices)
        return a->devices > b->devices;
    return strcmp(a->product->chars, b->product->chars) < 0;
}

/* Into its place among those that are shown so far, of which the last may have to leave. */
static void show_in_order(struct product_supply *out, const struct product_count *item)
{
    unsigned at = out->count;

    if (out->count < SCARCITY_PRODUCTS_MAX)
        out->count++;
    else if (goes_before(item, &out->items[at - 1]))
        at--;
    else
        return;
    for (; at > 0 && goes_before(item, &out->items[at - 1]); at--)
        out->items[at] = out->items[at - 1];
    out->items[at] = *item;
}

void supply_show(const struct supply *supply, struct product_supply *out)
{
    out->count = 0;
    if (supply->count <= SCARCITY_PRODUCTS_MAX) { /* nearly always */
        for (; out->count < supply->count; out->count++)
            out->items[out->count] = supply->items[out->count];
    } else {
        for (size_t i = 0; i < supply->count; i++)
            show_in_order(out, &supply->items[i]);
    }
    for (unsigned i = 0; i < out->count; i++)
        text_ref(out->items[i].product);
}

void product_supply_copy(const struct product_supply *supply, struct product_supply *out)
{
    *out = *supply;
    for (unsigned i = 0; i < out->count; i++)
        text_ref(out->items[i].product);
}

void product_supply_clear(struct product_supply *supply)
{
    for (unsigned i = 0; i < supply->count; i++)
        text_unref(supply->items[i].product);
    supply->count = 0;
}
