/* SPDX-License-Identifier: Apache-2.0 */
/* class_keys - the table of all keys of a class file. */
#include "topofit/class_keys.h"

#include "topofit/mem.h"
#include "topofit/node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 4096

#define IN(type, field) offsetof(type, field), sizeof(((type *)0)->field)
#define AT(field) IN(struct device_class, field)

/* Every list looks alike to the reader. */
_Static_assert(sizeof(struct class_texts) == sizeof(struct class_list), "texts are no list");
_Static_assert(sizeof(struct class_numbers) == sizeof(struct class_list), "numbers are no list");
_Static_assert(sizeof(struct class_templates) == sizeof(struct class_list), "rows are no list");
_Static_assert(sizeof(struct hami_keys) == sizeof(struct class_list), "keys are no list");
_Static_assert(sizeof(struct hami_extras) == sizeof(struct class_list), "extras are no list");

static const struct class_word several_words[] = {{"each", SEVERAL_EACH},
                                                  {"whole", SEVERAL_WHOLE},
                                                  {"all-cores", SEVERAL_CORES},
                                                  {"whole-only", SEVERAL_REFUSED},
                                                  {NULL, 0}};

static const struct class_key template_keys[] = {
    {"name", CLASS_TEXT, IN(struct class_template, name),
     .purpose = "what the vendor's tools call it"},
    {"memoryMiB", CLASS_NUMBER, IN(struct class_template, memory_mib), .required = true, .min = 1,
     .max = CLASS_MEMORY_MIB_MAX, .purpose = "memory of the piece"},
    {"cores", CLASS_NUMBER, IN(struct class_template, cores), .max = DEVICE_CORES_MAX,
     .purpose = "how many of the device's compute cores it has; 0: not said"},
};

static const struct class_shape template_shape = {template_keys, ARRAY_LEN(template_keys),
                                                  sizeof(struct class_template)};

static const struct class_word hami_form_words[] = {
#define X(id, word) {word, HAMI_FORM_##id},
    HAMI_FORMS(X)
#undef X
        {NULL, 0}};

static const struct class_word lock_words[] = {
    {"none", NODE_LOCK_NONE}, {"node", NODE_LOCK_NAMED}, {"dsmlu", NODE_LOCK_BARE}, {NULL, 0}};

static const struct class_word hami_value_words[] = {
#define X(id, word) {word, HAMI_VALUE_##id},
    HAMI_VALUES(X)
#undef X
        {NULL, 0}};

static const struct class_key hami_extra_keys[] = {
    {"key", CLASS_TEXT, IN(struct hami_extra, key), .required = true, .purpose = "its key"},
    {"value", CLASS_WORD, IN(struct hami_extra, value), .required = true, .words = hami_value_words,
     .purpose = "what is written there"},
};

static const struct class_shape hami_extra_shape = {hami_extra_keys, ARRAY_LEN(hami_extra_keys),
                                                    sizeof(struct hami_extra)};
