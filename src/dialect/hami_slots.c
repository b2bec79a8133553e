/* SPDX-License-Identifier: Apache-2.0 */
/* hami_slots - which container of a pod each slot of HAMi's list belongs to. */
#include "hami_slots.h"

#include <string.h>

bool hami_shares_list(const struct device_class *a, const struct device_class *b)
{
    return a == b || (a->hami.allocated_key != NULL && b->hami.allocated_key != NULL &&
                      strcmp(a->hami.allocated_key, b->hami.allocated_key) == 0);
}

const struct ask *hami_ask_of(const struct request *request, const struct device_class *class,
                              size_t container)
{
    for (size_t i = 0; i < request->ask_count; i++) {
        if (request->asks[i].container == container &&
            hami_shares_list(request->asks[i].class, class))
            return &request->asks[i];
    }
    return NULL;
}

static unsigned asked_of(const struct request *request, const struct device_class *class,
                         size_t container)
{
    unsigned count = 0;

    for (size_t i = 0; i < request->ask_count; i++) {
        if (request->asks[i].container == container &&
            hami_shares_list(request->asks[i].class, class))
            count += request->asks[i].count;
    }
    return count;
}

/* The next container from `from` on that asks for the list's classes. */
static size_t next_asking(const struct request *request, const struct device_class *class,
                          size_t from)
{
    while (from < request->container_count && asked_of(request, class, from) == 0)
        from++;
    return from;
}

static bool place_by_request(const struct hami_list *list, const struct request *request,
                             const struct device_class *class, size_t *positions)
{
    size_t container = 0;

    for (size_t i = 0; i < list->count; i++) {
        if (list->slots[i].count == 0)
            continue;
        container = next_asking(request, class, container);
        if (container == request->container_count ||
            asked_of(request, class, container) != list->slots[i].count)
            return false;
        positions[i] = container++;
    }
    return next_asking(request, class, container) == request->container_count;
}

int hami_slots_place(const struct hami_list *list, const struct request *request,
                     const struct device_class *class, size_t *positions, struct error *err)
{
    size_t count = list->count;

    /* HAMi itself reads an empty slot behind the last ";", and writes it where it writes again. */
    while (count > request->container_count && list->slots[count - 1].count == 0)
        count--;
    if (count > request->container_count)
        return error_set(err, ERR_INVALID, "%zu containers listed, the pod has %zu", list->count,
                         request->container_count);
    if (place_by_request(list, request, class, positions))
        return 0;
    for (size_t i = 0; i < count; i++)
        positions[i] = request->container_count - count + i;
    return 0;
}
