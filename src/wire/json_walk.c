/* SPDX-License-Identifier: Apache-2.0 */
/* json_walk - from the tokens of a document to the callbacks of a shape. */
#include "json_walk.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void json_walk_init(struct json_walk *walk, const struct json_field *shape, void *ctx)
{
    walk->shape = shape;
    walk->ctx = ctx;
    walk->err = NULL;
    walk->frames = NULL;
    walk->frame_count = walk->frame_capacity = 0;
    walk->depth = walk->skipping = 0;
    walk->field = NULL;
}

void json_walk_clear(struct json_walk *walk)
{
    free(walk->frames);
    walk->frames = NULL;
}

/* JSON_ELEMENT and JSON_ANY_KEY, without a call for each value. */
static bool is_element(const struct json_field *field)
{
    return field->key[0] == '[' && field->key[1] == ']' && field->key[2] == '\0';
}

static bool is_any_key(const struct json_field *field)
{
    return field->key[0] == '*' && field->key[1] == '\0';
}

static bool shape_is_array(const struct json_field *shape)
{
    return shape[0].key != NULL && is_element(&shape[0]);
}

static bool key_is(const struct json_field *field, const char *key, size_t length)
{
    /* Most keys differ in their first letter. */
    if (length == 0 || ((field->key[0] ^ key[0]) & ~('a' ^ 'A')) != 0 ||
        strlen(field->key) != length)
        return false;
    return field->any_case ? strncasecmp(field->key, key, length) == 0
                           : memcmp(field->key, key, length) == 0;
}

/*
 * The field for the value that comes now, or NULL when nobody looks; out_key is its name. An
 * element goes by the name of its array.
 */
static const struct json_field *current_field(const struct json_walk *walk, const char **out_key)
{
    const struct json_frame *top = &walk->frames[walk->frame_count - 1];

    if (top->is_array) {
        *out_key = top->key;
        return top->shape;
    }
    if (walk->field != NULL)
        *out_key = is_any_key(walk->field) ? walk->key : walk->field->key;
    return walk->field;
}

static bool refuse_type(struct json_walk *walk, const struct json_field *field, const char *key)
{
    const char *wanted = "a plain value";

    if (field->shape != NULL)
        wanted = shape_is_array(field->shape) ? "a list" : "an object";
    error_set(walk->err, ERR_INVALID, "\"%s\": %s was expected", key, wanted);
    return false;
}

static bool refuse_document(struct json_walk *walk)
{
    error_set(walk->err, ERR_INVALID, "the document should be %s",
              shape_is_array(walk->shape) ? "a list" : "an object");
    return false;
}

bool json_walk_value(struct json_walk *walk, struct json_value *value)
{
    const struct json_field *field;

    if (walk->skipping > 0)
        return true;
    if (walk->frame_count == 0)
        return refuse_document(walk);
    field = current_field(walk, &value->key);
    if (field == NULL)
        return true;
    if (field->on_value == NULL)
        return value->type == JSON_NULL_VALUE ? true : refuse_type(walk, field, value->key);
    value->slot = field->slot;
    if (value->length > JSON_TOKEN_MAX_BYTES) {
        error_set(walk->err, ERR_LIMIT, "\"%s\": one value of more than %u bytes", value->key,
                  JSON_TOKEN_MAX_BYTES);
        return false;
    }
    if (!field->accepts_nul && value->length > 0 &&
        memchr(value->text, '\0', value->length) != NULL) {
        error_set(walk->err, ERR_INVALID, "\"%s\": a NUL is not allowed", value->key);
        return false;
    }
    return field->on_value(walk->ctx, value, walk->err) >= 0;
}

static void push_frame(struct json_walk *walk, const struct json_field *field,
                       const struct json_field *shape, const char *key)
{
    walk->frames =
        mem_grow(walk->frames, walk->frame_count, &walk->frame_capacity, sizeof *walk->frames);
    walk->frames[walk->frame_count++] = (struct json_frame){
        .shape = shape, .field = field, .key = key, .is_array = shape_is_array(shape)};
}

bool json_walk_open(struct json_walk *walk, bool is_array)
{
    const struct json_field *field;
    const char *key = "";

    if (++walk->depth > JSON_DEPTH_MAX) {
        error_set(walk->err, ERR_LIMIT, "more than %d levels", JSON_DEPTH_MAX);
        return false;
    }
    if (walk->skipping > 0) {
        walk->skipping++;
        return true;
    }
    if (walk->frame_count == 0) {
        if (is_array != shape_is_array(walk->shape))
            return refuse_document(walk);
        push_frame(walk, NULL, walk->shape, "");
        return true;
    }
    field = current_field(walk, &key);
    if (field == NULL) {
        walk->skipping = 1;
        return true;
    }
    if (field->shape == NULL || shape_is_array(field->shape) != is_array)
        return refuse_type(walk, field, key);
    if (field->on_begin != NULL && field->on_begin(walk->ctx, key, walk->err) < 0)
        return false;
    push_frame(walk, field, field->shape, key);
    return true;
}

bool json_walk_close(struct json_walk *walk)
{
    const struct json_field *field;

    walk->depth--;
    if (walk->skipping > 0) {
        walk->skipping--;
        return true;
    }
    field = walk->frames[--walk->frame_count].field;
    if (field == NULL || field->on_end == NULL)
        return true;
    return field->on_end(walk->ctx, walk->err) >= 0;
}

static bool take_any_key(struct json_walk *walk, const char *key, size_t length)
{
    if (length > JSON_KEY_MAX) {
        error_set(walk->err, ERR_LIMIT, "a member name of more than %d bytes", JSON_KEY_MAX);
        return false;
    }
    if (length > 0 && memchr(key, '\0', length) != NULL) {
        error_set(walk->err, ERR_INVALID, "a member name with a NUL");
        return false;
    }
    if (length > 0)
        memcpy(walk->key, key, length);
    walk->key[length] = '\0';
    return true;
}

bool json_walk_key(struct json_walk *walk, const char *key, size_t length)
{
    const struct json_field *field;

    if (walk->skipping > 0)
        return true;
    walk->field = NULL;
    for (field = walk->frames[walk->frame_count - 1].shape; field->key != NULL; field++) {
        if (is_any_key(field)) {
            walk->field = field;
            return take_any_key(walk, key, length);
        }
        if (key_is(field, key, length)) {
            walk->field = field;
            return true;
        }
    }
    return true;
}
