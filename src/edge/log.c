/* SPDX-License-Identifier: Apache-2.0 */
/* log - one line per event, for people and for machines. */
#include "topofit/log.h"

#include "topofit/buf.h"
#include "topofit/clock.h"
#include "topofit/mem.h"
#include "topofit/moment.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every value and key cut to its maximum, and each byte escaped to six, still fits. */
#define LINE_MAX_BYTES ((LOG_FIELDS_MAX + 4) * (2 * LOG_VALUE_MAX * 6 + 16))

/* Messages whose repetition is watched at a time; the one seen longest ago gives way. */
#define REPEATS_MAX 64
#define MESSAGE_KEPT 96

struct repeat {
    char message[MESSAGE_KEPT];
    enum log_level level;
    uint64_t since_ms;   /* begin of the period */
    unsigned written;    /* in this period; 0 = slot unused */
    uint64_t suppressed; /* since the last line that was written */
};

struct log {
    struct log_options options;
    pthread_mutex_t lock; /* the repeats, the order of lines, and of the options level and format */
    struct repeat repeats[REPEATS_MAX];
};

static const char *const level_names[] = {
    [LOG_LEVEL_DEBUG] = "debug",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_WARN] = "warn",
    [LOG_LEVEL_ERROR] = "error",
};

/* --- repetition ------------------------------------------------------------------------------- */

/* The slot of a message, or the one to use for it. */
static struct repeat *find_repeat(struct log *log, enum log_level level, const char *message)
{
    struct repeat *oldest = &log->repeats[0];

    for (size_t i = 0; i < REPEATS_MAX; i++) {
        struct repeat *repeat = &log->repeats[i];

        if (repeat->written > 0 && repeat->level == level &&
            strncmp(repeat->message, message, MESSAGE_KEPT - 1) == 0)
            return repeat;
        if (repeat->since_ms < oldest->since_ms)
            oldest = repeat;
    }
    *oldest = (struct repeat){.level = level};
    strncpy(oldest->message, message, MESSAGE_KEPT - 1);
    return oldest;
}

/* May the message be written now? out_suppressed: how many were held back before it. */
static bool may_write(struct log *log, uint64_t unix_ms, enum log_level level, const char *message,
                      uint64_t *out_suppressed)
{
    struct repeat *repeat;

    *out_suppressed = 0;
    if (log->options.repeat_max == 0)
        return true;
    repeat = find_repeat(log, level, message);
    /* A clock set back must not silence a message: the difference is then huge. */
    if (repeat->written == 0 || unix_ms - repeat->since_ms >= log->options.repeat_period_ms) {
        repeat->since_ms = unix_ms;
        repeat->written = 0;
    }
    if (repeat->written >= log->options.repeat_max) {
        repeat->suppressed++;
        return false;
    }
    repeat->written++;
    *out_suppressed = repeat->suppressed;
    repeat->suppressed = 0;
    return true;
}

/* --- the line --------------------------------------------------------------------------------- */

/* Control characters that JSON allows and terminals obey: U+0080 to U+009F. */
static void blunt_c1(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at != '\0'; at++) {
        if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f)
            at[0] = at[1] = '?';
    }
}

static void add_quoted(struct buf *line, const char *text)
{
    char cut[LOG_VALUE_MAX + 1] = {0};

    strncpy(cut, text, LOG_VALUE_MAX);
    blunt_c1(cut);
    buf_add_json_string(line, cut);
}

/* Words that stand without quotes in text format. */
static bool is_plain(const char *text)
{
    if (*text == '\0' || strlen(text) > LOG_VALUE_MAX)
        return false;
    for (; *text != '\0'; text++) {
        if (*text <= ' ' || *text > '~' || *text == '"' || *text == '=' || *text == '\\')
            return false;
    }
    return true;
}

static void add_key(struct buf *line, enum log_format format, const char *key)
{
    if (format == LOG_FORMAT_JSON) {
        buf_add_byte(line, line->length > 0 ? ',' : '{');
        add_quoted(line, key);
        buf_add_byte(line, ':');
    } else {
        buf_addf(line, "%s%.*s=", line->length > 0 ? " " : "", LOG_VALUE_MAX, key);
    }
}

