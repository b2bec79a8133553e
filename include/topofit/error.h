/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error - why an operation failed, on the caller's stack.
 *
 * A "no" is a value (see reason.h), a failure is a struct error, a bug is an assert. A fallible
 * function returns 0 or a negative error code and takes `struct error *err` as its last argument:
 * it starts zeroed, is never NULL, is written only on failure, and needs no freeing. Outputs are
 * written only on success. The first error wins; callers add context with error_wrap().
 */
#ifndef TOPOFIT_ERROR_H
#define TOPOFIT_ERROR_H

/* What a caller may want to branch on: an HTTP status, an exit code, a retry. */
enum error_code {
    ERR_NONE = 0,
    ERR_INVALID,   /* the input is wrong: reject it, do not retry */
    ERR_LIMIT,     /* the input is too big or too many */
    ERR_NOT_FOUND, /* no such object */
    ERR_CONFLICT,  /* the state moved on: look again, then retry */
    ERR_DENIED,    /* credentials or rights are missing */
    ERR_TIMEOUT,   /* no answer in time: back off, then retry */
    ERR_IO,        /* the connection or the file failed: back off, then retry */
    ERR_BUSY,      /* too much work in flight: the caller may ask again */
};

#define ERROR_TEXT_MAX 480

struct error {
    enum error_code code;
    char text[ERROR_TEXT_MAX]; /* one line, no trailing full stop or newline; may be cut */
};

/*
 * Record a failure.
 *
 * err     must be empty: an error is set once, where it happens.
 * return  the negative code, so that a failure is one line: return error_set(err, ERR_IO, ...).
 */
int error_set(struct error *err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Put context in front of a recorded failure: "config /etc/x.yaml: line 3: unknown key".
 *
 * err     must be set.
 * return  the negative code of err.
 */
int error_wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Hand a recorded failure on as it is: return error_pass(err).
 *
 * err     must be set.
 * return  the negative code of err.
 */
int error_pass(const struct error *err);

/* The code for an errno of a file or a program: ERR_NOT_FOUND, ERR_DENIED, else ERR_IO. */
enum error_code error_code_of(int errno_value);

/* Forget a failure that was dealt with, so that err can be used again. */
void error_clear(struct error *err);

#endif
