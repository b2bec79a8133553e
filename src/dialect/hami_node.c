/* SPDX-License-Identifier: Apache-2.0 */
/* hami_node - the inventory of a node as HAMi's device plugins tell it. */
#include "hami_node.h"

#include "device_id.h"
#include "hami_partitions.h"
#include "native_topology.h"
#include "topofit/mem.h"
#include "topofit/quantity.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- one device ------------------------------------------------------------------------------ */

void hami_note(const struct hami_reading *reading, size_t entry, const char *what)
{
    const char *key = reading->class->hami.register_key;

    /* The kubelet's counts stand under no key of the class. */
    node_note_problem(reading->node, "%s: device %zu left out: %s",
                      key != NULL ? key : reading->class->name, entry, what);
}

static bool has_index(const struct hami_reading *reading, long long index)
{
    for (unsigned i = 0; i < reading->node->device_count; i++) {
        const struct device *device = &reading->node->devices[i];

        if (device->class == reading->class && device->index == (unsigned)index)
            return true;
    }
    return false;
}

/*
 * The index of a device: 0 is not written by Go programs, and plugins of the seven fields say none
 * at all, so that all of their devices would have it.
 */
static unsigned index_of(const struct hami_reading *reading, size_t entry,
                         const struct hami_device *found)
{
    long long index = found->index >= 0 ? found->index : 0;

    if (has_index(reading, index))
        index = (long long)entry;
    while (has_index(reading, index))
        index++;
    return (unsigned)index;
}

/* "NVIDIA-NVIDIA A10" is the product NVIDIA A10: the word in front is HAMi's. */
const char *hami_product_of(const struct hami_class *hami, const char *type)
{
    size_t length = strlen(hami->word);

    if (!hami->writes_product && strncasecmp(type, hami->word, length) == 0 &&
        type[length] == '-' && type[length + 1] != '\0')
        return type + length + 1;
    return type;
}

/* Why a device cannot be one of the node's, or NULL. */
static const char *check_device(const struct node *node, const struct hami_device *found)
{
    if (!device_id_ok(found->id) || strchr(found->id, ':') != NULL)
        return "its id must be letters, digits and . _ / -";
    if (node_find_device(node, found->id) >= 0)
        return "its id is another device's";
    return NULL;
}

/* A device in MIG mode of which nobody knows the partitions can be given to nobody. */
static void divide(const struct hami_reading *reading, const struct hami_device *found,
                   struct device *device)
{
    if (strcmp(found->mode, HAMI_MODE_DIVIDED) != 0)
        return;
    device->partitions = found->partitions != NULL
                             ? partition_table_ref(found->partitions)
                             : hami_geometry_of(reading->class, device->product->chars);
    if (device->partitions != NULL)
        return;
    device->healthy = false;
    node_note_problem(reading->node, "device %s is in MIG mode, and its partitions are not known",
                      device->id);
}

/* It stays in the inventory: somebody may be on it. */
static void tell_unusable(const struct hami_reading *reading, const struct device *device)
{
    if (device->memory_mib == 0 && reading->class->memory_counted)
        node_note_problem(reading->node, "device %s has no memory: it is never given out",
                          device->id);
    if (device->slots == 0)
        node_note_problem(reading->node, "device %s takes no tenants: it is never given out",
                          device->id);
}

struct device *hami_add_device(const struct hami_reading *reading, size_t entry,
                               const struct hami_device *found)
{
    const char *wrong = check_device(reading->node, found);
    unsigned index = index_of(reading, entry, found);
    struct device *device = NULL;

    if (wrong == NULL)
        device = node_add_device(reading->node, found->id);
    if (device == NULL) {
        hami_note(reading, entry, wrong != NULL ? wrong : "there are 64 already");
        return NULL;
    }
    device->index = index;
    device->class = reading->class;
    device->memory_mib = (uint64_t)found->memory_mib;
    device->cores = found->cores > 0 ? (uint16_t)found->cores : reading->class->cores;
    device->slots = (uint16_t)found->slots;
    device->numa = (int)found->numa;
    device->healthy = found->healthy && !reading->is_gone;
    text_replace(&device->product, hami_product_of(&reading->class->hami, found->type));
    divide(reading, found, device);
    tell_unusable(reading, device);
    return device;
}

/* --- is the plugin there? -------------------------------------------------------------------- */

