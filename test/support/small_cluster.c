/* SPDX-License-Identifier: Apache-2.0 */
#include "support/small_cluster.h"

#include "../../src/cluster/cluster_inside.h"

#include "support/builders.h"
#include "support/test.h"

#include <stdlib.h>

void small_cluster_free(struct cluster **cluster)
{
    cluster_free(*cluster);
}

struct cluster *small_cluster(unsigned devices)
{
    struct cluster *cluster = cluster_new(&test_key);

    cluster_put_node(cluster, node_plain("n1", devices, 16384, 2));
    return cluster;
}

struct pod *small_pod(const char *name, const char *uid, uint64_t mib)
{
    struct pod *pod = pod_new("default", name, uid);

    pod->init_done = true;
    request_wish(&pod->request, (struct wish){.count = 1, .mib = mib});
    return pod;
}

struct pod *small_bound_pod(const char *name, const char *uid, const char *node, const char *device,
                            uint64_t mib)
{
    struct pod *pod = small_pod(name, uid, mib);

    free(pod->node);
    pod->node = xstrdup(node);
    if (device == NULL)
        return pod;
    pod->has_record = true;
    free(pod->record.node);
    pod->record.node = xstrdup(node);
    allocation_add_container(&pod->record, "c0", CONTAINER_APP);
    record_line(&pod->record, device, mib, 0, ISOLATION_SOFT);
    return pod;
}

void small_break_ledger(struct cluster *cluster, const char *uid)
{
    struct touched touched = {0};

    LOCK(cluster);
    cluster_forget_holding(cluster, uid, &touched);
    cluster_republish(cluster, &touched);
}

struct device_use small_use(struct cluster *cluster, unsigned position)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(cluster);
    const struct node_state *state = snapshot_find(snapshot, "n1");

    cluster_check(cluster);
    assert_non_null(state);
    return state->use.devices[position];
}

uint64_t small_used_mib(struct cluster *cluster)
{
    return small_use(cluster, 0).memory_mib;
}

uint64_t small_version(struct cluster *cluster)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(cluster);

    return snapshot_find(snapshot, "n1")->version;
}

unsigned small_unattributed(struct cluster *cluster)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(cluster);

    return snapshot_find(snapshot, "n1")->use.unattributed;
}

int small_reserve(struct cluster *cluster, struct pod *pod, const char *device, uint64_t mib,
                  uint64_t *token)
{
    AUTO(snapshot_unref_pointer) struct snapshot *snapshot = cluster_snapshot(cluster);
    AUTO(allocation_clear) struct allocation allocation;
    struct error err = {0};

    allocation_init(&allocation);
    allocation_add_container(&allocation, "c0", CONTAINER_APP);
    record_line(&allocation, device, mib, 0, ISOLATION_SOFT);
    return cluster_reserve(cluster, pod, &allocation, snapshot_find(snapshot, "n1"), token, &err);
}
