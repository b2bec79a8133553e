/* SPDX-License-Identifier: Apache-2.0 */
/* holding_views - copies of holdings for people, who keep no lock. */
#include "cluster_inside.h"

#include <stdlib.h>
#include <string.h>

static void view_holding(const struct holding *holding, struct holding_view *out)
{
    *out = (struct holding_view){
        .namespace = xstrdup(holding->namespace),
        .name = xstrdup(holding->name),
        .uid = xstrdup(holding->uid),
        .node = xstrdup(holding->node),
        .state = holding->state,
        .has_allocation = holding->has_allocation,
        .init_done = holding->init_done,
        .unattributed = holding->unattributed,
    };
    if (holding->has_allocation)
        allocation_copy(&holding->allocation, &out->allocation);
}

void holding_view_clear(struct holding_view *view)
{
    free(view->namespace);
    free(view->name);
    free(view->uid);
    free(view->node);
    allocation_clear(&view->allocation);
    *view = (struct holding_view){0};
}

void holding_views_free(struct holding_view *views, size_t count)
{
    for (size_t i = 0; i < count; i++)
        holding_view_clear(&views[i]);
    free(views);
}

static int compare_views(const void *a, const void *b)
{
    const struct holding_view *x = a, *y = b;
    int order = strcmp(x->namespace, y->namespace);

    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->uid, y->uid);
}

struct holding_view *cluster_holdings(struct cluster *cluster, const char *node, size_t *count)
{
    struct holding_view *views = NULL;
    struct map_cursor at = {0};
    size_t capacity = 0;

    *count = 0;
    LOCK(cluster);
    while (ledger_next(cluster->ledger, &at)) {
        const struct holding *holding = at.value;

        if (node != NULL && strcmp(holding->node, node) != 0)
            continue;
        views = mem_grow(views, *count, &capacity, sizeof *views);
        view_holding(holding, &views[(*count)++]);
    }
    if (*count > 0)
        qsort(views, *count, sizeof *views, compare_views);
    return views;
}

void cluster_count_holdings(struct cluster *cluster, size_t counts[HOLDING_BOUND + 1])
{
    struct map_cursor at = {0};

    memset(counts, 0, (HOLDING_BOUND + 1) * sizeof counts[0]);
    LOCK(cluster);
    while (ledger_next(cluster->ledger, &at))
        counts[((const struct holding *)at.value)->state]++;
}

bool cluster_find_holding(struct cluster *cluster, const char *uid, struct holding_view *out)
{
    const struct holding *holding;

    LOCK(cluster);
    holding = ledger_find(cluster->ledger, uid);
    if (holding == NULL)
        return false;
    view_holding(holding, out);
    return true;
}
