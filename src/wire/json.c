/* SPDX-License-Identifier: Apache-2.0 */
/* json - reading JSON by tables, in a stream: the hot path. */
#include "topofit/json.h"

#include "topofit/mem.h"

#include <yajl/yajl_parse.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* An object or array that is looked at. */
struct frame {
    const struct json_field *shape; /* of what is inside */
    const struct json_field *field; /* whose value it is; NULL for the document */
    const char *key;                /* its name */
    bool is_array;
};

struct json_reader {
    yajl_handle parser;
    const struct json_field *shape;
    void *ctx;
    struct frame *frames;
    size_t frame_count, frame_capacity;
    size_t depth;                   /* open objects and arrays, looked at or not */
    size_t skipping;                /* those of them that nobody looks at */
    const struct json_field *field; /* whose value comes next in an object, or NULL */
    char key[JSON_KEY_MAX + 1];     /* the member name that the last wildcard matched */
    size_t fed;                     /* bytes of earlier feeds */
    size_t quiet;                   /* bytes since the last token ended, about */
    bool moved;                     /* a token ended in this feed */
    bool failed;
    struct error *err; /* of the running call */
};

static void *allocate(void *ctx, size_t size)
{
    (void)ctx;
    return xmalloc(size);
}

static void *reallocate(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    return xreallocarray(memory, size, 1);
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

/* What a yajl callback returns. */
enum { STOP = 0, GO_ON = 1 };

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
    if (strlen(field->key) != length)
        return false;
    return field->any_case ? strncasecmp(field->key, key, length) == 0
                           : memcmp(field->key, key, length) == 0;
}

/*
 * The field for the value that comes now, or NULL when nobody looks; out_key is its name. An
 * element goes by the name of its array.
 */
static const struct json_field *current_field(const struct json_reader *reader,
                                              const char **out_key)
{
    const struct frame *top = &reader->frames[reader->frame_count - 1];

    if (top->is_array) {
        *out_key = top->key;
        return top->shape;
    }
    if (reader->field != NULL)
        *out_key = is_any_key(reader->field) ? reader->key : reader->field->key;
    return reader->field;
}

static int refuse_type(struct json_reader *reader, const struct json_field *field, const char *key)
{
    const char *wanted = "a plain value";

    if (field->shape != NULL)
        wanted = shape_is_array(field->shape) ? "a list" : "an object";
    error_set(reader->err, ERR_INVALID, "\"%s\": %s was expected", key, wanted);
    return STOP;
}

static int refuse_document(struct json_reader *reader)
{
    error_set(reader->err, ERR_INVALID, "the document should be %s",
              shape_is_array(reader->shape) ? "a list" : "an object");
    return STOP;
}

static int take_value(struct json_reader *reader, struct json_value *value)
{
    const struct json_field *field;

    reader->moved = true;
    if (reader->skipping > 0)
        return GO_ON;
    if (reader->frame_count == 0)
        return refuse_document(reader);
    field = current_field(reader, &value->key);
    if (field == NULL)
        return GO_ON;
    if (field->on_value == NULL)
        return value->type == JSON_NULL_VALUE ? GO_ON : refuse_type(reader, field, value->key);
    value->slot = field->slot;
    if (!field->accepts_nul && value->length > 0 &&
        memchr(value->text, '\0', value->length) != NULL) {
        error_set(reader->err, ERR_INVALID, "\"%s\": a NUL is not allowed", value->key);
        return STOP;
    }
    return field->on_value(reader->ctx, value, reader->err) < 0 ? STOP : GO_ON;
}

static int on_null(void *ctx)
{
    return take_value(ctx, &(struct json_value){.type = JSON_NULL_VALUE, .text = ""});
}

static int on_boolean(void *ctx, int boolean)
{
    return take_value(ctx,
                      &(struct json_value){.type = JSON_BOOL, .boolean = boolean != 0, .text = ""});
}

static int on_number(void *ctx, const char *text, size_t length)
{
    return take_value(
        ctx, &(struct json_value){.type = JSON_NUMBER_TEXT, .text = text, .length = length});
}

