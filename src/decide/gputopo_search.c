/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputopo_search - the best set of two or more devices.
 *
 * In three steps, each of which keeps only what is best in one respect: the best worst tier for
 * which there is a set at all, the best bottleneck within it, and then all sets within both by
 * branch and bound on the sum of their pairs. Of a run of twins only the first few are ever
 * looked at. Sets that are equal so far are told apart by the table of `aspects`.
 */
#include "gputopo_inside.h"

#include <string.h>

enum { OTHER_ASPECTS = 4, ASPECT_COUNT = GPUTOPO_GROUP_KINDS + OTHER_ASPECTS };

struct contender {
    device_mask set;
    unsigned known; /* aspects worked out so far: most sets lose before the dear ones */
    uint64_t aspects[ASPECT_COUNT];
};

struct search {
    const struct gputopo_field *field;
    struct gputopo_work *work;
    struct gputopo_groups groups;
    bool has_groups;
    device_mask near[DEVICE_MAX];          /* pairs within the best tier and bottleneck */
    uint64_t lowest, highest;              /* worth of a near pair */
    uint64_t most[DEVICE_MAX][DEVICE_MAX]; /* [device][i]: its i most valuable pairs together */
    uint64_t gain[DEVICE_MAX];             /* what a device would add to the chosen ones */
    device_mask chosen;
    uint64_t worth; /* of the chosen ones */
    bool has_best;
    uint64_t best_worth;
    struct contender best;
};

/* --- aspects: how equal sets are told apart, most important first, greater is better -----------
 */

static device_mask rest_of(const struct search *search, device_mask set)
{
    return search->field->idle & ~set;
}

static uint64_t groups_of(struct search *search, unsigned kind, device_mask set)
{
    if (!search->has_groups)
        gputopo_groups_init(&search->groups, search->field, &search->work->ties);
    search->has_groups = true;
    return gputopo_groups_count(&search->groups, kind, rest_of(search, set), &search->work->ties);
}

static uint64_t rest_worth_of(struct search *search, device_mask set)
{
    return gputopo_field_worth(search->field, rest_of(search, set));
}

static uint64_t preference_of(struct search *search, device_mask set)
{
    uint64_t sum = 0;

    for (; set != 0; set &= set - 1)
        sum += search->field->preference[mask_first(set)];
    return sum;
}

/* Only so that the score does not depend on how devices are numbered. */
static uint64_t score_of(struct search *search, device_mask set)
{
    return gputopo_field_score(search->field, set);
}

/* Lower positions first: as a number with position 0 in the highest bit. */
static uint64_t order_of(struct search *search, device_mask set)
{
    uint64_t order = 0;

    for (; set != 0; set &= set - 1)
        order |= mask_of(DEVICE_MAX - 1 - search->field->position[mask_first(set)]);
    return order;
}

static uint64_t (*const other_aspects[OTHER_ASPECTS])(struct search *, device_mask) = {
    rest_worth_of,
    preference_of,
    score_of,
    order_of,
};

static uint64_t aspect(struct search *search, struct contender *contender, unsigned i)
{
    if (contender->known > i)
        return contender->aspects[i];
    contender->aspects[i] = i < GPUTOPO_GROUP_KINDS
                                ? groups_of(search, i, contender->set)
                                : other_aspects[i - GPUTOPO_GROUP_KINDS](search, contender->set);
    contender->known = i + 1;
    return contender->aspects[i];
}

/* Is a set that is worth as much the better one? Where no step is left, the first one stays. */
static bool wins_tie(struct search *search, struct contender *contender)
{
    for (unsigned i = 0; i < ASPECT_COUNT; i++) {
        uint64_t best, value;

        if (!gputopo_spend(&search->work->ties, search->field->n))
            return false;
        best = aspect(search, &search->best, i);
        value = aspect(search, contender, i);
        if (value != best)
            return value > best;
    }
    return false;
}

static void consider(struct search *search, device_mask set, uint64_t worth)
{
    struct contender contender = {.set = set};

    if (search->has_best && worth < search->best_worth)
        return;
    if (search->has_best && worth == search->best_worth && !wins_tie(search, &contender))
        return;
    search->has_best = true;
    search->best_worth = worth;
    search->best = contender;
}

/* --- narrowing: the best tier, then the best bottleneck ------------------------------------------
 */

/* Keep the pairs of a tier and a bandwidth or better. */
static void init_near(struct search *search, enum tier tier, uint32_t gbps)
{
    const struct gputopo_field *field = search->field;

    for (unsigned a = 0; a < field->n; a++) {
        search->near[a] = 0;
        for (unsigned b = 0; b < field->n; b++) {
            if (a != b && field->tier[a][b] <= tier && gputopo_gbps_of(field->worth[a][b]) >= gbps)
                search->near[a] |= mask_of(b);
        }
    }
}

/* What may join the required devices; 0 in *possible when these are not near each other. */
static device_mask open_beside_required(const struct search *search, bool *possible)
{
    device_mask open = search->field->within, required = search->field->required;

    *possible = true;
    for (device_mask left = required; left != 0; left &= left - 1) {
        unsigned device = mask_first(left);

        if ((required & ~mask_of(device) & ~search->near[device]) != 0)
            *possible = false;
        open &= search->near[device];
    }
    return open & ~required;
}

