/* SPDX-License-Identifier: Apache-2.0 */
/* class - device classes from YAML. */
#include "topofit/class.h"

#include "topofit/mem.h"
#include "topofit/quantity.h"
#include "topofit/text.h"
#include "topofit/yaml.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CLASS_CORES_MAX 10000
#define SUGGESTION_DISTANCE 3

/* Made from src/dialect/classes by the build. */
extern const char class_nvidia_yaml[];
extern const size_t class_nvidia_yaml_length;

/* A text key of a class file: where it stands and where it goes. */
struct text_key {
    const char *group; /* NULL = top level */
    const char *name;
    size_t offset;
    bool required;
};

static const struct text_key text_keys[] = {
    {NULL, "name", offsetof(struct device_class, name), true},
    {NULL, "title", offsetof(struct device_class, title), true},
    {"resources", "count", offsetof(struct device_class, count_resource), true},
    {"resources", "memory", offsetof(struct device_class, memory_resource), false},
    {"resources", "memoryPercent", offsetof(struct device_class, percent_resource), false},
    {"resources", "cores", offsetof(struct device_class, cores_resource), false},
};

static bool same_group(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static const struct text_key *find_key(const char *group, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(text_keys); i++) {
        if (same_group(text_keys[i].group, group) && strcmp(text_keys[i].name, name) == 0)
            return &text_keys[i];
    }
    return NULL;
}

static int refuse_key(const char *group, const struct yaml_member *member, struct error *err)
{
    const char *nearest = NULL;
    unsigned best = SUGGESTION_DISTANCE + 1;

    for (size_t i = 0; i < ARRAY_LEN(text_keys); i++) {
        unsigned distance = text_distance(member->key, text_keys[i].name, SUGGESTION_DISTANCE);

        if (same_group(text_keys[i].group, group) && distance < best) {
            best = distance;
            nearest = text_keys[i].name;
        }
    }
    return error_set(err, ERR_INVALID, "line %u, column %u: unknown key \"%s\"%s%s%s", member->line,
                     member->column, member->key, nearest ? "; did you mean \"" : "",
                     nearest ? nearest : "", nearest ? "\"?" : "");
}

static int read_text(const struct text_key *key, const struct yaml_value *value,
                     struct device_class *out, struct error *err)
{
    char **field = (char **)(void *)((char *)out + key->offset);

    if (value->type != YAML_SCALAR || value->text[0] == '\0')
        return error_set(err, ERR_INVALID, "line %u, column %u: %s must be a text", value->line,
                         value->column, key->name);
    free(*field);
    *field = xstrdup(value->text);
    return 0;
}

static int read_cores(const struct yaml_value *value, struct device_class *out, struct error *err)
{
    struct error why = {0};
    uint64_t cores = 0;

    if (value->type != YAML_SCALAR || quantity_parse_count(value->text, &cores, &why) < 0 ||
        cores < 1 || cores > CLASS_CORES_MAX)
        return error_set(err, ERR_INVALID, "line %u, column %u: cores must be 1 to %d", value->line,
                         value->column, CLASS_CORES_MAX);
    out->cores = (uint16_t)cores;
    return 0;
}

static int read_group(const char *group, const struct yaml_value *map, struct device_class *out,
                      struct error *err)
{
    if (map->type != YAML_MAP)
        return error_set(err, ERR_INVALID, "line %u, column %u: a map of keys is expected",
                         map->line, map->column);
    for (size_t i = 0; i < map->count; i++) {
        const struct yaml_member *member = &map->members[i];
        const struct text_key *key = find_key(group, member->key);
        int result;

        if (key != NULL)
            result = read_text(key, member->value, out, err);
        else if (group == NULL && strcmp(member->key, "resources") == 0)
            result = read_group("resources", member->value, out, err);
        else if (group == NULL && strcmp(member->key, "cores") == 0)
            result = read_cores(member->value, out, err);
        else
            result = refuse_key(group, member, err);
        if (result < 0)
            return result;
    }
    return 0;
}

static int check_required(const struct device_class *class, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(text_keys); i++) {
        char *const *field =
            (char *const *)(const void *)((const char *)class + text_keys[i].offset);

        if (text_keys[i].required && *field == NULL)
            return error_set(err, ERR_INVALID, "key \"%s\" is missing", text_keys[i].name);
    }
    return 0;
}

int class_read(const char *yaml, size_t length, struct device_class *out, struct error *err)
{
    AUTO(yaml_free_pointer) struct yaml_value *documents = NULL;
    AUTO(class_clear) struct device_class class = {.cores = 100};

    if (yaml_read(yaml, length, &documents, err) < 0)
        return -(int)err->code;
    if (documents->count != 1)
        return error_set(err, ERR_INVALID, "one YAML document is expected");
    if (read_group(NULL, documents->members[0].value, &class, err) < 0 ||
        check_required(&class, err) < 0)
        return -(int)err->code;
    *out = class;
    class = (struct device_class){0};
    return 0;
}

void classes_builtin(struct class_table *out)
{
    struct error err = {0};

    out->items = xcalloc(1, sizeof *out->items);
    out->count = 1;
    if (class_read(class_nvidia_yaml, class_nvidia_yaml_length, &out->items[0], &err) < 0)
        abort(); /* the build carries a broken class file: test_class holds this */
}
