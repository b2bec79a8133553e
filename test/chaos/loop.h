/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop - waits for sockets and pipes, and tells who is ready. One thread, real time.
 *
 * A source is the owner's memory; it must not be freed from within the callback of another source
 * of the same turn without loop_remove. Built on epoll, level-triggered.
 */
#ifndef TOPOFIT_CHAOS_LOOP_H
#define TOPOFIT_CHAOS_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop_source {
    int fd; /* -1: not in the loop */
    void *ctx;
    void (*on_ready)(void *ctx, bool can_read, bool can_write);
    bool wants_write;
};

struct loop {
    int epoll;
};

struct loop loop_open(void);
void loop_close(struct loop *loop);

/* Monotonic milliseconds. */
uint64_t loop_now_ms(void);

void loop_add(struct loop *loop, struct loop_source *source);
void loop_want_write(struct loop *loop, struct loop_source *source, bool wants_write);
/* Take it out, close its descriptor, and tell nothing of it any more. */
void loop_remove(struct loop *loop, struct loop_source *source);

/* One turn: wait at most wait_ms, then call whoever is ready. */
void loop_turn(struct loop *loop, unsigned wait_ms);

#endif
