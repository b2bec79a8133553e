/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quotas - the ResourceQuotas of each namespace, and how big the devices of a class are.
 *
 * Owned by the cluster and used under its lock.
 */
#ifndef TOPOFIT_QUOTAS_H
#define TOPOFIT_QUOTAS_H

#include "topofit/cluster.h"
#include "topofit/map.h"

/* The objects of one namespace, by name. */
struct quota_set {
    struct quota **items; /* owned */
    size_t count, capacity;
};
void quota_set_free(void *set);

/* The smallest and the largest device of a class; all sizes 0 when there is none. */
struct class_size {
    const struct device_class *class;
    struct device_size smallest, largest; /* each amount by itself */
    bool is_divided;                      /* one is: its partitions may have more than asked for */
};

/* Nodes change seldom, so this is gathered anew when somebody asks after they did. */
struct class_sizes {
    struct class_size *items;
    size_t count, capacity;
    bool is_current;
};

/* What is left of a pod's quota must suffice for a record. With the cluster's lock held. */
bool cluster_quota_allows(const struct cluster *cluster, const struct pod *pod,
                          const struct allocation *record);

#endif
