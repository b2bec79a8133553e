/* SPDX-License-Identifier: Apache-2.0 */
/* native_partitions - "partitions" of a device in topofit.io/inventory. */
#include "native_partitions.h"

#include "topofit/mem.h"
#include "topofit/node.h"

#include <string.h>

#define COMPUTE_MAX 64

/* A whole number up to a limit; 0 when the key is missing. */
static long long read_number(const json_t *json, const char *key, long long max, bool *failed)
{
    const json_t *value = json_object_get(json, key);

    if (value == NULL)
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > max)
        *failed = true;
    return json_integer_value(value);
}

static uint16_t read_starts(const json_t *json, bool *failed)
{
    const json_t *starts = json_object_get(json, "starts"), *start;
    uint16_t mask = 0;
    size_t i;

    json_array_foreach(starts, i, start)
    {
        long long at = json_integer_value(start);

        if (!json_is_integer(start) || at < 0 || at >= PARTITION_SLICES_MAX)
            *failed = true;
        else
            mask = (uint16_t)(mask | 1u << at);
    }
    return mask;
}

static const char *read_profile(const json_t *json, struct partition_profile *out)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    bool failed = name == NULL || strlen(name) >= sizeof out->name;

    *out = (struct partition_profile){
        .memory_mib = (uint64_t)read_number(json, "memoryMiB", DEVICE_MEMORY_MIB_MAX, &failed),
        .cores = (uint16_t)read_number(json, "cores", DEVICE_CORES_MAX, &failed),
        .width = (uint8_t)read_number(json, "size", PARTITION_SLICES_MAX, &failed),
        .compute = (uint8_t)read_number(json, "compute", COMPUTE_MAX, &failed),
        .starts = read_starts(json, &failed),
        .max = (uint8_t)read_number(json, "max", PARTITION_LIMITS_MAX, &failed),
        .group = (uint8_t)read_number(json, "group", PARTITION_SLICES_MAX, &failed),
    };
    if (json_object_get(json, "size") == NULL)
        out->width = 1;
    if (failed)
        return "with a short name and whole numbers within their ranges";
    memcpy(out->name, name, strlen(name));
    return NULL;
}

static struct partition_table *read_list(const json_t *list, const char **out_fault)
{
    struct partition_profile profiles[PARTITION_PROFILES_MAX];
    const json_t *json;
    size_t i;

    *out_fault = "at most 16 profiles";
    if (json_array_size(list) > ARRAY_LEN(profiles))
        return NULL;
    json_array_foreach(list, i, json)
    {
        *out_fault = read_profile(json, &profiles[i]);
        if (*out_fault != NULL)
            return NULL;
    }
    return partition_table_of_profiles(profiles, (unsigned)json_array_size(list), out_fault);
}

struct partition_table *native_read_partitions(const json_t *json, const struct device_class *class,
                                               const char *product, const char **out_fault)
{
    const struct class_division *division;

    *out_fault = NULL;
    if (json == NULL || json_is_false(json) || (json_is_array(json) && json_array_size(json) == 0))
        return NULL;
    if (json_is_array(json))
        return read_list(json, out_fault);
    division = class != NULL ? division_for(&class->divisions, product) : NULL;
    if (json_is_true(json) && division != NULL)
        return partition_table_of(division, out_fault);
    *out_fault = json_is_true(json) ? "a list of profiles: the class knows none for the product"
                                    : "true, false or a list of profiles";
    return NULL;
}
