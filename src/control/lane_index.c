/* SPDX-License-Identifier: Apache-2.0 */
/* lane_index - which nodes the lock keeper has to look at, and whose an answer is. */
#include "lane_index.h"

#include "lock_keeper_inside.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void lane_index_clear(struct lane_index *index)
{
    free(index->by_due);
    free(index->in_flight);
    *index = (struct lane_index){0};
}

/* --- touched --------------------------------------------------------------------------------- */

void lane_index_touch(struct lane_index *index, struct lane *lane)
{
    struct lane_marks *marks = &lane->marks;

    if (marks->is_touched)
        return;
    marks->is_touched = true;
    marks->before = index->last;
    marks->after = NULL;
    *(index->last != NULL ? &index->last->marks.after : &index->first) = lane;
    index->last = lane;
}

static void untouch(struct lane_index *index, struct lane *lane)
{
    struct lane_marks *marks = &lane->marks;

    if (!marks->is_touched)
        return;
    *(marks->before != NULL ? &marks->before->marks.after : &index->first) = marks->after;
    *(marks->after != NULL ? &marks->after->marks.before : &index->last) = marks->before;
    marks->is_touched = false;
}

/* --- waiting --------------------------------------------------------------------------------- */

/* Places count from 1: the parent of place p is p / 2. */
static void put_at(struct lane_index *index, size_t place, struct lane *lane)
{
    index->by_due[place - 1] = lane;
    lane->marks.due_place = place;
}

static uint64_t due_at(const struct lane_index *index, size_t place)
{
    return index->by_due[place - 1]->marks.due_ms;
}

static void rise(struct lane_index *index, struct lane *lane, size_t place)
{
    for (; place > 1 && due_at(index, place / 2) > lane->marks.due_ms; place /= 2)
        put_at(index, place, index->by_due[place / 2 - 1]);
    put_at(index, place, lane);
}

static void sink(struct lane_index *index, struct lane *lane, size_t place)
{
    while (2 * place <= index->due_count) {
        size_t child = 2 * place;

        if (child < index->due_count && due_at(index, child + 1) < due_at(index, child))
            child++;
        if (due_at(index, child) >= lane->marks.due_ms)
            break;
        put_at(index, place, index->by_due[child - 1]);
        place = child;
    }
    put_at(index, place, lane);
}

static void stop_waiting(struct lane_index *index, struct lane *lane)
{
    size_t place = lane->marks.due_place;
    struct lane *last;

    if (place == 0)
        return;
    lane->marks.due_place = 0;
    last = index->by_due[--index->due_count];
    if (last == lane)
        return;
    if (place > 1 && due_at(index, place / 2) > last->marks.due_ms)
        rise(index, last, place);
    else
        sink(index, last, place);
}

void lane_index_wait(struct lane_index *index, struct lane *lane, uint64_t due_ms)
{
    stop_waiting(index, lane);
    if (due_ms == UINT64_MAX)
        return;
    lane->marks.due_ms = due_ms;
    index->by_due =
        mem_grow(index->by_due, index->due_count, &index->due_capacity, sizeof *index->by_due);
    rise(index, lane, ++index->due_count);
}

uint64_t lane_index_due_ms(const struct lane_index *index)
{
    if (index->first != NULL)
        return 0;
    return index->due_count > 0 ? due_at(index, 1) : UINT64_MAX;
}

/* --- both ------------------------------------------------------------------------------------ */

struct lane *lane_index_take(struct lane_index *index, uint64_t now_ms)
{
    struct lane *lane = index->first;

    if (lane == NULL && index->due_count > 0 && due_at(index, 1) <= now_ms)
        lane = index->by_due[0];
    if (lane == NULL)
        return NULL;
    untouch(index, lane);
    stop_waiting(index, lane);
    return lane;
}

void lane_index_drop(struct lane_index *index, struct lane *lane)
{
    untouch(index, lane);
    stop_waiting(index, lane);
}

/* --- in flight ------------------------------------------------------------------------------- */

void lane_index_sent(struct lane_index *index, struct lane *lane)
{
    assert(index->flight_count == 0 || index->in_flight[index->flight_count - 1]->id < lane->id);
    index->in_flight = mem_grow(index->in_flight, index->flight_count, &index->flight_capacity,
                                sizeof *index->in_flight);
    index->in_flight[index->flight_count++] = lane;
}

struct lane *lane_index_answered(struct lane_index *index, uint64_t id)
{
    size_t low = 0, high = index->flight_count;
    struct lane *lane;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (index->in_flight[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == index->flight_count || index->in_flight[low]->id != id)
        return NULL;
    lane = index->in_flight[low];
    memmove(&index->in_flight[low], &index->in_flight[low + 1],
            (--index->flight_count - low) * sizeof(struct lane *));
    return lane;
}
