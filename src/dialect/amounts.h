/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amounts - what containers ask for, from resource amounts by class. For the dialects only.
 */
#ifndef TOPOFIT_AMOUNTS_H
#define TOPOFIT_AMOUNTS_H

#include "topofit/device_class.h"
#include "topofit/kube_object.h"
#include "topofit/request.h"

/*
 * Add all containers of a pod to a request, and what they ask of every class. An amount that
 * cannot be read becomes the request's problem and names the resource and the unit expected.
 */
void amounts_read(const struct kube_pod *kube, const struct class_table *classes,
                  struct request *out);

#endif
