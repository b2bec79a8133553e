/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cordon - devices that an administrator takes out of use. For the dialects only.
 *
 * Every key that says so counts on every node, whoever lists its devices, and for every vendor.
 */
#ifndef TOPOFIT_CORDON_H
#define TOPOFIT_CORDON_H

#include "topofit/kube_object.h"
#include "topofit/node.h"

#define KEY_CORDONED "topofit.io/cordoned-devices"
#define KEY_HAMI_CORDON "hami.io/device-cordon"

/* Mark the devices of a node that are cordoned, once all of them are there. */
void cordon_read(const struct kube_node *kube, struct node *node);

#endif
