/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_class - a kind of device: the names of its resources and their units.
 *
 * Classes are data, one YAML file each in src/dialect/classes (docs/reference/classes.md). The
 * table is read once at start and immutable afterwards; everybody borrows pointers into it.
 */
#ifndef TOPOFIT_DEVICE_CLASS_H
#define TOPOFIT_DEVICE_CLASS_H

#include <stddef.h>
#include <stdint.h>

struct device_class {
    char *name;             /* "nvidia" */
    char *title;            /* for people: "NVIDIA GPU" */
    char *count_resource;   /* whole numbers of devices; never NULL */
    char *memory_resource;  /* memory of each device, in MiB or with a unit; NULL if none */
    char *percent_resource; /* memory of each device in percent; NULL if none */
    char *cores_resource;   /* compute of each device in core units; NULL if none */
    uint16_t cores;         /* core units of a whole device, unless the inventory says otherwise */
};

struct class_table {
    struct device_class *items;
    size_t count;
};

/* The class of that name, or NULL. Borrowed. */
const struct device_class *class_find(const struct class_table *classes, const char *name);

/* Free what a class owns; the table variant frees all of them. Accept zeroed memory. */
void class_clear(struct device_class *class);
void class_table_clear(struct class_table *classes);

#endif
