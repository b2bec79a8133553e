/* SPDX-License-Identifier: Apache-2.0 */
/* agenda - what happens when, in virtual time: a binary heap. */
#include "agenda.h"

#include "topofit/mem.h"

#include <stdlib.h>

void agenda_clear(struct agenda *agenda)
{
    free(agenda->heap);
    *agenda = (struct agenda){0};
}

static bool is_before(const struct agenda_entry *a, const struct agenda_entry *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

void agenda_add(struct agenda *agenda, uint64_t at_ms, agenda_run run, void *ctx, uint64_t number)
{
    struct agenda_entry entry = {at_ms, ++agenda->last_order, run, ctx, number};
    size_t at = agenda->count++;

    if (agenda->count > agenda->capacity) {
        agenda->capacity = agenda->capacity > 0 ? agenda->capacity * 2 : 256;
        agenda->heap = xreallocarray(agenda->heap, agenda->capacity, sizeof *agenda->heap);
    }
    while (at > 0 && is_before(&entry, &agenda->heap[(at - 1) / 2])) {
        agenda->heap[at] = agenda->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    agenda->heap[at] = entry;
}

bool agenda_next(struct agenda *agenda, struct agenda_entry *out)
{
    struct agenda_entry *heap = agenda->heap;
    const struct agenda_entry *last;
    size_t at = 0, child;

    if (agenda->count == 0)
        return false;
    *out = heap[0];
    last = &heap[--agenda->count];
    for (; (child = 2 * at + 1) < agenda->count; at = child) {
        if (child + 1 < agenda->count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = *last;
    return true;
}
