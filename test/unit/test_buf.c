/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/buf.h"

#include <stdlib.h>

static void test_buf_add__keeps_what_was_added_and_ends_it(void **state)
{
    AUTO(buf_clear) struct buf buf = buf_with_max(100);

    (void)state;
    assert_string_equal(buf_text(&buf), "");
    assert_null(buf.data);
    buf_add(&buf, "a\0b", 3);
    buf_add_text(&buf, "cd");
    buf_add_byte(&buf, 'e');
    buf_addf(&buf, "%d", 42);
    assert_int_equal(buf.length, 8);
    assert_memory_equal(buf.data, "a\0bcde42", 9);
    assert_false(buf.overflowed);
}

static void test_buf_add__beyond_the_maximum_changes_nothing_but_the_flag(void **state)
{
    AUTO(buf_clear) struct buf buf = buf_with_max(5);

    (void)state;
    buf_add_text(&buf, "12345");
    assert_false(buf.overflowed);
    buf_add_byte(&buf, '6');
    assert_true(buf.overflowed);
    buf_add_text(&buf, "");
    buf_addf(&buf, "%s", "x");
    assert_string_equal(buf_text(&buf), "12345");
    buf_reset(&buf);
    assert_false(buf.overflowed);
    buf_add_text(&buf, "abc");
    assert_string_equal(buf_text(&buf), "abc");
}

static void test_buf_add__is_not_fooled_by_a_huge_length(void **state)
{
    AUTO(buf_clear) struct buf buf = buf_with_max(SIZE_MAX / 2);

    (void)state;
    buf_add_text(&buf, "abc");
    buf_add(&buf, "x", SIZE_MAX - 1);
    assert_true(buf.overflowed);
    assert_string_equal(buf_text(&buf), "abc");
}

static void test_buf_addf__formats_texts_of_any_length(void **state)
{
    static const int lengths[] = {0, 1, 254, 255, 256, 257, 5000};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        AUTO(buf_clear) struct buf buf = buf_with_max(6000);

        buf_addf(&buf, "%*s", lengths[i], "");
        assert_int_equal(buf.length, lengths[i]);
        assert_int_equal(strlen(buf_text(&buf)), lengths[i]);
    }
}

static void test_buf_drop_front__moves_the_rest_to_the_front(void **state)
{
    AUTO(buf_clear) struct buf buf = buf_with_max(100);

    (void)state;
    buf_drop_front(&buf, 3);
    buf_add_text(&buf, "abcdef");
    buf_drop_front(&buf, 2);
    assert_string_equal(buf_text(&buf), "cdef");
    buf_drop_front(&buf, 10);
    assert_int_equal(buf.length, 0);
    assert_string_equal(buf_text(&buf), "");
}

static void test_buf_steal__hands_over_and_leaves_an_empty_buffer(void **state)
{
    struct buf buf = buf_with_max(100);
    AUTO_FREE char *empty = buf_steal(&buf);
    AUTO_FREE char *text = NULL;

    (void)state;
    assert_string_equal(empty, "");
    buf_add_text(&buf, "abc");
    text = buf_steal(&buf);
    assert_string_equal(text, "abc");
    assert_int_equal(buf.length, 0);
    assert_null(buf.data);
    buf_add_text(&buf, "d");
    assert_string_equal(buf_text(&buf), "d");
    buf_clear(&buf);
    buf_clear(&buf);
}

static void test_buf_add_json_string__escapes_and_repairs(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "\"\""},
        {"plain text", "\"plain text\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\""},
        {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xff", "\"\xef\xbf\xbd\""},                                 /* never a first byte */
        {"\x80", "\"\xef\xbf\xbd\""},                                 /* a later byte alone */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* half of a pair */
        {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* cut */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* too big */
        {"\xc3x", "\"\xef\xbf\xbdx\""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf_clear) struct buf buf = buf_with_max(100);

        buf_add_json_string(&buf, cases[i].text);
        assert_string_equal(buf_text(&buf), cases[i].json);
    }
}

static void test_buf_add_utf8__keeps_whole_characters_and_replaces_the_rest(void **state)
{
    static const struct {
        const char *text;
        size_t max_bytes;
        const char *want;
    } cases[] = {
        {"", 10, ""},
        {"abc", 0, ""},
        {"abc", 2, "ab"},
        {"abc", 3, "abc"},
        {"a\xc3\xa4z", 2, "a"},
        {"a\xc3\xa4z", 3, "a\xc3\xa4"},
        {"\xf0\x9f\x98\x80z", 3, ""},
        {"a\xffz", 9, "a\xef\xbf\xbdz"},
        {"a\xffz", 3, "a"},
        {"a\xc3", 9, "a\xef\xbf\xbd"},
        {"\xed\xa0\x80", 6, "\xef\xbf\xbd\xef\xbf\xbd"},
        {"a\nb\"", 9, "a\nb\""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(buf_clear) struct buf buf = buf_with_max(100);

        buf_add_text(&buf, "+");
        buf_add_utf8(&buf, cases[i].text, cases[i].max_bytes);
        assert_string_equal(buf_text(&buf) + 1, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buf_add__keeps_what_was_added_and_ends_it),
        cmocka_unit_test(test_buf_add__beyond_the_maximum_changes_nothing_but_the_flag),
        cmocka_unit_test(test_buf_add__is_not_fooled_by_a_huge_length),
        cmocka_unit_test(test_buf_addf__formats_texts_of_any_length),
        cmocka_unit_test(test_buf_drop_front__moves_the_rest_to_the_front),
        cmocka_unit_test(test_buf_steal__hands_over_and_leaves_an_empty_buffer),
        cmocka_unit_test(test_buf_add_json_string__escapes_and_repairs),
        cmocka_unit_test(test_buf_add_utf8__keeps_whole_characters_and_replaces_the_rest),
    };

    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
