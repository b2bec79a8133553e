/* SPDX-License-Identifier: Apache-2.0 */
/* hami_capacity - devices that no annotation lists: as many as the kubelet counts. */
#include "hami_node.h"

#include "topofit/mem.h"
#include "topofit/quantity.h"

#include <stdlib.h>

/* What the kubelet has to give of a resource; 0 when it does not say, or cannot be read. */
static uint64_t amount_of(const struct hami_reading *reading, const char *resource)
{
    const char *text =
        resource != NULL ? kube_pairs_get(&reading->kube->allocatable, resource) : NULL;
    struct error err = {0};
    uint64_t amount = 0;

    if (text != NULL && quantity_parse_count(text, &amount, &err) < 0) {
        node_note_problem(reading->node, "%s: %s", resource, err.text);
        return 0;
    }
    return amount;
}

static const char *or_else(const char *first, const char *second)
{
    return first != NULL ? first : second;
}

/* All devices are alike: what the first one has. count: of all that share the amounts. */
static struct hami_device pattern_of(const struct hami_reading *reading, uint64_t count)
{
    const struct device_class *class = reading->class;
    const struct hami_capacity *capacity = &class->hami.capacity;
    uint64_t memory_mib = capacity->memory_mib, cores = class->cores;

    if (memory_mib == 0)
        memory_mib =
            amount_of(reading, capacity->memory_resource) * capacity->memory_unit_mib / count;
    if (capacity->cores_resource != NULL)
        cores = amount_of(reading, capacity->cores_resource) / count;
    if (cores > UINT16_MAX)
        cores = UINT16_MAX;
    return (struct hami_device){
        .type = class->hami.word,
        .mode = "",
        .slots = capacity->slots > 0 ? (long long)capacity->slots : (long long)cores,
        .memory_mib = (long long)memory_mib,
        .cores = (long long)cores,
        .numa = NUMA_UNKNOWN,
        .healthy = true,
    };
}

static bool is_listed_elsewhere(const struct hami_reading *reading)
{
    const char *key = reading->class->hami.capacity.unless_annotation;

    return key != NULL && kube_pairs_get(&reading->kube->meta.annotations, key) != NULL;
}

bool hami_read_capacity(const struct hami_reading *reading)
{
    const struct hami_capacity *capacity = &reading->class->hami.capacity;
    const char *resource = or_else(capacity->count_resource, reading->class->count_resource);
    uint64_t count = amount_of(reading, resource) / (capacity->units > 0 ? capacity->units : 1);
    struct hami_device found;

    if (count == 0 || is_listed_elsewhere(reading))
        return false;
    if (count > DEVICE_MAX)
        node_note_problem(reading->node, "%s: more than %d devices", resource, DEVICE_MAX);
    found = pattern_of(reading, count);
    for (uint64_t i = 0; i < count && i < DEVICE_MAX; i++) {
        AUTO_FREE char *id =
            xasprintf("%s-%s-%u", reading->node->name,
                      or_else(capacity->id_word, reading->class->name), (unsigned)i);

        found.id = id;
        found.index = (long long)i;
        if (capacity->numa_halves)
            found.numa = i >= count / 2;
        hami_add_device(reading, (size_t)i, &found);
    }
    return true;
}
