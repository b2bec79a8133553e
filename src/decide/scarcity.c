/* SPDX-License-Identifier: Apache-2.0 */
/* scarcity - which products are wanted by pods that can take no other. */
#include "topofit/scarcity.h"

#include "topofit/leftover.h"

#include <string.h>

/* What taking a device that is insisted on costs, and how urgent that may become. */
#define WASTE_PER_MILLI 0.01
#define URGENCY_MAX 2.0

/* A fraction in MiB: how much of a device that is depends on the device. */
#define FRACTION_MILLI 500

static double wanted_milli(const struct mix_task *task)
{
    double each = WHOLE_DEVICE_MILLI;

    if (!task->is_whole && task->ask.memory_kind == MEMORY_PERCENT)
        each = (double)(task->ask.memory * (WHOLE_DEVICE_MILLI / 100));
    else if (!task->is_whole)
        each = FRACTION_MILLI;
    return task->share * each * task->ask.count;
}

static bool is_allowed(const struct mix_task *task, const struct text *product)
{
    return (task->use_products.count == 0 ||
            word_list_describes(&task->use_products, product->chars)) &&
           !word_list_describes(&task->avoid_products, product->chars);
}

static bool is_choosy(const struct mix_task *task)
{
    return task->use_products.count > 0 || task->avoid_products.count > 0;
}

/* The part of the demand that this task is, against the part of the supply that it may take. */
static double urgency_of(const struct mix_task *task, const struct product_supply *supply,
                         double demand_milli)
{
    double allowed = 0, all = 0;

    for (unsigned i = 0; i < supply->count; i++) {
        all += (double)supply->items[i].idle_milli;
        if (is_allowed(task, supply->items[i].product))
            allowed += (double)supply->items[i].idle_milli;
    }
    return allowed > 0 ? all * (wanted_milli(task) / demand_milli) / allowed : 0;
}

void scarcity_of(const struct pod_mix *mix, const struct product_supply *supply,
                 struct scarcity *out)
{
    double demand = 0, urgency[SCARCITY_PRODUCTS_MAX] = {0};
    bool any = false;

    out->count = 0;
    for (size_t i = 0; mix != NULL && i < mix->count; i++) {
        demand += wanted_milli(&mix->tasks[i]);
        any = any || is_choosy(&mix->tasks[i]);
    }
    if (!any || demand <= 0)
        return;
    for (size_t i = 0; i < mix->count; i++) {
        const struct mix_task *task = &mix->tasks[i];
        double more = is_choosy(task) ? urgency_of(task, supply, demand) : 0;

        for (unsigned k = 0; more > 0 && k < supply->count; k++)
            urgency[k] += is_allowed(task, supply->items[k].product) ? more : 0;
    }
    for (unsigned k = 0; k < supply->count; k++) {
        double most = urgency[k] < URGENCY_MAX ? urgency[k] : URGENCY_MAX;

        out->items[k].product = supply->items[k].product;
        out->items[k].waste_per_milli = WASTE_PER_MILLI * most;
    }
    out->count = supply->count;
}

/* Nodes of the cluster share their products' names; one that came with a question does not. */
static unsigned find(const struct scarcity *scarcity, const struct text *product)
{
    for (unsigned i = 0; i < scarcity->count; i++) {
        if (scarcity->items[i].product == product)
            return i;
    }
    for (unsigned i = 0; i < scarcity->count; i++) {
        if (strcmp(scarcity->items[i].product->chars, product->chars) == 0)
            return i;
    }
    return scarcity->count;
}

double scarcity_cost_milli(const struct scarcity *scarcity, const struct text *product,
                           uint32_t taken_milli)
{
    unsigned i = find(scarcity, product);

    return i < scarcity->count ? scarcity->items[i].waste_per_milli * taken_milli : 0;
}
