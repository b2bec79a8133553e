/* SPDX-License-Identifier: Apache-2.0 */
/* core_choice - which cores of a device a container has, where its runtime addresses them singly.
 */
#include "topofit/core_choice.h"

#include <string.h>

/* Cores of a device that containers have that run at the same time as one. */
static uint32_t taken_beside(const struct allocation *allocation, size_t container, const char *id)
{
    const struct allocated_container *containers = allocation->containers;
    uint32_t taken = 0;

    for (size_t i = 0; i < allocation->container_count; i++) {
        for (size_t k = 0; k < allocation->containers[i].device_count; k++) {
            const struct allocated_device *device = &allocation->containers[i].devices[k];

            if (strcmp(device->id, id) == 0 &&
                containers_run_together(containers[container].kind, container, containers[i].kind,
                                        i))
                taken |= device->core_mask;
        }
    }
    return taken;
}

static bool are_addressed(const struct device *device)
{
    return device->class->cores_addressed && device->cores <= CORES_ADDRESSED_MAX;
}

enum core_naming core_naming(const struct device *device, uint16_t cores, uint32_t core_mask)
{
    if (!are_addressed(device))
        return CORES_COUNTED;
    return __builtin_popcount(core_mask) == cores && (uint64_t)core_mask >> device->cores == 0
               ? CORES_NAMED
               : CORES_UNNAMED;
}

/* The lowest cores that are not taken. false: there are not that many. */
static bool lowest_free(uint32_t taken, unsigned cores, unsigned wanted, uint32_t *out)
{
    uint32_t mask = 0;

    for (unsigned i = 0; i < cores && wanted > 0; i++) {
        if ((taken >> i & 1) != 0)
            continue;
        mask |= UINT32_C(1) << i;
        wanted--;
    }
    *out = mask;
    return wanted == 0;
}

bool cores_choose(struct allocation *allocation, const struct node *node,
                  const struct node_use *use)
{
    for (size_t i = 0; i < allocation->container_count; i++) {
        for (size_t k = 0; k < allocation->containers[i].device_count; k++) {
            struct allocated_device *given = &allocation->containers[i].devices[k];
            int position = node_find_device(node, given->id);
            const struct device *device = position >= 0 ? &node->devices[position] : NULL;

            if (device == NULL || !are_addressed(device))
                continue;
            if (!lowest_free(use->devices[position].core_mask |
                                 taken_beside(allocation, i, given->id),
                             device->cores, given->cores, &given->core_mask))
                return false;
        }
    }
    return true;
}
