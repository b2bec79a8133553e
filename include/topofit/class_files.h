/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_files - the device classes in effect: the built-in ones, and those of classes.files.
 *
 * Read once at start, for nodes, pods and plans borrow from the table.
 */
#ifndef TOPOFIT_CLASS_FILES_H
#define TOPOFIT_CLASS_FILES_H

#include "topofit/config.h"
#include "topofit/device_class.h"
#include "topofit/error.h"

/*
 * The built-in classes, and over them the files in their order.
 *
 * out     the caller clears it.
 * errors  of a file: cannot be read, or ERR_INVALID with file, line, column and key.
 */
int class_files_read(const struct config *config, struct class_table *out, struct error *err);

#endif
