/* SPDX-License-Identifier: Apache-2.0 */
/* class - device classes from YAML, by the table of class_keys.h. */
#include "topofit/class.h"

#include "class_inside.h"
#include "topofit/class_keys.h"
#include "topofit/mem.h"
#include "topofit/quantity.h"
#include "topofit/text.h"
#include "topofit/yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUGGESTION_DISTANCE 3
#define KEY_BYTES_MAX 128 /* of a name with its groups */
#define LIST_MAX 256      /* items of one list */

static int refuse(const struct yaml_value *value, struct error *err, const char *key,
                  const char *expected)
{
    return error_set(err, ERR_INVALID, "line %u, column %u: %s must be %s", value->line,
                     value->column, key, expected);
}

/* --- single values --------------------------------------------------------------------------- */

static int parse_number(const struct class_key *key, const struct yaml_value *value, uint64_t *out,
                        struct error *err)
{
    AUTO(buf_clear) struct buf range = buf_with_max(80);
    struct error why = {0};

    if (value->type == YAML_SCALAR && quantity_parse_count(value->text, out, &why) == 0 &&
        *out >= key->min && *out <= key->max)
        return 0;
    buf_addf(&range, "a number from %" PRIu64 " to %" PRIu64, key->min, key->max);
    return refuse(value, err, key->name, buf_text(&range));
}

/* Store a number in a field of two, four or eight bytes; `max` keeps it within them. */
static void store_number(const struct class_key *key, uint64_t number, void *field)
{
    uint16_t number16 = (uint16_t)number;
    uint32_t number32 = (uint32_t)number;

    if (key->size == sizeof number16)
        memcpy(field, &number16, sizeof number16);
    else if (key->size == sizeof number32)
        memcpy(field, &number32, sizeof number32);
    else
        memcpy(field, &number, sizeof number);
}

static int set_number(const struct class_key *key, const struct yaml_value *value, void *field,
                      struct error *err)
{
    uint64_t number = 0;

    if (parse_number(key, value, &number, err) < 0)
        return error_pass(err);
    store_number(key, number, field);
    return 0;
}

static int set_text(const struct class_key *key, const struct yaml_value *value, void *field,
                    struct error *err)
{
    if (value->type != YAML_SCALAR || value->text[0] == '\0')
        return refuse(value, err, key->name, "a text");
    mem_free_pointer(field);
    *(char **)field = xstrdup(value->text);
    return 0;
}

static int set_yes_no(const struct class_key *key, const struct yaml_value *value, bool *field,
                      struct error *err)
{
    if (value->type != YAML_SCALAR ||
        (strcmp(value->text, "true") != 0 && strcmp(value->text, "false") != 0))
        return refuse(value, err, key->name, "true or false");
    *field = value->text[0] == 't';
    return 0;
}

static int set_word(const struct class_key *key, const struct yaml_value *value, void *field,
                    struct error *err)
{
    AUTO(buf_clear) struct buf expected = buf_with_max(256);

    buf_add_text(&expected, "one of ");
    for (const struct class_word *word = key->words; word->text != NULL; word++) {
        if (value->type == YAML_SCALAR && strcmp(word->text, value->text) == 0) {
            memcpy(field, &word->value, sizeof word->value);
            return 0;
        }
        buf_addf(&expected, "%s%s", word == key->words ? "" : ", ", word->text);
    }
    return refuse(value, err, key->name, buf_text(&expected));
}

/* --- maps, and lists of them ----------------------------------------------------------------- */

/* A map being read into an object. */
struct reading {
    const struct class_shape *shape;
    void *object;
};

static int read_map(const struct reading *reading, const char *group, const struct yaml_value *map,
                    struct error *err);

/* One item of a list, into zeroed memory. */
static int read_item(const struct class_key *key, const struct yaml_value *value, void *item,
                     struct error *err)
{
    const struct reading reading = {key->rows, item};

    if (key->type == CLASS_TEXTS)
        return set_text(key, value, item, err);
    if (key->type == CLASS_NUMBERS)
        return parse_number(key, value, item, err);
    class_defaults(key->rows, item);
    if (read_map(&reading, "", value, err) < 0)
        return error_pass(err);
    return class_check_required(key->rows, item, value, err);
}

