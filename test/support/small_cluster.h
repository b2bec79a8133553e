/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_cluster - a cluster of one node "n1" and pods of one container, for tests of the ledger.
 */
#ifndef TOPOFIT_TEST_SMALL_CLUSTER_H
#define TOPOFIT_TEST_SMALL_CLUSTER_H

#include "topofit/cluster.h"

/* Node n1 with so many devices of 16384 MiB and 2 slots. */
struct cluster *small_cluster(unsigned devices);

/* For AUTO(small_cluster_free) struct cluster *cluster. */
void small_cluster_free(struct cluster **cluster);

/* A pod of namespace default that wants one device of `mib` (0: whole). */
struct pod *small_pod(const char *name, const char *uid, uint64_t mib);

/* The same pod, bound to a node with a record of one device (NULL: without a record). */
struct pod *small_bound_pod(const char *name, const char *uid, const char *node, const char *device,
                            uint64_t mib);

/* Book a device of n1 for a pod on the present state. return 0 or a negative code. */
int small_reserve(struct cluster *cluster, struct pod *pod, const char *device, uint64_t mib,
                  uint64_t *token);

/* What only a mistake could do: a pod holds something, and the ledger forgets it. */
void small_break_ledger(struct cluster *cluster, const char *uid);

/* What the present picture says of n1; the invariants are checked on the way. */
struct device_use small_use(struct cluster *cluster, unsigned position);
uint64_t small_used_mib(struct cluster *cluster); /* of the first device */
uint64_t small_version(struct cluster *cluster);
unsigned small_unattributed(struct cluster *cluster);

#endif