static void add_text(struct buf *line, enum log_format format, const char *key, const char *text)
{
    add_key(line, format, key);
    if (format == LOG_FORMAT_TEXT && is_plain(text))
        buf_add_text(line, text);
    else
        add_quoted(line, text);
}

static void add_number(struct buf *line, enum log_format format, const char *key, int64_t number)
{
    add_key(line, format, key);
    buf_addf(line, "%" PRId64, number);
}

static void add_time(struct buf *line, enum log_format format, uint64_t unix_ms)
{
    char text[MOMENT_TEXT_BYTES];

    moment_write(unix_ms, 3, text);
    add_text(line, format, "time", text);
}

static void add_fields(struct buf *line, enum log_format format, const struct log_field *fields)
{
    for (size_t i = 0; i < LOG_FIELDS_MAX && fields[i].key != NULL; i++) {
        if (fields[i].text != NULL)
            add_text(line, format, fields[i].key, fields[i].text);
        else
            add_number(line, format, fields[i].key, fields[i].number);
    }
}

/* Would writing PIPE_BUF bytes wait? A pipe that nobody reads must not stop the program. */
static bool would_wait(int fd)
{
    struct pollfd asked = {.fd = fd, .events = POLLOUT};

    return poll(&asked, 1, 0) == 0;
}

/* When nobody takes the lines there is nobody to tell: what does not go is lost. */
static void write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0 && !would_wait(fd)) {
        ssize_t written = write(fd, bytes, length < PIPE_BUF ? length : PIPE_BUF);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        bytes += written;
        length -= (size_t)written;
    }
}

/* --- the module ------------------------------------------------------------------------------- */

struct log_options log_options_default(void)
{
    return (struct log_options){.fd = STDERR_FILENO,
                                .level = LOG_LEVEL_INFO,
                                .format = LOG_FORMAT_TEXT,
                                .repeat_max = 10,
                                .repeat_period_ms = 10000};
}

struct log *log_new(const struct log_options *options)
{
    struct log *log = xcalloc(1, sizeof *log);

    log->options = *options;
    pthread_mutex_init(&log->lock, NULL);
    return log;
}

void log_free(struct log *log)
{
    if (log == NULL)
        return;
    pthread_mutex_destroy(&log->lock);
    free(log);
}

struct log_field log_text(const char *key, const char *text)
{
    return (struct log_field){.key = key, .text = text != NULL ? text : ""};
}

struct log_field log_number(const char *key, int64_t number)
{
    return (struct log_field){.key = key, .number = number};
}

void log_configure(struct log *log, enum log_level level, enum log_format format)
{
    pthread_mutex_lock(&log->lock);
    log->options.level = level;
    log->options.format = format;
    pthread_mutex_unlock(&log->lock);
}

void log_write_at(struct log *log, uint64_t unix_ms, enum log_level level, const char *message,
                  const struct log_field *fields)
{
    AUTO(buf_clear) struct buf line = buf_with_max(LINE_MAX_BYTES);
    enum log_format format;
    uint64_t suppressed;

    pthread_mutex_lock(&log->lock);
    format = log->options.format;
    if (level >= log->options.level && may_write(log, unix_ms, level, message, &suppressed)) {
        add_time(&line, format, unix_ms);
        add_text(&line, format, "level", level_names[level]);
        add_key(&line, format, "msg");
        add_quoted(&line, message);
        add_fields(&line, format, fields);
        if (suppressed > 0)
            add_number(&line, format, "suppressed", (int64_t)suppressed);
        buf_add_text(&line, format == LOG_FORMAT_JSON ? "}\n" : "\n");
        write_all(log->options.fd, line.data, line.length);
    }
    pthread_mutex_unlock(&log->lock);
}

void log_write(struct log *log, enum log_level level, const char *message,
               const struct log_field *fields)
{
    log_write_at(log, clock_unix_ms(), level, message, fields);
}