/* Search first; where that gives up, grow one. */
static enum gputopo_answer find_near_set(struct search *search, device_mask open, unsigned need,
                                         device_mask *found)
{
    struct gputopo_budget loan = gputopo_lend(&search->work->tiers);
    enum gputopo_answer answer;

    answer = gputopo_clique_find(search->near, open, need, &loan, found);
    gputopo_settle(&search->work->tiers, &loan);
    if (answer == GPUTOPO_UNKNOWN && gputopo_clique_grow(search->near, open, need, found))
        answer = GPUTOPO_FOUND;
    return answer;
}

/*
 * Is a set within a tier and a bandwidth known? Then search->chosen is one. A false that is not
 * certain makes the choice a degraded one.
 */
static bool is_possible(struct search *search, unsigned count, enum tier tier, uint32_t gbps)
{
    bool possible;
    device_mask open, found;
    unsigned need = count - mask_count(search->field->required);
    enum gputopo_answer answer = GPUTOPO_NONE;

    init_near(search, tier, gbps);
    open = open_beside_required(search, &possible);
    if (tier == TIER_UNKNOWN && gbps == 0) {
        found = mask_lowest(open, need); /* any will do, and there must be an answer */
        answer = GPUTOPO_FOUND;
    } else if (possible) {
        answer = find_near_set(search, open, need, &found);
    }
    search->work->degraded |= answer == GPUTOPO_UNKNOWN;
    if (answer == GPUTOPO_FOUND)
        search->chosen = found | search->field->required;
    return answer == GPUTOPO_FOUND;
}

/* The different bandwidths of near pairs, ascending. return how many. */
static unsigned list_bandwidths(const struct search *search, uint16_t *list)
{
    unsigned count = 0;

    for (unsigned a = 0; a < search->field->n; a++) {
        for (device_mask left = search->near[a] & mask_below(a); left != 0; left &= left - 1) {
            uint16_t gbps = (uint16_t)gputopo_gbps_of(search->field->worth[a][mask_first(left)]);
            unsigned at = count;

            while (at > 0 && list[at - 1] > gbps)
                at--;
            if (at > 0 && list[at - 1] == gbps)
                continue;
            memmove(list + at + 1, list + at, (count - at) * sizeof(*list));
            list[at] = gbps;
            count++;
        }
    }
    return count;
}

/* Narrow `near` to the best tier for which there is a set, which search->chosen is then. */
static enum tier narrow_tier(struct search *search, unsigned count)
{
    unsigned tier = TIER_INTERCONNECT;

    while (!is_possible(search, count, tier, 0))
        tier++;
    return tier;
}

/* Narrow `near` to the best tier and bottleneck for which there is a set; consider that set. */
static void narrow(struct search *search, unsigned count)
{
    uint16_t list[DEVICE_MAX * (DEVICE_MAX - 1) / 2 + 1];
    unsigned tier = narrow_tier(search, count), low = 0, high;

    high = list_bandwidths(search, list);
    /* The lowest bandwidth is possible; find the highest that is. */
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;

        if (is_possible(search, count, tier, list[middle]))
            low = middle;
        else
            high = middle;
    }
    init_near(search, tier, list[low]);
    consider(search, search->chosen, gputopo_field_worth(search->field, search->chosen));
}

/* --- branch and bound ----------------------------------------------------------------------------
 */

