/* SPDX-License-Identifier: Apache-2.0 */
/* gpufit - which devices of a node could serve an ask, and why the others could not. */
#include "topofit/gpufit.h"

#include "topofit/isolation.h"

#include <string.h>

#define LIST_ITEM_MAX 256

/* --- selection lists ------------------------------------------------------------------------- */

static bool lists_device(const char *list, const char *id)
{
    char item[LIST_ITEM_MAX];

    while (text_next_item(&list, item, sizeof item)) {
        if (text_equal_nocase(item, id))
            return true;
    }
    return false;
}

static bool lists_product(const char *list, const char *product)
{
    char item[LIST_ITEM_MAX];

    while (text_next_item(&list, item, sizeof item)) {
        if (text_has_words(product, item))
            return true;
    }
    return false;
}

/* --- one device ------------------------------------------------------------------------------ */

static enum reason check_device_itself(const struct device *device, const struct device_use *use)
{
    if (!device->healthy)
        return REASON_UNHEALTHY;
    if (device->cordoned)
        return REASON_CORDONED;
    if (use->conflicted)
        return REASON_CONFLICT;
    return REASON_OK;
}

static enum reason check_selection(const struct device *device, const struct request *request)
{
    const char *product = device->product->chars;

    if (request->use_devices != NULL && !lists_device(request->use_devices, device->id))
        return REASON_NOT_SELECTED;
    if (request->avoid_devices != NULL && lists_device(request->avoid_devices, device->id))
        return REASON_NOT_SELECTED;
    if (request->use_products != NULL && !lists_product(request->use_products, product))
        return REASON_PRODUCT;
    if (request->avoid_products != NULL && lists_product(request->avoid_products, product))
        return REASON_PRODUCT;
    return REASON_OK;
}

/* A device that reports no memory, cores or slots is never given out: its size is not known. */
static bool is_too_small(const struct device *device, uint64_t memory_mib, uint16_t cores)
{
    return device->memory_mib == 0 || device->cores == 0 || device->slots == 0 ||
           memory_mib > device->memory_mib || cores > device->cores;
}

/*
 * Would a container have all cores, or has one of the pod's, with others beside it? To other pods
 * the pod is one tenant: its containers may take all cores together only where nobody else is.
 */
static bool takes_all_cores(const struct device *device, const struct device_use *in_use,
                            const struct own_use *mine, uint16_t cores)
{
    if (mine->slots > 0 && (mine->cores >= device->cores || cores == device->cores))
        return true;
    return in_use->slots > 0 && mine->cores + cores >= device->cores;
}

enum reason gpufit_device(const struct node *node, const struct node_use *use, unsigned position,
                          const struct request *request, const struct ask *ask,
                          const struct own_use *own)
{
    static const struct own_use nothing;
    const struct device *device = &node->devices[position];
    const struct device_use *in_use = &use->devices[position];
    const struct own_use *mine = own != NULL ? &own[position] : &nothing;
    uint64_t memory_mib = ask_memory_mib(request, ask, device->memory_mib);
    uint16_t cores = ask_cores(request, ask, device->cores);
    unsigned tenants = (unsigned)in_use->slots + mine->slots;
    enum reason reason = REASON_OK;

    if (device->class != ask->class)
        return REASON_NO_CLASS;
    if ((reason = check_device_itself(device, in_use)) != REASON_OK ||
        (reason = check_selection(device, request)) != REASON_OK)
        return reason;
    if (is_too_small(device, memory_mib, cores))
        return REASON_DEVICE_TOO_SMALL;
    if (request_mode(request, ask) == ISOLATION_PARTITIONED)
        return REASON_PARTITIONS;
    if (in_use->memory_mib + mine->memory_mib > device->memory_mib - memory_mib)
        return REASON_MEMORY;
    if (in_use->cores + mine->cores > (uint32_t)(device->cores - cores))
        return REASON_CORES;
    if (in_use->exclusive || takes_all_cores(device, in_use, mine, cores))
        return REASON_EXCLUSIVE;
    if (!isolation_may_join(in_use->mode, request_mode(request, ask)))
        return REASON_ISOLATION;
    return tenants >= device->slots ? REASON_SLOTS : REASON_OK;
}

