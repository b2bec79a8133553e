/* SPDX-License-Identifier: Apache-2.0 */
/* loop - waits for sockets and pipes, and tells who is ready. */
#include "loop.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

struct loop loop_open(void)
{
    struct loop loop = {.epoll = epoll_create1(EPOLL_CLOEXEC)};

    assert(loop.epoll >= 0);
    return loop;
}

void loop_close(struct loop *loop)
{
    close(loop->epoll);
}

uint64_t loop_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void control(struct loop *loop, int operation, struct loop_source *source)
{
    struct epoll_event event = {.events = EPOLLIN | (source->wants_write ? EPOLLOUT : 0u),
                                .data.ptr = source};
    int result = epoll_ctl(loop->epoll, operation, source->fd, &event);

    assert(result == 0);
}

void loop_add(struct loop *loop, struct loop_source *source)
{
    control(loop, EPOLL_CTL_ADD, source);
}

void loop_want_write(struct loop *loop, struct loop_source *source, bool wants_write)
{
    if (source->fd < 0 || source->wants_write == wants_write)
        return;
    source->wants_write = wants_write;
    control(loop, EPOLL_CTL_MOD, source);
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
    if (source->fd < 0)
        return;
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, source->fd, NULL);
    close(source->fd);
    source->fd = -1;
}

/* One event a turn: what a callback closes can then not be among those still to be told. */
void loop_turn(struct loop *loop, unsigned wait_ms)
{
    struct epoll_event event;
    int count = epoll_wait(loop->epoll, &event, 1, (int)wait_ms);
    const unsigned readable = EPOLLIN | EPOLLHUP | EPOLLERR;
    struct loop_source *source;

    assert(count >= 0 || errno == EINTR);
    if (count != 1)
        return;
    source = event.data.ptr;
    source->on_ready(source->ctx, (event.events & readable) != 0, (event.events & EPOLLOUT) != 0);
}
