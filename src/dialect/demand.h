/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demand - annotations of pods whose values are words. For the dialects only.
 *
 * A value that is none of those expected becomes the request's problem: such a pod is refused with
 * that text, for what it wants is not known.
 */
#ifndef TOPOFIT_DEMAND_H
#define TOPOFIT_DEMAND_H

#include "topofit/request.h"

struct demand_word {
    const char *text; /* case aside */
    int value;
};

/* An annotation whose value is one of a few words. */
struct demand_choice {
    const char *key;
    const char *expected; /* for people: "hard, soft or off" */
    struct demand_word words[6];
    void (*set)(struct request *request, int value);
};

/* Do what the value of the annotation says. */
void demand_choose(const struct demand_choice *choice, const char *value, struct request *request);

/* Add the items of a comma list. One of nothing but commas is as if it were not there. */
void demand_words(const char *key, const char *value, struct word_list *words,
                  struct request *request);

#endif
