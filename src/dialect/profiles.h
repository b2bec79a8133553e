/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles - partitions that containers ask for by the name of their profile, from resources such
 * as nvidia.com/mig-1g.10gb. Inside of dialect.
 */
#ifndef TOPOFIT_DIALECT_PROFILES_H
#define TOPOFIT_DIALECT_PROFILES_H

#include "topofit/device_class.h"
#include "topofit/kube_object.h"
#include "topofit/request.h"

/*
 * Append an ask for each partition of a class that a container wants.
 *
 * position  of the container in the pod.
 * out       its problem when an amount is no whole number.
 */
void profiles_read(const struct kube_container *container, size_t position,
                   const struct device_class *class, struct request *out);

#endif