static size_t item_size(const struct class_key *key)
{
    if (key->type == CLASS_ROWS)
        return key->rows->size;
    return key->type == CLASS_TEXTS ? sizeof(char *) : sizeof(uint64_t);
}

static int read_list(const struct class_key *key, const struct yaml_value *value, void *object,
                     struct error *err)
{
    size_t size = item_size(key);
    struct class_list list = {NULL, value->count};

    if (value->type != YAML_LIST || value->count > LIST_MAX)
        return refuse(value, err, key->name, "a list of at most 256 items");
    list.items = xcalloc(value->count, size);
    class_list_set(key, object, list); /* the object owns what was read, whatever comes */
    for (size_t i = 0; i < value->count; i++) {
        if (read_item(key, value->members[i].value, (char *)list.items + i * size, err) < 0)
            return error_pass(err);
    }
    return 0;
}

static int read_value(const struct class_key *key, const struct yaml_value *value, void *object,
                      struct error *err)
{
    void *field = (char *)object + key->offset;

    switch (key->type) {
    case CLASS_TEXT:
        return set_text(key, value, field, err);
    case CLASS_NUMBER:
        return set_number(key, value, field, err);
    case CLASS_YES_NO:
        return set_yes_no(key, value, field, err);
    case CLASS_WORD:
        return set_word(key, value, field, err);
    case CLASS_TEXTS:
    case CLASS_NUMBERS:
    case CLASS_ROWS:
        return read_list(key, value, object, err);
    }
    return 0;
}

static const struct class_key *find_key(const struct class_shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->count; i++) {
        if (strcmp(shape->keys[i].name, name) == 0)
            return &shape->keys[i];
    }
    return NULL;
}

/* Is the name that of a group: the beginning of a key's name, up to a dot? */
static bool is_group(const struct class_shape *shape, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < shape->count; i++) {
        if (strncmp(shape->keys[i].name, name, length) == 0 && shape->keys[i].name[length] == '.')
            return true;
    }
    return false;
}

/* Refuse an unknown key, naming the nearest key or group that stands in the same group. */
static int refuse_key(const struct class_shape *shape, const char *group,
                      const struct yaml_member *member, struct error *err)
{
    size_t prefix = strlen(group);
    unsigned best = SUGGESTION_DISTANCE + 1;
    char nearest[KEY_BYTES_MAX] = "";

    for (size_t i = 0; i < shape->count; i++) {
        char word[KEY_BYTES_MAX];
        unsigned distance;

        if (strncmp(shape->keys[i].name, group, prefix) != 0)
            continue;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(shape->keys[i].name + prefix, "."),
                 shape->keys[i].name + prefix);
        distance = text_distance(member->key, word, SUGGESTION_DISTANCE);
        if (distance < best) {
            best = distance;
            memcpy(nearest, word, sizeof nearest);
        }
    }
    return error_set(err, ERR_INVALID, "line %u, column %u: unknown key \"%.64s\"%s%s%s",
                     member->line, member->column, member->key,
                     nearest[0] != '\0' ? "; did you mean \"" : "", nearest,
                     nearest[0] != '\0' ? "\"?" : "");
}

/* group: "" at the top, else with a dot behind it: "memory.". */
static int read_member(const struct reading *reading, const char *group,
                       const struct yaml_member *member, struct error *err)
{
    char name[KEY_BYTES_MAX];
    const struct class_key *key;

    if (strchr(member->key, '.') != NULL)
        return refuse_key(reading->shape, group, member, err);
    snprintf(name, sizeof name, "%.60s%.60s", group, member->key);
    key = find_key(reading->shape, name);
    if (key != NULL)
        return read_value(key, member->value, reading->object, err);
    if (!is_group(reading->shape, name))
        return refuse_key(reading->shape, group, member, err);
    snprintf(name, sizeof name, "%.60s%.60s.", group, member->key);
    return read_map(reading, name, member->value, err);
}

static int read_map(const struct reading *reading, const char *group, const struct yaml_value *map,
                    struct error *err)
{
    if (map->type != YAML_MAP)
        return error_set(err, ERR_INVALID, "line %u, column %u: a map of keys is expected",
                         map->line, map->column);
    for (size_t i = 0; i < map->count; i++) {
        if (read_member(reading, group, &map->members[i], err) < 0)
            return error_pass(err);
    }
    return 0;
}

