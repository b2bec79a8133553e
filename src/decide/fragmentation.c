/* SPDX-License-Identifier: Apache-2.0 */
/* fragmentation - how much of what is idle on a node is of no use to the pods that usually come. */
#include "topofit/fragmentation.h"

#include "topofit/packing.h"

#define WHOLE_MILLI 1000

/* A pod that states no CPU still needs some. source: kube-scheduler's default for scoring */
#define CPU_LEAST_MILLI 100

static bool is_given_out(const struct device *device, const struct device_use *use)
{
    return device->healthy && !device->cordoned && !use->conflicted && !use->exclusive &&
           use->slots < device->slots;
}

void leftover_of(const struct node *node, const struct node_use *use, struct host_amounts host_used,
                 struct leftover *out)
{
    const struct host_amounts left = host_subtract(node->host, host_used);

    out->node = node;
    out->total_milli = 0;
    out->unattributed = use->unattributed;
    out->cpu_milli = node->host.cpu_milli > 0 ? left.cpu_milli : UINT64_MAX;
    for (unsigned i = 0; i < node->device_count; i++) {
        const struct device *device = &node->devices[i];
        const struct device_use *in_use = &use->devices[i];
        unsigned load = is_given_out(device, in_use) ? packing_device_load_per_mille(device, in_use)
                                                     : WHOLE_MILLI;

        out->idle_milli[i] = (uint16_t)(WHOLE_MILLI - load);
        out->total_milli += out->idle_milli[i];
    }
}

/* What the task takes of a device, in thousandths: the greater of its memory and its cores. */
static uint64_t need_milli(const struct mix_task *task, const struct device *device)
{
    uint64_t memory = WHOLE_MILLI, cores = 0;

    if (task->is_whole)
        return WHOLE_MILLI;
    if (task->ask.memory_kind == MEMORY_PERCENT)
        memory = task->ask.memory * (WHOLE_MILLI / 100);
    else if (device->memory_mib > 0)
        memory = (task->ask.memory * WHOLE_MILLI + device->memory_mib - 1) / device->memory_mib;
    if (device->cores > 0)
        cores = (uint64_t)task->ask.cores * WHOLE_MILLI / device->cores;
    return memory > cores ? memory : cores;
}

static bool suits(const struct mix_task *task, const struct device *device)
{
    const char *product = device->product->chars;

    return device->class == task->ask.class &&
           (task->use_products.count == 0 || word_list_describes(&task->use_products, product)) &&
           !word_list_describes(&task->avoid_products, product);
}

/* Are two devices the same to every task? Most nodes have only one kind. */
static bool is_alike(const struct device *a, const struct device *b)
{
    return a->class == b->class && a->product == b->product && a->memory_mib == b->memory_mib &&
           a->cores == b->cores;
}

/* Of no use to one task. */
static uint32_t useless_milli(const struct leftover *leftover, const struct mix_task *task)
{
    const struct node *node = leftover->node;
    uint64_t cpu = task->host.cpu_milli, need = 0;
    uint32_t useless = 0, fitting = 0;

    if (leftover->cpu_milli < (cpu > 0 ? cpu : CPU_LEAST_MILLI))
        return leftover->total_milli;
    for (unsigned i = 0; i < node->device_count; i++) {
        const struct device *device = &node->devices[i];

        if (i == 0 || !is_alike(device, device - 1))
            need = suits(task, device) ? need_milli(task, device) : UINT64_MAX;
        if (leftover->idle_milli[i] >= need)
            fitting++;
        else
            useless += leftover->idle_milli[i];
    }
    return fitting < task->ask.count + leftover->unattributed ? leftover->total_milli : useless;
}

double fragmentation_milli(const struct leftover *leftover, const struct pod_mix *mix)
{
    double sum = 0;

    for (size_t i = 0; i < mix->count; i++)
        sum += mix->tasks[i].share * useless_milli(leftover, &mix->tasks[i]);
    return sum;
}
