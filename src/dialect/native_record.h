/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_record - topofit.io/allocation and devices.topofit.io/<container> on pods. For native.c
 * only.
 */
#ifndef TOPOFIT_NATIVE_RECORD_H
#define TOPOFIT_NATIVE_RECORD_H

#include "topofit/dialect.h"

#define KEY_ALLOCATION "topofit.io/allocation"
#define KEY_DEVICES_PREFIX "devices.topofit.io/"

/* As struct dialect's read_record, is_record_key and write_record. */
int native_read_record(const struct kube_pod *kube, const struct class_table *classes,
                       const struct request *request, struct allocation *out, struct error *err);
bool native_is_record_key(const struct class_table *classes, const char *key);
void native_write_record(const struct dialect_placement *placement, struct kube_pairs *annotations);

#endif
