/* SPDX-License-Identifier: Apache-2.0 */
/* arrange - where the partitions that a pod wants go on a divided device. */
#include "arrange.h"

#include <string.h>

#define ROOM_BITS 15

/* --- what large profiles lose ---------------------------------------------------------------- */

static unsigned bits_for(unsigned count)
{
    unsigned bits = 0;

    for (; count > 0; count >>= 1)
        bits++;
    return bits;
}

/*
 * How many of each shape could still be made, the largest in the highest bits; as many shapes as
 * have room. What more is taken makes none of the numbers greater.
 */
static unsigned room(const struct partition_table *table, struct partition_use taken)
{
    const struct partition_use nothing = {0};
    unsigned code = 0, left = ROOM_BITS;

    for (unsigned i = 0; i < table->shape_count; i++) {
        unsigned bits = bits_for(partition_most(table, nothing, table->shapes[i]));

        if (bits > left)
            break;
        code = code << bits | partition_most(table, taken, table->shapes[i]);
        left -= bits;
    }
    return code << left;
}

unsigned arrange_loss(const struct partition_table *table, struct partition_use before,
                      struct partition_use after)
{
    return room(table, before) - room(table, after);
}

/* --- profiles that are enough ---------------------------------------------------------------- */

static uint64_t largest_mib(const struct partition_table *table)
{
    return table->count > 0 ? table->profiles[table->shapes[0]].memory_mib : 0;
}

/* A share of what the largest profile has, or of the slices: names round memory down. */
static bool has_share(const struct partition_table *table, const struct partition_profile *profile,
                      uint64_t percent)
{
    if (profile->memory_mib * 100 >= largest_mib(table) * percent)
        return true;
    return profile->group == 0 && profile->width * 100u >= table->slices * percent;
}

static bool has_cores(const struct device *device, const struct partition_profile *profile,
                      uint16_t cores)
{
    const struct partition_table *table = device->partitions;
    unsigned own = profile->cores;

    if (own == 0 && table->compute > 0)
        own = (unsigned)device->cores * profile->compute / table->compute;
    return cores == 0 || own >= cores;
}

static bool is_enough(const struct request *request, const struct ask *ask,
                      const struct device *device, const struct partition_profile *profile)
{
    bool enough = true;

    if (ask->slices > 0)
        return profile->compute == ask->slices;
    switch (ask->memory_kind) {
    case MEMORY_PROFILE:
        return partition_name_equal(profile->name, ask->profile);
    case MEMORY_MIB:
        enough = profile->memory_mib >= ask->memory;
        break;
    case MEMORY_PERCENT:
        enough = has_share(device->partitions, profile, ask->memory);
        break;
    case MEMORY_WHOLE:
        return has_share(device->partitions, profile, 100);
    case MEMORY_NONE:
        break;
    }
    return enough && has_cores(device, profile, ask_cores(request, ask, device->cores));
}

bool arrange_has_profile(const struct request *request, const struct ask *ask,
                         const struct device *device)
{
    for (unsigned i = 0; i < device->partitions->count; i++) {
        if (is_enough(request, ask, device, &device->partitions->profiles[i]))
            return true;
    }
    return false;
}

/* --- wishes ---------------------------------------------------------------------------------- */

struct wish {
    uint8_t ask;
    uint8_t count;
    uint8_t profiles[PARTITION_PROFILES_MAX]; /* that are enough, the smallest first */
    uint32_t beside;                          /* asks of the question that run with it */
};

struct search {
    const struct arrange_question *question;
    const struct partition_table *table;
    struct wish wishes[ARRANGE_ASKS_MAX];
    unsigned count;
    unsigned steps_left;
    bool first_will_do;
    struct planned_partition places[ARRANGE_ASKS_MAX];
    uint64_t cost_mib; /* of the places so far */
    bool found;
    uint64_t best_cost_mib;
    unsigned best_room;
    struct arrangement *best;
};

static bool is_smaller(const struct partition_profile *a, const struct partition_profile *b)
{
    if (a->memory_mib != b->memory_mib)
        return a->memory_mib < b->memory_mib;
    if (a->compute != b->compute)
        return a->compute < b->compute;
    return a->max < b->max; /* what is rare is kept for those who ask for it */
}

