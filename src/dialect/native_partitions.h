/* SPDX-License-Identifier: Apache-2.0 */
/* native_partitions - "partitions" of a device in topofit.io/inventory. Inside of the native
 * dialect. */
#ifndef TOPOFIT_NATIVE_PARTITIONS_H
#define TOPOFIT_NATIVE_PARTITIONS_H

#include <jansson.h>

#include "topofit/partition.h"

/*
 * How a device is divided.
 *
 * json       true: as the class says of its product; a list of profiles; false, [] or NULL: not.
 * class      may be NULL.
 * out_fault  what is wrong, or NULL: static text.
 * return     the table with one reference, or NULL: the device is not divided, or there is a fault.
 */
struct partition_table *native_read_partitions(const json_t *json, const struct device_class *class,
                                               const char *product, const char **out_fault);

#endif
