/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_plain - reading JSON that is written plainly, in one piece.
 *
 * A document that nobody has an interest in making hard to read is read here in a fifth of the time
 * that yajl takes: strings are looked at eight bytes at a time, and what no shape asks for is
 * passed over without a word to anybody. Whatever is not certain ends the reading; nothing is
 * accepted that yajl would not accept, with the same meaning.
 */
#include "json_walk.h"
#include "topofit/buf.h"
#include "topofit/mem.h"
#include "topofit/plain_text.h"

#include <string.h>

struct plain {
    struct json_walk walk;
    const char *at, *end; /* next byte; behind the last */
    size_t passed_depth;  /* open objects and arrays that are passed over */
    struct buf unescaped; /* the last string that had escapes */
};

struct span {
    const char *text;
    size_t length;
};

/* --- tokens ---------------------------------------------------------------------------------- */

static bool is_next(const struct plain *plain, char byte)
{
    return plain->at < plain->end && *plain->at == byte;
}

static void pass_blanks(struct plain *plain)
{
    while (plain->at < plain->end &&
           (*plain->at == ' ' || *plain->at == '\n' || *plain->at == '\t' || *plain->at == '\r'))
        plain->at++;
}

/* Go on behind a byte that has to be there, blanks around it aside. */
static bool pass(struct plain *plain, char byte)
{
    pass_blanks(plain);
    if (!is_next(plain, byte))
        return false;
    plain->at++;
    pass_blanks(plain);
    return true;
}

static bool pass_word(struct plain *plain, const char *word, size_t length)
{
    if ((size_t)(plain->end - plain->at) < length || memcmp(plain->at, word, length) != 0)
        return false;
    plain->at += length;
    return true;
}

static bool pass_digits(struct plain *plain)
{
    const char *first = plain->at;

    while (plain->at < plain->end && *plain->at >= '0' && *plain->at <= '9')
        plain->at++;
    return plain->at > first;
}

static bool pass_number(struct plain *plain)
{
    plain->at += is_next(plain, '-');
    if (is_next(plain, '0'))
        plain->at++;
    else if (!pass_digits(plain))
        return false;
    if (is_next(plain, '.')) {
        plain->at++;
        if (!pass_digits(plain))
            return false;
    }
    if (is_next(plain, 'e') || is_next(plain, 'E')) {
        plain->at++;
        plain->at += is_next(plain, '+') || is_next(plain, '-');
        return pass_digits(plain);
    }
    return true;
}

/* --- strings --------------------------------------------------------------------------------- */

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 'a' ^ 'A';
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/*
 * Go on behind an escape. return the character, 0 for one that is not ASCII or is NUL, or -1 when
 * it is none.
 */
static int pass_escape(struct plain *plain)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    int character = 0;
    const char *letter;

    if (plain->end - plain->at < 2)
        return -1;
    plain->at += 2;
    if (plain->at[-1] == '"') /* nearly all are: JSON in annotations */
        return '"';
    if (plain->at[-1] != 'u') {
        letter = memchr(letters, plain->at[-1], strlen(letters));
        return letter != NULL ? meanings[letter - letters] : -1;
    }
    if (plain->end - plain->at < 4)
        return -1;
    for (unsigned i = 0; i < 4; i++) {
        int digit = hex_digit(*plain->at++);

        if (digit < 0)
            return -1;
        character = character << 4 | digit;
    }
    return character < 0x80 ? character : 0;
}

/* Go on to the quote that ends the string, or to what is not plain. */
static void pass_plain(struct plain *plain)
{
    plain->at += plain_span(plain->at, (size_t)(plain->end - plain->at));
}

/* Pass over the string that begins here. */
static bool pass_string(struct plain *plain)
{
    if (!is_next(plain, '"'))
        return false;
    plain->at++;
    for (;;) {
        pass_plain(plain);
        if (is_next(plain, '"')) {
            plain->at++;
            return true;
        }
        if (!is_next(plain, '\\') || pass_escape(plain) < 0)
            return false;
    }
}

/* The rest of a string, of which plain->unescaped has what is in front of its first escape. */
static bool read_escaped(struct plain *plain, struct span *out)
{
    while (is_next(plain, '\\')) {
        int character = pass_escape(plain);
        const char *rest = plain->at;

        if (character <= 0)
            return false;
        buf_add_byte(&plain->unescaped, (char)character);
        pass_plain(plain);
        buf_add(&plain->unescaped, rest, (size_t)(plain->at - rest));
    }
    *out = (struct span){buf_text(&plain->unescaped), plain->unescaped.length};
    return is_next(plain, '"') && !plain->unescaped.overflowed;
}

