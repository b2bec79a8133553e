/* SPDX-License-Identifier: Apache-2.0 */
/* bound - can a pod's asks not fit together whichever way they are placed? */
#include "bound.h"

/* What devices have, and asks take of them. */
enum measure { MEASURE_MEMORY = 0, MEASURE_CORES, MEASURE_COUNT };

/* The asks of one phase, those that take least first. */
struct parts {
    const device_mask *may;
    size_t asks[REQUEST_ASKS_MAX];
    uint64_t least[REQUEST_ASKS_MAX]; /* that the ask takes of any device it may have */
    size_t count;
};

static uint64_t taken(const struct problem *problem, enum measure measure, size_t ask,
                      unsigned position)
{
    const struct device *device = &problem->node->devices[position];
    const struct ask *wanted = &problem->request->asks[ask];

    return measure == MEASURE_MEMORY ? ask_memory_mib(problem->request, wanted, device->memory_mib)
                                     : ask_cores(problem->request, wanted, device->cores);
}

static uint64_t left_free(const struct problem *problem, enum measure measure, unsigned position)
{
    const struct device *device = &problem->node->devices[position];
    const struct device_use *use = &problem->use->devices[position];
    uint64_t size = measure == MEASURE_MEMORY ? device->memory_mib : device->cores;
    uint64_t used = measure == MEASURE_MEMORY ? use->memory_mib : use->cores;

    return used < size ? size - used : 0;
}

static uint64_t least_taken(const struct problem *problem, enum measure measure, size_t ask,
                            device_mask may)
{
    uint64_t least = UINT64_MAX;

    for (; may != 0; may &= may - 1) {
        uint64_t here = taken(problem, measure, ask, mask_first(may));

        if (here < least)
            least = here;
    }
    return least;
}

static struct parts sort_parts(const struct problem *problem, const device_mask *may,
                               enum measure measure, uint32_t asks)
{
    struct parts parts = {.may = may};

    for (; asks != 0; asks &= asks - 1) {
        size_t ask = (size_t)__builtin_ctz(asks), at = parts.count++;
        uint64_t least = least_taken(problem, measure, ask, may[ask]);

        for (; at > 0 && parts.least[at - 1] > least; at--) {
            parts.asks[at] = parts.asks[at - 1];
            parts.least[at] = parts.least[at - 1];
        }
        parts.asks[at] = ask;
        parts.least[at] = least;
    }
    return parts;
}

/* How many of the parts from one on a device can hold at most: the small ones. */
static unsigned most_on(const struct problem *problem, const struct parts *parts, size_t from,
                        enum measure measure, unsigned position)
{
    uint64_t room = left_free(problem, measure, position);
    unsigned slots = problem->node->devices[position].slots;
    unsigned used = problem->use->devices[position].slots, count = 0;

    /* Places are not looked at here. */
    if (problem->node->devices[position].partitions != NULL)
        return PARTITION_SLICES_MAX;

    for (size_t i = from; i < parts->count && used + count < slots; i++) {
        if (!mask_has(parts->may[parts->asks[i]], position))
            continue;
        if (parts->least[i] > room)
            break;
        room -= parts->least[i];
        count++;
    }
    return count;
}

/* All parts must fit, and so must the large ones by themselves, wherever that is begun. */
static bool all_fit(const struct problem *problem, const struct parts *parts, enum measure measure)
{
    unsigned wanted = 0;

    for (size_t from = parts->count; from-- > 0;) {
        unsigned most = 0;

        wanted += problem->request->asks[parts->asks[from]].count;
        for (unsigned i = 0; i < problem->node->device_count && most < wanted; i++)
            most += most_on(problem, parts, from, measure, i);
        if (most < wanted)
            return false;
    }
    return true;
}

bool bound_allows(const struct problem *problem, const device_mask *may)
{
    for (size_t p = 0; p < problem->phase_count; p++) {
        for (unsigned m = 0; m < MEASURE_COUNT; m++) {
            struct parts parts = sort_parts(problem, may, (enum measure)m, problem->phases[p]);

            if (!all_fit(problem, &parts, (enum measure)m))
                return false;
        }
    }
    return true;
}
