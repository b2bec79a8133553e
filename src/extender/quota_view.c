/* SPDX-License-Identifier: Apache-2.0 */
/* quota_view - the quotas of namespaces, for people. */
#include "views.h"
#include "topofit/mem.h"
#include "topofit/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Everything there is to show. */
struct showing {
    struct quota_view *views;
    size_t count;
    struct quota_remark *remarks;
    size_t remark_count;
};

static void showing_clear(struct showing *showing)
{
    quota_views_free(showing->views, showing->count);
    quota_remarks_free(showing->remarks, showing->remark_count);
}

static uint64_t left_of(const struct quota_view *view)
{
    return view->used < view->limit ? view->limit - view->used : 0;
}

static uint64_t units(const struct quota_view *view, uint64_t amount)
{
    return quota_in_units(view->class, view->kind, amount);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *limit_item(const struct quota_view *view)
{
    AUTO_FREE char *resource = xasprintf("limits.%s", quota_resource(view->class, view->kind));
    json_t *item = json_pack("{s:s,s:I,s:I,s:I}", "resource", resource, "limit",
                             (json_int_t)units(view, view->limit), "used",
                             (json_int_t)units(view, view->used), "left",
                             (json_int_t)(units(view, view->limit) > units(view, view->used)
                                              ? units(view, view->limit) - units(view, view->used)
                                              : 0));

    if (view->kind == QUOTA_MEMORY) {
        json_object_set_new(item, "limitMiB", json_integer((json_int_t)view->limit));
        json_object_set_new(item, "usedMiB", json_integer((json_int_t)view->used));
        json_object_set_new(item, "leftMiB", json_integer((json_int_t)left_of(view)));
    }
    json_object_set_new(item, "quota", view_string(view->quota));
    return item;
}

static json_t *remark_item(const struct quota_remark *remark)
{
    return json_pack("{s:o,s:o}", "quota", view_string(remark->quota), "text",
                     view_string(remark->text));
}

/* How far the two lists, both by namespace, are written. */
struct written {
    size_t views, remarks;
};

/* The namespace that comes next; NULL behind the last. */
static const char *next_namespace(const struct showing *showing, const struct written *written)
{
    const char *view = NULL, *remark = NULL;

    if (written->views < showing->count)
        view = showing->views[written->views].namespace;
    if (written->remarks < showing->remark_count)
        remark = showing->remarks[written->remarks].namespace;
    if (view == NULL || remark == NULL)
        return view != NULL ? view : remark;
    return strcmp(view, remark) <= 0 ? view : remark;
}

static json_t *namespace_item(const struct showing *showing, const char *namespace,
                              struct written *written)
{
    json_t *limits = json_array(), *remarks = json_array();

    for (; written->views < showing->count &&
           strcmp(showing->views[written->views].namespace, namespace) == 0;
         written->views++)
        json_array_append_new(limits, limit_item(&showing->views[written->views]));
    for (; written->remarks < showing->remark_count &&
           strcmp(showing->remarks[written->remarks].namespace, namespace) == 0;
         written->remarks++)
        json_array_append_new(remarks, remark_item(&showing->remarks[written->remarks]));
    return json_pack("{s:o,s:o,s:o}", "namespace", view_string(namespace), "limits", limits,
                     "remarks", remarks);
}

static void write_json(const struct showing *showing, struct moment now, struct buf *out)
{
    json_t *document = view_document("QuotaList", now);
    json_t *items = json_array();
    struct written written = {0};
    const char *namespace;

    while ((namespace = next_namespace(showing, &written)) != NULL)
        json_array_append_new(items, namespace_item(showing, namespace, &written));
    json_object_set_new(document, "items", items);
    view_write(document, out);
}

/* --- text ------------------------------------------------------------------------------------ */

static void write_text(const struct showing *showing, struct buf *out)
{
    static const char *const headers[] = {"NAMESPACE", "RESOURCE", "USED", "LIMIT", "QUOTA"};
    AUTO(table_free_pointer) struct table *table = table_new(headers, ARRAY_LEN(headers));

    for (size_t i = 0; i < showing->count; i++) {
        const struct quota_view *view = &showing->views[i];

        table_add(table, view->namespace);
        table_addf(table, "limits.%s", quota_resource(view->class, view->kind));
        table_addf(table, "%" PRIu64, units(view, view->used));
        table_addf(table, "%" PRIu64, units(view, view->limit));
        table_add(table, view->quota);
    }
    table_write(table, out);
    for (size_t i = 0; i < showing->remark_count; i++)
        buf_addf(out, "%s%s/%s: %s\n", i == 0 ? "\n" : "", showing->remarks[i].namespace,
                 showing->remarks[i].quota, showing->remarks[i].text);
}

void view_quota(struct extender *extender, struct moment now, enum view_format format,
                struct buf *out)
{
    AUTO(showing_clear) struct showing showing = {0};

    showing.views = cluster_quotas(extender->cluster, &showing.count);
    showing.remarks = cluster_quota_remarks(extender->cluster, &showing.remark_count);
    if (format == VIEW_TEXT)
        write_text(&showing, out);
    else
        write_json(&showing, now, out);
}
