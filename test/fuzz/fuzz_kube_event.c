/* SPDX-License-Identifier: Apache-2.0 */
/* Any line of a watch, any answer that should be a Status, any dump; what is read writes again. */
#include "topofit/kube_json.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void write_binding(void *ctx, struct kube_object *object)
{
    static const struct json_field nothing[] = {{0}};
    const struct kube_meta *meta = kube_object_meta(object);
    struct bind_job *job = bind_job_new(meta->namespace, meta->name, meta->uid, "n");
    AUTO(buf_clear) struct buf out = buf_with_max(64 << 20);
    struct error err = {0};

    (void)ctx;
    assert(object->kind != KUBE_POD || object->pod.container_count <= REQUEST_CONTAINERS_MAX);
    for (size_t i = 0; i < meta->annotations.count; i++)
        bind_job_add_annotation(job, meta->annotations.items[i].key,
                                meta->annotations.items[i].value);
    kube_json_write_binding(&out, job);
    bind_job_free(job);
    assert(json_read(nothing, NULL, out.data, out.length, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct kube_status status = {0};
    struct error status_err = {0}, dump_err = {0};

    for (enum kube_kind kind = KUBE_NODE; kind < KUBE_KINDS; kind++) {
        AUTO(kube_event_clear) struct kube_event event = {0};
        struct error err = {0};

        if (kube_json_read_event(kind, (const char *)bytes, size, &event, &err) == 0 &&
            event.type < KUBE_BOOKMARK)
            write_binding(NULL, &event.object);
    }
    kube_json_read_status((const char *)bytes, size, &status, &status_err);
    kube_json_read_dump((const char *)bytes, size, write_binding, NULL, &dump_err);
    return 0;
}
