/* SPDX-License-Identifier: Apache-2.0 */
/* waste - how much of what is idle on a node will probably never be of use. */
#include "topofit/waste.h"

#include <string.h>

#define CELL_MILLI (WHOLE_DEVICE_MILLI / WASTE_CELLS)

/* How long prices are sought, and how fast one sinks of which there is too much. */
#define PRICE_ROUNDS 200
#define PRICE_STEP 0.2

/* Devices are stranded a little later than the mean says: pods with little CPU come, too. */
#define CPU_CAUTION 0.9

/* --- the model of one kind of device ---------------------------------------------------------- */

/* More than the whole is looked at as just that, so that no amount can wrap around to a small one.
 */
static uint64_t share_milli(uint64_t amount, uint64_t whole)
{
    if (amount > whole)
        return WHOLE_DEVICE_MILLI + 1;
    return (amount * WHOLE_DEVICE_MILLI + whole - 1) / whole;
}

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
    memory = share_milli(task->ask.memory,
                         task->ask.memory_kind == MEMORY_PERCENT ? 100 : device->memory_mib);
    cores = (uint64_t)task->ask.cores * WHOLE_DEVICE_MILLI /
            (task->ask.cores_percent ? 100 : device->cores);
    most = memory > cores ? memory : cores;
    return most <= WHOLE_DEVICE_MILLI ? (unsigned)most : 0;
}

/* How often fractions of each size come. */
struct demand {
    double share[WASTE_CELLS];   /* of those that take so many hundredths */
    unsigned sizes[WASTE_CELLS]; /* those that come at all, ascending */
    unsigned size_count;
    double cpu_milli, device_milli; /* of a pod, on average; whole devices, too */
};

static void sum_demand(const struct pod_mix *mix, const struct device *device, struct demand *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < mix->count; i++) {
        const struct mix_task *task = &mix->tasks[i];
        unsigned need = need_milli(task, device);
        unsigned cells = (need + CELL_MILLI - 1) / CELL_MILLI;

        if (need == 0)
            continue;
        if (cells < WASTE_CELLS)
            out->share[cells] += task->share * task->ask.count;
        out->cpu_milli += task->share * (double)task->host.cpu_milli;
        out->device_milli += task->share * need * task->ask.count;
    }
    for (unsigned size = 1; size < WASTE_CELLS; size++) {
        if (out->share[size] > 0)
            out->sizes[out->size_count++] = size;
    }
}

/* --- what holes are worth ----------------------------------------------------------------------
 */

/* Prices of fractions, and what they make of holes. */
struct market {
    const struct demand *demand;
    double price[WASTE_CELLS];      /* of a fraction of so many hundredths */
    double worth[WASTE_CELLS + 1];  /* of a hole: the dearest that fits into it */
    unsigned last[WASTE_CELLS + 1]; /* a fraction of that choice; 0: the same as a smaller hole's */
};

static void fill_dearest(struct market *market)
{
    market->worth[0] = 0;
    for (unsigned hole = 1; hole <= WASTE_CELLS; hole++) {
        market->worth[hole] = market->worth[hole - 1];
        market->last[hole] = 0;
        for (unsigned i = 0; i < market->demand->size_count; i++) {
            unsigned size = market->demand->sizes[i];
            double worth;

            if (size > hole)
                break;
            worth = market->worth[hole - size] + market->price[size];
            if (worth <= market->worth[hole])
                continue;
            market->worth[hole] = worth;
            market->last[hole] = size;
        }
    }
}

/* How many of each size the dearest filling of a whole device has. */
static void count_filling(const struct market *market, unsigned counts[WASTE_CELLS])
{
    memset(counts, 0, WASTE_CELLS * sizeof *counts);
    for (unsigned hole = WASTE_CELLS; hole > 0;) {
        unsigned size = market->last[hole];

        if (size > 0)
            counts[size]++;
        hole -= size > 0 ? size : 1;
    }
}

/* What the dearest filling is made of gets cheaper: most so what such devices would use up first.
 */
