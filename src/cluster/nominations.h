/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nominations - which pods kube-scheduler has nominated to which node.
 *
 * Owned by the cluster and used under its lock. Knows names of nodes only. Pods are counted
 * references.
 */
#ifndef TOPOFIT_NOMINATIONS_H
#define TOPOFIT_NOMINATIONS_H

#include <stddef.h>

#include "topofit/map.h"
#include "topofit/pod.h"

/* The pods nominated to one node, in the order in which they came. */
struct nomination_list {
    struct pod **pods; /* one reference each */
    size_t count, capacity;
};

struct nominations;
struct nominations *nominations_new(const struct hash_key *key);
void nominations_free(struct nominations *nominations);

/* Note a pod if it waits for a node it is nominated to; forget exactly this version of a pod. */
void nominations_add(struct nominations *nominations, struct pod *pod);
void nominations_remove(struct nominations *nominations, const struct pod *pod);

/* Those of a node; NULL for none. Borrowed. */
const struct nomination_list *nominations_on_node(const struct nominations *nominations,
                                                  const char *node);

#endif
