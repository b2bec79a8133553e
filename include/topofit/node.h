/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node - a node, its devices and what it says about itself.
 *
 * A node is built by a dialect, then published and never changed again: an update builds a new
 * one and swaps the pointer. Reference counted atomically, so readers need no lock.
 *
 * Invariants once published: device_count <= DEVICE_MAX; device ids are unique and not empty;
 * devices are ordered by index, then id; graph is never NULL and has n == device_count.
 */
#ifndef TOPOFIT_NODE_H
#define TOPOFIT_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/device_class.h"
#include "topofit/host.h"
#include "topofit/partition.h"
#include "topofit/peers.h"
#include "topofit/service.h"
#include "topofit/text.h"

#define ZONE_UNKNOWN (-1)

/* What an inventory may say of a device, in whatever spelling; a record or class the same. */
#define DEVICE_MEMORY_MIB_MAX (1LL << 40)
#define DEVICE_CORES_MAX 10000
#define DEVICE_SLOTS_MAX 10000
#define DEVICE_INDEX_MAX 65535 /* zones, too */
#define DEVICE_NUMA_MAX 32767

struct device {
    char *id;                         /* UUID as the node reports it */
    const struct device_class *class; /* borrowed from the class table */
    struct text *product;             /* shared; "" when the node gives none */
    struct text *bus_id;              /* shared; "" when the node gives none */
    uint64_t memory_mib;
    struct partition_table *partitions; /* it is divided, one reference; NULL when it is not */
    unsigned index;
    int numa;       /* NUMA_UNKNOWN when the node gives none */
    int zone;       /* of the vendor's links or network; ZONE_UNKNOWN when the node gives none */
    uint16_t cores; /* core units, usually 100 */
    uint16_t slots; /* tenants that may share the device */
    enum service service; /* that it is set to, as the node reports it */
    bool healthy;
    bool cordoned; /* an administrator takes no new pods on it */
};

/* Labels of a node, sorted by key. Keys and values are shared with other nodes. */
struct label_set {
    unsigned references;
    size_t count;
    struct label {
        struct text *key;
        struct text *value;
    } *items;
};

struct node {
    unsigned references;
    char *name;
    char *uid;
    struct label_set *labels; /* never NULL */
    struct host_amounts host; /* what pods may take; zeros when the node does not say */
    struct device *devices;
    unsigned device_count;
    struct peer_graph *graph;
    char *problem; /* what could not be read, with its place, or NULL. The node stays usable. */
    bool has_inventory; /* an inventory was there and readable */
    bool unschedulable;
    bool wants_lock; /* its device plugins want the lock that their class names: node_lock.h */
};

/* An empty node with one reference, no devices and a graph of size 0. */
struct node *node_new(const char *name, const char *uid);

/*
 * Append a device with these defaults: class and product unset ("" product), healthy, one slot,
 * 0 MiB, 0 cores, NUMA and zone unknown, not divided. Only before publishing. NULL when DEVICE_MAX
 * is reached.
 */
struct device *node_add_device(struct node *node, const char *id);

/* Order the devices by index, then id. Only before publishing, and before a graph is set. */
void node_sort_devices(struct node *node);

/* Take over a finished graph of device_count devices. */
void node_steal_graph(struct node *node, struct peer_graph *graph);

/* Remember something that could not be read; several are joined with "; ". */
void node_note_problem(struct node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Position of a device id, case aside, or -1. */
int node_find_device(const struct node *node, const char *id);

/* How much memory it takes, without what it shares with other nodes. */
size_t node_bytes(const struct node *node);

/* Is there any difference but the reference count? Graphs are compared by content. */
bool node_equal(const struct node *a, const struct node *b);

/* The value of a label, or NULL. Borrowed. */
const char *node_label(const struct node *node, const char *key);

struct node *node_ref(struct node *node);
void node_unref(struct node *node);

/* For AUTO(node_unref_pointer) struct node *node. */
void node_unref_pointer(struct node **node);

/* An empty set with one reference; add labels, then sort, then share. */
struct label_set *labels_new(void);
void labels_add(struct label_set *labels, const char *key, const char *value);
void labels_sort(struct label_set *labels);
bool labels_equal(const struct label_set *a, const struct label_set *b);
void labels_unref(struct label_set *labels);

#endif
