/* SPDX-License-Identifier: Apache-2.0 */
/* class_write - a class as a document of a class file. */
#include "class_inside.h"
#include "topofit/class.h"
#include "topofit/mem.h"

#include <inttypes.h>
#include <string.h>

static uint64_t number_in(const struct class_key *key, const void *field)
{
    uint64_t number64 = 0;
    uint32_t number32 = 0;
    uint16_t number16 = 0;

    if (key->size == sizeof number16)
        memcpy(&number16, field, sizeof number16);
    else if (key->size == sizeof number32)
        memcpy(&number32, field, sizeof number32);
    else
        memcpy(&number64, field, sizeof number64);
    return number64 + number32 + number16;
}

static void write_word(const struct class_key *key, const void *field, struct buf *out)
{
    int value;

    memcpy(&value, field, sizeof value);
    for (const struct class_word *word = key->words; word->text != NULL; word++) {
        if (word->value == value)
            buf_add_text(out, word->text);
    }
}

/* Every JSON text is a YAML text. */
static void write_text(const char *text, struct buf *out)
{
    size_t plain =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._/-()");

    if (text[plain] == '\0' && text[0] != ' ' && text[0] != '-')
        buf_add_text(out, text);
    else
        buf_add_json_string(out, text);
}

static void write_value(const struct class_key *key, const void *object, struct buf *out);

/* {name: vir02, memoryMiB: 2184}: keys that are not at their zero. */
static void write_row(const struct class_shape *shape, const void *row, struct buf *out)
{
    static const char zero[sizeof(struct class_list)];
    const char *comma = "";

    buf_add_byte(out, '{');
    for (size_t i = 0; i < shape->count; i++) {
        const struct class_key *key = &shape->keys[i];

        if (memcmp((const char *)row + key->offset, zero, key->size) == 0)
            continue;
        buf_addf(out, "%s%s: ", comma, key->name);
        write_value(key, row, out);
        comma = ", ";
    }
    buf_add_byte(out, '}');
}

static void write_list(const struct class_key *key, const void *object, struct buf *out)
{
    struct class_list list = class_list_get(key, object);

    buf_add_byte(out, '[');
    for (size_t i = 0; i < list.count; i++) {
        buf_add_text(out, i > 0 ? ", " : "");
        if (key->type == CLASS_TEXTS)
            write_text(((char **)list.items)[i], out);
        else if (key->type == CLASS_NUMBERS)
            buf_addf(out, "%" PRIu64, ((uint64_t *)list.items)[i]);
        else
            write_row(key->rows, (char *)list.items + i * key->rows->size, out);
    }
    buf_add_byte(out, ']');
}

static void write_value(const struct class_key *key, const void *object, struct buf *out)
{
    const void *field = (const char *)object + key->offset;

    switch (key->type) {
    case CLASS_TEXT:
        write_text(*(char *const *)field, out);
        break;
    case CLASS_NUMBER:
        buf_addf(out, "%" PRIu64, number_in(key, field));
        break;
    case CLASS_YES_NO:
        buf_add_text(out, *(const bool *)field ? "true" : "false");
        break;
    case CLASS_WORD:
        write_word(key, field, out);
        break;
    case CLASS_TEXTS:
    case CLASS_NUMBERS:
    case CLASS_ROWS:
        write_list(key, object, out);
        break;
    }
}

/* How many bytes of two names are the same groups: up to and with the last common dot. */
static size_t common_groups(const char *a, const char *b)
{
    size_t groups = 0;

    for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++) {
        if (a[i] == '.')
            groups = i + 1;
    }
    return groups;
}

/* The lines that open the groups of a key in which the one before it does not stand. */
static void write_key(const char *before, const char *name, struct buf *out)
{
    size_t same = common_groups(before, name);
    int depth = 0;

    for (size_t i = 0; i < same; i++)
        depth += name[i] == '.';
    for (const char *at = name + same;; depth++) {
        size_t length = strcspn(at, ".");

        buf_addf(out, "%*s%.*s:", 2 * depth, "", (int)length, at);
        if (at[length] == '\0')
            break;
        buf_add_byte(out, '\n');
        at += length + 1;
    }
    buf_add_byte(out, ' ');
}

void class_write_yaml(const struct device_class *class, struct buf *out)
{
    AUTO(class_clear) struct device_class plain = {0};
    const char *before = "";

    class_defaults(&class_shape, &plain);
    for (size_t i = 0; i < class_shape.count; i++) {
        const struct class_key *key = &class_shape.keys[i];

        if (memcmp((const char *)class + key->offset, (const char *)&plain + key->offset,
                   key->size) == 0)
            continue;
        write_key(before, key->name, out);
        write_value(key, class, out);
        buf_add_byte(out, '\n');
        before = key->name;
    }
}
