/* SPDX-License-Identifier: Apache-2.0 */
/* amounts - what containers ask for, from resource amounts by class. */
#include "amounts.h"

#include "profiles.h"

#include "topofit/mem.h"
#include "topofit/quantity.h"

#include <stdio.h>
#include <string.h>

#define PERCENT_MAX 100
#define NAME_MAX_BYTES 253   /* source: RFC 1123 names, as the API server checks them */
#define RECORD_LINES_MAX 448 /* with ids of 128 bytes: half of what annotations may be */

/* One container being read for one class. */
struct reading {
    const struct kube_container *container;
    const struct device_class *class;
    struct request *request;
    bool failed;
};

/* The amount of a resource as written, or NULL. Extended resources have requests == limits. */
static const char *amount_of(const struct reading *reading, const char *resource)
{
    const char *amount;

    if (resource == NULL)
        return NULL;
    amount = kube_pairs_get(&reading->container->limits, resource);
    return amount != NULL ? amount : kube_pairs_get(&reading->container->requests, resource);
}

static void refuse(struct reading *reading, const char *resource, const char *amount,
                   const char *expected)
{
    request_set_problem(reading->request, "%s of container %s is \"%.60s\": expected %s", resource,
                        reading->container->name, amount, expected);
    reading->failed = true;
}

/* A whole number in [min, max]; 0 when the amount is not given. */
static uint64_t read_number(struct reading *reading, const char *resource, uint64_t min,
                            uint64_t max, const char *expected)
{
    const char *amount = amount_of(reading, resource);
    struct error err = {0};
    uint64_t number = 0;

    if (amount == NULL)
        return 0;
    if (quantity_parse_count(amount, &number, &err) < 0 || number < min || number > max)
        refuse(reading, resource, amount, expected);
    return number;
}

static uint64_t read_mib(struct reading *reading)
{
    const char *amount = amount_of(reading, reading->class->memory_resource);
    struct error err = {0};
    uint64_t mib = 0;

    if (amount == NULL)
        return 0;
    if (quantity_parse_mib(amount, &mib, &err) < 0 || mib == 0)
        refuse(reading, reading->class->memory_resource, amount,
               "MiB as a whole number of at least 1, or a size with a unit such as 16Gi");
    return mib;
}

static void read_memory(struct reading *reading, struct ask *ask)
{
    const struct device_class *class = reading->class;
    uint64_t mib = read_mib(reading);
    uint64_t percent =
        read_number(reading, class->percent_resource, 1, PERCENT_MAX, "percent from 1 to 100");

    if (mib > 0 && percent > 0) {
        request_set_problem(reading->request, "container %s asks for both %s and %s: give one",
                            reading->container->name, class->memory_resource,
                            class->percent_resource);
        reading->failed = true;
    }
    if (mib > 0)
        *ask = (struct ask){.memory_kind = MEMORY_MIB, .memory = mib};
    else if (percent > 0)
        *ask = (struct ask){.memory_kind = MEMORY_PERCENT, .memory = percent};
}

static uint16_t read_cores(struct reading *reading)
{
    char expected[64];

    snprintf(expected, sizeof expected, "core units from 0 to %u", reading->class->cores);
    return (uint16_t)read_number(reading, reading->class->cores_resource, 0, reading->class->cores,
                                 expected);
}

static void read_class(const struct kube_container *container, size_t position,
                       const struct device_class *class, struct request *request)
{
    struct reading reading = {container, class, request, false};
    bool has_count = amount_of(&reading, class->count_resource) != NULL;
    bool has_amounts = amount_of(&reading, class->memory_resource) != NULL ||
                       amount_of(&reading, class->percent_resource) != NULL ||
                       amount_of(&reading, class->cores_resource) != NULL;
    struct ask ask = {.memory_kind = MEMORY_WHOLE};

    if (!has_count && !has_amounts)
        return;
    read_memory(&reading, &ask);
    ask.class = class;
    ask.container = (unsigned)position;
    ask.cores = read_cores(&reading);
    /* An amount without a count means one device, as users of HAMi know it. */
    ask.count = has_count ? (unsigned)read_number(&reading, class->count_resource, 0, UINT32_MAX,
                                                  "a whole number of devices")
                          : 1;
    if (!reading.failed && ask.count > 0)
        request_add_ask(request, &ask);
}

/* The record has a line for each container and device, and must fit into the pod. */
static void check_lines(struct request *out)
{
    uint64_t lines = 0;

    for (size_t i = 0; i < out->ask_count; i++)
        lines += out->asks[i].count;
    if (lines > RECORD_LINES_MAX)
        request_set_problem(out, "the containers ask for more than %d devices in all",
                            RECORD_LINES_MAX);
}

void amounts_read(const struct kube_pod *kube, const struct class_table *classes,
                  struct request *out)
{
    for (size_t i = 0; i < kube->container_count; i++) {
        const struct kube_container *container = &kube->containers[i];

        AUTO_FREE char *name = xstrndup(container->name, strnlen(container->name, NAME_MAX_BYTES));

        request_add_container(out, name, container->kind);
        if (strlen(container->name) > NAME_MAX_BYTES)
            request_set_problem(out, "the name of a container is longer than %d bytes",
                                NAME_MAX_BYTES);
        for (size_t k = 0; k < classes->count; k++) {
            read_class(container, i, &classes->items[k], out);
            profiles_read(container, i, &classes->items[k], out);
        }
    }
    check_lines(out);
}