static void lower_prices(struct market *market)
{
    const struct demand *demand = market->demand;
    unsigned counts[WASTE_CELLS];
    double devices = 0;

    count_filling(market, counts);
    for (unsigned size = 1; size < WASTE_CELLS; size++) {
        double enough = counts[size] > 0 ? demand->share[size] / counts[size] : 0;

        if (counts[size] > 0 && (devices <= 0 || enough < devices))
            devices = enough;
    }
    for (unsigned size = 1; size < WASTE_CELLS; size++) {
        if (counts[size] > 0)
            market->price[size] *= 1 - PRICE_STEP * counts[size] * devices / demand->share[size];
    }
}

/* What all that comes is worth, in whole devices: the greatest is what it takes to place it. */
static double value_demand(const struct market *market)
{
    double value = 0;

    for (unsigned i = 0; i < market->demand->size_count; i++) {
        unsigned size = market->demand->sizes[i];

        value += market->demand->share[size] * market->price[size];
    }
    return value / market->worth[WASTE_CELLS];
}

static void note_worth(const struct market *market, struct waste_model *model)
{
    for (unsigned hole = 0; hole <= WASTE_CELLS; hole++)
        model->worth_milli[hole] =
            (float)(WHOLE_DEVICE_MILLI * market->worth[hole] / market->worth[WASTE_CELLS]);
}

/*
 * Fractions that are rare and go well with others end up dear, and holes are worth what would go
 * into them. This is the dual of cutting stock: the fewest devices for all fractions that come,
 * each as often as it does. source: Plotkin, Shmoys, Tardos, "Fast Approximation Algorithms for
 * Fractional Packing and Covering Problems" (1991)
 */
static void fill_worths(const struct demand *demand, struct waste_model *model)
{
    struct market market = {.demand = demand};
    double best = 0;

    memset(model->worth_milli, 0, sizeof model->worth_milli);
    model->worth_milli[WASTE_CELLS] = WHOLE_DEVICE_MILLI;
    for (unsigned i = 0; i < demand->size_count; i++)
        market.price[demand->sizes[i]] = 1 / demand->share[demand->sizes[i]];
    for (unsigned round = 0; round < PRICE_ROUNDS && demand->size_count > 0; round++) {
        double value;

        fill_dearest(&market);
        value = value_demand(&market);
        if (value > best) {
            best = value;
            note_worth(&market, model);
        }
        lower_prices(&market);
    }
}

void waste_model_init(struct waste_model *model, const struct pod_mix *mix,
                      const struct device *device)
{
    struct demand demand;

    sum_demand(mix, device, &demand);
    model->class = device->class;
    model->memory_mib = device->memory_mib;
    model->cores = device->cores;
    model->cpu_per_device =
        demand.device_milli > 0 ? CPU_CAUTION * demand.cpu_milli / demand.device_milli : 0;
    fill_worths(&demand, model);
}

bool waste_model_is_of(const struct waste_model *model, const struct device *device)
{
    return model->class == device->class && model->memory_mib == device->memory_mib &&
           model->cores == device->cores;
}

/* --- a node ----------------------------------------------------------------------------------- */

/* What idle devices would take of the host until they are full, by what the mix takes with them. */
struct appetite {
    double device_milli, cpu_milli;
};

static double stranded_milli(const struct leftover *leftover, const struct appetite *appetite)
{
    double fed;

    if (leftover->cpu_milli == UINT64_MAX || appetite->cpu_milli <= 0)
        return 0;
    fed = (double)leftover->cpu_milli * appetite->device_milli / appetite->cpu_milli;
    return appetite->device_milli > fed ? appetite->device_milli - fed : 0;
}

double waste_milli(const struct waste_model *const *models, const struct leftover *leftover)
{
    const struct node *node = leftover->node;
    struct appetite appetite = {0};
    double sum = 0;

    for (unsigned i = 0; i < node->device_count; i++) {
        const struct waste_model *model = models[i];
        unsigned idle = leftover->idle_milli[i];

        sum += idle - (double)model->worth_milli[idle / CELL_MILLI];
        appetite.device_milli += model->cpu_per_device > 0 ? idle : 0;
        appetite.cpu_milli += model->cpu_per_device * idle;
    }
    return sum + stranded_milli(leftover, &appetite);
}
