/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputopo_inside - what the files of gputopo share; nobody else includes this.
 *
 * A field is a question narrowed to its candidates: they get local numbers 0..n-1, and every mask
 * in here is in local numbers. All of it lives on the caller's stack.
 */
#ifndef TOPOFIT_GPUTOPO_INSIDE_H
#define TOPOFIT_GPUTOPO_INSIDE_H

#include "topofit/gputopo.h"

/* --- steps ------------------------------------------------------------------------------------
 *
 * A step is a bounded piece of work: every call of a function that calls itself spends one, and
 * what is dear besides spends several. A count, never a time: answers must repeat.
 */

struct gputopo_budget {
    uint64_t limit, left;
    uint64_t share; /* the most that one question may take of it */
    bool ran_out;
};

/* The parts of a search have their own budgets, so that none can starve another. */
struct gputopo_work {
    struct gputopo_budget tiers; /* is there a set within a tier and a bandwidth? */
    struct gputopo_budget sets;  /* which of these is worth most? */
    struct gputopo_budget ties;  /* which of the equal ones leaves most? */
    bool degraded;               /* an answer was cut short */
};

static inline bool gputopo_spend(struct gputopo_budget *budget, unsigned steps)
{
    if (budget->left < steps) {
        budget->ran_out = true;
        return false;
    }
    budget->left -= steps;
    return true;
}

/* Lend what one question may take, to be settled before the next is lent. */
static inline struct gputopo_budget gputopo_lend(const struct gputopo_budget *budget)
{
    uint64_t loan = budget->left < budget->share ? budget->left : budget->share;

    return (struct gputopo_budget){.limit = loan, .left = loan, .share = loan};
}

static inline void gputopo_settle(struct gputopo_budget *budget, const struct gputopo_budget *loan)
{
    budget->left -= loan->limit - loan->left;
}

/* --- gputopo_field.c: the candidates and their pairs ------------------------------------------ */

struct gputopo_field {
    unsigned n;
    unsigned position[DEVICE_MAX]; /* local number to position in the graph */
    device_mask idle;
    device_mask required;
    device_mask within; /* all of them unless the question says otherwise */
    bool has_links;     /* the source knows links, not only NUMA nodes */
    uint16_t preference[DEVICE_MAX];
    uint8_t tier[DEVICE_MAX][DEVICE_MAX];
    /*
     * What a pair adds to a set, so that sums compare lexicographically: bandwidth, then closeness
     * by tier, then one for a shared NUMA node.
     */
    uint64_t worth[DEVICE_MAX][DEVICE_MAX];
    device_mask later_twins[DEVICE_MAX]; /* see gputopo_field_sort_twins() */
};

/* The parts of a pair's worth or of a sum of worths. A sum over all pairs of 64 devices fits. */
static inline uint32_t gputopo_gbps_of(uint64_t worth)
{
    return (uint32_t)(worth >> 26);
}
static inline uint32_t gputopo_closeness_of(uint64_t worth)
{
    return worth >> 11 & 0x7fff;
}
static inline uint32_t gputopo_numa_pairs_of(uint64_t worth)
{
    return worth & 0x7ff;
}

/* Worth of two positions of a graph; 0 for a device with itself. */
uint64_t gputopo_worth(const struct peer_graph *graph, enum topology_source source, unsigned a,
                       unsigned b);

/* Fill a field with the candidates in the order of their positions; no twins. */
void gputopo_field_fill(struct gputopo_field *field, const struct topology_question *question,
                        enum topology_source source);

/*
 * Reorder a field so that twins are neighbours, and note for each device its later twins. Two
 * devices are twins when nothing but preference and position tells them apart, so a set that has
 * a later twin but not the earlier one is never better than the same set with the earlier one.
 */
void gputopo_field_sort_twins(struct gputopo_field *field, const struct topology_question *question,
                              enum topology_source source);

