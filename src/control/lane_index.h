/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane_index - which nodes the lock keeper has to look at: those that something happened to, and
 * those whose time has come; and whose request an answer belongs to.
 *
 * Without it every event would cost a look at every node with a lock. For the files of the lock
 * keeper only; borrows the lanes, and keeps its marks in them (struct lane_marks).
 */
#ifndef TOPOFIT_LANE_INDEX_H
#define TOPOFIT_LANE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lane;

/* In each lane; zeroed: it is in no list. */
struct lane_marks {
    struct lane *before, *after; /* of those touched */
    bool is_touched;
    size_t due_place; /* in `by_due`, from 1; 0: it waits for nothing */
    uint64_t due_ms;
};

struct lane_index {
    struct lane *first, *last; /* touched, the longest ago first */
    struct lane **by_due;      /* a heap: the earliest is on top */
    size_t due_count, due_capacity;
    struct lane **in_flight; /* in the order of their requests' ids */
    size_t flight_count, flight_capacity;
};

void lane_index_clear(struct lane_index *index);

/* Something happened to the lane: it is to be looked at. */
void lane_index_touch(struct lane_index *index, struct lane *lane);

/* Take the next that is to be looked at now, off all but the flights. NULL: there is none. */
struct lane *lane_index_take(struct lane_index *index, uint64_t now_ms);

/* Look at it again at that time, or when something happens; UINT64_MAX: then alone. */
void lane_index_wait(struct lane_index *index, struct lane *lane, uint64_t due_ms);

/* When one has to be looked at; 0: at once. UINT64_MAX: when something happens. */
uint64_t lane_index_due_ms(const struct lane_index *index);

/* The lane goes; it has no request in flight. */
void lane_index_drop(struct lane_index *index, struct lane *lane);

/* lane->id was sent, the greatest so far. */
void lane_index_sent(struct lane_index *index, struct lane *lane);

/* Whose request that was, which is then in flight no more; NULL: nobody's. */
struct lane *lane_index_answered(struct lane_index *index, uint64_t id);

#endif
