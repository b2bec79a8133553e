/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "topofit/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define NOON 1796022918123u /* 2026-11-30T07:15:18.123Z */
#define OUT_MAX (1 << 20)

/* A log that writes into a pipe, with other options than the defaults where given. */
struct fixture {
    struct log *log;
    int read_fd;
    char *text; /* what was read last */
};

static int open_fixture(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof *fixture);

    fixture->read_fd = -1;
    fixture->text = xcalloc(1, OUT_MAX);
    *state = fixture;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *fixture = *state;

    log_free(fixture->log);
    if (fixture->read_fd >= 0)
        close(fixture->read_fd);
    free(fixture->text);
    free(fixture);
    return 0;
}

static int begin(struct fixture *fixture, struct log_options options)
{
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fcntl(ends[1], F_SETPIPE_SZ, OUT_MAX);
    options.fd = ends[1];
    fixture->read_fd = ends[0];
    fixture->log = log_new(&options);
    return ends[1];
}

/* Everything written so far; ends the log's use of the pipe. */
static const char *finish(struct fixture *fixture, int write_fd)
{
    size_t length = 0;
    ssize_t got;

    close(write_fd);
    while ((got = read(fixture->read_fd, fixture->text + length, OUT_MAX - 1 - length)) > 0)
        length += (size_t)got;
    fixture->text[length] = '\0';
    return fixture->text;
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;

    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

static void test_log_write__is_one_line_of_keys_and_values(void **state)
{
    struct fixture *fixture = *state;
    int fd = begin(fixture, log_options_default());
    const struct log_field fields[] = {log_text("pod", "ml/train-0"), log_number("gpus", -2), {0}};

    log_write_at(fixture->log, NOON, LOG_LEVEL_INFO, "pod bound", fields);
    assert_string_equal(finish(fixture, fd), "time=2026-11-30T07:15:18.123Z level=info "
                                             "msg=\"pod bound\" pod=ml/train-0 gpus=-2\n");
}

static void test_log_write__is_one_json_object_on_demand(void **state)
{
    struct fixture *fixture = *state;
    struct log_options options = log_options_default();
    const struct log_field fields[] = {log_text("pod", "a\"b"), log_number("gpus", 2), {0}};
    int fd;

    options.format = LOG_FORMAT_JSON;
    fd = begin(fixture, options);
    log_write_at(fixture->log, NOON, LOG_LEVEL_ERROR, "bind failed", fields);
    assert_string_equal(finish(fixture, fd),
                        "{\"time\":\"2026-11-30T07:15:18.123Z\",\"level\":\"error\","
                        "\"msg\":\"bind failed\",\"pod\":\"a\\\"b\",\"gpus\":2}\n");
}

static void test_log_write__escapes_values_that_could_be_taken_for_more(void **state)
{
    static const struct {
        const char *value, *want;
    } cases[] = {
        {"plain-1.2/x:y", "v=plain-1.2/x:y\n"},
        {"", "v=\"\"\n"},
        {"two words", "v=\"two words\"\n"},
        {"a=b", "v=\"a=b\"\n"},
        {"line\nbreak", "v=\"line\\u000abreak\"\n"},
        {"\x1b[31mred", "v=\"\\u001b[31mred\"\n"},
        {"\x7f", "v=\"\\u007f\"\n"},
        {"\xc2\x9b"
         "31m",
         "v=\"??31m\"\n"},
        {"back\\slash", "v=\"back\\\\slash\"\n"},
        {"\xff", "v=\"\xef\xbf\xbd\"\n"},
        {"gr\xc3\xbc\xc3\x9f", "v=\"gr\xc3\xbc\xc3\x9f\"\n"},
    };
    struct fixture *fixture = *state;
    struct log_options options = log_options_default();
    const char *text;
    int fd;

    options.repeat_max = 0;
    fd = begin(fixture, options);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        log_event(fixture->log, LOG_LEVEL_INFO, "x", log_text("v", cases[i].value));
    text = finish(fixture, fd);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *line = strstr(text, "v=");

        assert_non_null(line);
        if (strncmp(line, cases[i].want, strlen(cases[i].want)) != 0)
            fail_msg("%s is not %s", line, cases[i].want);
        text = strchr(line, '\n') + 1;
    }
}

static void test_log_write__cuts_long_values(void **state)
{
    struct fixture *fixture = *state;
    AUTO_FREE char *value = xcalloc(1, 100001);
    int fd = begin(fixture, log_options_default());
    const char *text;

    memset(value, 0x01, 100000);
    log_event(fixture->log, LOG_LEVEL_INFO, "x", log_text("v", value));
    text = finish(fixture, fd);
    assert_true(strlen(text) < 8 * LOG_VALUE_MAX);
    assert_int_equal(count_lines(text), 1);
}

static void test_log_write__drops_lower_levels(void **state)
{
    struct fixture *fixture = *state;
    struct log_options options = log_options_default();
    const char *text;
    int fd;

    options.level = LOG_LEVEL_WARN;
    fd = begin(fixture, options);
    log_event(fixture->log, LOG_LEVEL_DEBUG, "debug message");
    log_event(fixture->log, LOG_LEVEL_INFO, "info message");
    log_event(fixture->log, LOG_LEVEL_WARN, "warn message");
    log_event(fixture->log, LOG_LEVEL_ERROR, "error message");
    text = finish(fixture, fd);
    assert_int_equal(count_lines(text), 2);
    assert_contains(text, "level=warn msg=\"warn message\"\n");
    assert_contains(text, "level=error msg=\"error message\"\n");
}

