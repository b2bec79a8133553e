/* SPDX-License-Identifier: Apache-2.0 */
/* extender_json - the questions of kube-scheduler's extender calls (extender/v1). */
#include "topofit/extender_json.h"

#include "extender_args_whole.h"
#include "kube_reading.h"
#include "names_skim.h"
#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

/* --- filter and prioritize: the question ----------------------------------------------------- */

struct args_reading {
    struct kube_reading reading; /* first: ctx of the pod's and nodes' shapes */
    struct json_reader *json;    /* NULL: names are skimmed */
    const char *bytes;
    size_t length;
    const struct likely_names *likely; /* for the skim, or NULL */
    size_t item_start;                 /* of the node that is open */
    size_t name_used;                  /* bytes of args.name_text */
    struct extender_args args;
};

void extender_args_init(struct extender_args *args)
{
    *args = (struct extender_args){0};
    kube_pod_init(&args->pod);
}

static void drop_nodes(struct extender_args *args)
{
    for (size_t i = 0; i < args->node_count; i++) {
        kube_node_clear(&args->nodes[i]);
        free(args->node_bytes[i]);
    }
    args->node_count = 0;
}

void extender_args_clear(struct extender_args *args)
{
    drop_nodes(args);
    free(args->nodes);
    free(args->node_bytes);
    free(args->own_names);
    free(args->positions);
    free(args->name_text);
    kube_pod_clear(&args->pod);
    *args = (struct extender_args){0};
}

static void clear_args_reading(struct args_reading *reading)
{
    json_reader_free(reading->json);
    kube_reading_clear(&reading->reading);
    extender_args_clear(&reading->args);
}

static int begin_pod(void *ctx, const char *key, struct error *err)
{
    struct args_reading *reading = ctx;

    (void)key, (void)err;
    kube_pod_clear(&reading->args.pod);
    kube_reading_begin_pod(&reading->reading, &reading->args.pod);
    reading->args.has_pod = true;
    return 0;
}

static int end_object(void *ctx, struct error *err)
{
    struct args_reading *reading = ctx;

    (void)err;
    kube_reading_end(&reading->reading);
    return 0;
}

/*
 * Unescaped names are never longer than the text they stand in, and the two quotes around each
 * make room for its NUL: what is left of the body bounds them all, also when the member comes
 * twice.
 */
static int begin_names(void *ctx, const char *key, struct error *err)
{
    struct args_reading *reading = ctx;
    struct extender_args *args = &reading->args;

    (void)key, (void)err;
    args->has_names = true;
    args->name_count = 0;
    if (args->name_text == NULL)
        args->name_text = xmalloc(reading->length - json_reader_offset(reading->json));
    return 0;
}

/* The list where it stands. A second one, or nodes beside it, are the parser's. */
static size_t skim_names(void *ctx, const char *list, size_t length)
{
    struct args_reading *reading = ctx;
    struct extender_args *args = &reading->args;
    size_t bytes;
    struct names_skim skim;

    (void)length;
    if (args->has_names)
        return 0;
    bytes = names_skim(reading->bytes, reading->length, (size_t)(list - reading->bytes),
                       reading->likely, &skim);
    if (bytes == 0)
        return 0;
    args->has_names = args->names_are_plain = true;
    args->own_names = skim.names;
    args->names = skim.names != NULL ? skim.names : reading->likely->list.places;
    args->positions = skim.positions;
    args->name_count = args->name_capacity = skim.count;
    args->jumps = skim.jumps;
    args->name_base = reading->bytes + skim.shift;
    args->name_limit = reading->length - skim.shift;
    return bytes;
}

static int refuse_count(struct error *err)
{
    return error_set(err, ERR_LIMIT, "more than %d nodes", EXTENDER_NODES_MAX);
}

static int take_name(void *ctx, const struct json_value *value, struct error *err)
{
    struct args_reading *reading = ctx;
    struct extender_args *args = &reading->args;
    char *name;

    if (value->type != JSON_STRING_TEXT)
        return error_set(err, ERR_INVALID, "\"%s\": a string was expected", value->key);
    if (value->length > EXTENDER_NAME_MAX)
        return error_set(err, ERR_LIMIT, "a node name of more than %d bytes", EXTENDER_NAME_MAX);
    if (args->name_count == EXTENDER_NODES_MAX)
        return refuse_count(err);
    name = args->name_text + reading->name_used;
    memcpy(name, value->text, value->length);
    name[value->length] = '\0';
    reading->name_used += value->length + 1;
    args->own_names =
        mem_grow(args->own_names, args->name_count, &args->name_capacity, sizeof *args->own_names);
    args->names = args->own_names;
    args->own_names[args->name_count++] = (struct name_at){
        .start = (uint32_t)(name - args->name_text), .length = (uint32_t)value->length};
    return 0;
}

static int begin_nodes(void *ctx, const char *key, struct error *err)
{
    struct args_reading *reading = ctx;

    (void)key;
    if (reading->json == NULL)
        return error_set(err, ERR_INVALID, "whole nodes are not skimmed");
    reading->args.has_nodes = true;
    drop_nodes(&reading->args);
    return 0;
}

static int begin_items(void *ctx, const char *key, struct error *err)
{
    struct args_reading *reading = ctx;

    (void)key, (void)err;
    drop_nodes(&reading->args);
    return 0;
}

