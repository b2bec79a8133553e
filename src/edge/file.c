/* SPDX-License-Identifier: Apache-2.0 */
/* file - whole files into memory, bounded, and whether they changed since. */
#include "topofit/file.h"

#include "topofit/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_WAIT_MS 1000 /* somebody may wait for us meanwhile */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static int fail(const char *path, int number, struct error *err)
{
    return error_set(err, error_code_of(number), "%s: %s", path, strerror(number));
}

/* A pipe may have nothing to read yet. return false when nothing comes for too long. */
static bool wait_for_bytes(int fd)
{
    struct pollfd asked = {.fd = fd, .events = POLLIN};

    return poll(&asked, 1, PIPE_WAIT_MS) > 0;
}

static int read_all(int fd, const char *path, struct buf *out, struct error *err)
{
    char piece[16384];
    ssize_t got;

    do {
        got = read(fd, piece, sizeof piece);
        if (got > 0)
            buf_add(out, piece, (size_t)got);
        if (got < 0 && errno == EAGAIN && !wait_for_bytes(fd))
            return error_set(err, ERR_TIMEOUT, "%s: a pipe that gives nothing", path);
    } while ((got > 0 && !out->overflowed) || (got < 0 && (errno == EINTR || errno == EAGAIN)));
    if (got < 0)
        return fail(path, errno, err);
    if (out->overflowed)
        return error_set(err, ERR_LIMIT, "%s: longer than %zu bytes", path, out->max);
    return 0;
}

/* Opened so that it does not wait: a pipe without a writer would hold up whoever reads for ever. */
int file_read(const char *path, struct buf *out, struct error *err)
{
    AUTO(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;

    if (fd < 0)
        return fail(path, errno, err);
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
        return error_set(err, ERR_INVALID, "%s: is a directory", path);
    return read_all(fd, path, out, err);
}

struct file_stamp file_stamp_look(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return (struct file_stamp){0};
    return (struct file_stamp){
        .device = status.st_dev,
        .inode = status.st_ino,
        .bytes = status.st_size,
        .modified = status.st_mtim,
        .changed = status.st_ctim,
    };
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           is_same_time(a->modified, b->modified) && is_same_time(a->changed, b->changed);
}
