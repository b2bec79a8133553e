/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class - device classes from YAML: the built-in files, and files of the user.
 *
 * No I/O and no state: bytes in, struct device_class out, from any thread. What is read owns its
 * strings. docs/reference/classes.md lists the keys.
 */
#ifndef TOPOFIT_CLASS_H
#define TOPOFIT_CLASS_H

#include <stddef.h>

#include "topofit/device_class.h"
#include "topofit/error.h"

/*
 * The built-in classes (src/dialect/classes, embedded). The caller clears the table, when nobody
 * borrows from it any more.
 */
void classes_builtin(struct class_table *out);

/*
 * Read one class.
 *
 * yaml    [length], not kept.
 * out     the caller clears it.
 * errors  ERR_INVALID with line, column and, for an unknown key, the nearest known one.
 */
int class_read(const char *yaml, size_t length, struct device_class *out, struct error *err);

#endif
