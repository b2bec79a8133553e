/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_json - a YAML tree as JSON: what a plain scalar means. */
#include "topofit/mem.h"
#include "topofit/yaml.h"

#include <string.h>

/* The words of the core schema. source: YAML 1.2.2, section 10.3.2 */
static const struct {
    const char *word;
    const char *json;
} words[] = {
    {"", "null"},       {"~", "null"},      {"null", "null"},   {"Null", "null"},
    {"NULL", "null"},   {"true", "true"},   {"True", "true"},   {"TRUE", "true"},
    {"false", "false"}, {"False", "false"}, {"FALSE", "false"},
};

static size_t count_digits(const char *at)
{
    return strspn(at, "0123456789");
}

/* The parts of a decimal number. Lengths in bytes. */
struct number {
    bool negative;
    const char *whole, *fraction, *exponent; /* exponent with its e */
    size_t whole_length, fraction_length, exponent_length;
};

/*
 * Numbers are those that JSON can say, and the ways YAML adds to write them (+1, .5, 1.). A leading
 * zero makes a string: YAML 1.1, which kubectl reads, takes 010 for 8.
 */
static bool read_number(const char *text, struct number *out)
{
    const char *at = text;

    *out = (struct number){.negative = *at == '-'};
    at += *at == '-' || *at == '+';
    out->whole = at;
    out->whole_length = count_digits(at);
    at += out->whole_length;
    if (*at == '.') {
        out->fraction = at + 1;
        out->fraction_length = count_digits(at + 1);
        at += 1 + out->fraction_length;
    }
    if (out->whole_length + out->fraction_length == 0 ||
        (out->whole_length > 1 && out->whole[0] == '0'))
        return false;
    if (*at == 'e' || *at == 'E') {
        size_t sign = at[1] == '-' || at[1] == '+';
        size_t digits = count_digits(at + 1 + sign);

        if (digits == 0)
            return false;
        out->exponent = at;
        out->exponent_length = 1 + sign + digits;
        at += out->exponent_length;
    }
    return *at == '\0';
}

static void write_number(const struct number *number, struct buf *out)
{
    if (number->negative)
        buf_add_byte(out, '-');
    if (number->whole_length == 0)
        buf_add_byte(out, '0');
    buf_add(out, number->whole, number->whole_length);
    if (number->fraction_length > 0) {
        buf_add_byte(out, '.');
        buf_add(out, number->fraction, number->fraction_length);
    }
    buf_add(out, number->exponent, number->exponent_length);
}

static void write_scalar(const struct yaml_value *value, struct buf *out)
{
    struct number number;

    if (value->quoted) {
        buf_add_json_string(out, value->text);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(words[i].word, value->text) == 0) {
            buf_add_text(out, words[i].json);
            return;
        }
    }
    if (read_number(value->text, &number))
        write_number(&number, out);
    else
        buf_add_json_string(out, value->text);
}

static void write_members(const struct yaml_value *value, struct buf *out)
{
    for (size_t i = 0; i < value->count; i++) {
        if (i > 0)
            buf_add_byte(out, ',');
        if (value->type == YAML_MAP) {
            buf_add_json_string(out, value->members[i].key);
            buf_add_byte(out, ':');
        }
        yaml_write_json(value->members[i].value, out);
    }
}

void yaml_write_json(const struct yaml_value *value, struct buf *out)
{
    switch (value->type) {
    case YAML_SCALAR:
        write_scalar(value, out);
        break;
    case YAML_LIST:
        buf_add_byte(out, '[');
        write_members(value, out);
        buf_add_byte(out, ']');
        break;
    case YAML_MAP:
        buf_add_byte(out, '{');
        write_members(value, out);
        buf_add_byte(out, '}');
        break;
    }
}
