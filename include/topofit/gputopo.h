/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputopo - which of the candidate devices go together best.
 *
 * Pure: no I/O, no clock, no allocation; a memo is caller-owned memory. Knows peer graphs and
 * masks, and nothing of memory, cores or tenants (that is gpufit's inside). Deterministic: one
 * total order that ends at positions, whatever the order of candidates or threads.
 *
 * More than one device, in this order: worst tier; bottleneck bandwidth; total bandwidth; closeness
 * by tiers; pairs on one NUMA node; what the free rest can still form (groups of 8, 4, 2, then the
 * link sum of the rest); preference; positions. One device: least damage to the free rest. Exact
 * up to 16 candidates, and up to 64 within a limit of steps; where that is hit the choice says
 * `degraded`. Each part of the search has its own limit, so the work of one choice is bounded.
 * docs/concepts/topology.md explains each rule and where it departs from TensorFusion.
 */
#ifndef TOPOFIT_GPUTOPO_H
#define TOPOFIT_GPUTOPO_H

#include <stdbool.h>
#include <stdint.h>

#include "topofit/peers.h"
#include "topofit/request.h"

/* What to do in hard mode with a set about which nothing is known. */
enum unknown_topology {
    UNKNOWN_AS_WORST = 0, /* it has TIER_UNKNOWN: allowed only when the pod's max tier says so */
    UNKNOWN_REJECT,
};

struct topology_rule {
    enum topology_mode mode;
    enum topology_source source;
    enum tier max_tier; /* hard mode refuses sets above it */
    enum unknown_topology unknown;
    bool least_damage; /* false: a single device is chosen by preference and position alone */
};

struct topology_question {
    const struct peer_graph *graph;
    device_mask candidates; /* devices that could serve */
    device_mask required;   /* subset of candidates that must be in the set (usually 0) */
    device_mask idle;       /* devices that nobody uses: only these can form groups later */
    device_mask within;     /* the set lies in it; 0 = anywhere among the candidates */
    unsigned count;         /* devices wanted, at least 1 */
    /*
     * [graph->n] packing preference, higher is better; compared as a sum over the set, and NULL
     * means all equal.
     */
    const uint16_t *preference;
    bool preference_first; /* one device: preference before damage (spreading of fractions) */
    bool tier_only;        /* any set within the best tier will do */
    bool hurried;          /* among more than 16 candidates a fraction of the steps */
};

/* Exact up to this many candidates: no limit applies. */
#define GPUTOPO_EXACT_MAX 16

/*
 * Steps of one choice at most, among more than 16 candidates. A step is a small bounded piece of
 * work, a microsecond or less.
 */
#define GPUTOPO_STEPS_MAX 300000

struct topology_choice {
    device_mask set;          /* `count` devices; 0 when there are fewer candidates than wanted */
    enum tier tier;           /* worst pair; TIER_INTERCONNECT for a single device */
    bool satisfied;           /* the rule allows it */
    bool degraded;            /* a limit of the search was hit: there may be a better set */
    uint16_t bottleneck_gbps; /* slowest pair; 0 for a single device */
    uint32_t total_gbps;      /* sum over pairs */
    uint8_t score_0_100;      /* by tier 75..99, 50..74, 25..49, 0..24; inside it by closeness */
    uint32_t steps;           /* what it took; a memo keeps the figure of the first time */
};

/*
 * Who remembers choices: the caller (gputopo_memo.h), since nothing is kept in here. Everything
 * works without one, and an answer never depends on it: it gives back what was stored for the very
 * same question, or nothing.
 */
struct gputopo_memo {
    /* A choice for the question under the rule's mode and limits or any other. false: not known. */
    bool (*find)(struct gputopo_memo *memo, const struct topology_question *question,
                 const struct topology_rule *rule, struct topology_choice *out);
    void (*store)(struct gputopo_memo *memo, const struct topology_question *question,
                  const struct topology_rule *rule, const struct topology_choice *choice);
};

/*
 * The best set of question->count devices under a rule.
 *
 * memo    may be NULL; only graphs with a serial are remembered.
 * out     always written. satisfied is false for too few candidates, and in hard mode above the
 *         allowed tier; the best set known is there all the same.
 *
 *         !satisfied && !degraded  no such set exists: with these candidates it never will
 *         !satisfied && degraded   none was found, but there may be one: not a reason to call the
 *                                  question impossible
 *         satisfied                the set keeps the rule, degraded or not
 *
 * source  docs/concepts/topology.md
 */
void gputopo_choose(const struct topology_question *question, const struct topology_rule *rule,
                    struct gputopo_memo *memo, struct topology_choice *out);

/* Where a set may lie. */
struct topology_place {
    device_mask within;   /* candidates; a mask of `count` devices is one set */
    device_mask required; /* of them, that must be in the set */
};

/*
 * The best set of those that lie within one of several places: the order is the same, and what is
 * left is judged over all candidates.
 *
 * places  [count], at least 1; question->within is not looked at.
 */
void gputopo_choose_among(const struct topology_question *question,
                          const struct topology_place *places, unsigned count,
                          const struct topology_rule *rule, struct gputopo_memo *memo,
                          struct topology_choice *out);

/*
 * How many of the good groups that idle devices can form are lost when some are taken, as one
 * number to compare: groups of 8 within tier 0 count most, then those within tier 1, then the same
 * for 4 and for 2. Up to 7 of each kind are told apart. 0 = none is lost.
 *
 * before, after  the idle devices; after is a subset of before. An estimate where more than 16
 *                devices are so wired that a limit of the search is hit.
 */
#define TOPOLOGY_GROUPS_LOST_BITS 18
uint32_t gputopo_groups_lost(const struct peer_graph *graph, enum topology_source source,
                             device_mask before, device_mask after);

/* Of such a number, the groups within tier 0 only: those of 8; and those of 4, then of 2. */
#define TOPOLOGY_LINKED_EIGHTS_BITS 3
#define TOPOLOGY_LINKED_FOURS_BITS 6
uint32_t gputopo_linked_eights(uint32_t groups_lost);
uint32_t gputopo_linked_fours(uint32_t groups_lost);

/*
 * How good a set is, in 0..100 of the best set of that size which the whole graph could form:
 * the bottleneck's share when the tiers are equal, 0 when the tier is worse. 100 for one device.
 */
uint8_t gputopo_quality(const struct peer_graph *graph, const struct topology_rule *rule,
                        const struct topology_choice *choice, unsigned count,
                        struct gputopo_memo *memo);

#endif
