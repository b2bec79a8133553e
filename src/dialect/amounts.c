/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amounts - what containers ask for, from resource amounts by class.
 *
 * A container's resource names are looked up once each in the sorted index of all classes; what
 * belongs to one class is then read together, by the class's rules (docs/reference/classes.md).
 */
#include "amounts.h"

#include "profiles.h"

#include "topofit/annotation_budget.h"
#include "topofit/mem.h"
#include "topofit/quantity.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PERCENT_MAX 100
#define NAME_MAX_BYTES 253   /* source: RFC 1123 names, as the API server checks them */
#define CLASSES_MAX_ASKED 16 /* classes that one container may ask for */
#define EXPECTED_MAX 200     /* bytes of a phrase */

/* What one container says about one class. */
struct reading {
    const struct kube_container *container;
    const struct device_class *class;
    const char *amounts[AMOUNT_KINDS]; /* as written, or NULL */
    bool any_size;                     /* the pod may have devices cut in any size */
    struct request *request;
    uint64_t written; /* count as written or by default, before rules change it */
    struct ask ask;
    bool failed;
};

/* All that one container says, in the order of the classes. */
struct container_reading {
    struct reading readings[CLASSES_MAX_ASKED];
    size_t count;
};

static const char *resource_of(const struct reading *reading, enum class_amount amount)
{
    const struct device_class *class = reading->class;

    switch (amount) {
    case AMOUNT_COUNT:
        return class->count_resource;
    case AMOUNT_MEMORY:
        return class->memory_resource;
    case AMOUNT_PERCENT:
        return class->percent_resource;
    case AMOUNT_CORES:
        return class->cores_resource;
    case AMOUNT_SLICES:
        return class->slices_resource;
    case AMOUNT_KINDS:
        break;
    }
    return NULL;
}

static void refuse(struct reading *reading, enum class_amount amount, const char *expected)
{
    request_set_problem(reading->request, "%s of container %s is \"%.60s\": expected %s",
                        resource_of(reading, amount), reading->container->name,
                        reading->amounts[amount], expected);
    reading->failed = true;
}

static void refuse_both(struct reading *reading, enum class_amount a, enum class_amount b)
{
    request_set_problem(reading->request, "container %s asks for both %s and %s: give one",
                        reading->container->name, resource_of(reading, a), resource_of(reading, b));
    reading->failed = true;
}

/* Is the amount a whole number in [min, max]? 0 when it is not given. */
static bool parse_number(const struct reading *reading, enum class_amount amount, uint64_t min,
                         uint64_t max, uint64_t *out)
{
    struct error err = {0};

    *out = 0;
    if (reading->amounts[amount] == NULL)
        return true;
    return quantity_parse_count(reading->amounts[amount], out, &err) == 0 && *out >= min &&
           *out <= max;
}

/* The same; what is none is refused, and 0. */
static uint64_t read_number(struct reading *reading, enum class_amount amount, uint64_t min,
                            uint64_t max, const char *expected)
{
    uint64_t number;

    if (parse_number(reading, amount, min, max, &number))
        return number;
    refuse(reading, amount, expected);
    return 0;
}

/* "1, 2, 4 or 8", cut to fit. */
static void write_choice(const struct class_numbers *list, char *out, size_t size)
{
    size_t length = 0;

    for (size_t i = 0; i < list->count && length < size; i++)
        length += (size_t)snprintf(out + length, size - length, "%s%" PRIu64,
                                   i == 0                 ? ""
                                   : i + 1 == list->count ? " or "
                                                          : ", ",
                                   list->items[i]);
}

/* --- how many -------------------------------------------------------------------------------- */

static void check_count(struct reading *reading, uint64_t count)
{
    const struct device_class *class = reading->class;
    char expected[EXPECTED_MAX];

    if (!class_numbers_allow(&class->counts_allowed, count)) {
        write_choice(&class->counts_allowed, expected, sizeof expected);
        refuse(reading, AMOUNT_COUNT, expected);
    } else if (count > 1 && count % class->count_multiple_of != 0) {
        snprintf(expected, sizeof expected, "1, or a multiple of %u", class->count_multiple_of);
        refuse(reading, AMOUNT_COUNT, expected);
    }
}

static void read_count(struct reading *reading)
{
    const struct device_class *class = reading->class;

    reading->written = class->default_count;
    if (reading->amounts[AMOUNT_COUNT] != NULL) {
        reading->written =
            read_number(reading, AMOUNT_COUNT, 0, UINT32_MAX, "a whole number of devices");
        if (!reading->failed && reading->written > 0)
            check_count(reading, reading->written);
    }
    reading->ask.count = reading->written == 1 ? class->one_means : (uint32_t)reading->written;
}

