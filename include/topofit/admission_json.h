/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission_json - AdmissionReview: what the API server asks a webhook, and the answer.
 *
 * No I/O and no state. v1 and v1beta1 are read, and answered in kind. The pod is kept as the tree
 * that came, so that a patch can be told from it, NULs inside texts included.
 * source: Kubernetes documentation, "Dynamic Admission Control", request and response
 */
#ifndef TOPOFIT_ADMISSION_JSON_H
#define TOPOFIT_ADMISSION_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "topofit/buf.h"
#include "topofit/error.h"
#include "topofit/kube_object.h"

/* The API server takes no objects of more than 3 MiB. */
#define ADMISSION_BYTES_MAX (4u << 20)

/* A question. All owned. */
struct admission_review {
    json_t *document; /* all of it */
    json_t *pod; /* a pod that is being created; borrowed from the document. NULL: another thing */
    const char *api_version; /* static storage */
    const char *uid;         /* of the question, as all below borrowed; never NULL */
    const char *operation;   /* "CREATE"; "" when not said */
    const char *namespace;   /* where the object is to be; "" when not said */
    const char *name;        /* of the pod, or how its name begins; "" when not said */
    bool dry_run;
};

/*
 * Read a question. The caller clears it.
 *
 * errors  ERR_INVALID for what is no JSON, no AdmissionReview of a version that is known, or one
 *         without a request, a uid, or, where a pod is created, an object. ERR_LIMIT for more
 *         than ADMISSION_BYTES_MAX.
 */
int admission_json_read(const char *bytes, size_t length, struct admission_review *out,
                        struct error *err);
void admission_review_clear(struct admission_review *review);

/*
 * The pod of a question as the dialects read it. A pod that has no name yet, since the API server
 * makes one from generateName, goes by how that begins.
 *
 * pod     a tree in the form of a Pod; not changed.
 * out     initialised or zeroed; the caller clears it.
 * errors  ERR_INVALID, ERR_LIMIT: it is no Pod.
 */
int admission_json_read_pod(const json_t *pod, struct kube_pod *out, struct error *err);

/* An answer. All borrowed. */
struct admission_answer {
    bool allowed;
    unsigned code;                /* of a refusal, as in HTTP */
    const char *reason, *message; /* of a refusal: a CamelCase word, and a text for people */
    const json_t *patch;          /* operations for what is allowed; NULL or empty: none */
    const json_t *warnings;       /* texts for whoever made the pod; NULL or empty: none */
};

/* Write the answer to a question. */
void admission_json_write(const struct admission_review *review,
                          const struct admission_answer *answer, struct buf *out);

#endif
