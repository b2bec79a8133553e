/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_reading - the shapes of nodes and pods, for every document they come in.
 *
 * Pods and nodes look alike in a GET, a list, a watch event and a scheduler's question. The shapes
 * here read them wherever they stand: the ctx of such a reader begins with a struct kube_reading,
 * and the document's own shape calls begin and end around each object.
 */
#ifndef TOPOFIT_KUBE_READING_H
#define TOPOFIT_KUBE_READING_H

#include "topofit/json.h"
#include "topofit/kube_json.h"

#include <stdbool.h>
#include <stddef.h>

/* The object that is being read. */
struct kube_reading {
    struct kube_pod *pod; /* one of these three, the others are NULL */
    struct kube_node *node;
    struct kube_quota *quota;
    struct kube_meta *meta;            /* of it */
    bool *truncated;                   /* of it */
    char *kind;                        /* as the document says, or NULL */
    size_t text_bytes;                 /* kept so far, see KUBE_TEXT_MAX_BYTES */
    struct kube_scope *scope;          /* whose members come now; NULL beyond the maximum */
    struct kube_container *container;  /* whose members come now; NULL beyond the maximum */
    struct container_status *status;   /* the same */
    struct container_status *statuses; /* may come before the containers they are of */
    size_t status_count, status_capacity;
};

/* Begin an object: *pod, *node or *quota is initialised and filled. It must not move until the end.
 */
void kube_reading_begin_pod(struct kube_reading *reading, struct kube_pod *pod);
void kube_reading_begin_node(struct kube_reading *reading, struct kube_node *node);
void kube_reading_begin_quota(struct kube_reading *reading, struct kube_quota *quota);
void kube_reading_begin_object(struct kube_reading *reading, struct kube_object *object,
                               enum kube_kind kind);

/* The object is complete: containers are put in order and joined with their statuses. */
void kube_reading_end(struct kube_reading *reading);

/* Is it what was asked for: a name, and no other kind? errors: ERR_INVALID */
int kube_reading_check(const struct kube_reading *reading, struct error *err);

void kube_reading_clear(struct kube_reading *reading);

/* Keep a string of the object; a text with a NUL is left out and noted in `truncated`. */
int kube_reading_copy(struct kube_reading *reading, const struct json_value *value, char **out,
                      struct error *err);

/* Keep one label, annotation or amount, within the limits. */
int kube_reading_add_text(struct kube_reading *reading, struct kube_pairs *pairs,
                          const struct json_value *value, struct error *err);
int kube_reading_add_amount(struct kube_reading *reading, struct kube_pairs *pairs,
                            const struct json_value *value, struct error *err);

/* on_value of "kind". */
int kube_reading_take_kind(void *ctx, const struct json_value *value, struct error *err);

/* The members of a pod, node or quota, and of their parts. ctx begins with a struct kube_reading.
 */
extern const struct json_field kube_pod_shape[];
extern const struct json_field kube_pod_spec_shape[];
extern const struct json_field kube_pod_status_shape[];
extern const struct json_field kube_node_shape[];
extern const struct json_field kube_node_spec_shape[];
extern const struct json_field kube_node_status_shape[];
extern const struct json_field kube_quota_shape[];
extern const struct json_field kube_quota_spec_shape[];
extern const struct json_field kube_meta_shape[];
extern const struct json_field kube_name_shape[];  /* of it, name and namespace */
extern const struct json_field kube_words_shape[]; /* of it, labels and annotations */

/* Of a whole object, by kind. */
extern const struct json_field *const kube_shapes[KUBE_KINDS];

#endif
