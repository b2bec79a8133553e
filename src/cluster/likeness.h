/* SPDX-License-Identifier: Apache-2.0 */
/*
 * likeness - telling nodes that are alike to decide, by a hash. For the cluster only.
 */
#ifndef TOPOFIT_LIKENESS_H
#define TOPOFIT_LIKENESS_H

#include "topofit/snapshot.h"

/*
 * Everything of a node and its use that decide or the words of a refusal may depend on, except the
 * names of the node and of its devices. The node's graph must be shared already.
 */
struct likeness likeness_of(const struct hash_key *key, const struct node *node,
                            const struct node_use *use);

#endif
