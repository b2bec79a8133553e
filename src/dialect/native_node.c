/* SPDX-License-Identifier: Apache-2.0 */
/* native_node - topofit.io/inventory and topology on nodes. */
#include "native_node.h"

#include "device_id.h"
#include "native_partitions.h"
#include "native_topology.h"
#include "topofit/mem.h"

#include <jansson.h>

#include <stdlib.h>
#include <string.h>

#define PRODUCT_MAX 256
#define WORD_MAX 128 /* bytes */

/* One entry of the inventory being read. */
struct entry {
    struct node *node;
    const json_t *json;
    size_t number; /* in the list, from 0, for texts */
    bool failed;
};

static void fail(struct entry *entry, const char *key, const char *expected)
{
    if (!entry->failed)
        node_note_problem(entry->node, "inventory device %zu left out: \"%s\" must be %s",
                          entry->number, key, expected);
    entry->failed = true;
}

/* A whole number in [min, max], or `fallback` when the key is missing. */
static long long read_number(struct entry *entry, const char *key, long long min, long long max,
                             long long fallback)
{
    const json_t *value = json_object_get(entry->json, key);

    if (value == NULL)
        return fallback;
    if (json_is_integer(value) && json_integer_value(value) >= min &&
        json_integer_value(value) <= max)
        return json_integer_value(value);
    fail(entry, key, "a whole number within its range");
    return fallback;
}

/* A string of at most max bytes, "" when the key is missing. Borrowed. */
static const char *read_string(struct entry *entry, const char *key, size_t max)
{
    const json_t *value = json_object_get(entry->json, key);

    if (value == NULL)
        return "";
    if (json_is_string(value) && json_string_length(value) <= max)
        return json_string_value(value);
    fail(entry, key, "a text of reasonable length");
    return "";
}

static const struct device_class *read_class(struct entry *entry, const struct class_table *classes)
{
    const char *name = read_string(entry, "class", WORD_MAX);
    const struct device_class *class = class_find(classes, name[0] != '\0' ? name : "nvidia");

    if (class == NULL)
        fail(entry, "class", "the name of a device class");
    return class;
}

static bool read_healthy(struct entry *entry)
{
    const json_t *value = json_object_get(entry->json, "healthy");

    if (value != NULL && !json_is_boolean(value))
        fail(entry, "healthy", "true or false");
    return value == NULL || json_is_true(value);
}

static enum service read_service(struct entry *entry)
{
    const char *name = read_string(entry, "service", WORD_MAX);
    enum service service = SERVICE_ANY;

    if (name[0] != '\0' && !service_parse(name, &service))
        fail(entry, "service", "best-effort, fixed-share or burst-share");
    return service;
}

static struct partition_table *read_partitions(struct entry *entry,
                                               const struct device_class *class)
{
    const char *fault = NULL;
    struct partition_table *table =
        native_read_partitions(json_object_get(entry->json, "partitions"), class,
                               read_string(entry, "product", PRODUCT_MAX), &fault);

    if (fault != NULL)
        fail(entry, "partitions", fault);
    return table;
}

static bool has_index(const struct node *node, unsigned index)
{
    for (unsigned i = 0; i < node->device_count; i++) {
        if (node->devices[i].index == index)
            return true;
    }
    return false;
}

/* A mistyped key would leave a device without what it says: name it. */
static void note_unknown_keys(struct entry *entry)
{
    static const char *const keys[] = {"id",         "index", "class",  "product", "memoryMiB",
                                       "cores",      "slots", "numa",   "healthy", "busId",
                                       "partitions", "zone",  "service"};
    const char *key;
    const json_t *value;

    json_object_foreach((json_t *)(uintptr_t)entry->json, key, value)
    {
        bool known = false;

        for (size_t i = 0; i < ARRAY_LEN(keys) && !known; i++)
            known = strcmp(keys[i], key) == 0;
        if (!known)
            node_note_problem(entry->node, "inventory device %zu: unknown key \"%.40s\" ignored",
                              entry->number, key);
    }
}

