/* SPDX-License-Identifier: Apache-2.0 */
/* hami_extras - what vendors' plugins read of a pod besides HAMi's lists. */
#include "hami_record.h"

#include "hami_partitions.h"
#include "hami_slots.h"
#include "topofit/core_choice.h"
#include "topofit/mem.h"

#include <inttypes.h>
#include <string.h>

#define MS_PER_S 1000
#define NS_PER_MS 1000000

/* A value being written: over the devices of one list, in order. */
struct writing {
    const struct dialect_placement *placement;
    const struct device_class *class;
    struct buf *out;
    const struct allocated_container *container;
    size_t position; /* of the container */
    size_t written;  /* devices so far */
};

typedef void (*device_writer)(struct writing *writing, const struct device *device,
                              const struct allocated_device *given);

static void each_of_container(struct writing *writing, device_writer write)
{
    for (size_t k = 0; k < writing->container->device_count; k++) {
        const struct allocated_device *given = &writing->container->devices[k];
        int position = node_find_device(writing->placement->node, given->id);
        const struct device *device =
            position >= 0 ? &writing->placement->node->devices[position] : NULL;

        if (device == NULL || !hami_shares_list(device->class, writing->class))
            continue;
        write(writing, device, given);
        writing->written++;
    }
}

static void each_device(struct writing *writing, device_writer write)
{
    const struct allocation *allocation = writing->placement->allocation;

    for (size_t i = 0; i < allocation->container_count; i++) {
        writing->container = &allocation->containers[i];
        writing->position = i;
        each_of_container(writing, write);
    }
}

static void comma(struct writing *writing)
{
    if (writing->out->length > 0)
        buf_add_byte(writing->out, ',');
}

/* --- plain values ---------------------------------------------------------------------------- */

static void write_node(struct writing *writing)
{
    buf_add_text(writing->out, writing->placement->allocation->node);
}

static void write_seconds(struct writing *writing)
{
    buf_addf(writing->out, "%" PRIu64, writing->placement->unix_ms / MS_PER_S);
}

static void write_nanoseconds(struct writing *writing)
{
    buf_addf(writing->out, "%" PRIu64, writing->placement->unix_ms * NS_PER_MS);
}

static void write_false(struct writing *writing)
{
    buf_add_text(writing->out, "false");
}

static void add_id(struct writing *writing, const struct device *device,
                   const struct allocated_device *given)
{
    (void)given;
    comma(writing);
    buf_add_text(writing->out, device->id);
}

static void write_ids(struct writing *writing)
{
    each_device(writing, add_id);
}

static void add_index(struct writing *writing, const struct device *device,
                      const struct allocated_device *given)
{
    (void)given;
    comma(writing);
    buf_addf(writing->out, "%u", device->index);
}

static void write_indexes(struct writing *writing)
{
    each_device(writing, add_index);
}

static void add_first_index(struct writing *writing, const struct device *device,
                            const struct allocated_device *given)
{
    if (writing->written == 0)
        add_index(writing, device, given);
}

static void write_index(struct writing *writing)
{
    each_device(writing, add_first_index);
}

static void add_first_minor(struct writing *writing, const struct device *device,
                            const struct allocated_device *given)
{
    (void)given;
    if (writing->written == 0)
        buf_add_text(writing->out, device->bus_id->chars);
}

static void write_minor(struct writing *writing)
{
    each_device(writing, add_first_minor);
}

static void add_profile(struct writing *writing, const struct device *device,
                        const struct allocated_device *given)
{
    if (writing->written == 0)
        buf_addf(writing->out, "%u_%u_%" PRIu64, device->index, given->cores,
                 given->memory_mib / writing->class->memory_unit_mib);
}

static void write_dsmlu_profile(struct writing *writing)
{
    each_device(writing, add_profile);
}

/* --- cores ----------------------------------------------------------------------------------- */

/* Does the container ask for cores rather than for devices? */
static bool asks_cores(const struct writing *writing, size_t container)
{
    const struct request *request = writing->placement->request;
    const struct ask *ask =
        request != NULL ? hami_ask_of(request, writing->class, container) : NULL;

    return ask != NULL && ask->by_cores;
}

static void note_cores_resource(struct writing *writing, const struct device *device,
                                const struct allocated_device *given)
{
    (void)device, (void)given;
    if (writing->out->length == 0 && asks_cores(writing, writing->position) &&
        writing->class->cores_resource != NULL)
        buf_add_text(writing->out, writing->class->cores_resource);
}

static void write_cores_resource(struct writing *writing)
{
    each_device(writing, note_cores_resource);
}

static void add_core_indexes(struct writing *writing, const struct device *device,
                             const struct allocated_device *given)
{
    if (!asks_cores(writing, writing->position)) {
        add_index(writing, device, given);
        return;
    }
    for (unsigned i = 0; i < CORES_ADDRESSED_MAX; i++) {
        if ((given->core_mask >> i & 1) == 0)
            continue;
        comma(writing);
        buf_addf(writing->out, "%u", device->index * device->cores + i);
    }
}

