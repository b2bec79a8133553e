/* SPDX-License-Identifier: Apache-2.0 */
/* reserve - booking devices for a Binding on its way, and its ends. */
#include "cluster_inside.h"
#include "topofit/reason.h"

#include <assert.h>
#include <string.h>

/* A plan made on this very state cannot overbook it: if it does, decide has a bug. */
static void assert_no_new_conflict(const struct node_state *before, const struct node_state *after)
{
    for (unsigned i = 0; i < after->use.device_count; i++)
        assert(before->use.devices[i].conflicted || !after->use.devices[i].conflicted);
}

int cluster_reserve(struct cluster *cluster, struct pod *pod, const struct allocation *allocation,
                    const struct node_state *expected, uint64_t *token, struct error *err)
{
    const struct node_state *state;
    struct touched touched = {0};
    struct holding *holding;

    LOCK(cluster);
    state = cluster_state_of(cluster, expected->node->name);
    if (state == NULL)
        return error_set(err, ERR_NOT_FOUND, "node %s is gone", expected->node->name);
    if (state->version != expected->version)
        return error_set(err, ERR_CONFLICT, "node %s changed meanwhile", expected->node->name);
    if (ledger_find(cluster->ledger, pod->uid) != NULL)
        return error_set(err, ERR_BUSY, "pod %s/%s already holds devices", pod->namespace,
                         pod->name);
    if (!cluster_quota_allows(cluster, pod, allocation))
        return error_set(err, ERR_CONFLICT, "%s", reason_text(REASON_QUOTA));
    holding = ledger_book(cluster->ledger, pod, expected->node->name, allocation);
    holding->state = HOLDING_RESERVED;
    holding->list_number = cluster->list_number;
    holding->booked_s = cluster->now_s;
    holding->token = *token = ++cluster->last_token;
    cluster_touch(cluster, expected->node->name, &touched);
    cluster_touch_nomination(cluster, map_get(cluster->pods_by_uid, pod->uid), &touched);
    cluster_republish(cluster, &touched);
    assert_no_new_conflict(expected, cluster_state_of(cluster, expected->node->name));
    return 0;
}

/*
 * The holding that stands for a Binding, or NULL: when the Binding was told of already, when the
 * watch was faster, when nothing was booked (token 0).
 */
static struct holding *find_sending(struct cluster *cluster, const char *uid, uint64_t token)
{
    struct holding *holding = ledger_find(cluster->ledger, uid);

    if (token == 0 || holding == NULL)
        return NULL;
    return holding->token == token || holding->earlier == token ? holding : NULL;
}

void cluster_confirm(struct cluster *cluster, const char *uid, uint64_t token)
{
    struct holding *holding;

    LOCK(cluster);
    holding = find_sending(cluster, uid, token);
    if (holding == NULL)
        return;
    holding->state = HOLDING_BOUND;
    holding->token = holding->earlier = 0;
}

void cluster_release(struct cluster *cluster, const char *uid, uint64_t token)
{
    struct touched touched = {0};
    struct holding *holding;

    LOCK(cluster);
    holding = find_sending(cluster, uid, token);
    if (holding == NULL)
        return;
    if (holding->token == token && holding->earlier == 0) {
        cluster_forget_holding(cluster, uid, &touched);
        cluster_republish(cluster, &touched);
        return;
    }
    /* There are two, and the other one is left. */
    if (holding->token == token) {
        holding->token = holding->earlier;
        holding->state = HOLDING_UNKNOWN;
    }
    holding->earlier = 0;
}

void cluster_mark_unknown(struct cluster *cluster, const char *uid, uint64_t token)
{
    struct holding *holding;

    LOCK(cluster);
    holding = find_sending(cluster, uid, token);
    if (holding != NULL && holding->token == token)
        holding->state = HOLDING_UNKNOWN;
}

void cluster_abandon(struct cluster *cluster, const char *uid, uint64_t token)
{
    struct holding *holding;

    LOCK(cluster);
    holding = find_sending(cluster, uid, token);
    if (holding == NULL)
        return;
    if (holding->token == token)
        holding->token = 0;
    else
        holding->earlier = 0;
}

/* Others hold one of its devices as well: it was given away while another topofit led. */
static bool is_contested(const struct cluster *cluster, const struct holding *holding)
{
    const struct node_state *state = cluster_state_of(cluster, holding->node);

    for (size_t i = 0; state != NULL && i < holding->grant_count; i++) {
        int position = node_find_device(state->node, holding->grants[i].id);

        if (position >= 0 && state->use.devices[position].conflicted)
            return true;
    }
    return false;
}

uint64_t cluster_resume(struct cluster *cluster, const char *uid)
{
    struct holding *holding;

    LOCK(cluster);
    holding = ledger_find(cluster->ledger, uid);
    if (holding == NULL || holding->state != HOLDING_UNKNOWN || is_contested(cluster, holding))
        return 0;
    holding->state = HOLDING_RESERVED;
    holding->earlier = holding->token;
    holding->token = ++cluster->last_token;
    return holding->token;
}
