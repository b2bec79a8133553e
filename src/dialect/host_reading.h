/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_reading - CPU and memory, from resource amounts. For the dialects only.
 *
 * They only rank: what cannot be read counts as nothing.
 */
#ifndef TOPOFIT_HOST_READING_H
#define TOPOFIT_HOST_READING_H

#include "topofit/host.h"
#include "topofit/kube_object.h"

/* What pods may take of a node. */
struct host_amounts host_of_node(const struct kube_node *kube);

/*
 * What a pod takes of its node, as kube-scheduler counts: the greatest of its phases, or what the
 * pod as a whole asks for, and its overhead.
 */
struct host_amounts host_of_pod(const struct kube_pod *kube);

#endif
