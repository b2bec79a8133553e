/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_inside - the one lock and what it guards. For the files of the cluster only.
 */
#ifndef TOPOFIT_CLUSTER_INSIDE_H
#define TOPOFIT_CLUSTER_INSIDE_H

#include "intern.h"
#include "ledger.h"
#include "topofit/cluster.h"
#include "topofit/mem.h"

#include <pthread.h>

struct cluster {
    pthread_mutex_t lock;
    struct map *nodes;       /* struct node_state by name, one reference each */
    struct map *pods;        /* struct pod by "namespace/name", one reference each */
    struct map *pods_by_uid; /* the same pods, borrowed */
    struct ledger *ledger;
    struct intern *intern;
    struct snapshot *current; /* the last snapshot taken, NULL when something changed since */
    uint64_t last_version;
    uint64_t list_number; /* lists of pods announced so far */
    bool nodes_listed, pods_listed;
};

static inline void cluster_unlock(struct cluster **cluster)
{
    pthread_mutex_unlock(&(*cluster)->lock);
}

/* Hold the lock until the end of the scope. */
#define LOCK(guarded) \
    AUTO(cluster_unlock) struct cluster *locked = (guarded); \
    pthread_mutex_lock(&locked->lock)

/* With the lock held: sum up the holdings of a node again, if we know the node. */
void cluster_republish(struct cluster *cluster, const char *node);

/* With the lock held: remove what a pod holds, if anything. */
void cluster_forget_holding(struct cluster *cluster, const char *uid);

#endif
