/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_queue_inside - the queue's contents, and the steps of a series. For the event queue's two
 * files only: event_queue.c takes in and sends, event_queue_answer.c judges what was answered.
 */
#ifndef TOPOFIT_EVENT_QUEUE_INSIDE_H
#define TOPOFIT_EVENT_QUEUE_INSIDE_H

#include "event_series.h"
#include "topofit/error.h"
#include "topofit/event_queue.h"
#include "topofit/jitter.h"
#include "topofit/map.h"

struct event_queue {
    char *controller, *instance;
    struct map *series; /* by key */
    struct event_series *in_flight[EVENT_IN_FLIGHT_MAX];
    size_t in_flight_count;
    uint64_t due_ms;             /* no series at rest or waiting is due before */
    uint64_t held_until_ms;      /* nothing is sent before: the server asked for it */
    uint64_t forbidden_until_ms; /* nothing is taken in before */
    uint64_t bucket, bucket_max, per_second, filled_ms;
    uint64_t last_id, last_stamp;
    struct jitter jitter;
    struct buf key, note, path, body;
    char problem[ERROR_TEXT_MAX]; /* "" since the last success */
    bool lacks_rights;            /* that is what `problem` says */
    struct event_queue_counters counters;
};

/* Turn to a step, and to look at the series again from due_ms on. */
void event_queue_step(struct event_queue *queue, struct event_series *series, enum series_step to,
                      uint64_t due_ms);

/* Nothing is wanted now; until when, the series knows. */
void event_queue_rest(struct event_queue *queue, struct event_series *series);

/* The series is gone afterwards. What it did not tell is lost. */
void event_queue_forget(struct event_queue *queue, struct event_series *series);

#endif
