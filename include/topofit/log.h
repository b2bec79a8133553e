/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log - one line per event, for people and for machines.
 *
 * `time=2026-11-30T07:15:18.123Z level=info msg="pod bound" pod=ml/train-0 node=n1`, or the same
 * as one JSON object. What comes from outside is a value, never part of the message: values are
 * escaped, so that nobody can write lines or control a terminal through them.
 *
 * The same message again and again is held back, and the next line of it tells how many were:
 * `suppressed=312`. A message is the same when level and text are; values do not matter.
 *
 * Only edge, cli and main log. Threads: safe from any thread. A reader that does not
 * keep up loses lines; nobody waits for it.
 */
#ifndef TOPOFIT_LOG_H
#define TOPOFIT_LOG_H

#include <stdint.h>

#include "topofit/error.h"

enum log_level { LOG_LEVEL_DEBUG = 0, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };
enum log_format { LOG_FORMAT_TEXT = 0, LOG_FORMAT_JSON };

/* One key=value of a line. Made by log_text and log_number. */
struct log_field {
    const char *key;
    const char *text; /* NULL: the number counts */
    int64_t number;
};

struct log_options {
    int fd;               /* where lines go, usually 2; borrowed */
    enum log_level level; /* lower levels are dropped */
    enum log_format format;
    unsigned repeat_max; /* lines of one message per period; 0 = any number */
    uint64_t repeat_period_ms;
};

/* What the daemon uses: stderr, info, text, 10 lines of one message in 10 s. */
struct log_options log_options_default(void);

struct log;
struct log *log_new(const struct log_options *options);
void log_free(struct log *log);

/* From now on. From any thread. */
void log_configure(struct log *log, enum log_level level, enum log_format format);

/* A value; NULL text is written as "". At most LOG_VALUE_MAX bytes of it are kept. */
#define LOG_VALUE_MAX 1024
#define LOG_FIELDS_MAX 16
struct log_field log_text(const char *key, const char *text);
struct log_field log_number(const char *key, int64_t number);

/* log_event(log, LOG_LEVEL_INFO, "pod bound", log_text("pod", name), log_number("gpus", 2)); */
#define log_event(log, level, message, ...) \
    log_write(log, level, message, (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){0}})

/*
 * Write an event, stamped with the present time.
 *
 * message  constant text, lower case, no full stop: it names the event.
 * fields   up to LOG_FIELDS_MAX, ended by one without a key.
 */
void log_write(struct log *log, enum log_level level, const char *message,
               const struct log_field *fields);

/* The same at a given time since 1970. */
void log_write_at(struct log *log, uint64_t unix_ms, enum log_level level, const char *message,
                  const struct log_field *fields);

#endif