/* Sums of the most valuable near pairs of one device. */
static void init_most(struct search *search, unsigned device, unsigned count)
{
    const uint64_t *row = search->field->worth[device];
    uint64_t sorted[DEVICE_MAX];
    unsigned n = 0;

    for (device_mask left = search->near[device]; left != 0; left &= left - 1) {
        uint64_t worth = row[mask_first(left)];
        unsigned at = n++;

        for (; at > 0 && sorted[at - 1] < worth; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = worth;
    }
    search->most[device][0] = 0;
    for (unsigned i = 1; i < count; i++)
        search->most[device][i] = search->most[device][i - 1] + (i <= n ? sorted[i - 1] : 0);
    if (n > 0 && sorted[0] > search->highest)
        search->highest = sorted[0];
    if (n > 0 && sorted[n - 1] < search->lowest)
        search->lowest = sorted[n - 1];
}

/*
 * Can `need` more of `open` reach the best worth known? Each would bring its pairs with the chosen
 * ones and at most its most valuable other ones, which two share (hence everything twice).
 */
static bool can_reach_best(const struct search *search, device_mask open, unsigned need)
{
    uint64_t top[DEVICE_MAX], twice = 2 * search->worth;
    unsigned n = 0;

    /* Where all pairs are worth the same, so are all sets. */
    if (!search->has_best || search->lowest == search->highest)
        return true;
    for (; open != 0; open &= open - 1) {
        unsigned device = mask_first(open), at;
        uint64_t hope = 2 * search->gain[device] + search->most[device][need - 1];

        if (n == need && hope <= top[n - 1])
            continue;
        n += n < need;
        for (at = n - 1; at > 0 && top[at - 1] < hope; at--)
            top[at] = top[at - 1];
        top[at] = hope;
    }
    for (unsigned i = 0; i < n; i++)
        twice += top[i];
    return twice >= 2 * search->best_worth;
}

static void choose_last(struct search *search, device_mask open)
{
    while (open != 0) {
        unsigned device = mask_first(open);

        open &= ~(mask_of(device) | search->field->later_twins[device]);
        consider(search, search->chosen | mask_of(device), search->worth + search->gain[device]);
    }
}

static void add(struct search *search, unsigned device, device_mask open)
{
    const uint64_t *row = search->field->worth[device];

    search->chosen |= mask_of(device);
    search->worth += search->gain[device];
    for (; open != 0; open &= open - 1)
        search->gain[mask_first(open)] += row[mask_first(open)];
}

static void take_back(struct search *search, unsigned device, device_mask open)
{
    const uint64_t *row = search->field->worth[device];

    for (; open != 0; open &= open - 1)
        search->gain[mask_first(open)] -= row[mask_first(open)];
    search->worth -= search->gain[device];
    search->chosen &= ~mask_of(device);
}

/* Try all ways to choose `need` more of `open`, whose devices are near all chosen ones. */
static void descend(struct search *search, device_mask open, unsigned need)
{
    if (need <= 1) {
        need == 0 ? consider(search, search->chosen, search->worth) : choose_last(search, open);
        return;
    }
    while (mask_count(open) >= need && can_reach_best(search, open, need)) {
        unsigned device = mask_first(open);
        device_mask beside = open & search->near[device];

        if (!gputopo_spend(&search->work->sets, 1))
            return;
        add(search, device, beside);
        descend(search, beside, need - 1);
        take_back(search, device, beside);
        open &= ~(mask_of(device) | search->field->later_twins[device]);
    }
}

/* Start over with the required devices. return what may join them. */
static device_mask start(struct search *search)
{
    const struct gputopo_field *field = search->field;
    bool possible;

    search->chosen = 0;
    search->worth = 0;
    memset(search->gain, 0, sizeof(search->gain));
    for (device_mask left = field->required; left != 0; left &= left - 1)
        add(search, mask_first(left), mask_below(field->n));
    return open_beside_required(search, &possible);
}

/* Add the device that brings most, `need` times or until nobody is near all chosen ones. */
static void grow_greedily(struct search *search, device_mask open, unsigned need)
{
    for (; need > 0 && open != 0; need--) {
        unsigned most = mask_first(open);

        for (device_mask left = open; left != 0; left &= left - 1) {
            if (search->gain[mask_first(left)] > search->gain[most])
                most = mask_first(left);
        }
        open &= search->near[most];
        add(search, most, open);
    }
    if (need == 0)
        consider(search, search->chosen, search->worth);
}

/* Where the search may be cut short, the answer should be a decent one by then. */
static void seed(struct search *search, unsigned need)
{
    for (unsigned first = 0; first < search->field->n; first++) {
        device_mask open = start(search);

        if (!mask_has(open, first))
            continue;
        open &= search->near[first];
        add(search, first, open);
        grow_greedily(search, open, need - 1);
    }
}

device_mask gputopo_search(const struct gputopo_field *field, unsigned count,
                           struct gputopo_work *work)
{
    struct search search;
    unsigned need = count - mask_count(field->required);

    search.field = field;
    search.work = work;
    search.has_groups = search.has_best = false;
    narrow(&search, count);
    search.lowest = UINT64_MAX;
    search.highest = 0;
    for (unsigned device = 0; device < field->n; device++)
        init_most(&search, device, count);
    if (field->n > GPUTOPO_EXACT_MAX && need > 0)
        seed(&search, need);
    descend(&search, start(&search), need);
    return search.best.set;
}

device_mask gputopo_search_tier(const struct gputopo_field *field, unsigned count,
                                struct gputopo_work *work)
{
    struct search search;

    search.field = field;
    search.work = work;
    narrow_tier(&search, count);
    return search.chosen;
}

/* --- sets that are given ------------------------------------------------------------------------
 */

/* Is a set worse than another by its tier or its bottleneck? */
static bool is_worse(const struct gputopo_field *field, device_mask set, device_mask than)
{
    enum tier tier = gputopo_field_tier(field, set), other = gputopo_field_tier(field, than);

    if (tier != other)
        return tier > other;
    return gputopo_field_bottleneck_gbps(field, set) < gputopo_field_bottleneck_gbps(field, than);
}

device_mask gputopo_best_of(const struct gputopo_field *field, const device_mask *sets,
                            unsigned count, struct gputopo_work *work)
{
    struct search search;

    search.field = field;
    search.work = work;
    search.has_groups = search.has_best = false;
    for (unsigned i = 0; i < count; i++) {
        if (search.has_best && is_worse(field, sets[i], search.best.set))
            continue;
        if (search.has_best && is_worse(field, search.best.set, sets[i]))
            search.has_best = false;
        consider(&search, sets[i], gputopo_field_worth(field, sets[i]));
    }
    return search.best.set;
}
