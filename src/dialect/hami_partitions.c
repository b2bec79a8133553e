/* SPDX-License-Identifier: Apache-2.0 */
/* hami_partitions - devices in MIG mode, in the spellings of both generations of HAMi's plugin. */
#include "hami_partitions.h"

#include "hami_node.h"
#include "hami_slots.h"
#include "topofit/mem.h"
#include "topofit/text.h"

#include <jansson.h>

#include <stdlib.h>
#include <string.h>

/* --- profiles of 2.10 ------------------------------------------------------------------------ */

/* All placements of a profile have its width. */
static const char *read_placements(const json_t *json, struct partition_profile *out)
{
    const json_t *placements = hami_json_get(json, "placements"), *placement;
    size_t i;

    json_array_foreach(placements, i, placement)
    {
        long long start = 0, size = 0;

        if (!json_is_object(placement) ||
            !hami_json_number(placement, "start", 0, PARTITION_SLICES_MAX - 1, 0, &start) ||
            !hami_json_number(placement, "size", 1, PARTITION_SLICES_MAX, 0, &size) || size == 0)
            return "\"placements\" must have \"start\" and \"size\" within 16 slices";
        if (out->width != 0 && out->width != size)
            return "\"placements\" of a profile must have one size";
        out->width = (uint8_t)size;
        out->starts = (uint16_t)(out->starts | 1u << start);
    }
    return out->starts != 0 ? NULL : "a profile has no \"placements\"";
}

static const char *read_profile(const json_t *json, struct partition_profile *out)
{
    long long memory_mib = 0, cores = 0, slices = 0;
    const char *name = "";

    *out = (struct partition_profile){0};
    if (!json_is_object(json) || !hami_json_text(json, "name", &name) || name[0] == '\0' ||
        strlen(name) >= sizeof out->name ||
        !hami_json_number(json, "memoryMB", 1, DEVICE_MEMORY_MIB_MAX, 0, &memory_mib) ||
        !hami_json_number(json, "core", 0, DEVICE_CORES_MAX, 0, &cores) ||
        !hami_json_number(json, "sliceCount", 0, PARTITION_SLICES_MAX, 0, &slices))
        return "\"name\", \"memoryMB\", \"core\" and \"sliceCount\" of a profile are expected";
    memcpy(out->name, name, strlen(name));
    out->memory_mib = (uint64_t)memory_mib;
    out->cores = (uint16_t)cores;
    out->compute = (uint8_t)(slices > 0 ? slices : (long long)partition_name_compute(name));
    return read_placements(json, out);
}

struct partition_table *hami_profiles_read(const json_t *profiles, const char **out_fault)
{
    struct partition_profile found[PARTITION_PROFILES_MAX];
    const json_t *json;
    size_t i;

    *out_fault = NULL;
    if (profiles == NULL || json_is_null(profiles) ||
        (json_is_array(profiles) && json_array_size(profiles) == 0))
        return NULL;
    *out_fault = "\"migProfiles\" must be a list of at most 16";
    if (!json_is_array(profiles) || json_array_size(profiles) > ARRAY_LEN(found))
        return NULL;
    json_array_foreach(profiles, i, json)
    {
        *out_fault = read_profile(json, &found[i]);
        if (*out_fault != NULL)
            return NULL;
    }
    return partition_table_of_profiles(found, (unsigned)json_array_size(profiles), out_fault);
}

/* --- geometries of 2.9 ----------------------------------------------------------------------- */

struct partition_table *hami_geometry_of(const struct device_class *class, const char *product)
{
    const struct class_division *division = division_for(&class->hami_geometries, product);
    const char *fault;

    return division != NULL ? partition_table_of(division, &fault) : NULL;
}

static unsigned profile_at(const struct partition_table *table, unsigned group, unsigned start)
{
    unsigned i = 0;

    while (i < table->count &&
           (table->profiles[i].group != group || (table->profiles[i].starts >> start & 1) == 0))
        i++;
    return i;
}

static bool partition_of_line(const struct partition_table *table, const struct hami_line *line,
                              struct partition_placement *out)
{
    const struct partition_use nothing = {0};
    int start =
        partition_geometry_start(table, (unsigned)line->template_index, (unsigned)line->slot_index);
    unsigned profile;

    if (start < 0)
        return false;
    profile = profile_at(table, (unsigned)line->template_index + 1, (unsigned)start);
    if (profile == table->count || table->profiles[profile].memory_mib != line->memory_mib)
        return false;
    *out = partition_placement_of(table, profile, (unsigned)start,
                                  partition_at(table, nothing, profile, (unsigned)start).slices);
    return true;
}

bool hami_partition_of_line(const struct device_class *class, const struct hami_line *line,
                            struct partition_placement *out)
{
    const char *fault;

    if (line->template_index >= PARTITION_SLICES_MAX || line->slot_index >= PARTITION_SLICES_MAX)
        return false;
    for (size_t i = 0; i < class->hami_geometries.count; i++) {
        AUTO(partition_table_unref_pointer)
        struct partition_table *table =
            partition_table_of(&class->hami_geometries.items[i], &fault);

        if (table != NULL && partition_of_line(table, line, out))
            return true;
    }
    return false;
}

