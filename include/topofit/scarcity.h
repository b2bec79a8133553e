/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scarcity - which products are wanted by pods that can take no other.
 *
 * A pod that takes any product should leave those alone that others insist on. Pure: no I/O, no
 * clock, no allocation.
 *
 * source  docs/concepts/packing.md#products-that-others-insist-on
 */
#ifndef TOPOFIT_SCARCITY_H
#define TOPOFIT_SCARCITY_H

#include "topofit/pod_mix.h"
#include "topofit/text.h"

#define SCARCITY_PRODUCTS_MAX 32

/* How much of each product is idle, in thousandths of a device. */
struct product_count {
    struct text *product; /* the owner of the supply says whose reference it is */
    unsigned devices;
    uint64_t idle_milli;
};
struct product_supply {
    unsigned count;
    struct product_count items[SCARCITY_PRODUCTS_MAX];
};

/* What taking a product costs others. */
struct scarcity {
    unsigned count; /* 0: nobody insists on anything */
    struct {
        const struct text *product; /* borrowed */
        double waste_per_milli;     /* of a device taken: as if so much were wasted */
    } items[SCARCITY_PRODUCTS_MAX];
};

/* mix: NULL when it is not known. */
void scarcity_of(const struct pod_mix *mix, const struct product_supply *supply,
                 struct scarcity *out);

/* What it costs to take so many thousandths of a product's devices. */
double scarcity_cost_milli(const struct scarcity *scarcity, const struct text *product,
                           uint32_t taken_milli);

#endif
