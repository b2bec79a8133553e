/* SPDX-License-Identifier: Apache-2.0 */
/* hami_record - what HAMi's annotations on pods say a pod was given. */
#include "hami_record.h"

#include "hami_list.h"
#include "hami_partitions.h"
#include "hami_slots.h"
#include "topofit/core_choice.h"
#include "topofit/annotation_budget.h"
#include "topofit/mem.h"
#include "topofit/node_lock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MS_PER_S 1000

/* --- which class a list is of ---------------------------------------------------------------- */

static bool asks_for(const struct request *request, const struct device_class *class)
{
    for (size_t i = 0; i < request->ask_count; i++) {
        if (request->asks[i].class == class)
            return true;
    }
    return false;
}

/*
 * The class that the list of class `at` is read for: of several under one key (two generations of
 * a plugin) the one that the pod asks for. NULL when an earlier one has the key: it is read once.
 */
static const struct device_class *reader_of(const struct class_table *classes, size_t at,
                                            const struct request *request)
{
    const struct device_class *chosen = &classes->items[at];

    for (size_t i = 0; i < at; i++) {
        if (hami_shares_list(&classes->items[i], chosen))
            return NULL;
    }
    for (size_t i = at; i < classes->count && !asks_for(request, chosen); i++) {
        if (hami_shares_list(&classes->items[i], chosen) && asks_for(request, &classes->items[i]))
            chosen = &classes->items[i];
    }
    return chosen;
}

/* --- reading --------------------------------------------------------------------------------- */

/* A list being read into a record. */
struct list_reading {
    const struct device_class *class;
    const struct request *request;
    struct hami_list list;
    struct hami_reservations reservations;
    size_t positions[REQUEST_CONTAINERS_MAX]; /* containers of the slots */
    struct allocation *out;
};

static void list_reading_clear(struct list_reading *reading)
{
    hami_list_clear(&reading->list);
    hami_reservations_clear(&reading->reservations);
}

/* The partition that a line is; false when it is a partition that is not known. */
static bool find_partition(const struct list_reading *reading, size_t slot, size_t line,
                           struct partition_placement *out)
{
    const struct hami_line *text = &reading->list.slots[slot].lines[line];

    for (size_t i = 0; i < reading->reservations.count; i++) {
        if (reading->reservations.items[i].slot == slot &&
            reading->reservations.items[i].line == line) {
            *out = reading->reservations.items[i].partition;
            return true;
        }
    }
    return text->template_index == HAMI_NO_TEMPLATE ||
           hami_partition_of_line(reading->class, text, out);
}

/*
 * Cores are a part of a device, however many the class thinks a whole one has: of a device of more
 * cores others may have the rest.
 */
static enum isolation_mode mode_of(const struct request *request, const struct ask *ask,
                                   const struct partition_placement *partition)
{
    if (partition->profile[0] != '\0')
        return ISOLATION_PARTITIONED;
    if (ask == NULL || (ask->by_cores && ask->count == 1))
        return ISOLATION_SOFT;
    return ask_isolation_mode(request, ask);
}

static int take_line(const struct list_reading *reading, size_t slot, size_t line,
                     struct error *err)
{
    const struct hami_line *text = &reading->list.slots[slot].lines[line];
    size_t position = reading->positions[slot];
    const struct ask *ask = hami_ask_of(reading->request, reading->class, position);
    const struct device_class *class = ask != NULL ? ask->class : reading->class;
    uint32_t cores =
        class->cores_addressed ? (uint32_t)__builtin_popcount(text->cores) : text->cores;
    struct partition_placement partition = {0};
    struct allocated_device *device;

    if (cores > UINT16_MAX)
        return error_set(err, ERR_INVALID, "%u cores of device %s", cores, text->id);
    if (!find_partition(reading, slot, line, &partition))
        return error_set(err, ERR_INVALID, "partition %d-%d of device %s is not known",
                         text->template_index, text->slot_index, text->id);
    device = allocation_add_device(&reading->out->containers[position], text->id);
    device->memory_mib = text->memory_mib;
    device->cores = (uint16_t)cores;
    device->partition = partition;
    device->core_mask = class->cores_addressed ? text->cores : 0;
    device->mode = mode_of(reading->request, ask, &partition);
    device->service = reading->request->service;
    device->application = reading->request->application;
    return 0;
}

static int take_lines(const struct list_reading *reading, struct error *err)
{
    for (size_t slot = 0; slot < reading->list.count; slot++) {
        for (size_t line = 0; line < reading->list.slots[slot].count; line++) {
            if (take_line(reading, slot, line, err) < 0)
                return error_wrap(err, "%s", reading->class->hami.allocated_key);
        }
    }
    return 0;
}