static void read_device(struct entry *entry, const struct class_table *classes)
{
    const char *id = read_string(entry, "id", DEVICE_ID_BYTES_MAX);
    const char *product = read_string(entry, "product", PRODUCT_MAX);
    const char *bus_id = read_string(entry, "busId", WORD_MAX);
    const struct device_class *class = read_class(entry, classes);
    struct device fields = {
        .index =
            (unsigned)read_number(entry, "index", 0, DEVICE_INDEX_MAX, (long long)entry->number),
        .memory_mib = (uint64_t)read_number(entry, "memoryMiB", 0, DEVICE_MEMORY_MIB_MAX, 0),
        .cores =
            (uint16_t)read_number(entry, "cores", 0, DEVICE_CORES_MAX, class ? class->cores : 0),
        .slots = (uint16_t)read_number(entry, "slots", 0, DEVICE_SLOTS_MAX, 1),
        .numa = (int)read_number(entry, "numa", NUMA_UNKNOWN, DEVICE_NUMA_MAX, NUMA_UNKNOWN),
        .zone = (int)read_number(entry, "zone", ZONE_UNKNOWN, DEVICE_INDEX_MAX, ZONE_UNKNOWN),
        .service = read_service(entry),
        .healthy = read_healthy(entry),
    };
    AUTO(partition_table_unref_pointer)
    struct partition_table *partitions = read_partitions(entry, class);
    struct device *device;

    if (!device_id_ok(id) || node_find_device(entry->node, id) >= 0)
        fail(entry, "id", "unique, of letters, digits and . _ : / -");
    if (has_index(entry->node, fields.index))
        fail(entry, "index", "unique");
    if (entry->failed)
        return;
    note_unknown_keys(entry);
    if (fields.memory_mib == 0 && class->memory_counted)
        node_note_problem(entry->node,
                          "inventory device %zu has no memoryMiB: it is never given out",
                          entry->number);
    device = node_add_device(entry->node, id);
    if (device == NULL) {
        fail(entry, "devices", "at most 64");
        return;
    }
    device->index = fields.index;
    device->class = class;
    device->memory_mib = fields.memory_mib;
    device->cores = fields.cores;
    device->slots = fields.slots;
    device->numa = fields.numa;
    device->zone = fields.zone;
    device->service = fields.service;
    device->partitions = steal_ptr(&partitions);
    device->healthy = fields.healthy;
    text_replace(&device->bus_id, bus_id);
    text_replace(&device->product, product);
}

static bool read_inventory(const char *text, const struct class_table *classes, struct node *node)
{
    json_error_t where;
    json_auto_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    const json_t *devices = json_object_get(root, "devices");
    const json_t *json;
    size_t i;

    if (root == NULL) {
        node_note_problem(node, KEY_INVENTORY ": line %d, column %d: %s", where.line, where.column,
                          where.text);
        return false;
    }
    if (!json_is_array(devices)) {
        node_note_problem(node, KEY_INVENTORY ": an object with a list \"devices\" is expected");
        return false;
    }
    json_array_foreach(devices, i, json)
    {
        struct entry entry = {node, json, i, false};

        if (json_is_object(json))
            read_device(&entry, classes);
        else
            fail(&entry, "devices", "a list of objects");
    }
    node_sort_devices(node);
    return true;
}

/* Who hands out what the inventory lists. */
static void read_plugin(const char *word, struct node *node)
{
    if (text_equal_nocase(word, "hami"))
        node->wants_lock = true;
    else
        node_note_problem(node, KEY_PLUGIN ": must be hami");
}

/* Two who tell the devices: ours is believed, and nothing says that HAMi's plugin wants a lock. */
static void note_other_register(const struct kube_pairs *annotations,
                                const struct class_table *classes, struct node *node)
{
    for (size_t i = 0; i < classes->count; i++) {
        const char *key = classes->items[i].hami.register_key;

        if (key == NULL || kube_pairs_get(annotations, key) == NULL)
            continue;
        node_note_problem(node,
                          "%s is not read beside " KEY_INVENTORY
                          ", and the node is not locked: remove " KEY_INVENTORY
                          ", or set " KEY_PLUGIN ": hami",
                          key);
        return;
    }
}

bool native_read_node(const struct kube_node *kube, const struct class_table *classes,
                      struct node *node)
{
    const char *inventory = kube_pairs_get(&kube->meta.annotations, KEY_INVENTORY);
    const char *topology = kube_pairs_get(&kube->meta.annotations, KEY_TOPOLOGY);
    const char *plugin = kube_pairs_get(&kube->meta.annotations, KEY_PLUGIN);

    if (inventory == NULL || !read_inventory(inventory, classes, node))
        return false;
    if (plugin != NULL)
        read_plugin(plugin, node);
    else
        note_other_register(&kube->meta.annotations, classes, node);
    native_read_topology(topology, node);
    return true;
}
