/* SPDX-License-Identifier: Apache-2.0 */
/* gpufit - which devices of a node could serve an ask, and why the others could not. */
#include "topofit/gpufit.h"

#include "arrange.h"
#include "topofit/isolation.h"

#include <string.h>

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

/* What the pod demands of all its devices, or of those of one class. */
static enum reason check_lists(const struct device *device, const struct word_list *use_devices,
                               const struct word_list *avoid_devices,
                               const struct word_list *use_products,
                               const struct word_list *avoid_products)
{
    const char *product = device->product->chars;

    if (use_devices->count > 0 && !word_list_has(use_devices, device->id))
        return REASON_NOT_SELECTED;
    if (word_list_has(avoid_devices, device->id))
        return REASON_NOT_SELECTED;
    if (use_products->count > 0 && !word_list_describes(use_products, product))
        return REASON_PRODUCT;
    return word_list_describes(avoid_products, product) ? REASON_PRODUCT : REASON_OK;
}

static enum reason check_selection(const struct device *device, const struct request *request)
{
    const struct class_selection *own = class_selections_find(&request->selections, device->class);
    enum reason reason = check_lists(device, &request->use_devices, &request->avoid_devices,
                                     &request->use_products, &request->avoid_products);

    if (reason != REASON_OK || own == NULL)
        return reason;
    return check_lists(device, &own->use_devices, &own->avoid_devices, &own->use_products,
                       &own->avoid_products);
}

/*
 * A device that reports no memory, cores or slots is never given out: its size is not known. Of
 * some classes devices have no memory to report.
 */
static bool is_too_small(const struct device *device, uint64_t memory_mib, uint16_t cores)
{
    bool has_memory = device->memory_mib > 0 || !device->class->memory_counted;

    return !has_memory || device->cores == 0 || device->slots == 0 ||
           memory_mib > device->memory_mib || cores > device->cores;
}

/*
 * Would a container have all cores, or has one of the pod's, with others beside it? To other pods
 * the pod is one tenant: its containers may take all cores together only where nobody else is.
 */
static bool takes_all_cores(const struct device *device, const struct device_use *in_use,
                            const struct own_use *mine, uint16_t cores)
{
    if (mine->slots > 0 && (mine->exclusive || cores == device->cores))
        return true;
    return in_use->slots > 0 && mine->cores + cores >= device->cores;
}

/* --- room, by the rule of the class ---------------------------------------------------------- */

/* May the pod join the tenants? source: docs/concepts/sets.md#services */
static enum reason check_service(const struct fit_question *question, unsigned position,
                                 uint16_t cores)
{
    const struct device *device = &question->node->devices[position];
    const struct device_use *in_use = &question->use->devices[position];
    const struct request *request = question->request;
    enum service present =
        in_use->service != SERVICE_ANY ? (enum service)in_use->service : device->service;
    bool have_application = in_use->online > 0 || in_use->offline > 0;

    if (in_use->slots == 0)
        return REASON_OK;
    if (have_application != (request->application != APPLICATION_ANY) ||
        (request->application == APPLICATION_OFFLINE && in_use->online > 0))
        return REASON_APPLICATION;
    if (request->application == APPLICATION_ONLINE || cores == device->cores)
        return REASON_OK;
    return present == SERVICE_ANY || request->service == SERVICE_ANY || present == request->service
               ? REASON_OK
               : REASON_SERVICE;
}

/* The memory that each slice of the device has, or 0 when it has none yet. */
static uint64_t slice_mib_on(const struct fit_question *question, unsigned position,
                             const struct own_use *own)
{
    const struct device *device = &question->node->devices[position];
    const struct device_use *in_use = &question->use->devices[position];

    if (in_use->slots > 0)
        return in_use->memory_mib / in_use->slots;
    if (own == NULL || own->asks == 0)
        return 0;
    return ask_memory_mib(question->request, &question->request->asks[__builtin_ctz(own->asks)],
                          device->memory_mib);
}

unsigned gpufit_split(uint64_t memory_mib, uint64_t slice_mib)
{
    return slice_mib > 0 && slice_mib < memory_mib ? (unsigned)(memory_mib / slice_mib) : 0;
}

unsigned gpufit_handles_added(const struct fit_question *question, unsigned position,
                              const struct own_use *own)
{
    uint64_t memory_mib = question->node->devices[position].memory_mib;

    if (slice_mib_on(question, position, own) != 0)
        return 0;
    return gpufit_split(memory_mib, ask_memory_mib(question->request, question->ask, memory_mib));
}