/* The annotation that says which partitions a class's devices are, or NULL. */
static const char *reservations_of(const struct kube_pod *kube, const struct device_class *class,
                                   const char **out_key)
{
    for (size_t i = 0; i < class->hami.extras.count; i++) {
        *out_key = class->hami.extras.items[i].key;
        if (class->hami.extras.items[i].value == HAMI_VALUE_MIG_ALLOCATIONS)
            return kube_pairs_get(&kube->meta.annotations, *out_key);
    }
    return NULL;
}

static int read_list(const struct kube_pod *kube, const char *text, struct list_reading *reading,
                     struct error *err)
{
    const char *key = "";
    const char *reservations = reservations_of(kube, reading->class, &key);

    if (hami_list_read(text, &reading->list, err) < 0 ||
        hami_slots_place(&reading->list, reading->request, reading->class, reading->positions,
                         err) < 0)
        return error_wrap(err, "%s", reading->class->hami.allocated_key);
    if (reservations != NULL &&
        hami_reservations_read(reservations, &reading->list, &reading->reservations, err) < 0)
        return error_wrap(err, "%s", key);
    return take_lines(reading, err);
}

/* All lists of all classes. return how many there are. */
static int read_lists(const struct kube_pod *kube, const struct class_table *classes,
                      const struct request *request, struct allocation *out, struct error *err)
{
    int found = 0;

    for (size_t i = 0; i < classes->count; i++) {
        const char *key = classes->items[i].hami.allocated_key;
        const char *text = key != NULL ? kube_pairs_get(&kube->meta.annotations, key) : NULL;
        const struct device_class *class = text != NULL ? reader_of(classes, i, request) : NULL;

        AUTO(list_reading_clear)
        struct list_reading reading = {.class = class, .request = request, .out = out};

        if (class == NULL)
            continue;
        if (read_list(kube, text, &reading, err) < 0)
            return error_pass(err);
        found++;
    }
    return found;
}

/* The tier is not told; of single devices there is nothing to tell. */
static enum tier tier_of(const struct allocation *allocation)
{
    for (size_t i = 0; i < allocation->container_count; i++) {
        if (allocation->containers[i].device_count > 1)
            return TIER_UNKNOWN;
    }
    return TIER_INTERCONNECT;
}

static size_t count_devices(const struct allocation *allocation)
{
    size_t count = 0;

    for (size_t i = 0; i < allocation->container_count; i++)
        count += allocation->containers[i].device_count;
    return count;
}

int hami_read_record(const struct kube_pod *kube, const struct class_table *classes,
                     const struct request *request, struct allocation *out, struct error *err)
{
    const char *node = kube_pairs_get(&kube->meta.annotations, KEY_HAMI_NODE);
    AUTO(allocation_clear) struct allocation record = {0};
    int found;

    /* HAMi's filter writes the lists before anything is bound: they hold nothing until then. */
    if (kube->node_name[0] == '\0')
        return 0;
    allocation_init(&record);
    for (size_t i = 0; i < request->container_count; i++)
        allocation_add_container(&record, request->containers[i].name, request->containers[i].kind);
    found = read_lists(kube, classes, request, &record, err);
    if (found < 0)
        return error_pass(err);
    if (found == 0 || count_devices(&record) == 0)
        return 0;
    if (node == NULL)
        return error_set(err, ERR_INVALID, KEY_HAMI_NODE " is missing");
    free(record.node);
    record.node = xstrdup(node);
    record.tier = tier_of(&record);
    *out = record;
    record = (struct allocation){0};
    return 1;
}

static bool is_key_of(const struct hami_class *hami, const char *key)
{
    if ((hami->allocated_key != NULL && strcmp(key, hami->allocated_key) == 0) ||
        (hami->to_allocate_key != NULL && strcmp(key, hami->to_allocate_key) == 0))
        return true;
    for (size_t i = 0; i < hami->extras.count; i++) {
        if (strcmp(key, hami->extras.items[i].key) == 0)
            return true;
    }
    return false;
}

