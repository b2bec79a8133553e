/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_model - a kube-apiserver with its etcd, in memory, for tests.
 *
 * It answers requests as the real one does: the same order of checks, the same Status objects, one
 * rising resourceVersion, watches as cursors into a bounded log of changes. No I/O, no clock, no
 * chance: time is an argument, uids and versions are counted, so the same calls give the same
 * bytes. What the real one says is held in test/data/captured/api.
 *
 * Objects are immutable versions, rendered once per change. A borrowed object lives until the model
 * changes; api_object_ref keeps it longer. Not thread-safe.
 *
 * Left out: label selectors (refused with 400), namespaces as objects, admission, managedFields.
 */
#ifndef TOPOFIT_TEST_API_MODEL_H
#define TOPOFIT_TEST_API_MODEL_H

#include "topofit/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum api_kind { API_NODE = 0, API_POD, API_LEASE, API_EVENT, API_QUOTA };
#define API_KINDS 5

struct api_pair {
    char *key, *value;
};

/* One version of one object. */
struct api_object {
    enum api_kind kind;
    uint64_t version; /* resourceVersion */
    char *namespace;  /* "" for nodes */
    char *name, *uid;
    struct api_pair *annotations;
    size_t annotation_count;
    bool deleting; /* has a deletionTimestamp */
    char *json;    /* complete, with kind and apiVersion; one line without its newline */
    size_t length;

    /* pods */
    char *node_name, *phase, *scheduler_name; /* "" when absent */
    char *gates;                              /* spec.schedulingGates as JSON, or NULL */

    /* What the JSON is made of; for api_object.c only. */
    int references;
    size_t version_at, version_length; /* where the version stands in the JSON */
    char created[24], deleted[24];
    unsigned grace_s;
    char *labels; /* JSON object, or NULL */
    char *meta;   /* further members of metadata, each with a comma before it, or "" */
    char *spec, *status, *conditions; /* pods: members; conditions a JSON array or NULL */
    char *rest;                       /* others: members behind metadata, with commas before */
};

struct api_object *api_object_ref(const struct api_object *object);
void api_object_unref(struct api_object *object); /* NULL is fine */

/* The value of an annotation, or NULL. */
const char *api_object_annotation(const struct api_object *object, const char *key);

/* How this server behaves; may be changed at any time. Zeroes are the standard. */
struct api_options {
    uint64_t epoch_ms;    /* unix time when now_ms is 0 */
    uint64_t bookmark_ms; /* between bookmarks; 0 = 60 s */
    uint64_t zero_lag;    /* "0" shows the state this many versions ago (or the oldest known) */
    size_t page_max;   /* objects on a page at most, whatever the client allows; 0 = as it says */
    size_t events_max; /* Event objects kept; 0 = 2000 */
    bool too_old_is_status;  /* a watch from too far back is HTTP 410 instead of an ERROR event */
    bool refuses_watch_list; /* sendInitialEvents is 422, as where the feature is off */
    bool refuses_lease_creation_by_put; /* PUT of an absent lease is 404; the real one creates it */
};

struct api_model;

/* log_max  changes of each kind that are remembered; 0 = 4096. */
struct api_model *api_model_new(size_t log_max);
void api_model_free(struct api_model *model); /* its watches must be gone; NULL is fine */
struct api_options *api_model_options(struct api_model *model);

/* The time of what the test does next; requests bring their own. */
void api_model_at(struct api_model *model, uint64_t now_ms);

/* --- requests -------------------------------------------------------------------------------- */

struct model_request {
    const char *method, *path; /* with the query */
    const char *body;          /* or NULL */
    size_t body_length;
    const char *content_type; /* NULL: any that fits */
};

struct api_watch;

/* Zeroed at first; may be used again and again, its memory is kept. */
struct model_answer {
    int status;
    bool is_text; /* text/plain instead of JSON */
    struct buf body;
    struct api_watch *watch; /* a stream was opened: the body is empty; the caller frees it */
};
void model_answer_clear(struct model_answer *answer);

void api_model_answer(struct api_model *model, const struct model_request *request, uint64_t now_ms,
                      struct model_answer *out);

/* Does the path lead to a watch? Nothing is opened. */
bool api_path_is_watch(const char *path);

/* Make a Status of a failure, as a server that has trouble would say it. */
void model_answer_fail(struct model_answer *out, int code, const char *reason, const char *message);

/* --- watches --------------------------------------------------------------------------------- */

