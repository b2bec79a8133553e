/* SPDX-License-Identifier: Apache-2.0 */
/* file - whole files into memory, bounded, and whether they changed since. */
#include "topofit/file.h"

#include "topofit/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PIPE_WAIT_MS 1000 /* somebody may wait for us meanwhile */
#define FOR_EVER (-1)

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static int fail(const char *path, int number, struct error *err)
{
    return error_set(err, error_code_of(number), "%s: %s", path, strerror(number));
}

/* Something to read, or the end. return false when neither comes for so long. */
static bool wait_for_bytes(int fd, int wait_ms)
{
    struct pollfd asked = {.fd = fd, .events = POLLIN};
    int result;

    do {
        result = poll(&asked, 1, wait_ms);
    } while (result < 0 && errno == EINTR);
    return result > 0;
}

/* A pipe with a name: the others have had a writer from the start. */
static bool is_fifo(int fd)
{
    struct statfs system;
    struct stat status;

    return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && fstatfs(fd, &system) == 0 &&
           system.f_type != PIPEFS_MAGIC;
}

/* Has nobody opened it for writing yet? To read() that looks like the end. */
static bool is_unmet(int fd)
{
    return is_fifo(fd) && !wait_for_bytes(fd, 0);
}

/* Some bytes; 0 at the end. Less than that with errno, or ETIMEDOUT when a pipe does not give any.
 */
static ssize_t read_piece(int fd, int wait_ms, bool is_first, char *piece, size_t size)
{
    for (;;) {
        ssize_t got = read(fd, piece, size);
        bool is_early = got == 0 && is_first && is_unmet(fd);

        if (got < 0 && errno == EINTR)
            continue;
        if (!is_early && (got >= 0 || errno != EAGAIN))
            return got;
        if ((is_early && wait_ms != FOR_EVER) || !wait_for_bytes(fd, wait_ms)) {
            errno = ETIMEDOUT;
            return -1;
        }
        is_first = is_first && !is_early;
    }
}

static int read_all(int fd, const char *path, int wait_ms, struct buf *out, struct error *err)
{
    char piece[16384];
    bool is_first = true;
    ssize_t got;

    do {
        got = read_piece(fd, wait_ms, is_first, piece, sizeof piece);
        if (got > 0)
            buf_add(out, piece, (size_t)got);
        is_first = false;
    } while (got > 0 && !out->overflowed);
    if (got < 0 && errno == ETIMEDOUT)
        return error_set(err, ERR_TIMEOUT, "%s: a pipe that gives nothing", path);
    if (got < 0)
        return fail(path, errno, err);
    if (out->overflowed)
        return error_set(err, ERR_LIMIT, "%s: longer than %zu bytes", path, out->max);
    return 0;
}

/* Opened so that it does not wait: a pipe without a writer would hold up whoever reads for ever. */
static int read_path(const char *path, int wait_ms, struct buf *out, struct error *err)
{
    AUTO(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;

    if (fd < 0)
        return fail(path, errno, err);
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
        return error_set(err, ERR_INVALID, "%s: is a directory", path);
    return read_all(fd, path, wait_ms, out, err);
}

int file_read(const char *path, struct buf *out, struct error *err)
{
    return read_path(path, PIPE_WAIT_MS, out, err);
}

int file_read_whole(const char *path, struct buf *out, struct error *err)
{
    return read_path(path, FOR_EVER, out, err);
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
