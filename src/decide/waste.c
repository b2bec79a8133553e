/* SPDX-License-Identifier: Apache-2.0 */
/* waste - how much of what is idle on a node will probably never be of use. */
#include "topofit/waste.h"

#include <string.h>

/* The chance, beside the shares of the mix, that nothing comes any more for a hole. */
#define NOTHING_COMES 0.004

/* Devices are stranded a little later than the mean says: pods with little CPU come, too. */
#define CPU_CAUTION 0.9

/* --- the model of one kind of device ---------------------------------------------------------- */

/*
 * What a task takes of such a device, in thousandths: the greater of its memory and its cores. 0:
 * it is none for such devices.
 */
static unsigned need_milli(const struct mix_task *task, const struct device *device)
{
    uint64_t memory, cores, most;

    if (task->ask.class != device->class || device->memory_mib == 0 || device->cores == 0)
        return 0;
    if (task->is_whole)
        return WHOLE_DEVICE_MILLI;
    memory =
        task->ask.memory_kind == MEMORY_PERCENT
            ? task->ask.memory * (WHOLE_DEVICE_MILLI / 100)
            : (task->ask.memory * WHOLE_DEVICE_MILLI + device->memory_mib - 1) / device->memory_mib;
    cores = (uint64_t)task->ask.cores * WHOLE_DEVICE_MILLI / device->cores;
    most = memory > cores ? memory : cores;
    return most <= WHOLE_DEVICE_MILLI ? (unsigned)most : 0;
}

/* How often fractions of each size come, and whole devices. */
struct demand {
    float share[WHOLE_DEVICE_MILLI + 1];
    uint16_t sizes[WHOLE_DEVICE_MILLI + 1]; /* those that come at all, ascending */
    unsigned size_count;
    double cpu_milli, device_milli; /* of a pod, on average */
};

static void sum_demand(const struct pod_mix *mix, const struct device *device, struct demand *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < mix->count; i++) {
        const struct mix_task *task = &mix->tasks[i];
        unsigned need = need_milli(task, device);

        if (need == 0)
            continue;
        out->share[need] +=
            (float)(task->share * (need == WHOLE_DEVICE_MILLI ? task->ask.count : 1));
        out->cpu_milli += task->share * (double)task->host.cpu_milli;
        out->device_milli += task->share * need * task->ask.count;
    }
    for (unsigned size = 1; size < WHOLE_DEVICE_MILLI; size++) {
        if (out->share[size] > 0)
            out->sizes[out->size_count++] = (uint16_t)size;
    }
}

/*
 * Of the pods that fit into a hole one comes, by its share in the mix, and leaves a smaller hole;
 * or nothing comes, and the hole is wasted. A whole device is used up by a pod that takes it whole.
 */
static void fill_holes(const struct demand *demand, struct waste_model *model)
{
    for (unsigned hole = 0; hole <= WHOLE_DEVICE_MILLI; hole++) {
        double wasted = NOTHING_COMES * hole, chances = NOTHING_COMES;

        for (unsigned i = 0; i < demand->size_count && demand->sizes[i] <= hole; i++) {
            double share = demand->share[demand->sizes[i]];

            wasted += share * (double)model->hole_milli[hole - demand->sizes[i]];
            chances += share;
        }
        if (hole == WHOLE_DEVICE_MILLI)
            chances += demand->share[WHOLE_DEVICE_MILLI];
        model->hole_milli[hole] = (float)(wasted / chances);
    }
}

static void fill_model(const struct pod_mix *mix, const struct device *device,
                       struct waste_model *model)
{
    struct demand demand;

    sum_demand(mix, device, &demand);
    model->class = device->class;
    model->memory_mib = device->memory_mib;
    model->cores = device->cores;
    model->cpu_per_device =
        demand.device_milli > 0 ? CPU_CAUTION * demand.cpu_milli / demand.device_milli : 0;
    fill_holes(&demand, model);
}

static const struct waste_model *model_for(struct waste_models *models, const struct device *device)
{
    struct waste_model *model;

    for (unsigned i = 0; i < models->count; i++) {
        model = &models->items[i];
        if (model->class == device->class && model->memory_mib == device->memory_mib &&
            model->cores == device->cores)
            return model;
    }
    model = &models->items[models->next];
    models->next = (models->next + 1) % WASTE_MODELS_MAX;
    if (models->count < WASTE_MODELS_MAX)
        models->count++;
    fill_model(models->mix, device, model);
    return model;
}

/* --- a node ----------------------------------------------------------------------------------- */

static double stranded_milli(const struct leftover *leftover, const struct waste_model *model)
{
    double fed;

    if (leftover->cpu_milli == UINT64_MAX || model->cpu_per_device <= 0)
        return 0;
    fed = (double)leftover->cpu_milli / model->cpu_per_device;
    return leftover->total_milli > fed ? leftover->total_milli - fed : 0;
}

double waste_milli(struct waste_models *models, const struct leftover *leftover)
{
    const struct node *node = leftover->node;
    const struct waste_model *model = NULL;
    double sum = 0;

    for (unsigned i = 0; i < node->device_count; i++) {
        model = model_for(models, &node->devices[i]);
        sum += (double)model->hole_milli[leftover->idle_milli[i]];
    }
    return model != NULL ? sum + stranded_milli(leftover, model) : 0;
}
