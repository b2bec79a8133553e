/* SPDX-License-Identifier: Apache-2.0 */
/* rank - scores of the kept nodes for kube-scheduler. */
#include "topofit/rank.h"

#include <string.h>

#define SCORE_RUNNER_UP 9
#define SCORE_LAST_KEPT 1
#define STEPS (SCORE_RUNNER_UP - SCORE_LAST_KEPT)

int rank_compare(const struct ranked_node *a, const struct ranked_node *b)
{
    if (a->merit != b->merit)
        return a->merit > b->merit ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* --- places without sorting ------------------------------------------------------------------- */

/* A part of an array, and which of its places are wanted: steps first to last, see place_of(). */
struct part {
    uint64_t *values;
    size_t low, high; /* positions, high excluded */
};

static void swap(uint64_t *a, uint64_t *b)
{
    uint64_t value = *a;

    *a = *b;
    *b = value;
}

/* Greater values than `pivot` to the front, lesser ones to the back; those equal are in between. */
static void split(const struct part *part, uint64_t pivot, size_t *first_equal, size_t *end_equal)
{
    uint64_t *values = part->values;
    size_t front = part->low, back = part->high;

    for (size_t i = part->low; i < back;) {
        if (values[i] > pivot)
            swap(&values[i++], &values[front++]);
        else if (values[i] < pivot)
            swap(&values[i], &values[--back]);
        else
            i++;
    }
    *first_equal = front;
    *end_equal = back;
}

static uint64_t middle_of(uint64_t a, uint64_t b, uint64_t c)
{
    if ((a < b) == (b < c))
        return b;
    return (a < b) == (c < a) ? a : c;
}

/* Put the value that belongs at `place` in descending order there; greater ones come before it. */
static void settle(struct part part, size_t place)
{
    while (part.high - part.low > 1) {
        size_t middle = part.low + (part.high - part.low) / 2, first_equal, end_equal;
        uint64_t pivot =
            middle_of(part.values[part.low], part.values[middle], part.values[part.high - 1]);

        split(&part, pivot, &first_equal, &end_equal);
        if (place < first_equal)
            part.high = first_equal;
        else if (place >= end_equal)
            part.low = end_equal;
        else
            return;
    }
}

/* So many nodes must be better for a score to sink by `step`, less one. */
static size_t place_of(size_t kept, unsigned step)
{
    return (step * (kept - 1) + STEPS - 1) / STEPS - 1;
}

/* limits[step - 1]: a merit below it has sunk by `step`. The middle ones first: they halve the
 * work.
 */
static void find_limits(uint64_t *merits, size_t kept, uint64_t limits[STEPS])
{
    static const struct {
        unsigned step, after, before; /* places of these steps are settled; 0 and STEPS + 1: none */
    } order[STEPS] = {{4, 0, 9}, {2, 0, 4}, {6, 4, 9}, {1, 0, 2},
                      {3, 2, 4}, {5, 4, 6}, {7, 6, 9}, {8, 7, 9}};

    for (unsigned i = 0; i < STEPS; i++) {
        size_t place = place_of(kept, order[i].step);
        struct part part = {
            .values = merits,
            .low = order[i].after > 0 ? place_of(kept, order[i].after) : 0,
            .high = order[i].before <= STEPS ? place_of(kept, order[i].before) + 1 : kept,
        };

        settle(part, place);
        limits[order[i].step - 1] = merits[place];
    }
}

/* --- scores ----------------------------------------------------------------------------------- */

static const struct ranked_node *best_of(const struct ranked_node *nodes, size_t count)
{
    const struct ranked_node *best = NULL;

    for (size_t i = 0; i < count; i++) {
        if (nodes[i].merit > 0 && (best == NULL || rank_compare(&nodes[i], best) < 0))
            best = &nodes[i];
    }
    return best;
}

static int score_by_place(uint64_t merit, const uint64_t limits[STEPS])
{
    int score = SCORE_RUNNER_UP;

    for (unsigned i = 0; i < STEPS; i++)
        score -= merit < limits[i];
    return score;
}

static void score_by_places(struct ranked_node *nodes, size_t count, uint64_t *scratch)
{
    const struct ranked_node *best = best_of(nodes, count);
    uint64_t limits[STEPS] = {0};
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (nodes[i].merit > 0)
            scratch[kept++] = nodes[i].merit;
    }
    if (kept > 1)
        find_limits(scratch, kept, limits);
    for (size_t i = 0; i < count; i++) {
        if (&nodes[i] == best)
            nodes[i].score_0_10 = RANK_SCORE_MAX;
        else if (nodes[i].merit > 0)
            nodes[i].score_0_10 = score_by_place(nodes[i].merit, limits);
    }
}

void rank_nodes(struct ranked_node *nodes, size_t count, enum rank_scores scores, uint64_t *scratch)
{
    for (size_t i = 0; i < count; i++)
        nodes[i].score_0_10 = scores == RANK_GRADED && nodes[i].merit > 0 ? nodes[i].grade_1_10 : 0;
    if (scores == RANK_WINNER)
        score_by_places(nodes, count, scratch);
}
