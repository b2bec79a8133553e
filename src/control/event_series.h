/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_series - what happened to one subject, how often, and what the API server knows of it.
 *
 * For the event queue only. Counts and texts, no requests: when something has to be told, not how.
 */
#ifndef TOPOFIT_EVENT_SERIES_H
#define TOPOFIT_EVENT_SERIES_H

#include "topofit/backoff.h"
#include "topofit/event_json.h"
#include "topofit/moment.h"

/* source  client-go tools/events/event_broadcaster.go: refreshTime, finishTime */
#define SERIES_REFRESH_MS (30u * 60 * 1000)
#define SERIES_FINISH_MS (6u * 60 * 1000)
#define SERIES_NOTE_MS 30000u /* shortest time between Events that differ in the note alone */

/* Occurrences under one note: one Event object. */
struct occurrences {
    char *note;
    struct event_times times; /* a count of 0: none */
};

enum series_step {
    SERIES_RESTING = 0, /* nothing is to be told before due_ms */
    SERIES_WAITING,     /* something is to be told, from due_ms on */
    SERIES_IN_FLIGHT,
};

struct event_series {
    char *key;
    bool is_warning;
    char *reason, *action, *namespace, *name, *uid; /* the last three: of the subject */
    enum kube_kind kind;

    struct occurrences present;        /* those of the Event that exists or is made next */
    struct occurrences next;           /* those with another note: of the Event after that */
    char event_name[EVENT_NAME_BYTES]; /* "": no Event was sent yet, the note may still change */
    uint64_t told;                     /* of present.times.count: accounted for */
    uint64_t seen_ms;                  /* the last occurrence */
    uint64_t created_ms, written_ms;   /* the Event; its last write */

    enum series_step step;
    uint64_t due_ms;
    bool is_created; /* the Event exists in the API server */
    bool in_doubt;   /* a POST under event_name may have been executed; its answer was lost */
    bool was_renamed, last_was_lost;
    unsigned tries;
    struct event_times sent; /* what the request in flight tells, or one in doubt */
    struct backoff backoff;
    uint64_t id; /* SERIES_IN_FLIGHT: of the request */
};

/* Texts are copied; nothing has occurred yet. */
struct event_series *event_series_new(const char *key, const struct cluster_event *event);
void event_series_free(struct event_series *series);

/* It happened (again). */
void event_series_add(struct event_series *series, const char *note, struct moment now);

/* Occurrences under the present note that were not told; all that were not told. */
uint64_t event_series_untold(const struct event_series *series);
uint64_t event_series_untold_in_all(const struct event_series *series);

/* At rest: until when. */
uint64_t event_series_rest_until_ms(const struct event_series *series);

/* The Event under this name is not there: it gets another one, and tells the newest note. */
void event_series_unname(struct event_series *series);

/*
 * The Event of another note is due and nothing of the present one is left to tell: turn to it.
 * return  false when there is none.
 */
bool event_series_turn_to_next(struct event_series *series, uint64_t now_ms);

/* The Event as it is to be written. Borrowed from the series. */
struct cluster_event event_series_event(const struct event_series *series);

#endif