static void list_profiles(const struct search *search, struct wish *wish)
{
    const struct partition_profile *profiles = search->table->profiles;
    const struct ask *ask = &search->question->request->asks[wish->ask];

    for (unsigned i = 0; i < search->table->count; i++) {
        unsigned at = wish->count;

        if (!is_enough(search->question->request, ask, search->question->device, &profiles[i]))
            continue;
        for (; at > 0 && is_smaller(&profiles[i], &profiles[wish->profiles[at - 1]]); at--)
            wish->profiles[at] = wish->profiles[at - 1];
        wish->profiles[at] = (uint8_t)i;
        wish->count++;
    }
}

static bool run_together(const struct request *request, unsigned a, unsigned b)
{
    unsigned at_a = request->asks[a].container, at_b = request->asks[b].container;

    return containers_run_together(request->containers[at_a].kind, at_a,
                                   request->containers[at_b].kind, at_b);
}

static unsigned width_of(const struct search *search, const struct wish *wish)
{
    return wish->count > 0 ? search->table->profiles[wish->profiles[0]].width : 0;
}

/* return false when a wish can have no profile at all, or there are too many. */
static bool list_wishes(struct search *search)
{
    const struct arrange_question *question = search->question;

    for (uint32_t left = question->asks; left != 0; left &= left - 1) {
        struct wish wish = {.ask = (uint8_t)__builtin_ctz(left)};
        unsigned at = search->count;

        if (at == ARRANGE_ASKS_MAX)
            return false;
        list_profiles(search, &wish);
        if (wish.count == 0)
            return false;
        for (uint32_t other = question->asks; other != 0; other &= other - 1) {
            unsigned ask = (unsigned)__builtin_ctz(other);

            if (ask != wish.ask && run_together(question->request, wish.ask, ask))
                wish.beside |= UINT32_C(1) << ask;
        }
        /* The widest first: they have the fewest places. */
        for (; at > 0 && width_of(search, &wish) > width_of(search, &search->wishes[at - 1]); at--)
            search->wishes[at] = search->wishes[at - 1];
        search->wishes[at] = wish;
        search->count++;
    }
    return true;
}

/* --- the search ------------------------------------------------------------------------------ */

/* What is left; where a device is divided in fixed ways, the first way is the best. */
static unsigned judge(const struct search *search, struct partition_use taken)
{
    unsigned group = search->table->profiles[search->places[0].profile].group;

    return group > 0 ? ARRANGE_LOSS_MAX - group : room(search->table, taken);
}

static void keep_if_better(struct search *search, struct partition_use taken)
{
    unsigned left = search->first_will_do ? 0 : judge(search, taken);

    if (search->found && (search->cost_mib > search->best_cost_mib ||
                          (search->cost_mib == search->best_cost_mib && left <= search->best_room)))
        return;
    search->found = true;
    search->best_cost_mib = search->cost_mib;
    search->best_room = left;
    if (search->best == NULL)
        return;
    search->best->count = search->count;
    memcpy(search->best->items, search->places, search->count * sizeof *search->places);
    search->best->after = taken;
}

/* Is a partition of one of those before, who are never there together with this one, theirs? */
static bool may_share(const struct search *search, unsigned at, const struct planned_partition *of)
{
    for (unsigned i = 0; i < at; i++) {
        const struct planned_partition *other = &search->places[i];

        if (other->slices == of->slices && (search->wishes[at].beside >> other->ask & 1) != 0)
            return false;
    }
    return true;
}

static bool has_profile(const struct wish *wish, unsigned profile)
{
    for (unsigned i = 0; i < wish->count; i++) {
        if (wish->profiles[i] == profile)
            return true;
    }
    return false;
}

static bool is_same_wish(const struct wish *a, const struct wish *b)
{
    uint32_t both = UINT32_C(1) << a->ask | UINT32_C(1) << b->ask;

    return a->count == b->count && memcmp(a->profiles, b->profiles, a->count) == 0 &&
           (a->beside | both) == (b->beside | both) && (a->beside >> b->ask & 1) != 0;
}