/*
 * Cores that say how many devices: up to those of one device they are a part of one, and beyond
 * that they must be whole devices.
 */
static void read_devices_from_cores(struct reading *reading)
{
    uint16_t whole = reading->class->cores;
    char expected[EXPECTED_MAX];
    uint64_t cores;

    if (reading->amounts[AMOUNT_COUNT] != NULL) {
        refuse_both(reading, AMOUNT_COUNT, AMOUNT_CORES);
    } else if (!parse_number(reading, AMOUNT_CORES, 0, UINT32_MAX, &cores) ||
               (cores > whole && cores % whole != 0)) {
        snprintf(expected, sizeof expected, "1 to %u cores of one device, or a multiple of %u",
                 whole, whole);
        refuse(reading, AMOUNT_CORES, expected);
    }
    if (reading->failed)
        return;
    reading->ask.count = (unsigned)(cores <= whole ? cores > 0 : cores / whole);
    reading->written = reading->ask.count;
    reading->ask.cores = (uint16_t)(cores < whole ? cores : 0);
    reading->ask.by_cores = true;
}

/* --- how much memory ------------------------------------------------------------------------- */

static void refuse_memory(struct reading *reading)
{
    uint64_t unit_mib = reading->class->memory_unit_mib;
    char expected[EXPECTED_MAX];

    if (unit_mib == 1)
        snprintf(expected, sizeof expected, "MiB");
    else if (unit_mib == 1024)
        snprintf(expected, sizeof expected, "GiB");
    else
        snprintf(expected, sizeof expected, "units of %" PRIu64 " MiB", unit_mib);
    snprintf(expected + strlen(expected), sizeof expected - strlen(expected),
             " as a whole number of at least 1, or a size with a unit such as 16Gi");
    refuse(reading, AMOUNT_MEMORY, expected);
}

static uint64_t round_up(uint64_t amount, uint64_t granule)
{
    uint64_t rest = amount % granule;

    return rest == 0 || amount > UINT64_MAX - granule ? amount : amount + granule - rest;
}

/* The amount as written, in MiB; 0 when it is not given or cannot be read. */
static uint64_t read_mib(struct reading *reading)
{
    const struct device_class *class = reading->class;
    const char *amount = reading->amounts[AMOUNT_MEMORY];
    uint64_t unit_mib = class->memory_unit_mib;
    struct error err = {0};
    uint64_t number = 0;
    bool has_unit = false;

    if (amount == NULL)
        return 0;
    if (quantity_parse_memory(amount, &number, &has_unit, &err) < 0 || number == 0) {
        refuse_memory(reading);
        return 0;
    }
    if (has_unit || (class->memory_mib_above > 0 && number > class->memory_mib_above))
        unit_mib = 1;
    if (number > INT64_MAX / unit_mib) {
        refuse_memory(reading);
        return 0;
    }
    return number * unit_mib;
}

/* What the amount comes to on each device, in steps that the class knows. */
static uint64_t share_mib(const struct reading *reading, uint64_t mib)
{
    const struct device_class *class = reading->class;

    if (class->memory_for_all && reading->ask.count > 1)
        mib = mib / reading->ask.count + (mib % reading->ask.count != 0);
    return round_up(mib, class->memory_granule_mib);
}

/* The smallest template that holds the amount; 0: the whole device. */
static uint64_t fit_template(struct reading *reading, uint64_t mib)
{
    const struct class_templates *templates = &reading->class->templates;
    uint64_t capacity_mib = reading->class->memory_capacity_mib;
    char expected[EXPECTED_MAX];

    for (size_t i = 0; i < templates->count; i++) {
        if (mib <= templates->items[i].memory_mib)
            return templates->items[i].memory_mib;
    }
    if (capacity_mib == 0)
        capacity_mib = templates->items[templates->count - 1].memory_mib;
    if (mib > capacity_mib) {
        snprintf(expected, sizeof expected, "at most the %" PRIu64 " MiB of a device",
                 capacity_mib);
        refuse(reading, AMOUNT_MEMORY, expected);
    }
    return 0;
}

/* Several devices are whole anyway where the class says so: nobody then looks at the amount. */
static bool is_amount_ignored(const struct reading *reading)
{
    return reading->class->several == SEVERAL_WHOLE && reading->written > 1;
}

static uint64_t read_device_mib(struct reading *reading)
{
    const struct device_class *class = reading->class;
    uint64_t mib = read_mib(reading);
    char expected[EXPECTED_MAX];

    if (mib == 0 || reading->failed || is_amount_ignored(reading))
        return 0;
    mib = share_mib(reading, mib);
    if (!class_numbers_allow(&class->memory_allowed, mib)) {
        size_t length = (size_t)snprintf(expected, sizeof expected, "MiB in all of ");

        write_choice(&class->memory_allowed, expected + length, sizeof expected - length);
        refuse(reading, AMOUNT_MEMORY, expected);
        return 0;
    }
    return class->templates.count > 0 && !reading->any_size ? fit_template(reading, mib) : mib;
}

