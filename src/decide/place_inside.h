/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_inside - an ask being placed, and what the files place*.c do for each other. For them only.
 *
 * place.c has the steps; place_question.c says what is preferred, and asks gputopo for it;
 * place_topology.c chooses by links alone; place_beside.c knows the pod's other asks;
 * place_narrow.c lists the places that a rule and its limits leave; place_by_rule.c chooses among
 * them.
 */
#ifndef TOPOFIT_DECIDE_PLACE_INSIDE_H
#define TOPOFIT_DECIDE_PLACE_INSIDE_H

#include "place.h"
#include "set_places.h"

/* An ask being placed. */
struct placing {
    const struct problem *problem;
    size_t ask;
    const struct ask *wanted;
    const struct set_rule *rule; /* NULL: none */
    struct plan *plan;
    struct verdict *verdict;
    struct fit_question question;
    struct own_use own[DEVICE_MAX];
    uint16_t preference[DEVICE_MAX];
    struct fit fit;
};

/* --- place_question.c ------------------------------------------------------------------------ */

/* The best of the candidates by preference and links, as gputopo is asked. Fills `preference`. */
void place_question(struct placing *placing, struct topology_question *out);

/* Without topology: what is required, then the preferred devices, the first ones on ties. */
device_mask place_choose_preferred(const struct topology_question *question);

/* --- place_topology.c ------------------------------------------------------------------------ */

/* What a choice says goes into the plan; what none says into the verdict. */
void place_note_choice(const struct problem *problem, const struct topology_choice *choice,
                       unsigned count, struct plan *plan);
void place_note_refusal(const struct problem *problem, const struct topology_choice *best,
                        enum reason reason, struct verdict *verdict);

/* What a choice has cost is counted, and whether it was made in a hurry. */
void place_note_effort(const struct problem *problem, const struct topology_question *question,
                       const struct topology_choice *choice);

/* The best set under the topology rule; 0 and the verdict's reason when that allows none. */
device_mask place_by_topology(const struct problem *problem,
                              const struct topology_question *question, struct plan *plan,
                              struct verdict *verdict);

/* Why no node like this one ever has a set, by the best there could be. */
enum reason place_never(const struct topology_choice *best);

/*
 * An ask cannot be placed now. The verdict stays as it is when evicting pods could free a set that
 * meets the demand, or may free one; else it says that the node never can, so that nobody is
 * evicted for nothing.
 */
void place_judge_topology(const struct placing *placing);

/* --- place_beside.c -------------------------------------------------------------------------- */

/* What the other asks of the class have, where all must have the same. */
device_mask place_shared_devices(const struct problem *problem, const struct plan *plan,
                                 size_t ask);

/* The ask as the rules of sets see it. */
struct set_question place_set_question(const struct problem *problem, size_t ask,
                                       device_mask candidates);

/* --- place_narrow.c -------------------------------------------------------------------------- */

/* The places that the rule of the class has among the candidates, with its limits kept. */
void place_list(const struct placing *placing, device_mask candidates, struct set_places *out);

/* --- place_by_rule.c ------------------------------------------------------------------------- */

/* The best set under the rule of the class; 0 and the verdict's reason when there is none. */
device_mask place_by_rule(const struct placing *placing, const struct topology_question *question);

/* Refused for now: could other pods' leaving help, by the rule? As place_judge_topology(). */
void place_judge_by_rule(struct placing *placing);

#endif
