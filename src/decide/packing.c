/* SPDX-License-Identifier: Apache-2.0 */
/* packing - how full devices and nodes are, and whether full or empty is preferred. */
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

uint16_t packing_preference(uint16_t load_per_mille, enum packing_policy policy)
{
    return policy == PACKING_BINPACK ? load_per_mille : (uint16_t)(FULL_PER_MILLE - load_per_mille);
}

void packing_preferences(const struct node *node, const struct node_use *use,
                         enum packing_policy policy, uint16_t *out)
{
    for (unsigned i = 0; i < node->device_count; i++)
        out[i] = packing_preference(
            packing_device_load_per_mille(&node->devices[i], &use->devices[i]), policy);
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