bool hami_is_record_key(const struct class_table *classes, const char *key)
{
    static const char *const common[] = {KEY_HAMI_NODE, KEY_HAMI_TIME, BIND_TIME_KEY,
                                         BIND_PHASE_KEY};

    for (size_t i = 0; i < ARRAY_LEN(common); i++) {
        if (strcmp(key, common[i]) == 0)
            return true;
    }
    for (size_t i = 0; i < classes->count; i++) {
        if (is_key_of(&classes->items[i].hami, key))
            return true;
    }
    return false;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Of cores that are not known by name all are told: so they are booked, too. */
static uint32_t cores_of(const struct allocated_device *given, const struct device *device)
{
    if (!device->class->cores_addressed)
        return given->cores;
    if (core_naming(device, given->cores, given->core_mask) == CORES_NAMED)
        return given->core_mask;
    return device->cores >= 31 ? INT32_MAX : (UINT32_C(1) << device->cores) - 1;
}

static void write_device(const struct allocated_device *given, const struct device *device,
                         struct hami_list *out)
{
    const struct hami_class *hami = &device->class->hami;
    const char *type = hami->writes_product && device->product->chars[0] != '\0'
                           ? device->product->chars
                           : hami->word;
    struct hami_line *line = hami_list_add_line(out, device->id, type);

    line->memory_mib = given->memory_mib;
    line->cores = cores_of(given, device);
    if (device->partitions != NULL)
        hami_suffix_of(device->partitions, &given->partition, line);
}

/* The device of an allocation on the placement's node, or NULL. */
static const struct device *device_of(const struct dialect_placement *placement,
                                      const struct allocated_device *given)
{
    int position = node_find_device(placement->node, given->id);

    return position >= 0 ? &placement->node->devices[position] : NULL;
}

/* A slot for every container, whether it has devices of the class or not. */
static void write_list(const struct dialect_placement *placement, const struct device_class *class,
                       struct buf *out)
{
    const struct allocation *allocation = placement->allocation;
    AUTO(hami_list_clear) struct hami_list list = {0};

    for (size_t i = 0; i < allocation->container_count; i++) {
        const struct allocated_container *container = &allocation->containers[i];

        hami_list_add_slot(&list);
        for (size_t k = 0; k < container->device_count; k++) {
            const struct device *device = device_of(placement, &container->devices[k]);

            if (device != NULL && hami_shares_list(device->class, class))
                write_device(&container->devices[k], device, &list);
        }
    }
    hami_list_write(&list, out);
}

static void write_extras(const struct dialect_placement *placement,
                         const struct device_class *class, struct kube_pairs *annotations)
{
    for (size_t i = 0; i < class->hami.extras.count; i++) {
        AUTO(buf_clear) struct buf value = buf_with_max(ANNOTATIONS_BYTES_MAX);
        const struct hami_extra *extra = &class->hami.extras.items[i];

        if (hami_extra_value(placement, class, extra->value, &value))
            kube_pairs_add(annotations, extra->key, buf_text(&value));
    }
}

static void write_class(const struct dialect_placement *placement, const struct device_class *class,
                        struct kube_pairs *annotations)
{
    AUTO(buf_clear) struct buf list = buf_with_max(ANNOTATIONS_BYTES_MAX);

    write_list(placement, class, &list);
    if (class->hami.to_allocate_key != NULL)
        kube_pairs_add(annotations, class->hami.to_allocate_key, buf_text(&list));
    kube_pairs_add(annotations, class->hami.allocated_key, buf_text(&list));
    write_extras(placement, class, annotations);
}

static void write_common(const struct dialect_placement *placement, bool is_locked,
                         struct kube_pairs *annotations)
{
    AUTO_FREE char *seconds = xasprintf("%" PRIu64, placement->unix_ms / MS_PER_S);

    kube_pairs_add(annotations, KEY_HAMI_NODE, placement->allocation->node);
    kube_pairs_add(annotations, KEY_HAMI_TIME, seconds);
    if (is_locked) /* who takes the lock says since when */
        return;
    kube_pairs_add(annotations, BIND_TIME_KEY, seconds);
    kube_pairs_add(annotations, BIND_PHASE_KEY, BIND_PHASE_ALLOCATING);
}

/* Is it the first device of its list? Each list is written once. */
static bool is_new_list(const struct device_class *class, const struct device_class *const *seen,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (hami_shares_list(seen[i], class))
            return false;
    }
    return true;
}

void hami_write_record(const struct dialect_placement *placement, struct kube_pairs *annotations)
{
    const struct device_class *seen[DEVICE_MAX];
    const struct allocation *allocation = placement->allocation;
    bool is_locked = false;
    size_t count = 0;

    if (placement->node == NULL || !placement->node->wants_lock)
        return;
    for (size_t i = 0; i < allocation->container_count; i++) {
        for (size_t k = 0; k < allocation->containers[i].device_count; k++) {
            const struct device *device =
                device_of(placement, &allocation->containers[i].devices[k]);

            if (device != NULL && count < DEVICE_MAX && is_new_list(device->class, seen, count))
                seen[count++] = device->class;
        }
    }
    for (size_t i = 0; i < count; i++)
        is_locked = is_locked || seen[i]->lock != NODE_LOCK_NONE;
    if (count > 0)
        write_common(placement, is_locked, annotations);
    for (size_t i = 0; i < count; i++)
        write_class(placement, seen[i], annotations);
}
