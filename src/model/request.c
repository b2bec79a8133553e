/* SPDX-License-Identifier: Apache-2.0 */
/* request - what a pod asks for. */
#include "topofit/request.h"

#include "topofit/mem.h"
#include "topofit/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEM_MAX 512

bool container_runs_in(enum container_kind kind, size_t position, size_t phase)
{
    if (phase == PHASE_MAIN)
        return kind != CONTAINER_INIT;
    return position == phase || (kind == CONTAINER_SIDECAR && position < phase);
}

bool containers_run_together(enum container_kind kind_a, size_t a, enum container_kind kind_b,
                             size_t b)
{
    if (kind_a == CONTAINER_INIT)
        return container_runs_in(kind_b, b, a);
    if (kind_b == CONTAINER_INIT)
        return container_runs_in(kind_a, a, b);
    return true;
}

/* --- requests -------------------------------------------------------------------------------- */

void request_init(struct request *request)
{
    *request = (struct request){0};
}

void request_clear(struct request *request)
{
    for (size_t i = 0; i < request->container_count; i++)
        free(request->containers[i].name);
    free(request->containers);
    free(request->asks);
    request_forget_wishes(request);
    quota_traits_clear(&request->traits);
    free(request->problem);
    request_init(request);
}

void request_copy(const struct request *from, struct request *out)
{
    *out = *from;
    out->containers = NULL;
    out->container_count = 0;
    for (size_t i = 0; i < from->container_count; i++)
        request_add_container(out, from->containers[i].name, from->containers[i].kind);
    out->asks = xcalloc(from->ask_count, sizeof *out->asks);
    for (size_t i = 0; i < from->ask_count; i++)
        out->asks[i] = from->asks[i];
    out->use_devices = word_list_copy(&from->use_devices);
    out->avoid_devices = word_list_copy(&from->avoid_devices);
    out->use_products = word_list_copy(&from->use_products);
    out->avoid_products = word_list_copy(&from->avoid_products);
    out->selections = class_selections_copy(&from->selections);
    out->traits = quota_traits_copy(&from->traits);
    out->problem = from->problem != NULL ? xstrdup(from->problem) : NULL;
}

static bool containers_equal(const struct request *a, const struct request *b)
{
    if (a->container_count != b->container_count)
        return false;
    for (size_t i = 0; i < a->container_count; i++) {
        if (a->containers[i].kind != b->containers[i].kind ||
            strcmp(a->containers[i].name, b->containers[i].name) != 0)
            return false;
    }
    return true;
}

static bool ask_equal(const struct ask *x, const struct ask *y)
{
    return x->container == y->container && x->class == y->class && x->count == y->count &&
           x->memory_kind == y->memory_kind && x->memory == y->memory && x->cores == y->cores &&
           x->slices == y->slices && x->cores_percent == y->cores_percent &&
           x->by_cores == y->by_cores && strcmp(x->profile, y->profile) == 0;
}

/* Asks stand in container order: those of one container are next to each other. */
static size_t first_ask(const struct request *request, size_t container)
{
    size_t i = 0;

    while (i < request->ask_count && request->asks[i].container < container)
        i++;
    return i;
}

bool request_container_equal(const struct request *a, const struct request *b, size_t container)
{
    size_t i = first_ask(a, container), k = first_ask(b, container);
    size_t end_a = first_ask(a, container + 1), end_b = first_ask(b, container + 1);

    if (end_a - i != end_b - k)
        return false;
    for (; i < end_a; i++, k++) {
        if (!ask_equal(&a->asks[i], &b->asks[k]))
            return false;
    }
    return true;
}

static bool asks_equal(const struct request *a, const struct request *b)
{
    if (a->ask_count != b->ask_count)
        return false;
    for (size_t i = 0; i < a->ask_count; i++) {
        if (!ask_equal(&a->asks[i], &b->asks[i]))
            return false;
    }
    return true;
}

static bool demands_equal(const struct topology_demand *a, const struct topology_demand *b)
{
    return a->has_mode == b->has_mode && a->has_max_tier == b->has_max_tier &&
           a->has_source == b->has_source && a->mode == b->mode && a->max_tier == b->max_tier &&
           a->source == b->source;
}

