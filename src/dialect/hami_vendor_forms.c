/* SPDX-License-Identifier: Apache-2.0 */
/* hami_vendor_forms - register annotations that vendors' plugins write in forms of their own. */
#include "hami_node.h"

#include "topofit/mem.h"

#include <jansson.h>

#include <stdlib.h>
#include <string.h>

#define MEMORY_MIB_MAX (1LL << 40)
#define AMOUNT_MAX 65535
#define NUMA_MAX 32767

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
    if (!hami_json_number(json, "totalDevCount", 0, AMOUNT_MAX, 0, &out->slots) ||
        !hami_json_number(json, "totalCompute", 0, AMOUNT_MAX, 0, &out->cores) ||
        !hami_json_number(json, "totalVRam", 0, MEMORY_MIB_MAX, 0, &out->memory_mib) ||
        !hami_json_number(json, "numa", NUMA_UNKNOWN, NUMA_MAX, 0, &out->numa))
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
    if (hami_json_text(json, "bdf", &bus_id)) {
        free(device->bus_id);
        device->bus_id = xstrdup(bus_id);
    }
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

#define GCU_MEMORY_MIB 1024 /* of a GB in the names of its profiles */

/* The most memory that a profile has, from its name: "6g.40gb". 0 when there is none. */
static long long largest_profile_mib(const json_t *profiles)
{
    long long most = 0;
    const char *name;
    const json_t *value;

    json_object_foreach((json_t *)(uintptr_t)profiles, name, value)
    {
        const char *dot = strchr(name, '.');
        long gb = dot != NULL ? strtol(dot + 1, NULL, 10) : 0;

        if (gb > 0 && gb <= AMOUNT_MAX && gb * GCU_MEMORY_MIB > most)
            most = gb * GCU_MEMORY_MIB;
    }
    return most;
}

/* Numbers come as texts here: "0". */
static bool read_digits(const json_t *json, const char *key, long long *out)
{
    const char *text = NULL;
    char *end;

    if (hami_json_number(json, key, 0, AMOUNT_MAX, -1, out))
        return true;
    if (!hami_json_text(json, key, &text) || text[0] == '\0' || strlen(text) > 5 ||
        strspn(text, "0123456789") != strlen(text))
        return false;
    *out = strtoll(text, &end, 10);
    return *out <= AMOUNT_MAX;
}

static void read_enflame_entry(const struct hami_reading *reading, size_t entry, const json_t *json,
                               long long memory_mib)
{
    struct hami_device found = {.type = reading->class->hami.word,
                                .mode = "",
                                .cores = 100,
                                .memory_mib = memory_mib,
                                .numa = NUMA_UNKNOWN,
                                .healthy = true};
    AUTO_FREE char *id = NULL;

    if (!json_is_object(json) || !read_digits(json, "index", &found.index) || found.index < 0 ||
        !hami_json_number(json, "capacity", 0, AMOUNT_MAX, 0, &found.slots)) {
        hami_note(reading, entry, "\"index\" and \"capacity\" must be whole numbers");
        return;
    }
    found.id = id = xasprintf("%s-enflame-%lld", reading->node->name, found.index);
    hami_add_device(reading, entry, &found);
}

bool hami_read_enflame(const struct hami_reading *reading, const char *text)
{
    json_auto_t *root = hami_json_read(reading, text);
    const json_t *list = list_of(reading, hami_json_get(root, "devices")), *json;
    long long memory_mib = largest_profile_mib(hami_json_get(root, "profiles"));
    size_t i;

    json_array_foreach(list, i, json) read_enflame_entry(reading, i, json, memory_mib);
    if (root != NULL && list == NULL)
        node_note_problem(reading->node, "%s: \"devices\" is expected",
                          reading->class->hami.register_key);
    return list != NULL;
}
