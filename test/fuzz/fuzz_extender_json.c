/* SPDX-License-Identifier: Apache-2.0 */
/* Any body of a filter or bind call; what could be read is answered, and the answer is JSON. */
#include "topofit/extender_json.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_json(const struct buf *answer)
{
    static const struct json_field nothing[] = {{0}};
    struct error err = {0};

    assert(!answer->overflowed);
    assert(json_read(nothing, NULL, answer->data, answer->length, &err) == 0);
}

static void answer(const struct extender_args *args)
{
    size_t count = args->has_nodes ? args->node_count : args->name_count;
    struct filtered_node *nodes = xcalloc(count, sizeof *nodes);
    AUTO(buf_clear) struct buf out = buf_with_max(64 << 20);

    for (size_t i = 0; i < count; i++) {
        nodes[i] = (struct filtered_node){
            .name = args->has_nodes ? args->nodes[i].meta.name : args->names[i],
            .reason = i % 3 == 0 ? NULL : args->pod.meta.name,
            .curable = i % 3 == 1,
        };
    }
    extender_json_write_filter_result(&out, args, nodes, count);
    check_json(&out);
    free(nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(extender_args_clear) struct extender_args args = {0};
    AUTO(extender_binding_args_clear) struct extender_binding_args binding = {0};
    struct error args_err = {0}, binding_err = {0};
    AUTO(buf_clear) struct buf out = buf_with_max(64 << 20);

    if (extender_json_read_args((const char *)bytes, size, &args, &args_err) == 0)
        answer(&args);
    if (extender_json_read_binding_args((const char *)bytes, size, &binding, &binding_err) == 0) {
        extender_json_write_binding_result(&out, binding.pod_name);
        check_json(&out);
    }
    return 0;
}
