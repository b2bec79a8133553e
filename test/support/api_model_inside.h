/* SPDX-License-Identifier: Apache-2.0 */
/* api_model_inside - what the files of api_model share. */
#ifndef TOPOFIT_TEST_API_MODEL_INSIDE_H
#define TOPOFIT_TEST_API_MODEL_INSIDE_H

#include "support/api_model.h"

#include <jansson.h>

#define API_BYTES_MAX (256u << 20)

struct api_resource {
    const char *group_version; /* "v1", "coordination.k8s.io/v1" */
    const char *group;         /* "" for core */
    const char *plural, *kind; /* "pods", "Pod" */
    const char *prefix;        /* of the path */
    bool has_namespace;
};
extern const struct api_resource api_resources[API_KINDS];

/* All objects of a kind, and what happened to them. */
struct api_store {
    struct api_object **live; /* by namespace/name, as etcd orders keys */
    size_t count, capacity;
    struct api_change *ring; /* [log_max]; change n is at n % log_max */
    uint64_t first, end;
    uint64_t oldest; /* positions from here on can be told */
};

struct api_model {
    struct api_options options;
    struct api_store stores[API_KINDS];
    size_t log_max;
    uint64_t version, now_ms, uids;
    struct buf scratch; /* for rendering */
};

/* --- api_object.c ---------------------------------------------------------------------------- */

/* A copy that may be changed until it is stored. */
struct api_object *api_object_copy(const struct api_object *object);
struct api_object *api_object_new(enum api_kind kind, const char *namespace, const char *name);
void api_object_set(char **place, const char *text);
void api_object_annotate(struct api_object *object, const char *key, const char *value);
/* Take labels, annotations, spec ... of a JSON object; identity and times stay as they are. */
void api_object_take_json(struct api_object *object, const json_t *json);
/* Merge labels as JSON into those it has. */
void api_object_add_labels(struct api_object *object, const json_t *labels);
void api_object_render(struct api_object *object, struct buf *scratch);
bool api_object_is_same(const struct api_object *a, const struct api_object *b);
/* The JSON with another version in it. */
void api_object_add_json_at(const struct api_object *object, uint64_t version, struct buf *out);

/* --- api_store.c ----------------------------------------------------------------------------- */

void api_time_text(const struct api_model *model, char out[24]);
char *api_new_uid(struct api_model *model);

/* Store a new object, a new version of one, or its end. They take over the object given. */
const struct api_object *api_store_add(struct api_model *model, struct api_object *steal);
const struct api_object *api_store_update(struct api_model *model, struct api_object *steal);
void api_store_remove(struct api_model *model, const struct api_object *object);

/* Order of keys; and the place of the first that is not before this key. */
int api_key_compare(const struct api_object *object, const char *namespace, const char *name);
size_t api_store_place(struct api_object *const *objects, size_t count, const char *namespace,
                       const char *name);

/* The objects as they were at a version that is not forgotten; references, the caller's. */
struct api_object **api_store_state(const struct api_model *model, enum api_kind kind,
                                    uint64_t version, size_t *out_count);
void api_state_free(struct api_object **state, size_t count);

/* Number of the first change behind a version. */
uint64_t api_store_behind(const struct api_model *model, enum api_kind kind, uint64_t version);

/* --- api_query.c ----------------------------------------------------------------------------- */

enum api_field { FIELD_NAME, FIELD_NAMESPACE, FIELD_NODE_NAME, FIELD_SCHEDULER, FIELD_PHASE };

#define API_TERMS_MAX 8
struct api_selector {
    struct {
        enum api_field field;
        bool is_not;
        char *value;
    } terms[API_TERMS_MAX];
    size_t count;
    char *text;      /* the values point into it */
    char *namespace; /* only objects in it; NULL = all */
};
void api_selector_clear(struct api_selector *selector);
bool api_selector_takes(const struct api_selector *selector, const struct api_object *object);

struct api_query {
    char *text; /* the rest points into it */
    const char *watch, *limit, *token, *version, *match, *fields, *labels, *bookmarks, *initial,
        *timeout, *dry_run;
};
void api_query_read(struct api_query *query, const char *text); /* text: behind the '?' */
void api_query_clear(struct api_query *query);
bool api_query_is_set(const char *value); /* true or 1 */

/* Read a selector; false when the answer says why not. */
bool api_selector_read(struct api_selector *out, enum api_kind kind, const char *text,
                       struct model_answer *answer);

void api_unescape(char *text); /* %41 -> A, in place */

/* A continue token: version (-1: whatever is there) and the key behind which it goes on. */
struct api_token {
    int64_t version;
    char *namespace, *name;
};
void api_token_write(struct buf *out, int64_t version, const struct api_object *last);
bool api_token_read(struct api_token *out, const char *text);
void api_token_clear(struct api_token *token);

/* --- api_answer.c ---------------------------------------------------------------------------- */

/* What a Status tells; NULL and 0 leave out. */
struct api_refusal {
    int code;
    const char *reason;
    const char *name, *group, *kind; /* details */
    const char *cause_reason, *cause_message, *cause_field;
    unsigned retry_after_s;
    const char *token; /* metadata.continue */
    bool has_details;  /* even if they are empty */
};
void api_status_write(struct buf *out, const struct api_refusal *refusal, const char *message);
void api_refuse(struct model_answer *out, const struct api_refusal *refusal, const char *format,
                ...) __attribute__((format(printf, 3, 4)));
void api_refuse_bad(struct model_answer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void api_refuse_missing(struct model_answer *out, enum api_kind kind, const char *name);
void api_refuse_options(struct model_answer *out, const char *field, const char *cause,
                        const char *message);
void model_answer_object(struct model_answer *out, int status, const struct api_object *object);

/* --- requests -------------------------------------------------------------------------------- */

/* Where a request goes. */
struct api_target {
    enum api_kind kind;
    const char *namespace, *name, *subresource; /* "" when absent */
    const struct model_request *request;
    const struct api_query *query;
};

void api_list(struct api_model *model, const struct api_target *target, struct model_answer *out);
void api_watch_open(struct api_model *model, const struct api_target *target,
                    struct model_answer *out);
/* A position in a list or watch query; false when the answer says why not. */
bool api_version_read(const char *text, uint64_t *out);
uint64_t api_zero_version(const struct api_model *model, enum api_kind kind);
void api_too_large(struct api_refusal *out);

void api_bind(struct api_model *model, const struct api_target *target, struct model_answer *out);
void api_post(struct api_model *model, const struct api_target *target, struct model_answer *out);
void api_put(struct api_model *model, const struct api_target *target, struct model_answer *out);
void api_patch(struct api_model *model, const struct api_target *target, struct model_answer *out);

#endif