static const struct class_key keys[] = {
    {"name", CLASS_TEXT, AT(name), .required = true,
     .purpose = "what inventories and records call the class"},
    {"title", CLASS_TEXT, AT(title), .required = true, .purpose = "for people"},

    {"resources.count", CLASS_TEXT, AT(count_resource), .purpose = "whole numbers of devices"},
    {"resources.memory", CLASS_TEXT, AT(memory_resource),
     .purpose = "memory of each device: a number of units, or a size with Mi or Gi"},
    {"resources.memoryPercent", CLASS_TEXT, AT(percent_resource),
     .purpose = "memory of each device in percent of its own"},
    {"resources.cores", CLASS_TEXT, AT(cores_resource),
     .purpose = "compute of each device in core units"},
    {"resources.slices", CLASS_TEXT, AT(slices_resource),
     .purpose = "slices of one device, exactly so many"},
    {"resources.priority", CLASS_TEXT, AT(priority_resource),
     .purpose = "priority among the tenants of a device; read by the webhook alone"},

    {"resources.profiles", CLASS_TEXT, AT(profile_resources),
     .purpose = "resources of partitions: the name of a profile follows this"},

    {"count.allowed", CLASS_NUMBERS, AT(counts_allowed), .min = 1, .max = DEVICES_MAX,
     .purpose = "how many devices a container may have; empty: any number"},
    {"count.multipleOf", CLASS_NUMBER, AT(count_multiple_of), .fallback = "1", .min = 1,
     .max = DEVICES_MAX, .purpose = "counts above one must be a multiple of it"},
    {"count.oneMeans", CLASS_NUMBER, AT(one_means), .fallback = "1", .min = 1, .max = DEVICES_MAX,
     .purpose = "devices that are taken for a count of one"},
    {"count.several", CLASS_WORD, AT(several), .fallback = "each", .words = several_words,
     .purpose = "what the amounts mean beside a count above one"},

    {"memory.counted", CLASS_YES_NO, AT(memory_counted), .fallback = "true",
     .purpose = "false: devices report no memory, and none is counted"},
    {"memory.unitMiB", CLASS_NUMBER, AT(memory_unit_mib), .fallback = "1", .min = 1,
     .max = CLASS_MEMORY_MIB_MAX, .purpose = "what 1 without a suffix means"},
    {"memory.plainMiBAbove", CLASS_NUMBER, AT(memory_mib_above), .max = CLASS_MEMORY_MIB_MAX,
     .purpose = "a number above it without a suffix is MiB, whatever the unit; 0: none is"},
    {"memory.roundUpToMiB", CLASS_NUMBER, AT(memory_granule_mib), .fallback = "1", .min = 1,
     .max = CLASS_MEMORY_MIB_MAX, .purpose = "amounts are rounded up to a multiple of it"},
    {"memory.forAll", CLASS_YES_NO, AT(memory_for_all),
     .purpose = "the amount is that of all devices of the container together"},
    {"memory.allowedMiB", CLASS_NUMBERS, AT(memory_allowed), .min = 1, .max = CLASS_MEMORY_MIB_MAX,
     .purpose = "amounts that may be asked for; empty: any"},
    {"memory.templates", CLASS_ROWS, AT(templates), .rows = &template_shape,
     .purpose = "sizes in which devices are cut, smallest first: amounts are rounded up to one"},
    {"memory.capacityMiB", CLASS_NUMBER, AT(memory_capacity_mib), .max = CLASS_MEMORY_MIB_MAX,
     .purpose = "beside templates: more than the largest and up to this is a whole device, beyond "
                "is refused; 0: no more than the largest"},

    {"cores.whole", CLASS_NUMBER, AT(cores), .fallback = "100", .min = 1, .max = DEVICE_CORES_MAX,
     .purpose = "core units of a device whose inventory does not say"},
    {"cores.percent", CLASS_YES_NO, AT(cores_percent),
     .purpose = "the amount is percent of the device's own core units, not units"},
    {"cores.forAll", CLASS_YES_NO, AT(cores_for_all),
     .purpose = "the amount is that of all devices of the container together"},
    {"cores.countDevices", CLASS_YES_NO, AT(cores_count_devices),
     .purpose = "cores without a count say how many devices: a part of one, or whole ones"},
    {"cores.addressed", CLASS_YES_NO, AT(cores_addressed),
     .purpose = "a runtime wants to know which cores a container has: records have a bit for each"},
    {"cores.ofMemoryMiB", CLASS_NUMBER, AT(cores_of_memory_mib), .max = CLASS_MEMORY_MIB_MAX,
     .purpose = "cores follow memory, all of them at so many MiB; 0: they do not"},

    {"defaults.count", CLASS_NUMBER, AT(default_count), .fallback = "1", .min = 1,
     .max = DEVICES_MAX, .purpose = "devices when amounts are given and no count"},
    {"defaults.memoryMiB", CLASS_NUMBER, AT(default_memory_mib), .max = CLASS_MEMORY_MIB_MAX,
     .purpose = "memory of each device when none is given; 0: all of it"},
    {"defaults.cores", CLASS_NUMBER, AT(default_cores), .max = DEVICE_CORES_MAX,
     .purpose = "cores of each device when none are given; 0: no promise"},

    {"anySize.annotation", CLASS_TEXT, AT(free_annotation),
     .purpose = "annotation of pods that may have devices cut in any size"},
    {"anySize.value", CLASS_TEXT, AT(free_value),
     .purpose = "its value; without it templates hold, and cores cannot be asked for"},

    {"hami.word", CLASS_TEXT, AT(hami.word),
     .purpose = "what HAMi calls the class in records; without it HAMi does not know the class"},
    {"hami.form", CLASS_WORD, AT(hami.form), .fallback = "none", .words = hami_form_words,
     .purpose = "how a node tells its devices"},
    {"hami.register", CLASS_TEXT, AT(hami.register_key),
     .purpose = "annotation of the node that lists its devices"},
    {"hami.handshake", CLASS_TEXT, AT(hami.handshake_key),
     .purpose = "annotation of the node in which its plugin shows that it is there"},
    {"hami.scores", CLASS_TEXT, AT(hami.scores_key),
     .purpose = "annotation of the node with a score for each pair of devices"},
    {"hami.toAllocate", CLASS_TEXT, AT(hami.to_allocate_key),
     .purpose = "annotation of the pod from which its plugin takes the devices of each container"},
    {"hami.allocated", CLASS_TEXT, AT(hami.allocated_key),
     .purpose = "annotation of the pod that goes on telling what it has"},
    {"hami.writesProduct", CLASS_YES_NO, AT(hami.writes_product),
     .purpose = "records call devices by their product instead of the word"},
    {"hami.lock", CLASS_WORD, AT(lock), .fallback = "none", .words = lock_words,
     .purpose = "lock on the node that is held until its plugin has allocated"},
    {"hami.useTypes", CLASS_TEXTS, AT(hami.use_types),
     .purpose = "annotations of the pod that list products it wants"},
    {"hami.avoidTypes", CLASS_TEXTS, AT(hami.avoid_types),
     .purpose = "the same for products it does not want"},
    {"hami.useDevices", CLASS_TEXTS, AT(hami.use_ids),
     .purpose = "annotations of the pod that list ids of devices it wants"},
    {"hami.avoidDevices", CLASS_TEXTS, AT(hami.avoid_ids),
     .purpose = "the same for devices it does not want"},
    {"hami.numaBind", CLASS_TEXT, AT(hami.numa_bind_key),
     .purpose = "annotation of the pod that wants the devices of a container on one NUMA node"},
    {"hami.mode", CLASS_TEXT, AT(hami.mode_key),
     .purpose = "annotation of the pod that wants devices of some mode only"},
    {"hami.extras", CLASS_ROWS, AT(hami.extras), .rows = &hami_extra_shape,
     .purpose = "annotations that are written to the pod besides"},
    {"hami.service", CLASS_TEXT, AT(hami.service_key),
     .purpose = "annotation of the pod with its service class"},
    {"hami.application", CLASS_TEXT, AT(hami.application_key),
     .purpose = "annotation of the pod that says whether it is online or offline"},
    {"hami.geometries", CLASS_ROWS, AT(hami_geometries), .rows = &class_division_shape,
     .purpose = "how devices are divided that do not list their partitions (HAMi up to 2.9)"},
    {"hami.capacity.idWord", CLASS_TEXT, AT(hami.capacity.id_word),
     .purpose = "ids are the node's name, this word and a number; form capacity from here on"},
    {"hami.capacity.unlessAnnotation", CLASS_TEXT, AT(hami.capacity.unless_annotation),
     .purpose = "annotation of nodes that have none: another class lists the same devices there"},
    {"hami.capacity.count", CLASS_TEXT, AT(hami.capacity.count_resource),
     .purpose = "resource that counts the devices; without it that of the class"},
    {"hami.capacity.units", CLASS_NUMBER, AT(hami.capacity.units), .fallback = "1", .min = 1,
     .max = DEVICE_CORES_MAX, .purpose = "how many of that resource are one device"},
    {"hami.capacity.memoryMiB", CLASS_NUMBER, AT(hami.capacity.memory_mib),
     .max = CLASS_MEMORY_MIB_MAX, .purpose = "memory of each device; 0: by the next key"},
    {"hami.capacity.memory", CLASS_TEXT, AT(hami.capacity.memory_resource),
     .purpose = "resource with the memory of all devices together"},
    {"hami.capacity.memoryUnitMiB", CLASS_NUMBER, AT(hami.capacity.memory_unit_mib),
     .fallback = "1", .min = 1, .max = CLASS_MEMORY_MIB_MAX, .purpose = "what 1 of it means"},
    {"hami.capacity.cores", CLASS_TEXT, AT(hami.capacity.cores_resource),
     .purpose = "resource with the cores of all devices together; without it cores.whole counts"},
    {"hami.capacity.slots", CLASS_NUMBER, AT(hami.capacity.slots), .fallback = "1",
     .max = DEVICE_CORES_MAX,
     .purpose = "pods that may share a device; 0: as many as it has cores"},
    {"hami.capacity.numaHalves", CLASS_YES_NO, AT(hami.capacity.numa_halves),
     .purpose = "the first half of the devices is on NUMA node 0, the second on 1"},
    {"sets", CLASS_ROWS, AT(sets), .rows = &set_rule_shape,
     .purpose = "how devices are given out; the first rule whose condition the node meets counts"},
    {"partitions", CLASS_ROWS, AT(divisions), .rows = &class_division_shape,
     .purpose = "how devices of a product are divided, where the inventory does not list it"},

    {"webhook.visibleVariable", CLASS_TEXT, AT(visible_variable),
     .purpose = "environment variable that says which devices a container sees"},
    {"webhook.noDevices", CLASS_TEXT, AT(no_devices),
     .purpose = "its value for no device; without it an empty text"},
    {"webhook.visibleById", CLASS_YES_NO, AT(visible_by_id),
     .purpose = "the variable takes ids as the inventory has them, in a comma list"},
    {"webhook.priorityVariable", CLASS_TEXT, AT(priority_variable),
     .purpose = "environment variable that gets the amount of resources.priority"},
    {"webhook.corePolicyVariable", CLASS_TEXT, AT(core_policy_variable),
     .purpose = "environment variable for webhook.corePolicy of the configuration"},
    {"webhook.needsRuntimeClass", CLASS_YES_NO, AT(needs_runtime_class),
     .purpose = "webhook.runtimeClassName of the configuration is for pods with such devices"},
};

