/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class - device classes from YAML: the built-in files, and files of the user.
 *
 * No I/O and no state: bytes in, struct device_class out, from any thread. What is read owns its
 * strings. A file holds one class in each YAML document; class_keys.h has the keys, and
 * docs/reference/classes.md explains them.
 */
#ifndef TOPOFIT_CLASS_H
#define TOPOFIT_CLASS_H

#include <stddef.h>

#include "topofit/buf.h"
#include "topofit/device_class.h"
#include "topofit/error.h"

#define CLASS_FILE_BYTES_MAX (1u << 20)
#define CLASSES_MAX 256

/*
 * The built-in classes (src/dialect/classes, embedded), indexed. The caller clears the table, when
 * nobody borrows from it any more.
 */
void classes_builtin(struct class_table *out);

/*
 * Read the classes of a file over those of a table. One of a known name changes the keys it gives,
 * a new name adds a class. The table is to be indexed (class_table_index) after the last file;
 * until then nobody may borrow from it, for its classes move.
 *
 * file    name for error texts, or NULL.
 * yaml    [length], not kept.
 * errors  ERR_INVALID with file, line, column and key, and the nearest known key for an unknown
 *         one; ERR_LIMIT for more than CLASSES_MAX classes. The table is then of no use any more.
 */
int classes_read(struct class_table *classes, const char *file, const char *yaml, size_t length,
                 struct error *err);

/* A class as a document of a class file, of all keys that differ from their defaults. */
void class_write_yaml(const struct device_class *class, struct buf *out);

#endif