/* source: Kunlun: 8 physical devices and the sum of splits are at most 32 */
unsigned gpufit_handles_left(const struct fit_question *question)
{
    unsigned taken = question->own_handles;

    for (unsigned i = 0; i < question->node->device_count; i++) {
        const struct device *device = &question->node->devices[i];

        if (device->class == question->ask->class)
            taken += 1 + gpufit_split(device->memory_mib, slice_mib_on(question, i, NULL));
    }
    return taken < question->rule->handles_max ? question->rule->handles_max - taken : 0;
}

static enum reason check_rule(const struct fit_question *question, unsigned position,
                              const struct own_use *own)
{
    const struct set_rule *rule = question->rule;
    const struct device *device = &question->node->devices[position];
    uint64_t slice_mib = slice_mib_on(question, position, own);
    enum reason reason = REASON_OK;

    if (rule->one_tenant && slice_mib != 0)
        return REASON_EXCLUSIVE;
    if (rule->match_service)
        reason = check_service(question, position,
                               ask_cores(question->request, question->ask, device->cores));
    if (reason != REASON_OK)
        return reason;
    if (rule->equal_slices && slice_mib != 0 &&
        slice_mib != ask_memory_mib(question->request, question->ask, device->memory_mib))
        return REASON_SLICE_SIZE;
    if (rule->handles_max > 0 &&
        gpufit_handles_added(question, position, own) > gpufit_handles_left(question))
        return REASON_HANDLES;
    return REASON_OK;
}

/* --- room ------------------------------------------------------------------------------------ */

/* On a divided device nothing counts but a place for the partition. */
static enum reason check_place(const struct fit_question *question, unsigned position,
                               const struct own_use *own)
{
    const struct device_use *in_use = &question->use->devices[position];
    const struct arrange_question where = {
        .request = question->request,
        .device = &question->node->devices[position],
        .taken = in_use->partitions,
        .asks = own->asks | UINT32_C(1) << (question->ask - question->request->asks),
    };

    if (in_use->mode != ISOLATION_NONE && in_use->mode != ISOLATION_PARTITIONED)
        return REASON_ISOLATION;
    if (in_use->exclusive)
        return REASON_EXCLUSIVE;
    return arrange_is_possible(&where) ? REASON_OK : REASON_PLACEMENT;
}

enum reason gpufit_room(const struct fit_question *question, unsigned position,
                        const struct own_use *own)
{
    static const struct own_use nothing;
    const struct device *device = &question->node->devices[position];
    const struct device_use *in_use = &question->use->devices[position];
    const struct own_use *mine = own != NULL ? own : &nothing;
    uint64_t memory_mib = ask_memory_mib(question->request, question->ask, device->memory_mib);
    uint16_t cores = ask_cores(question->request, question->ask, device->cores);

    if (question->request->wants_idle && in_use->slots > 0)
        return REASON_EXCLUSIVE;
    if (device->partitions != NULL)
        return check_place(question, position, mine);
    if (in_use->memory_mib + mine->memory_mib > device->memory_mib - memory_mib)
        return REASON_MEMORY;
    if (in_use->cores + mine->cores > (uint32_t)(device->cores - cores))
        return REASON_CORES;
    if (in_use->exclusive || takes_all_cores(device, in_use, mine, cores))
        return REASON_EXCLUSIVE;
    if (!isolation_may_join(in_use->mode, ask_isolation_mode(question->request, question->ask)))
        return REASON_ISOLATION;
    if ((unsigned)in_use->slots + mine->slots >= device->slots)
        return REASON_SLOTS;
    return question->rule != NULL ? check_rule(question, position, mine) : REASON_OK;
}

/* A divided device: does the pod want partitions, and are there large enough ones? */
static enum reason check_divided(const struct request *request, const struct ask *ask,
                                 const struct device *device)
{
    if (ask_divided_mode(request) != ISOLATION_PARTITIONED)
        return REASON_DIVIDED;
    if (arrange_has_profile(request, ask, device))
        return REASON_OK;
    return ask->memory_kind == MEMORY_WHOLE ? REASON_DIVIDED : REASON_PROFILE;
}

