/* SPDX-License-Identifier: Apache-2.0 */
/* request - what a pod asks for. */
#include "topofit/request.h"

#include "topofit/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PROBLEM_MAX 512

bool container_runs_in(enum container_kind kind, size_t position, size_t phase)
{
    if (phase == PHASE_MAIN)
        return kind != CONTAINER_INIT;
    return position == phase || (kind == CONTAINER_SIDECAR && position < phase);
}

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
    free(request->use_devices);
    free(request->avoid_devices);
    free(request->use_products);
    free(request->avoid_products);
    free(request->problem);
    request_init(request);
}

static char *copy_text(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
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
    out->use_devices = copy_text(from->use_devices);
    out->avoid_devices = copy_text(from->avoid_devices);
    out->use_products = copy_text(from->use_products);
    out->avoid_products = copy_text(from->avoid_products);
    out->problem = copy_text(from->problem);
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
    if (ask->memory_kind == MEMORY_MIB)
        return ask->memory;
    /* Percent, rounded up: split to stay within 64 bits for any size. */
    return memory_mib / 100 * ask->memory + (memory_mib % 100 * ask->memory + 99) / 100;
}

uint16_t ask_cores(const struct request *request, const struct ask *ask, uint16_t device_cores)
{
    if (ask->cores > 0 && request->isolation != ISOLATION_SHARED)
        return ask->cores;
    return ask_is_whole(request, ask) ? device_cores : 0;
}

enum isolation_mode request_mode(const struct request *request, const struct ask *ask)
{
    if (request->isolation != ISOLATION_NONE)
        return request->isolation;
    return ask->memory_kind == MEMORY_WHOLE ? ISOLATION_SHARED : ISOLATION_SOFT;
}
