/* SPDX-License-Identifier: Apache-2.0 */
/* hami_json - JSON as HAMi's plugins write it. */
#include "hami_node.h"

#include "hami_partitions.h"
#include "topofit/mem.h"
#include "topofit/text.h"

#include <jansson.h>

#include <string.h>

const json_t *hami_json_get(const json_t *object, const char *key)
{
    const json_t *exact = json_object_get(object, key);
    const json_t *value;
    const char *name;

    if (exact != NULL)
        return exact;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        if (text_equal_nocase(name, key))
            return value;
    }
    return NULL;
}

bool hami_json_number(const json_t *object, const char *key, long long min, long long max,
                      long long fallback, long long *out)
{
    const json_t *value = hami_json_get(object, key);

    if (value == NULL || json_is_null(value)) {
        *out = fallback;
        return true;
    }
    if (!json_is_integer(value) || json_integer_value(value) < min ||
        json_integer_value(value) > max)
        return false;
    *out = json_integer_value(value);
    return true;
}

bool hami_json_text(const json_t *object, const char *key, const char **out)
{
    const json_t *value = hami_json_get(object, key);

    if (value == NULL || json_is_null(value)) {
        *out = "";
        return true;
    }
    if (!json_is_string(value))
        return false;
    *out = json_string_value(value);
    return true;
}

json_t *hami_json_read(const struct hami_reading *reading, const char *text)
{
    const char *key = reading->class->hami.register_key;
    json_error_t where;
    json_t *root = json_loads(text, 0, &where);

    if (root == NULL)
        node_note_problem(reading->node, "%s: line %d, column %d: %s", key, where.line,
                          where.column, where.text);
    return root;
}

/* --- the common form ------------------------------------------------------------------------- */

/* Go leaves out what is 0 or false. */
static const char *read_entry(const json_t *json, struct hami_device *out)
{
    const json_t *health = hami_json_get(json, "health");

    if (!json_is_object(json))
        return "must be an object";
    if (!hami_json_text(json, "id", &out->id) || !hami_json_text(json, "type", &out->type) ||
        !hami_json_text(json, "mode", &out->mode))
        return "\"id\", \"type\" and \"mode\" must be texts";
    if (!hami_json_number(json, "index", 0, DEVICE_INDEX_MAX, -1, &out->index) ||
        !hami_json_number(json, "count", 0, DEVICE_SLOTS_MAX, 0, &out->slots) ||
        !hami_json_number(json, "devmem", 0, DEVICE_MEMORY_MIB_MAX, 0, &out->memory_mib) ||
        !hami_json_number(json, "devcore", 0, DEVICE_CORES_MAX, 0, &out->cores) ||
        !hami_json_number(json, "numa", NUMA_UNKNOWN, DEVICE_NUMA_MAX, 0, &out->numa))
        return "\"index\", \"count\", \"devmem\", \"devcore\" and \"numa\" must be whole numbers";
    if (health != NULL && !json_is_boolean(health))
        return "\"health\" must be true or false";
    out->healthy = json_is_true(health);
    return NULL;
}

/* The network that the device is in (Ascend): numbers of Go programs may come as 1.0. */
static int network_of(const json_t *json)
{
    const json_t *id = hami_json_get(hami_json_get(json, "custominfo"), "NetworkID");
    double number = json_is_number(id) ? json_number_value(id) : -1;

    return number >= 0 && number <= DEVICE_INDEX_MAX ? (int)number : ZONE_UNKNOWN;
}

static void read_listed(const struct hami_reading *reading, size_t entry, const json_t *json)
{
    AUTO(partition_table_unref_pointer) struct partition_table *partitions = NULL;
    struct hami_device found = {0};
    const char *wrong = read_entry(json, &found);
    struct device *device;

    if (wrong == NULL)
        partitions = hami_profiles_read(hami_json_get(json, "migProfiles"), &wrong);
    if (wrong != NULL) {
        hami_note(reading, entry, wrong);
        return;
    }
    found.partitions = partitions;
    device = hami_add_device(reading, entry, &found);
    if (device != NULL)
        device->zone = network_of(json);
}

bool hami_read_json(const struct hami_reading *reading, const char *text)
{
    json_auto_t *root = hami_json_read(reading, text);
    const json_t *json;
    size_t i;

    if (root != NULL && !json_is_array(root))
        node_note_problem(reading->node, "%s: a list is expected",
                          reading->class->hami.register_key);
    if (!json_is_array(root))
        return false;
    json_array_foreach(root, i, json)
    {
        read_listed(reading, i, json);
    }
    return true;
}
