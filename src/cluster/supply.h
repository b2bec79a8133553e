/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supply - how much of each product is idle on all nodes together.
 *
 * Products are shared texts, so one pointer is one product; a supply holds a reference to each. All
 * of them are counted. The cluster's supply is used under its lock.
 */
#ifndef TOPOFIT_SUPPLY_H
#define TOPOFIT_SUPPLY_H

#include "topofit/scarcity.h"
#include "topofit/snapshot.h"

#include <stddef.h>

/* Zeroed, it is empty. */
struct supply {
    size_t count, capacity;
    struct product_count *items;
};

/* A state is published, or one that was is no more. */
void supply_add(struct supply *supply, const struct node_state *state);
void supply_remove(struct supply *supply, const struct node_state *state);
void supply_clear(struct supply *supply);

/*
 * What decisions are to know of it: where there is no room for all, the products with the most
 * devices, and of equals the first by name.
 *
 * out  not initialised before; product_supply_clear() ends it.
 */
void supply_show(const struct supply *supply, struct product_supply *out);

/* out: not initialised before. */
void product_supply_copy(const struct product_supply *supply, struct product_supply *out);
void product_supply_clear(struct product_supply *supply);

#endif
