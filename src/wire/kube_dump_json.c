/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_dump_json - dumps of `kubectl get nodes,pods,quota -o json`.
 *
 * kubectl sorts members by name, so a list says its kind behind its items, and an item its kind
 * behind what a reader would need it for. A dump is in memory anyway: it is read once for the
 * kinds and places of its items, then each item by itself.
 */
#include "topofit/json.h"
#include "topofit/kube_json.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

struct item {
    size_t start, end; /* bytes of the dump */
    char *kind;        /* NULL when not said */
};

struct dump {
    struct json_reader *json;
    char *kind; /* of the document, NULL when not said */
    bool has_items;
    struct item *items;
    size_t item_count, item_capacity;
};

static const struct kind {
    const char *name, *list;
    enum kube_kind is;
    bool has_template; /* of the pods that it makes */
} kinds[] = {
    {"Node", "NodeList", KUBE_NODE, false},
    {"Pod", "PodList", KUBE_POD, false},
    {"ResourceQuota", "ResourceQuotaList", KUBE_QUOTA, false},
    {"Deployment", "DeploymentList", KUBE_POD, true},
    {"StatefulSet", "StatefulSetList", KUBE_POD, true},
    {"DaemonSet", "DaemonSetList", KUBE_POD, true},
    {"ReplicaSet", "ReplicaSetList", KUBE_POD, true},
    {"Job", "JobList", KUBE_POD, true},
    {"CronJob", "CronJobList", KUBE_POD, true},
};

static void forget_items(struct dump *dump)
{
    for (size_t i = 0; i < dump->item_count; i++)
        free(dump->items[i].kind);
    dump->item_count = 0;
}

static void clear_dump(struct dump *dump)
{
    json_reader_free(dump->json);
    free(dump->kind);
    forget_items(dump);
    free(dump->items);
}

static int take_kind(void *ctx, const struct json_value *value, struct error *err)
{
    struct dump *dump = ctx;

    return json_value_copy(value, &dump->kind, err);
}

static int begin_items(void *ctx, const char *key, struct error *err)
{
    struct dump *dump = ctx;

    (void)key, (void)err;
    dump->has_items = true;
    forget_items(dump);
    return 0;
}

static int begin_item(void *ctx, const char *key, struct error *err)
{
    struct dump *dump = ctx;

    (void)key, (void)err;
    dump->items =
        mem_grow(dump->items, dump->item_count, &dump->item_capacity, sizeof *dump->items);
    dump->items[dump->item_count++] =
        (struct item){.start = json_reader_offset(dump->json) - strlen("{")};
    return 0;
}

static int take_item_kind(void *ctx, const struct json_value *value, struct error *err)
{
    struct dump *dump = ctx;

    return json_value_copy(value, &dump->items[dump->item_count - 1].kind, err);
}

static int end_item(void *ctx, struct error *err)
{
    struct dump *dump = ctx;

    (void)err;
    dump->items[dump->item_count - 1].end = json_reader_offset(dump->json);
    return 0;
}

static const struct json_field item_shape[] = {
    {.key = "kind", .on_value = take_item_kind},
    {0},
};

static const struct json_field items_shape[] = {
    {.key = JSON_ELEMENT, .shape = item_shape, .on_begin = begin_item, .on_end = end_item},
    {0},
};

static const struct json_field dump_shape[] = {
    {.key = "kind", .on_value = take_kind},
    {.key = "items", .shape = items_shape, .on_begin = begin_items},
    {0},
};

/* The kind of an object by its own word or, without one, by that of its list; NULL = another. */
static const struct kind *find_kind(const char *name, const char *list)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (name != NULL ? strcmp(kinds[i].name, name) == 0
                         : list != NULL && strcmp(kinds[i].list, list) == 0)
            return &kinds[i];
    }
    return NULL;
}

static int read_one(const struct kind *kind, const char *bytes, size_t length,
                    kube_on_object on_object, void *ctx, struct error *err)
{
    AUTO(kube_object_clear) struct kube_object object = {0};
    int result = kind->has_template ? kube_json_read_template(bytes, length, &object, err)
                                    : kube_json_read_object(kind->is, bytes, length, &object, err);

    if (result < 0)
        return result;
    object.made_by = kind->has_template ? kind->name : NULL;
    on_object(ctx, &object);
    return 0;
}

static int read_items(const struct dump *dump, const char *bytes, kube_on_object on_object,
                      void *ctx, struct error *err)
{
    for (size_t i = 0; i < dump->item_count; i++) {
        const struct item *item = &dump->items[i];
        const struct kind *kind = find_kind(item->kind, dump->kind);

        if (item->kind == NULL && kind == NULL)
            return error_set(err, ERR_INVALID, "item %zu at byte %zu: no kind", i + 1, item->start);
        if (kind == NULL)
            continue;
        if (read_one(kind, bytes + item->start, item->end - item->start, on_object, ctx, err) < 0)
            return error_wrap(err, "item %zu at byte %zu", i + 1, item->start);
    }
    return 0;
}

int kube_json_read_dump(const char *bytes, size_t length, kube_on_object on_object, void *ctx,
                        struct error *err)
{
    AUTO(clear_dump) struct dump dump = {0};
    const struct kind *kind;

    dump.json = json_reader_new(dump_shape, &dump);
    if (json_reader_feed(dump.json, bytes, length, err) < 0 ||
        json_reader_finish(dump.json, err) < 0)
        return -(int)err->code;
    if (dump.has_items)
        return read_items(&dump, bytes, on_object, ctx, err);
    kind = find_kind(dump.kind, NULL);
    if (dump.kind == NULL)
        return error_set(err, ERR_INVALID, "neither a kind nor items");
    return kind == NULL ? 0 : read_one(kind, bytes, length, on_object, ctx, err);
}