static void say(struct fixture *fixture, uint64_t after_ms, enum log_level level,
                const char *message)
{
    const struct log_field none[] = {{0}};

    log_write_at(fixture->log, NOON + after_ms, level, message, none);
}

static int begin_limited(struct fixture *fixture)
{
    struct log_options options = log_options_default();

    options.repeat_max = 3;
    options.repeat_period_ms = 1000;
    return begin(fixture, options);
}

static void test_log_write__holds_back_a_message_that_repeats(void **state)
{
    struct fixture *fixture = *state;
    int fd = begin_limited(fixture);

    for (uint64_t i = 0; i < 100; i++)
        say(fixture, i, LOG_LEVEL_WARN, "watch broke");
    assert_int_equal(count_lines(finish(fixture, fd)), 3);
}

static void test_log_write__tells_how_many_were_held_back(void **state)
{
    struct fixture *fixture = *state;
    int fd = begin_limited(fixture);
    const char *text;

    for (uint64_t i = 0; i < 100; i++)
        say(fixture, i, LOG_LEVEL_WARN, "watch broke");
    say(fixture, 1000, LOG_LEVEL_WARN, "watch broke");
    say(fixture, 1001, LOG_LEVEL_WARN, "watch broke");
    text = finish(fixture, fd);
    assert_int_equal(count_lines(text), 5);
    assert_contains(text, "msg=\"watch broke\" suppressed=97\n");
    assert_null(strstr(strstr(text, "suppressed") + 1, "suppressed"));
}

static void test_log_write__lets_other_messages_through(void **state)
{
    struct fixture *fixture = *state;
    int fd = begin_limited(fixture);
    const char *text;

    for (uint64_t i = 0; i < 100; i++)
        say(fixture, i, LOG_LEVEL_WARN, "watch broke");
    say(fixture, 100, LOG_LEVEL_WARN, "another thing");
    say(fixture, 100, LOG_LEVEL_ERROR, "watch broke");
    text = finish(fixture, fd);
    assert_int_equal(count_lines(text), 5);
    assert_contains(text, "level=warn msg=\"another thing\"");
    assert_contains(text, "level=error msg=\"watch broke\"");
}

static void test_log_write__is_not_silenced_by_a_clock_set_back(void **state)
{
    struct fixture *fixture = *state;
    int fd = begin_limited(fixture);
    const struct log_field none[] = {{0}};

    for (uint64_t i = 0; i < 10; i++)
        say(fixture, i, LOG_LEVEL_WARN, "watch broke");
    log_write_at(fixture->log, NOON - 3600000, LOG_LEVEL_WARN, "watch broke", none);
    assert_int_equal(count_lines(finish(fixture, fd)), 4);
}

static void test_log_write__watches_more_messages_than_it_can_remember(void **state)
{
    struct fixture *fixture = *state;
    int fd = begin_limited(fixture);

    for (unsigned i = 0; i < 500; i++) {
        char message[32];

        snprintf(message, sizeof message, "message %u", i);
        say(fixture, i, LOG_LEVEL_INFO, message);
    }
    assert_int_equal(count_lines(finish(fixture, fd)), 500);
}

#define THREADS 4
#define LINES 200

static void *write_lines(void *log)
{
    for (unsigned i = 0; i < LINES; i++)
        log_event(log, LOG_LEVEL_INFO, "many", log_number("i", i), log_text("end", "here"));
    return NULL;
}

static void test_log_write__keeps_lines_of_threads_apart(void **state)
{
    struct fixture *fixture = *state;
    struct log_options options = log_options_default();
    pthread_t threads[THREADS];
    size_t lines = 0;
    int fd;

    options.repeat_max = 0;
    fd = begin(fixture, options);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, write_lines, fixture->log);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    finish(fixture, fd);
    for (char *rest = fixture->text, *line = strtok_r(rest, "\n", &rest); line != NULL;
         line = strtok_r(rest, "\n", &rest), lines++) {
        assert_int_equal(strncmp(line, "time=", 5), 0);
        assert_string_equal(line + strlen(line) - 9, " end=here");
    }
    assert_int_equal(lines, THREADS * LINES);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(test_log_write__is_one_line_of_keys_and_values),
        TEST(test_log_write__is_one_json_object_on_demand),
        TEST(test_log_write__escapes_values_that_could_be_taken_for_more),
        TEST(test_log_write__cuts_long_values),
        TEST(test_log_write__drops_lower_levels),
        TEST(test_log_write__holds_back_a_message_that_repeats),
        TEST(test_log_write__tells_how_many_were_held_back),
        TEST(test_log_write__lets_other_messages_through),
        TEST(test_log_write__is_not_silenced_by_a_clock_set_back),
        TEST(test_log_write__watches_more_messages_than_it_can_remember),
        TEST(test_log_write__keeps_lines_of_threads_apart),
    };
#undef TEST

    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
