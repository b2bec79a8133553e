/* SPDX-License-Identifier: Apache-2.0 */
/* views - what people ask; what the views share. */
#include "views.h"

#include "topofit/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define API_VERSION "debug.topofit.io/v1"

json_t *view_string(const char *text)
{
    json_t *value = json_string(text);

    /* Not UTF-8: names from outside are never trusted to be. */
    return value != NULL ? value : json_string("?");
}

json_t *view_document(const char *kind, struct moment now)
{
    json_t *document = json_object();
    char when[MOMENT_TEXT_BYTES];

    moment_write(now.unix_ms, 0, when);
    json_object_set_new(document, "kind", json_string(kind));
    json_object_set_new(document, "apiVersion", json_string(API_VERSION));
    json_object_set_new(document, "generatedAt", json_string(when));
    return document;
}

void view_write(json_t *steal_document, struct buf *out)
{
    AUTO_FREE char *text = json_dumps(steal_document, JSON_INDENT(2));

    buf_add_text(out, text);
    buf_add_byte(out, '\n');
    json_decref(steal_document);
}

json_t *view_ask(const struct ask *ask)
{
    json_t *item =
        json_pack("{s:s,s:I,s:i}", "class", ask->class->name, "count", (json_int_t)ask->count,
                  ask->cores_percent ? "coresPercent" : "cores", (int)ask->cores);

    if (ask->memory_kind == MEMORY_MIB)
        json_object_set_new(item, "memoryMiB", json_integer((json_int_t)ask->memory));
    if (ask->memory_kind == MEMORY_PERCENT)
        json_object_set_new(item, "memoryPercent", json_integer((json_int_t)ask->memory));
    if (ask->slices > 0)
        json_object_set_new(item, "slices", json_integer(ask->slices));
    return item;
}

void view_describe_ask(const struct ask *ask, struct buf *out)
{
    buf_addf(out, "%s%u %s", out->length > 0 ? " + " : "", ask->count, ask->class->name);
    if (ask->memory_kind == MEMORY_MIB)
        buf_addf(out, " x %" PRIu64 " MiB", ask->memory);
    if (ask->memory_kind == MEMORY_PERCENT)
        buf_addf(out, " x %" PRIu64 "%% memory", ask->memory);
    if (ask->cores > 0)
        buf_addf(out, " x %u%s cores", ask->cores, ask->cores_percent ? "%" : "");
    if (ask->slices > 0)
        buf_addf(out, " x %u slices", ask->slices);
}

/* --- partitions ------------------------------------------------------------------------------ */

void view_describe_partition(const struct partition_placement *partition, struct buf *out)
{
    if (partition->profile[0] != '\0')
        buf_addf(out, " (%s at %u)", partition->profile, partition->start);
}

static json_t *partitions_of(const struct allocated_container *container)
{
    json_t *items = json_array();

    for (size_t k = 0; k < container->device_count; k++) {
        const struct allocated_device *device = &container->devices[k];

        if (device->partition.profile[0] != '\0')
            json_array_append_new(items,
                                  json_pack("{s:o,s:o,s:i,s:i}", "device", view_string(device->id),
                                            "profile", view_string(device->partition.profile),
                                            "start", (int)device->partition.start, "size",
                                            (int)device->partition.size));
    }
    return items;
}

void view_add_partitions(const struct allocation *allocation, json_t *document)
{
    json_t *containers = json_object();

    for (size_t c = 0; c < allocation->container_count; c++) {
        const struct allocated_container *container = &allocation->containers[c];
        json_t *items = partitions_of(container);

        if (json_array_size(items) > 0)
            json_object_set(containers, container->name, items);
        json_decref(items);
    }
    if (json_object_size(containers) > 0)
        json_object_set(document, "partitions", containers);
    json_decref(containers);
}

const char *holding_state_name(enum holding_state state)
{
    switch (state) {
    case HOLDING_RESERVED:
        return "reserved";
    case HOLDING_UNKNOWN:
        return "unknown";
    case HOLDING_BOUND:
        return "bound";
    }
    return "";
}