enum api_watch_step {
    API_WATCH_WAITS = 0, /* nothing now: ask again when the model changed, or when due */
    API_WATCH_EVENT,     /* a line was written */
    API_WATCH_ENDS,      /* the time is up, or changes that were not sent are forgotten: EOF */
};

/* The next line of the stream, with its newline, in place of what was in out. */
enum api_watch_step api_watch_next(struct api_watch *watch, uint64_t now_ms, struct buf *out);

/*
 * A bookmark of what was told so far, whatever has happened since. false when there can be none:
 * the client wants none, or has not been told all that was there at first.
 */
bool api_watch_bookmark(struct api_watch *watch, struct buf *out);

/* When a bookmark or the end comes, if nothing changes. */
uint64_t api_watch_due_ms(const struct api_watch *watch);

/* Is there something to be sent at once? Cheap. */
bool api_watch_has_news(const struct api_watch *watch);
enum api_kind api_watch_kind(const struct api_watch *watch);
void api_watch_free(struct api_watch *watch);

/* --- what tests do to the cluster ------------------------------------------------------------ */

struct api_node_spec {
    const char *name;
    unsigned devices; /* GPU-<name>-<index> */
    uint64_t memory_mib;
    unsigned slots;       /* 0 = 10 */
    const char *topology; /* annotation topofit.io/topology, or NULL */
    const char *plugin;   /* annotation topofit.io/device-plugin, or NULL */
};

/* Create a node, or change one (which keeps its uid). */
const struct api_object *api_model_put_node(struct api_model *model,
                                            const struct api_node_spec *spec);
bool api_model_remove_node(struct api_model *model, const char *name);

struct api_pod_spec {
    const char *namespace; /* NULL = default */
    const char *name;
    unsigned devices;      /* nvidia.com/gpu; 0 = asks for no device */
    uint64_t memory_mib;   /* nvidia.com/gpumem of each; 0 = whole devices */
    unsigned cores;        /* nvidia.com/gpucores of each; 0 = not said */
    const char *scheduler; /* NULL = topofit-scheduler */
    const char *node;      /* created with a nodeName, past all schedulers; NULL = unbound */
    bool gated;
    const char *annotation_key, *annotation_value; /* or NULL */
};
#define API_SCHEDULER "topofit-scheduler"

/* NULL when the name is taken. */
const struct api_object *api_model_create_pod(struct api_model *model,
                                              const struct api_pod_spec *spec);

/* Any object as JSON; what the server sets (uid, version, times) is set. NULL as above. */
const struct api_object *api_model_create(struct api_model *model, enum api_kind kind,
                                          const char *json);

/* All false when there is no such pod. */
bool api_model_delete_pod(struct api_model *model, const char *namespace, const char *name,
                          unsigned grace_s); /* unbound or 0: gone at once; else terminating */
bool api_model_remove_pod(struct api_model *model, const char *namespace, const char *name);
bool api_model_set_phase(struct api_model *model, const char *namespace, const char *name,
                         const char *phase);
bool api_model_ungate_pod(struct api_model *model, const char *namespace, const char *name);

/* Another scheduler binds it, without a record. Also false when it is bound already. */
bool api_model_bind_elsewhere(struct api_model *model, const char *namespace, const char *name,
                              const char *node);

/* The same pod once more under a new uid, unbound, without what topofit wrote. */
const struct api_object *api_model_recreate_pod(struct api_model *model, const char *namespace,
                                                const char *name);

/* NULL removes it. false when there is no such object. */
bool api_model_annotate(struct api_model *model, enum api_kind kind, const char *namespace,
                        const char *name, const char *key, const char *value);

/* Forget all changes: older positions and continue tokens are 410 from now on. */
void api_model_compact(struct api_model *model);

/* --- reading --------------------------------------------------------------------------------- */

uint64_t api_model_version(const struct api_model *model);
size_t api_model_count(const struct api_model *model, enum api_kind kind);
/* In the order of namespace and name. */
const struct api_object *api_model_get(const struct api_model *model, enum api_kind kind,
                                       size_t index);
const struct api_object *api_model_find(const struct api_model *model, enum api_kind kind,
                                        const char *namespace, const char *name);

/* The log: changes of a kind are numbered from 0; those before api_model_first are forgotten. */
struct api_change {
    uint64_t version;
    struct api_object *before, *after; /* NULL before creation; after deletion the last state */
    bool is_deletion;
};
uint64_t api_model_first(const struct api_model *model, enum api_kind kind);
uint64_t api_model_end(const struct api_model *model, enum api_kind kind);
const struct api_change *api_model_change(const struct api_model *model, enum api_kind kind,
                                          uint64_t number);

#endif
