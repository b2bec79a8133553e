/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supply - how much of each product is idle on all nodes together.
 *
 * Products are shared texts, so one pointer is one product; a supply holds a reference to each. Of
 * more than SCARCITY_PRODUCTS_MAX products the first ones count. The cluster's own is used under
 * its lock.
 */
#ifndef TOPOFIT_SUPPLY_H
#define TOPOFIT_SUPPLY_H

#include "topofit/scarcity.h"
#include "topofit/snapshot.h"

/* A state is published, or is no more. */
void supply_add(struct product_supply *supply, const struct node_state *state);
void supply_remove(struct product_supply *supply, const struct node_state *state);

/* out: not initialised before. */
void supply_copy(const struct product_supply *supply, struct product_supply *out);
void supply_clear(struct product_supply *supply);

#endif
