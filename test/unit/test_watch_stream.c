/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/watch_stream.h"

#include <stdlib.h>

#define LINE_MAX 64

/* Feed `bytes` in pieces of `piece` bytes; append every line and a '|' to `out`. */
static enum watch_step feed(struct watch_stream *stream, const char *bytes, size_t length,
                            size_t piece, struct buf *out)
{
    enum watch_step step = WATCH_NEEDS_BYTES;

    for (size_t at = 0; at < length && step != WATCH_TOO_LONG; at += piece) {
        const char *next = bytes + at;
        size_t left = length - at < piece ? length - at : piece;
        const char *line;
        size_t line_length;

        while ((step = watch_stream_next(stream, &next, &left, &line, &line_length)) ==
               WATCH_LINE) {
            buf_add(out, line, line_length);
            buf_add_byte(out, '|');
        }
    }
    return step;
}

static void test_next__gives_the_same_lines_for_pieces_of_any_size(void **state)
{
    static const char text[] = "{\"a\":1}\n\n{\"b\":\"\xc3\xa4\"}\r\n\r\n{\"c\":[]}\nrest";

    (void)state;
    for (size_t piece = 1; piece <= sizeof text; piece++) {
        AUTO(watch_stream_clear) struct watch_stream stream;
        AUTO(buf_clear) struct buf lines = buf_with_max(1024);

        watch_stream_init(&stream, LINE_MAX);
        assert_int_equal(feed(&stream, text, sizeof text - 1, piece, &lines), WATCH_NEEDS_BYTES);
        assert_string_equal(buf_text(&lines), "{\"a\":1}|{\"b\":\"\xc3\xa4\"}|{\"c\":[]}|");
    }
}

static void test_next__takes_a_line_of_the_maximum_and_refuses_one_byte_more(void **state)
{
    char text[LINE_MAX + 3];

    (void)state;
    memset(text, 'x', sizeof text);
    for (size_t piece = 1; piece <= sizeof text; piece++) {
        for (size_t length = LINE_MAX; length <= LINE_MAX + 1; length++) {
            AUTO(watch_stream_clear) struct watch_stream stream;
            AUTO(buf_clear) struct buf lines = buf_with_max(1024);
            enum watch_step want = length == LINE_MAX ? WATCH_NEEDS_BYTES : WATCH_TOO_LONG;

            watch_stream_init(&stream, LINE_MAX);
            text[length] = '\n';
            assert_int_equal(feed(&stream, text, length + 1, piece, &lines), want);
            assert_int_equal(lines.length, length == LINE_MAX ? LINE_MAX + 1 : 0);
            text[length] = 'x';
        }
    }
}

static void test_next__stays_broken_until_reset(void **state)
{
    AUTO(watch_stream_clear) struct watch_stream stream;
    AUTO(buf_clear) struct buf lines = buf_with_max(1024);
    char text[LINE_MAX + 1];

    (void)state;
    memset(text, 'x', sizeof text);
    watch_stream_init(&stream, LINE_MAX);
    assert_int_equal(feed(&stream, text, sizeof text, 7, &lines), WATCH_TOO_LONG);
    assert_int_equal(feed(&stream, "\nok\n", 4, 4, &lines), WATCH_TOO_LONG);
    watch_stream_reset(&stream);
    assert_int_equal(feed(&stream, "ok\n", 3, 3, &lines), WATCH_NEEDS_BYTES);
    assert_string_equal(buf_text(&lines), "ok|");
}

/* The two objects and the bookmark that a real API server sent, cut in two at every byte. */
static void test_next__cuts_a_captured_watch_anywhere(void **state)
{
    size_t length;
    AUTO_FREE char *file =
        test_read_file(TEST_DATA "/captured/api/watch-from-0-with-bookmarks.txt", &length);
    const char *body = strstr(file, "HTTP 200\n") + strlen("HTTP 200\n");
    size_t body_length = length - (size_t)(body - file);

    AUTO(buf_clear) struct buf whole = buf_with_max(1 << 20);
    AUTO(watch_stream_clear) struct watch_stream stream;

    (void)state;
    watch_stream_init(&stream, 1 << 16);
    feed(&stream, body, body_length, body_length, &whole);
    assert_contains(buf_text(&whole), "}|{\"type\":\"BOOKMARK\"");
    for (size_t cut = 1; cut < body_length; cut++) {
        AUTO(buf_clear) struct buf lines = buf_with_max(1 << 20);

        watch_stream_reset(&stream);
        feed(&stream, body, cut, body_length, &lines);
        feed(&stream, body + cut, body_length - cut, body_length, &lines);
        assert_string_equal(buf_text(&lines), buf_text(&whole));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next__gives_the_same_lines_for_pieces_of_any_size),
        cmocka_unit_test(test_next__takes_a_line_of_the_maximum_and_refuses_one_byte_more),
        cmocka_unit_test(test_next__stays_broken_until_reset),
        cmocka_unit_test(test_next__cuts_a_captured_watch_anywhere),
    };

    return cmocka_run_group_tests_name("watch_stream", tests, NULL, NULL);
}
