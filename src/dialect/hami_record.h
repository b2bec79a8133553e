/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hami_record - what HAMi's annotations on pods say a pod was given. For hami*.c only.
 */
#ifndef TOPOFIT_HAMI_RECORD_H
#define TOPOFIT_HAMI_RECORD_H

#include "topofit/buf.h"
#include "topofit/dialect.h"

#define KEY_HAMI_NODE "hami.io/vgpu-node"
#define KEY_HAMI_TIME "hami.io/vgpu-time"

/* As struct dialect's read_record, is_record_key and write_record. */
int hami_read_record(const struct kube_pod *kube, const struct class_table *classes,
                     const struct request *request, struct allocation *out, struct error *err);
bool hami_is_record_key(const struct class_table *classes, const char *key);
void hami_write_record(const struct dialect_placement *placement, struct kube_pairs *annotations);

/* The value of an extra annotation for the devices of a class; false when it is not written. */
bool hami_extra_value(const struct dialect_placement *placement, const struct device_class *class,
                      enum hami_value value, struct buf *out);

#endif
