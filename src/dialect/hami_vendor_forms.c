/* SPDX-License-Identifier: Apache-2.0 */
/* hami_vendor_forms - register annotations that vendors' plugins write in forms of their own. */
#include "hami_node.h"

#include "hami_partitions.h"
#include "topofit/mem.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const json_t *list_of(const struct hami_reading *reading, const json_t *list)
{
    if (list != NULL && !json_is_array(list))
        node_note_problem(reading->node, "%s: a list of devices is expected",
                          reading->class->hami.register_key);
    return json_is_array(list) ? list : NULL;
}

/* --- MetaX ----------------------------------------------------------------------------------- */

static const char *read_metax_entry(const json_t *json, struct hami_device *out)
{
    const json_t *healthy = hami_json_get(json, "healthy");

    if (!json_is_object(json))
        return "must be an object";
    if (!hami_json_text(json, "uuid", &out->id) || !hami_json_text(json, "model", &out->type))
        return "\"uuid\" and \"model\" must be texts";
    if (!hami_json_number(json, "totalDevCount", 0, DEVICE_SLOTS_MAX, 0, &out->slots) ||
        !hami_json_number(json, "totalCompute", 0, DEVICE_CORES_MAX, 0, &out->cores) ||
        !hami_json_number(json, "totalVRam", 0, DEVICE_MEMORY_MIB_MAX, 0, &out->memory_mib) ||
        !hami_json_number(json, "numa", NUMA_UNKNOWN, DEVICE_NUMA_MAX, 0, &out->numa))
        return "\"totalDevCount\", \"totalCompute\", \"totalVRam\" and \"numa\" must be whole "
               "numbers";
    if (healthy != NULL && !json_is_boolean(healthy))
        return "\"healthy\" must be true or false";
    out->mode = "";
    out->index = -1;
    out->healthy = json_is_true(healthy);
    return NULL;
}

/* Where it is, whom it is linked to, and how it shares out compute. */
static void note_metax_facts(const struct hami_reading *reading, const json_t *json,
                             struct device *device)
{
    const char *bus_id = "", *service = "";
    long long zone = 0;

    if (device == NULL)
        return;
    if (hami_json_text(json, "bdf", &bus_id))
        text_replace(&device->bus_id, bus_id);
    if (hami_json_number(json, "linkZone", INT32_MIN, INT32_MAX, 0, &zone) && zone > 0)
        device->zone = (int)zone;
    if (!hami_json_text(json, "qosPolicy", &service) ||
        (service[0] != '\0' && !service_parse(service, &device->service)))
        node_note_problem(reading->node, "device %s: \"qosPolicy\" is not known", device->id);
}

bool hami_read_metax(const struct hami_reading *reading, const char *text)
{
    json_auto_t *root = hami_json_read(reading, text);
    const json_t *list = list_of(reading, root), *json;
    size_t i;

    json_array_foreach(list, i, json)
    {
        struct hami_device found = {0};
        const char *wrong = read_metax_entry(json, &found);

        if (wrong != NULL)
            hami_note(reading, i, wrong);
        else
            note_metax_facts(reading, json, hami_add_device(reading, i, &found));
    }
    return list != NULL;
}

/* --- Enflame --------------------------------------------------------------------------------- */

/* Numbers come as texts or as numbers here: "0", 6. */
static bool read_digits(const json_t *json, const char *key, long long *out)
{
    const char *text = "";
    char *end;

    if (hami_json_number(json, key, 0, DEVICE_INDEX_MAX, -1, out))
        return *out >= 0;
    if (!hami_json_text(json, key, &text) || text[0] == '\0' || strlen(text) > 5 ||
        strspn(text, "0123456789") != strlen(text))
        return false;
    *out = strtoll(text, &end, 10);
    return *out <= DEVICE_INDEX_MAX;
}

/*
 * The profiles "3g.20gb": "1" of a node, each in the place of its number. A partition may be
 * anywhere on the device: only how many slices all have together counts, so each takes one place
 * and its slices as compute.
 */
