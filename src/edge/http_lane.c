/* SPDX-License-Identifier: Apache-2.0 */
/* http_lane - a thread that handles what takes long, one call after the other. */
#include "http_lane.h"

#include "topofit/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct http_lane {
    void *ctx;
    pthread_t thread;
    pthread_mutex_t lock; /* the three below; never held while a call is handled */
    pthread_cond_t news;
    struct http_call *calls[HTTP_LANE_CALLS_MAX]; /* oldest first */
    size_t count;
    bool stopping;
};

/* The oldest call, once there is one; NULL to stop. */
static struct http_call *next_call(struct http_lane *lane)
{
    struct http_call *call = NULL;

    pthread_mutex_lock(&lane->lock);
    while (lane->count == 0 && !lane->stopping)
        pthread_cond_wait(&lane->news, &lane->lock);
    if (lane->count > 0) {
        call = lane->calls[0];
        lane->count--;
        memmove(&lane->calls[0], &lane->calls[1], lane->count * sizeof lane->calls[0]);
    }
    pthread_mutex_unlock(&lane->lock);
    return call;
}

static void *handle_calls(void *argument)
{
    struct http_lane *lane = argument;
    struct http_call *call;

    while ((call = next_call(lane)) != NULL)
        call->route->handle(lane->ctx, &call->request);
    return NULL;
}

static void destroy(struct http_lane *lane)
{
    pthread_cond_destroy(&lane->news);
    pthread_mutex_destroy(&lane->lock);
    free(lane);
}

struct http_lane *http_lane_start(void *ctx, struct error *err)
{
    struct http_lane *lane = xcalloc(1, sizeof *lane);
    int failed;

    lane->ctx = ctx;
    pthread_mutex_init(&lane->lock, NULL);
    pthread_cond_init(&lane->news, NULL);
    failed = pthread_create(&lane->thread, NULL, handle_calls, lane);
    if (failed != 0) {
        error_set(err, ERR_IO, "cannot start a thread: %s", strerrordesc_np(failed));
        destroy(lane);
        return NULL;
    }
    return lane;
}

void http_lane_stop(struct http_lane *lane)
{
    if (lane == NULL)
        return;
    pthread_mutex_lock(&lane->lock);
    assert(lane->count == 0);
    lane->stopping = true;
    pthread_cond_signal(&lane->news);
    pthread_mutex_unlock(&lane->lock);
    pthread_join(lane->thread, NULL);
    destroy(lane);
}

bool http_lane_add(struct http_lane *lane, struct http_call *call)
{
    bool has_place;

    pthread_mutex_lock(&lane->lock);
    has_place = lane->count < HTTP_LANE_CALLS_MAX;
    if (has_place) {
        lane->calls[lane->count++] = call;
        pthread_cond_signal(&lane->news);
    }
    pthread_mutex_unlock(&lane->lock);
    return has_place;
}
