/* SPDX-License-Identifier: Apache-2.0 */
/* tenants - who holds devices of a node, for preempt. */
#include "tenants.h"

#include "topofit/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int compare_standing(const struct standing *x, const struct standing *y)
{
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->started_s == y->started_s)
        return 0;
    /* A pod that has not started, as far as we know, is younger than all that have. */
    return x->started_s == 0 || (y->started_s != 0 && x->started_s > y->started_s) ? -1 : 1;
}

/* A pod on the node, before it is sorted in. */
struct holder {
    const struct holding_view *view;
    struct standing standing;
    struct host_amounts host;
    const struct charge *charges; /* of the same quota as the pod's; borrowed from the view */
    size_t charge_count;
    bool is_alike; /* in the traits that quotas look at */
    bool may_go, is_leaving;
};

static int compare_holders(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;
    int order = compare_standing(&x->standing, &y->standing);

    if (order == 0)
        order = strcmp(x->view->namespace, y->view->namespace);
    if (order == 0)
        order = strcmp(x->view->name, y->view->name);
    return order != 0 ? order : strcmp(x->view->uid, y->view->uid);
}

static struct holder holder_of(struct cluster *cluster, const struct holding_view *view,
                               const struct pod *preemptor)
{
    AUTO(pod_unref_pointer) struct pod *pod = cluster_find_pod_by_uid(cluster, view->uid);
    bool same_quota = strcmp(view->namespace, preemptor->namespace) == 0;

    /* Who is not known to be there cannot be evicted. */
    if (pod == NULL || !pod_holds_devices(pod) || strcmp(pod->node, view->node) != 0)
        return (struct holder){.view = view, .standing = {.priority = INT_MAX}};
    return (struct holder){.view = view,
                           .standing = {pod->priority, pod->started_s},
                           .host = pod->host,
                           .charges = view->charges,
                           .charge_count = same_quota ? view->charge_count : 0,
                           .is_alike =
                               quota_traits_equal(&pod->request.traits, &preemptor->request.traits),
                           .may_go = pod->priority < preemptor->priority,
                           .is_leaving = pod->deleting};
}

/* Add the grants of a holder. return how many. */
static size_t add_grants(const struct node *node, const struct holding_view *view,
                         struct placed_grant *out)
{
    struct grant grants[DEVICE_MAX];
    size_t count = 0;

    if (view->has_allocation)
        count = allocation_grants(&view->allocation, view->init_done, grants, ARRAY_LEN(grants));
    for (size_t i = 0; i < count; i++)
        out[i] = (struct placed_grant){node_find_device(node, grants[i].id), grants[i]};
    return count;
}

/*
 * Too many pods to choose among: the most important ones are one tenant, which stays. Its grants
 * stand behind each other.
 */
static void merge_into_last(struct tenants *tenants, const struct tenant *tenant)
{
    struct tenant *last = &tenants->items[PREEMPT_TENANTS_MAX - 1];

    last->grant_count += tenant->grant_count;
    last->unattributed += tenant->unattributed;
    last->may_go = last->is_leaving = false;
    mem_free_pointer(&tenants->uids[PREEMPT_TENANTS_MAX - 1]);
    tenants->uids[PREEMPT_TENANTS_MAX - 1] = xstrdup("");
}

static void add(struct tenants *tenants, const struct tenant *tenant, const struct holder *holder)
{
    if (tenants->count == PREEMPT_TENANTS_MAX) {
        merge_into_last(tenants, tenant);
        return;
    }
    tenants->uids[tenants->count] = xstrdup(holder->view->uid);
    tenants->standings[tenants->count] = holder->standing;
    tenants->items[tenants->count++] = *tenant;
}

static void sort_in(struct tenants *tenants, const struct node *node, const struct holder *holders,
                    size_t count)
{
    size_t grant_count = 0;

    tenants->items = xcalloc(PREEMPT_TENANTS_MAX, sizeof *tenants->items);
    tenants->uids = xcalloc(PREEMPT_TENANTS_MAX, sizeof *tenants->uids);
    tenants->standings = xcalloc(PREEMPT_TENANTS_MAX, sizeof *tenants->standings);
    tenants->grants = xcalloc(count * DEVICE_MAX, sizeof *tenants->grants);
    for (size_t i = 0; i < count; i++) {
        struct placed_grant *grants = tenants->grants + grant_count;
        struct tenant tenant = {.grants = grants,
                                .grant_count = add_grants(node, holders[i].view, grants),
                                .unattributed = holders[i].view->unattributed,
                                .host = holders[i].host,
                                .priority = holders[i].standing.priority,
                                .charges = holders[i].charges,
                                .charge_count = holders[i].charge_count,
                                .is_alike = holders[i].is_alike,
                                .may_go = holders[i].may_go,
                                .is_leaving = holders[i].is_leaving};

        grant_count += tenant.grant_count;
        add(tenants, &tenant, &holders[i]);
    }
}

void tenants_gather(struct cluster *cluster, const struct node_state *state, const struct pod *pod,
                    struct tenants *out)
{
    struct holder *holders;
    size_t count = 0;

    *out = (struct tenants){0};
    out->views = cluster_holdings(cluster, state->node->name, &out->view_count);
    holders = xcalloc(out->view_count, sizeof *holders);
    for (size_t i = 0; i < out->view_count; i++) {
        if (strcmp(out->views[i].uid, pod->uid) != 0)
            holders[count++] = holder_of(cluster, &out->views[i], pod);
    }
    if (count > 0)
        qsort(holders, count, sizeof *holders, compare_holders);
    sort_in(out, state->node, holders, count);
    free(holders);
}

void tenants_clear(struct tenants *tenants)
{
    for (size_t i = 0; i < tenants->count; i++)
        free(tenants->uids[i]);
    free(tenants->uids);
    free(tenants->items);
    free(tenants->standings);
    free(tenants->grants);
    holding_views_free(tenants->views, tenants->view_count);
    *tenants = (struct tenants){0};
}

bool tenants_find(const struct tenants *tenants, const char *uid, size_t *position)
{
    for (size_t i = 0; i < tenants->count; i++) {
        if (tenants->items[i].may_go && strcmp(tenants->uids[i], uid) == 0) {
            *position = i;
            return true;
        }
    }
    return false;
}