static void set_mib(struct ask *ask, uint64_t mib)
{
    ask->memory_kind = mib > 0 ? MEMORY_MIB : MEMORY_WHOLE;
    ask->memory = mib;
}

/* Are parts of devices refused, since there is more than one? */
static bool is_part_refused(const struct reading *reading)
{
    return reading->class->several == SEVERAL_REFUSED && reading->written > 1 && !reading->any_size;
}

/* Nothing was said about memory. */
static void set_default_memory(struct reading *reading)
{
    const struct device_class *class = reading->class;

    set_mib(&reading->ask, is_part_refused(reading) ? 0 : class->default_memory_mib);
    /* Which slices serve so many cores is the device's matter, and their memory comes with them. */
    if (class->slices_resource != NULL && reading->amounts[AMOUNT_CORES] != NULL)
        reading->ask.memory_kind = MEMORY_NONE;
}

static void read_memory(struct reading *reading)
{
    struct ask *ask = &reading->ask;
    uint64_t mib = read_device_mib(reading);
    uint64_t percent =
        read_number(reading, AMOUNT_PERCENT, 1, PERCENT_MAX, "percent from 1 to 100");

    if (reading->amounts[AMOUNT_MEMORY] != NULL && reading->amounts[AMOUNT_PERCENT] != NULL)
        refuse_both(reading, AMOUNT_MEMORY, AMOUNT_PERCENT);
    if (is_amount_ignored(reading))
        return;
    if (reading->amounts[AMOUNT_MEMORY] != NULL) {
        set_mib(ask, mib);
    } else if (reading->amounts[AMOUNT_PERCENT] == NULL) {
        set_default_memory(reading);
    } else if (percent < PERCENT_MAX) { /* all of a device's memory is the whole device */
        ask->memory_kind = MEMORY_PERCENT;
        ask->memory = percent;
    }
    if (is_part_refused(reading) && ask->memory_kind != MEMORY_WHOLE && !reading->failed)
        refuse(reading, reading->amounts[AMOUNT_MEMORY] != NULL ? AMOUNT_MEMORY : AMOUNT_PERCENT,
               "all memory: several devices are given out whole only");
}

/* --- how much compute ------------------------------------------------------------------------ */

/* All cores of a device, as amounts say it. */
static uint16_t whole_cores(const struct device_class *class)
{
    return class->cores_percent ? PERCENT_MAX : class->cores;
}

/* Several devices have all their cores then, whatever the amount says. */
static bool is_all_cores(const struct reading *reading)
{
    return reading->class->several == SEVERAL_CORES && reading->written > 1;
}

static uint16_t cores_of_memory(const struct reading *reading)
{
    const struct device_class *class = reading->class;
    uint64_t share;

    if (reading->ask.memory_kind != MEMORY_MIB)
        return 0;
    share = reading->ask.memory >= class->cores_of_memory_mib
                ? whole_cores(class)
                : reading->ask.memory * whole_cores(class) / class->cores_of_memory_mib;
    return (uint16_t)(share > 0 ? share : 1);
}

static uint16_t read_core_amount(struct reading *reading)
{
    const struct device_class *class = reading->class;
    uint64_t whole = whole_cores(class);
    uint64_t devices = reading->ask.count > 0 ? reading->ask.count : 1;
    bool for_all = class->cores_for_all || is_all_cores(reading);
    uint64_t max = for_all ? whole * devices : whole;
    uint64_t cores;
    char expected[EXPECTED_MAX];

    if (class->free_annotation != NULL && !reading->any_size) {
        snprintf(expected, sizeof expected, "none, unless the pod says %s: %s",
                 class->free_annotation, class->free_value);
        refuse(reading, AMOUNT_CORES, expected);
        return 0;
    }
    if (!parse_number(reading, AMOUNT_CORES, 0, max, &cores)) {
        snprintf(expected, sizeof expected, "%s from 0 to %" PRIu64,
                 class->cores_percent ? "percent" : "core units", max);
        refuse(reading, AMOUNT_CORES, expected);
        return 0;
    }
    return (uint16_t)(class->cores_for_all ? (cores + devices - 1) / devices : cores);
}

static void read_cores(struct reading *reading)
{
    const struct device_class *class = reading->class;
    struct ask *ask = &reading->ask;

    ask->cores_percent = class->cores_percent;
    if (reading->amounts[AMOUNT_CORES] != NULL)
        ask->cores = read_core_amount(reading);
    else
        ask->cores =
            class->cores_of_memory_mib > 0 ? cores_of_memory(reading) : class->default_cores;
    if (is_amount_ignored(reading))
        ask->cores = 0;
    else if (is_all_cores(reading))
        ask->cores = whole_cores(class);
}

