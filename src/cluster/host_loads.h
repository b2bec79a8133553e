/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_loads - CPU and memory that the bound pods of each node take.
 *
 * Owned by the cluster and used under its lock. Pods say which node they are on before that node
 * is known, so this knows names only.
 */
#ifndef TOPOFIT_HOST_LOADS_H
#define TOPOFIT_HOST_LOADS_H

#include "topofit/host.h"
#include "topofit/map.h"

struct host_loads;
struct host_loads *host_loads_new(const struct hash_key *key);
void host_loads_free(struct host_loads *loads);

/* A pod came to a node; a pod that was added leaves it. */
void host_loads_add(struct host_loads *loads, const char *node, struct host_amounts pod);
void host_loads_remove(struct host_loads *loads, const char *node, struct host_amounts pod);

/* The sum over a node's pods. */
struct host_amounts host_loads_sum(const struct host_loads *loads, const char *node);

#endif