static int on_string(void *ctx, const unsigned char *text, size_t length)
{
    return take_value(ctx, &(struct json_value){.type = JSON_STRING_TEXT,
                                                .text = length > 0 ? (const char *)text : "",
                                                .length = length});
}

static void push_frame(struct json_reader *reader, const struct json_field *field,
                       const struct json_field *shape, const char *key)
{
    reader->frames = mem_grow(reader->frames, reader->frame_count, &reader->frame_capacity,
                              sizeof *reader->frames);
    reader->frames[reader->frame_count++] = (struct frame){
        .shape = shape, .field = field, .key = key, .is_array = shape_is_array(shape)};
}

static int open_container(struct json_reader *reader, bool is_array)
{
    const struct json_field *field;
    const char *key = "";

    reader->moved = true;
    if (++reader->depth > JSON_DEPTH_MAX) {
        error_set(reader->err, ERR_LIMIT, "more than %d levels", JSON_DEPTH_MAX);
        return STOP;
    }
    if (reader->skipping > 0) {
        reader->skipping++;
        return GO_ON;
    }
    if (reader->frame_count == 0) {
        if (is_array != shape_is_array(reader->shape))
            return refuse_document(reader);
        push_frame(reader, NULL, reader->shape, "");
        return GO_ON;
    }
    field = current_field(reader, &key);
    if (field == NULL) {
        reader->skipping = 1;
        return GO_ON;
    }
    if (field->shape == NULL || shape_is_array(field->shape) != is_array)
        return refuse_type(reader, field, key);
    if (field->on_begin != NULL && field->on_begin(reader->ctx, key, reader->err) < 0)
        return STOP;
    push_frame(reader, field, field->shape, key);
    return GO_ON;
}

static int close_container(struct json_reader *reader)
{
    const struct json_field *field;

    reader->moved = true;
    reader->depth--;
    if (reader->skipping > 0) {
        reader->skipping--;
        return GO_ON;
    }
    field = reader->frames[--reader->frame_count].field;
    if (field == NULL || field->on_end == NULL)
        return GO_ON;
    return field->on_end(reader->ctx, reader->err) < 0 ? STOP : GO_ON;
}

static int on_start_map(void *ctx)
{
    return open_container(ctx, false);
}

static int on_start_array(void *ctx)
{
    return open_container(ctx, true);
}

static int on_end(void *ctx)
{
    return close_container(ctx);
}

static int take_any_key(struct json_reader *reader, const char *key, size_t length)
{
    if (length > JSON_KEY_MAX) {
        error_set(reader->err, ERR_LIMIT, "a member name of more than %d bytes", JSON_KEY_MAX);
        return STOP;
    }
    if (length > 0 && memchr(key, '\0', length) != NULL) {
        error_set(reader->err, ERR_INVALID, "a member name with a NUL");
        return STOP;
    }
    if (length > 0)
        memcpy(reader->key, key, length);
    reader->key[length] = '\0';
    return GO_ON;
}

static int on_key(void *ctx, const unsigned char *text, size_t length)
{
    struct json_reader *reader = ctx;
    const char *key = (const char *)text;
    const struct json_field *field;

    reader->moved = true;
    if (reader->skipping > 0)
        return GO_ON;
    reader->field = NULL;
    for (field = reader->frames[reader->frame_count - 1].shape; field->key != NULL; field++) {
        if (is_any_key(field)) {
            reader->field = field;
            return take_any_key(reader, key, length);
        }
        if (key_is(field, key, length)) {
            reader->field = field;
            return GO_ON;
        }
    }
    return GO_ON;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_start_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end,
    .yajl_start_array = on_start_array,
    .yajl_end_array = on_end,
};

struct json_reader *json_reader_new(const struct json_field *shape, void *ctx)
{
    static yajl_alloc_funcs allocator = {
        .malloc = allocate, .realloc = reallocate, .free = release};
    struct json_reader *reader = xcalloc(1, sizeof *reader);

    reader->shape = shape;
    reader->ctx = ctx;
    reader->parser = yajl_alloc(&callbacks, &allocator, reader);
    return reader;
}

