/* SPDX-License-Identifier: Apache-2.0 */
/* holding_views - copies of holdings for people, who keep no lock. */
#include "cluster_inside.h"

#include <stdlib.h>
#include <string.h>

static void view_holding(const struct holding *holding, struct holding_view *out)
{
    *out = (struct holding_view){
        .namespace = xstrdup(holding->pod->namespace),
        .name = xstrdup(holding->pod->name),
        .uid = xstrdup(holding->pod->uid),
        .node = xstrdup(holding->node),
        .state = holding->state,
        .has_allocation = holding->allocation != NULL,
        .init_done = holding->pod->init_done,
        .unattributed = holding->unattributed,
    };
    if (holding->allocation != NULL)
        allocation_copy(holding->allocation, &out->allocation);
    out->charges = xcalloc(holding->charge_count, sizeof *out->charges);
    out->charge_count = holding->charge_count;
    if (holding->charge_count > 0)
        memcpy(out->charges, holding->charges, holding->charge_count * sizeof *out->charges);
}

void holding_view_clear(struct holding_view *view)
{
    free(view->namespace);
    free(view->name);
    free(view->uid);
    free(view->node);
    free(view->charges);
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

/* A growing list of views. */
struct views {
    struct holding_view *items;
    size_t count, capacity;
};

static void add_view(struct views *views, const struct holding *holding)
{
    views->items = mem_grow(views->items, views->count, &views->capacity, sizeof *views->items);
    view_holding(holding, &views->items[views->count++]);
}

static void view_all(const struct ledger *ledger, struct views *out)
{
    struct map_cursor at = {0};

    while (ledger_next(ledger, &at))
        add_view(out, at.value);
}

static void view_node(const struct ledger *ledger, const char *node, struct views *out)
{
    for (const struct holding *at = ledger_on_node(ledger, node); at != NULL; at = at->next)
        add_view(out, at);
}

struct holding_view *cluster_holdings(struct cluster *cluster, const char *node, size_t *count)
{
    struct views views = {0};

    pthread_mutex_lock(&cluster->lock);
    if (node != NULL)
        view_node(cluster->ledger, node, &views);
    else
        view_all(cluster->ledger, &views);
    pthread_mutex_unlock(&cluster->lock);
    if (views.count > 0)
        qsort(views.items, views.count, sizeof *views.items, compare_views);
    *count = views.count;
    return views.items;
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
