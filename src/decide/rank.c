/* SPDX-License-Identifier: Apache-2.0 */
/* rank - one order over the kept nodes, and its scores for kube-scheduler. */
#include "topofit/rank.h"

#include <stdlib.h>
#include <string.h>

#define SCORE_RUNNER_UP 9
#define SCORE_LAST_KEPT 1

/* Negative when a is better; 0 when they differ in nothing but their name. */
static int compare_worth(const struct ranked_node *a, const struct ranked_node *b)
{
    if (a->kept != b->kept)
        return a->kept ? -1 : 1;
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;
    if (a->quality_0_100 != b->quality_0_100)
        return a->quality_0_100 > b->quality_0_100 ? -1 : 1;
    if (a->broken != b->broken)
        return a->broken < b->broken ? -1 : 1;
    if (a->packing_per_mille != b->packing_per_mille)
        return a->packing_per_mille > b->packing_per_mille ? -1 : 1;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct ranked_node *x = *(struct ranked_node *const *)a;
    const struct ranked_node *y = *(struct ranked_node *const *)b;
    int worth = compare_worth(x, y);

    return worth != 0 ? worth : strcmp(x->name, y->name);
}

/* How many different worths the kept nodes have. */
static size_t count_classes(struct ranked_node **order, size_t kept)
{
    size_t classes = kept > 0;

    for (size_t i = 1; i < kept; i++)
        classes += compare_worth(order[i - 1], order[i]) != 0;
    return classes;
}

static void score(struct ranked_node **order, size_t kept)
{
    size_t classes = count_classes(order, kept);
    size_t span = classes > 1 ? classes - 1 : 1;
    size_t class = 0;

    for (size_t i = 0; i < kept; i++) {
        class += i > 0 && compare_worth(order[i - 1], order[i]) != 0;
        order[i]->score_0_10 =
            SCORE_RUNNER_UP - (int)(class * (SCORE_RUNNER_UP - SCORE_LAST_KEPT) / span);
    }
    if (kept > 0)
        order[0]->score_0_10 = RANK_SCORE_MAX;
}

void rank_nodes(struct ranked_node **order, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        order[i]->score_0_10 = 0;
        kept += order[i]->kept;
    }
    if (count > 0)
        qsort(order, count, sizeof *order, compare);
    score(order, kept);
}
