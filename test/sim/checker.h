/* SPDX-License-Identifier: Apache-2.0 */
/* checker - what must be true after each step, and once all has come to rest. */
#ifndef TOPOFIT_SIM_CHECKER_H
#define TOPOFIT_SIM_CHECKER_H

#include "world.h"

struct checker *checker_new(struct world *world);
void checker_free(struct checker *checker);

/* After each step: are the objects of the API server possible? */
void checker_look(struct checker *checker);

/* A Binding was executed: was the pod meant? */
void checker_on_binding(struct checker *checker, const char *path, const char *body, size_t length);

/* A bind call is being answered. */
void checker_on_bind_answer(struct checker *checker, const char *uid, const char *node,
                            bool is_bound);

/*
 * Has all come to rest as it should? return false while it has not: `text` says what is missing.
 */
bool checker_is_at_rest(struct checker *checker, char *text, size_t size);

#endif
