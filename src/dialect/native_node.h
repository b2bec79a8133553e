/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_node - topofit.io/inventory and topology on nodes. For native.c only.
 */
#ifndef TOPOFIT_NATIVE_NODE_H
#define TOPOFIT_NATIVE_NODE_H

#include "topofit/kube_object.h"
#include "topofit/node.h"

#define KEY_INVENTORY "topofit.io/inventory"
#define KEY_PLUGIN "topofit.io/device-plugin"

/* As struct dialect's read_node. */
bool native_read_node(const struct kube_node *kube, const struct class_table *classes,
                      struct node *node);

#endif