void json_reader_free(struct json_reader *reader)
{
    if (reader == NULL)
        return;
    yajl_free(reader->parser);
    free(reader->frames);
    free(reader);
}

size_t json_reader_offset(const struct json_reader *reader)
{
    return reader->fed + yajl_get_bytes_consumed(reader->parser);
}

/* yajl's own words for what it does not understand; they say what was expected. */
static int set_syntax_error(struct json_reader *reader, struct error *err)
{
    unsigned char *words = yajl_get_error(reader->parser, 0, NULL, 0);
    size_t length = strcspn((const char *)words, "\n");
    int code = error_set(err, ERR_INVALID, "%.*s", (int)length, (const char *)words);

    yajl_free_error(reader->parser, words);
    return code;
}

/* Turn what yajl says into our error, with the place in front. */
static int check(struct json_reader *reader, yajl_status status, size_t offset, struct error *err)
{
    if (status == yajl_status_ok)
        return 0;
    reader->failed = true;
    if (status == yajl_status_error)
        set_syntax_error(reader, err);
    return error_wrap(err, "byte %zu", offset);
}

static int refuse_more(struct error *err)
{
    return error_set(err, ERR_INVALID, "the document was refused before");
}

int json_reader_feed(struct json_reader *reader, const char *bytes, size_t length,
                     struct error *err)
{
    yajl_status status;

    if (reader->failed)
        return refuse_more(err);
    if (length == 0)
        return 0;
    reader->err = err;
    reader->moved = false;
    status = yajl_parse(reader->parser, (const unsigned char *)bytes, length);
    if (check(reader, status, json_reader_offset(reader), err) < 0)
        return -(int)err->code;
    reader->fed += length;
    reader->quiet = reader->moved ? 0 : reader->quiet + length;
    if (reader->quiet > JSON_TOKEN_MAX_BYTES) {
        reader->failed = true;
        return error_set(err, ERR_LIMIT, "byte %zu: one value of more than %u bytes", reader->fed,
                         JSON_TOKEN_MAX_BYTES);
    }
    return 0;
}

int json_reader_finish(struct json_reader *reader, struct error *err)
{
    yajl_status status;

    if (reader->failed)
        return refuse_more(err);
    reader->err = err;
    status = yajl_complete_parse(reader->parser);
    return check(reader, status, reader->fed, err);
}

int json_read(const struct json_field *shape, void *ctx, const char *bytes, size_t length,
              struct error *err)
{
    struct json_reader *reader = json_reader_new(shape, ctx);
    int result = json_reader_feed(reader, bytes, length, err);

    if (result == 0)
        result = json_reader_finish(reader, err);
    json_reader_free(reader);
    return result;
}

int json_value_copy(const struct json_value *value, char **out, struct error *err)
{
    if (value->type != JSON_STRING_TEXT && value->type != JSON_NULL_VALUE)
        return error_set(err, ERR_INVALID, "\"%s\": a string was expected", value->key);
    if (value->length > 0 && memchr(value->text, '\0', value->length) != NULL)
        return error_set(err, ERR_INVALID, "\"%s\": a NUL is not allowed", value->key);
    free(*out);
    *out = xstrndup(value->text, value->length);
    return 0;
}

int json_value_int(const struct json_value *value, long long min, long long max, long long *out,
                   struct error *err)
{
    char text[32];
    long long number;
    char *end;

    if (value->type == JSON_NULL_VALUE)
        return 0;
    if (value->type != JSON_NUMBER_TEXT || value->length >= sizeof text)
        return error_set(err, ERR_INVALID, "\"%s\": a whole number was expected", value->key);
    memcpy(text, value->text, value->length);
    text[value->length] = '\0';
    errno = 0;
    number = strtoll(text, &end, 10);
    if (*end != '\0')
        return error_set(err, ERR_INVALID, "\"%s\": a whole number was expected", value->key);
    if (errno == ERANGE || number < min || number > max)
        return error_set(err, ERR_INVALID, "\"%s\": %s is not within %lld to %lld", value->key,
                         text, min, max);
    *out = number;
    return 0;
}
