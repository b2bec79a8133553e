/* SPDX-License-Identifier: Apache-2.0 */
#include "support/class_nodes.h"

#include "support/builders.h"
#include "support/test.h"

#include "topofit/mem.h"

struct node *node_of_class(const struct device_class *class, unsigned n, uint64_t memory_mib,
                           uint16_t slots)
{
    struct node *node = node_plain("n1", n, memory_mib, slots);

    for (unsigned i = 0; i < n; i++) {
        node->devices[i].class = class;
        node->devices[i].cores = class->cores;
    }
    return node;
}

void node_divide(struct node *node, struct partition_table *steal_table)
{
    assert_non_null(steal_table);
    for (unsigned i = 0; i < node->device_count; i++)
        node->devices[i].partitions = partition_table_ref(steal_table);
    partition_table_unref(steal_table);
}

struct partition_table *table_of(const struct device_class *class, const char *product)
{
    const struct class_division *division = division_for(&class->divisions, product);
    const char *fault = NULL;
    struct partition_table *table;

    assert_non_null(division);
    table = partition_table_of(division, &fault);
    assert_null(fault);
    return table;
}

struct request request_of_class(const struct device_class *class, unsigned count, uint64_t mib,
                                uint16_t cores)
{
    struct request request;
    const struct ask ask = {.class = class,
                            .count = count,
                            .memory_kind = mib > 0 ? MEMORY_MIB : MEMORY_WHOLE,
                            .memory = mib,
                            .cores = cores};

    request_init(&request);
    request_add_container(&request, "main", CONTAINER_APP);
    request_add_ask(&request, &ask);
    return request;
}

void request_profile(struct request *request, const struct device_class *class,
                     enum container_kind kind, const char *profile, uint64_t mib)
{
    AUTO_FREE char *name = xasprintf("c%zu", request->container_count);
    struct ask ask = {.container = (unsigned)request->container_count, .class = class, .count = 1};

    ask.memory_kind = profile != NULL ? MEMORY_PROFILE : MEMORY_MIB;
    ask.memory = profile != NULL ? 1 : mib;
    if (profile != NULL)
        memcpy(ask.profile, profile, strlen(profile) + 1);
    request_add_container(request, name, kind);
    request_add_ask(request, &ask);
}

device_mask mask_from(const char *digits)
{
    device_mask mask = 0;

    for (; *digits != '\0'; digits++)
        mask |= mask_of((unsigned)(*digits - '0'));
    return mask;
}

void use_whole(struct node_use *use, const struct node *node, device_mask devices)
{
    for (; devices != 0; devices &= devices - 1) {
        unsigned i = mask_first(devices);

        use_take(use, node, i, node->devices[i].memory_mib, node->devices[i].cores,
                 ISOLATION_SHARED);
    }
}