bool hami_suffix_of(const struct partition_table *table,
                    const struct partition_placement *partition, struct hami_line *out)
{
    int first;

    for (unsigned i = 0; i < table->count; i++) {
        const struct partition_profile *profile = &table->profiles[i];

        if (profile->group == 0 || (profile->starts >> partition->start & 1) == 0)
            continue;
        first = partition_geometry_start(table, profile->group - 1u, 0);
        out->template_index = profile->group - 1;
        out->slot_index = partition->start - first;
        return first >= 0;
    }
    return false;
}

/* --- reservations of 2.10 -------------------------------------------------------------------- */

void hami_reservations_clear(struct hami_reservations *reservations)
{
    free(reservations->items);
    *reservations = (struct hami_reservations){0};
}

static int read_reservation(const json_t *json, const struct hami_list *list,
                            struct hami_reservation *out, struct error *err)
{
    const json_t *placement = hami_json_get(json, "placement");
    long long slot = 0, line = 0, start = 0, size = 0;
    const char *id = "", *profile = "";

    if (!json_is_object(json) || !hami_json_text(json, "gpuUUID", &id) ||
        !hami_json_text(json, "profile", &profile) || profile[0] == '\0' ||
        strlen(profile) >= PARTITION_NAME_MAX ||
        !hami_json_number(json, "containerIndex", 0, REQUEST_CONTAINERS_MAX, 0, &slot) ||
        !hami_json_number(json, "deviceIndex", 0, DEVICE_MAX, 0, &line) ||
        !hami_json_number(placement, "start", 0, PARTITION_SLICES_MAX - 1, 0, &start) ||
        !hami_json_number(placement, "size", 1, PARTITION_SLICES_MAX, 0, &size) || size == 0)
        return error_set(err, ERR_INVALID, "a field is missing or wrong");
    if ((size_t)slot >= list->count || (size_t)line >= list->slots[slot].count ||
        strcmp(list->slots[slot].lines[line].id, id) != 0)
        return error_set(err, ERR_INVALID, "device %lld of container %lld is not %.128s", line,
                         slot, id);
    *out = (struct hami_reservation){
        (size_t)slot, (size_t)line,
        partition_placement_made(profile, (unsigned)start, (unsigned)size)};
    return 0;
}

int hami_reservations_read(const char *text, const struct hami_list *list,
                           struct hami_reservations *out, struct error *err)
{
    AUTO(hami_reservations_clear) struct hami_reservations found = {0};
    json_error_t where;
    json_auto_t *root = json_loads(text, JSON_DECODE_ANY, &where);
    const json_t *json;
    size_t i;

    if (root == NULL)
        return error_set(err, ERR_INVALID, "line %d, column %d: %s", where.line, where.column,
                         where.text);
    if (!json_is_array(root) || json_array_size(root) > hami_list_lines(list))
        return error_set(err, ERR_INVALID, "a list of no more than the pod's devices is expected");
    found.items = xcalloc(json_array_size(root), sizeof *found.items);
    json_array_foreach(root, i, json)
    {
        if (read_reservation(json, list, &found.items[i], err) < 0)
            return error_wrap(err, "entry %zu", i);
        found.count++;
    }
    *out = found;
    found = (struct hami_reservations){0};
    return 0;
}

static void write_reservation(const struct allocated_device *given, size_t container, size_t line,
                              struct buf *out)
{
    buf_addf(out, "%s{\"containerIndex\":%zu,\"deviceIndex\":%zu,\"gpuUUID\":",
             out->length > 0 ? "," : "[", container, line);
    buf_add_json_string(out, given->id);
    buf_add_text(out, ",\"profile\":");
    buf_add_json_string(out, given->partition.profile);
    buf_addf(out, ",\"placement\":{\"start\":%u,\"size\":%u}}", given->partition.start,
             given->partition.size);
}

/* The device of a line, if the annotation is for it. */
static bool is_reserved(const struct dialect_placement *placement, const struct device_class *class,
                        const struct allocated_device *given)
{
    int position = node_find_device(placement->node, given->id);
    const struct device *device = position >= 0 ? &placement->node->devices[position] : NULL;
    struct hami_line unused;

    return device != NULL && hami_shares_list(device->class, class) && device->partitions != NULL &&
           given->partition.profile[0] != '\0' &&
           !hami_suffix_of(device->partitions, &given->partition, &unused);
}

/* Devices of other lists are not in it, so they do not count. */
static bool is_listed(const struct dialect_placement *placement, const struct device_class *class,
                      const struct allocated_device *given)
{
    int position = node_find_device(placement->node, given->id);

    return position >= 0 && hami_shares_list(placement->node->devices[position].class, class);
}

void hami_reservations_write(const struct dialect_placement *placement,
                             const struct device_class *class, struct buf *out)
{
    const struct allocation *allocation = placement->allocation;

    for (size_t i = 0; i < allocation->container_count; i++) {
        size_t line = 0;

        for (size_t k = 0; k < allocation->containers[i].device_count; k++) {
            const struct allocated_device *given = &allocation->containers[i].devices[k];

            if (is_reserved(placement, class, given))
                write_reservation(given, i, line, out);
            line += is_listed(placement, class, given);
        }
    }
    if (out->length > 0)
        buf_add_byte(out, ']');
}
