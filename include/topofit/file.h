/* SPDX-License-Identifier: Apache-2.0 */
/* file - whole files into memory, bounded. */
#ifndef TOPOFIT_FILE_H
#define TOPOFIT_FILE_H

#include "topofit/buf.h"
#include "topofit/error.h"

/*
 * Append a file to a buffer, at most up to the buffer's maximum. "-" is not special. A pipe is read
 * to its end, but not waited for: one without a writer is empty, one that gives nothing for a
 * second is ERR_TIMEOUT.
 *
 * errors  ERR_NOT_FOUND, ERR_DENIED, ERR_IO, ERR_INVALID for a folder, ERR_LIMIT when it is longer;
 * all name the file. After an error the buffer may hold a part.
 */
int file_read(const char *path, struct buf *out, struct error *err);

#endif
