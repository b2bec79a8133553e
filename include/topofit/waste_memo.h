/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waste_memo - the models of the present mix, remembered from call to call.
 *
 * Each is computed once, when the first device of its kind is met, however many kinds there are.
 * Bounded: WASTE_KINDS_MAX kinds, more than there are nodes in a large cluster; those beyond are
 * computed each time. Safe from any thread; the locks inside are held for memory work, never while
 * a model is computed. So two threads may compute the same one at once, and one of them is kept.
 */
#ifndef TOPOFIT_WASTE_MEMO_H
#define TOPOFIT_WASTE_MEMO_H

#include "topofit/waste.h"

#define WASTE_KINDS_MAX 16384 /* about 8 MiB */

/* The models of one mix. Counted: a call keeps them while another mix is published. */
struct waste_models;

struct waste_memo;
struct waste_memo *waste_memo_new(void);
void waste_memo_free(struct waste_memo *memo);

/*
 * The models of a mix, those that were remembered where it is still the same.
 *
 * memo    NULL: nothing is remembered.
 * mix     a reference is taken; NULL when it is not known.
 * return  a reference for the caller, or NULL without a mix.
 */
struct waste_models *waste_memo_models(struct waste_memo *memo, struct pod_mix *mix);
void waste_models_unref(struct waste_models *models); /* NULL is fine */

/* How many were computed so far, those that are not kept included. */
uint64_t waste_models_computed(struct waste_models *models);

/* Those of one node's devices. Large: keep it off the stack. Zero it before its first use. */
struct node_models {
    const struct waste_model *of[DEVICE_MAX]; /* [device_count], as waste_milli() wants them */
    const struct waste_model *last;           /* the next device is mostly of the same kind */
    struct waste_model beyond[DEVICE_MAX];    /* what there is no room for in the memo */
};

/* Find or compute them; `out` holds them until it is used for another node or the models go. */
void waste_models_of_node(struct waste_models *models, const struct node *node,
                          struct node_models *out);

#endif
