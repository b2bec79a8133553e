/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/buf.h"
#include "topofit/json.h"

#include <limits.h>
#include <stdlib.h>

/* Every callback writes one line here: the tests compare what was handed out, in order. */
struct log {
    struct buf text;
    const char *refuse; /* the value that a callback refuses, or NULL */
};

static int log_value(void *ctx, const struct json_value *value, struct error *err)
{
    static const char *const types[] = {"null", "bool", "number", "string"};
    struct log *log = ctx;

    if (log->refuse != NULL && strlen(log->refuse) == value->length &&
        memcmp(log->refuse, value->text, value->length) == 0)
        return error_set(err, ERR_CONFLICT, "refused");
    buf_addf(&log->text, "%s=%s:", value->key, types[value->type]);
    if (value->type == JSON_BOOL)
        buf_add_text(&log->text, value->boolean ? "true" : "false");
    buf_add(&log->text, value->text, value->length);
    buf_add_byte(&log->text, ' ');
    return 0;
}

static int log_begin(void *ctx, const char *key, struct error *err)
{
    struct log *log = ctx;

    (void)err;
    buf_addf(&log->text, "%s{ ", key);
    return 0;
}

static int log_end(void *ctx, struct error *err)
{
    struct log *log = ctx;

    (void)err;
    buf_add_text(&log->text, "} ");
    return 0;
}

static const struct json_field any_shape[] = {
    {.key = JSON_ANY_KEY, .on_value = log_value},
    {0},
};

static const struct json_field item_shape[] = {
    {.key = "id", .on_value = log_value},
    {0},
};

static const struct json_field items_shape[] = {
    {.key = JSON_ELEMENT, .shape = item_shape, .on_begin = log_begin, .on_end = log_end},
    {0},
};

static const struct json_field words_shape[] = {
    {.key = JSON_ELEMENT, .on_value = log_value},
    {0},
};

static const struct json_field document_shape[] = {
    {.key = "name", .on_value = log_value},
    {.key = "Any", .on_value = log_value, .any_case = true},
    {.key = "map", .shape = any_shape, .on_begin = log_begin, .on_end = log_end},
    {.key = "items", .shape = items_shape},
    {.key = "words", .shape = words_shape},
    {.key = "bytes", .on_value = log_value, .accepts_nul = true},
    {0},
};

/* Where the quick way reads a document at all, it hands out the same. */
static bool read_plain(const char *json, size_t length, const struct buf *want)
{
    struct log log = {.text = buf_with_max(1 << 16)};
    bool was_read = json_read_plain(document_shape, &log, json, length);

    if (was_read && want != NULL) {
        assert_int_equal(log.text.length, want->length);
        assert_string_equal(buf_text(&log.text), buf_text(want));
    }
    buf_clear(&log.text);
    return was_read;
}

/* What is handed out for a document that is right. */
static char *read_all(const char *json)
{
    struct log log = {.text = buf_with_max(1 << 16)};
    struct error err = {0};

    assert_ok(json_read(document_shape, &log, json, strlen(json), &err), &err);
    read_plain(json, strlen(json), &log.text);
    return buf_steal(&log.text);
}

static void assert_reads(const char *json, const char *want)
{
    char *got = read_all(json);

    assert_string_equal(got, want);
    free(got);
}

static struct error read_error(const char *json, size_t length)
{
    struct log log = {.text = buf_with_max(1 << 16)};
    struct error err = {0};

    assert_true(json_read(document_shape, &log, json, length, &err) < 0);
    assert_false(read_plain(json, length, NULL));
    buf_clear(&log.text);
    return err;
}