static const char *count_resource_of(const struct device_class *class)
{
    return class->count_resource != NULL ? class->count_resource : class->slices_resource;
}

/*
 * The kubelet knows best: it gives out nothing of a resource that it counts none of, and the pod
 * would fail there. What it does not mention at all is decided by the handshake: one that was left
 * unanswered, or given up, by HAMi's scheduler. No clock is needed, and every replica sees the
 * same. The devices stay in the inventory, unhealthy, so that who is on them is still known.
 */
static bool is_gone(const struct kube_node *kube, const struct device_class *class)
{
    const char *amount = kube_pairs_get(&kube->allocatable, count_resource_of(class));
    const char *handshake = class->hami.handshake_key != NULL
                                ? kube_pairs_get(&kube->meta.annotations, class->hami.handshake_key)
                                : NULL;
    struct error err = {0};
    uint64_t count = 0;

    if (amount != NULL && quantity_parse_count(amount, &count, &err) == 0)
        return count == 0;
    return handshake != NULL && (strncmp(handshake, "Requesting", strlen("Requesting")) == 0 ||
                                 strncmp(handshake, "Deleted", strlen("Deleted")) == 0);
}

/* --- all classes ----------------------------------------------------------------------------- */

typedef bool (*form_reader)(const struct hami_reading *reading, const char *text);

static form_reader reader_of(enum hami_form form)
{
    static const form_reader readers[HAMI_FORM_COUNT] = {
        [HAMI_FORM_JSON] = hami_read_json,
        [HAMI_FORM_CSV] = hami_read_csv,
        [HAMI_FORM_METAX] = hami_read_metax,
        [HAMI_FORM_ENFLAME] = hami_read_enflame,
    };

    return readers[form];
}

/* Older plugins of any vendor write the other of the two common forms. */
static form_reader reader_for(enum hami_form form, const char *text)
{
    if (form == HAMI_FORM_JSON || form == HAMI_FORM_CSV)
        return text[strspn(text, " \t\r\n")] == '[' ? hami_read_json : hami_read_csv;
    return reader_of(form);
}

static bool read_class(const struct hami_reading *reading)
{
    const struct hami_class *hami = &reading->class->hami;
    const char *text;

    if (hami->form == HAMI_FORM_CAPACITY)
        return hami_read_capacity(reading);
    text = hami->register_key != NULL
               ? kube_pairs_get(&reading->kube->meta.annotations, hami->register_key)
               : NULL;
    if (text == NULL || reader_of(hami->form) == NULL)
        return false;
    return reader_for(hami->form, text)(reading, text);
}

static void tell_gone(const struct hami_reading *reading)
{
    if (reading->is_gone)
        node_note_problem(reading->node, "class %s: its device plugin is not there",
                          reading->class->name);
}

static struct hami_reading reading_of(const struct kube_node *kube,
                                      const struct device_class *class, struct node *node)
{
    return (struct hami_reading){kube, class, node, is_gone(kube, class)};
}

static void read_links(const struct kube_node *kube, const struct class_table *classes,
                       struct node *node)
{
    struct peer_graph *graph = peers_new(node->device_count);

    for (unsigned i = 0; i < node->device_count; i++)
        peers_set_numa(graph, i, node->devices[i].numa);
    for (size_t i = 0; i < classes->count; i++) {
        const struct hami_reading reading = {kube, &classes->items[i], node, false};

        if (reading.class->hami.word == NULL)
            continue;
        hami_read_scores(&reading, graph);
        hami_link_zones(&reading, graph);
    }
    peers_finish(graph);
    node_steal_graph(node, graph);
}

bool hami_read_node(const struct kube_node *kube, const struct class_table *classes,
                    struct node *node)
{
    const char *topology = kube_pairs_get(&kube->meta.annotations, KEY_TOPOLOGY);
    bool any = false;

    for (size_t i = 0; i < classes->count; i++) {
        struct hami_reading reading;

        if (classes->items[i].hami.word == NULL)
            continue;
        reading = reading_of(kube, &classes->items[i], node);
        if (!read_class(&reading))
            continue;
        any = true;
        tell_gone(&reading);
    }
    if (!any)
        return false;
    node->wants_lock = true;
    node_sort_devices(node);
    if (topology != NULL)
        native_read_topology(topology, node);
    else
        read_links(kube, classes, node);
    return true;
}
