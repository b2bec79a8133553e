/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agenda - what happens when, in virtual time.
 *
 * What is due at the same time happens in the order in which it was planned. Nothing is ever taken
 * off: whoever is called looks whether `number` still means something to it.
 */
#ifndef TOPOFIT_SIM_AGENDA_H
#define TOPOFIT_SIM_AGENDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* return false when nothing is left to do: it does not count as a step. */
typedef bool (*agenda_run)(void *ctx, uint64_t number);

struct agenda_entry {
    uint64_t at_ms, order;
    agenda_run run;
    void *ctx;
    uint64_t number;
};

struct agenda {
    struct agenda_entry *heap;
    size_t count, capacity;
    uint64_t last_order;
};

void agenda_clear(struct agenda *agenda);
void agenda_add(struct agenda *agenda, uint64_t at_ms, agenda_run run, void *ctx, uint64_t number);

/* Take the next entry. return false when there is none. */
bool agenda_next(struct agenda *agenda, struct agenda_entry *out);

#endif
