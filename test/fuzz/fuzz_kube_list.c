/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any list, whole and in pieces: however it is split, the same comes out. The first byte seeds the
 * sizes of the pieces, the second byte says of which kind.
 */
#include "topofit/kube_json.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void note_object(void *ctx, struct kube_object *object)
{
    const struct kube_meta *meta = kube_object_meta(object);

    buf_addf(ctx, "%s/%s %s %zu %zu\n", meta->namespace, meta->name, meta->uid,
             meta->annotations.count, object->pod.container_count);
}

/* What a reader makes of the bytes: its objects, its list, or the code of its error. */
static void read_list(enum kube_kind kind, const char *bytes, size_t size, unsigned piece,
                      struct buf *out)
{
    struct kube_list_reader *reader = kube_list_reader_new(kind, note_object, out);
    AUTO(kube_list_meta_clear) struct kube_list_meta meta = {0};
    struct error err = {0};
    int result = 0;

    for (size_t at = 0; at < size && result == 0;) {
        size_t step = piece == 0 ? size : 1 + (at * 31 + piece) % (piece + 1);

        step = step < size - at ? step : size - at;
        result = kube_list_reader_feed(reader, bytes + at, step, &err);
        at += step;
    }
    if (result == 0)
        result = kube_list_reader_finish(reader, &meta, &err);
    buf_addf(out, "%d %s %s", result, result == 0 ? meta.resource_version : "",
             result == 0 ? meta.continue_token : "");
    kube_list_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(buf_clear) struct buf whole = buf_with_max(64 << 20);
    AUTO(buf_clear) struct buf pieces = buf_with_max(64 << 20);
    enum kube_kind kind;

    if (size < 2)
        return 0;
    kind = (enum kube_kind)(bytes[1] % KUBE_KINDS);
    read_list(kind, (const char *)bytes + 2, size - 2, 0, &whole);
    read_list(kind, (const char *)bytes + 2, size - 2, 1u + bytes[0], &pieces);
    assert(strcmp(buf_text(&whole), buf_text(&pieces)) == 0);
    return 0;
}
