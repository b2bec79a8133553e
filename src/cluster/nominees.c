/* SPDX-License-Identifier: Apache-2.0 */
/* nominees - who is nominated to a node, as its state tells it. All with the lock held. */
#include "cluster_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * Of more, the last ones in order hold nothing: each costs the decisions on its node a plan.
 */
#define NOMINEES_MAX 32

static int compare(const void *a, const void *b)
{
    const struct nominee *x = a, *y = b;

    return nominees_compare(x->pod, y->pod);
}

/* What stays in use when the pods of lower priority that are being deleted are gone. */
static void sum_staying(const struct cluster *cluster, const struct node *node, int priority,
                        struct node_use *out)
{
    *out = (struct node_use){.device_count = node->device_count};
    for (const struct holding *holding = ledger_on_node(cluster->ledger, node->name);
         holding != NULL; holding = holding->next) {
        const struct pod *pod = map_get(cluster->pods_by_uid, holding->pod->uid);

        if (pod == NULL || !pod->deleting || pod->priority >= priority)
            holding_add_use(holding, node, out);
    }
}

struct nominees *cluster_gather_nominees(const struct cluster *cluster, const struct node *node)
{
    const struct nomination_list *list = nominations_on_node(cluster->nominations, node->name);
    struct nominees *nominees;

    if (list == NULL)
        return NULL;
    nominees = xcalloc(1, sizeof *nominees + list->count * sizeof nominees->items[0]);
    nominees->references = 1;
    for (size_t i = 0; i < list->count; i++) {
        /* What is booked for a pod speaks for itself. */
        if (ledger_find(cluster->ledger, list->pods[i]->uid) == NULL)
            nominees->items[nominees->count++].pod = list->pods[i];
    }
    if (nominees->count > 0)
        qsort(nominees->items, nominees->count, sizeof nominees->items[0], compare);
    if (nominees->count > NOMINEES_MAX)
        nominees->count = NOMINEES_MAX;
    for (size_t i = 0; i < nominees->count; i++) {
        pod_ref(nominees->items[i].pod);
        sum_staying(cluster, node, nominees->items[i].pod->priority, &nominees->items[i].use);
    }
    if (nominees->count > 0)
        return nominees;
    nominees_unref(nominees);
    return NULL;
}

bool cluster_same_nominees(const struct nominees *a, const struct nominees *b)
{
    bool same = (a != NULL ? a->count : 0) == (b != NULL ? b->count : 0);

    for (size_t i = 0; same && a != NULL && i < a->count; i++)
        same = a->items[i].pod == b->items[i].pod &&
               cluster_use_equal(&a->items[i].use, &b->items[i].use);
    return same;
}

static const struct nominee *find(const struct nominees *nominees, const char *uid)
{
    for (size_t i = 0; nominees != NULL && i < nominees->count; i++) {
        if (strcmp(nominees->items[i].pod->uid, uid) == 0)
            return &nominees->items[i];
    }
    return NULL;
}

bool cluster_lets_go(const struct cluster *cluster, const struct nominees *before,
                     const struct nominees *now, const char *node)
{
    for (size_t i = 0; before != NULL && i < before->count; i++) {
        const struct nominee *was = &before->items[i], *is = find(now, was->pod->uid);
        const struct holding *holding = ledger_find(cluster->ledger, was->pod->uid);

        /* Who has got what was held for it frees nothing. */
        if (is == NULL && (holding == NULL || strcmp(holding->node, node) != 0))
            return true;
        if (is != NULL &&
            (is->pod->priority != was->pod->priority || cluster_is_less_used(&is->use, &was->use)))
            return true;
    }
    return false;
}
