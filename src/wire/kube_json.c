/* SPDX-License-Identifier: Apache-2.0 */
/* kube_json - single Kubernetes objects from bytes, and the Binding we write. */
#include "topofit/kube_json.h"

#include "kube_reading.h"
#include "topofit/mem.h"

static const char *const names[KUBE_KINDS] = {
    [KUBE_NODE] = "Node", [KUBE_POD] = "Pod", [KUBE_QUOTA] = "ResourceQuota"};

const struct json_field *const kube_shapes[KUBE_KINDS] = {
    [KUBE_NODE] = kube_node_shape, [KUBE_POD] = kube_pod_shape, [KUBE_QUOTA] = kube_quota_shape};

const char *kube_kind_name(enum kube_kind kind)
{
    return names[kind];
}

void kube_object_init(struct kube_object *object, enum kube_kind kind)
{
    *object = (struct kube_object){.kind = kind};
    switch (kind) {
    case KUBE_NODE:
        kube_node_init(&object->node);
        break;
    case KUBE_POD:
        kube_pod_init(&object->pod);
        break;
    case KUBE_QUOTA:
        kube_quota_init(&object->quota);
        break;
    }
}

void kube_object_clear(struct kube_object *object)
{
    kube_node_clear(&object->node);
    kube_pod_clear(&object->pod);
    kube_quota_clear(&object->quota);
}

const struct kube_meta *kube_object_meta(const struct kube_object *object)
{
    switch (object->kind) {
    case KUBE_NODE:
        return &object->node.meta;
    case KUBE_POD:
        return &object->pod.meta;
    case KUBE_QUOTA:
        break;
    }
    return &object->quota.meta;
}

int kube_json_read_object(enum kube_kind kind, const char *bytes, size_t length,
                          struct kube_object *out, struct error *err)
{
    AUTO(kube_object_clear) struct kube_object object = {0};
    AUTO(kube_reading_clear) struct kube_reading reading = {0};

    kube_reading_begin_object(&reading, &object, kind);
    if (!json_read_plain(kube_shapes[kind], &reading, bytes, length)) {
        kube_reading_clear(&reading);
        kube_object_clear(&object);
        kube_reading_begin_object(&reading, &object, kind);
        if (json_read(kube_shapes[kind], &reading, bytes, length, err) < 0)
            return -(int)err->code;
    }
    kube_reading_end(&reading);
    if (kube_reading_check(&reading, err) < 0)
        return -(int)err->code;
    kube_object_clear(out);
    *out = object;
    object = (struct kube_object){0};
    return 0;
}

static void write_member(struct buf *out, const char *opening, const char *text)
{
    buf_add_text(out, opening);
    buf_add_json_string(out, text);
}

void kube_json_write_binding(struct buf *out, const struct bind_job *job)
{
    buf_add_text(out, "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{");
    write_member(out, "\"name\":", job->name);
    write_member(out, ",\"namespace\":", job->namespace);
    write_member(out, ",\"uid\":", job->uid);
    buf_add_text(out, ",\"annotations\":{");
    for (size_t i = 0; i < job->annotation_count; i++) {
        if (i > 0)
            buf_add_byte(out, ',');
        buf_add_json_string(out, job->annotations[i].key);
        write_member(out, ":", job->annotations[i].value);
    }
    buf_add_text(out, "}},\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\"");
    write_member(out, ",\"name\":", job->node);
    buf_add_text(out, "}}");
}
