/* SPDX-License-Identifier: Apache-2.0 */
/* http_deadline - cuts connections whose request or answer takes too long, counted absolutely. */
#include "http_deadline.h"

#include "topofit/clock.h"
#include "topofit/mem.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define LOOKS_PER_LIMIT 8
#define LOOK_MIN_MS 5
#define LOOK_MAX_MS 1000
#define CROWDED_FIRST_LIMIT_MS 1000

enum phase {
    PHASE_IDLE = 0,  /* nothing of the next request seen */
    PHASE_GREETED,   /* the TLS handshake is over; what has arrived since is not known yet */
    PHASE_DONE,      /* a request was answered; what has arrived since is not known yet */
    PHASE_RECEIVING, /* from the first byte of a request to its last */
    PHASE_HANDLED,   /* the handler has it */
    PHASE_SENDING,
};
#define PHASE_BITS 3

struct peer {
    int fd;
    uint64_t quiet_bytes;    /* received when the connection fell idle; of the watching thread */
    bool was_served;         /* a request was answered on it; of the watching thread */
    atomic_uint_fast64_t at; /* when the phase began, in ms, and the phase in the low bits */
    struct peer *next, *previous;
};

struct deadlines {
    uint64_t limit_ms;
    uint64_t sending_limit_ms; /* the same, until there is a hurry; guarded by `lock` */
    uint64_t first_limit_ms;   /* 0 = none */
    unsigned places;           /* how many peers there can be */
    pthread_t thread;
    pthread_mutex_t lock; /* the three below; held while a peer's fd is used */
    pthread_cond_t stop;  /* with `lock` */
    bool stopping;
    struct peer *peers;
    unsigned peer_count;
};

static uint64_t pack(enum phase phase)
{
    return clock_monotonic_ms() << PHASE_BITS | (uint64_t)phase;
}

static enum phase phase_of(uint64_t at)
{
    return (enum phase)(at & ((1u << PHASE_BITS) - 1));
}

/* Bytes the kernel has received for a socket so far; 0 when it does not say. */
static uint64_t received_bytes(int fd)
{
    struct tcp_info info = {0};
    socklen_t length = sizeof info;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return 0;
    if (length < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received)
        return 0;
    return info.tcpi_bytes_received;
}

/*
 * Has the client said that it sends nothing more? The library overlooks that when it came together
 * with the last bytes, and would keep the connection for the idle time-out.
 */
static bool is_half_closed(int fd)
{
    struct pollfd asked = {.fd = fd, .events = POLLRDHUP};

    return poll(&asked, 1, 0) > 0;
}

/* The server thread may move the peer on meanwhile; its word counts, ours is then dropped. */
static void move(struct peer *peer, uint64_t from, enum phase to)
{
    atomic_compare_exchange_strong(&peer->at, &from, pack(to));
}

static bool is_over(uint64_t at, uint64_t limit_ms)
{
    return clock_monotonic_ms() - (at >> PHASE_BITS) >= limit_ms;
}

/* A connection that never asked anything takes a place from those who would. */
static bool is_loitering(const struct peer *peer, uint64_t at, const struct deadlines *deadlines)
{
    uint64_t limit_ms = deadlines->first_limit_ms;

    if (limit_ms > CROWDED_FIRST_LIMIT_MS && deadlines->peer_count >= deadlines->places)
        limit_ms = CROWDED_FIRST_LIMIT_MS;
    return limit_ms > 0 && !peer->was_served && is_over(at, limit_ms);
}

static void look_at(struct peer *peer, const struct deadlines *deadlines)
{
    uint64_t at = atomic_load(&peer->at);

    switch (phase_of(at)) {
    case PHASE_GREETED:
        peer->quiet_bytes = received_bytes(peer->fd);
        move(peer, at, PHASE_IDLE);
        break;
    case PHASE_DONE:
        peer->quiet_bytes = received_bytes(peer->fd);
        peer->was_served = true;
        move(peer, at, PHASE_IDLE);
        break;
    case PHASE_IDLE:
        if (received_bytes(peer->fd) > peer->quiet_bytes)
            move(peer, at, PHASE_RECEIVING);
        else if (is_half_closed(peer->fd) || is_loitering(peer, at, deadlines))
            shutdown(peer->fd, SHUT_RDWR);
        break;
    case PHASE_RECEIVING:
        if (is_over(at, deadlines->limit_ms))
            shutdown(peer->fd, SHUT_RDWR);
        break;
    case PHASE_SENDING:
        if (is_over(at, deadlines->sending_limit_ms))
            shutdown(peer->fd, SHUT_RDWR);
        break;
    case PHASE_HANDLED:
        break;
    }
}

