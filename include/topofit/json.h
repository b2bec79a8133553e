/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json - reading JSON by tables, in a stream: the hot path.
 *
 * A shape says which members of an object are looked at and what to do with them; everything else
 * is skipped without being stored. Built on yajl. Bytes may arrive in pieces of any size. Documents
 * for people (inventories, configuration) are read with jansson instead.
 *
 * Limits: JSON_DEPTH_MAX levels; JSON_TOKEN_MAX_BYTES for one string or number that is looked at,
 * and, where bytes come in pieces, for what is skipped, too; no NUL in what is looked at. A member
 * that comes twice is handed out twice, so the last one wins. Half of a surrogate pair ("\\ud800")
 * reads as '?': yajl does that. A reader belongs to one thread.
 */
#ifndef TOPOFIT_JSON_H
#define TOPOFIT_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/error.h"

#define JSON_DEPTH_MAX 512
#define JSON_KEY_MAX 1024 /* bytes of a member name that a wildcard hands out */
#define JSON_TOKEN_MAX_BYTES (16u << 20)

enum json_type { JSON_NULL_VALUE, JSON_BOOL, JSON_NUMBER_TEXT, JSON_STRING_TEXT };

/* A scalar, as written. Borrowed for the duration of the call. */
struct json_value {
    enum json_type type;
    bool boolean;
    const char *text; /* number or string, not NUL-terminated; strings are unescaped */
    size_t length;
    const char *key; /* the member's name; of an element, that of its array */
    size_t slot;     /* of the field */
};

/*
 * One member that is looked at. A shape is an array that ends with a zeroed field; the first field
 * whose key matches is taken. A shape whose first field is JSON_ELEMENT describes an array, every
 * other shape an object; a shape with no field at all an object of which nothing is looked at.
 * A value of another type than the field describes is ERR_INVALID, but null is always allowed: it
 * goes to on_value when there is one, else nothing happens, as if the member were missing.
 */
struct json_field {
    const char *key; /* "name"; JSON_ANY_KEY every member; JSON_ELEMENT the elements of an array */
    const struct json_field *shape; /* members, when the value is an object or array */
    int (*on_value)(void *ctx, const struct json_value *value, struct error *err);
    int (*on_begin)(void *ctx, const char *key, struct error *err); /* object or array opens */
    int (*on_end)(void *ctx, struct error *err);                    /* it closes */
    size_t slot; /* for on_value: which of alike members it is, an offsetof() by custom */
    /*
     * For json_read_plain(): read the value yourself, of which bytes[0] is the first byte. Returns
     * how many bytes it has, or 0 to leave it to the parser. NULL: nothing special.
     */
    size_t (*on_text)(void *ctx, const char *bytes, size_t length);
    bool any_case;    /* the key matches without regard to ASCII case */
    bool accepts_nul; /* a NUL inside the string is the callback's to judge, by the length */
};

#define JSON_ANY_KEY "*"
#define JSON_ELEMENT "[]"

struct json_reader;

/* ctx is passed to every callback; shape describes the document. Both are borrowed. */
struct json_reader *json_reader_new(const struct json_field *shape, void *ctx);
void json_reader_free(struct json_reader *reader);

/*
 * Feed the next bytes, then finish. After an error nothing more is read: every later call fails.
 *
 * errors  all say the byte offset. ERR_INVALID for what is not JSON, a wrong type, something behind
 *         the document, a NUL, an end too early; ERR_LIMIT for the limits above; and whatever a
 *         callback returns.
 */
int json_reader_feed(struct json_reader *reader, const char *bytes, size_t length,
                     struct error *err);
int json_reader_finish(struct json_reader *reader, struct error *err);

/*
 * For callbacks: bytes read so far, the present token included. In on_begin it is the offset
 * behind the opening bracket, in on_end behind the closing one.
 */
size_t json_reader_offset(const struct json_reader *reader);

/* All of that for bytes in one piece. */
int json_read(const struct json_field *shape, void *ctx, const char *bytes, size_t length,
              struct error *err);

/*
 * The same in a fraction of the time, for what is written as programs write JSON: it must be ASCII,
 * and in what is looked at there are no escapes but those of ASCII characters.
 *
 * return  false: it is not of that kind, or wrong, or a callback refused it. What the callbacks
 *         were told so far counts for nothing, and json_read() tells what is the matter, if
 *         anything.
 */
bool json_read_plain(const struct json_field *shape, void *ctx, const char *bytes, size_t length);

/*
 * A copy of a string value; "" for null; ERR_INVALID for other types and for a NUL inside. Frees
 * what *out held.
 */
int json_value_copy(const struct json_value *value, char **out, struct error *err);

/* A whole number within [min, max], else ERR_INVALID; null leaves *out alone. */
int json_value_int(const struct json_value *value, long long min, long long max, long long *out,
                   struct error *err);

#endif
