/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_zones - candidates by the zone that the node reports of them, and a set made of several.
 * Inside of decide.
 */
#ifndef TOPOFIT_DECIDE_SET_ZONES_H
#define TOPOFIT_DECIDE_SET_ZONES_H

#include "set_places.h"

/* Candidates of each zone, the smallest zone first; those without a zone are apart. */
struct set_zones {
    unsigned count;
    device_mask masks[DEVICE_MAX];
    device_mask outside;
};

/*
 * return  whether zones count for the question: there are some, its rule is for it, and, where the
 *         largest zone comes first, no candidate is without one.
 */
bool set_zones_find(const struct set_question *question, struct set_zones *out);

/*
 * Add the places, all alike, of the sets that come first of those that no zone holds. With
 * ZONES_LARGEST: in the largest zones. Else where 10 x (pairs within zones taken) - (pairs within
 * zones broken) is greatest.
 * source: HAMi's score for MetaX's link zones
 */
void set_zones_mix(const struct set_question *question, const struct set_zones *zones,
                   struct set_places *out);

#endif
