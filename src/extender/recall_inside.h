/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recall_inside - what recall.c needs of kind.c. For these two only.
 */
#ifndef TOPOFIT_RECALL_INSIDE_H
#define TOPOFIT_RECALL_INSIDE_H

#include "recall.h"

/* counts: of the recall, which lasts longer; added to atomically. One reference for the caller. */
struct kind *kind_new(struct buf *steal_key, const struct request *request,
                      struct recall_counts *counts);
struct kind *kind_ref(struct kind *kind);

bool kind_has_key(const struct kind *kind, const struct buf *key);

/* Has it no room for more outcomes? Then it is time to begin anew. */
bool kind_is_full(struct kind *kind);

/* How much memory it takes now. */
size_t kind_bytes(const struct kind *kind);

#endif
