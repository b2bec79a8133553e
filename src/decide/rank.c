/* SPDX-License-Identifier: Apache-2.0 */
/* rank - scores of the kept nodes for kube-scheduler. */
#include "topofit/rank.h"

#include <stdbool.h>
#include <string.h>

#define SCORE_RUNNER_UP 9

_Static_assert(SCORE_RUNNER_UP - RANK_STEPS == 1, "the last kept node scores 1");

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
    return (step * (kept - 1) + RANK_STEPS - 1) / RANK_STEPS - 1;
}

/* limits[step - 1]: a merit below it has sunk by `step`. The middle ones first: they halve the
 * work.
 */
static void find_limits(uint64_t *merits, size_t kept, uint64_t limits[RANK_STEPS])
{
    static const struct {
        unsigned step, after,
            before; /* places of these steps are settled; 0 and RANK_STEPS + 1: none */
    } order[RANK_STEPS] = {{4, 0, 9}, {2, 0, 4}, {6, 4, 9}, {1, 0, 2},
                           {3, 2, 4}, {5, 4, 6}, {7, 6, 9}, {8, 7, 9}};

    for (unsigned i = 0; i < RANK_STEPS; i++) {
        size_t place = place_of(kept, order[i].step);
        struct part part = {
            .values = merits,
            .low = order[i].after > 0 ? place_of(kept, order[i].after) : 0,
            .high = order[i].before <= RANK_STEPS ? place_of(kept, order[i].before) + 1 : kept,
        };

        settle(part, place);
        limits[order[i].step - 1] = merits[place];
    }
}

/* --- scores ----------------------------------------------------------------------------------- */

/* How many nodes there are at each step, and how many of them are right at the limit to the next.
 */
struct census {
    size_t at_step[RANK_STEPS + 1], at_limit[RANK_STEPS + 1];
};

/* How many of the limits a merit is below. Without branches: which way they go has no pattern. */
static inline unsigned step_of(uint64_t merit, const uint64_t limits[RANK_STEPS])
{
    unsigned step = (merit < limits[3]) * 4u;

    step += (merit < limits[step + 1]) * 2u;
    step += merit < limits[step];
    return step + (step == RANK_STEPS - 1 && merit < limits[RANK_STEPS - 1]);
}

static void score_by_limits(struct ranked_node *nodes, size_t count,
                            const struct rank_limits *limits, struct census *out)
{
    uint64_t merits[RANK_STEPS + 1] = {0}; /* the last step has no end */

    memcpy(merits, limits->merits, sizeof limits->merits);
    *out = (struct census){0};
    for (size_t i = 0; i < count; i++) {
        uint64_t merit = nodes[i].merit;
        unsigned step = step_of(merit, merits), is_kept = merit > 0;

        nodes[i].score_0_10 = (int)((SCORE_RUNNER_UP - step) * is_kept);
        out->at_step[step] += is_kept;
        out->at_limit[step] += is_kept & (merit == merits[step]);
    }
}

/* Is each limit the merit that stands at its place? Counted by the limits themselves. */
static bool are_right(const struct rank_limits *limits, const struct census *census, size_t kept)
{
    size_t at_least = 0, equal = 0; /* merits as good as the limit, or better; just as good */

    for (unsigned i = 0; i < RANK_STEPS; i++) {
        size_t place = place_of(kept, i + 1);

        at_least += census->at_step[i];
        if (i == 0 || limits->merits[i] != limits->merits[i - 1])
            equal = census->at_limit[i];
        if (place >= at_least || place < at_least - equal)
            return false;
    }
    return true;
}

/* return the best, or NULL. kept: the merits of all that are kept, in *kept_count. */
static struct ranked_node *gather(struct ranked_node *nodes, size_t count, uint64_t *kept,
                                  size_t *kept_count)
{
    struct ranked_node *best = NULL;
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t merit = nodes[i].merit;

        kept[used] = merit;
        used += merit > 0;
        if (merit > 0 &&
            (best == NULL || (merit >= best->merit && rank_compare(&nodes[i], best) < 0)))
            best = &nodes[i];
    }
    *kept_count = used;
    return best;
}

static void score_by_places(struct ranked_node *nodes, size_t count, struct rank_limits *limits,
                            uint64_t *scratch)
{
    size_t kept;
    struct ranked_node *best = gather(nodes, count, scratch, &kept);
    struct census census;

    score_by_limits(nodes, count, limits, &census);
    if (kept > 1 && !are_right(limits, &census, kept)) {
        find_limits(scratch, kept, limits->merits);
        score_by_limits(nodes, count, limits, &census);
    }
    if (best != NULL)
        best->score_0_10 = RANK_SCORE_MAX;
}

void rank_nodes(struct ranked_node *nodes, size_t count, enum rank_scores scores,
                struct rank_limits *limits, uint64_t *scratch)
{
    if (scores == RANK_WINNER) {
        score_by_places(nodes, count, limits, scratch);
        return;
    }
    for (size_t i = 0; i < count; i++)
        nodes[i].score_0_10 = nodes[i].merit > 0 ? nodes[i].grade_1_10 : 0;
}