const struct class_shape class_shape = {keys, ARRAY_LEN(keys), sizeof(struct device_class)};

/* Every word is kept as an enum of this size. */
_Static_assert(sizeof(enum class_several) == sizeof(int), "enums are not of the size of int");

static void *field_of(const struct class_key *key, const void *object)
{
    return (char *)(uintptr_t)object + key->offset;
}

struct class_list class_list_get(const struct class_key *key, const void *object)
{
    struct class_list list;

    assert(key->size == sizeof list);
    memcpy(&list, field_of(key, object), sizeof list);
    return list;
}

void class_list_set(const struct class_key *key, void *object, struct class_list steal_list)
{
    class_field_clear(key, object);
    memcpy(field_of(key, object), &steal_list, sizeof steal_list);
}

static void clear_list(const struct class_key *key, void *object)
{
    struct class_list list = class_list_get(key, object);

    for (size_t i = 0; i < list.count; i++) {
        if (key->type == CLASS_TEXTS)
            free(((char **)list.items)[i]);
        else if (key->type == CLASS_ROWS)
            class_shape_clear(key->rows, (char *)list.items + i * key->rows->size);
    }
    free(list.items);
}

void class_field_clear(const struct class_key *key, void *object)
{
    switch (key->type) {
    case CLASS_TEXT:
        mem_free_pointer(field_of(key, object));
        break;
    case CLASS_TEXTS:
    case CLASS_NUMBERS:
    case CLASS_ROWS:
        clear_list(key, object);
        break;
    case CLASS_NUMBER:
    case CLASS_YES_NO:
    case CLASS_WORD:
        break;
    }
    memset(field_of(key, object), 0, key->size);
}

void class_shape_clear(const struct class_shape *shape, void *object)
{
    for (size_t i = 0; i < shape->count; i++)
        class_field_clear(&shape->keys[i], object);
}
