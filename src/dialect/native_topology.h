/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_topology - topofit.io/topology on nodes: a printed matrix or JSON links. For native only.
 */
#ifndef TOPOFIT_NATIVE_TOPOLOGY_H
#define TOPOFIT_NATIVE_TOPOLOGY_H

#include "topofit/node.h"

#define KEY_TOPOLOGY "topofit.io/topology"

/*
 * Give a node with its devices in order their peer graph.
 *
 * text  the annotation or NULL; what cannot be read of it is the node's problem, and the graph
 *       then knows NUMA nodes only.
 */
void native_read_topology(const char *text, struct node *node);

#endif
