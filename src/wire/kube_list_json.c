/* SPDX-License-Identifier: Apache-2.0 */
/* kube_list_json - lists from the API server, item by item as they arrive. */
#include "kube_reading.h"
#include "topofit/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kube_list_reader {
    struct kube_reading reading; /* first: ctx of the items' shapes */
    struct json_reader *json;
    enum kube_kind kind;
    struct kube_object item;
    kube_on_object on_object;
    void *ctx;
    struct kube_list_meta meta;
    char *list_kind; /* "PodList", or NULL when not said */
    bool has_items;
};

void kube_list_meta_clear(struct kube_list_meta *meta)
{
    free(meta->resource_version);
    free(meta->continue_token);
    *meta = (struct kube_list_meta){0};
}

static int take_list_kind(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_list_reader *reader = ctx;

    return json_value_copy(value, &reader->list_kind, err);
}

static int take_list_meta(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_list_reader *reader = ctx;

    return json_value_copy(value, (char **)((char *)&reader->meta + value->slot), err);
}

/* A Go program may write an empty list as null. */
static int take_null_items(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_list_reader *reader = ctx;

    if (value->type != JSON_NULL_VALUE)
        return error_set(err, ERR_INVALID, "\"%s\": a list was expected", value->key);
    reader->has_items = true;
    return 0;
}

static int begin_items(void *ctx, const char *key, struct error *err)
{
    struct kube_list_reader *reader = ctx;

    (void)key, (void)err;
    reader->has_items = true;
    return 0;
}

static int begin_item(void *ctx, const char *key, struct error *err)
{
    struct kube_list_reader *reader = ctx;

    (void)key, (void)err;
    kube_reading_begin_object(&reader->reading, &reader->item, reader->kind);
    return 0;
}

static int end_item(void *ctx, struct error *err)
{
    struct kube_list_reader *reader = ctx;

    kube_reading_end(&reader->reading);
    if (kube_reading_check(&reader->reading, err) < 0)
        return -(int)err->code;
    reader->on_object(reader->ctx, &reader->item);
    kube_object_clear(&reader->item);
    return 0;
}

static const struct json_field list_meta_shape[] = {
    {.key = "resourceVersion",
     .on_value = take_list_meta,
     .slot = offsetof(struct kube_list_meta, resource_version)},
    {.key = "continue",
     .on_value = take_list_meta,
     .slot = offsetof(struct kube_list_meta, continue_token)},
    {0},
};

#define ITEM(of) .key = JSON_ELEMENT, .shape = of, .on_begin = begin_item, .on_end = end_item

static const struct json_field pods_shape[] = {{ITEM(kube_pod_shape)}, {0}};
static const struct json_field nodes_shape[] = {{ITEM(kube_node_shape)}, {0}};
static const struct json_field quotas_shape[] = {{ITEM(kube_quota_shape)}, {0}};

#define ITEMS(of) .key = "items", .shape = of, .on_value = take_null_items, .on_begin = begin_items

static const struct json_field pod_list_shape[] = {
    {.key = "kind", .on_value = take_list_kind},
    {.key = "metadata", .shape = list_meta_shape},
    {ITEMS(pods_shape)},
    {0},
};

static const struct json_field node_list_shape[] = {
    {.key = "kind", .on_value = take_list_kind},
    {.key = "metadata", .shape = list_meta_shape},
    {ITEMS(nodes_shape)},
    {0},
};

static const struct json_field quota_list_shape[] = {
    {.key = "kind", .on_value = take_list_kind},
    {.key = "metadata", .shape = list_meta_shape},
    {ITEMS(quotas_shape)},
    {0},
};

static const struct json_field *const list_shapes[KUBE_KINDS] = {
    [KUBE_NODE] = node_list_shape, [KUBE_POD] = pod_list_shape, [KUBE_QUOTA] = quota_list_shape};

struct kube_list_reader *kube_list_reader_new(enum kube_kind kind, kube_on_object on_object,
                                              void *ctx)
{
    struct kube_list_reader *reader = xcalloc(1, sizeof *reader);

    reader->kind = kind;
    reader->on_object = on_object;
    reader->ctx = ctx;
    reader->meta.resource_version = xstrdup("");
    reader->meta.continue_token = xstrdup("");
    reader->json = json_reader_new(list_shapes[kind], reader);
    return reader;
}

void kube_list_reader_free(struct kube_list_reader *reader)
{
    if (reader == NULL)
        return;
    json_reader_free(reader->json);
    kube_reading_clear(&reader->reading);
    kube_object_clear(&reader->item);
    kube_list_meta_clear(&reader->meta);
    free(reader->list_kind);
    free(reader);
}

int kube_list_reader_feed(struct kube_list_reader *reader, const char *bytes, size_t length,
                          struct error *err)
{
    return json_reader_feed(reader->json, bytes, length, err);
}

static int check_list(const struct kube_list_reader *reader, struct error *err)
{
    char wanted[32];

    snprintf(wanted, sizeof wanted, "%sList", kube_kind_name(reader->kind));
    if (reader->list_kind != NULL && strcmp(reader->list_kind, wanted) != 0)
        return error_set(err, ERR_INVALID, "a %s was expected, not a \"%.64s\"", wanted,
                         reader->list_kind);
    if (!reader->has_items)
        return error_set(err, ERR_INVALID, "a %s without items", wanted);
    if (reader->meta.resource_version[0] == '\0')
        return error_set(err, ERR_INVALID, "a %s without a resourceVersion", wanted);
    return 0;
}

int kube_list_reader_finish(struct kube_list_reader *reader, struct kube_list_meta *out,
                            struct error *err)
{
    if (json_reader_finish(reader->json, err) < 0 || check_list(reader, err) < 0)
        return -(int)err->code;
    kube_list_meta_clear(out);
    *out = reader->meta;
    reader->meta = (struct kube_list_meta){0};
    return 0;
}
