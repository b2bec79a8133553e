/* SPDX-License-Identifier: Apache-2.0 */
/* node - a node, its devices and what it says about itself. */
#include "topofit/node.h"

#include "topofit/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEM_MAX 1024

/* --- labels ---------------------------------------------------------------------------------- */

struct label_set *labels_new(void)
{
    struct label_set *labels = xcalloc(1, sizeof *labels);

    labels->references = 1;
    return labels;
}

void labels_add(struct label_set *labels, const char *key, const char *value)
{
    labels->items = xreallocarray(labels->items, labels->count + 1, sizeof *labels->items);
    labels->items[labels->count++] = (struct label){text_new(key), text_new(value)};
}

static int compare_labels(const void *a, const void *b)
{
    return strcmp(((const struct label *)a)->key->chars, ((const struct label *)b)->key->chars);
}

void labels_sort(struct label_set *labels)
{
    if (labels->count > 0)
        qsort(labels->items, labels->count, sizeof *labels->items, compare_labels);
}

bool labels_equal(const struct label_set *a, const struct label_set *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->items[i].key->chars, b->items[i].key->chars) != 0 ||
            strcmp(a->items[i].value->chars, b->items[i].value->chars) != 0)
            return false;
    }
    return true;
}

void labels_unref(struct label_set *labels)
{
    if (labels == NULL || __atomic_sub_fetch(&labels->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < labels->count; i++) {
        text_unref(labels->items[i].key);
        text_unref(labels->items[i].value);
    }
    free(labels->items);
    free(labels);
}

/* --- nodes ----------------------------------------------------------------------------------- */

struct node *node_new(const char *name, const char *uid)
{
    struct node *node = xcalloc(1, sizeof *node);

    node->references = 1;
    node->name = xstrdup(name);
    node->uid = xstrdup(uid);
    node->labels = labels_new();
    node->graph = peers_new(0);
    peers_finish(node->graph);
    return node;
}

struct device *node_add_device(struct node *node, const char *id)
{
    struct device *device;

    if (node->device_count == DEVICE_MAX)
        return NULL;
    node->devices = xreallocarray(node->devices, node->device_count + 1, sizeof *node->devices);
    device = &node->devices[node->device_count];
    *device = (struct device){
        .id = xstrdup(id),
        .index = node->device_count,
        .product = text_new(""),
        .bus_id = text_new(""),
        .slots = 1,
        .numa = NUMA_UNKNOWN,
        .zone = ZONE_UNKNOWN,
        .healthy = true,
    };
    node->device_count++;
    return device;
}

static int compare_devices(const void *a, const void *b)
{
    const struct device *x = a, *y = b;

    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return strcmp(x->id, y->id);
}

void node_sort_devices(struct node *node)
{
    if (node->device_count > 0)
        qsort(node->devices, node->device_count, sizeof *node->devices, compare_devices);
}

void node_steal_graph(struct node *node, struct peer_graph *graph)
{
    assert(graph->n == node->device_count);
    peers_unref(node->graph);
    node->graph = graph;
}

void node_note_problem(struct node *node, const char *format, ...)
{
    char text[PROBLEM_MAX];
    size_t used = 0;
    va_list args;

    if (node->problem != NULL)
        used = (size_t)snprintf(text, sizeof text, "%s; ", node->problem);
    if (used >= sizeof text)
        return;
    va_start(args, format);
    vsnprintf(text + used, sizeof text - used, format, args);
    va_end(args);
    free(node->problem);
    node->problem = xstrdup(text);
}

int node_find_device(const struct node *node, const char *id)
{
    for (unsigned i = 0; i < node->device_count; i++) {
        if (text_equal_nocase(node->devices[i].id, id))
            return (int)i;
    }
    return -1;
}

static bool device_equal(const struct device *a, const struct device *b)
{
    return strcmp(a->id, b->id) == 0 && a->index == b->index && a->class == b->class &&
           strcmp(a->product->chars, b->product->chars) == 0 &&
           strcmp(a->bus_id->chars, b->bus_id->chars) == 0 && a->memory_mib == b->memory_mib &&
           a->cores == b->cores && a->slots == b->slots && a->numa == b->numa &&
           a->zone == b->zone && a->service == b->service &&
           partition_table_equal(a->partitions, b->partitions) && a->healthy == b->healthy &&
           a->cordoned == b->cordoned;
}

static bool problem_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool node_equal(const struct node *a, const struct node *b)
{
    if (strcmp(a->name, b->name) != 0 || strcmp(a->uid, b->uid) != 0 ||
        a->device_count != b->device_count || a->has_inventory != b->has_inventory ||
        a->unschedulable != b->unschedulable || a->wants_lock != b->wants_lock ||
        !host_equal(a->host, b->host) || !problem_equal(a->problem, b->problem) ||
        !labels_equal(a->labels, b->labels) || !peers_equal(a->graph, b->graph))
        return false;
    for (unsigned i = 0; i < a->device_count; i++) {
        if (!device_equal(&a->devices[i], &b->devices[i]))
            return false;
    }
    return true;
}

const char *node_label(const struct node *node, const char *key)
{
    for (size_t i = 0; i < node->labels->count; i++) {
        if (strcmp(node->labels->items[i].key->chars, key) == 0)
            return node->labels->items[i].value->chars;
    }
    return NULL;
}

static size_t own_text_bytes(const struct text *text)
{
    return text->references == 1 ? mem_block_bytes(sizeof *text + strlen(text->chars) + 1) : 0;
}

static size_t labels_bytes(const struct label_set *labels)
{
    size_t bytes;

    if (labels->references > 1)
        return 0;
    bytes =
        mem_block_bytes(sizeof *labels) + mem_block_bytes(labels->count * sizeof *labels->items);
    for (size_t i = 0; i < labels->count; i++)
        bytes += own_text_bytes(labels->items[i].key) + own_text_bytes(labels->items[i].value);
    return bytes;
}

static size_t devices_bytes(const struct node *node)
{
    size_t bytes = mem_block_bytes(node->device_count * sizeof *node->devices);

    for (unsigned i = 0; i < node->device_count; i++) {
        const struct device *device = &node->devices[i];

        bytes += mem_text_bytes(device->id) + own_text_bytes(device->product) +
                 own_text_bytes(device->bus_id);
        if (device->partitions != NULL && device->partitions->references == 1)
            bytes += mem_block_bytes(sizeof *device->partitions);
    }
    return bytes;
}

size_t node_bytes(const struct node *node)
{
    return mem_block_bytes(sizeof *node) + mem_text_bytes(node->name) + mem_text_bytes(node->uid) +
           mem_text_bytes(node->problem) + labels_bytes(node->labels) + devices_bytes(node) +
           (node->graph->references == 1 ? peers_bytes(node->graph) : 0);
}

struct node *node_ref(struct node *node)
{
    __atomic_add_fetch(&node->references, 1, __ATOMIC_RELAXED);
    return node;
}

void node_unref(struct node *node)
{
    if (node == NULL || __atomic_sub_fetch(&node->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (unsigned i = 0; i < node->device_count; i++) {
        free(node->devices[i].id);
        text_unref(node->devices[i].bus_id);
        text_unref(node->devices[i].product);
        partition_table_unref(node->devices[i].partitions);
    }
    free(node->devices);
    labels_unref(node->labels);
    peers_unref(node->graph);
    free(node->problem);
    free(node->name);
    free(node->uid);
    free(node);
}

void node_unref_pointer(struct node **node)
{
    node_unref(*node);
}
