/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf - a byte buffer that grows up to a stated maximum.
 *
 * Every buffer knows its maximum. Adding beyond it changes nothing but `overflowed`, which stays
 * set: a writer adds without looking and asks once at the end. `data` is always NUL-terminated
 * behind `length`, and NULL only before the first byte.
 */
#ifndef TOPOFIT_BUF_H
#define TOPOFIT_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data;
    size_t length; /* bytes in use, without the NUL */
    size_t capacity;
    size_t max; /* most bytes `length` may reach */
    bool overflowed;
};

/* An empty buffer for at most `max` bytes; nothing is allocated yet. */
struct buf buf_with_max(size_t max);

/* Append bytes, a string, one byte, or formatted text. Sets `overflowed` beyond the maximum. */
void buf_add(struct buf *buf, const void *bytes, size_t length);
void buf_add_text(struct buf *buf, const char *text);
void buf_add_byte(struct buf *buf, char byte);
void buf_addf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Append text as UTF-8: at most max_bytes, whole characters only; bytes that are not UTF-8 become
 * U+FFFD.
 */
void buf_add_utf8(struct buf *buf, const char *text, size_t max_bytes);

/* Append text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void buf_add_json_string(struct buf *buf, const char *text);

/*
 * Room for `length` bytes behind the contents, to be written in place and then taken in with
 * buf_fill(); valid until the buffer is used in another way. NULL beyond the maximum, which counts
 * as an overflow.
 */
char *buf_room(struct buf *buf, size_t length);
void buf_fill(struct buf *buf, size_t length);

/* Drop the first `count` bytes; the rest moves to the front. */
void buf_drop_front(struct buf *buf, size_t count);

/* Forget the contents (and the overflow) but keep the memory for reuse. */
void buf_reset(struct buf *buf);

/* Hand the bytes to the caller, who frees them; the buffer is empty again. Never NULL. */
char *buf_steal(struct buf *buf);

/* Free the memory. Accepts a zeroed buffer. */
void buf_clear(struct buf *buf);

/* The contents as a string; "" when nothing was added. Borrowed. */
const char *buf_text(const struct buf *buf);

#endif
