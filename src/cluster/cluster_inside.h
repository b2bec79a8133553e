/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_inside - the one lock and what it guards. For the files of the cluster only.
 */
#ifndef TOPOFIT_CLUSTER_INSIDE_H
#define TOPOFIT_CLUSTER_INSIDE_H

#include "host_loads.h"
#include "intern.h"
#include "ledger.h"
#include "nominations.h"
#include "quotas.h"
#include "supply.h"
#include "topofit/cluster.h"
#include "topofit/mem.h"
#include "topofit/mix_tally.h"

#include <pthread.h>

#define CONFLICTS_KEPT 16
#define ORDER_DUE_MAX 4096
#define TIME_STEP_S 300 /* so often is looked how long pods have run */

struct known_node {
    struct node_state *state; /* one reference */
    uint64_t oldest_s;        /* when the pod began that has run longest there; 0: not known */
    size_t position;          /* in `current`; without one, its place in the order, or SIZE_MAX */
    uint64_t list_number;     /* of the last list of nodes that showed it */
};

struct cluster {
    pthread_mutex_t lock;
    struct hash_key key;
    struct map *nodes;       /* struct known_node by name, owned */
    struct map *pods;        /* struct pod by "namespace/name", one reference each */
    struct map *pods_by_uid; /* the same pods, borrowed */
    struct ledger *ledger;
    struct nominations *nominations;
    struct map *quotas;            /* struct quota_set by namespace, owned */
    struct class_sizes sizes;      /* of the devices of all nodes */
    struct host_loads *host_loads; /* of the pods that say they are bound */
    struct mix_tally *tally;       /* of pods as they come; NULL when the mix is given */
    struct pod_mix *mix;           /* what the tally last said, or what was given; may be NULL */
    struct supply supply;          /* of the states that are published */
    struct intern *intern;
    struct snapshot *current;         /* the present picture; NULL when a node came or went since */
    unsigned order_wishes, order_due; /* cluster_follow_order(): since the last time, until it is */
    uint64_t now_s, settled_at_s; /* since 1970: the time told last; when `settled` was looked at */
    uint64_t last_version;
    uint64_t last_token;       /* handed out for a Binding */
    uint64_t list_number;      /* lists of pods announced so far */
    uint64_t node_list_number; /* lists of nodes so far */
    bool nodes_listed, pods_listed;
    uint64_t freed_version; /* of the last state that could let a waiting pod fit, or 0 */
    char *freed_node;       /* whose it was */
    struct conflict conflicts[CONFLICTS_KEPT]; /* not told yet */
    size_t conflict_count;
    uint64_t conflicts_seen;
};

static inline void cluster_unlock(struct cluster **cluster)
{
    pthread_mutex_unlock(&(*cluster)->lock);
}

/* Hold the lock until the end of the scope. */
#define LOCK(guarded) \
    AUTO(cluster_unlock) struct cluster *locked = (guarded); \
    pthread_mutex_lock(&locked->lock)

/* The key of a pod in `pods`. Free it. */
char *cluster_pod_key(const char *namespace, const char *name);

/*
 * Nodes of which something changes within one hold of the lock. They are summed up once, at the
 * end: what a pod gives up and takes again must not look free in between. Zeroed, it is empty.
 *
 * News of a pod touch most when they are of one with a new uid, and this uid was told of another
 * name before: the nodes where each of the three is, has a booking and is nominated to.
 */
#define TOUCHED_MAX 9
struct touched {
    unsigned count;
    struct known_node *nodes[TOUCHED_MAX];
};

/* With the lock held: note a node, if we know it; the node that a pod (or NULL) is nominated to. */
void cluster_touch(const struct cluster *cluster, const char *node, struct touched *touched);
void cluster_touch_nomination(const struct cluster *cluster, const struct pod *pod,
                              struct touched *touched);

/* With the lock held: sum up the holdings of these nodes, or of all, again. */
void cluster_republish(struct cluster *cluster, const struct touched *touched);
void cluster_republish_all(struct cluster *cluster);

/* With the lock held: somebody held something of a node that is gone, and may go elsewhere now. */
void cluster_note_freed_nowhere(struct cluster *cluster);

/* With the lock held: the next picture has the mix as it is now. */
void cluster_show_mix(struct cluster *cluster);

/* With the lock held: the state of a node, or NULL. */
const struct node_state *cluster_state_of(const struct cluster *cluster, const char *name);

/* Is the same in use? Is there anything that is less in use, or could be joined now? */
bool cluster_use_equal(const struct node_use *a, const struct node_use *b);
bool cluster_is_less_used(const struct node_use *now, const struct node_use *before);

/* With the lock held: who is nominated to a node and has no booking; a reference, or NULL. */
struct nominees *cluster_gather_nominees(const struct cluster *cluster, const struct node *node);
bool cluster_same_nominees(const struct nominees *a, const struct nominees *b);
/* Has a hold ended, or may it be another one, so that somebody else could fit? */
bool cluster_lets_go(const struct cluster *cluster, const struct nominees *before,
                     const struct nominees *now, const char *node);

/* With the lock held: remove what a pod holds, if anything. */
void cluster_forget_holding(struct cluster *cluster, const char *uid, struct touched *touched);

#endif
