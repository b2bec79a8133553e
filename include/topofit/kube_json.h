/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_json - Kubernetes API bytes to kube_object, and the few objects we write.
 *
 * No I/O. Lists and watch events are read as a stream and reduced on the way; a 100 MB list never
 * is in memory at once.
 */
#ifndef TOPOFIT_KUBE_JSON_H
#define TOPOFIT_KUBE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/bind_job.h"
#include "topofit/buf.h"
#include "topofit/error.h"
#include "topofit/json.h"
#include "topofit/kube_object.h"

enum kube_kind { KUBE_NODE = 0, KUBE_POD, KUBE_QUOTA };
#define KUBE_KINDS 3

/* "Node", "Pod", "ResourceQuota". Static storage. */
const char *kube_kind_name(enum kube_kind kind);

/* A node, a pod or a quota; which one, the kind says. */
struct kube_object {
    enum kube_kind kind;
    bool is_template;    /* the pod is not there: a Deployment, a Job or the like would make it */
    const char *made_by; /* of a dump: the kind of what would make it, constant; else NULL */
    struct kube_node node;
    struct kube_pod pod;
    struct kube_quota quota;
};

void kube_object_init(struct kube_object *object, enum kube_kind kind);
void kube_object_clear(struct kube_object *object);
/* name, namespace, uid, resourceVersion of it. */
const struct kube_meta *kube_object_meta(const struct kube_object *object);

/*
 * All readers: ERR_INVALID for what is not JSON, not of the kind asked for or without a name.
 * Objects that are too big to keep whole are kept in part and marked `truncated`. What *out held
 * before is freed on success: it must be initialised or zeroed.
 */

/* --- one object ----------------------------------------------------------------------------- */

int kube_json_read_object(enum kube_kind kind, const char *bytes, size_t length,
                          struct kube_object *out, struct error *err);

/* The pod that a workload would make, by its own template, with the name of the workload. */
int kube_json_read_template(const char *bytes, size_t length, struct kube_object *out,
                            struct error *err);

/* --- lists ---------------------------------------------------------------------------------- */

/* Called for each item; the object is the callee's to read, and cleared afterwards. */
typedef void (*kube_on_object)(void *ctx, struct kube_object *object);

struct kube_list_meta {
    char *resource_version; /* owned, never NULL after finish */
    char *continue_token;   /* owned, "" when this was the last page */
};
void kube_list_meta_clear(struct kube_list_meta *meta);

/*
 * finish fails for a document without items or without a resourceVersion: an empty object must not
 * pass for an empty cluster. source: Kubernetes API concepts, "Resource versions".
 */
struct kube_list_reader;
struct kube_list_reader *kube_list_reader_new(enum kube_kind kind, kube_on_object on_object,
                                              void *ctx);
void kube_list_reader_free(struct kube_list_reader *reader);
int kube_list_reader_feed(struct kube_list_reader *reader, const char *bytes, size_t length,
                          struct error *err);
int kube_list_reader_finish(struct kube_list_reader *reader, struct kube_list_meta *out,
                            struct error *err);

/*
 * A dump of `kubectl get nodes,pods,quota -o json`: a List of these kinds (also a bare
 * object, or a NodeList, PodList or ResourceQuotaList), and what makes pods (Deployment, Job ...),
 * as pods that are templates. Other kinds are skipped; an item without a kind has that of its list.
 * The dump is read whole: on_object may have been called before an error.
 */
int kube_json_read_dump(const char *bytes, size_t length, kube_on_object on_object, void *ctx,
                        struct error *err);

/* --- watch events --------------------------------------------------------------------------- */

enum kube_event_type {
    KUBE_ADDED = 0,
    KUBE_MODIFIED,
    KUBE_DELETED,
    KUBE_BOOKMARK,
    KUBE_ERROR,
    KUBE_EVENT_OTHER, /* a type this version does not know: skip it */
};

/* metav1.Status: the body of a failed call and of an ERROR event. */
struct kube_status {
    int code;                /* HTTP-like, 0 when absent */
    char reason[64];         /* "Expired", "Conflict", ...; may be cut */
    char message[384];       /* may be cut */
    char cause[64];          /* the reason of the last of the details' causes; may be cut */
    int retry_after_seconds; /* 0 when absent */
};

struct kube_event {
    enum kube_event_type type;
    struct kube_object object; /* ADDED, MODIFIED, DELETED; of a BOOKMARK only the meta */
    struct kube_status status; /* ERROR */
    bool initial_events_end;   /* BOOKMARK that ends the initial events of a streamed list */
};
void kube_event_clear(struct kube_event *event);

/* One line of a watch. `kind` is what the watch was opened for. */
int kube_json_read_event(enum kube_kind kind, const char *bytes, size_t length,
                         struct kube_event *out, struct error *err);

int kube_json_read_status(const char *bytes, size_t length, struct kube_status *out,
                          struct error *err);

/* --- writing -------------------------------------------------------------------------------- */

/*
 * A v1 Binding with the pod's uid and annotations; one write binds and records.
 * source: Kubernetes API reference, Binding v1 core
 */
void kube_json_write_binding(struct buf *out, const struct bind_job *job);

#endif
