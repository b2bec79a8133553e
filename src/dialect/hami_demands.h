/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hami_demands - what pods demand in the annotations that HAMi's scheduler reads. For hami.c only.
 *
 * What topofit's own annotations state counts more.
 */
#ifndef TOPOFIT_HAMI_DEMANDS_H
#define TOPOFIT_HAMI_DEMANDS_H

#include "topofit/kube_object.h"

#define KEY_HAMI_NODE_POLICY "hami.io/node-scheduler-policy"
#define KEY_HAMI_DEVICE_POLICY "hami.io/gpu-scheduler-policy"
#define KEY_HAMI_WEIGHTS "hami.io/device-scoring-weights"

/* As struct dialect's read_demands. */
void hami_read_demands(const struct kube_pod *kube, struct request *request);

#endif