/* --- a container ----------------------------------------------------------------------------- */

/* Slices of one device: nothing else may be said. */
static void read_slices(struct reading *reading)
{
    uint64_t slices =
        read_number(reading, AMOUNT_SLICES, 0, UINT16_MAX, "a whole number of slices of a device");

    for (size_t i = 0; i < AMOUNT_KINDS; i++) {
        if (i != AMOUNT_SLICES && reading->amounts[i] != NULL)
            refuse_both(reading, (enum class_amount)i, AMOUNT_SLICES);
    }
    reading->ask.count = slices > 0;
    reading->ask.slices = (uint16_t)slices;
    reading->ask.memory_kind = MEMORY_NONE;
}

static void read_class(struct reading *reading)
{
    const struct device_class *class = reading->class;

    if (reading->amounts[AMOUNT_SLICES] != NULL) {
        read_slices(reading);
    } else if (class->cores_count_devices && reading->amounts[AMOUNT_CORES] != NULL) {
        read_devices_from_cores(reading);
    } else {
        read_count(reading);
        read_memory(reading);
        read_cores(reading);
    }
    if (!class->memory_counted && reading->ask.cores > 0)
        reading->ask.memory_kind = MEMORY_NONE;
    if (!reading->failed && reading->ask.count > 0)
        request_add_ask(reading->request, &reading->ask);
}

static bool has_any_size(const struct kube_pod *kube, const struct device_class *class)
{
    const char *value;

    if (class->free_annotation == NULL)
        return false;
    value = kube_pairs_get(&kube->meta.annotations, class->free_annotation);
    return value != NULL && strcmp(value, class->free_value) == 0;
}

/* The reading of a class, in its place among the others, or NULL when there are too many. */
static struct reading *reading_of(struct container_reading *all, const struct device_class *class)
{
    size_t at = 0;

    while (at < all->count && all->readings[at].class < class)
        at++;
    if (at < all->count && all->readings[at].class == class)
        return &all->readings[at];
    if (all->count == CLASSES_MAX_ASKED)
        return NULL;
    memmove(&all->readings[at + 1], &all->readings[at], (all->count - at) * sizeof *all->readings);
    all->count++;
    all->readings[at] = (struct reading){.class = class};
    return &all->readings[at];
}

/* Does another list say the same at the same place? Requests mostly repeat the limits. */
static bool is_repeated(const struct kube_pairs *pairs, const struct kube_pairs *by, size_t i)
{
    return by != NULL && i < by->count && strcmp(pairs->items[i].key, by->items[i].key) == 0;
}

/*
 * Sort amounts to their classes; what comes later overrides. false when there are too many.
 *
 * by  what comes later, to pass over what it overrides, or NULL
 */
static bool collect(const struct kube_pairs *pairs, const struct kube_pairs *by,
                    const struct class_table *classes, struct container_reading *all)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const char *name = pairs->items[i].key;
        const struct class_resource *resource;
        struct reading *reading;

        /* Resources of devices have a domain: class_check holds this. */
        if (strchr(name, '/') == NULL || is_repeated(pairs, by, i))
            continue;
        resource = class_find_resource(classes, name);
        if (resource == NULL)
            continue;
        reading = reading_of(all, &classes->items[resource->class]);
        if (reading == NULL)
            return false;
        reading->amounts[resource->amount] = pairs->items[i].value;
    }
    return true;
}

static void read_container(const struct kube_pod *kube, size_t position,
                           const struct class_table *classes, struct request *request)
{
    const struct kube_container *container = &kube->containers[position];
    struct container_reading all; /* its readings are filled as they come */

    all.count = 0;

    /* Extended resources have requests == limits; where they differ, limits count. */
    if (!collect(&container->requests, &container->limits, classes, &all) ||
        !collect(&container->limits, NULL, classes, &all)) {
        request_set_problem(request, "container %s asks for more than %d classes of devices",
                            container->name, CLASSES_MAX_ASKED);
        return;
    }
    for (size_t i = 0; i < all.count; i++) {
        struct reading *reading = &all.readings[i];

        reading->container = container;
        reading->request = request;
        reading->any_size = has_any_size(kube, reading->class);
        reading->ask =
            (struct ask){.container = (unsigned)position, .class = reading->class, .count = 1};
        read_class(reading);
    }
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
        read_container(kube, i, classes, out);
        for (size_t k = 0; k < classes->count; k++) {
            if (classes->items[k].profile_resources != NULL)
                profiles_read(container, i, &classes->items[k], out);
        }
    }
    check_lines(out);
}
