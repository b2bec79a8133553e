/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault - what the hostile server does to a request, and which requests it does it to.
 *
 * Written as words: "bind executed-reset", "watch:pods cut 300", "any status 429 1".
 */
#ifndef TOPOFIT_CHAOS_FAULT_H
#define TOPOFIT_CHAOS_FAULT_H

#include "topofit/buf.h"
#include "topofit/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Name, arguments, what it does. */
#define FAULTS(X) \
    X(STATUS, "status", "CODE [RETRY_AFTER_S]", "refuses, and executes nothing") \
    X(GONE, "gone", "", "a stream that says 410 as an event and ends") \
    X(EOF, "eof", "", "answers nothing and closes; a stream opens and ends at once") \
    X(SILENT, "silent", "[MS]", "never answers; closes after MS") \
    X(STALL, "stall", "BYTES [MS]", "stops after BYTES without closing; resets after MS") \
    X(CUT, "cut", "BYTES", "after BYTES the stream ends, as if it were complete") \
    X(BREAK, "break", "BYTES", "after BYTES the connection is closed") \
    X(RESET, "reset", "BYTES", "after BYTES the connection is reset") \
    X(BYTEWISE, "bytewise", "", "each byte is a chunk of its own") \
    X(SPLIT, "split", "", "chunks end inside of characters") \
    X(DRIP, "drip", "BYTES MS", "BYTES every MS") \
    X(DELAY, "delay", "MS", "executes at once, answers after MS") \
    X(LATE, "late", "MS", "executes after MS, even when nobody waits any more") \
    X(EXECUTED_RESET, "executed-reset", "", "executes, then resets instead of answering") \
    X(EXECUTED_SILENT, "executed-silent", "[MS]", "executes, never answers; closes after MS") \
    X(EXECUTED_STATUS, "executed-status", "CODE", "executes, and says it failed") \
    X(COMPACT, "compact", "", "forgets all older versions, then executes") \
    X(BOOKMARKS, "bookmarks", "MS", "a stream of nothing but bookmarks, for MS") \
    X(GARBAGE, "garbage", "", "200 and bytes that are no JSON")

enum fault_action {
    FAULT_NONE = 0,
#define X(name, word, arguments, text) FAULT_##name,
    FAULTS(X)
#undef X
};

struct fault {
    enum fault_action action;
    unsigned numbers[2]; /* its arguments; 0 where none was given */
};

/* Which requests: a verb and, where it matters, a resource. */
enum fault_verb {
    VERB_ANY = 0,
    VERB_LIST,
    VERB_PAGE, /* a list that goes on */
    VERB_WATCH,
    VERB_GET,
    VERB_BIND,
    VERB_POST,
    VERB_PUT,
    VERB_PATCH,
};

struct fault_target {
    enum fault_verb verb;
    char resource[16]; /* "pods"; "" = any */
};

/* "watch:pods" and "cut 300". errors: ERR_INVALID, with what is possible. */
int fault_target_read(const char *word, struct fault_target *out, struct error *err);
int fault_read(const char *words, struct fault *out, struct error *err);

/* The verb of a request. */
enum fault_verb fault_verb_of(const char *method, const char *path);
bool fault_target_takes(const struct fault_target *target, const char *method, const char *path);

/* Lines for people: all faults, all targets. */
void fault_describe(struct buf *out);

#endif
