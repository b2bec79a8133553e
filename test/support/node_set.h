/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_set - a few nodes that come, go and change by chance, in step with a cluster that is told.
 */
#ifndef TOPOFIT_TEST_NODE_SET_H
#define TOPOFIT_TEST_NODE_SET_H

#include "support/pod_server.h"

#include "topofit/cluster.h"

struct node_set {
    struct node *items[SERVER_NODES]; /* NULL: not there at present */
    uint64_t seeds[SERVER_NODES];     /* what each is built from */
};

void node_set_init(struct node_set *set, struct cluster *cluster, uint64_t *chance);
void node_set_clear(struct node_set *set);

/* A node goes, comes back, has other devices, or says that nothing has changed. */
void node_set_step(struct node_set *set, struct cluster *cluster, uint64_t *chance);

/* Tell them as a complete list. */
void node_set_list(const struct node_set *set, struct cluster *cluster);

#endif
