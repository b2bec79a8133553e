/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_facts - what ranking looks at on a node besides its devices, and deciding does not.
 *
 * Plain data; nothing here reads a clock.
 */
#ifndef TOPOFIT_RANK_FACTS_H
#define TOPOFIT_RANK_FACTS_H

#include "topofit/host.h"

#define SETTLED_MAX 7

struct rank_facts {
    struct host_amounts host_used; /* by pods with devices and without */
    unsigned settled_0_7;          /* of the pod with devices that has run longest */
};

bool rank_facts_equal(const struct rank_facts *a, const struct rank_facts *b);

/*
 * How long a pod has run, in steps that double: 0 for less than an hour, 1 for less than 3 hours, 2
 * for less than 7, ..., 7 from 127 hours on. So coarse that it changes seldom.
 *
 * since_s, now_s  since 1970. since_s 0: not known, which is 0.
 */
unsigned settled_0_7(uint64_t since_s, uint64_t now_s);

#endif