/* What nobody's leaving cures, or REASON_OK. */
static enum reason check_device(const struct fit_question *question, unsigned position)
{
    const struct request *request = question->request;
    const struct ask *ask = question->ask;
    const struct device *device = &question->node->devices[position];
    enum reason reason = REASON_OK;

    if (device->class != ask->class)
        return REASON_NO_CLASS;
    if ((reason = check_device_itself(device, &question->use->devices[position])) != REASON_OK ||
        (reason = check_selection(device, request)) != REASON_OK)
        return reason;
    if (device->partitions != NULL)
        return check_divided(request, ask, device);
    if (ask->slices > 0)
        return REASON_PARTITIONS;
    if (is_too_small(device, ask_memory_mib(request, ask, device->memory_mib),
                     ask_cores(request, ask, device->cores)))
        return REASON_DEVICE_TOO_SMALL;
    if (ask_isolation_mode(request, ask) == ISOLATION_PARTITIONED)
        return REASON_PARTITIONS;
    return REASON_OK;
}

enum reason gpufit_device(const struct fit_question *question, unsigned position,
                          const struct own_use *own)
{
    enum reason reason = check_device(question, position);

    return reason != REASON_OK ? reason : gpufit_room(question, position, own);
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

static enum reason judge(const struct fit_question *question, unsigned of_class,
                         const struct fit *fit, const struct verdict *numbers)
{
    unsigned wanted = question->ask->count;

    if (numbers->usable >= wanted)
        return REASON_OK;
    if (!question->node->has_inventory)
        return REASON_NO_INVENTORY;
    if (of_class == 0)
        return REASON_NO_CLASS;
    if (of_class < wanted)
        return REASON_TOO_FEW_DEVICES;
    if (mask_count(fit->hopeful) < wanted) {
        enum reason reason = commonest(numbers, false);

        /* Nothing is wrong with the devices: the pod's own containers leave too few of them. */
        return reason != REASON_OK ? reason : REASON_CONTAINERS;
    }
    /* Enough candidates, and yet too few usable ones. */
    if (mask_count(fit->candidates) >= wanted)
        return REASON_UNATTRIBUTED;
    return commonest(numbers, true);
}

static void note_free_memory(const struct fit_question *question, unsigned position,
                             struct verdict *out)
{
    uint64_t size_mib = question->node->devices[position].memory_mib;
    uint64_t used_mib = question->use->devices[position].memory_mib;
    uint64_t free_mib = used_mib < size_mib ? size_mib - used_mib : 0;

    if (free_mib > out->largest_free_mib)
        out->largest_free_mib = free_mib;
}

/* Could the device serve once all other pods are gone? What the pod itself takes stays. */
static bool is_hopeful(const struct fit_question *question, unsigned position,
                       const struct own_use *own, enum reason obstacle)
{
    static const struct node_use nobody;
    struct fit_question alone = *question;

    if (!reason_is_curable(obstacle))
        return obstacle == REASON_OK;
    alone.use = &nobody;
    return gpufit_room(&alone, position, own) == REASON_OK;
}

struct fit gpufit_candidates(const struct fit_question *question, const struct own_use *own,
                             struct verdict *out)
{
    const struct ask *ask = question->ask;
    uint32_t unattributed = question->use->unattributed;
    unsigned of_class = 0, candidates;
    struct fit fit = {0};

    *out = (struct verdict){.class = ask->class,
                            .wanted = ask->count,
                            .wanted_whole = ask_is_whole(question->request, ask),
                            .unattributed = unattributed};
    if (ask->memory_kind == MEMORY_MIB && !out->wanted_whole)
        out->wanted_mib = ask->memory;
    for (unsigned i = 0; i < question->node->device_count; i++) {
        const struct own_use *mine = own != NULL ? &own[i] : NULL;
        enum reason reason = gpufit_device(question, i, mine);

        if (reason == REASON_NO_CLASS)
            continue;
        of_class++;
        out->devices[reason]++;
        if (reason == REASON_OK)
            fit.candidates |= mask_of(i);
        if (is_hopeful(question, i, mine, reason))
            fit.hopeful |= mask_of(i);
        if (reason == REASON_MEMORY || reason == REASON_DEVICE_TOO_SMALL)
            note_free_memory(question, i, out);
    }
    candidates = mask_count(fit.candidates);
    /* Pods that hold devices nobody can name may sit on any of them. */
    out->usable = candidates > unattributed ? candidates - unattributed : 0;
    out->reason = judge(question, of_class, &fit, out);
    return fit;
}
