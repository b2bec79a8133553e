/* SPDX-License-Identifier: Apache-2.0 */
/* host_reading - CPU and memory, from resource amounts. */
#include "host_reading.h"

#include "topofit/quantity.h"

#define BYTES_PER_MIB (1u << 20)

/* More than any machine has, and sums over all pods of a cluster stay in the range. */
#define AMOUNT_MAX ((uint64_t)1 << 40)

static uint64_t read_amount(const struct kube_pairs *pairs, const char *resource,
                            int (*parse)(const char *, uint64_t *, struct error *))
{
    const char *text = kube_pairs_get(pairs, resource);
    struct error err = {0};
    uint64_t amount = 0;

    if (text == NULL || parse(text, &amount, &err) < 0)
        return 0;
    return amount;
}

static uint64_t at_most(uint64_t amount)
{
    return amount < AMOUNT_MAX ? amount : AMOUNT_MAX;
}

static struct host_amounts read_amounts(const struct kube_pairs *pairs)
{
    uint64_t bytes = read_amount(pairs, "memory", quantity_parse_bytes);

    return (struct host_amounts){
        .cpu_milli = at_most(read_amount(pairs, "cpu", quantity_parse_milli)),
        .memory_mib = at_most(bytes / BYTES_PER_MIB + (bytes % BYTES_PER_MIB != 0)),
    };
}

struct host_amounts host_of_node(const struct kube_node *kube)
{
    return read_amounts(&kube->allocatable);
}

static struct host_amounts sum_phase(const struct kube_pod *kube, size_t phase)
{
    struct host_amounts sum = {0};

    for (size_t i = 0; i < kube->container_count; i++) {
        if (container_runs_in(kube->containers[i].kind, i, phase))
            sum = host_add(sum, read_amounts(&kube->containers[i].requests));
    }
    return sum;
}

struct host_amounts host_of_pod(const struct kube_pod *kube)
{
    struct host_amounts whole = read_amounts(&kube->requests);
    struct host_amounts most = sum_phase(kube, PHASE_MAIN);

    for (size_t i = 0; i < kube->container_count; i++) {
        if (kube->containers[i].kind == CONTAINER_INIT)
            most = host_max(most, sum_phase(kube, i));
    }
    if (whole.cpu_milli > 0)
        most.cpu_milli = whole.cpu_milli;
    if (whole.memory_mib > 0)
        most.memory_mib = whole.memory_mib;
    return host_add(most, read_amounts(&kube->overhead));
}
