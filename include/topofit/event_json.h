/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_json - the Events that we write: events.k8s.io/v1, and the patch that counts a series.
 *
 * No I/O. Everything is cut to what the API server takes: a refused Event helps nobody, and its
 * first 1024 bytes do.
 * source  k8s.io/kubernetes pkg/apis/core/validation/events.go
 */
#ifndef TOPOFIT_EVENT_JSON_H
#define TOPOFIT_EVENT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/buf.h"
#include "topofit/kube_json.h"

#define EVENT_NOTE_MAX_BYTES 1024 /* the API server takes no more */
#define EVENT_WORD_MAX_BYTES 128  /* reason, action, instance */
#define EVENT_NAME_BYTES 254      /* with the NUL */
#define EVENT_SERIES_PATCH_TYPE "application/merge-patch+json"

/* What an event is about. A node has no namespace; its events stand in "default". */
struct event_subject {
    enum kube_kind kind;
    const char *namespace, *name, *uid; /* of a node, the namespace is "" or NULL */
};

/* reason and action are CamelCase words and not empty; the note is for people. */
struct cluster_event {
    bool is_warning;
    const char *reason, *action, *note;
    struct event_subject regarding;
};

/* Who tells it. */
struct event_reporter {
    const char *controller; /* a qualified name: "topofit.io/extender" */
    const char *instance;   /* which of its processes; not empty, cut to EVENT_WORD_MAX_BYTES */
};

/* How often and when it happened. A count of 1 makes no series. */
struct event_times {
    uint64_t count, first_unix_ms, last_unix_ms;
};

/* The namespace in which the Event of a subject stands. Borrowed from it, or static. */
const char *event_json_namespace(const struct event_subject *regarding);

/*
 * The name of an Event: "<subject>.<stamp in hexadecimal>", the subject cut so that the whole is a
 * DNS subdomain.
 *
 * stamp  unique for one subject; nanoseconds since 1970 by custom.
 */
void event_json_name(const char *subject, uint64_t stamp, char name[EVENT_NAME_BYTES]);

/* Append a whole Event, the body of a POST. name: see event_json_name(). */
void event_json_write(struct buf *out, const struct cluster_event *event, const char *name,
                      const struct event_reporter *reporter, const struct event_times *times);

/* Append the body of a PATCH of EVENT_SERIES_PATCH_TYPE. times->count is at least 2. */
void event_json_write_series(struct buf *out, const struct event_times *times);

#endif
