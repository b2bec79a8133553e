/* SPDX-License-Identifier: Apache-2.0 */
/* file - whole files into memory, bounded. */
#include "topofit/file.h"

#include "topofit/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static enum error_code code_of(int number)
{
    if (number == ENOENT || number == ENOTDIR)
        return ERR_NOT_FOUND;
    return number == EACCES || number == EPERM ? ERR_DENIED : ERR_IO;
}

static int fail(const char *path, int number, struct error *err)
{
    return error_set(err, code_of(number), "%s: %s", path, strerror(number));
}

int file_read(const char *path, struct buf *out, struct error *err)
{
    AUTO(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char piece[16384];
    struct stat status;
    ssize_t got;

    if (fd < 0)
        return fail(path, errno, err);
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
        return error_set(err, ERR_INVALID, "%s: is a directory", path);
    do {
        got = read(fd, piece, sizeof piece);
        if (got > 0)
            buf_add(out, piece, (size_t)got);
    } while ((got > 0 && !out->overflowed) || (got < 0 && errno == EINTR));
    if (got < 0)
        return fail(path, errno, err);
    if (out->overflowed)
        return error_set(err, ERR_LIMIT, "%s: longer than %zu bytes", path, out->max);
    return 0;
}
