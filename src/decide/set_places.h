/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_places - where a set may lie by the rule of its class, and in which order. Inside of decide.
 *
 * The rule says which sets there may be and which come first; gputopo chooses among those that
 * come first alike. Indices of devices are what the node reports; masks are of positions.
 * source: docs/concepts/sets.md
 */
#ifndef TOPOFIT_DECIDE_SET_PLACES_H
#define TOPOFIT_DECIDE_SET_PLACES_H

#include "topofit/gputopo.h"
#include "topofit/node.h"
#include "topofit/set_rule.h"

#define SET_PLACES_MAX 256

struct set_question {
    const struct node *node;
    const struct device_class *class;
    const struct set_rule *rule;
    device_mask candidates; /* of the class */
    unsigned count;
    bool is_whole; /* the ask takes all cores of its devices */
};

/* Places in order: those of equal key are alike to the rule, and a lower key comes first. */
struct set_places {
    unsigned count;
    bool cut_short; /* there are more than have room here */
    struct topology_place items[SET_PLACES_MAX];
    uint16_t keys[SET_PLACES_MAX];
};

/* May so many devices be asked for at once? */
bool set_rule_allows_count(const struct set_rule *rule, unsigned count);

/* Add a place: in the order of keys, and of entry among equal ones. */
void set_places_add(struct set_places *places, struct topology_place place, unsigned key);

/* All places that hold a set. None: there is no set that the rule allows. */
void set_places_list(const struct set_question *question, struct set_places *out);

/* May these devices be given out together, whatever else is free? */
bool set_is_allowed(const struct set_question *question, device_mask set);

#endif
