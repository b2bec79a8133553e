/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timed_client - one kept HTTP connection that times its calls.
 *
 * Does as little as can be, since its own work is in every figure. What goes wrong ends the
 * program with a line on stderr: a bench with a failed call has no figures.
 */
#ifndef TOPOFIT_BENCH_TIMED_CLIENT_H
#define TOPOFIT_BENCH_TIMED_CLIENT_H

#include <stddef.h>

struct timed_client {
    int fd;
    char *bytes; /* of the last answer, header and body */
    size_t capacity;
    const char *body; /* borrowed, valid until the next call */
    size_t body_length;
};

struct timed_client timed_client_connect(unsigned port);
void timed_client_close(struct timed_client *client);

/* Nanoseconds of a clock that only goes forward. */
double timed_now_ns(void);

/* POST a body and read the whole answer, which must be 200. return microseconds. */
double timed_client_post(struct timed_client *client, const char *path, const char *body,
                         size_t length);

#endif
