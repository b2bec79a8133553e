/* SPDX-License-Identifier: Apache-2.0 */
/* yaml - YAML text to a tree that knows where each value stood. */
#include "topofit/yaml.h"

#include "topofit/mem.h"

#include <yaml.h>

#include <stdlib.h>
#include <string.h>

/* A list or map whose end has not come yet. */
struct open_value {
    struct yaml_value *value;
    size_t capacity; /* of its members */
    char *key;       /* whose value comes next in a map, or NULL */
    unsigned key_line, key_column;
};

struct builder {
    yaml_parser_t parser;
    struct open_value open[YAML_DEPTH_MAX + 1]; /* the first is the list of documents */
    size_t depth;
    size_t value_count;
};

void yaml_value_free(struct yaml_value *value)
{
    if (value == NULL)
        return;
    for (size_t i = 0; i < value->count; i++) {
        free(value->members[i].key);
        yaml_value_free(value->members[i].value);
    }
    free(value->members);
    free(value->text);
    free(value);
}

void yaml_free_pointer(struct yaml_value **value)
{
    yaml_value_free(*value);
    *value = NULL;
}

static void clear_builder(struct builder *builder)
{
    for (size_t i = 0; i < builder->depth; i++)
        free(builder->open[i].key);
    if (builder->depth > 0)
        yaml_value_free(builder->open[0].value);
    yaml_parser_delete(&builder->parser);
}

static void clear_event(yaml_event_t *event)
{
    yaml_event_delete(event);
}

static unsigned place(size_t zero_based)
{
    return (unsigned)zero_based + 1;
}

static int refuse(const yaml_mark_t *mark, struct error *err, const char *what)
{
    return error_set(err, ERR_INVALID, "line %u, column %u: %s", place(mark->line),
                     place(mark->column), what);
}

static struct yaml_value *new_value(enum yaml_type type, const yaml_mark_t *mark)
{
    struct yaml_value *value = xcalloc(1, sizeof *value);

    value->type = type;
    value->line = place(mark->line);
    value->column = place(mark->column);
    return value;
}

/* Hang a value into what is open; its owner is the tree from here on. */
static void attach(struct builder *builder, struct yaml_value *steal_value)
{
    struct open_value *top = &builder->open[builder->depth - 1];
    struct yaml_value *parent = top->value;
    struct yaml_member member = {
        .value = steal_value, .line = steal_value->line, .column = steal_value->column};

    if (parent->type == YAML_MAP) {
        member.key = steal_ptr(&top->key);
        member.line = top->key_line;
        member.column = top->key_column;
    }
    parent->members =
        mem_grow(parent->members, parent->count, &top->capacity, sizeof *parent->members);
    parent->members[parent->count++] = member;
}

static bool expects_key(const struct builder *builder)
{
    const struct open_value *top = &builder->open[builder->depth - 1];

    return top->value->type == YAML_MAP && top->key == NULL;
}

static int open_value(struct builder *builder, enum yaml_type type, const yaml_mark_t *mark,
                      struct error *err)
{
    struct yaml_value *value;

    if (expects_key(builder))
        return refuse(mark, err, "a key should be a plain word");
    if (builder->depth > YAML_DEPTH_MAX)
        return refuse(mark, err, "too many levels");
    value = new_value(type, mark);
    attach(builder, value);
    builder->open[builder->depth++] = (struct open_value){.value = value};
    return 0;
}

