/* SPDX-License-Identifier: Apache-2.0 */
/* likeness - telling nodes that are alike to decide, by a hash. */
#include "likeness.h"

#include "topofit/set_rule.h"

#include <string.h>

/* Hashed as bytes, so there must be no padding. */
struct device_facts {
    uint64_t class, product, memory_mib, used_mib;
    uint32_t used_cores;
    int32_t numa;
    uint16_t cores, slots, used_slots, mode;
    uint8_t healthy, cordoned, exclusive, conflicted, compute, service, used_service, online;
    uint64_t partitions, rule;
    uint32_t slices, index;
    int32_t zone;
    uint8_t offline, reserved[3];
};
_Static_assert(sizeof(struct device_facts) == 88, "facts of a device have padding");

struct facts {
    uint64_t graph, problem;
    uint32_t device_count, unattributed;
    uint8_t has_inventory, unschedulable, reserved[6];
    struct device_facts devices[DEVICE_MAX];
};
_Static_assert(offsetof(struct facts, devices) == 32, "facts of a node have padding");

/*
 * Who adds something to a device or its use has to say here whether nodes that differ in it are
 * alike: test_likeness goes through their bytes.
 */

static uint64_t text_fact(const struct hash_key *key, const char *text)
{
    return text != NULL ? hash_bytes(key, text, strlen(text)) : 0;
}

static uint64_t partitions_fact(const struct hash_key *key, const struct partition_table *table)
{
    uint64_t hash;

    if (table == NULL)
        return 0;
    hash = hash_bytes(key, table->profiles, table->count * sizeof *table->profiles);
    return hash ^ ((uint64_t)table->slices << 8 | table->compute);
}

static struct device_facts device_facts(const struct hash_key *key, const struct device *device,
                                        const struct device_use *use)
{
    return (struct device_facts){
        .class = (uintptr_t)device->class,
        .product = text_fact(key, device->product->chars),
        .memory_mib = device->memory_mib,
        .used_mib = use->memory_mib,
        .used_cores = use->cores,
        .numa = device->numa,
        .cores = device->cores,
        .slots = device->slots,
        .used_slots = use->slots,
        .mode = (uint16_t)use->mode,
        .healthy = device->healthy,
        .cordoned = device->cordoned,
        .exclusive = use->exclusive,
        .conflicted = use->conflicted,
        .compute = use->partitions.compute,
        .service = (uint8_t)device->service,
        .used_service = use->service,
        .online = use->online,
        .partitions = partitions_fact(key, device->partitions),
        .slices = use->partitions.slices,
        .offline = use->offline,
    };
}

/* Which rule of its class counts depends on the labels of the node; rules look at indices. */
static void note_rules(const struct node *node, struct facts *facts)
{
    for (unsigned i = 0; i < node->device_count; i++) {
        const struct device_class *class = node->devices[i].class;

        if (class == NULL || class->sets.count == 0)
            continue;
        facts->devices[i].rule = (uintptr_t)set_rule_for(class, node);
        facts->devices[i].index = node->devices[i].index;
        facts->devices[i].zone = node->devices[i].zone;
    }
}

struct likeness likeness_of(const struct hash_key *key, const struct node *node,
                            const struct node_use *use)
{
    const struct hash_key other = {{~key->word[0], ~key->word[1]}};
    size_t length =
        offsetof(struct facts, devices) + node->device_count * sizeof(struct device_facts);
    struct facts facts;

    memset(&facts, 0, offsetof(struct facts, devices));
    facts.graph = node->graph->serial;
    facts.problem = text_fact(key, node->problem);
    facts.device_count = node->device_count;
    facts.unattributed = use->unattributed;
    facts.has_inventory = node->has_inventory;
    facts.unschedulable = node->unschedulable;
    for (unsigned i = 0; i < node->device_count; i++)
        facts.devices[i] = device_facts(key, &node->devices[i], &use->devices[i]);
    note_rules(node, &facts);
    return (struct likeness){{hash_bytes(key, &facts, length), hash_bytes(&other, &facts, length)}};
}
