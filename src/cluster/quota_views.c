/* SPDX-License-Identifier: Apache-2.0 */
/* quota_views - quotas for people. */
#include "cluster_inside.h"

#include <stdlib.h>
#include <string.h>

/* A list of views in the making. */
struct listing {
    struct quota_view *views;
    size_t count, capacity;
};

/* Is there a view of an object without scopes for it? Of those only the tightest counts. */
static bool is_listed(const struct listing *listing, size_t from, const struct quota_limit *limit)
{
    for (size_t i = from; i < listing->count; i++) {
        if (!listing->views[i].is_scoped && listing->views[i].class == limit->class &&
            listing->views[i].kind == limit->kind)
            return true;
    }
    return false;
}

/* Of the objects that count all pods that with the smallest limit. */
static const struct quota *tightest(const struct quota_set *set, const struct quota_limit *limit)
{
    const struct quota *found = NULL;
    uint64_t least = QUOTA_NO_LIMIT;

    for (size_t i = 0; i < set->count; i++) {
        uint64_t own = quota_limit_of(set->items[i], limit->class, limit->kind);

        if (set->items[i]->scope_count == 0 && own < least) {
            least = own;
            found = set->items[i];
        }
    }
    return found;
}

static void list_namespace(const struct cluster *cluster, const char *namespace,
                           const struct quota_set *set, struct listing *out)
{
    size_t from = out->count;

    for (size_t i = 0; i < set->count; i++) {
        for (size_t k = 0; k < set->items[i]->limit_count; k++) {
            const struct quota_limit *limit = &set->items[i]->limits[k];
            bool is_scoped = set->items[i]->scope_count > 0;
            const struct quota *by = is_scoped ? set->items[i] : tightest(set, limit);

            if (!is_scoped && is_listed(out, from, limit))
                continue;
            out->views = mem_grow(out->views, out->count, &out->capacity, sizeof *out->views);
            out->views[out->count++] = (struct quota_view){
                .namespace = xstrdup(namespace),
                .class = limit->class,
                .kind = limit->kind,
                .limit = quota_limit_of(by, limit->class, limit->kind),
                .used = ledger_charged(cluster->ledger, namespace, by, limit->class, limit->kind),
                .is_scoped = is_scoped,
                .quota = xstrdup(by->name)};
        }
    }
}

static int compare_views(const void *a, const void *b)
{
    const struct quota_view *x = a, *y = b;
    int order = strcmp(x->namespace, y->namespace);

    if (order == 0)
        order = strcmp(quota_resource(x->class, x->kind), quota_resource(y->class, y->kind));
    return order != 0 ? order : strcmp(x->quota, y->quota);
}

struct quota_view *cluster_quotas(struct cluster *cluster, size_t *count)
{
    struct listing listing = {0};
    struct map_cursor at = {0};

    LOCK(cluster);
    while (map_next(cluster->quotas, &at))
        list_namespace(cluster, at.key, at.value, &listing);
    if (listing.count > 0)
        qsort(listing.views, listing.count, sizeof *listing.views, compare_views);
    *count = listing.count;
    return listing.views;
}

void quota_views_free(struct quota_view *views, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(views[i].namespace);
        free(views[i].quota);
    }
    free(views);
}

/* --- remarks --------------------------------------------------------------------------------- */

static int compare_remarks(const void *a, const void *b)
{
    const struct quota_remark *x = a, *y = b;
    int order = strcmp(x->namespace, y->namespace);

    if (order == 0)
        order = strcmp(x->quota, y->quota);
    return order != 0 ? order : strcmp(x->text, y->text);
}

struct quota_remark *cluster_quota_remarks(struct cluster *cluster, size_t *count)
{
    struct quota_remark *remarks = NULL;
    struct map_cursor at = {0};
    size_t capacity = 0;

    *count = 0;
    LOCK(cluster);
    while (map_next(cluster->quotas, &at)) {
        const struct quota_set *set = at.value;

        for (size_t i = 0; i < set->count; i++) {
            for (size_t k = 0; k < set->items[i]->remark_count; k++) {
                remarks = mem_grow(remarks, *count, &capacity, sizeof *remarks);
                remarks[(*count)++] =
                    (struct quota_remark){xstrdup(at.key), xstrdup(set->items[i]->name),
                                          xstrdup(set->items[i]->remarks[k])};
            }
        }
    }
    if (*count > 0)
        qsort(remarks, *count, sizeof *remarks, compare_remarks);
    return remarks;
}

void quota_remarks_free(struct quota_remark *remarks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(remarks[i].namespace);
        free(remarks[i].quota);
        free(remarks[i].text);
    }
    free(remarks);
}