static const char *read_drs_profiles(const json_t *profiles, struct partition_profile *out,
                                     unsigned *count)
{
    const char *name;
    const json_t *value;

    *count = 0;
    if (!json_is_object(profiles) || json_object_size(profiles) == 0 ||
        json_object_size(profiles) > PARTITION_PROFILES_MAX)
        return "\"profiles\" must be an object of 1 to 16";
    memset(out, 0, PARTITION_PROFILES_MAX * sizeof *out);
    json_object_foreach((json_t *)(uintptr_t)profiles, name, value)
    {
        long long number = 0;
        unsigned size = partition_name_compute(name);

        if (!read_digits(profiles, name, &number) || (size_t)number >= json_object_size(profiles) ||
            out[number].compute != 0)
            return "\"profiles\" must be numbered from 0";
        if (size == 0 || size > PARTITION_SLICES_MAX || partition_name_mib(name) == 0 ||
            strlen(name) >= sizeof out->name)
            return "\"profiles\" must have names like 3g.20gb";
        out[number] = (struct partition_profile){
            .memory_mib = partition_name_mib(name), .width = 1, .compute = (uint8_t)size};
        memcpy(out[number].name, name, strlen(name));
    }
    *count = (unsigned)json_object_size(profiles);
    return NULL;
}

/* One device: so many slices, cut by the profiles of the node. */
static struct partition_table *drs_table(struct partition_profile *profiles, unsigned count,
                                         unsigned capacity, const char **out_fault)
{
    AUTO(partition_table_unref_pointer) struct partition_table *table = NULL;

    *out_fault = "\"capacity\" must be 1 to 15 slices";
    if (capacity < 1 || capacity >= PARTITION_SLICES_MAX)
        return NULL;
    table = partition_table_new(capacity, capacity);
    *out_fault = NULL;
    for (unsigned i = 0; i < count && *out_fault == NULL; i++) {
        if (profiles[i].compute > capacity)
            continue; /* of a larger device of the node */
        profiles[i].cores = (uint16_t)((profiles[i].compute * 100u + capacity - 1) / capacity);
        profiles[i].starts = (uint16_t)((1u << capacity) - 1);
        *out_fault = partition_table_add(table, &profiles[i]);
    }
    return *out_fault == NULL ? steal_ptr(&table) : NULL;
}

/* What all slices have, by the profile that has most for each: no mixture of them has more. */
static uint64_t memory_of_slices(const struct partition_table *table)
{
    uint64_t most_mib = 0;

    for (unsigned i = 0; i < table->count; i++) {
        const struct partition_profile *profile = &table->profiles[i];
        uint64_t mib =
            (profile->memory_mib * table->slices + profile->compute - 1) / profile->compute;

        most_mib = mib > most_mib ? mib : most_mib;
    }
    return most_mib;
}

static void read_drs_device(const struct hami_reading *reading, size_t entry, const json_t *json,
                            struct partition_profile *profiles, unsigned count)
{
    struct hami_device found = {.type = reading->class->hami.word,
                                .mode = HAMI_MODE_DIVIDED,
                                .cores = 100,
                                .numa = NUMA_UNKNOWN,
                                .healthy = true};
    AUTO(partition_table_unref_pointer) struct partition_table *table = NULL;
    const char *fault = "\"index\", \"minor\" and \"capacity\" must be whole numbers";
    AUTO_FREE char *id = NULL;
    long long minor = 0;
    char number[24];
    struct device *device;

    if (json_is_object(json) && read_digits(json, "index", &found.index) &&
        read_digits(json, "minor", &minor) && read_digits(json, "capacity", &found.slots))
        table = drs_table(profiles, count, (unsigned)found.slots, &fault);
    if (table == NULL) {
        hami_note(reading, entry, fault);
        return;
    }
    found.id = id = xasprintf("%s-enflame-drs-%lld", reading->node->name, found.index);
    found.partitions = table;
    found.memory_mib = (long long)memory_of_slices(table);
    device = hami_add_device(reading, entry, &found);
    if (device == NULL)
        return;
    snprintf(number, sizeof number, "%lld", minor);
    text_replace(&device->bus_id, number); /* as which its driver knows it */
}

bool hami_read_enflame(const struct hami_reading *reading, const char *text)
{
    json_auto_t *root = hami_json_read(reading, text);
    const json_t *list = list_of(reading, hami_json_get(root, "devices")), *json;
    struct partition_profile profiles[PARTITION_PROFILES_MAX];
    unsigned count = 0;
    const char *wrong = read_drs_profiles(hami_json_get(root, "profiles"), profiles, &count);
    size_t i;

    if (root != NULL && (list == NULL || wrong != NULL))
        node_note_problem(reading->node, "%s: %s", reading->class->hami.register_key,
                          wrong != NULL ? wrong : "\"devices\" is expected");
    if (list == NULL || wrong != NULL)
        return false;
    json_array_foreach(list, i, json) read_drs_device(reading, i, json, profiles, count);
    return true;
}
