/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_story - an event queue, a made-up time, and an API server that the test plays.
 */
#ifndef TOPOFIT_EVENT_STORY_H
#define TOPOFIT_EVENT_STORY_H

#include "support/test.h"

#include "topofit/event_queue.h"

#define EVENT_T0_MS 1000000u         /* monotonic */
#define EVENT_UNIX_MS 1767225600000u /* 2026-01-01T00:00:00Z, at EVENT_T0_MS */
#define MINUTE_MS 60000u
#define EVENTS_PATH "/apis/events.k8s.io/v1/namespaces/default/events"

struct event_story {
    struct event_queue *queue;
    uint64_t now_ms;
    struct api_request request; /* the last one; its texts are copied below */
    char method[16], path[512], body[8192], type[64];
};

/* With a burst of 100 and 10 requests a second. */
struct event_story *event_story_new(void);
void event_story_free(struct event_story **place);

struct moment story_now(const struct event_story *story);

/* The pod default/p1 was refused, with a note; or another pod. */
void happen(struct event_story *story, const char *note);
void happen_to(struct event_story *story, const char *pod, const char *note);

/* Take the next request, if there is one now. */
bool next_event_request(struct event_story *story);

/* There is one, of that method. */
void expect_request(struct event_story *story, const char *method);
void expect_none(struct event_story *story);

/* Let time pass until something is to be sent, at most for max_ms. return how long, in ms. */
uint64_t wait_for_event_request(struct event_story *story, uint64_t max_ms);

/* What becomes of the last request. */
void answer_event(struct event_story *story, int status, const char *body);
void answer_event_later(struct event_story *story, int status, unsigned retry_after_s);
void lose_event(struct event_story *story, bool was_sent);

/* A request of that method is there and succeeds. */
void expect_written(struct event_story *story, const char *method);

/* Every event is written, folded, dropped or untold. */
void expect_sum(const struct event_story *story);

/* A Status as the API server writes it. */
#define EVENT_STATUS(code, reason) \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"the message\"," \
    "\"reason\":\"" reason "\",\"code\":" code "}"

#endif