/* Sum over the pairs inside a set. */
uint64_t gputopo_field_worth(const struct gputopo_field *field, device_mask set);

/* Worst tier and slowest link inside a set. */
enum tier gputopo_field_tier(const struct gputopo_field *field, device_mask set);
uint16_t gputopo_field_bottleneck_gbps(const struct gputopo_field *field, device_mask set);

/* Local mask to positions of the graph. */
device_mask gputopo_field_positions(const struct gputopo_field *field, device_mask set);

/* The score of a set: band of its tier, then inner closeness. */
uint8_t gputopo_field_score(const struct gputopo_field *field, device_mask set);

/* --- gputopo_clique.c, gputopo_matching.c: two questions about plain graphs --------------------
 */

enum gputopo_answer {
    GPUTOPO_NONE, /* there is none, for certain */
    GPUTOPO_FOUND,
    GPUTOPO_UNKNOWN, /* the budget ran out */
};

/*
 * Find `need` devices in `open`, each near every other.
 *
 * found   written only with GPUTOPO_FOUND.
 */
enum gputopo_answer gputopo_clique_find(const device_mask near[DEVICE_MAX], device_mask open,
                                        unsigned need, struct gputopo_budget *budget,
                                        device_mask *found);

/*
 * The same by always taking the device with the most neighbours left, from each start in turn.
 * Cheap, and spends nothing; false says nothing.
 */
bool gputopo_clique_grow(const device_mask near[DEVICE_MAX], device_mask open, unsigned need,
                         device_mask *found);

/*
 * Most disjoint pairs of near devices in a mask: maximum matching in a general graph. Fewer than
 * that when the budget ran out.
 */
unsigned gputopo_matching_size(const device_mask near[DEVICE_MAX], device_mask mask,
                               struct gputopo_budget *budget);

/* --- gputopo_groups.c: what the free rest can still form ---------------------------------------
 */

/* The pool's good pairs: of tier 0, or of tier 1 and better. */
struct gputopo_group_graph {
    device_mask near[DEVICE_MAX];
    bool is_transitive; /* falls into parts whose members are all near each other */
    unsigned part_count;
    device_mask parts[DEVICE_MAX];
    device_mask in_four, in_eight; /* all devices that a group of that size has; else unused */
};

struct gputopo_groups {
    struct gputopo_group_graph graphs[2]; /* [0] tier 0; [1] tier 1 and better */
};

/* Most important first: 8 of tier 0, 8 of tier 1 and better, the same for 4, then for 2. */
#define GPUTOPO_GROUP_KINDS 6

void gputopo_groups_init(struct gputopo_groups *groups, const struct gputopo_field *field,
                         struct gputopo_budget *budget);

/*
 * How many disjoint groups of one kind the devices in `rest` can form; each kind is counted by
 * itself. Fewer than that when the question's share of the budget ran out: then ran_out is set.
 */
unsigned gputopo_groups_count(const struct gputopo_groups *groups, unsigned kind, device_mask rest,
                              struct gputopo_budget *budget);

/* --- gputopo_search.c, gputopo_single.c: the answers, in local numbers -------------------------
 */

/* The best set of `count` devices, at least 2. The field's twins must be sorted. */
device_mask gputopo_search(const struct gputopo_field *field, unsigned count,
                           struct gputopo_work *work);

/* Any set within the best tier that there is one for: the tier is that of gputopo_search(). */
device_mask gputopo_search_tier(const struct gputopo_field *field, unsigned count,
                                struct gputopo_work *work);

/* The best of some sets of equal size, at least 2 devices. */
device_mask gputopo_best_of(const struct gputopo_field *field, const device_mask *sets,
                            unsigned count, struct gputopo_work *work);

/* The device whose loss hurts least. */
device_mask gputopo_single(const struct gputopo_field *field,
                           const struct topology_question *question,
                           const struct topology_rule *rule, struct gputopo_work *work);

#endif
