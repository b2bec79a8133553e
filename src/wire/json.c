/* SPDX-License-Identifier: Apache-2.0 */
/* json - reading JSON by tables, in a stream: the hot path. */
#include "topofit/json.h"

#include "json_walk.h"
#include "topofit/mem.h"

#include <yajl/yajl_parse.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct json_reader {
    yajl_handle parser;
    struct json_walk walk;
    size_t fed;   /* bytes of earlier feeds */
    size_t quiet; /* bytes since the last token ended, about */
    bool moved;   /* a token ended in this feed */
    bool failed;
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

/* --- what yajl tells ------------------------------------------------------------------------- */

/* The walk; a token has ended. */
static struct json_walk *walk_on(void *ctx)
{
    struct json_reader *reader = ctx;

    reader->moved = true;
    return &reader->walk;
}

static int on_null(void *ctx)
{
    return json_walk_value(walk_on(ctx), &(struct json_value){.type = JSON_NULL_VALUE, .text = ""});
}

static int on_boolean(void *ctx, int boolean)
{
    return json_walk_value(
        walk_on(ctx), &(struct json_value){.type = JSON_BOOL, .boolean = boolean != 0, .text = ""});
}

static int on_number(void *ctx, const char *text, size_t length)
{
    return json_walk_value(
        walk_on(ctx),
        &(struct json_value){.type = JSON_NUMBER_TEXT, .text = text, .length = length});
}

static int on_string(void *ctx, const unsigned char *text, size_t length)
{
    return json_walk_value(walk_on(ctx),
                           &(struct json_value){.type = JSON_STRING_TEXT,
                                                .text = length > 0 ? (const char *)text : "",
                                                .length = length});
}

static int on_start_map(void *ctx)
{
    return json_walk_open(walk_on(ctx), false);
}

static int on_start_array(void *ctx)
{
    return json_walk_open(walk_on(ctx), true);
}

static int on_end(void *ctx)
{
    return json_walk_close(walk_on(ctx));
}

static int on_key(void *ctx, const unsigned char *text, size_t length)
{
    return json_walk_key(walk_on(ctx), (const char *)text, length);
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

    json_walk_init(&reader->walk, shape, ctx);
    reader->parser = yajl_alloc(&callbacks, &allocator, reader);
    return reader;
}

void json_reader_free(struct json_reader *reader)
{
    if (reader == NULL)
        return;
    yajl_free(reader->parser);
    json_walk_clear(&reader->walk);
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
    reader->walk.err = err;
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
    reader->walk.err = err;
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
