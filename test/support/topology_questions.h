/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology_questions - random machines, and questions about them, for the tests of gputopo.
 *
 * All chance comes from a state that the test seeds.
 */
#ifndef TOPOFIT_TOPOLOGY_QUESTIONS_H
#define TOPOFIT_TOPOLOGY_QUESTIONS_H

#include "topofit/gputopo.h"

uint32_t next_random(uint64_t *state);
unsigned below(uint64_t *state, unsigned limit);

/* Few different values, so that there are many ties to break. One reference for the caller. */
struct peer_graph *random_graph(uint64_t *state, unsigned n);

/* It points into itself: it stays where it was made. */
struct question {
    struct topology_question question;
    struct topology_rule rule;
    uint16_t preference[DEVICE_MAX];
};

void random_question(uint64_t *state, const struct peer_graph *graph, unsigned count_max,
                     struct question *out);

#endif