static int by_key_then_place(const void *a, const void *b)
{
    const struct yaml_member *x = *(const struct yaml_member *const *)a;
    const struct yaml_member *y = *(const struct yaml_member *const *)b;
    int order = strcmp(x->key, y->key);

    if (order != 0)
        return order;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

static int check_keys(const struct yaml_value *map, struct error *err)
{
    AUTO_FREE const struct yaml_member **sorted = xcalloc(map->count, sizeof(void *));

    for (size_t i = 0; i < map->count; i++)
        sorted[i] = &map->members[i];
    qsort(sorted, map->count, sizeof(void *), by_key_then_place);
    for (size_t i = 1; i < map->count; i++) {
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
            return error_set(err, ERR_INVALID, "line %u, column %u: \"%.64s\" is there already",
                             sorted[i]->line, sorted[i]->column, sorted[i]->key);
    }
    return 0;
}

static int close_value(struct builder *builder, struct error *err)
{
    const struct yaml_value *value = builder->open[--builder->depth].value;

    return value->type == YAML_MAP ? check_keys(value, err) : 0;
}

static void take_key(struct builder *builder, const yaml_event_t *event)
{
    struct open_value *top = &builder->open[builder->depth - 1];

    top->key = xstrndup((const char *)event->data.scalar.value, event->data.scalar.length);
    top->key_line = place(event->start_mark.line);
    top->key_column = place(event->start_mark.column);
}

static int take_scalar(struct builder *builder, const yaml_event_t *event, struct error *err)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    struct yaml_value *value;

    if (memchr(text, '\0', length) != NULL)
        return refuse(&event->start_mark, err, "a NUL is not allowed");
    if (expects_key(builder)) {
        take_key(builder, event);
        return 0;
    }
    value = new_value(YAML_SCALAR, &event->start_mark);
    value->text = xstrndup(text, length);
    value->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    attach(builder, value);
    return 0;
}

/* Anchors can blow up, and a tag would change what a value means. */
static int check_plain(const yaml_event_t *event, struct error *err)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;

    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor != NULL || event->type == YAML_ALIAS_EVENT)
        return refuse(&event->start_mark, err,
                      "anchors and aliases (& and *) are not supported: write the value out; "
                      "take a dump with -o json");
    if (tag != NULL)
        return refuse(&event->start_mark, err, "tags (!) are not supported");
    return 0;
}

static int count_value(struct builder *builder, const yaml_event_t *event, struct error *err)
{
    if (++builder->value_count <= YAML_VALUES_MAX)
        return 0;
    return error_set(err, ERR_LIMIT, "line %u, column %u: more than %u values",
                     place(event->start_mark.line), place(event->start_mark.column),
                     YAML_VALUES_MAX);
}

static int take_event(struct builder *builder, const yaml_event_t *event, struct error *err)
{
    if (check_plain(event, err) < 0 || count_value(builder, event, err) < 0)
        return -(int)err->code;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(builder, event, err);
    case YAML_SEQUENCE_START_EVENT:
        return open_value(builder, YAML_LIST, &event->start_mark, err);
    case YAML_MAPPING_START_EVENT:
        return open_value(builder, YAML_MAP, &event->start_mark, err);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_value(builder, err);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
    case YAML_ALIAS_EVENT:
        break;
    }
    return 0;
}

static int refuse_syntax(const yaml_parser_t *parser, struct error *err)
{
    const char *problem = parser->problem != NULL ? parser->problem : "not YAML";

    if (parser->error == YAML_READER_ERROR)
        return error_set(err, ERR_INVALID, "byte %zu: %s", parser->problem_offset, problem);
    return refuse(&parser->problem_mark, err, problem);
}

static int read_events(struct builder *builder, struct error *err)
{
    for (;;) {
        AUTO(clear_event) yaml_event_t event = {0};

        if (!yaml_parser_parse(&builder->parser, &event))
            return refuse_syntax(&builder->parser, err);
        if (event.type == YAML_STREAM_END_EVENT)
            return 0;
        if (take_event(builder, &event, err) < 0)
            return -(int)err->code;
    }
}

int yaml_read(const char *bytes, size_t length, struct yaml_value **out, struct error *err)
{
    AUTO(clear_builder) struct builder builder = {0};

    if (!yaml_parser_initialize(&builder.parser))
        return error_set(err, ERR_LIMIT, "no memory for a YAML parser");
    yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&builder.parser, (const unsigned char *)bytes, length);
    builder.open[0].value = new_value(YAML_LIST, &(yaml_mark_t){0});
    builder.depth = 1;
    if (read_events(&builder, err) < 0)
        return -(int)err->code;
    *out = builder.open[0].value;
    builder.depth = 0;
    return 0;
}

const struct yaml_value *yaml_get(const struct yaml_value *map, const char *key)
{
    if (map->type != YAML_MAP)
        return NULL;
    for (size_t i = 0; i < map->count; i++) {
        if (strcmp(map->members[i].key, key) == 0)
            return map->members[i].value;
    }
    return NULL;
}