static void write_core_indexes(struct writing *writing)
{
    each_device(writing, add_core_indexes);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void add_metax_device(struct writing *writing, const struct device *device,
                             const struct allocated_device *given)
{
    buf_add_text(writing->out, writing->written > 0 ? ",{\"uuid\":" : "{\"uuid\":");
    buf_add_json_string(writing->out, device->id);
    if (given->cores > 0)
        buf_addf(writing->out, ",\"compute\":%u", given->cores);
    if (given->memory_mib > 0)
        buf_addf(writing->out, ",\"vRam\":%" PRIu64, given->memory_mib);
    buf_add_byte(writing->out, '}');
}

/* A list for every container, also for those without devices. */
static void write_metax_devices(struct writing *writing)
{
    const struct allocation *allocation = writing->placement->allocation;

    for (size_t i = 0; i < allocation->container_count; i++) {
        buf_add_text(writing->out, i > 0 ? ",[" : "[[");
        writing->container = &allocation->containers[i];
        writing->written = 0;
        each_of_container(writing, add_metax_device);
        buf_add_byte(writing->out, ']');
    }
    buf_add_byte(writing->out, ']');
}

/* The name of the piece that a device is cut into for so much memory, or NULL for all of it. */
static const char *template_name(const struct device *device, const struct allocated_device *given)
{
    const struct class_templates *templates = &device->class->templates;

    for (size_t i = 0; i < templates->count; i++) {
        if (templates->items[i].memory_mib == given->memory_mib &&
            given->memory_mib < device->memory_mib)
            return templates->items[i].name;
    }
    return NULL;
}

static void add_ascend_device(struct writing *writing, const struct device *device,
                              const struct allocated_device *given)
{
    const char *name = template_name(device, given);

    buf_add_text(writing->out, writing->written > 0 ? ",{\"UUID\":" : "[{\"UUID\":");
    buf_add_json_string(writing->out, device->id);
    if (name != NULL) {
        buf_add_text(writing->out, ",\"temp\":");
        buf_add_json_string(writing->out, name);
    }
    if (given->memory_mib > 0)
        buf_addf(writing->out, ",\"memory\":%" PRIu64, given->memory_mib);
    if (given->cores > 0)
        buf_addf(writing->out, ",\"core\":%u", given->cores);
    buf_add_byte(writing->out, '}');
}

static void write_ascend_devices(struct writing *writing)
{
    each_device(writing, add_ascend_device);
    buf_add_byte(writing->out, ']');
}

static void add_slices(struct writing *writing, const struct device *device,
                       const struct allocated_device *given)
{
    (void)device;
    if (writing->written == 0)
        buf_addf(writing->out, "%u", given->partition.use.compute);
}

static void write_slices(struct writing *writing)
{
    each_device(writing, add_slices);
}

/* A container has one partition; its profile's number is its place in the table. */
static void add_slice_container(struct writing *writing, const struct device *device,
                                const struct allocated_device *given)
{
    int profile = device->partitions != NULL
                      ? partition_find(device->partitions, given->partition.profile)
                      : -1;

    if (profile < 0)
        return;
    buf_add_byte(writing->out, writing->out->length > 0 ? ',' : '{');
    buf_add_json_string(writing->out, writing->container->name);
    buf_addf(writing->out, ":{\"allocated\":false,\"request\":%u,\"profileID\":\"%d\"",
             given->partition.use.compute, profile);
    buf_add_text(writing->out, ",\"profileName\":");
    buf_add_json_string(writing->out, given->partition.profile);
    buf_add_byte(writing->out, '}');
}

static void write_slice_containers(struct writing *writing)
{
    each_device(writing, add_slice_container);
    if (writing->out->length > 0)
        buf_add_byte(writing->out, '}');
}

static void write_mig_allocations(struct writing *writing)
{
    hami_reservations_write(writing->placement, writing->class, writing->out);
}

/* --- all ------------------------------------------------------------------------------------- */

bool hami_extra_value(const struct dialect_placement *placement, const struct device_class *class,
                      enum hami_value value, struct buf *out)
{
    static void (*const writers[HAMI_VALUE_COUNT])(struct writing *) = {
        [HAMI_VALUE_NODE] = write_node,
        [HAMI_VALUE_TIME_S] = write_seconds,
        [HAMI_VALUE_TIME_NS] = write_nanoseconds,
        [HAMI_VALUE_FALSE] = write_false,
        [HAMI_VALUE_IDS] = write_ids,
        [HAMI_VALUE_INDEXES] = write_indexes,
        [HAMI_VALUE_INDEX] = write_index,
        [HAMI_VALUE_MINOR] = write_minor,
        [HAMI_VALUE_SLICES] = write_slices,
        [HAMI_VALUE_SLICE_CONTAINERS] = write_slice_containers,
        [HAMI_VALUE_CORES_RESOURCE] = write_cores_resource,
        [HAMI_VALUE_CORE_INDEXES] = write_core_indexes,
        [HAMI_VALUE_DSMLU_PROFILE] = write_dsmlu_profile,
        [HAMI_VALUE_METAX_DEVICES] = write_metax_devices,
        [HAMI_VALUE_ASCEND_DEVICES] = write_ascend_devices,
        [HAMI_VALUE_MIG_ALLOCATIONS] = write_mig_allocations,
    };
    struct writing writing = {.placement = placement, .class = class, .out = out};

    if (writers[value] == NULL)
        return false;
    writers[value](&writing);
    return out->length > 0;
}
