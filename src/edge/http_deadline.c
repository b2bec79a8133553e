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
    PHASE_GREETING, /* the TLS handshake, from connecting on */
};
#define PHASE_BITS 3

/* Where a peer comes from, without its port. All zero: it cannot be told. */
struct origin {
    sa_family_t family;
    uint8_t bytes[sizeof(struct in6_addr)];
};

struct peer {
    int fd;
    struct origin origin;
    bool is_cut;             /* its place is another's already; guarded by the lock */
    uint64_t quiet_bytes;    /* received when the connection fell idle; of the watching thread */
    bool was_served;         /* a request was answered on it; of the watching thread */
    atomic_uint_fast64_t at; /* when the phase began, in ms, and the phase in the low bits */
    struct peer *next, *previous;
};

struct deadlines {
    struct deadline_limits limits;
    uint64_t sending_limit_ms; /* limit_ms, until there is a hurry; guarded by `lock` */
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

/* --- places ---------------------------------------------------------------------------------- */

static struct origin origin_of(const struct sockaddr *address)
{
    struct origin origin = {0};

    if (address == NULL)
        return origin;
    if (address->sa_family == AF_INET)
        memcpy(origin.bytes, &((const struct sockaddr_in *)(const void *)address)->sin_addr,
               sizeof(struct in_addr));
    else if (address->sa_family == AF_INET6)
        memcpy(origin.bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
               sizeof(struct in6_addr));
    else
        return origin;
    origin.family = address->sa_family;
    return origin;
}

/* NULL: everybody is. */
static bool is_from(const struct peer *peer, const struct origin *origin)
{
    return origin == NULL || (peer->origin.family == origin->family &&
                              memcmp(peer->origin.bytes, origin->bytes, sizeof origin->bytes) == 0);
}

static bool is_share_taken(const struct deadlines *deadlines, const struct origin *origin)
{
    unsigned count = 0;

    if (deadlines->limits.share == 0 || origin->family == 0)
        return false;
    for (const struct peer *peer = deadlines->peers; peer != NULL; peer = peer->next)
        count += !peer->is_cut && is_from(peer, origin);
    return count >= deadlines->limits.share;
}

/* Cut the oldest peer from there whose handshake is not over. return whether there is one. */
static bool make_room(struct deadlines *deadlines, const struct origin *origin)
{
    struct peer *oldest = NULL;

    for (struct peer *peer = deadlines->peers; peer != NULL; peer = peer->next) {
        if (!peer->is_cut && phase_of(atomic_load(&peer->at)) == PHASE_GREETING &&
            is_from(peer, origin))
            oldest = peer;
    }
    if (oldest == NULL)
        return false;
    oldest->is_cut = true;
    shutdown(oldest->fd, SHUT_RDWR);
    return true;
}

bool deadlines_admit(struct deadlines *deadlines, const struct sockaddr *address)
{
    const struct origin origin = origin_of(address);
    bool admitted;

    pthread_mutex_lock(&deadlines->lock);
    admitted = !is_share_taken(deadlines, &origin) || make_room(deadlines, &origin);
    pthread_mutex_unlock(&deadlines->lock);
    return admitted;
}

/* --- time ------------------------------------------------------------------------------------ */

/* A connection that never asked anything takes a place from those who would. */
static bool is_loitering(const struct peer *peer, uint64_t at, const struct deadlines *deadlines)
{
    uint64_t limit_ms = deadlines->limits.first_ms;

    if (limit_ms == 0 || peer->was_served)
        return false;
    if (is_over(at, limit_ms))
        return true;
    return limit_ms > CROWDED_FIRST_LIMIT_MS && is_over(at, CROWDED_FIRST_LIMIT_MS) &&
           (deadlines->peer_count >= deadlines->limits.places ||
            is_share_taken(deadlines, &peer->origin));
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
    case PHASE_GREETING:
        if (is_over(at, deadlines->limits.handshake_ms) || is_half_closed(peer->fd) ||
            is_loitering(peer, at, deadlines))
            shutdown(peer->fd, SHUT_RDWR);
        break;
    case PHASE_RECEIVING:
        if (is_over(at, deadlines->limits.limit_ms))
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

static struct timespec next_look(const struct deadlines *deadlines)
{
    uint64_t wait_ms = deadlines->sending_limit_ms / LOOKS_PER_LIMIT;

    if (wait_ms > deadlines->limits.handshake_ms / LOOKS_PER_LIMIT)
        wait_ms = deadlines->limits.handshake_ms / LOOKS_PER_LIMIT;
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
        struct timespec until = next_look(deadlines);

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

struct deadlines *deadlines_start(const struct deadline_limits *limits, struct error *err)
{
    struct deadlines *deadlines = xcalloc(1, sizeof *deadlines);
    pthread_condattr_t monotonic;
    int failed;

    deadlines->limits = *limits;
    if (limits->handshake_ms == 0)
        deadlines->limits.handshake_ms = limits->limit_ms;
    deadlines->sending_limit_ms = limits->limit_ms;
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

struct peer *deadlines_add(struct deadlines *deadlines, int fd, const struct sockaddr *address,
                           bool greets)
{
    struct peer *peer = xcalloc(1, sizeof *peer);

    peer->fd = fd;
    peer->origin = origin_of(address);
    atomic_store(&peer->at, pack(greets ? PHASE_GREETING : PHASE_IDLE));
    pthread_mutex_lock(&deadlines->lock);
    /* Nobody is accepted once all places are taken: the last one must be given back first. */
    if (deadlines->peer_count + 1 >= deadlines->limits.places)
        make_room(deadlines, NULL);
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
