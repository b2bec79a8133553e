/* SPDX-License-Identifier: Apache-2.0 */
/* core_choice - which cores of a device a container has, where its runtime addresses them singly.
 */
#include "topofit/core_choice.h"

#include <string.h>

/* Do two containers of a pod ever run at the same time? */
static bool run_together(const struct allocation *allocation, size_t a, size_t b)
{
    enum container_kind kind_a = allocation->containers[a].kind;
    enum container_kind kind_b = allocation->containers[b].kind;

    if (kind_a == CONTAINER_INIT)
        return container_runs_in(kind_b, b, a);
    if (kind_b == CONTAINER_INIT)
        return container_runs_in(kind_a, a, b);
    return true;
}

/* Cores of a device that containers have that run at the same time as one. */
static uint32_t taken_beside(const struct allocation *allocation, size_t container, const char *id)
{
    uint32_t taken = 0;

    for (size_t i = 0; i < allocation->container_count; i++) {
        for (size_t k = 0; k < allocation->containers[i].device_count; k++) {
            const struct allocated_device *device = &allocation->containers[i].devices[k];

            if (strcmp(device->id, id) == 0 && run_together(allocation, container, i))
                taken |= device->core_mask;
        }
    }
    return taken;
}

static uint32_t lowest_free(uint32_t taken, unsigned cores, unsigned wanted)
{
    uint32_t mask = 0;

    for (unsigned i = 0; i < cores && wanted > 0; i++) {
        if ((taken >> i & 1) != 0)
            continue;
        mask |= UINT32_C(1) << i;
        wanted--;
    }
    return wanted == 0 ? mask : 0;
}

void cores_choose(struct allocation *allocation, const struct node *node,
                  const struct node_use *use)
{
    for (size_t i = 0; i < allocation->container_count; i++) {
        for (size_t k = 0; k < allocation->containers[i].device_count; k++) {
            struct allocated_device *given = &allocation->containers[i].devices[k];
            int position = node_find_device(node, given->id);
            const struct device *device = position >= 0 ? &node->devices[position] : NULL;

            if (device == NULL || !device->class->hami.cores_as_mask ||
                device->cores > CORES_ADDRESSED_MAX)
                continue;
            given->core_mask = lowest_free(use->devices[position].core_mask |
                                               taken_beside(allocation, i, given->id),
                                           device->cores, given->cores);
        }
    }
}