/* --- a node ---------------------------------------------------------------------------------- */

/* The obstacle of most devices among the curable or the other ones; the earlier row on ties. */
static enum reason commonest(const struct verdict *verdict, bool curable)
{
    enum reason most = REASON_OK;
    unsigned count = 0;

    for (unsigned r = REASON_UNHEALTHY; r < REASON_COUNT; r++) {
        if (reason_is_curable((enum reason)r) == curable && verdict->devices[r] > count) {
            most = (enum reason)r;
            count = verdict->devices[r];
        }
    }
    return most;
}

static enum reason judge(const struct node *node, const struct node_use *use, const struct ask *ask,
                         const struct fit *fit, const struct verdict *numbers)
{
    unsigned of_class = node->device_count - numbers->devices[REASON_NO_CLASS];

    if (numbers->usable >= ask->count)
        return REASON_OK;
    if (!node->has_inventory)
        return REASON_NO_INVENTORY;
    if (of_class == 0)
        return REASON_NO_CLASS;
    if (of_class < ask->count)
        return REASON_TOO_FEW_DEVICES;
    if (mask_count(fit->hopeful) < ask->count) {
        enum reason reason = commonest(numbers, false);

        /* Nothing is wrong with the devices: the pod's own containers leave too few of them. */
        return reason != REASON_OK ? reason : REASON_TOO_FEW_DEVICES;
    }
    if (mask_count(fit->candidates) >= ask->count)
        return use->unattributed > 0 ? REASON_UNATTRIBUTED : REASON_OK;
    return commonest(numbers, true);
}

static void note_free_memory(const struct node *node, const struct node_use *use, unsigned position,
                             struct verdict *out)
{
    uint64_t size_mib = node->devices[position].memory_mib;
    uint64_t used_mib = use->devices[position].memory_mib;
    uint64_t free_mib = used_mib < size_mib ? size_mib - used_mib : 0;

    if (free_mib > out->largest_free_mib)
        out->largest_free_mib = free_mib;
}

/* Could the device serve once all other pods are gone? What the pod itself takes stays. */
static bool is_hopeful(const struct node *node, unsigned position, const struct request *request,
                       const struct ask *ask, const struct own_use *own, enum reason obstacle)
{
    static const struct node_use nobody;

    if (!reason_is_curable(obstacle))
        return obstacle == REASON_OK;
    return gpufit_device(node, &nobody, position, request, ask, own) == REASON_OK;
}

struct fit gpufit_candidates(const struct node *node, const struct node_use *use,
                             const struct request *request, const struct ask *ask,
                             const struct own_use *own, struct verdict *out)
{
    struct fit fit = {0};
    unsigned candidates;

    *out = (struct verdict){.wanted = ask->count,
                            .wanted_whole = ask_is_whole(request, ask),
                            .unattributed = use->unattributed};
    if (ask->memory_kind == MEMORY_MIB && !ask_is_whole(request, ask))
        out->wanted_mib = ask->memory;
    for (unsigned i = 0; i < node->device_count; i++) {
        enum reason reason = gpufit_device(node, use, i, request, ask, own);

        out->devices[reason]++;
        if (reason == REASON_OK)
            fit.candidates |= mask_of(i);
        if (is_hopeful(node, i, request, ask, own, reason))
            fit.hopeful |= mask_of(i);
        if (reason == REASON_MEMORY || reason == REASON_DEVICE_TOO_SMALL)
            note_free_memory(node, use, i, out);
    }
    candidates = mask_count(fit.candidates);
    /* Pods that hold devices nobody can name may sit on any of them. */
    out->usable = candidates > use->unattributed ? candidates - use->unattributed : 0;
    out->reason = judge(node, use, ask, &fit, out);
    out->devices[REASON_NO_CLASS] = 0;
    return fit;
}