static struct timespec next_look(uint64_t limit_ms)
{
    uint64_t wait_ms = limit_ms / LOOKS_PER_LIMIT;

    if (wait_ms < LOOK_MIN_MS)
        wait_ms = LOOK_MIN_MS;
    if (wait_ms > LOOK_MAX_MS)
        wait_ms = LOOK_MAX_MS;
    return clock_wait_end(wait_ms);
}

static void *watch(void *argument)
{
    struct deadlines *deadlines = argument;

    pthread_mutex_lock(&deadlines->lock);
    while (!deadlines->stopping) {
        struct timespec until = next_look(deadlines->sending_limit_ms);

        pthread_cond_timedwait(&deadlines->stop, &deadlines->lock, &until);
        for (struct peer *peer = deadlines->peers; peer != NULL; peer = peer->next)
            look_at(peer, deadlines);
    }
    pthread_mutex_unlock(&deadlines->lock);
    return NULL;
}

static void destroy(struct deadlines *deadlines)
{
    pthread_cond_destroy(&deadlines->stop);
    pthread_mutex_destroy(&deadlines->lock);
    free(deadlines);
}

struct deadlines *deadlines_start(uint64_t limit_ms, uint64_t first_limit_ms, unsigned places,
                                  struct error *err)
{
    struct deadlines *deadlines = xcalloc(1, sizeof *deadlines);
    pthread_condattr_t monotonic;
    int failed;

    deadlines->limit_ms = limit_ms;
    deadlines->sending_limit_ms = limit_ms;
    deadlines->first_limit_ms = first_limit_ms;
    deadlines->places = places;
    pthread_mutex_init(&deadlines->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&deadlines->stop, &monotonic);
    pthread_condattr_destroy(&monotonic);
    failed = pthread_create(&deadlines->thread, NULL, watch, deadlines);
    if (failed != 0) {
        error_set(err, ERR_IO, "cannot start a thread: %s", strerrordesc_np(failed));
        destroy(deadlines);
        return NULL;
    }
    return deadlines;
}

void deadlines_hurry(struct deadlines *deadlines, uint64_t limit_ms)
{
    pthread_mutex_lock(&deadlines->lock);
    if (limit_ms < deadlines->sending_limit_ms)
        deadlines->sending_limit_ms = limit_ms;
    pthread_cond_signal(&deadlines->stop);
    pthread_mutex_unlock(&deadlines->lock);
}

void deadlines_stop(struct deadlines *deadlines)
{
    if (deadlines == NULL)
        return;
    pthread_mutex_lock(&deadlines->lock);
    deadlines->stopping = true;
    pthread_cond_signal(&deadlines->stop);
    pthread_mutex_unlock(&deadlines->lock);
    pthread_join(deadlines->thread, NULL);
    destroy(deadlines);
}

struct peer *deadlines_add(struct deadlines *deadlines, int fd)
{
    struct peer *peer = xcalloc(1, sizeof *peer);

    peer->fd = fd;
    atomic_store(&peer->at, pack(PHASE_IDLE));
    pthread_mutex_lock(&deadlines->lock);
    peer->next = deadlines->peers;
    if (peer->next != NULL)
        peer->next->previous = peer;
    deadlines->peers = peer;
    deadlines->peer_count++;
    pthread_mutex_unlock(&deadlines->lock);
    return peer;
}

void deadlines_remove(struct deadlines *deadlines, struct peer *peer)
{
    pthread_mutex_lock(&deadlines->lock);
    deadlines->peer_count--;
    if (peer->previous != NULL)
        peer->previous->next = peer->next;
    else
        deadlines->peers = peer->next;
    if (peer->next != NULL)
        peer->next->previous = peer->previous;
    pthread_mutex_unlock(&deadlines->lock);
    free(peer);
}

void peer_is_greeted(struct peer *peer)
{
    atomic_store(&peer->at, pack(PHASE_GREETED));
}

void peer_receives(struct peer *peer)
{
    uint64_t at = atomic_load(&peer->at);

    /* When the watching thread has just noticed the request, its earlier time stays. */
    while (phase_of(at) != PHASE_RECEIVING &&
           !atomic_compare_exchange_weak(&peer->at, &at, pack(PHASE_RECEIVING)))
        continue;
}

void peer_is_handled(struct peer *peer)
{
    atomic_store(&peer->at, pack(PHASE_HANDLED));
}

void peer_sends(struct peer *peer)
{
    atomic_store(&peer->at, pack(PHASE_SENDING));
}

void peer_is_done(struct peer *peer)
{
    atomic_store(&peer->at, pack(PHASE_DONE));
}
