/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_walk - from the tokens of a document to the callbacks of a shape. For wire only.
 *
 * Whoever reads the bytes, yajl or json_plain, tells the tokens in order.
 */
#ifndef TOPOFIT_JSON_WALK_H
#define TOPOFIT_JSON_WALK_H

#include "topofit/json.h"

/* An object or array that is looked at. */
struct json_frame {
    const struct json_field *shape; /* of what is inside */
    const struct json_field *field; /* whose value it is; NULL for the document */
    const char *key;                /* its name */
    bool is_array;
};

struct json_walk {
    const struct json_field *shape; /* of the document */
    void *ctx;
    struct error *err; /* of the running call */
    struct json_frame *frames;
    size_t frame_count, frame_capacity;
    size_t depth;                   /* open objects and arrays, looked at or not */
    size_t skipping;                /* those of them that nobody looks at */
    const struct json_field *field; /* whose value comes next in an object, or NULL */
    char key[JSON_KEY_MAX + 1];     /* the member name that the last wildcard matched */
};

void json_walk_init(struct json_walk *walk, const struct json_field *shape, void *ctx);
void json_walk_clear(struct json_walk *walk);

/*
 * value  its key and slot are filled in.
 * return  false: stop, for the reason in *err.
 */
bool json_walk_value(struct json_walk *walk, struct json_value *value);
bool json_walk_key(struct json_walk *walk, const char *key, size_t length);
bool json_walk_open(struct json_walk *walk, bool is_array);
bool json_walk_close(struct json_walk *walk);

/* Nobody looks at the value that comes now. */
static inline bool json_walk_passes_over(const struct json_walk *walk)
{
    return walk->skipping > 0 || (walk->frame_count > 0 && walk->field == NULL &&
                                  !walk->frames[walk->frame_count - 1].is_array);
}

#endif