/* out is valid until the next string. */
static bool read_string(struct plain *plain, struct span *out)
{
    const char *first = plain->at + 1;

    if (!is_next(plain, '"'))
        return false;
    plain->at++;
    pass_plain(plain);
    *out = (struct span){first, (size_t)(plain->at - first)};
    if (out->length > JSON_TOKEN_MAX_BYTES)
        return false;
    if (!is_next(plain, '"')) {
        buf_reset(&plain->unescaped);
        buf_add(&plain->unescaped, out->text, out->length);
        if (!read_escaped(plain, out))
            return false;
    }
    plain->at++;
    return true;
}

/* --- what nobody looks at -------------------------------------------------------------------- */

static bool pass_value(struct plain *plain);

static bool pass_member(struct plain *plain)
{
    return pass_string(plain) && pass(plain, ':') && pass_value(plain);
}

/* The members or elements of what was opened, up to its end. */
static bool pass_all(struct plain *plain, bool (*pass_one)(struct plain *plain), char end)
{
    if (++plain->passed_depth + plain->walk.depth > JSON_DEPTH_MAX)
        return false;
    plain->at++;
    pass_blanks(plain);
    if (!is_next(plain, end)) {
        do {
            if (!pass_one(plain))
                return false;
        } while (pass(plain, ','));
    }
    if (!is_next(plain, end))
        return false;
    plain->at++;
    plain->passed_depth--;
    return true;
}

static bool pass_value(struct plain *plain)
{
    if (plain->at == plain->end)
        return false;
    switch (*plain->at) {
    case '"':
        return pass_string(plain);
    case '{':
        return pass_all(plain, pass_member, '}');
    case '[':
        return pass_all(plain, pass_value, ']');
    case 't':
        return pass_word(plain, "true", strlen("true"));
    case 'f':
        return pass_word(plain, "false", strlen("false"));
    case 'n':
        return pass_word(plain, "null", strlen("null"));
    default:
        return pass_number(plain);
    }
}

/* --- what is looked at ----------------------------------------------------------------------- */

static bool read_value(struct plain *plain);

static bool read_scalar(struct plain *plain)
{
    const char *first = plain->at;
    struct json_value value = {.text = ""};
    struct span string;

    if (*first == '"') {
        if (!read_string(plain, &string))
            return false;
        value.type = JSON_STRING_TEXT;
        value.text = string.text;
        value.length = string.length;
        return json_walk_value(&plain->walk, &value);
    }
    if (!pass_value(plain))
        return false;
    value.type = *first == 't' || *first == 'f' ? JSON_BOOL
                 : *first == 'n'                ? JSON_NULL_VALUE
                                                : JSON_NUMBER_TEXT;
    value.boolean = *first == 't';
    if (value.type == JSON_NUMBER_TEXT) {
        value.text = first;
        value.length = (size_t)(plain->at - first);
    }
    return json_walk_value(&plain->walk, &value);
}

/* The value of the field, if it reads it itself. */
static bool read_by_field(struct plain *plain, const struct json_field *field)
{
    size_t length = field->on_text(plain->walk.ctx, plain->at, (size_t)(plain->end - plain->at));

    plain->at += length;
    return length > 0;
}

static bool read_member(struct plain *plain)
{
    struct span key;

    if (!read_string(plain, &key) || !json_walk_key(&plain->walk, key.text, key.length) ||
        !pass(plain, ':'))
        return false;
    if (plain->walk.field == NULL)
        return pass_value(plain);
    if (plain->walk.field->on_text != NULL && is_next(plain, '['))
        return read_by_field(plain, plain->walk.field);
    return read_value(plain);
}

static bool read_all(struct plain *plain, bool (*read_one)(struct plain *plain), char end)
{
    if (!json_walk_open(&plain->walk, end == ']'))
        return false;
    plain->at++;
    pass_blanks(plain);
    if (!is_next(plain, end)) {
        do {
            if (!read_one(plain))
                return false;
        } while (pass(plain, ','));
    }
    if (!is_next(plain, end))
        return false;
    plain->at++;
    return json_walk_close(&plain->walk);
}

static bool read_value(struct plain *plain)
{
    if (is_next(plain, '{'))
        return read_all(plain, read_member, '}');
    if (is_next(plain, '['))
        return read_all(plain, read_value, ']');
    return plain->at < plain->end && read_scalar(plain);
}

bool json_read_plain(const struct json_field *shape, void *ctx, const char *bytes, size_t length)
{
    struct plain plain;
    struct error err; /* for nobody: json_read() says it again, with the place */
    bool was_read;

    error_clear(&err);
    json_walk_init(&plain.walk, shape, ctx);
    plain.walk.err = &err;
    plain.at = bytes;
    plain.end = bytes + length;
    plain.passed_depth = 0;
    plain.unescaped = buf_with_max(JSON_TOKEN_MAX_BYTES);
    pass_blanks(&plain);
    was_read = read_value(&plain);
    pass_blanks(&plain);
    json_walk_clear(&plain.walk);
    buf_clear(&plain.unescaped);
    return was_read && plain.at == plain.end;
}
