/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child - another program, run beside us, bounded in time and output. Nobody waits for it.
 *
 * It is started without a shell, in a process group of its own, with nothing to read, no other
 * files of ours open, and no signal blocked or ignored. Its owner polls child_fds and calls
 * child_step when something came, or at child_due_ms. A child that takes too long or writes too
 * much is killed with its group. It has ended when its stdout was closed, by it and by all that
 * it started, and it exited; a helper that it leaves behind may keep stderr, and lives on. Belongs
 * to one thread.
 */
#ifndef TOPOFIT_CHILD_H
#define TOPOFIT_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "topofit/buf.h"
#include "topofit/error.h"

#define CHILD_COMPLAINTS_MAX 240 /* bytes of the end of stderr that are kept */

struct child_plan {
    const char *command;      /* a path, or a name to look for in PATH */
    char *const *arguments;   /* without the command, ended by NULL */
    char *const *environment; /* "NAME=value", ended by NULL */
    size_t output_max_bytes;  /* of stdout */
    uint64_t time_max_ms;
};

struct child {
    pid_t pid;                    /* 0: none runs */
    int output_fd, complaints_fd; /* -1: ended */
    uint64_t deadline_ms;
    uint64_t time_max_ms;
    struct buf output;     /* stdout so far */
    struct buf complaints; /* the end of stderr */
};

/*
 * Start a program. The plan is copied as far as it is needed.
 *
 * out     zeroed, or cleared.
 * errors  ERR_NOT_FOUND or ERR_DENIED when there is no such program or it may not be run, ERR_IO.
 */
int child_start(struct child *out, const struct child_plan *plan, uint64_t now_ms,
                struct error *err);

/*
 * Take what it wrote, a bounded part of it at a time; see whether it has ended.
 *
 * return  true when it has, well or badly; then err tells which: ERR_TIMEOUT, ERR_LIMIT, ERR_IO
 *         with its exit status and the end of what it wrote to stderr, or none. The output stays
 *         until child_clear.
 */
bool child_step(struct child *child, uint64_t now_ms, struct error *err);

/* What to poll for reading: 0, 1 or 2 file descriptors. */
size_t child_fds(const struct child *child, int fds[2]);

/* When to call child_step at the latest; UINT64_MAX when none runs. */
uint64_t child_due_ms(const struct child *child, uint64_t now_ms);

/* Kill it if it still runs, and forget it. Accepts a zeroed or cleared one. */
void child_clear(struct child *child);

#endif
