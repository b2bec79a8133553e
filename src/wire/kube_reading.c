/* SPDX-License-Identifier: Apache-2.0 */
/* kube_reading - the shapes of nodes and pods: what both have, and nodes. */
#include "kube_reading.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

#define PAIR_OVERHEAD_BYTES 32 /* counted with each pair, so that empty texts are bounded too */

static void begin(struct kube_reading *reading, struct kube_meta *meta, bool *truncated)
{
    reading->meta = meta;
    reading->truncated = truncated;
    reading->text_bytes = 0;
    reading->container = NULL;
    reading->status = NULL;
    mem_free_pointer(&reading->kind);
}

void kube_reading_begin_pod(struct kube_reading *reading, struct kube_pod *pod)
{
    kube_pod_init(pod);
    reading->pod = pod;
    reading->node = NULL;
    reading->quota = NULL;
    begin(reading, &pod->meta, &pod->truncated);
}

void kube_reading_begin_node(struct kube_reading *reading, struct kube_node *node)
{
    kube_node_init(node);
    reading->node = node;
    reading->pod = NULL;
    reading->quota = NULL;
    begin(reading, &node->meta, &node->truncated);
}

void kube_reading_begin_quota(struct kube_reading *reading, struct kube_quota *quota)
{
    kube_quota_init(quota);
    reading->quota = quota;
    reading->node = NULL;
    reading->pod = NULL;
    begin(reading, &quota->meta, &quota->truncated);
}

void kube_reading_begin_object(struct kube_reading *reading, struct kube_object *object,
                               enum kube_kind kind)
{
    *object = (struct kube_object){.kind = kind};
    switch (kind) {
    case KUBE_NODE:
        kube_reading_begin_node(reading, &object->node);
        break;
    case KUBE_POD:
        kube_reading_begin_pod(reading, &object->pod);
        break;
    case KUBE_QUOTA:
        kube_reading_begin_quota(reading, &object->quota);
        break;
    }
}

int kube_reading_check(const struct kube_reading *reading, struct error *err)
{
    enum kube_kind kind = reading->pod != NULL    ? KUBE_POD
                          : reading->node != NULL ? KUBE_NODE
                                                  : KUBE_QUOTA;
    const char *wanted = kube_kind_name(kind);

    if (reading->kind != NULL && strcmp(reading->kind, wanted) != 0)
        return error_set(err, ERR_INVALID, "a %s was expected, not a \"%.64s\"", wanted,
                         reading->kind);
    if (reading->meta->name[0] == '\0')
        return error_set(err, ERR_INVALID, "a %s without a name", wanted);
    return 0;
}

int kube_reading_copy(struct kube_reading *reading, const struct json_value *value, char **out,
                      struct error *err)
{
    if (value->type == JSON_STRING_TEXT && memchr(value->text, '\0', value->length) != NULL) {
        *reading->truncated = true;
        return 0;
    }
    return json_value_copy(value, out, err);
}

static void add_pair(struct kube_reading *reading, struct kube_pairs *pairs,
                     const struct json_value *value)
{
    AUTO_FREE char *text = NULL;
    size_t bytes = strlen(value->key) + value->length + PAIR_OVERHEAD_BYTES;

    if (bytes > KUBE_TEXT_MAX_BYTES - reading->text_bytes ||
        memchr(value->text, '\0', value->length) != NULL) {
        *reading->truncated = true;
        return;
    }
    reading->text_bytes += bytes;
    text = xstrndup(value->text, value->length);
    kube_pairs_add(pairs, value->key, text);
}

int kube_reading_add_text(struct kube_reading *reading, struct kube_pairs *pairs,
                          const struct json_value *value, struct error *err)
{
    if (value->type != JSON_STRING_TEXT && value->type != JSON_NULL_VALUE)
        return error_set(err, ERR_INVALID, "\"%s\": a string was expected", value->key);
    add_pair(reading, pairs, value);
    return 0;
}

int kube_reading_add_amount(struct kube_reading *reading, struct kube_pairs *pairs,
                            const struct json_value *value, struct error *err)
{
    if (value->type != JSON_STRING_TEXT && value->type != JSON_NUMBER_TEXT)
        return error_set(err, ERR_INVALID, "\"%s\": an amount was expected", value->key);
    add_pair(reading, pairs, value);
    return 0;
}

/* --- metadata -------------------------------------------------------------------------------- */

int kube_reading_take_kind(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    return json_value_copy(value, &reading->kind, err);
}

static int take_meta_text(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;
    char **out = (char **)((char *)reading->meta + value->slot);

    return kube_reading_copy(reading, value, out, err);
}

static int take_deletion(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    (void)err;
    reading->meta->deleting = value->type != JSON_NULL_VALUE;
    return 0;
}

static int take_meta_pair(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;
    struct kube_pairs *pairs = (struct kube_pairs *)((char *)reading->meta + value->slot);

    return kube_reading_add_text(reading, pairs, value, err);
}

#define META(member) .slot = offsetof(struct kube_meta, member)

static const struct json_field labels_shape[] = {
    {.key = JSON_ANY_KEY, .on_value = take_meta_pair, META(labels), .accepts_nul = true},
    {0},
};

static const struct json_field annotations_shape[] = {
    {.key = JSON_ANY_KEY, .on_value = take_meta_pair, META(annotations), .accepts_nul = true},
    {0},
};

#define NAME_FIELDS \
    {.key = "name", .on_value = take_meta_text, META(name), .accepts_nul = true}, \
    { \
        .key = "namespace", .on_value = take_meta_text, META(namespace), .accepts_nul = true \
    }

#define WORD_FIELDS \
    {.key = "labels", .shape = labels_shape}, \
    { \
        .key = "annotations", .shape = annotations_shape \
    }

const struct json_field kube_name_shape[] = {NAME_FIELDS, {0}};
const struct json_field kube_words_shape[] = {WORD_FIELDS, {0}};

const struct json_field kube_meta_shape[] = {
    NAME_FIELDS,
    {.key = "uid", .on_value = take_meta_text, META(uid), .accepts_nul = true},
    {.key = "resourceVersion",
     .on_value = take_meta_text,
     META(resource_version),
     .accepts_nul = true},
    {.key = "deletionTimestamp", .on_value = take_deletion},
    WORD_FIELDS,
    {0},
};

/* --- nodes ----------------------------------------------------------------------------------- */

static int take_unschedulable(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    if (value->type != JSON_BOOL && value->type != JSON_NULL_VALUE)
        return error_set(err, ERR_INVALID, "\"%s\": true or false was expected", value->key);
    reading->node->unschedulable = value->boolean;
    return 0;
}

static int take_allocatable(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    return kube_reading_add_amount(reading, &reading->node->allocatable, value, err);
}

static const struct json_field allocatable_shape[] = {
    {.key = JSON_ANY_KEY, .on_value = take_allocatable, .accepts_nul = true},
    {0},
};

const struct json_field kube_node_spec_shape[] = {
    {.key = "unschedulable", .on_value = take_unschedulable},
    {0},
};

const struct json_field kube_node_status_shape[] = {
    {.key = "allocatable", .shape = allocatable_shape},
    {0},
};

const struct json_field kube_node_shape[] = {
    {.key = "kind", .on_value = kube_reading_take_kind},
    {.key = "metadata", .shape = kube_meta_shape},
    {.key = "spec", .shape = kube_node_spec_shape},
    {.key = "status", .shape = kube_node_status_shape},
    {0},
};