static void test_json_read__hands_out_the_members_of_the_shape_and_nothing_else(void **state)
{
    static const struct {
        const char *json;
        const char *want;
    } cases[] = {
        {"{}", ""},
        {"{\"name\":\"a\",\"other\":\"b\"}", "name=string:a "},
        {"{\"name\":1.50e3}", "name=number:1.50e3 "},
        {"{\"name\":123456789012345678901234567890}",
         "name=number:123456789012345678901234567890 "},
        {"{\"name\":true}", "name=bool:true "},
        {"{\"name\":null}", "name=null: "},
        {"{\"name\":\"\"}", "name=string: "},
        {"{\"name\":\"a\\\"\\u00e9\\n\"}", "name=string:a\"\xc3\xa9\n "},
        {"{\"map\":{\"x\":\"1\",\"y\":2}}", "map{ x=string:1 y=number:2 } "},
        {"{\"items\":[{\"id\":1,\"no\":[{\"id\":9}]},{\"id\":2}]}",
         "items{ id=number:1 } items{ id=number:2 } "},
        {"{\"words\":[\"a\",\"b\"]}", "words=string:a words=string:b "},
        {"{\"skip\":{\"name\":\"x\",\"map\":{\"y\":[1,{}]}},\"name\":\"a\"}", "name=string:a "},
        {"{\"skip\":[[[],{\"name\":1}]],\"name\":\"a\"}", "name=string:a "},
        {"{\"nam\":1,\"names\":2,\"name\\u0000\":3,\"\":4}", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_reads(cases[i].json, cases[i].want);
}

static void test_json_read__matches_case_only_where_asked(void **state)
{
    (void)state;
    assert_reads("{\"NAME\":1,\"aNY\":2,\"any\":3}", "Any=number:2 Any=number:3 ");
}

static void test_json_read__takes_null_for_a_missing_object(void **state)
{
    (void)state;
    assert_reads("{\"map\":null,\"items\":null,\"name\":\"a\"}", "name=string:a ");
}

static void test_json_read__hands_out_repeated_members_so_that_the_last_wins(void **state)
{
    (void)state;
    assert_reads("{\"name\":\"a\",\"name\":\"b\"}", "name=string:a name=string:b ");
}

static void test_json_read__refuses_what_is_not_json(void **state)
{
    static const char *const cases[] = {
        "",
        " ",
        "{",
        "{\"name\":",
        "{\"name\":\"a\"",
        "{\"name\":\"a\"}}",
        "{} {}",
        "{}x",
        "{\"name\":01}",
        "{\"name\":\"\xff\"}",
        "{\"name\":\"a\nb\"}",
        "{'name':1}",
        "{\"name\":1,}",
        "{\"a\":1 \"b\":2}",
        "// text\n{}",
        "\xef\xbb\xbf{}",
        "nul",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = read_error(cases[i], strlen(cases[i]));

        assert_int_equal(err.code, ERR_INVALID);
        assert_contains(err.text, "byte ");
    }
}

static void test_json_read__names_the_place_and_what_was_expected(void **state)
{
    static const struct {
        const char *json;
        const char *part;
    } cases[] = {
        {"{\"a\" 1}", "byte 6: "},
        {"{\"a\" 1}", "':'"},
        {"[]", "byte 1: the document should be an object"},
        {"7", "the document should be an object"},
        {"{\"name\":{}}", "byte 9: \"name\": a plain value was expected"},
        {"{\"name\":[]}", "\"name\": a plain value was expected"},
        {"{\"map\":[]}", "\"map\": an object was expected"},
        {"{\"map\":3}", "\"map\": an object was expected"},
        {"{\"items\":{}}", "\"items\": a list was expected"},
        {"{\"items\":[3]}", "\"items\": an object was expected"},
        {"{\"words\":[{}]}", "\"words\": a plain value was expected"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = read_error(cases[i].json, strlen(cases[i].json));

        assert_int_equal(err.code, ERR_INVALID);
        assert_contains(err.text, cases[i].part);
    }
}

static void test_json_read__refuses_a_nul_in_what_is_looked_at(void **state)
{
    static const char *const cases[] = {
        "{\"name\":\"a\\u0000b\"}",
        "{\"map\":{\"a\\u0000b\":1}}",
        "{\"words\":[\"\\u0000\"]}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = read_error(cases[i], strlen(cases[i]));

        assert_int_equal(err.code, ERR_INVALID);
        assert_contains(err.text, "NUL");
    }
}

static void test_json_read__leaves_a_nul_to_a_field_that_accepts_it(void **state)
{
    static const char json[] = "{\"bytes\":\"a\\u0000b\",\"skipped\":\"\\u0000\"}";
    struct log log = {.text = buf_with_max(100)};
    struct error err = {0};

    (void)state;
    assert_ok(json_read(document_shape, &log, json, strlen(json), &err), &err);
    assert_memory_equal(log.text.data, "bytes=string:a\0b ", 17);
    buf_clear(&log.text);
}

static void test_json_read_plain__reads_what_programs_write(void **state)
{
    static const char *const cases[] = {
        "{}",
        " {\n \"name\" : \"a\" ,\t\"words\" : [ \"b\" , -0.5e-7 ]\r} ",
        "{\"name\":\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0026\\u003C\",\"Any\":true}",
        "{\"skip\":{\"a\":[{},[],null,false,0,\"\\u00e9\\ud83d\"]},\"map\":{\"\\u0061\":1}}",
        "{\"items\":[{\"id\":12,\"no\":[[{}]]},{\"id\":\"\"}],\"words\":[]}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        free(read_all(cases[i]));
        assert_true(read_plain(cases[i], strlen(cases[i]), NULL));
    }
}

static void test_json_read_plain__leaves_the_rest_to_the_other_way(void **state)
{
    static const char *const cases[] = {
        "{\"name\":\"\xc3\xa9\"}",   "{\"skip\":\"\xc3\xa9\"}", "{\"name\":\"\\u00e9\"}",
        "{\"bytes\":\"a\\u0000b\"}", "{\"name\\u0000\":1}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        free(read_all(cases[i]));
        assert_false(read_plain(cases[i], strlen(cases[i]), NULL));
    }
}

/* Both ways, of a document that may be anything. */
static void compare_ways(const char *json, size_t length)
{
    struct log log = {.text = buf_with_max(1 << 16)};
    struct error err = {0};
    bool is_right = json_read(document_shape, &log, json, length, &err) == 0;

    assert_true(!read_plain(json, length, is_right ? &log.text : NULL) || is_right);
    buf_clear(&log.text);
}

/* Each byte left out, or replaced by each that means something, and each end too early. */
static void test_json_read_plain__accepts_nothing_that_the_other_way_refuses(void **state)
{
    static const char document[] =
        "{\"name\":\"a\\n\\u0041\",\"x\":[-1.5e+3,{\"y\":true},[]],\"Any\":null,\"map\":{\"k\":"
        "\"v\",\"n\":120},\"items\":[{\"id\":17},{\"id\":false}],\"words\":[\"\",0]}";
    static const char bytes[] = "{}[]\",:\\-+.0e1ntfu \n\t/'*\x01\x7f\xc3";
    size_t length = strlen(document);

    (void)state;
    for (size_t at = 0; at < length; at++) {
        char json[sizeof document];

        memcpy(json, document, at);
        memcpy(json + at, document + at + 1, length - at);
        compare_ways(json, length - 1);
        compare_ways(document, at);
        for (size_t i = 0; i < sizeof bytes; i++) {
            memcpy(json, document, sizeof json);
            json[at] = bytes[i];
            compare_ways(json, length);
        }
    }
}

static void test_json_read_plain__limits_the_depth_also_of_what_is_skipped(void **state)
{
    char json[4 * JSON_DEPTH_MAX];

    (void)state;
    for (size_t levels = JSON_DEPTH_MAX - 2; levels <= JSON_DEPTH_MAX + 1; levels++) {
        strcpy(json, "{\"skip\":");
        memset(json + strlen("{\"skip\":"), '[', levels);
        memset(json + strlen("{\"skip\":") + levels, ']', levels);
        strcpy(json + strlen("{\"skip\":") + 2 * levels, "}");
        compare_ways(json, strlen(json));
        assert_int_equal(read_plain(json, strlen(json), NULL), levels < JSON_DEPTH_MAX);
    }
}

static struct error read_levels(size_t levels)
{
    char *json = xmalloc(levels + 9);
    struct log log = {.text = buf_with_max(10)};
    struct error err = {0};

    memcpy(json, "{\"skip\":", 8);
    memset(json + 8, '[', levels);
    json_read(document_shape, &log, json, levels + 8, &err);
    free(json);
    return err;
}

static void test_json_read__limits_the_depth_also_of_what_is_skipped(void **state)
{
    (void)state;
    assert_int_equal(read_levels(JSON_DEPTH_MAX).code, ERR_LIMIT);
    assert_contains(read_levels(JSON_DEPTH_MAX).text, "levels");
    assert_int_equal(read_levels(JSON_DEPTH_MAX - 1).code, ERR_INVALID); /* only: too short */
    assert_int_equal(read_levels(5000000).code, ERR_LIMIT);
}

static void test_json_read__limits_the_member_names_of_a_wildcard(void **state)
{
    char json[2 * JSON_KEY_MAX] = "{\"map\":{\"";
    size_t start = strlen(json);

    (void)state;
    memset(json + start, 'k', JSON_KEY_MAX + 1);
    memcpy(json + start + JSON_KEY_MAX + 1, "\":1}}", sizeof "\":1}}");
    assert_int_equal(read_error(json, strlen(json)).code, ERR_LIMIT);
}

static void test_json_read__passes_on_the_error_of_a_callback_with_its_place(void **state)
{
    static const char json[] = "{\"name\":\"a\",\"Any\":\"b\"}";
    struct log log = {.text = buf_with_max(100), .refuse = "a"};
    struct error err = {0};

    (void)state;
    assert_int_equal(json_read(document_shape, &log, json, strlen(json), &err), -ERR_CONFLICT);
    assert_string_equal(err.text, "byte 11: refused");
    assert_string_equal(buf_text(&log.text), "");
}

static void test_json_reader_feed__fails_again_after_an_error(void **state)
{
    struct log log = {.text = buf_with_max(100)};
    struct json_reader *reader = json_reader_new(document_shape, &log);
    struct error first = {0}, second = {0}, third = {0};

    (void)state;
    assert_int_equal(json_reader_feed(reader, "[", 1, &first), -ERR_INVALID);
    assert_int_equal(json_reader_feed(reader, "]", 1, &second), -ERR_INVALID);
    assert_int_equal(json_reader_finish(reader, &third), -ERR_INVALID);
    json_reader_free(reader);
}

/* {"KEY":"xxx"} with a string of so many bytes, one of them written as an escape if wanted. */
static struct buf document_of_string(const char *key, size_t length, bool is_escaped)
{
    struct buf json = buf_with_max(length + 100);
    char *text = xmalloc(length);

    memset(text, 'x', length);
    buf_addf(&json, "{\"%s\":\"%s", key, is_escaped ? "\\n" : "x");
    buf_add(&json, text, length - 1);
    buf_add_text(&json, "\"}");
    free(text);
    return json;
}

static void test_json_read__limits_a_string_that_is_looked_at_in_either_way(void **state)
{
    static const struct {
        const char *key;
        size_t length;
        bool is_escaped;
        enum error_code want;
    } cases[] = {
        {"name", JSON_TOKEN_MAX_BYTES, false, ERR_NONE},
        {"name", JSON_TOKEN_MAX_BYTES, true, ERR_NONE},
        {"name", JSON_TOKEN_MAX_BYTES + 1, false, ERR_LIMIT},
        {"name", JSON_TOKEN_MAX_BYTES + 1, true, ERR_LIMIT},
        {"skip", JSON_TOKEN_MAX_BYTES + 1, false, ERR_NONE},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf_clear)
        struct buf json = document_of_string(cases[i].key, cases[i].length, cases[i].is_escaped);
        struct log log = {.text = buf_with_max(100)};
        struct error err = {0};

        json_read(document_shape, &log, buf_text(&json), json.length, &err);
        assert_int_equal(err.code, cases[i].want);
        assert_int_equal(read_plain(buf_text(&json), json.length, NULL), err.code == ERR_NONE);
        buf_clear(&log.text);
    }
}

static void test_json_reader_feed__limits_one_token(void **state)
{
    struct log log = {.text = buf_with_max(100)};
    struct json_reader *reader = json_reader_new(document_shape, &log);
    size_t size = 1 << 20;
    char *piece = xmalloc(size);
    struct error err = {0};

    (void)state;
    memset(piece, 'x', size);
    assert_ok(json_reader_feed(reader, "{\"name\":\"", 9, &err), &err);
    for (size_t fed = 0; fed + size <= JSON_TOKEN_MAX_BYTES; fed += size)
        assert_ok(json_reader_feed(reader, piece, size, &err), &err);
    assert_int_equal(json_reader_feed(reader, piece, size, &err), -ERR_LIMIT);
    json_reader_free(reader);
    free(piece);
}

/* Split at every offset, and byte by byte. */
static void test_json_reader_feed__reads_the_same_however_the_bytes_are_split(void **state)
{
    static const char json[] =
        "{\"name\":\"a\\u00e9\xc3\xa9\\ud83d\\ude00\",\"skip\":[{\"x\":-1.5e3}],"
        "\"map\":{\"k\":\"v\",\"n\":120},\"items\":[{\"id\":17},{\"id\":true}]}";
    AUTO_FREE char *want = read_all(json);

    (void)state;
    for (size_t split = 0; split <= strlen(json); split++) {
        struct log log = {.text = buf_with_max(1000)};
        struct json_reader *reader = json_reader_new(document_shape, &log);
        struct error err = {0};
        size_t step = split == 0 ? 1 : split;

        for (size_t at = 0; at < strlen(json); at += step) {
            size_t rest = strlen(json) - at;

            assert_ok(json_reader_feed(reader, json + at, rest < step ? rest : step, &err), &err);
        }
        assert_ok(json_reader_finish(reader, &err), &err);
        assert_string_equal(buf_text(&log.text), want);
        json_reader_free(reader);
        buf_clear(&log.text);
    }
}

struct offsets {
    struct json_reader *reader;
    size_t begin, end;
};

static int note_begin(void *ctx, const char *key, struct error *err)
{
    struct offsets *offsets = ctx;

    (void)key, (void)err;
    offsets->begin = json_reader_offset(offsets->reader);
    return 0;
}

static int note_end(void *ctx, struct error *err)
{
    struct offsets *offsets = ctx;

    (void)err;
    offsets->end = json_reader_offset(offsets->reader);
    return 0;
}

static void test_json_reader_offset__stands_behind_the_brackets(void **state)
{
    static const char json[] = "{ \"map\" : { \"a\" : [ {} , \"}\" ] } }";
    static const struct json_field empty[] = {{0}};
    static const struct json_field shape[] = {
        {.key = "map", .shape = empty, .on_begin = note_begin, .on_end = note_end},
        {0},
    };

    (void)state;
    for (size_t split = 0; split <= strlen(json); split++) {
        struct offsets offsets = {0};
        struct error err = {0};

        offsets.reader = json_reader_new(shape, &offsets);
        assert_ok(json_reader_feed(offsets.reader, json, split, &err), &err);
        assert_ok(json_reader_feed(offsets.reader, json + split, strlen(json) - split, &err), &err);
        assert_ok(json_reader_finish(offsets.reader, &err), &err);
        assert_int_equal(offsets.begin, 11);
        assert_int_equal(offsets.end, strlen(json) - 2);
        json_reader_free(offsets.reader);
    }
}

static void test_json_value_copy__takes_strings_and_null(void **state)
{
    AUTO_FREE char *text = xstrdup("old");
    struct error err = {0};

    (void)state;
    assert_ok(json_value_copy(&(struct json_value){JSON_STRING_TEXT, false, "abc", 2, "k", 0},
                              &text, &err),
              &err);
    assert_string_equal(text, "ab");
    assert_ok(
        json_value_copy(&(struct json_value){JSON_NULL_VALUE, false, "", 0, "k", 0}, &text, &err),
        &err);
    assert_string_equal(text, "");
    assert_int_equal(
        json_value_copy(&(struct json_value){JSON_NUMBER_TEXT, false, "1", 1, "k", 0}, &text, &err),
        -ERR_INVALID);
}

static void test_json_value_int__takes_whole_numbers_in_range(void **state)
{
    static const struct {
        enum json_type type;
        const char *text;
        int want; /* 0 or an error */
        long long number;
    } cases[] = {
        {JSON_NUMBER_TEXT, "0", 0, 0},
        {JSON_NUMBER_TEXT, "-5", 0, -5},
        {JSON_NUMBER_TEXT, "10", 0, 10},
        {JSON_NUMBER_TEXT, "11", -ERR_INVALID, 0},
        {JSON_NUMBER_TEXT, "-6", -ERR_INVALID, 0},
        {JSON_NUMBER_TEXT, "1.0", -ERR_INVALID, 0},
        {JSON_NUMBER_TEXT, "1e1", -ERR_INVALID, 0},
        {JSON_NUMBER_TEXT, "99999999999999999999", -ERR_INVALID, 0},
        {JSON_NUMBER_TEXT, "9999999999999999999999999999999999999999", -ERR_INVALID, 0},
        {JSON_STRING_TEXT, "1", -ERR_INVALID, 0},
        {JSON_BOOL, "", -ERR_INVALID, 0},
        {JSON_NULL_VALUE, "", 0, 77},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json_value value = {cases[i].type,         false, cases[i].text,
                                   strlen(cases[i].text), "k",   0};
        long long number = 77;
        struct error err = {0};

        assert_int_equal(json_value_int(&value, -5, 10, &number, &err), cases[i].want);
        if (cases[i].want == 0)
            assert_int_equal(number, cases[i].number);
    }
}

static void test_json_value_int__does_not_clamp(void **state)
{
    static const char *const cases[] = {"9223372036854775808", "-9223372036854775809"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json_value value = {
            .type = JSON_NUMBER_TEXT, .text = cases[i], .length = strlen(cases[i]), .key = "k"};
        long long number = 77;
        struct error err = {0};

        assert_int_equal(json_value_int(&value, LLONG_MIN, LLONG_MAX, &number, &err), -ERR_INVALID);
        assert_int_equal(number, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_read__hands_out_the_members_of_the_shape_and_nothing_else),
        cmocka_unit_test(test_json_read__matches_case_only_where_asked),
        cmocka_unit_test(test_json_read__takes_null_for_a_missing_object),
        cmocka_unit_test(test_json_read__hands_out_repeated_members_so_that_the_last_wins),
        cmocka_unit_test(test_json_read__refuses_what_is_not_json),
        cmocka_unit_test(test_json_read__names_the_place_and_what_was_expected),
        cmocka_unit_test(test_json_read__refuses_a_nul_in_what_is_looked_at),
        cmocka_unit_test(test_json_read__leaves_a_nul_to_a_field_that_accepts_it),
        cmocka_unit_test(test_json_read__limits_the_depth_also_of_what_is_skipped),
        cmocka_unit_test(test_json_read__limits_the_member_names_of_a_wildcard),
        cmocka_unit_test(test_json_read__passes_on_the_error_of_a_callback_with_its_place),
        cmocka_unit_test(test_json_read_plain__reads_what_programs_write),
        cmocka_unit_test(test_json_read_plain__leaves_the_rest_to_the_other_way),
        cmocka_unit_test(test_json_read_plain__accepts_nothing_that_the_other_way_refuses),
        cmocka_unit_test(test_json_read_plain__limits_the_depth_also_of_what_is_skipped),
        cmocka_unit_test(test_json_reader_feed__fails_again_after_an_error),
        cmocka_unit_test(test_json_read__limits_a_string_that_is_looked_at_in_either_way),
        cmocka_unit_test(test_json_reader_feed__limits_one_token),
        cmocka_unit_test(test_json_reader_feed__reads_the_same_however_the_bytes_are_split),
        cmocka_unit_test(test_json_reader_offset__stands_behind_the_brackets),
        cmocka_unit_test(test_json_value_copy__takes_strings_and_null),
        cmocka_unit_test(test_json_value_int__takes_whole_numbers_in_range),
        cmocka_unit_test(test_json_value_int__does_not_clamp),
    };

    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