static int begin_item(void *ctx, const char *key, struct error *err)
{
    struct args_reading *reading = ctx;
    struct extender_args *args = &reading->args;
    size_t capacity = args->node_capacity;

    (void)key;
    if (args->node_count == EXTENDER_NODES_MAX)
        return refuse_count(err);
    args->node_bytes =
        mem_grow(args->node_bytes, args->node_count, &capacity, sizeof *args->node_bytes);
    args->nodes =
        mem_grow(args->nodes, args->node_count, &args->node_capacity, sizeof *args->nodes);
    args->node_bytes[args->node_count] = NULL;
    kube_reading_begin_node(&reading->reading, &args->nodes[args->node_count++]);
    reading->item_start = json_reader_offset(reading->json) - strlen("{");
    return 0;
}

static int end_item(void *ctx, struct error *err)
{
    struct args_reading *reading = ctx;
    struct extender_args *args = &reading->args;
    size_t end = json_reader_offset(reading->json);

    kube_reading_end(&reading->reading);
    if (kube_reading_check(&reading->reading, err) < 0)
        return -(int)err->code;
    if (strlen(reading->reading.meta->name) > EXTENDER_NAME_MAX)
        return error_set(err, ERR_LIMIT, "a node name of more than %d bytes", EXTENDER_NAME_MAX);
    args->node_bytes[args->node_count - 1] =
        xstrndup(reading->bytes + reading->item_start, end - reading->item_start);
    return 0;
}

static const struct json_field names_shape[] = {
    {.key = JSON_ELEMENT, .on_value = take_name},
    {0},
};

static const struct json_field items_shape[] = {
    {.key = JSON_ELEMENT, .shape = kube_node_shape, .on_begin = begin_item, .on_end = end_item},
    {0},
};

static const struct json_field node_list_shape[] = {
    {.key = "items", .shape = items_shape, .on_begin = begin_items, .any_case = true},
    {0},
};

static const struct json_field args_shape[] = {
    {.key = "Pod",
     .shape = kube_pod_shape,
     .on_begin = begin_pod,
     .on_end = end_object,
     .any_case = true},
    {.key = "NodeNames",
     .shape = names_shape,
     .on_begin = begin_names,
     .on_text = skim_names,
     .any_case = true},
    {.key = "Nodes", .shape = node_list_shape, .on_begin = begin_nodes, .any_case = true},
    {0},
};

static void finish_args(struct args_reading *reading, struct extender_args *out)
{
    extender_args_clear(out);
    *out = reading->args;
    reading->args = (struct extender_args){0};
}

int extender_args_read_whole(const char *bytes, size_t length, struct extender_args *out,
                             struct error *err)
{
    AUTO(clear_args_reading)
    struct args_reading reading = {.bytes = bytes, .length = length};

    extender_args_init(&reading.args);
    reading.json = json_reader_new(args_shape, &reading);
    if (json_reader_feed(reading.json, bytes, length, err) < 0 ||
        json_reader_finish(reading.json, err) < 0)
        return -(int)err->code;
    reading.args.name_base = reading.args.name_text;
    reading.args.name_limit = reading.name_used;
    finish_args(&reading, out);
    return 0;
}

bool extender_args_read_skimming(const char *bytes, size_t length,
                                 const struct likely_names *likely, struct extender_args *out)
{
    AUTO(clear_args_reading)
    struct args_reading reading = {.bytes = bytes, .length = length, .likely = likely};

    extender_args_init(&reading.args);
    if (!json_read_plain(args_shape, &reading, bytes, length) || !reading.args.has_names)
        return false;
    finish_args(&reading, out);
    return true;
}

int extender_json_read_args(const char *bytes, size_t length, const struct likely_names *likely,
                            struct extender_args *out, struct error *err)
{
    if (extender_args_read_skimming(bytes, length, likely, out))
        return 0;
    return extender_args_read_whole(bytes, length, out, err);
}

/* --- bind: the question ---------------------------------------------------------------------- */

void extender_binding_args_clear(struct extender_binding_args *args)
{
    free(args->pod_name);
    free(args->pod_namespace);
    free(args->pod_uid);
    free(args->node);
    *args = (struct extender_binding_args){0};
}

static int take_binding_text(void *ctx, const struct json_value *value, struct error *err)
{
    if (value->length > EXTENDER_NAME_MAX)
        return error_set(err, ERR_LIMIT, "\"%s\": more than %d bytes", value->key,
                         EXTENDER_NAME_MAX);
    return json_value_copy(value, (char **)((char *)ctx + value->slot), err);
}

#define BINDING(member) \
    .on_value = take_binding_text, .slot = offsetof(struct extender_binding_args, member), \
    .any_case = true

static const struct json_field binding_args_shape[] = {
    {.key = "PodName", BINDING(pod_name)},
    {.key = "PodNamespace", BINDING(pod_namespace)},
    {.key = "PodUID", BINDING(pod_uid)},
    {.key = "Node", BINDING(node)},
    {0},
};

int extender_json_read_binding_args(const char *bytes, size_t length,
                                    struct extender_binding_args *out, struct error *err)
{
    AUTO(extender_binding_args_clear)
    struct extender_binding_args args = {xstrdup(""), xstrdup(""), xstrdup(""), xstrdup("")};

    if (json_read(binding_args_shape, &args, bytes, length, err) < 0)
        return -(int)err->code;
    extender_binding_args_clear(out);
    *out = args;
    args = (struct extender_binding_args){0};
    return 0;
}
