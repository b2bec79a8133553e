/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_keys - the table of all keys of a class file: type, place in the model, limits, purpose.
 *
 * The only place that knows a key. Reading, writing, freeing and the reference page come from it:
 * a new key is a row in class_keys.c and a field in device_class.h. A name with dots stands in
 * groups, to any depth: "memory.unitMiB" is the key unitMiB in the map memory.
 */
#ifndef TOPOFIT_CLASS_KEYS_H
#define TOPOFIT_CLASS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/device_class.h"

/* Less than a device may have: amounts in units of a class are multiplied. */
#define CLASS_MEMORY_MIB_MAX (1u << 30)

enum class_key_type {
    CLASS_TEXT,    /* char *, not empty; NULL when not given */
    CLASS_NUMBER,  /* uint16_t, uint32_t or uint64_t, from min to max */
    CLASS_YES_NO,  /* bool: true or false */
    CLASS_WORD,    /* an enum: one of words */
    CLASS_TEXTS,   /* struct class_texts */
    CLASS_NUMBERS, /* struct class_numbers, each from min to max */
    CLASS_ROWS,    /* a list of maps: struct { row *items; size_t count; } of the shape `rows` */
};

struct class_word {
    const char *text; /* NULL behind the last */
    int value;
};

struct class_shape;

struct class_key {
    const char *name;
    enum class_key_type type;
    size_t offset, size;            /* of the field */
    bool required;                  /* a class must say it */
    const char *fallback;           /* of a single value, as written in a file; NULL: 0, no, none */
    uint64_t min, max;              /* of numbers */
    const struct class_word *words; /* of a word */
    const struct class_shape *rows; /* of rows */
    const char *purpose;            /* a phrase for docs/reference/classes.md */
};

/* Keys of a map, and the size of the struct that they fill. */
struct class_shape {
    const struct class_key *keys;
    size_t count, size;
};

/* Of struct device_class. */
extern const struct class_shape class_shape;

/* Of struct set_rule and struct class_division: class_rule_keys.c. */
extern const struct class_shape set_rule_shape, class_division_shape;

/* Any list of a class, as the reader and the writer see it. */
struct class_list {
    void *items;
    size_t count;
};

/* The list in a field of CLASS_TEXTS, CLASS_NUMBERS or CLASS_ROWS, and a new one in its place. */
struct class_list class_list_get(const struct class_key *key, const void *object);
void class_list_set(const struct class_key *key, void *object, struct class_list steal_list);

/* Free what one field owns, or all of an object, leaving zeroes. */
void class_field_clear(const struct class_key *key, void *object);
void class_shape_clear(const struct class_shape *shape, void *object);

#endif
