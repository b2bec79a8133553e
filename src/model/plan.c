/* SPDX-License-Identifier: Apache-2.0 */
/* plan - the answer of decide for one pod on one node. */
#include "topofit/plan.h"

#include "topofit/buf.h"
#include "topofit/mem.h"
#include "topofit/set_rule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void plan_copy(const struct plan *from, struct plan *out)
{
    memcpy(out, from,
           offsetof(struct plan, partitions) + from->partition_count * sizeof *from->partitions);
}

const struct planned_partition *plan_partition(const struct plan *plan, size_t ask,
                                               unsigned position)
{
    for (unsigned i = 0; i < plan->partition_count; i++) {
        if (plan->partitions[i].ask == ask && plan->partitions[i].position == position)
            return &plan->partitions[i];
    }
    return NULL;
}

struct partition_use plan_partitions_on(const struct plan *plan, const struct node *node,
                                        unsigned position)
{
    const struct partition_table *table = node->devices[position].partitions;
    struct partition_use sum = {0};

    for (unsigned i = 0; i < plan->partition_count; i++) {
        const struct planned_partition *planned = &plan->partitions[i];
        const struct partition_use use = {
            planned->slices, table != NULL ? table->profiles[planned->profile].compute : 0};

        /* Asks that never run together may have the same one. */
        if (planned->position == position && (planned->slices & sum.slices) == 0)
            sum = partition_add(sum, use);
    }
    return sum;
}

static void allocate_partition(const struct planned_partition *planned, const struct device *from,
                               struct allocated_device *device)
{
    const struct partition_table *table = from->partitions;

    device->memory_mib = table->profiles[planned->profile].memory_mib;
    device->cores = partition_cores(table, planned->profile, from->cores);
    device->mode = ISOLATION_PARTITIONED;
    device->partition =
        partition_placement_of(table, planned->profile, planned->start, planned->slices);
}

static void allocate_ask(const struct plan *plan, const struct node *node,
                         const struct request *request, size_t ask,
                         struct allocated_container *container)
{
    const struct ask *wanted = &request->asks[ask];
    bool matches = set_rule_for(wanted->class, node)->match_service;

    for (device_mask left = plan->sets[ask]; left != 0; left &= left - 1) {
        unsigned position = mask_first(left);
        const struct device *from = &node->devices[position];
        const struct planned_partition *planned = plan_partition(plan, ask, position);
        struct allocated_device *device = allocation_add_device(container, from->id);

        device->memory_mib = ask_memory_mib(request, wanted, from->memory_mib);
        device->cores = ask_cores(request, wanted, from->cores);
        device->mode = ask_isolation_mode(request, wanted);
        device->service = matches ? request->service : SERVICE_ANY;
        device->application = matches ? request->application : APPLICATION_ANY;
        if (planned != NULL)
            allocate_partition(planned, from, device);
    }
}

void plan_allocation(const struct plan *plan, const struct node *node,
                     const struct request *request, struct allocation *out)
{
    allocation_init(out);
    free(out->node);
    out->node = xstrdup(node->name);
    out->tier = plan->tier;
    out->degraded = plan->degraded;
    for (size_t c = 0; c < request->container_count; c++) {
        struct allocated_container *container =
            allocation_add_container(out, request->containers[c].name, request->containers[c].kind);

        for (size_t a = 0; a < request->ask_count; a++) {
            if (request->asks[a].container == c)
                allocate_ask(plan, node, request, a, container);
        }
    }
}

static void describe_products(const struct node *node, struct buf *out)
{
    const char *separator = "; found: ";

    for (unsigned i = 0; i < node->device_count; i++) {
        const char *product = node->devices[i].product->chars;
        bool seen = false;

        for (unsigned k = 0; k < i && !seen; k++)
            seen = strcmp(node->devices[k].product->chars, product) == 0;
        if (seen)
            continue;
        buf_addf(out, "%s%s", separator, product[0] != '\0' ? product : "(no product name)");
        separator = ", ";
    }
}

/* "1 of class nvidia wanted, the node has 8 of ascend-910b" */
static void describe_classes(const struct verdict *verdict, const struct node *node,
                             struct buf *out)
{
    const char *separator = ", the node has ";

    buf_addf(out, "%u of class %s wanted", verdict->wanted, verdict->class->name);
    for (unsigned i = 0; i < node->device_count; i++) {
        const struct device_class *class = node->devices[i].class;
        unsigned before = 0, count = 0;

        for (unsigned k = 0; k < node->device_count; k++) {
            before += k < i && node->devices[k].class == class;
            count += node->devices[k].class == class;
        }
        if (before > 0)
            continue;
        buf_addf(out, "%s%u of %s", separator, count, class->name);
        separator = ", ";
    }
    if (node->device_count == 0)
        buf_add_text(out, ", the node has none of any");
}

void verdict_describe(const struct verdict *verdict, const struct node *node, char *text,
                      size_t size)
{
    AUTO(buf_clear) struct buf out = buf_with_max(size > 0 ? size - 1 : 0);
    const char *separator = ": ";

    if (size == 0)
        return;
    if (verdict->quota.class != NULL) {
        quota_shortage_describe(&verdict->quota, text, size);
        return;
    }
    if (node != NULL && node->problem != NULL &&
        (verdict->reason == REASON_NO_INVENTORY || verdict->reason == REASON_NO_CLASS ||
         verdict->reason == REASON_TOO_FEW_DEVICES || verdict->reason == REASON_DEVICE_TOO_SMALL))
        buf_addf(&out, "%s; ", node->problem);
    if (verdict->reason == REASON_NO_CLASS && verdict->class != NULL && node != NULL) {
        describe_classes(verdict, node, &out);
        memcpy(text, buf_text(&out), out.length + 1);
        return;
    }
    buf_addf(&out, "%u wanted, %u usable", verdict->wanted, verdict->usable);
    for (unsigned reason = REASON_OK + 1; reason < REASON_COUNT; reason++) {
        if (verdict->devices[reason] == 0)
            continue;
        buf_addf(&out, "%s%u %s", separator, verdict->devices[reason],
                 reason_name((enum reason)reason));
        separator = ", ";
    }
    if (verdict->devices[REASON_MEMORY] + verdict->devices[REASON_DEVICE_TOO_SMALL] > 0) {
        if (verdict->wanted_mib > 0)
            buf_addf(&out, "; %" PRIu64 " MiB wanted on each", verdict->wanted_mib);
        else if (verdict->wanted_whole)
            buf_add_text(&out, "; whole devices wanted");
        buf_addf(&out, "; most free on one: %" PRIu64 " MiB", verdict->largest_free_mib);
    }
    if (verdict->unattributed > 0)
        buf_addf(&out, "; %u taken by pods whose record does not tell which",
                 verdict->unattributed);
    if (verdict->devices[REASON_PRODUCT] > 0 && node != NULL)
        describe_products(node, &out);
    if (verdict->reason == REASON_TOPOLOGY || verdict->reason == REASON_TOPOLOGY_NEVER ||
        verdict->reason == REASON_TOPOLOGY_UNKNOWN)
        buf_addf(&out, "; best set has tier %d (%s), allowed %d", (int)verdict->best_tier,
                 tier_name(verdict->best_tier), (int)verdict->allowed_tier);
    if (verdict->cut_short)
        buf_add_text(&out, "; not all ways to combine the containers were tried");
    memcpy(text, buf_text(&out), out.length + 1);
}
