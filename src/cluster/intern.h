/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern - one copy of what thousands of nodes repeat: label words, products, peer graphs.
 *
 * Owned by the cluster and used under its lock. Things nobody else refers to any more are dropped
 * from time to time, so a cluster that changes for years does not grow.
 */
#ifndef TOPOFIT_INTERN_H
#define TOPOFIT_INTERN_H

#include "topofit/map.h"
#include "topofit/node.h"

struct intern;
struct intern *intern_new(const struct hash_key *key);
void intern_free(struct intern *intern);

/* Swap the words and the graph of a node that is not published yet for the shared ones. */
void intern_node(struct intern *intern, struct node *node);

/* How much is shared at present. */
size_t intern_word_count(const struct intern *intern);
size_t intern_graph_count(const struct intern *intern);

#endif