void class_defaults(const struct class_shape *shape, void *object)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct class_key *key = &shape->keys[i];
        struct yaml_value value = {.type = YAML_SCALAR, .text = (char *)(uintptr_t)key->fallback};
        struct error err = {0};

        if (key->fallback != NULL && read_value(key, &value, object, &err) < 0)
            abort(); /* a default outside its own limits: test_class holds this */
    }
}

/* --- files ----------------------------------------------------------------------------------- */

/* The class of that name, or a new one of nothing but defaults; NULL when there are too many. */
static struct device_class *class_named(struct class_table *classes, const char *name)
{
    const struct device_class *known = class_find(classes, name);
    struct device_class *class;

    if (known != NULL)
        return &classes->items[known - classes->items];
    if (classes->count == CLASSES_MAX)
        return NULL;
    classes->items = xreallocarray(classes->items, classes->count + 1, sizeof *classes->items);
    class = &classes->items[classes->count++];
    *class = (struct device_class){.name = xstrdup(name)};
    class_defaults(&class_shape, class);
    return class;
}

/*
 * A class that is new, incomplete and called nearly like one that is there: that one was meant.
 *
 * known  so many classes there were before
 */
static int suggest_name(const struct class_table *classes, size_t known,
                        const struct yaml_value *name, struct error *err)
{
    const struct class_table before = {.items = classes->items, .count = known};
    const char *nearest;
    char missing[sizeof err->text];

    if (classes->count == known || name == NULL)
        return error_pass(err);
    nearest = class_nearest(&before, name->text, SUGGESTION_DISTANCE);
    if (nearest == NULL)
        return error_pass(err);
    memcpy(missing, err->text, sizeof missing);
    error_clear(err);
    return error_set(
        err, ERR_INVALID,
        "line %u, column %u: there is no class %.40s to change; did you mean %s? (As a "
        "class of its own: %s)",
        name->line, name->column, name->text, nearest, missing);
}

static int read_document(struct class_table *classes, const struct yaml_value *document,
                         struct error *err)
{
    AUTO(class_clear) struct device_class nameless = {0};
    const struct yaml_value *name = yaml_get(document, "name");
    struct reading reading = {&class_shape, &nameless};
    const size_t known = classes->count;

    if (name != NULL && name->type == YAML_SCALAR && name->text[0] != '\0')
        reading.object = class_named(classes, name->text);
    if (reading.object == NULL)
        return error_set(err, ERR_LIMIT, "line %u, column %u: more than %d classes", name->line,
                         name->column, CLASSES_MAX);
    if (read_map(&reading, "", document, err) < 0)
        return error_pass(err);
    return class_check(reading.object, document, err) < 0 ? suggest_name(classes, known, name, err)
                                                          : 0;
}

static int read_documents(struct class_table *classes, const char *yaml, size_t length,
                          struct error *err)
{
    AUTO(yaml_free_pointer) struct yaml_value *documents = NULL;

    if (length > CLASS_FILE_BYTES_MAX)
        return error_set(err, ERR_LIMIT, "more than %u KiB", CLASS_FILE_BYTES_MAX >> 10);
    if (yaml_read(yaml, length, &documents, err) < 0)
        return error_pass(err);
    if (documents->count == 0)
        return error_set(err, ERR_INVALID, "a YAML document is expected");
    for (size_t i = 0; i < documents->count; i++) {
        if (read_document(classes, documents->members[i].value, err) < 0)
            return error_pass(err);
    }
    return 0;
}

int classes_read(struct class_table *classes, const char *file, const char *yaml, size_t length,
                 struct error *err)
{
    if (read_documents(classes, yaml, length, err) < 0)
        return file != NULL ? error_wrap(err, "%s", file) : error_pass(err);
    return 0;
}

void classes_builtin(struct class_table *out)
{
    struct error err = {0};

    *out = (struct class_table){0};
    for (size_t i = 0; i < class_file_count; i++) {
        const struct class_file *file = &class_files[i];

        if (classes_read(out, file->name, file->yaml, *file->length, &err) < 0)
            abort(); /* the build carries a broken class file: test_class holds this */
    }
    if (class_table_index(out, &err) < 0)
        abort();
}
