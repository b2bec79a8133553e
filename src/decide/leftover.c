/* SPDX-License-Identifier: Apache-2.0 */
/* leftover - what is left on a node for other pods. */
#include "topofit/leftover.h"

#include "topofit/packing.h"

/* Can the smallest partition still be made? */
static bool has_place(const struct device *device, const struct device_use *use)
{
    const struct partition_table *table = device->partitions;

    return table->count > 0 &&
           partition_most(table, use->partitions, table->shapes[table->shape_count - 1]) > 0;
}

/* Its tenants take all its places, or one of them takes it alone. */
static bool is_closed(const struct device *device, const struct device_use *use)
{
    if (device->partitions != NULL)
        return use->exclusive || !has_place(device, use);
    return use->exclusive || (use->slots > 0 && use->slots >= device->slots);
}

static bool is_given_out(const struct device *device, const struct device_use *use)
{
    return device->healthy && !device->cordoned && !use->conflicted && !is_closed(device, use) &&
           (device->partitions != NULL || use->slots < device->slots);
}

/* Pods that hold devices nobody can name may sit on any: the emptiest ones are written off. */
static void write_off(struct leftover *leftover, uint32_t unattributed)
{
    for (; unattributed > 0 && leftover->total_milli > 0; unattributed--) {
        unsigned emptiest = 0;

        for (unsigned i = 1; i < leftover->node->device_count; i++) {
            if (leftover->idle_milli[i] > leftover->idle_milli[emptiest])
                emptiest = i;
        }
        leftover->total_milli -= leftover->idle_milli[emptiest];
        leftover->idle_milli[emptiest] = 0;
    }
}

void leftover_of(const struct node *node, const struct node_use *use, struct host_amounts host_used,
                 struct leftover *out)
{
    const struct host_amounts left = host_subtract(node->host, host_used);

    out->node = node;
    out->total_milli = out->closed_milli = 0;
    out->cpu_milli = node->host.cpu_milli > 0 ? left.cpu_milli : UINT64_MAX;
    for (unsigned i = 0; i < node->device_count; i++) {
        const struct device *device = &node->devices[i];
        unsigned idle =
            WHOLE_DEVICE_MILLI - packing_device_load_per_mille(device, &use->devices[i]);

        out->idle_milli[i] = is_given_out(device, &use->devices[i]) ? (uint16_t)idle : 0;
        out->total_milli += out->idle_milli[i];
        out->closed_milli += is_closed(device, &use->devices[i]) ? idle : 0;
    }
    write_off(out, use->unattributed);
}
