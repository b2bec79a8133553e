/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any dump of a cluster: refused, and then nothing of it counts, or a cluster that keeps its
 * invariants, with holdings only of pods that are bound and have not ended.
 */
#include "topofit/class.h"
#include "topofit/embedded.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Limits are in force only where an object sets them, and views of them can be made. */
static void check_quotas(struct cluster *cluster)
{
    size_t count;
    struct quota_view *views = cluster_quotas(cluster, &count);

    for (size_t i = 0; i < count; i++) {
        assert(views[i].limit != QUOTA_NO_LIMIT && views[i].quota != NULL);
        assert(quota_resource(views[i].class, views[i].kind) != NULL);
    }
    quota_views_free(views, count);
}

static void check_holdings(struct cluster *cluster)
{
    size_t count = 0;
    struct holding_view *views = cluster_holdings(cluster, NULL, &count);

    for (size_t i = 0; i < count; i++) {
        AUTO(pod_unref_pointer) struct pod *pod = cluster_find_pod_by_uid(cluster, views[i].uid);

        assert(pod != NULL && pod_holds_devices(pod) && views[i].state == HOLDING_BOUND);
        /* What a record leaves out of the request is held beside it. */
        assert(views[i].has_allocation || views[i].unattributed > 0);
    }
    holding_views_free(views, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct hash_key key = {{1, 2}};
    static struct class_table classes; /* read once: that takes longer than all the rest */
    struct cluster *cluster = cluster_new(&key);
    struct error err = {0};
    struct snapshot *snapshot;

    if (classes.count == 0)
        classes_builtin(&classes);
    if (embedded_read(cluster, &classes, (const char *)bytes, size, &err) < 0) {
        snapshot = cluster_snapshot(cluster);
        assert(err.code != ERR_NONE && snapshot->count == 0 && !cluster_is_synced(cluster));
    } else {
        snapshot = cluster_snapshot(cluster);
        assert(cluster_is_synced(cluster));
        cluster_check(cluster);
        check_holdings(cluster);
        check_quotas(cluster);
    }
    snapshot_unref(snapshot);
    cluster_free(cluster);
    return 0;
}
