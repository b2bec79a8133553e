/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_inside - what the files of class share. For them only.
 */
#ifndef TOPOFIT_CLASS_INSIDE_H
#define TOPOFIT_CLASS_INSIDE_H

#include "topofit/class_keys.h"
#include "topofit/error.h"
#include "topofit/yaml.h"

/* The files of src/dialect/classes, sorted by name. Made by the build. */
struct class_file {
    const char *name; /* "nvidia.yaml" */
    const char *yaml;
    const size_t *length;
};

extern const struct class_file class_files[];
extern const size_t class_file_count;

/* Fill zeroed memory with the defaults of all keys. */
void class_defaults(const struct class_shape *shape, void *object);

/*
 * Is everything there that must be, and do the keys of a class go together?
 *
 * document  where it was read last, for lines in error texts.
 * errors    ERR_INVALID with line, column and key.
 */
int class_check_required(const struct class_shape *shape, const void *object,
                         const struct yaml_value *document, struct error *err);
int class_check(const struct device_class *class, const struct yaml_value *document,
                struct error *err);

#endif