bool request_equal(const struct request *a, const struct request *b)
{
    const char *wrong_a = a->problem != NULL ? a->problem : "";
    const char *wrong_b = b->problem != NULL ? b->problem : "";

    return containers_equal(a, b) && asks_equal(a, b) &&
           demands_equal(&a->topology, &b->topology) && a->has_packing == b->has_packing &&
           a->packing == b->packing && a->isolation == b->isolation && a->service == b->service &&
           a->application == b->application && a->has_device_order == b->has_device_order &&
           a->devices_spread == b->devices_spread && a->weights.slots == b->weights.slots &&
           a->weights.cores == b->weights.cores && a->weights.memory == b->weights.memory &&
           a->wants_idle == b->wants_idle &&
           class_selections_equal(&a->selections, &b->selections) &&
           quota_traits_equal(&a->traits, &b->traits) &&
           word_list_equal(&a->use_devices, &b->use_devices) &&
           word_list_equal(&a->avoid_devices, &b->avoid_devices) &&
           word_list_equal(&a->use_products, &b->use_products) &&
           word_list_equal(&a->avoid_products, &b->avoid_products) && strcmp(wrong_a, wrong_b) == 0;
}

size_t request_bytes(const struct request *request)
{
    size_t bytes =
        mem_text_bytes(request->traits.priority_class) + mem_text_bytes(request->problem) +
        word_list_bytes(&request->use_devices) + word_list_bytes(&request->avoid_devices) +
        word_list_bytes(&request->use_products) + word_list_bytes(&request->avoid_products) +
        class_selections_bytes(&request->selections);

    if (request->containers != NULL)
        bytes += mem_block_bytes(request->container_count * sizeof *request->containers);
    for (size_t i = 0; i < request->container_count; i++)
        bytes += mem_text_bytes(request->containers[i].name);
    if (request->asks != NULL)
        bytes += mem_block_bytes(request->ask_count * sizeof *request->asks);
    return bytes;
}

void request_forget_wishes(struct request *request)
{
    word_list_clear(&request->use_devices);
    word_list_clear(&request->avoid_devices);
    word_list_clear(&request->use_products);
    word_list_clear(&request->avoid_products);
    class_selections_clear(&request->selections);
}

void request_add_container(struct request *request, const char *name, enum container_kind kind)
{
    request->containers = xreallocarray(request->containers, request->container_count + 1,
                                        sizeof *request->containers);
    request->containers[request->container_count++] =
        (struct container_request){.name = xstrdup(name), .kind = kind};
}

void request_add_ask(struct request *request, const struct ask *ask)
{
    if (request->ask_count == REQUEST_ASKS_MAX) {
        request_set_problem(request, "more than %d containers ask for devices", REQUEST_ASKS_MAX);
        return;
    }
    request->asks = xreallocarray(request->asks, request->ask_count + 1, sizeof *request->asks);
    request->asks[request->ask_count++] = *ask;
}

void request_set_problem(struct request *request, const char *format, ...)
{
    char text[PROBLEM_MAX];
    va_list args;

    if (request->problem != NULL)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    request->problem = xstrdup(text);
}

bool request_names_devices(const struct request *request)
{
    return request->use_devices.count > 0 || request->avoid_devices.count > 0 ||
           class_selections_name_devices(&request->selections);
}

bool request_wants_devices(const struct request *request)
{
    return request->ask_count > 0 || request->problem != NULL;
}

bool ask_is_whole(const struct request *request, const struct ask *ask)
{
    return ask->memory_kind == MEMORY_WHOLE || request->isolation == ISOLATION_SHARED;
}

uint64_t ask_memory_mib(const struct request *request, const struct ask *ask, uint64_t memory_mib)
{
    if (ask_is_whole(request, ask))
        return memory_mib;
    if (ask->memory_kind == MEMORY_NONE)
        return 0;
    if (ask->memory_kind == MEMORY_MIB || ask->memory_kind == MEMORY_PROFILE)
        return ask->memory;
    /* Percent, rounded up: split to stay within 64 bits for any size. */
    return memory_mib / 100 * ask->memory + (memory_mib % 100 * ask->memory + 99) / 100;
}

/* A percent of a device's core units, at least one. */
static uint16_t percent_of_cores(uint16_t percent, uint16_t device_cores)
{
    uint32_t cores = (uint32_t)device_cores * percent / 100;

    return (uint16_t)(cores > 0 ? cores : 1);
}

uint16_t ask_cores(const struct request *request, const struct ask *ask, uint16_t device_cores)
{
    if (ask->cores > 0 && request->isolation != ISOLATION_SHARED)
        return ask->cores_percent ? percent_of_cores(ask->cores, device_cores) : ask->cores;
    return ask_is_whole(request, ask) ? device_cores : 0;
}

enum isolation_mode ask_isolation_mode(const struct request *request, const struct ask *ask)
{
    if (request->isolation != ISOLATION_NONE)
        return request->isolation;
    if (ask->memory_kind == MEMORY_PROFILE)
        return ISOLATION_PARTITIONED;
    return ask->memory_kind == MEMORY_WHOLE ? ISOLATION_SHARED : ISOLATION_SOFT;
}

enum isolation_mode ask_divided_mode(const struct request *request)
{
    return request->isolation != ISOLATION_NONE ? request->isolation : ISOLATION_PARTITIONED;
}