/* Of wishes for the same the later one is never placed in front of the earlier one. */
static bool is_out_of_order(const struct search *search, unsigned at, unsigned profile,
                            unsigned start)
{
    const struct planned_partition *before = &search->places[at - (at > 0)];

    if (at == 0 || !is_same_wish(&search->wishes[at - 1], &search->wishes[at]) ||
        before->profile != profile)
        return false;
    return start > before->start;
}

static void place_from(struct search *search, unsigned at, struct partition_use taken);

static bool is_over(const struct search *search)
{
    return search->steps_left == 0 || (search->found && search->first_will_do);
}

/* Put the wish somewhere, and go on with the next one. */
static void put(struct search *search, unsigned at, struct planned_partition place,
                struct partition_use taken)
{
    uint64_t mib = search->table->profiles[place.profile].memory_mib;

    if (search->steps_left == 0 ||
        (search->found && search->cost_mib + mib > search->best_cost_mib))
        return;
    search->steps_left--;
    place.ask = search->wishes[at].ask;
    search->places[at] = place;
    search->cost_mib += mib;
    place_from(search, at + 1, taken);
    search->cost_mib -= mib;
}

/* Has a wish before this one the same place, so that it was shared or refused for that? */
static bool is_repeated(const struct search *search, unsigned i)
{
    for (unsigned k = 0; k < i; k++) {
        if (search->places[k].slices == search->places[i].slices &&
            search->places[k].profile == search->places[i].profile)
            return true;
    }
    return false;
}

/*
 * Is nothing better than to share the place of a wish: a profile no larger than need be, no further
 * slice, and whoever could share it otherwise still can?
 */
static bool is_as_good_as_any(const struct search *search, unsigned at, unsigned i)
{
    const struct partition_profile *profiles = search->table->profiles;
    const struct wish *wish = &search->wishes[at];

    return profiles[search->places[i].profile].memory_mib ==
               profiles[wish->profiles[0]].memory_mib &&
           (wish->beside & ~search->wishes[i].beside) == 0;
}

/* return true when no other place needs to be tried. */
static bool share_place(struct search *search, unsigned at, struct partition_use taken)
{
    for (unsigned i = 0; i < at && !is_over(search); i++) {
        const struct planned_partition other = search->places[i];

        if (!has_profile(&search->wishes[at], other.profile) || is_repeated(search, i) ||
            !may_share(search, at, &other))
            continue;
        put(search, at, other, taken);
        if (is_as_good_as_any(search, at, i))
            return true;
    }
    return false;
}

static void take_place(struct search *search, unsigned at, unsigned profile,
                       struct partition_use taken)
{
    for (uint32_t starts = search->table->profiles[profile].starts; starts != 0;) {
        unsigned start = 31 - (unsigned)__builtin_clz(starts);
        struct partition_use use = partition_at(search->table, taken, profile, start);

        starts &= ~(UINT32_C(1) << start);
        if (is_over(search))
            return;
        if (use.slices == 0 || is_out_of_order(search, at, profile, start))
            continue;
        put(search, at,
            (struct planned_partition){
                .profile = (uint8_t)profile, .start = (uint8_t)start, .slices = use.slices},
            partition_add(taken, use));
    }
}

static void place_from(struct search *search, unsigned at, struct partition_use taken)
{
    if (at == search->count) {
        keep_if_better(search, taken);
        return;
    }
    if (share_place(search, at, taken))
        return;
    for (unsigned i = 0; i < search->wishes[at].count && !is_over(search); i++)
        take_place(search, at, search->wishes[at].profiles[i], taken);
}

static bool run(struct search *search)
{
    search->table = search->question->device->partitions;
    search->steps_left = ARRANGE_STEPS_MAX;
    if (!list_wishes(search))
        return false;
    place_from(search, 0, search->question->taken);
    return search->found;
}

bool arrange_is_possible(const struct arrange_question *question)
{
    struct search search = {.question = question, .first_will_do = true};

    return run(&search);
}

bool arrange_best(const struct arrange_question *question, struct arrangement *out)
{
    struct search search = {.question = question, .best = out};
    bool found;

    *out = (struct arrangement){0};
    found = run(&search);
    out->cut_short = search.steps_left == 0;
    return found;
}
