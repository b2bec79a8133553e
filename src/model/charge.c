/* SPDX-License-Identifier: Apache-2.0 */
/* charge - what one pod takes of its namespace's quota. */
#include "topofit/quota.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

/* The charges of a pod while they are summed up, phase by phase. */
struct bill {
    struct charge *most; /* of the phases so far */
    struct charge phase[CHARGES_MAX];
    size_t count, phase_count;
};

/* Records come from outside: absurd amounts must not wrap around to small ones. */
static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static struct charge *charge_for(struct charge *charges, size_t *count,
                                 const struct device_class *class)
{
    for (size_t i = 0; i < *count; i++) {
        if (charges[i].class == class)
            return &charges[i];
    }
    if (*count == CHARGES_MAX)
        return NULL;
    charges[*count] = (struct charge){.class = class};
    return &charges[(*count)++];
}

static void add_line(struct bill *bill, const struct device_class *class, uint64_t memory_mib,
                     uint64_t cores)
{
    struct charge *charge = charge_for(bill->phase, &bill->phase_count, class);

    if (charge == NULL)
        return;
    charge->amounts[QUOTA_MEMORY] = add_capped(charge->amounts[QUOTA_MEMORY], memory_mib);
    charge->amounts[QUOTA_CORES] = add_capped(charge->amounts[QUOTA_CORES], cores);
}

static void end_phase(struct bill *bill)
{
    for (size_t i = 0; i < bill->phase_count; i++) {
        struct charge *most = charge_for(bill->most, &bill->count, bill->phase[i].class);

        for (unsigned kind = 0; most != NULL && kind < QUOTA_KINDS; kind++) {
            if (bill->phase[i].amounts[kind] > most->amounts[kind])
                most->amounts[kind] = bill->phase[i].amounts[kind];
        }
    }
    bill->phase_count = 0;
}

/* --- by record ------------------------------------------------------------------------------- */

/* The container of the request that a container of a record is; container_count: none. */
static size_t find_container(const struct request *request, const char *name, size_t likely)
{
    if (likely < request->container_count && strcmp(request->containers[likely].name, name) == 0)
        return likely;
    for (size_t i = 0; i < request->container_count; i++) {
        if (strcmp(request->containers[i].name, name) == 0)
            return i;
    }
    return request->container_count;
}

/*
 * The classes of the lines in a container's record: devices stand in the order of the asks. Those
 * that are more than asked for are of the last ask's class. NULL: the container asks for nothing.
 */
static void class_lines(const struct request *request, size_t container, size_t line_count,
                        const struct device_class **out)
{
    const struct device_class *class = NULL;
    size_t line = 0;

    for (size_t a = 0; a < request->ask_count; a++) {
        if (request->asks[a].container != container)
            continue;
        class = request->asks[a].class;
        for (uint32_t i = 0; i < request->asks[a].count && line < line_count; i++)
            out[line++] = class;
    }
    while (line < line_count)
        out[line++] = class;
}

/* A record being summed up; a line's class is looked up once, and not in each phase. */
struct recorded {
    const struct allocation *record;
    const struct device_class **classes; /* of each line */
};

/* Free it. */
static const struct device_class **classes_of(const struct request *request,
                                              const struct allocation *record)
{
    const struct device_class **classes;
    size_t lines = 0;

    for (size_t c = 0; c < record->container_count; c++)
        lines += record->containers[c].device_count;
    classes = xcalloc(lines + 1, sizeof *classes);
    lines = 0;
    for (size_t c = 0; c < record->container_count; c++) {
        const struct allocated_container *container = &record->containers[c];

        if (container->device_count > 0)
            class_lines(request, find_container(request, container->name, c),
                        container->device_count, classes + lines);
        lines += container->device_count;
    }
    return classes;
}

static void add_recorded(struct bill *bill, const struct recorded *recorded, size_t phase)
{
    const struct device_class **class = recorded->classes;

    for (size_t c = 0; c < recorded->record->container_count; c++) {
        const struct allocated_container *container = &recorded->record->containers[c];
        bool runs = container_runs_in(container->kind, c, phase);

        for (size_t k = 0; runs && k < container->device_count; k++) {
            if (class[k] != NULL)
                add_line(bill, class[k], container->devices[k].memory_mib,
                         container->devices[k].cores);
        }
        class += container->device_count;
    }
    end_phase(bill);
}

size_t charges_of_record(const struct request *request, const struct allocation *record,
                         bool init_done, struct charge *out)
{
    const struct recorded recorded = {record, classes_of(request, record)};
    struct bill bill = {.most = out};

    add_recorded(&bill, &recorded, PHASE_MAIN);
    for (size_t c = 0; !init_done && c < record->container_count; c++) {
        if (record->containers[c].kind == CONTAINER_INIT)
            add_recorded(&bill, &recorded, c);
    }
    free(recorded.classes);
    return bill.count;
}

/* --- by request ------------------------------------------------------------------------------ */

static void add_asked(struct bill *bill, const struct request *request, size_t phase,
                      device_size_of size_of, const void *ctx)
{
    for (size_t a = 0; a < request->ask_count; a++) {
        const struct ask *ask = &request->asks[a];
        enum container_kind kind = request->containers[ask->container].kind;
        struct device_size size = size_of(ctx, ask->class);
        uint64_t each_mib = ask_memory_mib(request, ask, size.memory_mib);
        uint64_t total_mib;

        if (!container_runs_in(kind, ask->container, phase))
            continue;
        if (size.no_profiles && ask->memory_kind == MEMORY_PROFILE)
            continue;
        if (__builtin_mul_overflow(each_mib, (uint64_t)ask->count, &total_mib))
            total_mib = UINT64_MAX;
        add_line(bill, ask->class, total_mib,
                 (uint64_t)ask_cores(request, ask, size.cores) * ask->count);
    }
    end_phase(bill);
}

size_t charges_of_request(const struct request *request, bool init_done, device_size_of size_of,
                          const void *ctx, struct charge *out)
{
    struct bill bill = {.most = out};

    add_asked(&bill, request, PHASE_MAIN, size_of, ctx);
    for (size_t c = 0; !init_done && c < request->container_count; c++) {
        if (request->containers[c].kind == CONTAINER_INIT)
            add_asked(&bill, request, c, size_of, ctx);
    }
    return bill.count;
}
