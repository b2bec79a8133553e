/* SPDX-License-Identifier: Apache-2.0 */
/* reserve - booking devices for a Binding on its way, and its three ends. */
#include "cluster_inside.h"

#include <assert.h>
#include <string.h>

/* A plan made on this very state cannot overbook it: if it does, decide has a bug. */
static void assert_no_new_conflict(const struct node_state *before, const struct node_state *after)
{
    for (unsigned i = 0; i < after->use.device_count; i++)
        assert(before->use.devices[i].conflicted || !after->use.devices[i].conflicted);
}

int cluster_reserve(struct cluster *cluster, const struct pod *pod,
                    const struct allocation *allocation, const struct node_state *expected,
                    struct error *err)
{
    const struct node_state *state;
    struct holding *holding;

    LOCK(cluster);
    state = map_get(cluster->nodes, expected->node->name);
    if (state == NULL)
        return error_set(err, ERR_NOT_FOUND, "node %s is gone", expected->node->name);
    if (state->version != expected->version)
        return error_set(err, ERR_CONFLICT, "node %s changed meanwhile", expected->node->name);
    if (ledger_find(cluster->ledger, pod->uid) != NULL)
        return error_set(err, ERR_BUSY, "pod %s/%s already holds devices", pod->namespace,
                         pod->name);
    holding = ledger_enter(cluster->ledger, pod, expected->node->name, allocation, 0);
    holding->state = HOLDING_RESERVED;
    holding->list_number = cluster->list_number;
    cluster_republish(cluster, expected->node->name);
    assert_no_new_conflict(expected, map_get(cluster->nodes, expected->node->name));
    return 0;
}

void cluster_confirm(struct cluster *cluster, const char *uid)
{
    struct holding *holding;

    LOCK(cluster);
    holding = ledger_find(cluster->ledger, uid);
    if (holding != NULL)
        holding->state = HOLDING_BOUND;
}

void cluster_release(struct cluster *cluster, const char *uid, enum holding_state from)
{
    const struct holding *holding;

    LOCK(cluster);
    holding = ledger_find(cluster->ledger, uid);
    if (holding != NULL && holding->state == from)
        cluster_forget_holding(cluster, uid);
}

void cluster_mark_unknown(struct cluster *cluster, const char *uid)
{
    struct holding *holding;

    LOCK(cluster);
    holding = ledger_find(cluster->ledger, uid);
    if (holding != NULL && holding->state == HOLDING_RESERVED)
        holding->state = HOLDING_UNKNOWN;
}

bool cluster_resume(struct cluster *cluster, const char *uid)
{
    struct holding *holding;

    LOCK(cluster);
    holding = ledger_find(cluster->ledger, uid);
    if (holding == NULL || holding->state != HOLDING_UNKNOWN)
        return false;
    holding->state = HOLDING_RESERVED;
    return true;
}
