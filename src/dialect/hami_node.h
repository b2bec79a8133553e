/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hami_node - the inventory of a node as HAMi's device plugins tell it. For hami*.c only.
 */
#ifndef TOPOFIT_HAMI_NODE_H
#define TOPOFIT_HAMI_NODE_H

#include "topofit/kube_object.h"
#include "topofit/node.h"

/*
 * As struct dialect's read_node: the devices of all vendors together, then the peer graph from
 * topofit.io/topology, or else from what the plugins score.
 */
bool hami_read_node(const struct kube_node *kube, const struct class_table *classes,
                    struct node *node);

/* The product of a type as plugins write it: "NVIDIA-NVIDIA A10" is "NVIDIA A10". Borrowed. */
const char *hami_product_of(const struct hami_class *hami, const char *type);

/* --- between hami_node.c and the forms ------------------------------------------------------- */

/* The devices of one class being read. */
struct hami_reading {
    const struct kube_node *kube;
    const struct device_class *class;
    struct node *node;
    bool is_gone; /* its plugin is not there: the devices are unhealthy */
};

/* One device as a plugin tells it. Texts are borrowed, "" when not given. */
struct hami_device {
    const char *id, *type, *mode;
    long long index; /* negative: not given */
    long long slots, memory_mib, cores, numa;
    bool healthy;
    struct partition_table *partitions; /* that it lists; borrowed; NULL: none */
};

/* Remember what is wrong with an entry of the class's register annotation, from 0. */
void hami_note(const struct hami_reading *reading, size_t entry, const char *what);

/*
 * Add a device to the node. What cannot be is left out, and told of.
 *
 * return  NULL when it was left out. Borrowed until the next device is added.
 */
struct device *hami_add_device(const struct hami_reading *reading, size_t entry,
                               const struct hami_device *found);

/*
 * The forms. text: of the register annotation.
 *
 * return  could it be read at all? Single entries may be left out.
 */
bool hami_read_json(const struct hami_reading *reading, const char *text);
bool hami_read_csv(const struct hami_reading *reading, const char *text);
bool hami_read_metax(const struct hami_reading *reading, const char *text);
bool hami_read_enflame(const struct hami_reading *reading, const char *text);

/* As many devices as the kubelet counts; false when it counts none. */
bool hami_read_capacity(const struct hami_reading *reading);

/* Links from pair scores (hami_scores.c), and from MetaX's link zones. Before peers_finish(). */
void hami_read_scores(const struct hami_reading *reading, struct peer_graph *graph);
void hami_link_zones(const struct hami_reading *reading, struct peer_graph *graph);

/* --- JSON of people's Go programs: keys match without regard to case ------------------------- */

struct json_t;

/* A member, or NULL. Borrowed. */
const struct json_t *hami_json_get(const struct json_t *object, const char *key);

/* A number in [min, max] or, when it is missing, `fallback`. return false for anything else. */
bool hami_json_number(const struct json_t *object, const char *key, long long min, long long max,
                      long long fallback, long long *out);

/* A text, "" when it is missing. return false for anything else. */
bool hami_json_text(const struct json_t *object, const char *key, const char **out);

/* The text as JSON, or NULL and a problem of the node. The caller decrefs it. */
struct json_t *hami_json_read(const struct hami_reading *reading, const char *text);

#endif
