/* SPDX-License-Identifier: Apache-2.0 */
/* file - whole files into memory, bounded, and whether they changed since. */
#ifndef TOPOFIT_FILE_H
#define TOPOFIT_FILE_H

#include "topofit/buf.h"
#include "topofit/error.h"

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/*
 * Append a file to a buffer, at most up to the buffer's maximum. "-" is not special. A pipe is read
 * to its end, but not waited for: one that nobody has opened for writing yet is ERR_TIMEOUT, and so
 * is one that gives nothing for a second.
 *
 * errors  ERR_NOT_FOUND, ERR_DENIED, ERR_IO, ERR_INVALID for a folder, ERR_LIMIT when it is longer;
 * all name the file. After an error the buffer may hold a part.
 */
int file_read(const char *path, struct buf *out, struct error *err);

/* The same for whoever keeps nobody waiting: a pipe is waited for, until it comes to its end. */
int file_read_whole(const char *path, struct buf *out, struct error *err);

/* What tells that a file is another one, or was written to. All zero: it cannot be looked at. */
struct file_stamp {
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec modified, changed;
};

/* The stamp of what a path leads to, links followed. */
struct file_stamp file_stamp_look(const char *path);

bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b);

#endif
