/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml - YAML text to a tree that knows where each value stood, and to JSON.
 *
 * No I/O. Built on libyaml. Multi-document files are read as a sequence of documents. Anchors and
 * aliases are refused: files of people here do not need them, and they can blow up. So are tags,
 * keys that are no scalars, and a key that comes twice in a map.
 */
#ifndef TOPOFIT_YAML_H
#define TOPOFIT_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/buf.h"
#include "topofit/error.h"

#define YAML_DEPTH_MAX 64
#define YAML_VALUES_MAX (4u << 20) /* values of one text */

enum yaml_type { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_value {
    enum yaml_type type;
    unsigned line, column; /* 1-based place of the value */
    char *text;            /* scalar */
    bool quoted;           /* scalar in quotes or as a block: a string whatever it looks like */
    size_t count;          /* elements or members */
    struct yaml_member {
        char *key;             /* NULL in a list */
        unsigned line, column; /* place of the key */
        struct yaml_value *value;
    } *members;
};

/*
 * All documents of a text as one list value; an empty document is an empty scalar.
 *
 * out     the caller frees it with yaml_value_free().
 * errors  ERR_INVALID with line and column; ERR_LIMIT for more than YAML_VALUES_MAX values. The
 *         bytes are the caller's to bound.
 */
int yaml_read(const char *bytes, size_t length, struct yaml_value **out, struct error *err);
/* Accepts NULL. The second is for AUTO(). (libyaml exports a yaml_free of its own.) */
void yaml_value_free(struct yaml_value *value);
void yaml_free_pointer(struct yaml_value **value);

/* The member of a map, or NULL; NULL for what is no map. Borrowed. */
const struct yaml_value *yaml_get(const struct yaml_value *map, const char *key);

/*
 * The value as JSON. A plain scalar is null, true or false by the words of the core schema, or a
 * decimal number; everything else stays a string: quoted words, yes and no, 0x10, 010, dates.
 * source: YAML 1.2.2, section 10.3.2
 */
void yaml_write_json(const struct yaml_value *value, struct buf *out);

#endif
