/* SPDX-License-Identifier: Apache-2.0 */
/* packing - how full devices and nodes are, and what is preferred. */
#include "topofit/packing.h"

#define FULL_PER_MILLE 1000

static uint16_t share_per_mille(uint64_t used, uint64_t size)
{
    if (used >= size)
        return FULL_PER_MILLE;
    /* Sizes are below 2^54, so the product stays within 64 bits. */
    return (uint16_t)(used * FULL_PER_MILLE / size);
}

uint16_t packing_device_load_per_mille(const struct device *device, const struct device_use *use)
{
    uint16_t memory = share_per_mille(use->memory_mib, device->memory_mib);
    uint16_t cores = share_per_mille(use->cores, device->cores);

    return memory > cores ? memory : cores;
}

/* The mean of the shares of tenants, cores and memory. */
static uint16_t weighed_load(const struct device *device, const struct device_use *use,
                             const struct device_weights *weights)
{
    uint64_t all = (uint64_t)weights->slots + weights->cores + weights->memory;
    uint64_t sum = (uint64_t)weights->slots * share_per_mille(use->slots, device->slots) +
                   (uint64_t)weights->cores * share_per_mille(use->cores, device->cores) +
                   (uint64_t)weights->memory * share_per_mille(use->memory_mib, device->memory_mib);

    if (all == 0)
        return packing_device_load_per_mille(device, use);
    return (uint16_t)(sum / all);
}

void packing_preferences(const struct node *node, const struct node_use *use, bool spreads,
                         const struct device_weights *weights, uint16_t out[DEVICE_MAX])
{
    for (unsigned i = 0; i < node->device_count; i++) {
        uint16_t load = weighed_load(&node->devices[i], &use->devices[i], weights);

        out[i] = spreads ? (uint16_t)(FULL_PER_MILLE - load) : load;
    }
}

uint16_t packing_node_load_per_mille(const struct node *node, const struct node_use *use,
                                     device_mask devices)
{
    unsigned sum = 0;

    if (devices == 0)
        return 0;
    for (device_mask left = devices; left != 0; left &= left - 1) {
        unsigned i = mask_first(left);

        sum += packing_device_load_per_mille(&node->devices[i], &use->devices[i]);
    }
    return (uint16_t)(sum / mask_count(devices));
}
